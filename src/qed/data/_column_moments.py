"""Count, mean, scatter and extremes of each column by itself: what scaling needs to know, gaps left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._records import expect, expect_array, record
from qed.data import _kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("column-moments")
class ColumnMoments:
    """Statistics of every column by itself; merges.

    Entries that are NaN count as missing. A merge of two statistics is the statistic of all rows, up to rounding.

    Attributes
    ----------
    rows : int
        Rows looked at.
    count : ndarray of shape (p,)
        Entries that are there.
    weight : ndarray of shape (p,)
        Their weight; their number without weights.
    mean, scatter : ndarray of shape (p,)
        Weighted mean, and weighted sum of squared deviations from it; 0 for a column without entries.
    low, high : ndarray of shape (p,)
        Least and largest entry; +inf and -inf for a column without entries.
    terms : int
        The longest chain of roundings behind a sum.
    """

    rows: int
    count: NDArray[np.float64]
    weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    terms: int

    @classmethod
    def of(cls, X: Any, s: Any = None) -> Self:
        """Compute the statistic of a float array of any strides, or of a SciPy CSR or CSC container, in one pass."""
        numbers, terms = _kernels.look(X, s)
        count, weight, mean, scatter, low, high = numbers
        return cls(X.shape[0], count, weight, mean, scatter, low, high, terms)

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        weight = self.weight + other.weight
        pull = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        step = other.mean - self.mean
        return type(self)(
            self.rows + other.rows,
            self.count + other.count,
            weight,
            self.mean + step * pull,
            self.scatter + other.scatter + step * step * (self.weight * pull),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            max(self.terms, other.terms) + 4,
        )

    @property
    def rounding(self) -> float:
        """Bound on the error of a mean or a scatter, relative to the root mean square, or the mean square, of its column."""
        return float(self.terms) * 2.0**-53

    def check(self) -> None:
        """Refuse what no rows can give."""
        arrays = {name: getattr(self, name) for name in ("count", "weight", "mean", "scatter", "low", "high")}
        for name, value in arrays.items():
            expect_array(value, f"column-moments.{name}", shape=(len(self.count),))
        expect(self.rows >= 0 and self.terms >= 0, "column-moments counts rows below zero")
        fine = all(bool((arrays[name] >= 0).all()) for name in ("count", "weight", "scatter"))
        expect(fine, "column-moments holds a negative count or scatter")
