"""Newton's method for losses of one score a row: few passes, each of them one read of the design."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._curvature_bound import step_between_rows
from qed.convex._floor import Floor
from qed.convex._kernels import cholesky, solve_cholesky
from qed.convex.solvers._smooth import Point, Smooth, refuse_unless_smooth, sample_of, start_of
from qed.designs import Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._passes import Seen
    from qed.convex._problem import Problem
    from qed.convex._solve import Iterate


LARGEST = 4000  # columns whose second derivatives are worth factorising
CHEAP = 1e7  # multiply-adds of second derivatives that cost no more than the overhead of a pass
NONE = np.zeros((0, 0))
NEAR = 0.25  # logarithm of what curvature may have lost since a floor was laid, above which it is laid anew
FEW = 120  # columns whose second derivatives of all rows cost no more than a pass by products
SLOW = 0.25  # contraction of the decrement above which old second derivatives are renewed


class Newton:
    """Steps along the gradient divided by the second derivatives, which are kept as long as they contract well.

    With many rows the problem of one row in sixteen is solved first, so that the whole design is read about four times.
    """

    name = "newton"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not smooth, has several scores, or has too many columns to factorise."""
        if problem.loss.traits.n_scores > 1 or problem.loss.y.ndim == 2:
            return "it takes losses of one score a row"
        if problem.shape[1] > LARGEST:
            return f"it takes at most {LARGEST} columns"
        return refuse_unless_smooth(problem)

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict five passes, three second derivatives and their factors, and the calls around them."""
        n, p = problem.shape
        entries = entries_of(problem)
        second = 40e-9 * entries**2 / max(n, 1) if isinstance(problem.design, Sparse) else 2e-11 * n * p * p
        return float(5e-9 * entries + 3 * (second + 3e-11 * p**3 + 1e-9 * p * p) + 8e-4)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        smooth = Smooth(problem)
        sample = self.begin(problem, start_of(start), np.inf if _second_is_cheap(smooth) else target)
        if sample is None:
            point = smooth.look(*start_of(start), hessian=True)
            yield from self._follow(smooth, point, None, target)
            return
        second: Second | None = None if _second_is_cheap(smooth) else sample.second
        point = smooth.look(sample.w, sample.b, hessian=second is None)
        if not point.objective <= sample.limit:  # the sample misled
            point = smooth.look(*start_of(start), hessian=True)
            second = None
        else:
            sample.lay_floor(problem)
        yield from self._follow(smooth, point, second, target)

    def begin(self, problem: Problem, start: tuple[Vector, float], target: float = np.inf) -> Begun | None:
        """Solve a sample of the rows, to the accuracy that a sample can have; None if there is no sample worth it."""
        sample = sample_of(problem, problem.shape[1], target)
        if sample is None:
            return None
        smooth = Smooth(sample)
        begun = self.begin(sample, start)
        point = smooth.look(*(start if begun is None else (begun.w, begun.b)), hessian=True)
        limit = point.objective if begun is None else begun.limit
        if not point.objective <= limit:
            point = smooth.look(*start, hessian=True)
        for _ in range(12):
            second = Second.of(smooth, point)
            d = -second.solve(point.g)
            new = smooth.advance(point, d, hessian=True)
            if new is None:
                break
            decrement = float(-point.g @ d)
            enough = max(decrement, 0.0) ** 2 < 0.1 * len(d) / sample.shape[0]  # a step squares what is left
            point = new
            if enough:
                break
        second = Second.of(smooth, point)
        second.is_old = True
        return Begun(point.w, point.b, limit, second, sample, point.seen)

    def _follow(self, smooth: Smooth, point: Point, second: Second | None, target: float) -> Iterator[Iterate]:
        """Yield points until rounding ends the descent; second derivatives are those of the point if none are given."""
        n, p = smooth.problem.shape
        is_cheap = n * p * p < CHEAP
        floor: Floor | None = smooth.problem.kept.get("floor")
        between = None if is_cheap or floor is not None else step_between_rows(smooth.problem)
        before, idle, polished = np.inf, 0, False
        while True:
            d: Vector | None = None
            by_curvature = np.inf
            if between is not None or floor is not None:
                second = Second.of(smooth, point) if second is None else second
                d = -second.solve(point.g)
            if between is not None and d is not None:
                by_curvature = between * max(float(-point.g @ d), 0.0)  # half of it, doubled for what rows differ
            if floor is not None and d is not None:
                by_curvature = floor.hint(point.w, point.seen.t, point.g, target)
                ideal = floor.loose * max(float(-point.g @ d), 0.0)
                if by_curvature > target >= 0.5 * ideal and floor.away(point.seen.t) > NEAR:
                    floor = floor.moved(point.seen.t)
                    by_curvature = floor.hint(point.w, point.seen.t, point.g, target)
            at = smooth.iterate(point, by_curvature)
            is_near = at.hint is not None and at.hint <= target
            # one more step squares what is left, and where it costs next to nothing it is taken before anybody is told
            is_held = is_near and is_cheap and not polished
            polished = polished or is_held
            if not is_held and (np.isfinite(before) or is_near):  # a start is no step, unless it will do
                yield at
            if d is None:
                second = Second.of(smooth, point) if second is None else second
                d = -second.solve(point.g)
            decrement = max(float(-point.g @ d), 0.0)
            idle = idle + 1 if decrement >= 0.5 * before else 0
            if decrement == 0.0 or (idle >= 3 and (at.hint or 0.0) <= max(target, 1e-12 * abs(point.objective))):
                break
            renew = not is_held and (is_cheap or bool(decrement > SLOW * before))
            new = smooth.advance(point, d, hessian=renew)
            if new is None and (second is None or not second.is_old):
                break
            if new is None or new.seen.hessian is not None:
                point = smooth.look(point.w, point.b, hessian=True) if new is None else new
                second = None
            elif second is not None:
                second.learn(new, point)
                point = new
            before = decrement
        if is_held:
            yield at


def _second_is_cheap(smooth: Smooth) -> bool:
    """Say whether second derivatives cost no more than a pass, which is dear where it is made of products."""
    return not smooth.passes.is_compiled and smooth.problem.shape[1] <= FEW and isinstance(smooth.problem.design, Dense)


@dataclass(frozen=True, eq=False)
class Begun:
    """Where a sample of the rows leads: a point, the objective of the start on the sample, the second derivatives."""

    w: Vector
    b: float
    limit: float
    second: Second
    sample: Problem
    seen: Seen

    def lay_floor(self, problem: Problem) -> None:
        """Leave what the curvature of the sample proves of the whole problem behind."""
        if Floor.refuses(problem):
            return
        every = -(-problem.shape[0] // self.sample.shape[0])
        rows = slice(None, None, every)
        second: Vector = np.asarray(self.seen.hessian) * float(problem.share[rows].sum())
        if len(problem.share[rows]) == self.sample.shape[0]:
            floor = Floor.of(problem, rows, self.seen.t.copy(), self.sample.design, second)
            if floor is not None:
                problem.kept["floor"] = floor


@dataclass(eq=False)
class Second:
    """Second derivatives of the objective at some point, factorised; columns are scaled to length one first.

    Steps taken with them after the point has moved correct them, as in limited-memory BFGS.
    """

    scale: Vector
    factor: Vector | None
    values: Vector
    vectors: Vector
    is_old: bool = False
    learnt: list[tuple[Vector, Vector, float]] = field(default_factory=list)

    @classmethod
    def of(cls, smooth: Smooth, point: Point) -> Second:
        """Factorise; where rounding leaves no positive definite matrix, drop the directions that are lost in it."""
        problem = smooth.problem
        full: Vector = np.array(point.seen.hessian)
        p = problem.shape[1]
        corner: Vector = full.ravel()[:: p + 2]  # a view of the diagonal
        corner[:p] += problem.penalty.curvature(point.w)
        if not problem.free_intercept:
            full[p, :] = full[:, p] = 0.0
            full[p, p] = 1.0
        scale = 1.0 / np.sqrt(np.where(corner > 0, corner, 1.0))
        full *= scale
        full *= scale[:, np.newaxis]
        factor = cholesky(full)
        if factor is not None and factor.diagonal().min(initial=1.0) > 1e-7:
            return cls(scale, factor, NONE, NONE)
        values, vectors = np.linalg.eigh(full)
        return cls(scale, None, values, vectors)

    def learn(self, new: Point, old: Point) -> None:
        """Remember how the gradient changed along a step."""
        self.is_old = True
        s = np.append(new.w - old.w, new.b - old.b)
        y = new.g - old.g
        if float(s @ y) > 0:
            self.learnt.append((s, y, 1.0 / float(s @ y)))

    def solve(self, g: Vector) -> Vector:
        """Return the inverse times g."""
        factors = []
        for s, y, inverse in reversed(self.learnt):
            factors.append(inverse * float(s @ g))
            g = g - factors[-1] * y
        d = self._solve_first(g)
        for (s, y, inverse), factor in zip(self.learnt, reversed(factors), strict=True):
            d = d + (factor - inverse * float(y @ d)) * s
        return d

    def _solve_first(self, g: Vector) -> Vector:
        g = self.scale * g
        if self.factor is not None:
            return np.asarray(self.scale * solve_cholesky(self.factor, g))
        keep = self.values > self.values[-1:].max(initial=0.0) * len(self.values) * 1e-15
        part = self.vectors[:, keep]
        along = part.T @ g
        if not along.any():  # nothing bends where it falls: the gradient alone says where to go
            return np.asarray(self.scale * g)
        return np.asarray(self.scale * (part @ (along / self.values[keep])))


def entries_of(problem: Problem) -> float:
    """Return how many numbers a pass reads."""
    n, p = problem.shape
    return float(problem.design.table.nnz) if isinstance(problem.design, Sparse) else float(n * p)
