"""Newton's method for classes under non-smooth penalties: second-order models, solved one coefficient at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import PointCache
from qed.convex._solve import Iterate
from qed.convex.solvers._newton import entries_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LARGEST = 3000  # coefficients of all scores together whose second derivatives are worth holding
SWEEPS = 1000  # over the coefficients of one model, at most
NEAR = 0.7  # share of the penalty's hold from which a coefficient at zero takes part


class NewtonKinks:
    """Steps to the minimum of a second-order model with the penalty as it is, by coordinate descent.

    Only columns whose coefficients are not zero, or may leave it, take part in a model; intercepts are eliminated from it.
    """

    name = "coordinate descent"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse losses of one score or without changing curvature, other penalties, and too many coefficients."""
        loss = problem.loss.traits
        if loss.n_scores == 1 or problem.loss.y.ndim == 2 or loss.is_quadratic or not loss.has_curvature:
            return "it takes curved losses of classes"
        if problem.penalty.traits.native != "kinks":
            return "it needs a penalty that its compiled loops know"
        if (problem.shape[1] + 1) * loss.n_scores > LARGEST:
            return f"it takes at most {LARGEST} coefficients"
        return None

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict ten models and their descents."""
        (n, p), k = problem.shape, problem.loss.traits.n_scores
        second = 3e-11 * n * p * p * k * (k + 1) / 2
        return float(10 * (second + 1e-8 * k * entries_of(problem) + 2e-8 * (p * k) ** 2 + 1e-4 * k * k))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        point = _Point.at(problem, *start)
        sharper = 1.0
        if point.gap <= target:
            yield point.iterate(point.gap)
        while True:
            new = _advance(problem, point, sharper * max(0.1 * target, 1e-3 * min(point.gap, point.objective)))
            is_idle = new is None or new.objective >= point.objective
            point = point if new is None else new
            yield point.iterate(None if is_idle and point.gap > target else point.gap)
            if is_idle:
                sharper *= 1e-3
            if sharper < 1e-10:
                return


class _Point(NamedTuple):
    """Coefficients with scores, objective and gradient, and the gap that the slope shows."""

    w: Vector
    b: Vector
    t: Vector
    slope: Vector
    gradient: Vector
    objective: float
    gap: float

    @classmethod
    def at(cls, problem: Problem, w: Vector, b: Any) -> _Point:
        """Look at a point."""
        penalty, t = problem.penalty, problem.scores(w, b)
        slope = problem.loss.slope(t)
        gradient = problem.adjoint(slope)
        nothing = np.zeros_like(gradient)
        gap = np.inf
        if penalty.traits.is_bounding:
            factor = penalty.shrink(-gradient, nothing)
            gap = penalty.excess(w, -factor * gradient, nothing)[0]
            gap += float(problem.share @ problem.loss.excess(t, factor * slope)) if factor < 1 else 0.0
            if problem.free_intercept:
                tilt = float(np.sum(np.abs(problem.share @ slope)))
                gap += tilt * tilt + 1e-3 * tilt
        return cls(w, np.asarray(b), t, slope, gradient, problem.objective(w, b, t), gap)

    def iterate(self, hint: float | None) -> Iterate:
        """Return the point for the driver."""
        return Iterate(self.w, self.b, hint=hint, known=PointCache(t=self.t, slope=self.slope, gradient=self.gradient))


def _advance(problem: Problem, point: _Point, goal: float) -> _Point | None:
    """Return the best point towards the minimum of the second-order model; None if rounding hides the descent."""
    used = _taking_part(problem, point)
    d, db = _step(problem, point, used, goal)
    change = problem.scores(d, db)
    fall = -float(np.sum(point.gradient * d)) - float(np.sum((problem.share @ point.slope) * db))
    fall -= problem.penalty.value(point.w + d) - problem.penalty.value(point.w)
    if not fall > 0:
        return None
    length = 1.0
    for _ in range(40):
        new = problem.objective(point.w + length * d, None, point.t + length * change)
        if new <= point.objective - 0.1 * length * fall:
            return _Point.at(problem, point.w + length * d, point.b + length * db)
        length *= 0.5
    return None


def _taking_part(problem: Problem, point: _Point) -> np.ndarray[Any, Any]:
    """Return the columns with a coefficient that is not zero, or that may leave it."""
    low, high = (side[:, np.newaxis] for side in problem.penalty.numbers(len(point.w))[:2])
    z = -point.gradient
    wanting = (z > NEAR * high) | (z < NEAR * low)
    return np.flatnonzero((point.w != 0).any(axis=1) | (wanting.any(axis=1) & (problem.spans > 0)))


def _step(problem: Problem, point: _Point, used: np.ndarray[Any, Any], goal: float) -> tuple[Vector, Vector]:
    """Return the step of coefficients and intercepts to the minimum of the model."""
    k = point.w.shape[1]
    Q, edge, corner = _second(problem, point, used)
    w = np.ascontiguousarray(point.w[used].T).reshape(-1)  # scores outermost, as in the second derivatives
    g = np.ascontiguousarray(point.gradient[used].T).reshape(-1)
    lean = problem.share @ point.slope if problem.free_intercept else np.zeros(k)
    inverse = np.linalg.pinv(corner, hermitian=True)  # the same change of all scores of a row changes no loss
    if problem.free_intercept:
        Q = Q - edge @ inverse @ edge.T
        g = g - edge @ (inverse @ lean)
    pull = Q @ w - g
    low, high, ridge = problem.penalty.numbers(len(point.w))
    penalty = (np.tile(low[used], k), np.tile(high[used], k), ridge)
    least = max(0.0, float(w @ (pull - 0.5 * (Q @ w)))) + point.objective
    new, _, _, _ = _kernels.descend_gram(np.ascontiguousarray(Q), pull, least, penalty, (goal, SWEEPS), w)
    step = new - w
    d = np.zeros_like(point.w)
    d[used] = step.reshape(k, -1).T
    db = -inverse @ (lean + edge.T @ step) if problem.free_intercept else np.zeros(k)
    return d, db


def _second(problem: Problem, point: _Point, used: np.ndarray[Any, Any]) -> tuple[Vector, Vector, Vector]:
    """Return the second derivatives by coefficients, mixed, and by intercepts, scores outermost."""
    m, k = len(used), point.w.shape[1]
    part = problem.design.columns(used)
    centre = None if problem.centre is None else problem.centre[used]
    Q, edge, corner = np.zeros((k, m, k, m)), np.zeros((k, m, k)), np.zeros((k, k))
    c = problem.share[:, np.newaxis]
    for i in range(k - 1):
        unit = np.zeros_like(point.t)
        unit[:, i] = 1.0
        bend = c * problem.loss.curvature_product(point.t, unit)
        edge[:, :, i] = part.adjoint_product(bend, centre).T
        corner[i] = bend.sum(axis=0)
        for j in range(i, k - 1):
            sign = 1.0 if i == j else -1.0  # of classes, scores pull against each other
            block = sign * part.gram(np.maximum(sign * bend[:, j], 0.0), centre)
            Q[i, :, j, :] = block
            Q[j, :, i, :] = block.T
    # the same change of all scores of a row changes no loss, so that those of the last class follow from the others
    Q[:-1, :, -1, :] = -Q[:-1, :, :-1, :].sum(axis=2)
    Q[-1, :, :, :] = -Q[:-1].sum(axis=0)
    edge[:, :, -1] = -edge[:, :, :-1].sum(axis=2)
    corner[-1] = -corner[:-1].sum(axis=0)
    size = k * m
    return Q.reshape(size, size), edge.reshape(size, k), 0.5 * (corner + corner.T)
