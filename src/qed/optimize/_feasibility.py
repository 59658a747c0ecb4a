"""How far constraints are from being met, in units of their slopes; and the inner minimisations of methods that price them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qed.core import InvalidData
from qed.optimize._function import Function, Vector
from qed.optimize._gradient_descent import gradient_descent
from qed.optimize._newton import newton

if TYPE_CHECKING:
    from qed.optimize._program import Program
    from qed.optimize._result import OptimizationResult


def minimised(function: Function, w: Vector) -> OptimizationResult:
    """Minimise without constraints, by the best method that the function allows."""
    if function.curvature is not None:
        return newton(function, w, gradient_tol=1e-11, max_iter=200)
    return gradient_descent(function, w, gradient_tol=1e-9, max_iter=20_000)


def in_units(program: Program, w: Vector) -> tuple[Program, Vector, Vector]:
    """Return the programme with constraints of slope one at a point, and what each was divided by."""
    with np.errstate(over="ignore"):
        lengths = program.sizes(w) / max(1.0, float(np.linalg.norm(w)))
    lengths = np.where((lengths > 0) & np.isfinite(lengths), lengths, 1.0)
    m = len(program.inequalities)
    above = tuple((1.0 / size) * g for size, g in zip(lengths[:m], program.inequalities, strict=True))
    off = tuple((1.0 / size) * h for size, h in zip(lengths[m:], program.equalities, strict=True))
    return replace(program, inequalities=above, equalities=off), lengths[:m], lengths[m:]


def refuse_if_infeasible(program: Program, w: Vector, tol: float) -> None:
    """Minimise the violation alone; where that does not vanish, say so."""
    program, _, _ = in_units(program, w)
    with np.errstate(over="ignore"):
        far = max(1.0, float(np.linalg.norm(w)))
    if program.violation(w) <= max(tol, 1e-6) * far:
        return
    parts = [squared(g, 1.0, only_above=True) for g in program.inequalities]
    parts += [squared(h, 1.0, only_above=False) for h in program.equalities]
    nearest = minimised(total(parts), w).point
    left = program.violation(nearest)
    if left > 1e-5:
        sure = "No point meets" if program.is_convex else "No point near the start seems to meet"
        raise InvalidData(
            f"{sure} all constraints: the least violation found is {left:.3g}. Loosen the constraints that disagree."
        )


def total(parts: list[Function]) -> Function:
    """Add functions up."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def squared(g: Function, weight: float, only_above: bool, shift: float = 0.0) -> Function:
    """Return ``weight * (g + shift)**2``, of positive values alone if asked."""
    slope, second = g.gradient, g.curvature

    def size(w: Vector) -> float:
        value = float(g.value(w)) + shift
        return max(value, 0.0) if only_above else value

    def gradient(w: Vector) -> Vector:
        return np.asarray(2 * weight * size(w) * np.asarray(slope(w)))  # type: ignore[misc]

    def curvature(w: Vector) -> Vector:
        value = size(w)
        if only_above and value == 0.0:
            return np.zeros((w.size, w.size))
        a = np.asarray(slope(w))  # type: ignore[misc]
        return np.asarray(2 * weight * (np.outer(a, a) + value * np.asarray(second(w))))  # type: ignore[misc]

    flat = g.is_quadratic and g.curvature_bound == 0
    return Function(
        lambda w: weight * size(w) ** 2,
        None if slope is None else gradient,
        None if slope is None or second is None else curvature,
        is_convex=flat or (only_above and g.is_convex),
        size=g.size,
        name="penalty",
    )
