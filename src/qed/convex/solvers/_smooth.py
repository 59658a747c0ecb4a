"""What solvers of smooth problems with one score a row share: points, steps that cannot go up, and an idea of the gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._passes import Passes, Seen, sampled
from qed.convex._sample_rows import least_step
from qed.convex._solve import Iterate

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


ENOUGH = 1e-4  # share of the promised descent that a step must keep
NOISE = 16 * 2.0**-53  # differences of objectives below this share of them are rounding
FEWEST, EVERY = 6_000, 16  # rows from which a sample is worth its own solution; one row in so many
MORE = 7  # one row in so many, where that saves a read of all of them


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients with the pass over the rows there; g is the gradient of the objective, the intercept last."""

    w: Vector
    b: float
    seen: Seen
    objective: float
    g: Vector


@dataclass(frozen=True, eq=False)
class Smooth:
    """A problem of one score a row, smooth in all coefficients.

    Parameters
    ----------
    problem : Problem
        The problem.
    """

    problem: Problem

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", Passes(self.problem))

    passes: Passes = None  # type: ignore[assignment]

    def look(self, w: Vector, b: float, **wanted: bool) -> Point:
        """Pass over the rows at a point."""
        seen = self.passes.at(w, b, scores=False, **wanted)
        slope_b = seen.slope_b if self.problem.free_intercept else 0.0
        g = np.empty(len(w) + 1)
        g[:-1] = seen.slope_w + self.problem.penalty.slope(w)
        g[-1] = slope_b
        return Point(w, float(b), seen, seen.value + self.problem.penalty.value(w), g)

    def advance(self, point: Point, d: Vector, **wanted: bool) -> Point | None:
        """Return a point along d that is lower by what the slope promises; None if rounding hides the descent."""
        full = self.look(point.w + d[:-1], point.b + d[-1], **wanted)
        promised = float(point.g @ d)
        allowed = point.objective + ENOUGH * promised
        if full.objective <= allowed or self._is_level(point, full, promised):
            return full
        step = self._along(point, full, d)
        if step is None:
            return None
        return self.look(point.w + step * d[:-1], point.b + step * d[-1], **wanted)

    def _is_level(self, point: Point, full: Point, promised: float) -> bool:
        """Say whether two objectives differ by rounding alone while the gradient still falls."""
        noise = NOISE * (abs(point.objective) + float(self.problem.share @ np.abs(point.seen.t)))
        return (
            abs(promised) <= noise
            and full.objective <= point.objective + noise
            and self.size(full.g) < self.size(point.g)
        )

    def size(self, g: Vector) -> float:
        """Return the length of a gradient, each entry in units of its column."""
        size = np.append(np.where(self.problem.sizes > 0, self.problem.sizes, 1.0), 1.0)
        return float(np.linalg.norm(g / size))

    def _along(self, point: Point, full: Point, d: Vector) -> float | None:
        """Find where the slope along d vanishes; scores move in a straight line, so that no product is needed."""
        problem, c = self.problem, self.problem.share
        move = full.seen.t - point.seen.t

        def slope(step: float) -> float:
            value = c @ (problem.loss.slope(point.seen.t + step * move) * move)
            return float(value + problem.penalty.slope(point.w + step * d[:-1]) @ d[:-1])

        low, high, up = 0.0, 1.0, slope(1.0)
        while not np.isfinite(up) and high > 1e-12:
            high *= 0.25
            up = slope(high)
        down = float(point.g @ d)
        if not up > 0 or not down < 0:
            return None
        for _ in range(60):
            middle = high - up * (high - low) / (up - down)
            middle = min(max(middle, low + 0.05 * (high - low)), high - 0.05 * (high - low))
            at = slope(middle)
            if abs(at) <= 0.1 * abs(float(point.g @ d)):
                return middle
            low, down, high, up = (middle, at, high, up) if at < 0 else (low, down, middle, at)
        return low if low > 0 else None

    def iterate(self, point: Point, otherwise: float = np.inf) -> Iterate:
        """Return the point for the driver, with an idea of the gap that its slope, or another proof, would show."""
        return Iterate(
            point.w, point.b, hint=min(self.hint(point), otherwise), known=point.seen.known, more_coming=True
        )

    def hint(self, point: Point) -> float:
        """Estimate the gap of the slope, balanced as the intercept asks."""
        problem, penalty = self.problem, self.problem.penalty
        over, under = point.seen.sides
        rise: Vector = np.asarray(point.seen.known.rise)
        fall: Vector = np.asarray(point.seen.known.fall)
        up = down = 1.0
        if problem.free_intercept:
            up = min(1.0, -under / over) if over > 0 else 1.0
            down = min(1.0, -over / under) if under < 0 else 1.0
        z = -(up * rise + down * fall)
        tilt = (1.0 - min(up, down)) ** 2 * max(over, -under)
        if penalty.traits.is_bounding:
            return penalty.excess(point.w, z, np.zeros_like(z))[0] + tilt
        inside = penalty.project(z)
        size = np.where(problem.sizes > 0, problem.sizes, np.inf)
        lengths = point.seen.known.lengths
        spread = float(np.std(point.seen.t)) if lengths is None else lengths[0]
        reach = 10.0 * max(float(np.max(np.abs(point.w) * problem.sizes, initial=0.0)), spread, 1.0)
        beyond = reach * float(np.sum(np.abs(z - inside) / size))
        return min(penalty.excess(point.w, inside, np.zeros_like(z))[0] + tilt + beyond, point.objective)


