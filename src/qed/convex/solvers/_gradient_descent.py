"""Plain gradient descent with backtracking: the method that all others are measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._gap import PointCache
from qed.convex._solve import Iterate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


EVERY = 10  # iterates between proofs
ENOUGH = 1e-4  # share of the predicted fall that a step must bring


class GradientDescent:
    """Steps against the gradient, as long as the last one and a little longer, halved until the objective falls enough."""

    name = "gradient descent"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not smooth, in the loss or in the penalty."""
        if not problem.loss.traits.has_curvature:
            return "it needs a differentiable loss"
        return None if problem.penalty.traits.is_smooth else "it needs a differentiable penalty"

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict a thousand passes: slow where columns differ in scale or depend on each other."""
        n, p = problem.shape
        return float(2e-9 * n * p * 1000 * max(1.0, -np.log10(max(tol, 1e-16))))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:  # noqa: ARG002
        """Yield the iterates."""
        w, b = start
        step, t = 1.0, problem.scores(w, b)
        value = problem.objective(w, b, t)
        for count in range(1, 10_000_000):
            slope = problem.loss.slope(t)
            g = problem.adjoint(slope) + problem.penalty.slope(w)
            lean = problem.share @ slope if problem.free_intercept else np.zeros_like(problem.share @ slope)
            fall = float(np.sum(g * g) + np.sum(lean * lean))
            if fall == 0.0:
                break
            dt = problem.scores(g, lean)
            step *= 2.0
            while True:
                w_new, b_new, t_new = w - step * g, b - step * lean, t - step * dt
                lower = problem.objective(w_new, b_new, t_new)
                if lower <= value - ENOUGH * step * fall or step < 1e-300:
                    break
                step *= 0.5
            if not lower < value:  # rounding hides any further fall
                break
            w, b, value = w_new, b_new, lower
            t = problem.scores(w, b) if count % EVERY == 0 else t_new
            yield Iterate(w, b, hint=None, known=PointCache(t)) if count % EVERY == 0 else Iterate(w, b, hint=np.inf)
        yield Iterate(w, b)
