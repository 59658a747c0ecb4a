"""The central path of a non-smooth problem: Newton's method towards it and along it.

With ``t - kink = above - below`` and a dual variable u between low and high, optimality is

    above (high - u) = 0,    below (u - low) = 0,    sum of weight u (x, 1)  +  slope of what is smooth  =  0.

The path asks both products to equal a small number mu instead, the same for each unit of weight, so that a weight counts as
repetition on the way too. One step costs one Gram matrix of the design, weighted by ``1 / (above / (high - u) + below / (u -
low))``, and one small factorisation, used twice (predictor and corrector).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.convex import _kernels
from qed.convex.solvers._straight import solver_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex._loss import Vector
    from qed.convex.solvers._straight import Straight


SHORTEN = 0.9995  # of the way to the boundary
REFINE = 2  # corrections of a vertex by its own residuals


class CentralPath:
    """The state on the path: coefficients, distances either side of each breakpoint, dual variables.

    Parameters
    ----------
    straight : Straight
        The problem.
    w, b : ndarray, float
        Where to start.
    """

    def __init__(self, straight: Straight, w: Vector, b: float) -> None:
        self.straight = straight
        self.w, self.b = np.array(w, dtype=np.float64), float(b)
        self.t = straight.scores(self.w, self.b)
        r = self.t - straight.kink
        rows = straight.rows
        self.spread = float(straight.weight[rows] @ np.abs(r[rows])) / float(straight.weight[rows].sum())
        # a start without residuals says nothing of their scale
        kinks = straight.kink[rows]
        self.spread = max(self.spread, 1e-6 * float(np.abs(kinks - kinks.mean()).mean()))
        away = 0.5 * self.spread * straight.unit
        self.above, self.below = np.maximum(r, 0.0) + away, np.maximum(-r, 0.0) + away
        self.u = 0.5 * (straight.low + straight.high)
        self.rho = np.zeros(straight.p + 1)
        self.is_over = False

    def distance(self) -> float:
        """Estimate the distance from the optimum: what is left of the products, and of the slopes."""
        line = self.straight
        left = float(line.weight @ (self.above * (line.high - self.u) + self.below * (self.u - line.low)))
        self.rho = line.slopes(self.w, self.u)
        return left + self.spread * float(np.abs(self.rho[:-1] / line.size).sum() + abs(self.rho[-1]))

    def advance(self, until: float, most: int) -> tuple[float, int]:
        """Go along the path to a distance from the optimum, as far as rounding allows; return it and the steps made.

        The table must be at hand as one small array.
        """
        line = self.straight
        z = np.append(self.w, self.b)
        state = (z, self.above, self.below, self.u)
        hint, steps, self.is_over = _kernels.follow_path(
            (np.asarray(line.table), line.copies, line.kinked),
            (line.weight, line.kink, line.low, line.high),
            (np.append(line.curvature, 0.0), line.pull, np.append(line.size, 1.0)),
            self.spread,
            (until, most),
            state,
            has_intercept=line.problem.free_intercept,
        )
        self.w, self.b = z[:-1], float(z[-1])
        return hint, steps

    def step(self) -> bool:
        """Go one step along the path; False if rounding allows none. `distance` must have been asked before."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # what is not finite is no step
            return self._step()

    def _step(self) -> bool:
        line = self.straight
        room_up, room_down = line.high - self.u, self.u - line.low
        ratio_up, ratio_down = self.above / room_up, self.below / room_down
        stiff = 1.0 / (ratio_up + ratio_down)
        weighted = line.weight * stiff
        r = self.t - line.kink
        solve = line.equations(weighted)
        if solve is None:
            return False
        d, dt = solve(-(self.rho + line.backward(weighted * r)))
        du = stiff * (dt + r)
        up, down = ratio_up * du - self.above, -ratio_down * du - self.below
        long_p, long_d = self._longest(up, down, du / room_up, du / room_down)
        now = float(line.weight @ (self.above * room_up + self.below * room_down))
        then = float(
            line.weight
            @ (
                (self.above + long_p * up) * (room_up - long_d * du)
                + (self.below + long_p * down) * (room_down + long_d * du)
            )
        )
        mean = max(then, 0.0) / (2 * float(line.weight.sum()))
        mu = max((then / now) ** 2 * mean, 1e-3 * mean, 1e-300)
        # the corrector: the same matrix, with the products that the predictor left behind
        more_up, more_down = (mu + up * du) / room_up, (mu - down * du) / room_down
        e = r - more_up + more_down
        d, dt = solve(-(self.rho + line.backward(weighted * e)))
        du = stiff * (dt + e)
        up, down = more_up + ratio_up * du - self.above, more_down - ratio_down * du - self.below
        long_p, long_d = self._longest(up, down, du / room_up, du / room_down)
        long_p, long_d = min(1.0, SHORTEN * long_p), min(1.0, SHORTEN * long_d)
        if not (np.isfinite(d).all() and max(long_p, long_d) >= 1e-10):
            return False
        self.w, self.b, self.t = self.w + long_p * d[:-1], self.b + long_p * float(d[-1]), self.t + long_p * dt
        self.above, self.below, self.u = self.above + long_p * up, self.below + long_p * down, self.u + long_d * du
        if (
            line.is_wide
        ):  # rows were solved for first, and the scores of the coefficients differ from theirs by rounding
            self.t = line.scores(self.w, self.b)
        return True

    def _longest(self, up: Vector, down: Vector, toward_high: Vector, toward_low: Vector) -> tuple[float, float]:
        """Return how far distances and dual variables can go before one of them reaches its end."""
        primal = max(float((-up / self.above).max()), float((-down / self.below).max()), SHORTEN)
        dual = max(float(toward_high.max()), -float(toward_low.min()), SHORTEN)
        if not self.straight.is_linear:  # the smooth part of the penalty ties both together
            primal = dual = max(primal, dual)
        return 1.0 / primal, 1.0 / dual

    def vertex(self, *, anyway: bool) -> tuple[Vector, float, Vector] | None:
        """Solve exactly for the rows that lie on their breakpoint and the coefficients that are not zero.

        At a vertex as many rows lie on their breakpoint as coefficients are free: if the path does not point at as many, nothing is
        tried, unless ``anyway`` (where several models are equally good, fewer rows lie on breakpoints).
        """
        line = self.straight
        if not line.is_linear:
            return None
        room = np.minimum(line.high - self.u, self.u - line.low) / line.width
        on_kink = (self.above + self.below) < room * (self.spread * line.unit)
        rows = on_kink.copy()
        rows[line.n * line.copies :] = False
        zero = np.zeros(line.p, dtype=bool)
        zero[line.kinked] = on_kink[line.n * line.copies :]
        free = np.append(~zero, line.problem.free_intercept)
        excess = int(np.count_nonzero(rows)) - int(np.count_nonzero(free))
        if excess and not anyway:
            return None
        w, b = np.where(zero, 0.0, self.w), self.b
        u = np.where(on_kink, self.u, np.where(self.above < self.below, line.low, line.high))
        held = np.where(rows, line.weight, 0.0)
        solve = self._free_solver(held, free)
        if solve is None:
            return None
        for _ in range(
            REFINE if rows.any() else 0
        ):  # without rows on kinks, many models are equally good: this one stays
            t = line.scores(w, b)
            d, dual = solve(line.backward(held * (line.kink - t))), solve(-line.slopes(w, u))
            w, b = w + d[:-1], b + float(d[-1])
            u = u + np.where(rows, line.forward(dual), 0.0)
        if np.any(u[line.rows] < line.low[line.rows] - 1e-9) or np.any(u[line.rows] > line.high[line.rows] + 1e-9):
            return None
        return w, b, np.clip(u, line.low, line.high)

    def _free_solver(self, held: Vector, free: Vector) -> Callable[[Vector], Vector] | None:
        """Return what solves the least-squares equations of the rows on their kink in the free coefficients."""
        c = self.straight.per_row(held)
        inner = solver_of(self.straight.gram_of(c, np.flatnonzero(free)))
        if inner is None:
            return None

        def solve(g: Vector) -> Vector:
            out = np.zeros(len(free))
            out[free] = inner(g[free])
            return out

        return solve
