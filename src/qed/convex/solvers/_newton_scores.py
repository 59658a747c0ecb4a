"""Newton's method for losses of several scores a row, with all second derivatives or with products by them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._kernels import cholesky, solve_cholesky
from qed.convex._passes import ScorePasses
from qed.convex._solve import Iterate
from qed.convex.solvers._lbfgs import Descent, Guess, at_point, begin, pass_cost, step_along
from qed.convex.solvers._smooth import NOISE, refuse_unless_smooth, sample_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LARGEST = 1200  # coefficients of all scores together whose second derivatives are worth factorising
DIRECT = 3e6  # multiply-adds of second derivatives that cost no more than the overhead of some products
MOST = 200  # steps of conjugate gradients within one of Newton
OFTEN = 12  # steps of conjugate gradients after which the preconditioner is made anew


class NewtonScores:
    """Steps along the gradient divided by the second derivatives of all coefficients of all scores.

    Few coefficients: the second derivatives are factorised. More: conjugate gradients, preconditioned by the Gram matrix of
    the columns, weighted by the mean curvature of a row and the same for every score.
    """

    name = "newton"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not smooth, or has one score."""
        if problem.loss.traits.n_scores == 1:
            return "it takes losses of several scores a row"
        return refuse_unless_smooth(problem)

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict eight second derivatives, or some tens of products, twice as many without their Gram matrix."""
        k = problem.loss.traits.n_scores
        if _is_direct(problem):
            return float(1e-9 * problem.shape[0] * (k * (problem.shape[1] + 1)) ** 2 + 1e-3)
        has_sample = (
            sample_step(problem, k * problem.shape[1]) > 1
        )  # after which steps of a quasi-Newton method are as good
        return (35 if ScorePasses(problem).is_compiled and not has_sample else 60) * pass_cost(problem)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        w, b = start if _is_direct(problem) else begin(problem, start, partial(_follow, target=np.inf))
        z = np.concatenate([w, np.reshape(b, (1, *w.shape[1:]))])
        polished = is_held = False
        for number, point in enumerate(_follow(problem, z, target)):
            hint = point.hint(target)
            # one more step squares what is left: where it costs next to nothing it is taken before anybody is told
            is_held = hint <= target and not polished and _is_direct(problem)
            polished = polished or is_held
            if not is_held and (number or hint <= target):
                yield Iterate(point.w, point.b, hint=hint, known=point.known, more_coming=True)
        if is_held:
            yield Iterate(point.w, point.b, hint=hint, known=point.known, more_coming=True)


def _is_direct(problem: Problem) -> bool:
    """Say whether second derivatives are cheaper to write down than to multiply by."""
    d = (problem.shape[1] + 1) * problem.loss.traits.n_scores
    return d <= LARGEST and problem.shape[0] * d * d <= DIRECT


def _follow(problem: Problem, z: Vector, target: float) -> Iterator[Descent]:
    """Yield points until rounding ends the descent; equations are solved no better than a gap of ``target`` needs."""
    point = at_point(ScorePasses(problem), z)
    table = _with_ones(problem) if _is_direct(problem) else None
    guess = Guess(problem)
    inverse: Callable[[Vector], Vector] | None = None
    first, idle = float(np.linalg.norm(point.g)), 0
    while True:
        yield point
        if table is not None:
            d = _direction(problem, table, point)
        else:
            inverse = guess.with_mean_curvature(point) if inverse is None else inverse
            # as well as Newton's method can use, and better only where that makes it the last step
            accuracy = min(0.1, np.sqrt(float(np.linalg.norm(point.g)) / max(first, 1e-300)))
            last = 0.15 * np.sqrt(target / max(point.hint(target), 1e-300))
            d, taken = _by_gradients(point, inverse, min(0.1, last) if last > 0.1 * accuracy else accuracy)
            inverse = inverse if taken < OFTEN else None
        promised = float(np.sum(point.g * d))
        new = step_along(point, d, promised) if promised < 0 else None
        if new is None:
            return
        idle = idle + 1 if np.linalg.norm(new.g) > 0.5 * np.linalg.norm(point.g) else 0
        if idle >= 4 and abs(promised) <= NOISE * abs(point.objective):
            yield new
            return
        point = new


def _by_gradients(point: Descent, inverse: Callable[[Vector], Vector], accuracy: float) -> tuple[Vector, int]:
    """Solve Newton's equations to a relative accuracy; return the step and how many products it took."""
    problem = point.problem
    bends = point.passes.bends(point.t)
    curvature = np.zeros_like(point.z)
    curvature[:-1] = problem.penalty.curvature(point.w)
    d = np.zeros_like(point.g)
    r = -point.g
    s = inverse(r)
    along, square = s, float(np.vdot(r, s))
    goal = accuracy**2 * square
    taken = 0
    while taken < MOST and square > goal:
        product = bends(along) + curvature * along
        if not problem.free_intercept:
            product[-1] = 0.0
        bent = float(np.vdot(along, product))
        if not bent > 0:  # flat to rounding: what has been found will do
            break
        step = square / bent
        d = d + step * along
        r = r - step * product
        s = inverse(r)
        square, last = float(np.vdot(r, s)), square
        along = s + (square / last) * along
        taken += 1
    return (d if taken else s), taken


def _with_ones(problem: Problem) -> Vector:
    """Return the centred columns and one of ones, (n, p + 1)."""
    columns = problem.design.product(np.eye(problem.shape[1]), problem.centre)
    last = np.full((problem.shape[0], 1), 1.0 if problem.free_intercept else 0.0)
    return np.concatenate([columns, last], axis=1)


def _direction(problem: Problem, table: Vector, point: Descent) -> Vector:
    """Return minus the inverse second derivatives times the gradient."""
    q, k = point.z.shape
    full = point.passes.hessian(point.t, table)
    diagonal: Vector = full.ravel()[:: k * q + 1].reshape(k, q)  # a view
    diagonal[:, :-1] += np.broadcast_to(problem.penalty.curvature(point.w), point.w.shape).T
    if not problem.free_intercept:  # the last column is empty: a curvature of its own keeps it apart from all others
        diagonal[:, -1] = 1.0
    # the same change of all scores of a row changes no loss: a curvature of its own makes the matrix regular, and since no
    # gradient points that way the step is the same
    level = np.where(diagonal > 0, diagonal, 1.0).mean(axis=0)
    own = np.arange(q)
    full.reshape(k, q, k, q)[:, own, :, own] += level[:, np.newaxis, np.newaxis] / k
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
    step = -(scale * d).reshape(k, q).T
    if not problem.free_intercept:
        step[-1] = 0.0
    return np.asarray(step)
