"""From a statistic of the rows to certified coefficients.

1. Solve with Cholesky from the products of the columns, one factorisation for each strength.
2. Where the condition number forbids that, read the rows once more and factorise the columns themselves (``_triangle``);
   where the rows are gone, decompose the statistic and say what that leaves open.
3. Where squaring cost digits, read the rows once more and correct.
4. Certify what will be stored.

The certificate decides how much work is done: most problems need one pass over the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.data import fold
from qed.linear_model._factors import Factor, Spectrum, factorise, spectrum_of
from qed.linear_model._quadratic import UNIT, Quadratic, lengths
from qed.linear_model._residuals import ResidualsOf
from qed.linear_model._triangle import TriangleOf, solve_triangle

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qed.data import Moments, Source
    from qed.linear_model._quadratic import Penalty, Targets
    from qed.linear_model._residuals import Residuals
    from qed.linear_model._triangle import Triangle

    Array = NDArray[np.float64]


DIGITS = 1e-10  # coefficients that squaring may have moved by more than this are corrected from the rows
TOLD = 1e-9  # relative: what products of columns must tell of the residuals, or the rows are read again


@dataclass(frozen=True, eq=False)
class Proof:
    """The numbers of a certificate, summed over targets, before they are put into words."""

    gap: float
    rounding: float
    objective: float
    null_objective: float
    backward_error: float
    radius: float
    condition: float
    rank: int


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, and what is known about them."""

    w: Array  # (p, m)
    b: Array  # (m,)
    squares: Array  # (m,), weighted sum of squared residuals
    proof: Proof
    solver: str
    outcome: str = "solved"
    dtype: Any = np.float64  # of the coefficients, which are numbers of that type


def in_single(certify: Callable[[Array], Fit], w: Array, tol: float | None) -> Fit:
    """Certify coefficients of float32 rows rounded to float32, as they will be stored; unrounded where that costs ``tol``.

    ``tol`` is a gap relative to the null model's objective, or None for rows in float64. The objective is quadratic, so that
    rounding raises it by about the square of what it moves the scores by.
    """
    if tol is not None:
        with np.errstate(over="ignore"):
            short = w.astype(np.float32)
        if np.isfinite(short).all():
            fit = certify(short.astype(np.float64))
            if fit.proof.gap <= tol * fit.proof.null_objective:
                return replace(fit, dtype=np.float32)
    return certify(w)


