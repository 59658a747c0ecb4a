r"""Weight, mean and scatter of the columns of ``[X | y]``: all that least squares ever needs to know about the rows.

How the rounding is tracked
---------------------------
Write u = 2**-53 for the unit roundoff and, for a chunk, :math:`A = \sum_i s_i z_i z_i^\top` with z the row minus a
shift close to the mean. A kernel's sum whose longest chain has k roundings is off by at most
:math:`\gamma = ku/(1-ku)` times the sum of absolute values, and by Cauchy-Schwarz that sum is at most
:math:`\sqrt{A_{ii}A_{jj}}`. So, with `peak` = diag A, one scalar bounds a whole matrix:

* weight: relative error η, a few u (0 without weights: a count is exact);
* mean: error at most :math:`e\sqrt{peak_j / weight}` with e = γ + η;
* scatter :math:`A - \sum z \sum z^\top / weight`: error at most :math:`c\sqrt{peak_i\,peak_j}` with c = 3γ + η.

Merges are Chan's, in double-double, so they add nothing worth counting by themselves. What they do is to take the
scatter *between* the parts, :math:`\sum_k W_k (m_k - m)(m_k - m)^\top`, from means and weights that are slightly off;
by Cauchy-Schwarz over the parts this costs at most :math:`(2e + e^2 + 2\eta)\sqrt{peak_i\,peak_j}`, **however many
parts there are**, provided `peak` adds up and takes in the scatter between. Hence η, e and c of a merged statistic are
the largest of its parts, and `rounding` is c + 2(e + η) and some change.

Taking rows away cancels. With W_r the weight that remains, the mean that remains has
:math:`e_r = e_a\sqrt{W_a/W_r} + e_b\sqrt{W_b/W_r} + …`, the scatter the sum of both bounds and of the same cross terms
scaled by :math:`\sqrt{W_b/W_r}`, while `peak` never shrinks: it remembers the size of what was there. When that bound
is no longer small against the scatter that remains, `subtract` refuses.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import ForgetError, InvalidData
from qed.core._records import expect, expect_array, record
from qed.data import _kernels
from qed.data._between import joined, parted
from qed.data._double_double import Pair, negative
from qed.data._finite import raise_not_finite
from qed.data._kernels import UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data._chunk import Chunk

Vector = np.ndarray[Any, np.dtype[np.float64]]
Matrix = np.ndarray[Any, np.dtype[np.float64]]

SHIFT_ROWS = 256  # rows looked at to find a shift: enough to be close to the mean, too few to cost anything
SMALLEST_SUBNORMAL = 5e-324
FORGETTING_LIMIT = 1e-6  # relative error of a column's scatter above which forgetting is refused


LARGEST_SQUARE = 1e300


@record("moments")
class Moments:
    """Weighted mean and centred scatter of the columns of ``[X | y]``; merges and subtracts.

    `empty` is the identity of `merge`; `merge` is associative and commutative up to the tracked rounding; `subtract`
    undoes `merge`, exactly for counts, and refuses when rounding would show.

    Attributes
    ----------
    rows : int
        Rows of positive weight.
    weight, weight_low : float
        Sum of the weights, in double-double.
    mean, mean_low : ndarray of shape (q,)
        Weighted means of the p features, then of the m targets; q = p + m.
    scatter, scatter_low : ndarray of shape (q, q)
        Sum of s (z - mean)(z - mean)', symmetric.
    n_targets : int
        m, the number of last columns that are targets.
    peak : ndarray of shape (q,)
        The largest sums of squares that went through each diagonal entry; the yardstick of `rounding`.
    weight_error, mean_error, scatter_error : float
        The bounds η, e and c of the module's docstring.

    Notes
    -----
    Memory: 16 q**2 + 40 q bytes, and a few times 512 KiB while merging, whatever the number of rows.
    """

    rows: int
    weight: float
    weight_low: float
    mean: Vector
    mean_low: Vector
    scatter: Matrix
    scatter_low: Matrix
    n_targets: int
    peak: Vector
    weight_error: float = 0.0
    mean_error: float = 0.0
    scatter_error: float = 0.0

    @classmethod
    def empty(cls, n_features: int, n_targets: int = 0) -> Self:
        """Return the statistic of no rows."""
        q = n_features + n_targets
        return cls(0, 0.0, 0.0, np.zeros(q), np.zeros(q), np.zeros((q, q)), np.zeros((q, q)), n_targets, np.zeros(q))

    @classmethod
    def of(cls, chunk: Chunk, listed: NDArray[np.int64] | None = None) -> Self:
        """Compute the statistic of the rows of a chunk, or of those whose numbers are listed, in one pass and without a copy.

        Raises
        ------
        InvalidData
            When a value is not finite, naming row and column; or when squares overflow.
        """
        n = chunk.n_rows if listed is None else len(listed)
        rows = n if chunk.s is None else int(np.count_nonzero(chunk.s if listed is None else chunk.s[listed]))
        if rows == 0:
            return cls.empty(chunk.n_features, chunk.n_targets)
        plain = _kernels.moments(chunk, -(-n // SHIFT_ROWS), listed)
        peak = plain.products.diagonal()
        if not (np.isfinite(plain.sums).all() and np.isfinite(peak).all()):  # found in the sums, and named
            raise_not_finite(chunk)
        mean, scatter = plain.centred()
        gamma, eta = _kernels.rounding(chunk, n)
        return cls(
            rows=rows,
            weight=plain.weight,
            weight_low=0.0,
            mean=mean.high,
            mean_low=mean.low,
            scatter=scatter.high,
            scatter_low=scatter.low,
            n_targets=chunk.n_targets,
            peak=peak * (1 + 4 * gamma),
            weight_error=eta,
            mean_error=1.01 * (gamma + eta),
            scatter_error=1.01 * (3 * gamma + eta),
        )

    @property
    def n_features(self) -> int:
        """Number of first columns that are features."""
        return len(self.mean) - self.n_targets

    @property
    def rounding(self) -> float:
        """Scalar c such that every entry of `scatter` is within ``c * sqrt(peak[i] * peak[j])`` of the exact value."""
        e, eta = self.mean_error, self.weight_error
        return self.scatter_error + 2 * e + e * e + 2 * eta + 4 * UNIT if self.rows else 0.0

    @property
    def mean_rounding(self) -> float:
        """Scalar e such that every mean is within ``e * sqrt(peak[j] / weight)`` and a last bit of the exact one."""
        return self.mean_error + 2 * self.weight_error + 4 * UNIT if self.rows else 0.0

    @property
    def XX(self) -> Matrix:  # noqa: N802  the names of the mathematics
        """Scatter of the features, (p, p); a view."""
        return self.scatter[: self.n_features, : self.n_features]

    @property
    def XY(self) -> Matrix:  # noqa: N802  the names of the mathematics
        """Cross-scatter of features and targets, (p, m); a view."""
        return self.scatter[: self.n_features, self.n_features :]

    @property
    def YY(self) -> Matrix:  # noqa: N802  the names of the mathematics
        """Scatter of the targets, (m, m); a view."""
        return self.scatter[self.n_features :, self.n_features :]

    @property
    def mean_x(self) -> Vector:
        """Means of the features."""
        return self.mean[: self.n_features]

    @property
    def mean_y(self) -> Vector:
        """Means of the targets."""
        return self.mean[self.n_features :]

    def about_origin(self) -> Self:
        """Return the moments about zero, not centred: mean pinned at 0, scatter the sum of s z z'.

        What a model without intercept needs. Such moments merge and subtract among themselves.
        """
        products = _kernels.add_outer(self.scatter_pair, None, self.mean_pair, self.weight_pair)
        e = self.mean_rounding
        return replace(
            self,
            mean=np.zeros_like(self.mean),
            mean_low=np.zeros_like(self.mean),
            scatter=products.high,
            scatter_low=products.low,
            peak=(self.peak + self.weight * self.mean**2) * (1 + 8 * UNIT),
            mean_error=0.0,
            scatter_error=1.01 * (self.rounding + 2 * e + e * e + self.weight_error),
        )

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        self._check_same_columns(other)
        if other.rows == 0:
            return self
        if self.rows == 0:
            return other
        a, b = (self, other) if self.weight >= other.weight else (other, self)
        joint = joined(a.weight_pair, a.mean_pair, b.weight_pair, b.mean_pair)
        scatter = _kernels.add_outer(a.scatter_pair, b.scatter_pair, joint.step, joint.factor)
        spread = joint.factor.high * joint.step.high**2
        return type(self)(
            rows=a.rows + b.rows,
            weight=joint.weight.high,
            weight_low=joint.weight.low,
            mean=joint.mean.high,
            mean_low=joint.mean.low,
            scatter=scatter.high,
            scatter_low=scatter.low,
            n_targets=a.n_targets,
            peak=(a.peak + b.peak + spread) * (1 + 8 * UNIT),
            weight_error=max(a.weight_error, b.weight_error),
            mean_error=max(a.mean_error, b.mean_error),
            scatter_error=max(a.scatter_error, b.scatter_error),
        )

    def subtract(self, other: Self) -> Self:
        """Return the statistic without the rows of `other`, which must be among those of this one.

        Raises
        ------
        ForgetError
            When `other` has more rows or more weight, when its rows cannot all have been here, or when the rounding
            that was tracked exceeds 1e-6 of the scatter that remains in some column.
        """
        self._check_same_columns(other)
        if other.rows == 0:
            return self
        rows = self.rows - other.rows
        _check_something_remains(self, other)
        if rows == 0:
            return self.empty(self.n_features, self.n_targets)
        rest = parted(self.weight_pair, self.mean_pair, other.weight_pair, other.mean_pair)
        scatter = _kernels.add_outer(self.scatter_pair, negative(other.scatter_pair), rest.step, rest.factor)
        peak = np.maximum(self.peak, other.peak - rest.factor.high * rest.step.high**2) * (1 + 8 * UNIT)
        errors = _errors_after(self, other)
        left = type(self)(
            rows=rows,
            weight=rest.weight.high,
            weight_low=rest.weight.low,
            mean=rest.mean.high,
            mean_low=rest.mean.low,
            scatter=scatter.high,
            scatter_low=scatter.low,
            n_targets=self.n_targets,
            peak=peak,
            **errors,
        )
        if rows == 1:  # one row has no scatter: here the answer is known without any cancellation
            return left._of_one_row()  # noqa: SLF001
        _check_still_accurate(left)
        clipped = _clipped(scatter)
        return replace(left, scatter=clipped.high, scatter_low=clipped.low)

    def _of_one_row(self) -> Self:
        """Finish the statistic of a single row, which has no scatter.

        Its values are known up to what was cancelled, which is charged from here on relative to the values themselves: rows
        that are added later are compared with them, and not with what is gone.
        """
        error = self.mean_rounding * np.sqrt(self.peak / self.weight)
        with np.errstate(over="ignore"):  # a value of nearly zero is known to no digit, and the share is infinite
            share = np.where(error > 0, error / np.where(self.mean != 0, np.abs(self.mean), SMALLEST_SUBNORMAL), 0.0)
        worst = int(np.argmax(share))
        if share[worst] > FORGETTING_LIMIT:
            column = f"column {worst}" if worst < self.n_features else f"target {worst - self.n_features}"
            raise ForgetError(
                f"Cannot forget all rows but one accurately: its value {self.mean[worst]:.3g} in {column} would be known to within"
                f" {error[worst]:.3g} only (the limit is a relative {FORGETTING_LIMIT:g}). Refit on the row that remains."
            )
        most = max(self.mean_error, float(share[worst]))
        return replace(
            self,
            mean_error=most,
            scatter=np.zeros_like(self.scatter),
            scatter_low=np.zeros_like(self.scatter),
            scatter_error=0.0,
            peak=(1 + 8 * UNIT) * self.weight * (error / most) ** 2 if most > 0 else np.zeros_like(self.peak),
        )

    @property
    def weight_pair(self) -> Pair:
        """The weight in double-double."""
        return Pair(self.weight, self.weight_low)

    @property
    def mean_pair(self) -> Pair:
        """The mean in double-double."""
        return Pair(self.mean, self.mean_low)

    @property
    def scatter_pair(self) -> Pair:
        """The scatter in double-double."""
        return Pair(self.scatter, self.scatter_low)

    def check(self) -> None:
        """Refuse values from a model file that cannot be moments."""
        q = len(self.mean)
        expect(self.rows >= 0 and 0 <= self.n_targets <= q, "moments.rows or moments.n_targets is out of range")
        for name in ("mean", "mean_low", "peak"):
            expect_array(getattr(self, name), f"moments.{name}", shape=(q,), finite=True)
        for name in ("scatter", "scatter_low"):
            expect_array(getattr(self, name), f"moments.{name}", shape=(q, q), finite=True)
        expect(bool((self.scatter.diagonal() >= 0).all() and (self.peak >= 0).all()), "moments.scatter is negative")
        expect(bool((self.scatter == self.scatter.T).all()), "moments.scatter is not symmetric")
        expect(
            bool((np.abs(self.scatter) <= LARGEST_SQUARE).all()), "moments.scatter holds numbers whose sums overflow"
        )
        numbers = (self.weight, self.weight_error, self.mean_error, self.scatter_error)
        expect(all(0 <= number < math.inf for number in numbers), "moments holds a negative or infinite number")
        expect(math.isfinite(self.weight_low), "moments.weight_low is not finite")
        expect((self.rows == 0) == (self.weight == 0), "moments.weight does not go with moments.rows")

    def _check_same_columns(self, other: Self) -> None:
        if (self.n_features, self.n_targets) != (other.n_features, other.n_targets):
            raise InvalidData(
                f"These moments are of {self.n_features} features and {self.n_targets} targets, the others of "
                f"{other.n_features} and {other.n_targets}. Only statistics of the same columns merge."
            )


def _clipped(scatter: Pair) -> Pair:
    """Lift diagonal entries below zero to zero, in place: the exact value is not negative, so this comes closer."""
    negatives = np.flatnonzero(scatter.high.diagonal() < 0)
    scatter.high[negatives, negatives] = 0.0
    scatter.low[negatives, negatives] = 0.0
    return scatter


def _errors_after(a: Moments, b: Moments) -> dict[str, float]:
    """Bound the errors after taking b away from a; the formulas are derived in the module's docstring."""
    left = (a.weight - b.weight) + (a.weight_low - b.weight_low)
    ratio_a, ratio_b = math.sqrt(a.weight / left), math.sqrt(b.weight / left)
    eta = (a.weight_error * a.weight + b.weight_error * b.weight) / left
    cross = a.mean_rounding * ratio_b + b.mean_rounding * ratio_a
    weights = a.weight_error + b.weight_error + eta
    mean = a.mean_rounding * ratio_a + b.mean_rounding * ratio_b
    mean += (b.weight_error + eta) * math.sqrt(b.weight / a.weight)
    scatter = a.rounding + b.rounding + 2 * cross + cross * cross + weights
    return {"weight_error": 1.01 * eta, "mean_error": 1.01 * mean, "scatter_error": 1.01 * scatter}


