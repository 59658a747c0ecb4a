"""Newton's method whose equations are solved by conjugate gradients: for many columns, dense or sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._solve import Iterate
from qed.convex.solvers._newton import entries_of
from qed.convex.solvers._smooth import Point, Smooth, refuse_unless_smooth, sample_of, start_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


MOST = 500  # steps of conjugate gradients within one of Newton


class NewtonCG:
    """Steps of Newton's method with products alone; one read of the design for each product with second derivatives."""

    name = "newton-cg"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not smooth or has several scores."""
        if problem.loss.traits.n_scores > 1 or problem.loss.y.ndim == 2:
            return "it takes losses of one score a row"
        return refuse_unless_smooth(problem)

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict some tens of products, more for small tolerances and weak penalties."""
        weak = 20.0 if problem.penalty.traits.convexity > 1e-3 else 60.0
        products = weak * max(1.0, -np.log10(max(tol, 1e-16)) / 6)
        return float(2e-9 * products * (entries_of(problem) + sum(problem.shape)) + 5e-4)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        smooth = Smooth(problem)
        point = self._begin(smooth, start_of(start))
        first = smooth.size(point.g)
        before, idle = np.inf, 0
        while True:
            hint = smooth.hint(point)
            if np.isfinite(before) or hint <= target:  # a start is no step, unless it will do
                yield Iterate(point.w, point.b, hint=hint, known=point.seen.known)
            now = smooth.size(point.g)
            idle = idle + 1 if now > 0.7 * before else 0
            if now == 0.0 or (idle >= 4 and hint <= max(target, 1e-12 * abs(point.objective))):
                return
            enough = 0.3 * np.sqrt(target / hint) if hint > target else 0.1
            accuracy = max(min(0.1, np.sqrt(now / max(first, now))), min(enough, 0.1), 1e-10)
            new = smooth.advance(point, self._direction(smooth, point, accuracy), bend=True)
            if new is None:
                return
            before, point = now, new

    def _begin(self, smooth: Smooth, start: tuple[Vector, float]) -> Point:
        """Return the solution of a sample of the rows if it is better than the start."""
        sample = sample_of(smooth.problem, smooth.problem.shape[1])
        at_start = smooth.look(*start, bend=True)
        if sample is None:
            return at_start
        small = Smooth(sample)
        point = small.look(*start, bend=True)
        for _ in range(5):
            new = small.advance(point, self._direction(small, point, 0.1), bend=True)
            if new is None or point.objective - new.objective < 0.1 * sample.shape[1] / sample.shape[0]:
                break
            point = new
        found = smooth.look(point.w, point.b, bend=True)
        return found if found.objective < at_start.objective else at_start

    def _direction(self, smooth: Smooth, point: Point, accuracy: float) -> Vector:
        """Solve Newton's equations to a relative accuracy, by conjugate gradients scaled by the diagonal."""
        problem = smooth.problem
        bend: Vector = np.asarray(point.seen.bend)
        curvature = np.append(problem.penalty.curvature(point.w), 0.0)
        free = np.append(np.ones(len(point.w)), 1.0 if problem.free_intercept else 0.0)
        total = float(bend.sum())
        diagonal = total * np.append(problem.sizes**2, 1.0) + curvature
        scale = free / np.where(diagonal > 0, diagonal, 1.0)
        d = np.zeros_like(point.g)
        r = -point.g * free
        s = scale * r
        along, square = s, float(r @ s)
        goal = accuracy**2 * square
        for _ in range(MOST):
            if square <= goal or square == 0.0:
                break
            product = free * smooth.passes.curvature_product(bend, along) + curvature * along
            bent = float(along @ product)
            if not bent > 0:  # flat to rounding: what has been found will do
                break
            step = square / bent
            d = d + step * along
            r = r - step * product
            s = scale * r
            square, last = float(r @ s), square
            along = s + (square / last) * along
        return d if d.any() else scale * -point.g
