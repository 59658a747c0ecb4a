"""Primal-dual interior point for losses made of straight pieces, on the few rows whose side is undecided.

Of many rows nearly all lie clearly above or below their breakpoint, where a loss made of straight pieces is linear. Newton's
method on a smoothed loss comes near the optimum in a few passes; the rows far from their breakpoint are then replaced by one
linear term, the central path is followed for the others, and all rows are looked at again: a row that has changed sides joins
the others, and the path is followed once more.

At the end the answer is a vertex: as many rows lie on their breakpoint as there are free coefficients. The rows and coefficients
that the path points at are solved for exactly, which leaves exact zeros and a dual point whose gap is rounding alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._solve import Iterate, steps_allowed
from qed.convex.solvers._central_path import CentralPath
from qed.convex.solvers._straight import Straight, is_small, read_straight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LARGEST = 4000  # unknowns of a system of equations that is worth factorising
FEW = 1500  # rows that need no screening
FURTHER = 1e3  # a vertex is worth the few steps that lead to it from a point within the tolerance
MOST = 200  # steps of one call
CLOSER = 0.03  # share of the distance after which a vertex is tried again
BAND = 12  # rows undecided for each coefficient, at least


class InteriorPoint:
    """Newton's method along the central path, for piecewise-linear losses with l1, l2, both or no penalty."""

    name = "interior point"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse losses and penalties that are not straight (the penalty: quadratic) either side of their breakpoints."""
        n, p = problem.shape
        if not problem.loss.traits.is_convex:
            return "it needs a convex loss"
        if problem.loss.traits.has_curvature or problem.loss.traits.n_scores > 1 or problem.loss.y.ndim > 1:
            return "it needs a piecewise linear loss, one score a row"
        penalty, straight = read_straight(problem)
        if penalty is None:
            return "it needs a penalty of absolute values plus a quadratic"
        if straight is None:
            return "it needs a piecewise linear loss with bounded subgradients"
        held = bool(np.all(penalty[0] + penalty[1] > 0))
        if (min(n, p) if held else p) > LARGEST:
            return f"its systems of equations would have more than {LARGEST} unknowns"
        return None

    @staticmethod
    def takes(n: int, p: int) -> bool:
        """Say whether a table is small enough for all of it to run in compiled code, where it is the best choice."""
        return is_small(n, p) and p <= n

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict some twenty Gram matrices of the rows undecided, and as many passes over all of them before."""
        n, p = problem.shape
        if self.takes(n, p):
            return float(15 * (2e-5 + 3e-8 * n + 2e-10 * n * p * p))
        small = min(n, p)
        steps = 12 + 0.5 * max(0.0, -np.log10(max(tol, 1e-16)))
        path = steps * (4e-4 + 4e-11 * min(n, FEW + 100 * p) * p * small + 1e-10 * small**3)
        screening = 20 * n * (5e-11 * p * small + 1.5e-7) if n > FEW else 0.0
        return float(path + screening)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        w, b = np.asarray(start[0], dtype=np.float64), float(start[1])
        is_null = not w.any() and b == problem.null_point[1]
        if (problem.null_objective if is_null else problem.objective(w, b)) == 0.0:
            yield Iterate(w, b, np.zeros(problem.shape[0]))
            return
        whole = Straight(problem)
        if whole.table is not None or problem.shape[0] <= max(FEW, 4 * BAND * (problem.shape[1] + 1)):
            for at in _follow(whole, w, b, target):
                hint = None if at.is_last else at.hint
                yield Iterate(at.w, at.b, whole.per_row(at.u), hint, steps=at.steps)
            return
        band = BAND * (problem.shape[1] + 1)
        for near in _smoothed(whole, w, b, band):
            w, b = near
            yield Iterate(w, b, hint=np.inf)
        undecided = np.zeros(problem.shape[0], dtype=bool)
        wanted = max(FEW, 2 * band)
        while True:
            undecided |= _nearest(whole, w, b, wanted)
            part, fixed = _screened(whole, w, b, undecided)
            part.problem.kept["steps"] = steps_allowed(problem)
            for at in _follow(part, w, b, 0.1 * target):
                yield Iterate(at.w, at.b, hint=np.inf, steps=at.steps)
                if at.hint <= 0.1 * target:
                    break
            if not at.hint <= 0.1 * target and not undecided.all():
                wanted *= 4  # the rows that were held cannot be balanced by the others: too many of them
                continue
            w, b = at.w, at.b
            after = whole.scores(w, b) - whole.kink
            crossed = after * fixed < 0
            dual = whole.per_row(np.where(fixed > 0, whole.high, whole.low))
            dual[undecided] = part.per_row(at.u)
            lost = float(whole.weight @ np.where(crossed, whole.width * np.abs(after), 0.0))
            yield Iterate(w, b, dual, lost if crossed.any() else None)
            if not crossed.any():
                return
            undecided |= crossed[whole.rows].reshape(whole.copies, -1).any(axis=0)
            wanted *= 2


