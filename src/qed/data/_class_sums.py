"""Sums of every column, class by class: what naive Bayes needs to know about counts and about categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import ForgetError, InvalidData
from qed.core._memory import require_memory
from qed.core._records import expect, expect_array, record
from qed.data import _kernels
from qed.data._class_moments import class_codes
from qed.data._counts import WEIGHT_ROUNDING
from qed.data._double_double import Pair, add, negative
from qed.data._finite import raise_not_finite
from qed.data._kernels import UNIT

if TYPE_CHECKING:
    from qed.data._chunk import Chunk


Numbers = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


@record("class-sums")
class ClassSums:
    """Weight of each class and weighted sum of every column in it; merges and subtracts, exactly for whole numbers.

    Attributes
    ----------
    rows : ndarray of int64 of shape (k,)
        Rows of positive weight of each class.
    weight, weight_low : ndarray of shape (k,)
        Their weights added up, in double-double.
    total, total_low : ndarray of shape (k, p)
        Weighted sums of the columns, in double-double.
    error : float
        Bound on the rounding of the sums of a chunk, relative to the sums of absolute values; whole numbers are exact.

    Notes
    -----
    Memory: 16 k p bytes for k classes, and twice as much while merging.
    """

    rows: Integers
    weight: Numbers
    weight_low: Numbers
    total: Numbers
    total_low: Numbers
    error: float = 0.0

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Return the statistic of no rows."""
        k, table = np.zeros(n_classes), np.zeros((n_classes, n_features))
        return cls(np.zeros(n_classes, np.int64), k, k, table, table)

    @classmethod
    def of(cls, chunk: Chunk, n_classes: int) -> Self:
        """Compute the statistic of a chunk whose `y` holds class numbers 0 to ``n_classes - 1``, in one pass over it.

        Raises
        ------
        InvalidData
            When a value is not finite, naming row and column.
        """
        place = class_codes(chunk, n_classes)
        codes = place.astype(np.float64)
        used = place if chunk.s is None else place[chunk.s > 0]
        rows = np.bincount(used, minlength=n_classes)
        weight = rows.astype(np.float64)
        if chunk.s is not None:
            weight = _kernels.class_sums(chunk.s[:, np.newaxis], codes, n_classes, None)[0][:, 0]
        with np.errstate(over="ignore", invalid="ignore"):  # found in the sums, and named
            if isinstance(chunk.X, np.ndarray):
                total, terms = _kernels.class_sums(chunk.X, codes, n_classes, chunk.s)
            else:
                total, terms = _kernels.sparse_class_sums(chunk.X, codes, n_classes, chunk.s)
        if not np.isfinite(total).all():
            raise_not_finite(chunk)
        total = np.ascontiguousarray(total)
        low = np.zeros_like(total)
        return cls(rows.astype(np.int64), weight, np.zeros(n_classes), total, low, min(terms, chunk.n_rows) * UNIT)

    @property
    def n_classes(self) -> int:
        """Number of classes, those without rows included."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.total.shape[1])

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        self._check_same(other)
        if not other.rows.any():
            return self
        if not self.rows.any():
            return other
        weight = add(Pair(self.weight, self.weight_low), Pair(other.weight, other.weight_low))
        total = add(Pair(self.total, self.total_low), Pair(other.total, other.total_low))
        return type(self)(self.rows + other.rows, *weight, *total, max(self.error, other.error))

    def subtract(self, other: Self) -> Self:
        """Return the statistic without the rows of `other`, which must be among those of this one.

        Raises
        ------
        ForgetError
            When a class would be left with fewer than no rows, with a weight that does not go with its rows, or with a sum
            below zero of a column that has none.
        """
        self._check_same(other)
        if not other.rows.any():
            return self
        rows = self.rows - other.rows
        weight = add(Pair(self.weight, self.weight_low), negative(Pair(other.weight, other.weight_low)))
        rounding_error = (WEIGHT_ROUNDING + self.error + other.error) * self.weight
        wrong = (rows < 0) | (weight.high < -rounding_error)
        wrong |= np.where(rows == 0, np.abs(weight.high) > rounding_error, weight.high <= 0)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise ForgetError(
                f"Cannot forget {other.rows[k]} rows of weight {other.weight[k]:g} of class number {k}: {self.rows[k]} rows of"
                f" weight {self.weight[k]:g} were learnt. Forget rows that were added before, each once and with its weight."
            )
        total = add(Pair(self.total, self.total_low), negative(Pair(other.total, other.total_low)))
        slack = (WEIGHT_ROUNDING + self.error + other.error) * np.abs(self.total)
        below = (self.total >= 0) & (total.high < -slack)
        if below.any():
            k, j = map(int, np.argwhere(below)[0])
            raise ForgetError(
                f"Cannot forget these rows: the sum of column {j} in class number {k} would fall from {self.total[k, j]:g} below"
                " zero. They were not among the rows that were learnt."
            )
        gone = (rows == 0)[:, np.newaxis] | ((self.total >= 0) & (total.high < 0))
        return type(self)(
            rows,
            np.where(rows == 0, 0.0, weight.high),
            np.where(rows == 0, 0.0, weight.low),
            np.where(gone, 0.0, total.high),
            np.where(gone, 0.0, total.low),
            2 * (self.error + other.error),
        )

    def check(self) -> None:
        """Refuse values from a model file that cannot be sums."""
        expect_array(self.rows, "class-sums.rows", kinds="i", shape=(None,))
        k = len(self.rows)
        for name in ("weight", "weight_low"):
            expect_array(getattr(self, name), f"class-sums.{name}", shape=(k,), finite=True)
        expect(self.total.ndim == 2 and k > 0, "class-sums.total is no table")
        for name in ("total", "total_low"):
            expect_array(getattr(self, name), f"class-sums.{name}", shape=(k, self.total.shape[1]), finite=True)
        expect(bool((self.rows >= 0).all() and (self.weight >= 0).all()), "class-sums holds a negative count")
        expect(bool(((self.rows == 0) == (self.weight == 0)).all()), "class-sums.weight does not go with its rows")
        expect(0 <= self.error < np.inf, "class-sums states a negative or infinite error")

    def _check_same(self, other: Self) -> None:
        if self.total.shape != other.total.shape:
            raise InvalidData(
                f"These sums are of {self.n_classes} classes and {self.n_features} columns, the others of {other.n_classes}"
                f" and {other.n_features}. Only statistics of the same classes and columns merge."
            )


@record("category-counts")
class CategoryCounts:
    """How often each category of each column occurs in each class; merges and subtracts, exactly for whole weights.

    Attributes
    ----------
    sizes : ndarray of int64 of shape (p,)
        Categories of each column, numbered from 0.
    sums : ClassSums
        Their weights, the categories of the first column first.
    """

    sizes: Integers
    sums: ClassSums

    @classmethod
    def of(cls, chunk: Chunk, n_classes: int) -> Self:
        """Count the categories of a chunk of whole numbers >= 0, whose `y` holds class numbers."""
        place, X, s = class_codes(chunk, n_classes), chunk.X, chunk.s
        if s is not None and not s.all():  # rows of weight zero do not count, nor do categories that only they have
            used = np.flatnonzero(s)
            place, X, s = place[used], X[used], s[used]
        rows = np.bincount(place, minlength=n_classes)
        weight, error = rows.astype(np.float64), 0.0
        if s is not None:
            weight = _kernels.class_sums(s[:, np.newaxis], place.astype(np.float64), n_classes, None)[0][:, 0]
            error = len(X) * UNIT
        sizes = X.max(axis=0).astype(np.int64) + 1 if len(X) else np.ones(chunk.n_features, np.int64)
        total = _kernels.category_sums(X, sizes, place, n_classes, s)
        sums = ClassSums(rows.astype(np.int64), weight, np.zeros(n_classes), total, np.zeros_like(total), error)
        return cls(sizes, sums)

    @property
    def rows(self) -> Integers:
        """Rows of positive weight of each class."""
        return self.sums.rows

    @property
    def parts(self) -> list[Numbers]:
        """For each column the weights of its categories in each class, (k, size)."""
        return np.split(self.sums.total, np.cumsum(self.sizes)[:-1], axis=1)

    def widened(self, sizes: Integers) -> Self:
        """Return the same counts with room for more categories."""
        if np.array_equal(sizes, self.sizes):
            return self
        starts, before = np.cumsum(sizes) - sizes, np.cumsum(self.sizes) - self.sizes
        to = np.repeat(starts - before, self.sizes) + np.arange(int(self.sizes.sum()))
        width = sum(sizes.tolist())
        instead = "Lower min_categories, or number the values from 0 on."
        require_memory(16 * self.sums.n_classes * width, f"The table of counts of {width} values", instead)
        total, low = (np.zeros((self.sums.n_classes, width)) for _ in range(2))
        total[:, to], low[:, to] = self.sums.total, self.sums.total_low
        sums = self.sums
        return type(self)(sizes, ClassSums(sums.rows, sums.weight, sums.weight_low, total, low, sums.error))

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        sizes = np.maximum(self.sizes, other.sizes)
        return type(self)(sizes, self.widened(sizes).sums.merge(other.widened(sizes).sums))

    def subtract(self, other: Self) -> Self:
        """Return the statistic without the rows of `other`; raises `ForgetError` as `ClassSums` does."""
        sizes = np.maximum(self.sizes, other.sizes)
        left = type(self)(sizes, self.widened(sizes).sums.subtract(other.widened(sizes).sums))
        return left._trimmed()  # noqa: SLF001

    def _trimmed(self) -> Self:
        """Leave out the last categories of columns that no row has any more."""
        sums = self.sums
        ends = np.cumsum(self.sizes)
        number = np.arange(int(ends[-1])) - np.repeat(ends - self.sizes, self.sizes)
        seen = np.where(sums.total.any(axis=0), number, 0)
        sizes = np.maximum.reduceat(seen, ends - self.sizes) + 1
        kept = number < np.repeat(sizes, self.sizes)
        total, low = sums.total[:, kept], sums.total_low[:, kept]
        return type(self)(sizes, ClassSums(sums.rows, sums.weight, sums.weight_low, total, low, sums.error))

    def check(self) -> None:
        """Refuse values from a model file that cannot be counts."""
        expect_array(self.sizes, "category-counts.sizes", kinds="i", shape=(None,))
        fine = bool((self.sizes >= 1).all()) and self.sums.n_features == int(self.sizes.sum())
        expect(fine, "category-counts.sizes does not go with its counts")
        expect(bool((self.sums.total >= 0).all()), "category-counts holds a negative count")
