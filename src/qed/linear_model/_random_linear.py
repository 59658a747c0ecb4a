"""Planes drawn at random: the learner that only tries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    ExactCertificate,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.linear_model._classes import LinearClassifier, require_classes

__all__ = ["RandomLinearClassifier"]


class RandomLinearClassifier(LinearClassifier, multi_class=False, poor_score=True):
    r"""The best of some planes drawn at random.

    Objective
    ---------
    .. math:: \min_{j \le k} \sum_i s_i 1[y_i (x_i^\top w_j + b_j) \le 0]

    over k planes with independent standard normal coefficients. More draws from the same seed begin with the same planes, so
    that the training error never rises with k.

    Certificate
    -----------
    ExactCertificate: none of the planes drawn makes fewer mistakes, by weight.

    Cost
    ----
    O(n p k).

    Examples
    --------
    >>> from qed.linear_model import RandomLinearClassifier
    >>> X, y = [[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, 0.0]], [-1, -1, 1, 1]
    >>> RandomLinearClassifier(50, random_state=0).fit(X, y).mistakes_
    0.0
    """

    n_draws: PositiveInt = param(100, "How many planes to draw.")
    _: KW_ONLY
    fit_intercept: bool = param(True, "Whether planes may leave the origin.")
    random_state: Seed = param(None, "Seed of the draws.")

    draw_: int = fitted("Which draw it was.")
    seed_: int = fitted("What the draws follow from.")
    mistakes_: float = fitted("Weight of the rows that it gets wrong.")
    certificate_: ExactCertificate = fitted("What is proved about the plane.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw planes and keep the best.

        Parameters
        ----------
        X : array-like, frame or CSR of shape (n, p)
            Rows to learn from.
        y : array-like of shape (n,)
            Two labels.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
            The fitted model.
        """
        data = self._fit_data(X, y, sample_weight)
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        require_classes(type(self).__name__, data.classes, data.y[s > 0])
        signs = 2.0 * data.y - 1.0
        self.seed_ = int(generator(self.random_state).integers(0, 2**63))
        stream = np.random.default_rng(self.seed_)
        best = np.inf
        self.classes_ = data.classes
        for draw in range(self.n_draws):
            plane = stream.standard_normal(data.X.shape[1] + 1)
            b = plane[-1] if self.fit_intercept else 0.0
            wrong = float(s[signs * (data.X @ plane[:-1] + b) <= 0].sum())
            if wrong < best:
                best, self.draw_ = wrong, draw
                self.coef_, self.intercept_ = plane[:-1].reshape(1, -1).copy(), np.array([b])
        self.mistakes_ = best
        self.certificate_ = ExactCertificate(
            f"The fewest mistakes of {self.n_draws} planes drawn", data.n_rows, 2.0**-52 * data.n_rows
        )
        return self
