"""Constraints, the Lagrangian, and its dual.

For a feasible w and prices >= 0 the Lagrangian is at most the objective, so its least value over all w is a lower bound on the
optimum: weak duality. The supremum over prices is the objective itself where w is feasible and infinite elsewhere; the prices
of inequalities remain constrained to be >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.optimize._certificates import GapCertificate, KKTCertificate
from qed.optimize._evaluate import Evaluator, point
from qed.optimize._feasibility import minimised, refuse_if_infeasible
from qed.optimize._function import Function, Vector, as_function
from qed.optimize._proximal import projected_gradient
from qed.optimize._sets import Box

if TYPE_CHECKING:
    from collections.abc import Sequence


UNBOUNDED = 1e100  # a lower bound that no objective of a feasible programme has


def affine(a: Any, b: float = 0.0) -> Function:
    """Return ``a'w + b``.

    Parameters
    ----------
    a : array-like of shape (p,)
        The slope.
    b : float
        The level at zero.
    """
    a = np.atleast_1d(np.asarray(a, dtype=np.float64))
    flat = np.zeros((a.size, a.size))
    return Function(
        lambda w: float(a @ w + b),
        lambda _: a,
        lambda _: flat,
        is_convex=True,
        is_quadratic=True,
        curvature_bound=0.0,
        size=a.size,
        name="affine function",
    )


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise f(w) subject to g(w) <= 0 and h(w) = 0.

    Parameters
    ----------
    objective : Function, Problem or callable
        f.
    inequalities : sequence of Function
        Each g, of one number.
    equalities : sequence of Function
        Each h, of one number.

    Examples
    --------
    >>> from qed.optimize import Program, affine, quadratic
    >>> program = Program(quadratic([[2.0]]), [affine([-1.0], 1.0)])
    >>> program.lagrangian([0.5], [2.0])
    1.25
    """

    objective: Function
    inequalities: tuple[Function, ...] = ()
    equalities: tuple[Function, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", as_function(self.objective))
        for name in ("inequalities", "equalities"):
            given = getattr(self, name)
            several: Sequence[Any] = given if isinstance(given, list | tuple) else (given,)
            object.__setattr__(self, name, tuple(as_function(one) for one in several))

    @property
    def is_convex(self) -> bool:
        """Whether all parts claim what makes the programme convex: f and g convex, h affine."""
        flat = all(h.is_quadratic and h.curvature_bound == 0 for h in self.equalities)
        return self.objective.is_convex and all(g.is_convex for g in self.inequalities) and flat

    def residuals(self, w: Any) -> tuple[Vector, Vector]:
        """Return the values of all g and of all h."""
        w = point(w, self.objective, "Program")
        return _values(self.inequalities, w), _values(self.equalities, w)

    def violation(self, w: Any) -> float:
        """Return by how much the worst constraint is violated."""
        above, off = self.residuals(w)
        return float(max(np.max(above, initial=0.0), np.max(np.abs(off), initial=0.0)))

    def is_feasible(self, w: Any, *, tol: float = 0.0) -> bool:
        """Say whether every constraint is met, up to ``tol``."""
        return self.violation(w) <= tol

    def lagrangian(self, w: Any, prices: Any = (), equality_prices: Any = ()) -> float:
        """Return ``f(w) + prices'g(w) + equality_prices'h(w)``.

        Parameters
        ----------
        w : array-like of shape (p,)
            The point.
        prices : array-like
            One number >= 0 for each inequality.
        equality_prices : array-like
            One number for each equality.
        """
        lam, nu = self._prices(prices, equality_prices)
        above, off = self.residuals(w)
        return float(self.objective(w) + lam @ above + nu @ off)

    def supremum(self, w: Any) -> float:
        """Return the supremum of the Lagrangian over prices: the objective if w is feasible, ``inf`` otherwise."""
        return self.objective(w) if self.is_feasible(w) else np.inf

    def priced(self, prices: Any = (), equality_prices: Any = ()) -> Function:
        """Return the Lagrangian at fixed prices, as a function of w."""
        lam, nu = self._prices(prices, equality_prices)
        total = self.objective
        for price, one in [*zip(lam, self.inequalities, strict=True), *zip(nu, self.equalities, strict=True)]:
            if price != 0:
                total = total + float(price) * one
        return total

    def certificate(self, w: Vector, lam: Vector, nu: Vector, tol: float) -> KKTCertificate:
        """Return how well a point and its prices meet the optimality conditions."""
        grounds = [_slope(one, w) for one in (*self.inequalities, *self.equalities)]
        slopes = [_slope(self.objective, w)]
        slopes += [price * slope for price, slope in zip((*lam, *nu), grounds, strict=True)]
        above, off = self.residuals(w)
        scale = max(1.0, *(float(np.max(np.abs(slope), initial=0.0)) for slope in slopes))
        violated = np.concatenate([np.maximum(above, 0.0), np.abs(off)])
        relative = float(np.max(violated / self.sizes(w, grounds), initial=0.0))
        violation = float(np.max(violated, initial=0.0))
        return KKTCertificate(
            violation,
            float(np.max(np.abs(np.sum(slopes, axis=0)), initial=0.0)),
            float(np.max(np.abs(lam * above), initial=0.0)),
            abs(float(lam @ above + nu @ off)),
            tol,
            (violation / relative if relative > 0 else 1.0, scale, scale),
            self.is_convex,
        )

    def sizes(self, w: Vector, slopes: list[Vector] | None = None) -> Vector:
        """Return what a violation of each constraint is compared with: its slope, times the length of w where that is above one."""
        if slopes is None:
            slopes = [_slope(one, w) for one in (*self.inequalities, *self.equalities)]
        with np.errstate(over="ignore"):
            far = max(1.0, float(np.linalg.norm(w)))
            lengths = np.array([float(np.linalg.norm(slope)) * far for slope in slopes])
        return np.where((lengths > 0) & np.isfinite(lengths), lengths, 1.0)

    def _prices(self, prices: Any, equality_prices: Any) -> tuple[Vector, Vector]:
        lam = np.atleast_1d(np.asarray(prices, dtype=np.float64)).ravel()
        nu = np.atleast_1d(np.asarray(equality_prices, dtype=np.float64)).ravel()
        if lam.size != len(self.inequalities) or nu.size != len(self.equalities):
            raise InvalidParameter(
                f"The programme has {len(self.inequalities)} inequalities and {len(self.equalities)} equalities, and got "
                f"{lam.size} and {nu.size} prices."
            )
        if not np.all(lam >= 0):
            raise InvalidParameter(
                f"Prices of inequalities must be >= 0, got {float(lam.min())!r}: they stay constrained."
            )
        return lam, nu


@dataclass(frozen=True, eq=False)
class DualPoint:
    """The Lagrangian, minimised at fixed prices.

    Attributes
    ----------
    value : float
        Its least value, as far as found; ``-inf`` where it falls without bound.
    bound : float
        What is proved to lie below the optimum of the programme; ``-inf`` where nothing is.
    point : ndarray of shape (p,)
        Where the least value was found.
    """

    value: float
    bound: float
    point: Vector = field(repr=False)


def lagrange_dual(program: Program, prices: Any = (), equality_prices: Any = (), *, start: Any) -> DualPoint:
    """Minimise the Lagrangian at fixed prices.

    The value bounds the optimum from below only if it is the *least* one. That is proved where the Lagrangian is strongly
    convex; elsewhere ``bound`` is ``-inf`` and ``value`` is what was found.

    Parameters
    ----------
    program : Program
        With gradients.
    prices, equality_prices : array-like
        As for `Program.lagrangian`.
    start : array-like of shape (p,)
        Where the search begins.
    """
    total = program.priced(prices, equality_prices)
    evaluate = Evaluator(total, "lagrange_dual")
    w = evaluate.start(start)
    if total.is_quadratic and total.curvature is not None:
        return _of_quadratic(evaluate, w)
    result = minimised(total, w)
    lower = result.value - result.certificate.gap if isinstance(result.certificate, GapCertificate) else -np.inf
    if result.outcome == "diverged" and "without bound" in result.reason:
        return DualPoint(-np.inf, -np.inf, result.point)
    return DualPoint(result.value, lower, result.point)


def maximize_dual(
    program: Program, start: Any, *, gradient_tol: float = 1e-9, max_iter: int = 1000, verbose: int = 0
) -> DualityReport:
    """Raise the lower bound of the dual as far as it goes: projected gradient ascent on the prices.

    The gradient of the dual function is the vector of constraint values where the Lagrangian is least.

    Parameters
    ----------
    program : Program
        Its Lagrangian must have a minimiser at every price that is tried.
    start : array-like of shape (p,)
        Where inner searches begin.
    gradient_tol : float
        Constraint values (projected) that are small enough.
    max_iter : int
        Most steps.
    verbose : int
        Above zero, progress is shown.
    """
    w = point(start, program.objective, "maximize_dual")
    m, k = len(program.inequalities), len(program.equalities)
    at: dict[bytes, DualPoint] = {}

    def inner(v: Vector) -> DualPoint:
        key = v.tobytes()
        if key not in at:
            at.clear()
            at[key] = lagrange_dual(program, v[:m], v[m:], start=w)
        return at[key]

    def slope(v: Vector) -> Vector:
        return -np.concatenate(program.residuals(inner(v).point))

    lower = np.concatenate([np.zeros(m), np.full(k, -np.inf)])
    dual = Function(lambda v: -inner(v).value, slope, is_convex=True, size=m + k, name="dual")
    first = np.ones(m + k)
    if not np.isfinite(inner(first).value):
        raise InvalidData(
            "maximize_dual: at prices of one the Lagrangian falls without bound, so that the dual function is minus infinity"
            " there. Bound the variables by constraints that curve, or use quadratic_program or linear_program."
        )
    found = projected_gradient(
        dual, Box(lower, np.inf), first, gradient_tol=gradient_tol, max_iter=max_iter, verbose=verbose
    )
    best = inner(found.point)
    if found.outcome == "diverged" or best.value > UNBOUNDED:
        raise InvalidData(
            f"No point meets all constraints: the dual function rises without bound, to {best.value:.3g} at the last prices."
            " Loosen the constraints that disagree."
        )
    primal = program.objective(best.point) if program.is_feasible(best.point, tol=1e3 * gradient_tol) else np.inf
    if primal == np.inf:
        refuse_if_infeasible(program, best.point, 1e3 * gradient_tol)
    return DualityReport(primal, best.value, found.point, best.point, best.bound)


@dataclass(frozen=True, eq=False)
class DualityReport:
    """The two sides of duality.

    Attributes
    ----------
    primal : float
        Least objective among the feasible points looked at (by `maximize_dual`, feasible up to its tolerance); ``inf`` where none
        is.
    dual : float
        Largest value of the dual function among the prices looked at.
    prices : ndarray
        Where it is attained: inequalities first.
    point : ndarray of shape (p,)
        Where the primal value, or the least Lagrangian, was found.
    bound : float
        What is proved to lie below the optimum; ``-inf`` where the Lagrangian could not be minimised with proof.
    """

    primal: float
    dual: float
    prices: Vector = field(repr=False)
    point: Vector = field(repr=False)
    bound: float = -np.inf

    @property
    def gap(self) -> float:
        """Primal minus dual value: never negative, up to rounding and to what violated constraints are worth."""
        return self.primal - self.dual


def duality_on_points(program: Program, points: Any, prices: Any) -> DualityReport:
    """Compare primal and dual on a finite set of points, where both are exact and nothing needs to be convex.

    Parameters
    ----------
    program : Program
        The values of its functions are all that is used.
    points : array-like of shape (n, p)
        The whole domain, as a finite set.
    prices : array-like of shape (m, number of constraints)
        Prices to try, inequalities first.
    """
    points = np.atleast_2d(np.asarray(points, dtype=np.float64))
    prices = np.atleast_2d(np.asarray(prices, dtype=np.float64))
    f = np.array([program.objective(w) for w in points])
    residuals = [program.residuals(w) for w in points]
    above = np.array([one[0] for one in residuals]).reshape(len(points), -1)
    off = np.array([one[1] for one in residuals]).reshape(len(points), -1)
    feasible = np.all(above <= 0, axis=1) & np.all(off == 0, axis=1)
    m = above.shape[1]
    if prices.shape[1] != m + off.shape[1] or not np.all(prices[:, :m] >= 0):
        raise InvalidParameter(f"prices must have {m + off.shape[1]} columns, the first {m} of them >= 0.")
    dual = np.array([np.min(f + above @ one[:m] + off @ one[m:]) for one in prices])
    best = int(np.argmax(dual))
    primal = float(np.min(f[feasible])) if feasible.any() else np.inf
    where = points[int(np.argmin(np.where(feasible, f, np.inf)))]
    return DualityReport(primal, float(dual[best]), prices[best], where, float(dual[best]))


def _of_quadratic(evaluate: Evaluator, w: Vector) -> DualPoint:
    """Minimise a quadratic exactly, or say that it falls without bound."""
    H, g = evaluate.curvature(w), evaluate.gradient(w)
    # each coordinate in the unit of its own curvature, lest one that is weak beside another be taken for flat
    unit = 1.0 / np.sqrt(np.where(H.diagonal() > 0, H.diagonal(), 1.0))
    eigenvalues, axes = np.linalg.eigh(H * unit * unit[:, np.newaxis])
    size = float(np.max(np.abs(eigenvalues)))
    flat = eigenvalues <= 1e-13 * max(size, np.finfo(np.float64).tiny)
    along = axes.T @ (unit * g)
    lost = np.abs(axes.T) @ (unit * np.abs(g))  # what the slopes along the axes were added up from
    if np.any(eigenvalues < -1e-13 * size) or np.any(np.abs(along[flat]) > 1e-12 * lost[flat]):
        return DualPoint(-np.inf, -np.inf, w)
    move = np.where(flat, 0.0, along / np.where(flat, 1.0, eigenvalues))
    new = w - unit * (axes @ move)
    value = evaluate.value(new)
    rounding = 1e-13 * (1 + abs(value) + abs(evaluate.value(w)))
    is_sure = bool(np.all(np.abs(along[flat]) <= 1e-15 * lost[flat]))  # beyond that a slope may be more than rounding
    return DualPoint(value, value - rounding if is_sure else -np.inf, new)


def _slope(function: Function, w: Vector) -> Vector:
    return Evaluator(function, "Program").gradient(w)


def _values(functions: tuple[Function, ...], w: Vector) -> Vector:
    return np.array([Evaluator(one, "Program", ()).value(w) for one in functions], dtype=np.float64)
