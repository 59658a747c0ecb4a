"""Constraints turned into costs: from outside by penalties, from inside by barriers, with prices by the augmented Lagrangian."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.optimize._drive import Iterate, Stop, drive
from qed.optimize._evaluate import Evaluator, at_least
from qed.optimize._feasibility import in_units, minimised, refuse_if_infeasible, squared, total
from qed.optimize._function import Function, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.optimize._program import Program
    from qed.optimize._result import OptimizationResult


ENDLESS = 5  # inner searches that found no end, after which none will
UNSOLVED = 1e-3  # violations of the optimality conditions, relative to their numbers, that rounding does not explain


def penalised(program: Program, weight: float) -> Function:
    """Return ``f + weight * (sum max(0, g)**2 + sum h**2)``: outside the constraints costs, inside is free.

    Parameters
    ----------
    program : Program
        f, g and h.
    weight : float
        > 0; the minimiser comes from outside to the constrained one as it grows.
    """
    weight = at_least("weight", weight, 0, strictly=True)
    above = [squared(g, weight, only_above=True) for g in program.inequalities]
    off = [squared(h, weight, only_above=False) for h in program.equalities]
    return total([program.objective, *above, *off])


def log_barrier(program: Program, weight: float) -> Function:
    """Return ``f - weight * sum log(-g)``: infinite on the boundary and beyond.

    Parameters
    ----------
    program : Program
        f and g; equalities have no interior and raise an error.
    weight : float
        > 0; the minimiser comes from inside to the constrained one as it falls.
    """
    weight = at_least("weight", weight, 0, strictly=True)
    if program.equalities:
        raise InvalidParameter("A barrier needs an inside, and equalities have none. Use augmented_lagrangian.")
    return total([program.objective, *(_barrier(g, weight) for g in program.inequalities)])


def penalty_method(
    program: Program,
    start: Any,
    *,
    weights: Any = None,
    tol: float = 1e-6,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise under constraints by penalties that grow.

    Objective
    ---------
    .. math:: \min_w f(w) + \rho \sum_i \max(0, g_i(w))^2 + \rho \sum_j h_j(w)^2, \qquad \rho \to \infty

    Certificate
    -----------
    The optimality conditions, with prices :math:`2 \rho \max(0, g)` and :math:`2 \rho h`.

    Cost
    ----
    One minimisation without constraints for each weight, each begun where the last one ended.

    Parameters
    ----------
    program : Program
        With gradients; with curvatures Newton's method does the inner work.
    start : array-like of shape (p,)
        Where to begin; need not be feasible.
    weights : sequence of float, optional
        Penalty weights, rising; by default powers of ten up to 1e10, until the optimality conditions hold up to ``tol``.
    tol : float
        Violations of the conditions that are small enough, relative to slopes.
    keep_points : bool
        Whether the trace keeps the point of every weight.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        With one iteration for each weight, ``multipliers``, and the extras ``"weight"`` and ``"violation"``. Constraints that
        no point seems to meet raise an error.
    """
    ladder = [10.0**i for i in range(11)] if weights is None else [float(weight) for weight in weights]
    state: dict[str, Any] = {}

    def method() -> Iterator[Iterate]:
        w = _begin(program, start, "penalty_method")
        yield Iterate(w, program.objective(w), extras={"violation": program.violation(w)})
        # as they are where weights are given, whose meaning depends on it
        ones = np.ones(len(program.inequalities)), np.ones(len(program.equalities))
        scaled, above_unit, off_unit = in_units(program, w) if weights is None else (program, *ones)
        for weight in ladder:
            w = minimised(penalised(scaled, weight), w).point
            above, off = scaled.residuals(w)
            lam, nu = 2 * weight * np.maximum(above, 0.0) / above_unit, 2 * weight * off / off_unit
            state["prices"] = lam, nu
            violation = program.violation(w)
            met = weights is None and program.certificate(w, lam, nu, tol).reached
            end = ("solved", f"constraints hold up to {violation:.2g} at weight {weight:g}") if met else None
            extras = {"weight": weight, "violation": violation}
            yield Iterate(w, program.objective(w), step=1.0, extras=extras, end=end)
        refuse_if_infeasible(program, w, tol)

    result = _run("penalty method", method, program, state, tol, keep_points=keep_points, verbose=verbose)
    if weights is not None and result.outcome == "stalled":
        violation = program.violation(result.point)
        return replace(
            result, outcome="max_iter", reason=f"all weights were used; constraints hold up to {violation:.2g}"
        )
    return result


