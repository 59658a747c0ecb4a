"""Scores by order: the largest error, and medians, which have no summary smaller than the rows themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import InvalidData
from qed.core._records import expect, expect_array, record
from qed.metrics import _kernels
from qed.metrics._losses import NUMBERS, read_pair
from qed.metrics._read import finite

if TYPE_CHECKING:
    from qed.core._params import Array

Numbers = np.ndarray[Any, np.dtype[np.float64]]
_FEW = 256


@record("largest-error")
class Largest:
    """The largest absolute error; merges.

    Attributes
    ----------
    rows : int
        How many rows were seen.
    value : float
        The largest absolute error among them, 0 without any.
    """

    rows: int
    value: float

    @classmethod
    def empty(cls) -> Self:
        """Return the statistic of no rows."""
        return cls(0, 0.0)

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Self:
        """Find the largest error among rows of positive weight."""
        truth, guess, s = read_pair(y_true, y_pred, sample_weight, outputs=False)
        largest, n = 0.0, len(truth)
        for start in range(0, n, NUMBERS):
            block = slice(start, start + NUMBERS)
            with np.errstate(invalid="ignore"):
                errors = np.abs(truth[block, 0].astype(np.float64, copy=False) - guess[block, 0])
            if s is not None:
                errors = errors * (s[block] > 0)
            most = float(errors.max())
            if not most < np.inf:
                finite(truth, "y_true")
                finite(guess, "y_pred")
            largest = max(largest, most)
        return cls(n if s is None else int(np.count_nonzero(s)), largest)

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        return type(self)(self.rows + other.rows, max(self.value, other.value))

    def check(self) -> None:
        """Refuse values from a model file that cannot be a largest error."""
        expect(self.rows >= 0 and self.value >= 0, "largest-error is negative")


@record("error-sample")
class Sample:
    """Truth, prediction and weight of every row; merges by joining the rows.

    Attributes
    ----------
    y_true, y_pred : ndarray of shape (n, m)
        Numbers.
    s : ndarray of shape (n,) or None
        Weights; None stands for one each.

    Notes
    -----
    Memory: that of the rows. A median needs them all.
    """

    y_true: Numbers
    y_pred: Numbers
    s: Numbers | None

    @classmethod
    def empty(cls, n_outputs: int = 1) -> Self:
        """Return the statistic of no rows."""
        return cls(np.empty((0, n_outputs)), np.empty((0, n_outputs)), None)

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Self:
        """Keep the rows, checked."""
        truth, guess, s = read_pair(y_true, y_pred, sample_weight)
        finite(truth, "y_true")
        finite(guess, "y_pred")
        return cls(truth.astype(np.float64, copy=False), guess.astype(np.float64, copy=False), s)

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        if not len(other.y_true):
            return self
        if not len(self.y_true):
            return other
        if self.y_true.shape[1] != other.y_true.shape[1]:
            raise InvalidData(
                f"These rows have {self.y_true.shape[1]} outputs, the others {other.y_true.shape[1]}. Only samples of the"
                " same outputs merge."
            )
        s = None
        if self.s is not None or other.s is not None:
            s = np.concatenate([np.ones(len(part.y_true)) if part.s is None else part.s for part in (self, other)])
        joined = [np.concatenate(parts) for parts in ((self.y_true, other.y_true), (self.y_pred, other.y_pred))]
        return type(self)(joined[0], joined[1], s)

    def check(self) -> None:
        """Refuse values from a model file that cannot be a sample."""
        expect_array(self.y_true, "error-sample.y_true", shape=(None, None), finite=True)
        expect_array(self.y_pred, "error-sample.y_pred", shape=self.y_true.shape, finite=True)
        if self.s is not None:
            expect_array(self.s, "error-sample.s", shape=(len(self.y_true),), finite=True)


def median_in_place(values: Array) -> float:
    """Return the median, leaving the values in another order."""
    n = len(values)
    middle = n // 2
    if _tied(values):  # NumPy sorts equal values far faster than it selects one of them
        values.sort()
    else:
        values.partition(middle)
    if n % 2:
        return float(values[middle])
    return float((values[:middle].max() + values[middle]) / 2)


def _tied(values: Array) -> bool:
    """Whether a few values, taken at even distances, are often equal."""
    few = values[:: len(values) // _FEW + 1] if len(values) > 16 * _FEW else values[:0]
    return 2 * len(np.unique(few)) < len(few)


def weighted_quantile(values: Array, s: Array, level: float) -> float:
    """Return the quantile of weighted values: the middle of all numbers that minimise the pinball loss."""
    kept = s > 0
    found = _kernels.ranked(values[kept], np.ones(int(kept.sum()), dtype=bool), s[kept])
    if found is None:
        raise InvalidData("A quantile of NaN or infinity is not defined.")
    values, below = found[0][::-1], np.cumsum(found[1][::-1])
    target = level * below[-1]
    rounding_error = 4 * np.finfo(np.float64).eps * below[-1]  # sums that differ by rounding alone are the same sum
    first = min(int(np.searchsorted(below, target - rounding_error)), len(values) - 1)
    last = min(int(np.searchsorted(below, target + rounding_error, side="right")), len(values) - 1)
    if target <= 0:  # the least value: there is nothing below it to average with
        return float(values[0])
    return float((values[first] + values[last]) / 2)
