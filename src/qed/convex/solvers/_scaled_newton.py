"""Newton's method for problems that estimate a scale together with the coefficients, under a smooth penalty.

With the scale at its best value for each point, what is left to minimise is convex and smooth wherever the scale is positive.
Rows within the knee have curvature, those beyond have none: with M the Gram matrix of the rows within, q the sums of their
residuals times (columns, 1) and s the sum of their squared residuals, the second derivative is ``(M - q q'/s) / σ``. The term
that the scale takes away is left out where it would leave little: then the step is that of a scale held fixed, which never
goes uphill either, and solves a problem without residuals at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._concomitant import Concomitant
from qed.convex._problem import Problem
from qed.convex._solve import Iterate
from qed.convex.losses import Absolute
from qed.convex.solvers._interior_point import InteriorPoint
from qed.convex.solvers._straight import solver_of
from qed.core._memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector

    Point = tuple[Vector, float, Vector, float]  # coefficients, intercept, scores and objective


VANISHING = 1e-5  # a scale that may be on its way to zero, compared with the objective of the null model
SHORT = 0.1  # a step that must be cut to less than this is not worth taking if there is another
DIGITS = 1e-6  # of the gap asked for: a step that promises less is left out
FEWER = "Choose fewer columns, for example those with more than a few entries that are not zero."
FEW = 1 << 20  # products that are made before rows that changed could be told apart
PATIENCE = 40  # steps after which it is looked for there in any case


class ScaledNewton:
    """Newton's method in coefficients and intercept, the scale at its best throughout."""

    name = "newton"

    def unsupported_reason(self, problem: Concomitant) -> str | None:
        """Refuse problems without a scale, and a non-smooth penalty."""
        if not isinstance(problem, Concomitant):
            return "it needs a problem with a scale of its own"
        return None if problem.penalty.traits.is_smooth else "it needs a smooth penalty"

    def cost(self, problem: Concomitant, tol: float) -> float:  # noqa: ARG002
        """Predict some eight Gram matrices."""
        n, p = problem.shape
        return float(8 * (1e-4 + 5e-11 * n * p * p + 1e-10 * p**3))

    def run(self, problem: Concomitant, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        w, b = np.asarray(start[0], dtype=np.float64), float(start[1])
        grams = _Grams(problem)
        t = problem.scores(w, b)
        value = problem.objective(w, b, t)
        if not w.any() and problem.shape[0] > 2 * problem.shape[1]:  # fewer rows are met too well to have a scale
            w, b, t, value = _least_squares(problem, grams, (w, b, t, value))
        idle, guess, floor = 0, 0.0, VANISHING * problem.null_objective
        tried = polished = False
        for count in range(100_000):
            r = t - problem.y
            scale = problem.scale(r, guess)
            if not tried and (scale <= floor or count == PATIENCE):
                tried = True
                yield Iterate(w, b)  # it may be good enough
                yield from _without_scale(problem, target)
            if scale == 0.0:
                break
            steps, decrement, z = _steps(problem, grams, w, r, scale, problem.clipped(r, scale))
            hint = decrement
            if decrement <= target and problem.penalty.traits.is_bounding:  # a weak penalty asks more of its dual point
                hint += problem.penalty.excess(w, z, np.zeros_like(z))[0]
            # one more step squares what is left of the coefficients' error: it is taken before anybody is told
            is_held = DIGITS * target < decrement <= target and not polished
            polished = polished or is_held
            if not is_held:
                yield Iterate(w, b, hint=hint)
            there = _lowest(problem, grams, (w, b, t, value), steps, scale)
            idle = idle + 1 if there[-1] >= value * (1 - 1e-15) else 0
            if there[0] is w or idle > 3:
                break
            w, b, t, value = there
            guess = scale
        yield Iterate(w, b)
        if not tried:
            yield from _without_scale(problem, target)


def _lowest(problem: Concomitant, grams: _Grams, at: Point, steps: list[Vector], scale: float) -> Point:
    """Return the lowest point that the steps lead to: the second is shorter-sighted, and safe; one about all rows is the last."""
    best, furthest = at, 0.0
    for step in steps:
        far, there = _search(problem, at, step, scale)
        if far > 0 and (furthest == 0.0 or there[-1] <= best[-1]):
            best, furthest = there, far
        if far >= SHORT:
            break
    if furthest == 0.0:  # too few rows are within the knee to tell where to go
        best = _search(problem, at, _above(problem, grams, at[0], at[2] - problem.y, scale), scale)[1]
    return best


def _above(problem: Concomitant, grams: _Grams, w: Vector, r: Vector, scale: float) -> Vector:
    """Return the shortest step to the lowest point of a parabola that lies above the objective.

    Each row bends by what it pulls over its distance: less than its curvature nowhere, and all rows count.
    """
    p, pull = len(w), problem.clipped(r, scale)
    matrix = grams.over(None, problem.share * np.divide(pull, r, out=np.ones_like(r), where=r != 0.0))
    matrix.flat[: p * (p + 2) : p + 2] += scale * problem.penalty.curvature(w)
    sums = np.append(problem.adjoint(pull) + scale * problem.penalty.slope(w), 0.0)
    if problem.free_intercept:
        sums[p] = problem.share @ pull
    return np.asarray(-np.linalg.lstsq(matrix, sums, rcond=None)[0])


def _least_squares(problem: Concomitant, grams: _Grams, at: Point) -> Point:
    """Return coefficients, intercept, scores and objective after a step as if all rows were within the knee, if that is lower."""
    w, b, t, value = at
    r = t - problem.y
    scale = problem.scale(r)
    if scale == 0.0:
        return at
    d = _steps(problem, grams, w, r, scale, r)[0][-1]
    far = w + d[:-1], b + float(d[-1]), t + problem.design.product(d[:-1], problem.centre) + d[-1]
    there = problem.objective(*far, scale)
    return (*far, there) if there < value else at


def _without_scale(problem: Concomitant, target: float) -> Iterator[Iterate]:
    """Look for an optimum whose scale is zero: there the spread is the knee times the mean absolute residual.

    Without a knee any price will do that is above every dual variable, and none exceeds the inverse square root of its weight.
    """
    price = problem.knee if np.isfinite(problem.knee) else 2.0 / float(np.sqrt(problem.share.min()))
    part = Problem(
        problem.design,
        Absolute(problem.y),
        (1.0 / price) * problem.penalty,
        problem.share,
        problem.free_intercept,
        problem.centre,
        problem.lengths,
    )
    solver = InteriorPoint()
    if solver.unsupported_reason(part) is None:
        for at in solver.run(part, problem.null_point, 0.1 * target / price):
            yield Iterate(at.w, at.b, None if at.u is None else price * at.u, np.inf if at.hint is not None else None)


class _Grams:
    """Products of the columns over the rows within the knee; from one step to the next only few rows change."""

    def __init__(self, problem: Concomitant) -> None:
        self.problem = problem
        p = problem.shape[1]
        # the products, those of rows that changed, their sum, and what solving needs
        require_memory(5 * 8 * (p + 1) ** 2, f"Newton's method with the products of {p} columns", FEWER)
        self.rows = np.zeros(problem.shape[0], dtype=bool)
        self.matrix = np.zeros((problem.shape[1] + 1,) * 2)

    def of(self, rows: Any) -> Vector:
        """Return them for these rows, ones among the columns."""
        changed = np.flatnonzero(rows != self.rows)
        if 3 * len(changed) > 2 * len(rows) or self.matrix.size * len(rows) <= FEW:
            self.matrix = self.over(None, np.where(rows, self.problem.share, 0.0))
        else:
            entered, left = changed[rows[changed]], changed[~rows[changed]]
            for sign, some in ((1.0, entered), (-1.0, left)):
                if len(some):
                    self.matrix = self.matrix + sign * self.over(some, self.problem.share[some])
        self.rows = rows
        return self.matrix

    def over(self, some: Any, c: Vector) -> Vector:
        """Return them for some rows, or for all, with weights."""
        problem, p = self.problem, self.problem.shape[1]
        design = problem.design if some is None else problem.design.rows(some)
        out = np.zeros((p + 1, p + 1))
        out[:p, :p] = design.gram(c, problem.centre)
        if problem.free_intercept:
            out[p, :p] = out[:p, p] = design.adjoint_product(c, problem.centre)
            out[p, p] = c.sum()
        return out


def _steps(
    problem: Concomitant, grams: _Grams, w: Vector, r: Vector, scale: float, h: Vector
) -> tuple[list[Vector], float, Vector]:
    """Return the Newton step, that of a scale held fixed, half the fall that the first predicts, and the slope's products.

    ``h`` are the residuals, clipped where rows count as beyond the knee.
    """
    inside = h == r
    p, free = len(w), problem.free_intercept
    rows = problem.share[:, np.newaxis] * np.stack([h, np.where(inside, r, 0.0)], axis=1)
    sums = np.zeros((p + 1, 2))
    sums[:p] = problem.design.adjoint_product(rows, problem.centre)
    if free:
        sums[p] = rows.sum(axis=0)
    z = sums[:p, 0] / -scale
    sums[:p, 0] += scale * problem.penalty.slope(w)
    matrix = grams.of(inside).copy()
    matrix.flat[: p * (p + 2) : p + 2] += scale * problem.penalty.curvature(w)  # the diagonal, but for the intercept
    if not free or matrix[p, p] == 0.0:
        matrix[p, p] = 1.0
    solve = solver_of(matrix)
    g, q = sums[:, 0] / scale, sums[:, 1]
    if solve is None:
        return [-g], np.inf, z
    d, bent = solve(sums).T
    d = -d
    squares = float(rows[:, 1] @ r)
    left = squares - float(q @ bent)
    steps = [d]
    if left > 0.05 * squares:
        steps = [d + bent * (float(q @ d) / left), d]
    return steps, max(-0.5 * float(g @ steps[0]), 0.0), z


def _search(problem: Concomitant, at: Point, step: Vector, scale: float) -> tuple[float, Point]:
    """Halve the step until the objective falls; return how much is left of it, and where it leads."""
    w, b, t, value = at
    dt = problem.design.product(step[:-1], problem.centre) + step[-1]
    length = 1.0
    for _ in range(40):
        far = w + length * step[:-1], b + length * float(step[-1]), t + length * dt
        there = problem.objective(*far, scale)
        if there <= value * (1 + 4e-16):
            return length, (*far, there)
        length *= 0.5
    return 0.0, at