def _nearest(whole: Straight, w: Vector, b: float, wanted: int) -> Vector:
    """Say which rows are nearest to a kink, at least so many; rows as near as the last of them are all taken."""
    r = np.abs(whole.scores(w, b) - whole.kink)[whole.rows].reshape(whole.copies, -1).min(axis=0)
    if 2 * wanted >= len(r):
        return np.ones(len(r), dtype=bool)
    last = np.partition(r, wanted - 1)[wanted - 1]
    near: Vector = r <= last * (1 + 1e-9) + 1e-12 * float(np.abs(whole.kink).mean())
    return near if 2 * np.count_nonzero(near) < len(r) else np.ones(len(r), dtype=bool)


def _screened(whole: Straight, w: Vector, b: float, undecided: Vector) -> tuple[Straight, Vector]:
    """Return the problem of the undecided rows, the others replaced by a linear term, and the sides that they are held to."""
    problem = whole.problem
    side = np.where(whole.scores(w, b) > whole.kink, 1.0, -1.0)
    u = np.where(side > 0, whole.high, whole.low)
    u[whole.rows] = np.where(np.tile(undecided, whole.copies), 0.0, u[whole.rows])
    u[whole.n * whole.copies :] = 0.0
    pull = whole.backward(whole.weight * u)
    rows = np.flatnonzero(undecided)
    part = replace(
        problem,
        design=problem.design.rows(rows),
        loss=problem.loss.take(rows),
        share=problem.share[rows],
        lengths=problem.sizes,
        centre=problem.centre,
    )
    held = side.copy()
    held[whole.rows] = np.where(np.tile(undecided, whole.copies), 0.0, side[whole.rows])
    held[whole.n * whole.copies :] = 0.0
    return Straight(part, pull), held


class _Place(NamedTuple):
    """Where the central path stands, how far from the optimum, and whether it leads any further."""

    w: Vector
    b: float
    u: Vector
    hint: float
    is_last: bool = False
    steps: int = 1


def _follow(line: Straight, w: Vector, b: float, target: float) -> Iterator[_Place]:
    """Follow the central path to the vertex that it points at."""
    path = CentralPath(line, w, b)
    if line.table is not None and not line.is_wide:
        yield from _in_calls(line, path, target)
        return
    first, hint = np.inf, np.inf
    for _ in range(200):
        hint = path.distance()
        first = min(first, 1e3 * hint)
        if hint > first:  # away from any optimum
            break
        if hint <= max(target, 1e-2 * path.spread):
            vertex = path.vertex(anyway=hint <= target)
            if vertex is not None and _left(line, *vertex) * FURTHER <= target:
                yield _Place(*vertex, 0.0, is_last=True)
                return
        yield _Place(path.w, path.b, path.u, hint * FURTHER)
        if hint * FURTHER <= target or not path.step():
            break
    yield _Place(path.w, path.b, path.u, hint, is_last=True)


