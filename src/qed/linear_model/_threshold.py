"""A cut through one column: the smallest classifier that looks at the rows."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, Classifier, fitted, param
from qed.core._class_weights import class_factors


class ThresholdClassifier(Classifier, poor_score=True):
    r"""Decision stump: one label up to a threshold in one column, another label above it.

    Objective
    ---------
    .. math:: \min_{j, t, a, b} \sum_i s_i 1[y_i \ne a \text{ if } x_{ij} \le t \text{ else } b]

    over columns j, thresholds t and labels a, b: empirical risk minimisation of the 0-1 loss, which is hard for half-spaces
    and takes a sort for cuts.

    Certificate
    -----------
    ExactCertificate: no cut through any column makes fewer mistakes, by weight, up to the rounding of sums of weights.

    Cost
    ----
    O(p n log n): one sort and one pass a column.

    Notes
    -----
    A row on the threshold gets the label of the rows below it. Of cuts that are equally good the first is taken: columns in
    order, thresholds rising, and no cut at all, the most frequent label, before any other. The threshold lies midway between
    two values that occur.

    Examples
    --------
    >>> from qed.linear_model import ThresholdClassifier
    >>> model = ThresholdClassifier().fit([[1.0], [2.0], [4.0]], ["cold", "cold", "warm"])
    >>> model.threshold_, model.predict([[3.0], [3.1]]).tolist()
    (3.0, ['cold', 'warm'])
    """

    _: KW_ONLY
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    column_: int = fitted("The column that is compared with the threshold.", low=0, below="p")
    threshold_: float = fitted(
        "Rows up to here get the first of ``sides_``; infinite when one label is best for all.", finite=False
    )
    sides_: Array = fitted(
        "Indices in ``classes_`` of the labels up to the threshold and above it.",
        dtype="int",
        shape="(2,)",
        low=0,
        below="k",
    )
    mistakes_: float = fitted("Weight of the misclassified rows.", low=0)
    certificate_: ExactCertificate = fitted("What is proved about the threshold.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the best cut."""
        data = self._fit_data(X, y, sample_weight)
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        factor = class_factors(type(self).__name__, self.class_weight, data.classes, data.y, s)
        s = s if factor is None else s * factor
        here = s > 0
        rows, codes, s = data.X[here], data.y[here], s[here]
        self.classes_ = data.classes
        cuts = (_best_cut(column, codes, s, len(data.classes)) for column in rows.T)
        self.column_, best = min(enumerate(cuts), key=lambda found: (found[1].mistakes, found[0]))
        self.threshold_, self.mistakes_ = best.threshold, best.mistakes
        self.sides_ = np.array([best.below, best.above])
        self.certificate_ = ExactCertificate(
            "The fewest mistakes of any threshold", data.n_rows, 2.0**-52 * data.n_rows
        )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return how far above the threshold each row is, with the sign of the second label; votes of several labels.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            With two labels at most zero where the first is predicted; otherwise one for the label and zero for the others.
        """
        indices, distance = self._sides(X)
        if len(self.classes_) == 2:
            # a distance of zero is a row on the threshold, which needs a sign all the same
            size = np.maximum(np.abs(distance), np.finfo(np.float64).tiny)
            return np.where(indices == 1, size, -size)
        return np.eye(len(self.classes_))[indices]

    def _sides(self, X: Any) -> tuple[Array, Array]:
        column = np.asarray(self._new_data(X)[:, self.column_], dtype=np.float64)
        if np.isinf(self.threshold_):
            return np.full(len(column), self.sides_[0]), np.ones(len(column))
        return self.sides_[(column > self.threshold_).astype(np.intp)], column - self.threshold_

    def predict(self, X: Any) -> Array:
        """Return the label of the side that each row is on."""
        indices, _ = self._sides(X)
        return np.asarray(self.classes_[indices])


class _Cut(NamedTuple):
    mistakes: float
    threshold: float
    below: int
    above: int


def _best_cut(values: Array, codes: Array, s: Array, n_classes: int) -> _Cut:
    """Sort once; the counts of labels below every cut are running sums."""
    order = np.argsort(values, kind="stable")
    values = values[order].astype(np.float64)
    below = np.zeros((len(values) + 1, n_classes))
    below[np.arange(1, len(values) + 1), codes[order]] = s[order]
    np.cumsum(below, axis=0, out=below)
    above = below[-1] - below
    mistakes = (below.sum(axis=1) - below.max(axis=1)) + (above.sum(axis=1) - above.max(axis=1))
    real = np.append(
        np.flatnonzero(values[1:] > values[:-1]) + 1, len(values)
    )  # cuts between different values, and none
    cut = int(real[mistakes[real].argmin()])
    if mistakes[cut] >= mistakes[-1]:
        cut = len(values)
    left = int(below[cut].argmax())
    if cut == len(values):
        return _Cut(float(mistakes[cut]), np.inf, left, left)
    low, high = values[cut - 1], values[cut]
    middle = low / 2 + high / 2  # which cannot overflow
    return _Cut(float(mistakes[cut]), float(middle if low <= middle < high else low), left, int(above[cut].argmax()))