def refuse_unless_smooth(problem: Problem) -> str | None:
    """Say why Newton's methods cannot take a problem; None if they can."""
    loss, penalty = problem.loss.traits, problem.penalty.traits
    if not loss.has_curvature:
        return "it needs a loss with curvature"
    if not (penalty.is_smooth and penalty.is_separable):
        return "it needs a smooth penalty that is a sum over coefficients"
    return None


def sample_step(problem: Problem, columns: int) -> int:
    """Return the step between rows of a sample worth solving first; 1 if there is none."""
    n = problem.shape[0]
    every = min(EVERY, n // max(FEWEST // EVERY, 20 * columns))
    return max(every, least_step(problem)) if n >= FEWEST and every > 3 else 1


def sample_of(problem: Problem, columns: int, target: float = np.inf) -> Problem | None:
    """Return the problem of a sample of rows, if there are enough of them: more where that saves a read of all for a target."""
    every = sample_step(problem, columns)
    if every == EVERY and np.isfinite(target):
        every = max(_larger(problem, target), least_step(problem))
    return sampled(problem, every) if every > 1 else None


def _larger(problem: Problem, target: float) -> int:
    """Return the step between rows of a sample from whose solution two steps, with the curvature found there, are enough.

    The solution of m rows is above that of all by d / 2m for d coefficients, and a step with their curvature leaves the
    square of its relative error, about d / m, of that; the penalty holds some of the coefficients, and tightens the proof.
    """
    w, b = problem.null_point
    bend = float(problem.loss.take(slice(0, 1)).curvature(np.full(1, float(b)))[0]) * problem.sizes**2
    strength = np.broadcast_to(problem.penalty.curvature(w), w.shape)
    whole = bend + strength
    free = float(np.sum(bend / np.where(whole > 0, whole, 1.0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        tight = float(np.nanmax(whole / strength, initial=1.0))
    for every in range(EVERY, MORE - 1, -1):
        rows = problem.shape[0] / every
        if 3.0 * min(float(every), tight) * (1.5 * free / rows) ** 2 * free / (2.0 * rows) <= target:
            return every
    return EVERY


def start_of(start: tuple[Vector, Any]) -> tuple[Vector, float]:
    """Return a start with the intercept as a number."""
    return np.asarray(start[0], dtype=np.float64), float(start[1])