def from_moments(
    moments: Moments, penalty: Penalty, *, intercept: bool, source: Source | None, single: float | None = None
) -> Fit:
    """Solve least squares from its statistic; with ``source`` the rows can be read again if that is worth it.

    ``single`` is the tolerance of `in_single`.
    """
    quadratic = Quadratic.of(moments, intercept=intercept)
    rows = _Rows(source, quadratic) if source is not None else None
    w, judges, solver = _solve(quadratic, penalty, rows, moments.rows)
    return in_single(lambda w: _certified(quadratic, penalty, rows, judges, w, solver), w, single)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows, for those who must see them again."""

    source: Source
    quadratic: Quadratic

    @property
    def centre(self) -> Array:
        return np.concatenate([self.quadratic.mean_x, self.quadratic.mean_y])

    def residuals(self, w: Array) -> Residuals:
        found = fold(self.source, ResidualsOf(w, self.centre))
        # the means that were subtracted are rounded: what is left of them in the columns meets the mean residual
        left = np.multiply.outer(self.quadratic.mean_x_low, found.sums)
        return replace(found, gradient=found.gradient - left)


Judges = list[tuple["Targets", Factor | Spectrum]]


def _solve(quadratic: Quadratic, penalty: Penalty, rows: _Rows | None, n: int) -> tuple[Array, Judges, str]:
    w = penalty.prior.copy()
    downhill = quadratic.gradient(quadratic.at(penalty.prior), penalty)[0] if penalty.prior.any() else quadratic.c
    judges: Judges = []
    used: list[str] = []
    triangle: Triangle | None = None
    for alpha, targets in penalty.groups():
        judge: Factor | Spectrum | None = factorise(quadratic, alpha)
        if judge is not None:
            w[:, targets] += judge.solve(downhill[:, targets])
            used.append("cholesky")
        elif rows is None:
            judge = spectrum_of(quadratic, alpha)
            w[:, targets] += judge.shortest(judge.solve(downhill[:, targets]))
            used.append("eigen")
        else:
            d = quadratic.columns.unit(alpha)
            triangle = triangle or fold(rows.source, TriangleOf.about(quadratic))  # one serves all strengths
            w[:, targets], judge = solve_triangle(triangle, quadratic.columns, penalty, (alpha, targets), d, n)
            used.append("qr")
        judges.append((targets, judge))
    if rows is not None and any(judge.condition**2 * UNIT > DIGITS for _, judge in judges):
        w = _corrected(w, rows.residuals(w).gradient, penalty, judges)
    return w, judges, "+".join(sorted(set(used)))


def _corrected(w: Array, gradient: Array, penalty: Penalty, judges: Judges) -> Array:
    """Take one Newton step from residuals computed afresh: it wins back the digits that squaring lost."""
    g = gradient - penalty.pull(w)
    step = np.zeros_like(w)
    for targets, judge in judges:
        step[:, targets] = judge.solve(g[:, targets])
    better = w + step
    for targets, judge in judges:
        if isinstance(judge, Spectrum):
            prior = penalty.prior[:, targets]
            better[:, targets] = prior + judge.shortest(better[:, targets] - prior)
    return better


def _certified(
    quadratic: Quadratic,
    penalty: Penalty,
    rows: _Rows | None,
    judges: Judges,
    w: Array,
    solver: str,
) -> Fit:
    at, b, price = quadratic.at(w), quadratic.intercept(w), penalty.value(w)
    g, slack = quadratic.gradient(at, penalty)
    squares, rounding_error = quadratic.residual_squares(at)
    hidden = np.where(
        rounding_error > TOLD * squares, rounding_error, 0.0
    )  # an objective that products of columns do not tell
    is_coarse = bool(hidden.any()) or any(isinstance(judge, Spectrum) for _, judge in judges)
    if rows is not None and is_coarse:
        fresh, pull = rows.residuals(w), penalty.pull(w)
        g = fresh.gradient - pull
        slack = fresh.slack(quadratic, w) + 4 * UNIT * np.abs(pull)
        squares, hidden = fresh.squares, np.zeros_like(hidden)
    offset, offset_rounding = quadratic.offset_cost(at, b)
    gap, measured, radius = np.zeros(len(b)), np.zeros(len(b)), np.inf
    # one radius for all targets, whatever their units
    reach = np.full(len(b), 10 * quadratic.span(w).max(initial=0.0))
    for targets, judge in judges:
        found = judge.gap(g[:, targets], slack[:, targets], reach[targets])
        gap[targets], measured[targets], radius = found.bound, found.measured, min(radius, found.radius)
    if not reach.any():
        # constant targets, met exactly: no objective is below zero, so this one bounds itself everywhere
        gap, radius = np.minimum(gap, squares + price), np.inf
        measured = np.minimum(measured, gap)
    proof = Proof(
        gap=float((gap + offset + offset_rounding + hidden).sum()),
        rounding=float((gap - measured + offset_rounding + hidden).sum()),
        objective=float((squares + offset + price).sum()),
        null_objective=quadratic.null_objective(penalty),
        backward_error=_backward_error(quadratic, at.reach, np.abs(g) + slack, np.sqrt(squares + price)),
        radius=radius,
        condition=max((judge.condition for _, judge in judges), default=1.0),
        rank=min((judge.rank for _, judge in judges), default=0),
    )
    return Fit(w, b, squares, proof, solver)


def _backward_error(quadratic: Quadratic, reach: Array, g: Array, residual: Array) -> float:
    """Return the size of a change of the data, relative to it, that makes the coefficients exactly optimal.

    Two changes are known: of the columns along the residual, ``‖Xᵀr‖ / ‖r‖``, and of the targets by the residual itself.
    A penalty counts as rows ``sqrt(alpha) I`` below the design.
    """
    unit = quadratic.columns.plain_unit  # columns are compared at unit length
    along = lengths(unit[:, None] * g) / math.sqrt(max(int(np.count_nonzero(unit)), 1))
    left = residual > 0
    if not left.all():
        along, residual, reach = along[left], residual[left], reach[left]
    errors = np.minimum(along / residual, residual / np.where(reach > 0, reach, 1.0))
    return float(errors.max(initial=0.0))
