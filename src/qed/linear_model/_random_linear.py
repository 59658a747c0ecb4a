"""Hyperplanes drawn at random: the learner that only tries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, InvalidData, InvalidParameter, PositiveInt, Seed, fitted, generator, param
from qed.core._validation import FitData, stream_data
from qed.linear_model._classes import LinearClassifier, require_classes

AT_ONCE = 32  # planes whose scores are made together


class RandomLinearClassifier(LinearClassifier, multi_class=False, poor_score=True):
    r"""The best of many random linear classifiers: a baseline.

    Objective
    ---------
    .. math:: \min_{j \le k} \sum_i s_i 1[y_i (x_i^\top w_j + b_j) \le 0]

    over k hyperplanes with independent standard normal coefficients. More draws from the same seed begin with the same
    hyperplanes, so that the training error never rises with k.

    Certificate
    -----------
    ExactCertificate: none of the hyperplanes drawn makes fewer mistakes, by weight.

    Cost
    ----
    O(n p k); memory for the mistakes of k hyperplanes and the scores of n rows in some of them. ``partial_fit`` adds rows to the
    counts, in memory that does not grow with the stream.

    Examples
    --------
    >>> from qed.linear_model import RandomLinearClassifier
    >>> X, y = [[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, 0.0]], [-1, -1, 1, 1]
    >>> RandomLinearClassifier(50, random_state=0).fit(X, y).mistakes_
    0.0
    """

    n_draws: PositiveInt = param(100, "How many hyperplanes to draw.")
    _: KW_ONLY
    fit_intercept: bool = param(True, "Whether to draw intercepts.")
    random_state: Seed = param(None, "Seed of the draws.")

    draw_: int = fitted("Which draw it was.", low=0, below="wrongs_")
    seed_: int = fitted("What the draws follow from.", low=0)
    wrongs_: Array = fitted("Weight of the rows that each draw gets wrong, shape (n_draws,).", shape="(d,)", low=0)
    mistakes_: float = fitted("Weight of the rows that the best one gets wrong.", low=0)
    certificate_: ExactCertificate = fitted("What is proved about the hyperplane.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw hyperplanes and keep the best.

        Parameters
        ----------
        y : array-like of shape (n,)
            Two labels.
        """
        data = self._fit_data(X, y, sample_weight)
        used = data.y if data.weight is None else data.y[data.weight > 0]
        require_classes(type(self).__name__, data.classes, used)
        self.classes_ = data.classes
        return self._count(data, self._seed(), np.zeros(self.n_draws), 0)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count the mistakes of all hyperplanes on more rows; which one is best may change.

        Parameters
        ----------
        classes : array-like, optional
            Both labels; needed in the first call.

        Returns
        -------
        self
            The best hyperplane for all rows so far.
        """
        data, first = stream_data(self, X, y, sample_weight, classes, "wrongs_")
        if len(self.classes_) > 2:
            raise InvalidData(
                f"Only binary classification is supported: RandomLinearClassifier got {len(self.classes_)} classes."
                " Wrap it in OneVsRestClassifier."
            )
        if first:
            return self._count(data, self._seed(), np.zeros(self.n_draws), 0)
        if len(self.wrongs_) != self.n_draws:
            raise InvalidParameter(
                f"RandomLinearClassifier.n_draws is {self.n_draws} and was {len(self.wrongs_)} in the first call: hyperplanes drawn"
                " later would have missed rows. Set it back, or fit again."
            )
        return self._count(data, self.seed_, self.wrongs_, self.certificate_.rows)

    def _seed(self) -> int:
        return int(generator(self.random_state).integers(0, 2**63))

    def _count(self, data: FitData, seed: int, before: Array, rows: int) -> Self:
        """Add the mistakes of every plane, some planes at a time, and keep the one that has the fewest."""
        p, signs = data.X.shape[1], 2.0 * data.y - 1.0
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        stream = np.random.default_rng(seed)
        wrongs, best, plane = before.copy(), -1, np.zeros(p + 1)
        for start in range(0, self.n_draws, AT_ONCE):
            planes = stream.standard_normal((min(AT_ONCE, self.n_draws - start), p + 1))
            planes[:, -1] *= self.fit_intercept
            stop = start + len(planes)
            wrongs[start:stop] += s @ (signs[:, None] * (data.X @ planes[:, :-1].T + planes[:, -1]) <= 0)
            best = int(np.argmin(wrongs[:stop]))
            plane = planes[best - start] if best >= start else plane
        self.seed_, self.wrongs_, self.draw_, self.mistakes_ = seed, wrongs, best, float(wrongs[best])
        self.coef_, self.intercept_ = plane[:-1].reshape(1, -1).copy(), plane[-1:].copy()
        rows += data.n_rows
        self.certificate_ = ExactCertificate(
            f"The fewest mistakes of {self.n_draws} hyperplanes drawn", rows, 2.0**-52 * rows
        )
        return self
