"""Two ways to invert ``S + alpha I``, and what each can prove about the distance to the optimum.

Both work on columns scaled to unit length, so that units of measurement cannot hurt. For a step ``d`` from ``w``, with ``z``
that step in scaled units and ``M`` the scaled matrix,

    P(w) - P(w + d) = 2 g·d - d·(S + alpha I) d = 2 ĝ·z - z·M z <= ĝ·M⁻¹ĝ.

``Factor`` (Cholesky) bounds the right-hand side outright. ``Spectrum`` (eigenvectors) does so on the directions the data
determine, and charges the others ``2 |ĝ_k| R + slack R²`` for steps up to a radius ``R``, which it reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.core import InvalidData
from qed.core._threads import one_blas_thread
from qed.linear_model._kernels import cholesky, solve_lower, solve_lower_t
from qed.linear_model._quadratic import UNIT, lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.linear_model._quadratic import Columns, Quadratic

    Array = NDArray[np.float64]


CONDITION_LIMIT = 1e6  # of the design: beyond it the squares in S have eaten half the digits


@dataclass(frozen=True, eq=False)
class Gap:
    """A bound on the distance from the optimum, for each target."""

    bound: Array  # rounding included
    measured: Array  # what the bound would be if nothing had been rounded
    radius: float  # of the steps it speaks of


@dataclass(frozen=True, eq=False)
class Flat:
    """Columns without spread: nothing is learned along them, and nothing much can be gained.

    A constant column costs nothing, exactly. One that differs from a constant by less than its own rounding is charged for
    steps up to the radius, a coefficient being measured in units of its column's length.
    """

    unit: Array | None  # (p,), 1 / length of a flat column, zero elsewhere; None if there are none
    noise: float  # bound on ‖X z‖ / ‖z‖ along flat columns

    @classmethod
    def of(cls, columns: Columns, d: Array) -> Flat:
        """Find what the columns that are scaled by zero in ``d`` could still do."""
        flat = (d == 0) & (columns.length > 0)
        if not flat.any():
            return cls(None, 0.0)
        unit = np.where(flat, 1 / np.where(flat, columns.length, 1.0), 0.0)
        spread = np.maximum(columns.spread, 0) + columns.rounding * columns.length**2
        return cls(unit, float(np.sqrt(np.sum(spread * unit**2))))

    def widen(self, gap: Gap, g: Array, slack: Array, reach: Array) -> Gap:
        """Add what steps along flat columns could gain, within ``reach``."""
        if self.unit is None:
            return gap
        stray = self.unit @ (np.abs(g) + slack)
        if not np.any(stray) and self.noise == 0:
            return gap
        # ‖X(a + b)‖² >= ½‖Xa‖² - ‖Xb‖², hence the factor two on what the other columns may gain
        bound = 2 * gap.bound + 2 * stray * reach + (self.noise * reach) ** 2
        return Gap(bound, gap.measured, min(gap.radius, float(np.max(reach, initial=0.0))))


@dataclass(frozen=True, eq=False)
class Factor:
    """A Cholesky factor ``L`` of ``D (S + alpha I) D``, with ``L⁻¹`` kept because its size is the proof."""

    L: Array  # (p, p) lower
    inverse: Array  # (p, p), L⁻¹
    d: Array  # (p,), zero for columns without spread
    flat: Flat
    relative_error: float  # of M, seen from its smallest eigenvalue
    largest: float  # bound on the largest eigenvalue of M
    inverse_norm: float  # Frobenius, of L⁻¹: its square bounds the inverse of the smallest eigenvalue of M

    @property
    def condition(self) -> float:
        """Estimated condition number of the design: within a factor √p, from above."""
        return math.sqrt(self.largest) * self.inverse_norm

    @property
    def rank(self) -> int:
        """Columns that carry information."""
        return int(np.count_nonzero(self.d))

    def solve(self, g: Array) -> Array:
        """Return ``(S + alpha I)⁻¹ g``, zero for columns without spread."""
        d = self.d[:, None]
        return d * solve_lower_t(self.L, solve_lower(self.L, d * g))

    def gap(self, g: Array, slack: Array, reach: Array) -> Gap:
        """Bound ``P(w)`` minus its minimum, given the gradient up to ``slack``."""
        d = self.d[:, None]
        size = lengths(self.inverse @ (d * g))
        rounding_error = self.inverse_norm * lengths(d * slack)
        bound = (size + rounding_error) ** 2 / (1 - self.relative_error)
        return self.flat.widen(Gap(bound, size**2, np.inf), g, slack, reach)


def factorise(quadratic: Quadratic, alpha: float) -> Factor | None:
    """Factorise ``S + alpha I``, or return None when its condition number forbids squared columns."""
    p, columns = len(quadratic.S), quadratic.columns
    d = columns.unit(alpha)
    M = quadratic.S * d
    M *= d[:, None]
    M.flat[:: p + 1] = 1.0  # the diagonal
    L, bad = cholesky(M)
    if bad >= 0:
        return None
    inverse = solve_lower(L, np.eye(p))
    inverse_norm = math.sqrt(np.vdot(inverse, inverse))
    smallest = 1 / inverse_norm**2  # the trace of M⁻¹ bounds its largest eigenvalue
    size = columns.length * d
    error = columns.rounding * float(size @ size) + 4 * p * (p + 2) * UNIT
    largest = float(np.abs(M).sum(axis=0).max(initial=1.0))
    if largest > CONDITION_LIMIT**2 * smallest or error > 0.25 * smallest:
        return None
    return Factor(L, inverse, d, Flat.of(columns, d), error / smallest, largest, inverse_norm)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvectors of ``D (S + alpha I) D`` that the data determine; the rest is left to the shortest solution."""

    values: Array  # (k,) eigenvalues that count
    floor: Array  # (k,) what is left of them after every rounding error
    vectors: Array  # (p, k)
    d: Array  # (p,)
    flat: Flat
    slack: float  # zero when no direction is missing; else z·M z may fall this much ‖z‖² short of what ``floor`` says
    largest: float

    @property
    def condition(self) -> float:
        """Condition number of the design on the directions that count."""
        return float(np.sqrt(self.largest / self.values.min())) if self.rank else 1.0

    @property
    def rank(self) -> int:
        """Directions the data determine."""
        return len(self.values)

    def solve(self, g: Array) -> Array:
        """Return the pseudo-inverse times ``g``: the step within the directions that count."""
        scaled = self.vectors.T @ (self.d[:, None] * g)
        return self.d[:, None] * (self.vectors @ (scaled / self.values[:, None]))

    def shortest(self, w: Array) -> Array:
        """Return, among the coefficients that predict like ``w``, those of least Euclidean norm.

        What the data see of ``w`` are its coordinates along ``vectors`` in scaled units, ``t = Vᵀ(w / d)``. Of all
        coefficients with those coordinates ``B (BᵀB)⁻¹ t`` with ``B = V / d`` is the shortest; through ``B = QR`` that is
        ``Q R⁻ᵀ t``, where nothing large is subtracted, however different the units of the columns are.
        """
        live = self.d > 0
        if self.rank == np.count_nonzero(live):
            return w
        basis = self.vectors[live] / self.d[live, None]
        short = np.zeros_like(w)
        if self.rank:
            q, r = np.linalg.qr(basis)
            short[live] = q @ np.linalg.solve(r.T, self.vectors[live].T @ (w[live] / self.d[live, None]))
        return short

    def gap(self, g: Array, slack: Array, reach: Array) -> Gap:
        """Bound ``P(w)`` minus its minimum over steps of scaled length up to ``reach``."""
        scaled = self.d[:, None] * g
        seen = self.vectors.T @ scaled
        free = lengths(scaled - self.vectors @ seen)
        rounding_error = lengths(self.d[:, None] * slack)
        size = lengths(seen / np.sqrt(self.floor)[:, None])
        bound, radius = size**2, np.inf
        if self.rank:
            bound = (size + rounding_error / np.sqrt(self.floor.min())) ** 2
        if self.slack > 0:
            bound, radius = (
                bound + 2 * (free + rounding_error) * reach + self.slack * reach**2,
                float(np.max(reach, initial=0.0)),
            )
        return self.flat.widen(Gap(bound, size**2, radius), g, slack, reach)


def spectrum_of(quadratic: Quadratic, alpha: float) -> Spectrum:
    """Decompose the statistic itself: all that can be done when the rows are gone."""
    columns = quadratic.columns
    d = columns.unit(alpha)
    M = quadratic.S * d * d[:, None] + np.diag(alpha * d**2)
    with one_blas_thread():
        try:
            values, vectors = np.linalg.eigh((M + M.T) / 2)
        except np.linalg.LinAlgError as failure:
            raise InvalidData(
                "The sums of squares of this model are too large to solve with. Scale the columns."
            ) from failure
    error = columns.rounding * float(np.sum((columns.length * d) ** 2)) + 8 * len(d) * UNIT * float(values[-1])
    keep = values > 4 * error
    slack = 0.0 if np.count_nonzero(keep) == np.count_nonzero(d) else error - min(0.0, float(values[0]))
    return Spectrum(
        values[keep], values[keep] - error, vectors[:, keep], d, Flat.of(columns, d), slack, float(values[-1])
    )
