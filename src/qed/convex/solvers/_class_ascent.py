"""Dual ascent for the hinge of several classes: all dual variables of a row at once, one row at a time.

With ``v = u + e_y`` a row of probabilities and ``W = -(1/α) Σ c x u'``, the dual is largest along the variables of one row at
the projection of ``v + (t + 1 - e_y) / q`` onto the simplex, where ``q = c |x|²/α``: a step is exact, whatever the number of
classes. Rows whose label leads clearly rest. An intercept is the coefficient of a constant column, or there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._kernels import class_ascent
from qed.convex._solve import Iterate, delegate
from qed.convex.solvers._class_multipliers import ClassMultipliers, class_refusal
from qed.convex.solvers._dual_ascent import SEED, WORK, row_squares, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


PASSES = 200_000
TOGETHER = 20  # passes between two looks at the clock


class ClassAscent:
    """Ascent in the dual by blocks of one row, for the hinge of several classes and an l2 penalty."""

    name = "class ascent"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse other losses, other penalties, a free intercept, and what is not a table in memory."""
        return class_refusal(problem)

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict passes in proportion to how much a row can pull, and to the digits wanted."""
        n, p = problem.shape
        pull = float(np.sum(problem.sizes**2)) / max(float(problem.penalty.curvature(np.ones(p))[0]), 1e-300) / n
        passes = (10 + 20 * pull) * max(1.0, -np.log10(max(tol, 1e-16)))
        return float(passes * _pass_cost(problem))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        n, k = problem.shape[0], problem.loss.traits.n_scores
        ascent = _Ascent(problem, start)
        each = max(1, int(WORK / max(n * problem.shape[1] * k, 1)))
        done, whole = 0, np.inf
        other, tol = ClassMultipliers(), target / problem.null_objective
        most = (
            PASSES
            if other.unsupported_reason(problem) is not None
            else 2.0 * other.cost(problem, tol) / _pass_cost(problem)
        )
        while done < PASSES:
            if done > most:  # rows pull each other along for ever: they are solved for at once
                yield from delegate(other, problem, ascent.point(), target)
                return
            passes = min(each, TOGETHER, 1 + done // 4)
            ascent.climb(passes)
            done += passes
            # what rows at rest would add is told by a pass over all of them, made when the others have come some way
            if ascent.gap > max(0.5 * target, 0.25 * whole):
                continue
            ascent.wake()
            ascent.climb(1)
            whole = ascent.gap
            yield Iterate(*ascent.point(), ascent.u.copy(), 0.5 * whole)
            if ascent.largest <= 1e-15:
                return


def _pass_cost(problem: Problem) -> float:
    """Predict the seconds of a pass."""
    (n, p), k = problem.shape, problem.loss.traits.n_scores
    return 1e-6 + n * k * (3e-8 + 1e-9 * p)


class _Ascent:
    """Dual variables of every row, and the coefficients that follow from them."""

    def __init__(self, problem: Problem, start: tuple[Vector, Any]) -> None:
        n, p = problem.shape
        k = problem.loss.traits.n_scores
        self.problem, self.table = problem, rows_of(problem.design)
        self.alpha = float(problem.penalty.curvature(np.ones(p))[0])
        self.rows = (
            np.ascontiguousarray(problem.loss.y, dtype=np.float64),
            np.ascontiguousarray(problem.share),
            row_squares(self.table),
            self.alpha,
        )
        w = np.asarray(start[0], dtype=np.float64)
        self.u = problem.loss.project(problem.loss.slope(problem.scores(w, start[1]))) if w.any() else np.zeros((n, k))
        self.u = np.ascontiguousarray(self.u)
        self.order, self.active, self.seed, self.numbers = np.arange(n), n, SEED, np.zeros(3)
        self._recompute()

    def _recompute(self) -> None:
        weighted = self.problem.share[:, np.newaxis] * self.u
        self.w = np.ascontiguousarray(-self.problem.design.adjoint_product(weighted).T / self.alpha)
        self.numbers[0] = np.inf

    @property
    def gap(self) -> float:
        """What the last pass found to be left."""
        return float(self.numbers[2])

    @property
    def largest(self) -> float:
        """Largest shortfall of a row that the last pass found."""
        return float(self.numbers[1])

    def climb(self, passes: int) -> None:
        """Visit the active rows."""
        state = (self.u, self.w, self.order, self.numbers)
        self.active, self.seed = class_ascent(self.table, self.rows, state, (self.active, self.seed, passes))

    def wake(self) -> None:
        """Let all rows take part again, in the next pass at least."""
        self.active = len(self.u)
        self._recompute()

    def point(self) -> tuple[Vector, Vector]:
        """Return coefficients (p, k), and intercepts that are zero."""
        return np.ascontiguousarray(self.w.T), np.zeros(len(self.w))
