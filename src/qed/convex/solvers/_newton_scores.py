"""Newton's method for losses of several scores a row, with all second derivatives: for tables of moderate size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._kernels import cholesky, solve_cholesky
from qed.convex._passes import ScorePasses
from qed.convex._solve import Iterate
from qed.convex.solvers._lbfgs import Descent, at_point, step_along
from qed.convex.solvers._newton import entries_of
from qed.convex.solvers._smooth import NOISE, refuse_unless_smooth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem

__all__ = ["NewtonScores"]

LARGEST = 1200  # coefficients of all scores together whose second derivatives are worth factorising
MOST = 4e6  # entries of a table that is worth holding a second time, as doubles


class NewtonScores:
    """Steps along the gradient divided by the second derivatives of all coefficients of all scores."""

    name = "newton"

    def refusal(self, problem: Problem) -> str | None:
        """Refuse what is not smooth, has one score, or is too large."""
        k = problem.loss.traits.n_scores
        if k == 1:
            return "it takes losses of several scores a row"
        if (problem.shape[1] + 1) * k > LARGEST or problem.shape[0] * problem.shape[1] > MOST:
            return f"it takes at most {LARGEST} coefficients and {MOST:.0e} entries"
        return refuse_unless_smooth(problem)

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict eight second derivatives and their factors."""
        k = problem.loss.traits.n_scores
        d = (problem.shape[1] + 1) * k
        return float(8 * (1e-10 * problem.shape[0] * d * d + 5e-11 * d**3 + 1e-8 * k * entries_of(problem)) + 1e-4)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        w, b = start
        z = np.concatenate([w, np.reshape(b, (1, *w.shape[1:]))])
        table = _with_ones(problem)
        point, idle = at_point(ScorePasses(problem), z), 0
        polished = is_held = False
        if point.hint() <= target:
            yield Iterate(point.w, point.b, hint=point.hint(), known=point.known, is_on_its_way=True)
        while True:
            d = _direction(problem, table, point)
            promised = float(np.sum(point.g * d))
            new = step_along(point, d, promised) if promised < 0 else None
            if new is None:
                break
            hint = new.hint()
            # one more step squares what is left: it is taken before anybody is told
            is_held = hint <= target and not polished
            polished = polished or is_held
            idle = idle + 1 if np.linalg.norm(new.g) > 0.5 * np.linalg.norm(point.g) else 0
            is_idle = idle >= 4 and abs(promised) <= NOISE * abs(point.objective)
            point = new
            if not is_held:
                yield Iterate(point.w, point.b, hint=hint, known=point.known, is_on_its_way=True)
            if is_idle:
                break
        if is_held:
            yield Iterate(point.w, point.b, hint=point.hint(), known=point.known, is_on_its_way=True)


def _with_ones(problem: Problem) -> Vector:
    """Return the centred columns and one of ones, (n, p + 1)."""
    columns = problem.design.product(np.eye(problem.shape[1]), problem.centre)
    last = np.full((problem.shape[0], 1), 1.0 if problem.free_intercept else 0.0)
    return np.concatenate([columns, last], axis=1)


def _direction(problem: Problem, table: Vector, point: Descent) -> Vector:
    """Return minus the inverse second derivatives times the gradient."""
    q, k = point.z.shape
    second = np.zeros((k, q, k, q))
    c = problem.share[:, np.newaxis]
    for i in range(k):
        unit = np.zeros_like(point.t)
        unit[:, i] = 1.0
        bend = c * problem.loss.curvature_product(point.t, unit)
        for j in range(i, k):
            block = table.T @ (bend[:, j, np.newaxis] * table)
            second[i, :, j, :] = block
            second[j, :, i, :] = block.T
    penalty = np.broadcast_to(problem.penalty.curvature(point.w), point.w.shape)
    for i in range(k):
        second[i, np.arange(q - 1), i, np.arange(q - 1)] += penalty[:, i]
    full = second.reshape(k * q, k * q)
    size = np.maximum(full.diagonal(), 0.0)
    # the same change of all scores of a row changes no loss: a curvature of its own makes the matrix regular, and since no
    # gradient points that way the step is the same
    size = np.where(size > 0, size, 1.0).reshape(k, q)
    level = size.mean(axis=0)
    for i in range(k):
        for j in range(k):
            second[i, np.arange(q), j, np.arange(q)] += level / k
    scale = 1.0 / np.sqrt(np.maximum(full.diagonal(), 1e-300))
    full *= np.multiply.outer(scale, scale)
    g = scale * point.g.T.reshape(-1)
    factor = cholesky(full)
    if factor is not None and factor.diagonal().min(initial=1.0) > 1e-7:
        d = solve_cholesky(factor, g)
    else:
        values, vectors = np.linalg.eigh(full)
        keep = values > values[-1] * len(values) * 1e-15
        d = vectors[:, keep] @ ((vectors[:, keep].T @ g) / values[keep])
    return np.asarray(-(scale * d).reshape(k, q).T)
