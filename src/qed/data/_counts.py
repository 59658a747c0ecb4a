"""How often each value of a category was seen: exact in rows, and in weights to far beyond float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import ForgetError, InvalidData
from qed.core._records import expect, expect_array, record
from qed.data._double_double import Pair, add, negative

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from qed.data._chunk import Chunk

WEIGHT_ROUNDING = 2.0**-80  # of a double-double sum, after more merges than anybody will do
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


@record("counts")
class Counts:
    """Rows and weight of each distinct value of one column; merges and subtracts.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The distinct values, sorted: numbers or strings.
    rows : ndarray of int64 of shape (k,)
        Rows of positive weight with that value; exact.
    weight, weight_low : ndarray of shape (k,)
        Their weights added up, in double-double; exact when weights are integers.

    Notes
    -----
    Memory: 32 bytes per distinct value, whatever the number of rows.
    """

    values: np.ndarray[Any, Any]
    rows: Integers
    weight: Numbers
    weight_low: Numbers

    @classmethod
    def empty(cls) -> Self:
        """Return the statistic of no rows."""
        return cls(np.empty(0), np.empty(0, np.int64), np.empty(0), np.empty(0))

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Count the values in the one target column of a chunk."""
        if chunk.y is None or chunk.n_targets != 1:
            raise InvalidData(f"Counts need one column of values in y, got {chunk.n_targets}.")
        return cls.of_values(chunk.y[:, 0], chunk.s)

    @classmethod
    def of_values(cls, values: ArrayLike, s: Numbers | None = None) -> Self:
        """Count values of any sortable kind; rows of weight zero do not count."""
        values = np.asarray(values)
        if values.dtype.kind == "f" and np.isnan(values).any():
            row = int(np.flatnonzero(np.isnan(values))[0])
            raise InvalidData(f"A category cannot be NaN, got one in row {row}. Give it a name of its own.")
        if s is not None:
            values, s = values[s > 0], s[s > 0]
        if not len(values):
            return cls.empty()
        distinct, place, rows = np.unique(values, return_inverse=True, return_counts=True)
        if s is None:
            weight = Pair(rows.astype(np.float64), np.zeros(len(rows)))
        else:
            groups = np.split(s[np.argsort(place, kind="stable")], np.cumsum(rows)[:-1])
            high = [math.fsum(group) for group in groups]
            # What the nearest float64 misses is itself a sum, and rounded once.
            low = [math.fsum([*group, -total]) for group, total in zip(groups, high, strict=True)]
            weight = Pair(np.array(high, dtype=np.float64), np.array(low, dtype=np.float64))
        return cls(distinct, rows.astype(np.int64), weight.high, weight.low)

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        if not other.rows.size:
            return self
        if not self.rows.size:
            return other
        values = self._union(other)
        rows, weight = self._over(values)
        more_rows, more_weight = other._over(values)
        total = add(weight, more_weight)
        return type(self)(values, rows + more_rows, total.high, total.low)

    def subtract(self, other: Self) -> Self:
        """Return the statistic without the rows of `other`, which must be among those of this one.

        Raises
        ------
        ForgetError
            When some value would be left with fewer than no rows, or with a weight that does not go with its rows.
        """
        if not other.rows.size:
            return self
        values = self._union(other)
        rows, weight = self._over(values)
        less_rows, less_weight = other._over(values)
        left_rows, left = rows - less_rows, add(weight, negative(less_weight))
        rounding_error = WEIGHT_ROUNDING * weight.high
        wrong = (left_rows < 0) | (left.high < -rounding_error)
        wrong |= np.where(left_rows == 0, np.abs(left.high) > rounding_error, left.high <= rounding_error)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise ForgetError(
                f"Cannot forget {less_rows[k]} rows of weight {less_weight.high[k]:g} with the value {values[k]!r}: "
                f"{rows[k]} rows of weight {weight.high[k]:g} were counted. Forget what was added before, and once."
            )
        kept = left_rows > 0
        return type(self)(values[kept], left_rows[kept], left.high[kept], left.low[kept])

    def check(self) -> None:
        """Refuse values from a model file that cannot be counts."""
        expect_array(self.values, "counts.values", kinds="fiubUS", shape=(None,), finite=True)
        k = len(self.values)
        expect_array(self.rows, "counts.rows", kinds="i", shape=(k,))
        expect_array(self.weight, "counts.weight", shape=(k,), finite=True)
        expect_array(self.weight_low, "counts.weight_low", shape=(k,), finite=True)
        expect(bool((self.rows > 0).all() and (self.weight > 0).all()), "counts holds a value that was never seen")
        expect(bool((self.values[1:] > self.values[:-1]).all()), "counts.values is not sorted")

    def _union(self, other: Self) -> np.ndarray[Any, Any]:
        """Return all values of both, sorted. Numbers and words cannot be sorted together."""
        words = [counts.values.dtype.kind in "US" for counts in (self, other)]
        if words[0] != words[1]:
            raise InvalidData(
                f"These counts are of {self.values.dtype}, the others of {other.values.dtype}. "
                "Only counts of numbers with numbers, or of words with words, merge."
            )
        return np.union1d(self.values, other.values)

    def _over(self, values: np.ndarray[Any, Any]) -> tuple[Integers, Pair]:
        """Spread the counts over a larger sorted set of values, with zeros for those not seen."""
        at = np.searchsorted(values, self.values)
        rows, weight = np.zeros(len(values), np.int64), Pair(np.zeros(len(values)), np.zeros(len(values)))
        rows[at], weight.high[at], weight.low[at] = self.rows, self.weight, self.weight_low
        return rows, weight