def _check_something_remains(a: Moments, b: Moments) -> None:
    """Refuse to take away more rows or more weight than there are, or so much that the weight itself is uncertain."""
    if b.rows > a.rows:
        raise ForgetError(
            f"Cannot forget {b.rows} rows: only {a.rows} were learnt. Forget rows that were added before, each once."
        )
    left = (a.weight - b.weight) + (a.weight_low - b.weight_low)
    rounding_error = a.weight_error * a.weight + b.weight_error * b.weight + 4 * UNIT * a.weight * (a.weight_error > 0)
    if b.rows == a.rows:
        if abs(left) > rounding_error:
            raise ForgetError(
                f"Cannot forget all {a.rows} rows: their weights add up to {a.weight!r}, those to forget to "
                f"{b.weight!r}. Give the same rows with the same weights as were added."
            )
    elif not left > 0 or rounding_error > FORGETTING_LIMIT * left:
        raise ForgetError(
            f"Cannot forget a weight of {b.weight!r} out of {a.weight!r}: {a.rows - b.rows} rows would remain with a "
            f"weight of {left:.3g}, known to within {rounding_error:.3g}. Refit on the rows that remain."
        )


def _check_still_accurate(left: Moments) -> None:
    """Refuse when rounding exceeds its limit relative to what remains, in any column."""
    bound = left.rounding * left.peak
    remains = left.scatter.diagonal()
    uncertain = np.flatnonzero(bound > FORGETTING_LIMIT * remains)
    if not uncertain.size:
        return
    j = int(uncertain[np.argmin(remains[uncertain] / bound[uncertain])])
    column = f"column {j}" if j < left.n_features else f"target {j - left.n_features}"
    if remains[j] < -bound[j]:
        raise ForgetError(
            f"Cannot forget these rows: the sum of squares of {column} would become {remains[j]:.3g}, below zero. "
            "They were not among the rows that were learnt, or had another weight."
        )
    raise ForgetError(
        f"Cannot forget these rows accurately: of the sum of squares of {column}, once {left.peak[j]:.3g}, "
        f"{max(float(remains[j]), 0.0):.3g} would remain, known to within {bound[j]:.3g} only (the limit is a relative "
        f"{FORGETTING_LIMIT:g}). Refit on the rows that remain."
    )
