"""From a statistic of the rows to certified coefficients.

1. Solve with Cholesky from the products of the columns, one factorisation for each strength.
2. Where the condition number forbids that, read the rows once more and factorise the columns themselves (``_triangle``);
   where the rows are gone, decompose the statistic and say what that leaves open.
3. Where squaring cost digits, read the rows once more and correct.
4. Certify what will be stored.

The certificate decides how much work is done: most problems need one pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qed.data import fold
from qed.linear_model._factors import Factor, Spectrum, factorise, spectrum_of
from qed.linear_model._quadratic import UNIT, Quadratic
from qed.linear_model._residuals import ResidualsOf
from qed.linear_model._triangle import TriangleOf, solve_triangle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Moments, Source
    from qed.linear_model._quadratic import Penalty
    from qed.linear_model._residuals import Residuals
    from qed.linear_model._triangle import Triangle

    Array = NDArray[np.float64]

__all__ = ["DIGITS", "Fit", "Proof", "from_moments"]

DIGITS = 1e-10  # coefficients that squaring may have moved by more than this are corrected from the rows


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


def from_moments(moments: Moments, penalty: Penalty, *, intercept: bool, source: Source | None) -> Fit:
    """Solve least squares from its statistic; with ``source`` the rows can be read again if that is worth it."""
    quadratic = Quadratic.of(moments, intercept=intercept)
    rows = _Rows(source, quadratic) if source is not None else None
    w, judges, solver = _solve(quadratic, penalty, rows, moments.rows)
    return _certified(quadratic, penalty, rows, judges, w, solver)


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


Judges = list[tuple["NDArray[np.intp]", Factor | Spectrum]]


def _solve(quadratic: Quadratic, penalty: Penalty, rows: _Rows | None, n: int) -> tuple[Array, Judges, str]:
    w = penalty.prior.copy()
    downhill = quadratic.gradient(penalty.prior, penalty)[0] if penalty.prior.any() else quadratic.c
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
            w[:, targets], judge = solve_triangle(triangle, quadratic.columns, penalty, targets, d, n)
            used.append("qr")
        judges.append((targets, judge))
    if rows is not None and any(judge.condition**2 * UNIT > DIGITS for _, judge in judges):
        w = _corrected(w, rows.residuals(w).gradient, penalty, judges)
    return w, judges, "+".join(sorted(set(used)))


def _corrected(w: Array, gradient: Array, penalty: Penalty, judges: Judges) -> Array:
    """Take one Newton step from residuals computed afresh: it wins back the digits that squaring lost."""
    g = gradient - penalty.alpha * (w - penalty.prior)
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
    b = quadratic.intercept(w)
    g, slack = quadratic.gradient(w, penalty)
    squares, doubt = quadratic.residual_squares(w)
    is_coarse = bool(np.any(doubt > 1e-6 * squares)) or any(isinstance(judge, Spectrum) for _, judge in judges)
    if rows is not None and is_coarse:
        fresh = rows.residuals(w)
        g = fresh.gradient - penalty.alpha * (w - penalty.prior)
        slack = fresh.slack(quadratic, w) + 4 * UNIT * penalty.alpha * np.abs(w - penalty.prior)
        squares = fresh.squares
    offset, offset_doubt = quadratic.offset_cost(w, b)
    gap, measured, radius = np.zeros(len(b)), np.zeros(len(b)), np.inf
    # one radius for all targets, whatever their units
    reach = np.full(len(b), 10 * np.max(quadratic.span(w), initial=0.0))
    for targets, judge in judges:
        found = judge.gap(g[:, targets], slack[:, targets], reach[targets])
        gap[targets], measured[targets], radius = found.bound, found.measured, min(radius, found.radius)
    if not np.any(
        reach
    ):  # constant targets, met exactly: no objective is below zero, so this one bounds itself everywhere
        gap, radius = np.minimum(gap, squares + penalty.value(w)), np.inf
        measured = np.minimum(measured, gap)
    proof = Proof(
        gap=float(np.sum(gap + offset + offset_doubt)),
        rounding=float(np.sum(gap - measured + offset_doubt)),
        objective=float(np.sum(squares + offset + penalty.value(w))),
        null_objective=quadratic.null_objective(penalty),
        backward_error=_backward_error(quadratic, penalty, w, np.abs(g) + slack, squares),
        radius=radius,
        condition=max((judge.condition for _, judge in judges), default=1.0),
        rank=min((judge.rank for _, judge in judges), default=0),
    )
    return Fit(w, b, squares, proof, solver)


def _backward_error(quadratic: Quadratic, penalty: Penalty, w: Array, g: Array, squares: Array) -> float:
    """Return the size of a change of the data, relative to it, that makes the coefficients exactly optimal.

    Two changes are known: of the columns along the residual, ``‖Xᵀr‖ / ‖r‖``, and of the targets by the residual itself.
    A penalty counts as rows ``sqrt(alpha) I`` below the design.
    """
    residual = np.sqrt(squares + penalty.value(w))
    unit = quadratic.columns.unit(0.0)  # columns are compared at unit length
    size = float(np.sqrt(max(int(np.count_nonzero(unit)), 1)))
    along = np.linalg.norm(unit[:, None] * g, axis=0) / np.where(residual > 0, residual * size, 1.0)
    whole = quadratic.reach(w)
    by_target = residual / np.where(whole > 0, whole, 1.0)
    return float(np.max(np.where(residual > 0, np.minimum(along, by_target), 0.0), initial=0.0))
