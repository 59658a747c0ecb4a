"""Mean and spread of every column by itself, class by class: what naive Bayes needs to know about measurements.

The bounds on rounding are those of `Moments` (see there), of which this is the diagonal: every column has its own `peak`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import ForgetError, InvalidData
from qed.core._records import expect, expect_array, record
from qed.data import _kernels
from qed.data._class_moments import class_codes
from qed.data._double_double import Pair, add, divide, exact_sum, multiply, negative
from qed.data._finite import raise_not_finite
from qed.data._kernels import UNIT
from qed.data._moments import FORGETTING_LIMIT

if TYPE_CHECKING:
    from qed.data._chunk import Chunk


Numbers = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
LOOKED_AT = 16  # rows of a class, if they are as frequent as others, that tell where its mean lies
CANCELLED = 2.0**-26  # of the squares about a guess of the mean: where less is left, half of the digits are gone


@record("class-spreads")
class ClassSpreads:
    """Weight of each class, and mean and spread of every column in it; merges and subtracts.

    Attributes
    ----------
    rows : ndarray of int64 of shape (k,)
        Rows of positive weight of each class.
    weight, weight_low : ndarray of shape (k,)
        Their weights added up, in double-double.
    mean, mean_low : ndarray of shape (k, p)
        Weighted means, in double-double; zero for a class without rows.
    spread, spread_low : ndarray of shape (k, p)
        Weighted sums of squared deviations from the mean of the class, in double-double.
    peak : ndarray of shape (k, p)
        The largest sums of squares that went through each spread; the yardstick of `rounding`.
    weight_error, mean_error, spread_error : float
        Bounds η, e and c of the docstring of `qed.data.Moments`, for all classes.

    Notes
    -----
    Memory: 40 k p bytes for k classes, and as much again while merging, whatever the number of rows.
    """

    rows: Integers
    weight: Numbers
    weight_low: Numbers
    mean: Numbers
    mean_low: Numbers
    spread: Numbers
    spread_low: Numbers
    peak: Numbers
    weight_error: float = 0.0
    mean_error: float = 0.0
    spread_error: float = 0.0

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Return the statistic of no rows."""
        k, table = np.zeros(n_classes), np.zeros((n_classes, n_features))
        return cls(np.zeros(n_classes, np.int64), k, k, table, table, table, table, table)

    @classmethod
    def of(cls, chunk: Chunk, n_classes: int) -> Self:
        """Compute the statistic of a chunk whose `y` holds class numbers 0 to ``n_classes - 1``, in one pass over it.

        For `fold`, which gives the chunk alone: ``functools.partial(ClassSpreads.of, n_classes=3)``.

        Raises
        ------
        InvalidData
            When a value is not finite, naming row and column; or when squares overflow.
        """
        if not isinstance(chunk.X, np.ndarray):
            raise InvalidData("Spreads by class need a dense table: about their means, sparse columns are not sparse.")
        place = class_codes(chunk, n_classes)
        used = place if chunk.s is None else place[chunk.s > 0]
        rows = np.bincount(used, minlength=n_classes)
        if not len(used):
            return cls.empty(n_classes, chunk.n_features)
        codes = place.astype(np.float64)
        weight, eta = rows.astype(np.float64), 0.0
        if chunk.s is not None:
            sums, terms = _kernels.class_sums(chunk.s[:, np.newaxis], codes, n_classes, None)
            weight, eta = sums[:, 0], terms * UNIT
        with np.errstate(over="ignore", invalid="ignore"):  # found in the sums, and named
            shift = _near_means(chunk, place, codes, n_classes)
            for _ in range(2):
                both, terms = _kernels.class_sums(chunk.X, codes, n_classes, chunk.s, shift, squares=True)
                terms = min(terms, chunk.n_rows)
                sums, squares = both[:n_classes], both[n_classes:]
                step = sums / np.where(weight > 0, weight, 1.0)[:, np.newaxis]
                # rows of no weight are no rows: nothing of them may stay
                mean = exact_sum(np.where(weight[:, np.newaxis] > 0, shift, 0.0), step)
                spread = np.maximum(squares - sums * step, 0.0)
                if chunk.s is None or not np.any(spread < CANCELLED * squares):
                    break
                shift = mean.high  # one row outweighs all others of its class: its mean is nearer to it than any guess
        if not (np.isfinite(both).all() and np.isfinite(mean.high).all() and np.isfinite(spread).all()):
            raise_not_finite(chunk)
        gamma = (terms + 16) * UNIT / (1 - (terms + 16) * UNIT)
        nothing = np.zeros_like(spread)
        return cls(
            rows=rows.astype(np.int64),
            weight=weight,
            weight_low=np.zeros(n_classes),
            mean=mean.high,
            mean_low=mean.low,
            spread=spread,
            spread_low=nothing,
            peak=squares * (1 + 4 * gamma),
            weight_error=eta,
            mean_error=1.01 * (gamma + eta),
            spread_error=1.01 * (3 * gamma + eta),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes, those without rows included."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.mean.shape[1])

    @property
    def rounding(self) -> float:
        """Scalar c such that every spread is within ``c * peak`` of the exact value."""
        e, eta = self.mean_error, self.weight_error
        return self.spread_error + 2 * e + e * e + 2 * eta + 4 * UNIT

    @property
    def mean_rounding(self) -> float:
        """Scalar e such that every mean is within ``e * sqrt(peak / weight)`` and a last bit of the exact one."""
        return self.mean_error + 2 * self.weight_error + 4 * UNIT

    def variance_of_all(self) -> Numbers:
        """Return the variance of each column over the rows of all classes, (p,): within classes and between them."""
        share = (self.weight / self.weight.sum())[:, np.newaxis]
        middle = (share * self.mean).sum(axis=0)
        variance: Numbers = self.spread.sum(axis=0) / self.weight.sum() + (share * (self.mean - middle) ** 2).sum(
            axis=0
        )
        return variance

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        self._check_same(other)
        if not other.rows.any():
            return self
        if not self.rows.any():
            return other
        mine, theirs = _column(self.weight, self.weight_low), _column(other.weight, other.weight_low)
        total = add(mine, theirs)
        pull = divide(theirs, _safe(total))
        step = add(Pair(other.mean, other.mean_low), negative(Pair(self.mean, self.mean_low)))
        mean = add(Pair(self.mean, self.mean_low), multiply(pull, step))
        between = multiply(multiply(mine, pull), multiply(step, step))
        spread = add(add(Pair(self.spread, self.spread_low), Pair(other.spread, other.spread_low)), between)
        return type(self)(
            rows=self.rows + other.rows,
            weight=total.high[:, 0],
            weight_low=total.low[:, 0],
            mean=mean.high,
            mean_low=mean.low,
            spread=spread.high,
            spread_low=spread.low,
            peak=(self.peak + other.peak + between.high) * (1 + 8 * UNIT),
            weight_error=max(self.weight_error, other.weight_error),
            mean_error=max(self.mean_error, other.mean_error),
            spread_error=max(self.spread_error, other.spread_error),
        )

    def subtract(self, other: Self) -> Self:
        """Return the statistic without the rows of `other`, which must be among those of this one.

        Raises
        ------
        ForgetError
            When a class has fewer rows or less weight than would be taken away, or when the rounding that was tracked
            exceeds 1e-6 of the spread that remains in some column.
        """
        self._check_same(other)
        if not other.rows.any():
            return self
        mine, theirs = _column(self.weight, self.weight_low), _column(other.weight, other.weight_low)
        rest = add(mine, negative(theirs))
        rows = self.rows - other.rows
        _check_something_remains(self, other, rest.high[:, 0])
        kept = (rows > 0)[:, np.newaxis]
        push = divide(theirs, _safe(Pair(np.where(kept, rest.high, 1.0), np.where(kept, rest.low, 0.0))))
        step = add(Pair(other.mean, other.mean_low), negative(Pair(self.mean, self.mean_low)))
        mean = add(Pair(self.mean, self.mean_low), negative(multiply(push, step)))
        between = multiply(multiply(mine, push), multiply(step, step))
        spread = add(
            add(Pair(self.spread, self.spread_low), negative(Pair(other.spread, other.spread_low))), negative(between)
        )
        alone = (rows <= 1)[:, np.newaxis]  # one row has no spread: known without any cancellation
        left = type(self)(
            rows=rows,
            weight=np.where(rows > 0, rest.high[:, 0], 0.0),
            weight_low=np.where(rows > 0, rest.low[:, 0], 0.0),
            mean=np.where(kept, mean.high, 0.0),
            mean_low=np.where(kept, mean.low, 0.0),
            spread=np.where(alone, 0.0, spread.high),
            spread_low=np.where(alone, 0.0, spread.low),
            peak=np.where(kept, np.maximum(self.peak, other.peak + between.high) * (1 + 8 * UNIT), 0.0),
            **_errors_after(self, other, np.where(rows > 0, rest.high[:, 0], np.inf)),
        )
        _check_still_accurate(left)
        negatives = left.spread < 0  # by rounding: the exact value is not negative, so zero comes closer
        left.spread[negatives] = left.spread_low[negatives] = 0.0
        return left

    def check(self) -> None:
        """Refuse values from a model file that cannot be spreads."""
        expect_array(self.rows, "class-spreads.rows", kinds="i", shape=(None,))
        k = len(self.rows)
        for name in ("weight", "weight_low"):
            expect_array(getattr(self, name), f"class-spreads.{name}", shape=(k,), finite=True)
        expect(self.mean.ndim == 2, "class-spreads.mean is no table")
        for name in ("mean", "mean_low", "spread", "spread_low", "peak"):
            expect_array(getattr(self, name), f"class-spreads.{name}", shape=(k, self.mean.shape[1]), finite=True)
        fine = k > 0 and bool((self.rows >= 0).all() and (self.spread >= 0).all() and (self.peak >= 0).all())
        expect(fine, "class-spreads holds a negative count or spread")
        expect(bool(((self.rows == 0) == (self.weight == 0)).all()), "class-spreads.weight does not go with its rows")
        expect(bool((self.weight >= 0).all()), "class-spreads.weight is negative")
        errors = (self.weight_error, self.mean_error, self.spread_error)
        expect(all(0 <= error < np.inf for error in errors), "class-spreads states a negative or infinite error")

    def _check_same(self, other: Self) -> None:
        if self.mean.shape != other.mean.shape:
            raise InvalidData(
                f"These spreads are of {self.n_classes} classes and {self.n_features} columns, the others of"
                f" {other.n_classes} and {other.n_features}. Only statistics of the same classes and columns merge."
            )


def _near_means(chunk: Chunk, place: Integers, codes: Numbers, n_classes: int) -> Numbers:
    """Return a row near the mean of each class, from a few rows of it; columns that are constant there are hit exactly."""
    first = np.zeros(n_classes, np.intp)
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # the last one written is the first one that occurs
    shift: Numbers = np.ascontiguousarray(chunk.X[first], dtype=np.float64)
    step = max(1, len(place) // (LOOKED_AT * max(n_classes, LOOKED_AT)))
    some = slice(None, None, step)
    sums, _ = _kernels.class_sums(chunk.X[some], codes[some], n_classes, None, shift)
    shift += sums / np.maximum(np.bincount(place[some], minlength=n_classes), 1)[:, np.newaxis]
    shift[~np.isfinite(shift)] = 0.0
    shift[np.bincount(place, minlength=n_classes) == 0] = 0.0
    return shift


def _column(high: Numbers, low: Numbers) -> Pair:
    return Pair(high[:, np.newaxis], low[:, np.newaxis])


def _safe(weight: Pair) -> Pair:
    """Return the weight, with ones for classes that have none: nothing is divided by them that is not zero."""
    return Pair(np.where(weight.high > 0, weight.high, 1.0), weight.low)


def _errors_after(a: ClassSpreads, b: ClassSpreads, left: Numbers) -> dict[str, float]:
    """Bound the errors after taking b away from a, for the class where they are largest; formulas as in `Moments`."""
    ratio_a, ratio_b = np.sqrt(a.weight / left), np.sqrt(b.weight / left)
    eta = (a.weight_error * a.weight + b.weight_error * b.weight) / left
    cross = a.mean_rounding * ratio_b + b.mean_rounding * ratio_a
    weights = a.weight_error + b.weight_error + eta
    mean = a.mean_rounding * ratio_a + b.mean_rounding * ratio_b
    mean += (b.weight_error + eta) * np.sqrt(b.weight / np.where(a.weight > 0, a.weight, 1.0))
    spread = a.rounding + b.rounding + 2 * cross + cross * cross + weights
    return {
        "weight_error": 1.01 * float(eta.max()),
        "mean_error": 1.01 * float(mean.max()),
        "spread_error": 1.01 * float(spread.max()),
    }


def _check_something_remains(a: ClassSpreads, b: ClassSpreads, left: Numbers) -> None:
    """Refuse to take away more rows or more weight of a class than there are."""
    rounding_error = a.weight_error * a.weight + b.weight_error * b.weight + 4 * UNIT * a.weight * (a.weight_error > 0)
    rows = a.rows - b.rows
    wrong = rows < 0
    wrong |= np.where(
        rows == 0, np.abs(left) > rounding_error, (left <= 0) | (rounding_error > FORGETTING_LIMIT * left)
    )
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise ForgetError(
            f"Cannot forget {b.rows[k]} rows of weight {b.weight[k]:g} of class number {k}: {a.rows[k]} rows of weight"
            f" {a.weight[k]:g} were learnt. Forget rows that were added before, each once and with its weight."
        )


def _check_still_accurate(left: ClassSpreads) -> None:
    """Refuse when rounding exceeds its limit relative to what remains, in any class and column."""
    bound = left.rounding * left.peak
    uncertain = (bound > FORGETTING_LIMIT * left.spread) & (left.rows > 1)[:, np.newaxis]
    if uncertain.any():
        k, j = map(int, np.argwhere(uncertain)[0])
        raise ForgetError(
            f"Cannot forget these rows accurately: of the sum of squares of column {j} in class number {k}, once"
            f" {left.peak[k, j]:.3g}, {max(float(left.spread[k, j]), 0.0):.3g} would remain, known to within"
            f" {bound[k, j]:.3g} only (the limit is a relative {FORGETTING_LIMIT:g}). Refit on the rows that remain."
        )
