"""The method of multipliers for losses made of straight pieces, on arrays of few columns and under an l2 penalty.

The conjugate of each loss gains ``bend (u - anchor)²/2``: the loss is rounded off about the score that its anchor, a dual
variable, stands for. Newton's method minimises what is then piecewise quadratic, at two products with the table a step and the
products of the rows between their ends, far fewer than all. Anchors move to the dual variables found, the bend shrinks, and
the point comes to the optimum of the loss itself.

All of it runs in compiled code, one call for what is small. Where rounding ends it early, the central path goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels
from qed.convex._solve import MAX_CHEAP_ENTRIES, Iterate, delegate, steps_allowed
from qed.convex.solvers._dual_ascent import read_ascent
from qed.convex.solvers._interior_point import InteriorPoint
from qed.designs import Dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


WIDEST = 256  # columns whose equations cost little beside the rows
SMALL = 4e6  # entries of an array that few others could be faster on
WORK = 3e8  # multiply-adds in one call: part of a second
STEPS = 30  # about, to a gap of a millionth
FURTHER = 100.0  # how much further it goes where entries are few
DIGITS = 4  # times that a gap which the proof does not confirm is asked for with a digit more


class Multipliers:
    """Newton's method on a loss rounded off about its dual variables, for arrays of few columns and an l2 penalty."""

    name = "multipliers"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not an array of few columns, a loss of straight pieces, and one l2 strength towards zero."""
        n, p = problem.shape
        told = problem.penalty.numbers(p)
        is_plain = len(told) == 3 and not np.any(told[0]) and not np.any(told[1]) and told[2] > 0
        if not is_plain or problem.free_intercept or problem.centre is not None:
            return "it needs an l2 penalty of one positive strength, and no intercept but the coefficient of a constant column"
        if not isinstance(problem.design, Dense) or p > min(WIDEST, n):
            return "it needs an array of few columns"
        traits = problem.loss.traits
        if traits.has_curvature or traits.n_scores > 1 or problem.loss.y.ndim > 1 or not traits.is_convex:
            return "it needs a convex, piecewise linear loss, one score a row"
        losses = read_ascent(problem)
        if losses is None or losses.bend > 0 or not np.all(np.isfinite(losses.high - losses.low)):
            return "it needs a piecewise linear loss with bounded subgradients"
        return None

    @staticmethod
    def takes(n: int, p: int) -> bool:
        """Say whether an array is small enough for it to be the best choice."""
        return p <= min(WIDEST, n) and n * p <= SMALL

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict so many steps."""
        n, p = problem.shape
        return float(5e-5 + STEPS * (2e-9 * n * p + 5e-9 * n + 1e-9 * p**3))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield a point for each call."""
        n, p = problem.shape
        losses = read_ascent(problem)
        assert losses is not None  # noqa: S101  refused before
        ridge = float(problem.penalty.numbers(p)[2])
        table = problem.design.table  # type: ignore[attr-defined]  # an array, or refused
        most = int(max(1, WORK // (4 * n * p)))
        at = (np.asarray(start[0], dtype=np.float64), np.zeros(n), 0.0)
        asked = target / (FURTHER if n * p <= MAX_CHEAP_ENTRIES else 10.0)
        for _ in range(DIGITS):
            is_open = True
            while is_open:
                rounds = min(most, steps_allowed(problem))
                found = _kernels.follow_multipliers(losses, problem.share, table, ridge, (asked, rounds), at)
                at = found.w, found.anchor, found.bend
                is_open = found.gap > asked and not found.is_over
                hint = found.gap if is_open else None
                yield Iterate(found.w, start[1], found.u, hint, steps=max(1, found.rounds))
            if found.is_over:
                yield from delegate(InteriorPoint(), problem, (found.w, start[1]), target)
                return
            asked *= 0.1