def _in_calls(line: Straight, path: CentralPath, target: float) -> Iterator[_Place]:
    """Do the same in calls of compiled code, one for each digit or so once the vertex may be told."""
    until = max(target, 1e-2 * path.spread) if line.is_linear else target / FURTHER
    while True:
        hint, steps = path.advance(until, min(MOST, steps_allowed(line.problem)))
        if hint <= until:
            vertex = path.vertex(anyway=hint <= target)
            if vertex is not None and _left(line, *vertex) * FURTHER <= target:
                yield _Place(*vertex, 0.0, is_last=True, steps=steps)
                return
        if path.is_over or hint * FURTHER <= target:
            break
        yield _Place(path.w, path.b, path.u, hint * FURTHER, steps=max(1, steps))
        until = until if hint > until else max(CLOSER * hint, target / FURTHER)
    yield _Place(path.w, path.b, path.u, hint, is_last=True, steps=max(1, steps))


def _left(line: Straight, w: Vector, b: float, u: Vector) -> float:
    """Return what separates a vertex from the optimum."""
    rows = line.rows
    r = (line.scores(w, b) - line.kink)[rows]
    u = u[rows]
    room = np.where(r > 0, line.high[rows] - u, line.low[rows] - u)
    # the coefficients that are zero absorb what the rows leave, as far as the jump of the penalty allows
    full = np.concatenate([line.weight[rows] * u, np.zeros(len(line.kinked))])
    slopes = line.backward(full) + line.pull
    jump = np.zeros(line.p)
    jump[line.kinked] = (line.weight * line.high)[line.n * line.copies :]
    sign = np.sign(w)
    off = np.where(w != 0, np.abs(slopes[:-1] + jump * sign), np.maximum(np.abs(slopes[:-1]) - jump, 0.0))
    span = float(np.abs(r).max(initial=0.0))
    lengths = np.abs(w) + span / line.size
    return float(line.weight[rows] @ (room * r)) + float(off @ lengths) + (span + abs(b)) * abs(float(slopes[-1]))


def _smoothed(line: Straight, w: Vector, b: float, band: int) -> Iterator[tuple[Vector, float]]:
    """Minimise the loss with its kinks rounded off, ever less, until few rows lie where it is rounded."""
    rows = line.rows
    t = line.scores(w, b)
    r = t - line.kink
    knee = 2.0 * float(line.weight[rows] @ np.abs(r[rows])) / float(line.weight[rows].sum())
    for _ in range(40):
        if not knee > 0:
            return
        steep = line.width / (2 * knee * line.unit)
        u = np.clip(steep * r, line.low, line.high)
        weighted = np.where((u > line.low) & (u < line.high), line.weight * steep, 0.0)
        weighted[rows] += 1e-9 * line.weight[rows].mean() if np.count_nonzero(weighted[rows]) <= line.p else 0.0
        slopes = line.slopes(w, u)
        solve = line.equations(weighted)
        if solve is None:
            return
        d, dt = solve(-slopes)
        length = _search(line, r, dt, w, d, steep)
        w, b, r = w + length * d[:-1], b + length * float(d[-1]), r + length * dt
        yield w, b
        inside = int(np.count_nonzero(np.abs(r[rows]) < knee))
        if length > 0.5 or length == 0.0:
            if inside <= band:
                return
            knee *= max(0.25, 0.7 * band / inside)


def _search(line: Straight, r: Vector, dt: Vector, w: Vector, d: Vector, steep: Vector) -> float:
    """Halve the step until the smoothed objective falls."""

    def value(length: float) -> float:
        now = r + length * dt
        u = np.clip(steep * now, line.low, line.high)
        moved = w + length * d[:-1]
        smooth = 0.5 * float(line.curvature @ (moved * moved)) + length * float(line.pull @ d)
        return float(line.weight @ (u * (now - 0.5 * u / steep))) + smooth

    start, length = value(0.0), 1.0
    for _ in range(8):
        if value(length) < start:
            return length
        length *= 0.5
    return 0.0
