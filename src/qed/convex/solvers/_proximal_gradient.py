"""Accelerated proximal gradient with restart: the solver that takes every smooth convex loss and every penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._solve import Iterate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


EVERY = 10  # steps between iterates, each of which is proved


class ProximalGradient:
    """Steps along the slope, then towards the penalty; momentum that starts again whenever it points uphill."""

    name = "proximal gradient"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse a loss that is not convex, whose valleys it could not tell apart, and one whose slope jumps."""
        if not problem.loss.traits.is_convex:
            return "it needs a convex loss"
        return None if np.isfinite(problem.loss.traits.curvature_bound) else "it needs a loss with bounded curvature"

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict thousands of passes, more for small tolerances: the last resort where another solver will do."""
        n, p = problem.shape
        k = problem.loss.traits.n_scores
        return float(2e-9 * n * p * k * 2000 * max(1.0, -np.log10(max(tol, 1e-16))) + 1.0)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:  # noqa: ARG002
        """Yield the iterates."""
        w, b = start
        w_ahead, b_ahead, momentum = w, b, 1.0
        bend = problem.loss.traits.curvature_bound * self._largest_square(problem)
        step = 1.0 / bend if bend > 0 else 1.0
        for count in range(1, 1_000_000):
            slope = problem.loss.slope(problem.scores(w_ahead, b_ahead))
            w_new = problem.penalty.prox(w_ahead - step * problem.adjoint(slope), step)
            b_new = b_ahead - step * (problem.share @ slope) if problem.free_intercept else b_ahead
            turned = float(np.sum((w_ahead - w_new) * (w_new - w))) + float(np.sum((b_ahead - b_new) * (b_new - b)))
            longer = 1.0 if turned > 0 else 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
            pull = 0.0 if turned > 0 else (momentum - 1) / longer
            w_ahead, b_ahead = w_new + pull * (w_new - w), b_new + pull * (b_new - b)
            w, b, momentum = w_new, b_new, longer
            if count % EVERY == 0:
                yield Iterate(w, b)

    @staticmethod
    def _largest_square(problem: Problem) -> float:
        """Bound the largest eigenvalue of the weighted Gram matrix with the intercept, from a few power steps."""
        v = problem.sizes / max(float(np.linalg.norm(problem.sizes)), 1e-300) + 1e-3
        size = 0.0
        for _ in range(20):
            v = problem.adjoint(problem.scores(v, 0.0))
            size = float(np.linalg.norm(v))
            if size == 0.0:
                break
            v = v / size
        return 1.1 * size + (1.0 if problem.free_intercept else 0.0)