def barrier_method(
    program: Program,
    start: Any,
    *,
    weights: Any = None,
    tol: float = 1e-6,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise under inequalities from inside, by barriers that fade.

    Objective
    ---------
    .. math:: \min_w f(w) - \mu \sum_i \log(-g_i(w)), \qquad \mu \to 0

    Certificate
    -----------
    The optimality conditions, with prices :math:`\mu / (-g_i)`. For a convex programme the value at each inner minimum is
    within :math:`m \mu` of the optimum, m the number of inequalities.

    Cost
    ----
    One minimisation without constraints for each weight, each begun where the last one ended.

    Parameters
    ----------
    program : Program
        Without equalities.
    start : array-like of shape (p,)
        A point strictly inside all constraints.
    weights : sequence of float, optional
        Barrier weights, falling; by default powers of a tenth until the optimality conditions hold up to ``tol``.
    tol : float
        Violations of the conditions that are small enough, relative to slopes. Below 1e-8 rounding of the constraints hides them.
    keep_points : bool
        Whether the trace keeps the point of every weight.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        With one iteration for each weight, ``multipliers``, and the extra ``"weight"``.
    """
    log_barrier(program, 1.0)  # refuses equalities
    if not program.inequalities:
        raise InvalidParameter("barrier_method needs at least one inequality.")
    m = len(program.inequalities)
    state: dict[str, Any] = {}
    ladder = [10.0**-i for i in range(16)] if weights is None else [float(weight) for weight in weights]

    def method() -> Iterator[Iterate]:
        w = _begin(program, start, "barrier_method")
        above, _ = program.residuals(w)
        if not np.all(above < 0):
            worst = int(np.argmax(above))
            raise InvalidData(
                f"barrier_method needs a start strictly inside the constraints; inequality {worst} is {above[worst]:.3g} "
                "there, and must be < 0. Find such a point first, or use penalty_method or augmented_lagrangian."
            )
        yield Iterate(w, program.objective(w))
        for weight in ladder:
            w = minimised(log_barrier(program, weight), w).point
            above, _ = program.residuals(w)
            lam, nu = state["prices"] = (weight / -above, np.zeros(0))
            met = weights is None and program.certificate(w, lam, nu, tol).reached
            words = f"the gap of the barrier is {m * weight:.2g} at weight {weight:g}"
            yield Iterate(
                w, program.objective(w), step=1.0, extras={"weight": weight}, end=("solved", words) if met else None
            )

    return _run("barrier method", method, program, state, tol, keep_points=keep_points, verbose=verbose)


def augmented_lagrangian(
    program: Program,
    start: Any,
    *,
    weight: float = 10.0,
    tol: float = 1e-8,
    max_iter: int = 200,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise under constraints by a penalty of moderate weight and prices that learn.

    Objective
    ---------
    .. math:: \min_w f(w) + \frac{\rho}{2} \sum_i \max\!\left(0, g_i(w) + \frac{\lambda_i}{\rho}\right)^2
              + \frac{\rho}{2} \sum_j \left(h_j(w) + \frac{\nu_j}{\rho}\right)^2

    then :math:`\lambda_i \leftarrow \max(0, \lambda_i + \rho g_i)`, :math:`\nu_j \leftarrow \nu_j + \rho h_j`. The weight is
    raised only where violations fall too slowly, so the inner problems stay well conditioned.

    Certificate
    -----------
    The optimality conditions, with the prices found.

    Cost
    ----
    One minimisation without constraints a round, each begun where the last one ended.

    Parameters
    ----------
    program : Program
        With gradients; with curvatures Newton's method does the inner work.
    start : array-like of shape (p,)
        Where to begin; need not be feasible.
    weight : float
        The first weight, > 0.
    tol : float
        Violations of the optimality conditions that are small enough, relative to slopes.
    max_iter : int
        Most rounds.
    keep_points : bool
        Whether the trace keeps the point of every round.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        With ``multipliers``. Constraints that no point seems to meet raise an error.
    """
    at_least("weight", weight, 0, strictly=True)
    at_least("max_iter", max_iter, 1)
    state: dict[str, Any] = {}

    def method() -> Iterator[Iterate]:
        w, rho = _begin(program, start, "augmented_lagrangian"), float(weight)
        lam, nu = np.zeros(len(program.inequalities)), np.zeros(len(program.equalities))
        yield Iterate(w, program.objective(w), extras={"violation": program.violation(w)})
        scaled, above_unit, off_unit = in_units(program, w)
        before, endless = np.inf, 0
        for round_ in range(max_iter):
            parts = [program.objective]
            parts += [squared(g, rho / 2, True, price / rho) for g, price in zip(scaled.inequalities, lam, strict=True)]
            parts += [squared(h, rho / 2, False, price / rho) for h, price in zip(scaled.equalities, nu, strict=True)]
            inner = minimised(total(parts), w)
            w, endless = inner.point, endless + (inner.outcome == "max_iter")
            above, off = scaled.residuals(w)
            off_by = float(
                max(np.max(np.abs(np.maximum(above, -lam / rho)), initial=0.0), np.max(np.abs(off), initial=0.0))
            )
            lam, nu = np.maximum(lam + rho * above, 0.0), nu + rho * off
            state["prices"] = (lam / above_unit, nu / off_unit)
            met = program.certificate(w, lam / above_unit, nu / off_unit, tol).reached
            words = f"constraints hold up to {program.violation(w):.2g} after {round_ + 1} rounds"
            extras = {"weight": rho, "violation": program.violation(w)}
            yield Iterate(w, program.objective(w), step=1.0, extras=extras, end=("solved", words) if met else None)
            rho = rho * 10.0 if off_by > 0.25 * before and rho < 1e12 else rho
            before = off_by
            if endless == ENDLESS:
                break
        refuse_if_infeasible(program, w, tol)

    return _run("augmented Lagrangian", method, program, state, tol, keep_points=keep_points, verbose=verbose)


def _run(
    name: str,
    method: Callable[[], Iterator[Iterate]],
    program: Program,
    state: dict[str, Any],
    tol: float,
    **how: Any,
) -> OptimizationResult:
    """Drive a method of rounds, and add prices and the optimality conditions."""
    evaluate = Evaluator(program.objective, name.replace(" ", "_"), ("gradient",))

    def prices() -> tuple[Vector, Vector]:
        found: tuple[Vector, Vector] = state.get(
            "prices", (np.zeros(len(program.inequalities)), np.zeros(len(program.equalities)))
        )
        return found

    result = drive(
        name,
        method(),
        evaluate,
        Stop(10_000, may_rise=True),
        certify=lambda w, _value, _norm: program.certificate(w, *prices(), tol=tol),
        **how,
    )
    if result.outcome == "stalled":
        left = program.certificate(result.point, *prices(), tol=tol).relative
        why = (
            "rounding hides what is left"
            if left <= UNSOLVED
            else (
                f"the optimality conditions hold up to {left:.2g} only: the objective may fall without bound where the constraints"
                " allow it, or its numbers be of very different sizes"
            )
        )
        result = replace(result, reason=f"all weights were used, and {why}")
    lam, nu = prices()
    return replace(result, multipliers={"inequalities": lam, "equalities": nu})


def _begin(program: Program, start: Any, who: str) -> Vector:
    for one in (*program.inequalities, *program.equalities):
        Evaluator(one, who)  # every constraint needs a gradient
    return Evaluator(program.objective, who).start(start)


def _barrier(g: Function, weight: float) -> Function:
    """Return ``-weight * log(-g)``."""
    slope, second = g.gradient, g.curvature

    def value(w: Vector) -> float:
        inside = -float(g.value(w))
        return -weight * float(np.log(inside)) if inside > 0 else np.inf

    def gradient(w: Vector) -> Vector:
        return np.asarray(weight / -float(g.value(w)) * np.asarray(slope(w)))  # type: ignore[misc]

    def curvature(w: Vector) -> Vector:
        inside, a = -np.float64(g.value(w)), np.asarray(slope(w))  # type: ignore[misc]
        near: Vector = np.asarray(weight / inside**2 * np.outer(a, a), dtype=np.float64)
        return near + weight / inside * np.asarray(second(w))  # type: ignore[misc]

    return Function(
        value,
        None if slope is None else gradient,
        None if slope is None or second is None else curvature,
        is_convex=g.is_convex,
        size=g.size,
        name="barrier",
    )
