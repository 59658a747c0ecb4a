"""Limited-memory BFGS with a preconditioner from the products of columns: for losses of several scores a row."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._floor import Floor
from qed.convex._kernels import cholesky, solve_cholesky
from qed.convex._passes import ScorePasses, sampled, value_and_slope
from qed.convex._sample_rows import rows_apart
from qed.convex._solve import Iterate
from qed.convex.solvers._newton import entries_of
from qed.convex.solvers._score_curvature import ClassCurvature
from qed.convex.solvers._smooth import ENOUGH, NOISE, refuse_unless_smooth, sample_step
from qed.core._once import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.convex._gap import PointCache
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LEANING = 0.05  # what a proof is seen to charge for intercepts that are not balanced yet
Learnt = deque[tuple["Vector", "Vector", float]]
MEMORY = 30  # steps that correct the preconditioner
CLOSE = 300.0  # descent of a step, in units of the gap asked for, from which on a floor may prove what follows
FAR = 2e-2  # promised descent of the mean loss above which a step leads where the second derivatives are others
FURTHER = 1e-1  # the same for a sample, whose solution is rough whatever the steps to it are
LARGEST = 4000  # columns whose products are worth factorising


class LBFGS:
    """Quasi-Newton steps; scores move in a straight line, so that a step costs one product and one adjoint product.

    The first guess of the second derivatives is the weighted Gram matrix of the columns, the same for every score: with
    the bend of the loss as weight it is Böhning's bound, with the mean curvature of a row it is closer to the truth.
    """

    name = "lbfgs"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not smooth."""
        return refuse_unless_smooth(problem)

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict some tens of passes, more for small tolerances, and hundreds for one score where the penalty is weak."""
        if Guess(problem).knows_classes:
            return float(_classes_cost(problem) * max(1.0, -np.log10(max(tol, 1e-16)) / 6))
        weak = 1.0 if problem.penalty.traits.convexity > 1e-2 else 15.0
        more = 1.5 if problem.loss.traits.n_scores > 1 else 4.0 * weak
        passes = 20.0 * more * max(1.0, -np.log10(max(tol, 1e-16)) / 6)
        return float(passes * pass_cost(problem))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        w, b = begin(problem, start, partial(descend, far=FURTHER))
        before = np.inf
        for number, point in enumerate(descend(problem, np.concatenate([w, np.reshape(b, (1, *w.shape[1:]))]))):
            hint = point.hint(target)
            if before - point.objective <= CLOSE * target:
                Floor.lay(problem, point.t, target, hint)
                hint = point.hint(target)
            before = point.objective
            if number or hint <= target:  # a start is no step, unless it will do
                yield Iterate(point.w, point.b, hint=hint, known=point.known, more_coming=True)


@dataclass(frozen=True, eq=False)
class Descent:
    """A point with scores, objective and gradient; z stacks coefficients and intercept."""

    passes: ScorePasses
    z: Vector
    t: Vector
    objective: float
    g: Vector
    known: PointCache

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.passes.problem

    @property
    def w(self) -> Vector:
        """Coefficients."""
        return self.z[:-1]

    @property
    def b(self) -> Any:
        """Intercepts."""
        return float(self.z[-1]) if self.z.ndim == 1 else self.z[-1]

    def hint(self, target: float) -> float:
        """Estimate the gap that the slope, or a floor under the objective, would prove."""
        floor: Floor | None = self.problem.kept.get("floor")
        return min(self._slope_hint(), np.inf if floor is None else floor.hint(self.w, self.t, self.g, target))

    def _slope_hint(self) -> float:
        problem, penalty = self.problem, self.problem.penalty
        z = penalty.slope(self.w) - self.g[:-1]
        tilt = float(np.sum(np.abs(self.g[-1])))
        if penalty.traits.is_bounding:
            return penalty.excess(self.w, z, np.zeros_like(z))[0] + tilt * tilt + LEANING * tilt
        size = np.where(problem.sizes > 0, problem.sizes, np.inf)
        size = size if z.ndim == 1 else size[:, np.newaxis]
        inside = penalty.project(z)
        reach = 10.0 * max(float(np.std(self.t)), 1.0)
        beyond = reach * float(np.sum(np.abs(z - inside) / size))
        return min(penalty.excess(self.w, inside, np.zeros_like(z))[0] + beyond + tilt, self.objective)


def begin(
    problem: Problem, start: tuple[Vector, Any], follow: Callable[[Problem, Vector], Iterator[Descent]]
) -> tuple[Vector, Any]:
    """Return the solution of a sample of the rows, to the accuracy that a sample can have, if it beats the null model."""
    w, b = start
    every = sample_step(problem, np.size(w))
    sample = sampled(problem, every) if every > 1 else None
    if sample is None:
        return w, b
    last: Descent | None = None
    noise = 0.05 * np.size(w) / sample.shape[0]  # a tenth of what the solution of a sample is above that of all rows
    v, a = begin(sample, start, follow)
    for number, point in enumerate(follow(sample, np.concatenate([v, np.reshape(a, (1, *v.shape[1:]))]))):
        if number > 30 or (last is not None and last.objective - point.objective < noise):
            break
        last = point
    if "products of one row in 1" in sample.kept:
        problem.kept[f"products of one row in {every}"] = sample.kept["products of one row in 1"]
    if not point.objective < sample.null_objective:
        return w, b
    problem.kept["guess"] = sample.kept.get("guess")
    return point.w, point.b


def descend(problem: Problem, z: Vector, far: float = FAR) -> Iterator[Descent]:
    """Yield points until rounding ends the descent.

    A sample leaves its approximate inverse of the second derivatives behind: good enough for a first step, and no better.
    """
    point = at_point(ScorePasses(problem), z)
    guess, kept = Guess(problem), problem.kept
    borrowed = kept.get("guess")
    first = kept["guess"] = guess.at(point) if borrowed is None else borrowed
    learnt: Learnt = deque(maxlen=MEMORY)
    idle, is_start = 0, True
    while True:
        yield point
        d = -_apply(first, learnt, point.g)
        promised = float(np.sum(point.g * d))
        if (
            not promised < 0 and not learnt and is_start
        ):  # no row bends at the start: the gradient alone says where to go
            d, promised = -point.g, -float(np.sum(point.g * point.g))
        if not promised < 0:
            if not learnt:
                return
            learnt.clear()
            continue
        is_start = False
        new = step_along(point, d, promised)
        if new is None:
            if not learnt:
                return
            learnt.clear()
            continue
        s, y = new.z - point.z, new.g - point.g
        bent = float(np.sum(s * y))
        if bent > 1e-14 * float(np.linalg.norm(s)) * float(np.linalg.norm(y)):
            learnt.append((s, y, 1.0 / bent))
        idle = idle + 1 if np.linalg.norm(new.g) > 0.5 * np.linalg.norm(point.g) else 0
        if idle >= 25 and abs(promised) <= NOISE * abs(point.objective):
            return
        point = new
        if abs(promised) > far or borrowed is not None:
            first, borrowed = guess.at(point), None
            kept["guess"] = first


def pass_cost(problem: Problem) -> float:
    """Predict the seconds of a pass with all scores."""
    k = problem.loss.traits.n_scores
    entry = 2e-10 if ScorePasses(problem).is_compiled else 3e-9
    return float(entry * k * (entries_of(problem) + sum(problem.shape)) + 2e-4)


def _classes_cost(problem: Problem) -> float:
    """Predict a few passes, more where coefficients are many for the rows, and a few guesses of the curvature."""
    n, p = problem.shape
    k = problem.loss.traits.n_scores
    return float((10 + 60 * min(1.5, p * k / max(n, 1))) * pass_cost(problem) + 5 * (1.4e-3 + 1.2e-5 * k * k))


def at_point(passes: ScorePasses, z: Vector) -> Descent:
    """Look at a point."""
    looked, penalty = passes.at(z), passes.problem.penalty
    g = np.array(looked.slope)
    g[:-1] += penalty.slope(z[:-1])
    return Descent(passes, z, looked.t, looked.value + penalty.value(z[:-1]), g, looked.known)


def step_along(point: Descent, d: Vector, promised: float) -> Descent | None:
    """Return a point along d that is lower by what the slope promises; None if rounding hides the descent."""
    problem, c = point.problem, point.problem.share
    slack = NOISE * abs(point.objective) if abs(promised) <= 1e3 * NOISE * abs(point.objective) else 0.0
    full = at_point(point.passes, point.z + d)
    if full.objective <= point.objective + ENOUGH * promised + slack and np.sum(full.g * d) >= 0.9 * promised:
        return full
    move = full.t - point.t  # scores move in a straight line
    step, low, high = (2.0, 1.0, np.inf) if full.objective <= point.objective + ENOUGH * promised else (0.5, 0.0, 1.0)
    for _ in range(60):
        z, t = point.z + step * d, point.t + step * move
        values, slope = value_and_slope(problem.loss, t)
        value = float(c @ values) + problem.penalty.value(z[:-1])
        if value <= point.objective + ENOUGH * step * promised + slack:
            rate = float(np.vdot(_weighted(problem, slope), move))
            rate += float(np.sum(problem.penalty.slope(z[:-1]) * d[:-1]))
            if rate >= 0.9 * promised or step >= 64.0:
                return at_point(point.passes, z)
            low = step
        else:
            high = step
        step = 2.0 * step if np.isinf(high) else 0.5 * (low + high)
        if step < 1e-12:
            return None
    return None


def _weighted(problem: Problem, slope: Vector) -> Vector:
    return problem.share * slope if slope.ndim == 1 else problem.share[:, np.newaxis] * slope


def _apply(first: Callable[[Vector], Vector], learnt: Learnt, g: Vector) -> Vector:
    """Return the inverse second derivatives times g, as the preconditioner and the steps so far have it."""
    factors = []
    for s, y, inverse in reversed(learnt):
        factors.append(inverse * float(np.sum(s * g)))
        g = g - factors[-1] * y
    d = first(g)
    if learnt:
        s, y, inverse = learnt[-1]
        d = d / max(inverse * float(np.sum(y * first(y))), 1e-300) if learnt else d
    for (s, y, inverse), factor in zip(learnt, reversed(factors), strict=True):
        d = d + (factor - inverse * float(np.sum(y * d))) * s
    return d


@dataclass(frozen=True, eq=False)
class Guess:
    """Approximate inverses of the second derivatives at points of a problem; they share the products of columns."""

    problem: Problem

    def at(self, point: Descent) -> Callable[[Vector], Vector]:
        """Return an approximate inverse at a point."""
        if self.knows_classes:
            found = ClassCurvature.of(self.problem, point.w, point.t, self._products)
            if found is not None:
                return found
        return self.with_mean_curvature(point)

    @property
    def knows_classes(self) -> bool:
        """Whether scores belong to classes, and the products of columns are worth their price."""
        return self._few and self.problem.loss.traits.native == "softmax" and self.problem.loss.y.ndim == 1

    @cached_property
    def _few(self) -> bool:
        """Whether the products of columns are worth their price."""
        p = self.problem.shape[1]
        return p <= LARGEST and p * p <= 4 * entries_of(self.problem)

    @cached_property
    def _every(self) -> int:
        """Step between rows of a sample that will do."""
        n, p = self.problem.shape
        return max(1, n // max(20 * p, 20_000))

    @cached_property
    def _products(self) -> Vector:
        """The Gram matrix of the columns of a sample of the rows."""
        kept, key = self.problem.kept, f"products of one row in {self._every}"
        if key not in kept:
            share = self.problem.share[:: self._every]
            kept[key] = self._gram(share / share.sum())
        return np.asarray(kept[key])

    def _gram(self, weight: Vector) -> Vector:
        part = rows_apart(self.problem, self._every)
        part = self.problem.design.rows(slice(None, None, self._every)) if part is None else part
        return np.asarray(part.gram(weight, self.problem.centre))

    def with_mean_curvature(self, point: Descent) -> Callable[[Vector], Vector]:
        """Return the inverse of the Gram matrix weighted by the mean curvature of a row, the same for every score."""
        problem, p = self.problem, self.problem.shape[1]
        rows = slice(None, None, self._every)
        curve = problem.loss.take(rows).curvature(point.t[rows])
        mean = curve if curve.ndim == 1 else curve.sum(axis=1) / (curve.shape[1] - 1)
        share = problem.share[rows]
        weight = share * mean / max(float(share.sum()), 1e-300)
        total = max(float(weight.sum()), 1e-300)
        penalty = problem.penalty.curvature(point.w)
        strength = penalty if penalty.ndim == 1 else penalty[:, 0]
        factor = _factor(self._gram(weight), strength) if self._few else None
        diagonal = total * problem.sizes**2 + strength
        diagonal = np.where(diagonal > 0, diagonal, 1.0)

        # applied often, and no more than a guess: the inverse is cheaper than two triangles
        inverse = None if factor is None else solve_cholesky(factor, np.eye(p))
        size = diagonal if point.g.ndim == 1 else diagonal[:, np.newaxis]

        def apply(g: Vector) -> Vector:
            out = np.zeros_like(g)
            out[:-1] = g[:-1] / size if inverse is None else inverse @ g[:-1]
            if problem.free_intercept:
                out[-1] = g[-1] / total
            return out

        return apply


def _factor(products: Vector, strength: Vector) -> Vector | None:
    """Return the Cholesky factor of a Gram matrix with the penalty."""
    products[np.diag_indices_from(products)] += strength + 1e-10 * (np.trace(products) / max(len(products), 1) + 1e-300)
    return cholesky(products)
