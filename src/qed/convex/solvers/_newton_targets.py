"""Newton's method for several targets over one small table: all of them at once, in a few products of matrices.

The scores of different targets share the columns and nothing else, so that the second derivatives fall into one block for each
target. On small tables a step costs less than calling anything that would save work on large ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._gap import PointCache
from qed.convex._solve import Iterate
from qed.convex.solvers._smooth import refuse_unless_smooth
from qed.designs import Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


SMALL = 1.5e6  # multiply-adds of the second derivatives of all targets
STEPS = 100


class NewtonTargets:
    """Full second derivatives, one block for each target."""

    name = "newton"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not smooth or small, targets that depend on each other, and a free intercept."""
        (n, p), k = problem.shape, problem.loss.traits.n_scores
        if problem.loss.y.ndim != 2:
            return "it takes several targets"
        if problem.free_intercept or not isinstance(problem.design, Dense | Sparse):
            return "it needs a table in memory, and no intercept but the coefficient of a constant column"
        if not self.takes(n, p, k):
            return "it takes small tables"
        return refuse_unless_smooth(problem)

    @staticmethod
    def takes(n: int, p: int, k: int) -> bool:
        """Say whether a table of n rows and p columns is small enough for k targets."""
        return n * p * p * k <= SMALL

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict ten steps."""
        (n, p), k = problem.shape, problem.loss.traits.n_scores
        return float(1e-3 + 10 * (3e-10 * n * p * p * k + 1e-9 * p**3 * k))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        table = problem.design.table  # type: ignore[attr-defined]  # in memory, or refused
        table = np.asarray(table if isinstance(table, np.ndarray) else table.toarray(), dtype=np.float64)
        turned = np.ascontiguousarray(table.T)
        c, loss, penalty = problem.share[:, np.newaxis], problem.loss, problem.penalty
        w = np.asarray(start[0], dtype=np.float64)
        # the penalty is quadratic: its slope at zero and its curvature tell all of it
        flat, curve = penalty.slope(np.zeros_like(w)), penalty.curvature(w)
        level = penalty.value(np.zeros_like(w))

        def height_of(w: Vector, t: Vector) -> float:
            return float(problem.share @ loss.value(t)) + level + float(np.vdot(flat + 0.5 * curve * w, w))

        t = table @ w
        height = height_of(w, t)
        diagonal, added = np.arange(w.shape[0]), curve.T
        for _ in range(STEPS):
            slope = loss.slope(t)
            gradient = turned @ (c * slope)
            g = gradient + flat + curve * w
            second = np.matmul(turned * (c * loss.curvature(t)).T[:, np.newaxis, :], table)
            second[:, diagonal, diagonal] += added
            d = np.linalg.solve(second, g.T[:, :, np.newaxis])[:, :, 0].T
            fall = float(np.vdot(g, d))
            done = not fall > 1e-17 * abs(height)
            if done or 0.5 * fall <= 1e-3 * target:  # a step further is cheap, and squares what is left
                yield Iterate(w, start[1], known=PointCache(t, slope=slope, gradient=gradient))
            if done:
                return
            for halvings in range(40):
                new = w - 0.5**halvings * d
                t_new = table @ new
                low = height_of(new, t_new)
                if low <= height - 1e-4 * 0.5**halvings * fall + 1e-15 * abs(height):
                    break
            w, t, height = new, t_new, low
