"""Active sets for the square-root lasso: the best scale of a set of coefficients and signs has a closed form.

On the columns S in use, with signs θ, products ``G = X'CX`` and ``q = X'Cy`` of the centred columns, the objective is smooth and
its minimum is known: with ρ² what least squares on S leaves, and κ = ``θ' G⁻¹ θ``,

    σ² = ρ² / (1 - α² κ),          w = G⁻¹ (q - α σ θ).

So each step goes to the minimum of a set, or to the best of the points on the way where a coefficient changes its sign and
leaves the set; there, columns whose slope exceeds what the penalty holds join. The objective falls with each step, and there
are finitely many sets. Nothing but products of columns is needed: the rows are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._concomitant import Concomitant
from qed.convex._problem import Problem
from qed.convex._scaled_path import ScaledPath
from qed.convex._solve import Iterate
from qed.convex.losses import Absolute
from qed.convex.solvers._interior_point import InteriorPoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector


VANISHING = 1e-9  # a scale that is nothing, compared with that of the targets
FEW = 100  # columns up to which sets are followed from the start; more of them come by the path of the lasso
GRAM = 2000  # columns whose products are formed all at once


class ScaledLasso:
    """Follows sets of coefficients and their signs, for a scale that follows the squares of all residuals and an l1 penalty."""

    name = "active set"

    def unsupported_reason(self, problem: Concomitant) -> str | None:
        """Refuse problems without a scale, a knee, and penalties other than l1."""
        if not isinstance(problem, Concomitant):
            return "it needs a problem with a scale of its own"
        if np.isfinite(problem.knee):
            return "it needs a scale without a knee"
        one = np.ones(problem.shape[1])
        if problem.penalty.traits.is_smooth or problem.penalty.curvature(one).any():
            return "it needs an l1 penalty"
        return None

    def cost(self, problem: Concomitant, tol: float) -> float:  # noqa: ARG002
        """Predict one Gram matrix and as many small systems as columns may join."""
        n, p = problem.shape
        return float(1e-3 + 5e-11 * n * p * min(n, p) + 1e-9 * min(n, p) ** 3)

    def run(self, problem: Concomitant, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        w: Vector = np.array(start[0], dtype=np.float64)
        if problem.shape[1] > FEW and not w.any() and ScaledPath.takes(problem):
            path = ScaledPath(problem)
            for lasso in path.falling():
                w = lasso.w
                yield Iterate(lasso.w, lasso.b, lasso.u, hint=lasso.scale)
            if path.scale <= VANISHING * path.first:
                return
        sets = _Sets(problem, w)
        few, idle = False, 0
        for _ in range(20 * (problem.shape[1] + 10)):
            before = sets.value
            sets.settle()
            yield Iterate(sets.w, sets.b, hint=np.inf)
            if sets.scale <= VANISHING * np.sqrt(sets.square):
                yield from _interpolated(problem, sets, target)
                return
            joined = sets.join(1 if few else None)
            if joined == 0.0:
                break
            if joined <= 0.1 * target:
                yield Iterate(sets.w, sets.b, hint=joined)
            idle = 0 if sets.value < before * (1 - 1e-14) else idle + 1
            few = few or idle > 0
            if idle > 5:
                break
        sets.polish()
        yield Iterate(sets.w, sets.b)


def _interpolated(problem: Concomitant, sets: _Sets, target: float) -> Iterator[Iterate]:
    """Look for the least penalty of all coefficients that leave no residuals: a linear program.

    A price of M for each unit of absolute residual is never paid if M is above every dual variable, and none exceeds the
    inverse square root of its weight.
    """
    price = 2.0 / float(np.sqrt(problem.share.min()))
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
    if solver.unsupported_reason(part) is not None:
        yield Iterate(sets.w, sets.b)
        return
    for at in solver.run(part, problem.null_point, 0.1 * target / price):
        due = at.hint is None
        yield Iterate(at.w, at.b, None if at.u is None else price * at.u, None if due else np.inf)


class _Sets:
    """Coefficients, the columns in use, and products of columns."""

    def __init__(self, problem: Concomitant, w: Vector) -> None:
        self.problem = problem
        p = problem.shape[1]
        c = problem.share
        given = np.zeros(p) if problem.centre is None else problem.centre
        self.level = float(c @ problem.y) if problem.free_intercept else 0.0
        off = problem.design.adjoint_product(c, problem.centre) if problem.free_intercept else np.zeros(p)
        self.centre = given + off if problem.free_intercept else None
        self.off = off  # how far the given centre is from the mean
        self.y = problem.y - self.level
        self.alpha = problem.penalty.slope(np.ones(p))
        self.q = problem.design.adjoint_product(c * self.y, self.centre)
        self.square = float((c * self.y) @ self.y)
        self.gram = problem.design.gram(c, self.centre) if p <= GRAM else None
        self.size = np.where(problem.spans > 0, problem.spans, 1.0)
        self.w = w
        self.used = np.flatnonzero(w)
        self.sign = np.sign(w[self.used])
        self.slope, self.scale = self._slope(w)
        self.value = self.scale + float(self.alpha @ np.abs(w))

    @property
    def b(self) -> float:
        """The intercept of the columns as the problem centres them."""
        return self.level - float(self.off @ self.w)

    def _products(self, used: Any) -> Vector:
        """Return products of the columns in use with each other."""
        if self.gram is not None:
            return self.gram[np.ix_(used, used)]
        centre = None if self.centre is None else self.centre[used]
        return self.problem.design.columns(used).gram(self.problem.share, centre)

    def _slope(self, w: Vector) -> tuple[Vector, float]:
        """Return ``X'C(y - Xw)`` and the scale of the residuals."""
        if self.gram is not None:
            held = self.gram[:, self.used] @ w[self.used] if len(self.used) < len(w) else self.gram @ w
            square = self.square - float((self.q + self.q - held) @ w)
            if square > 1e-4 * self.square:
                return self.q - held, float(np.sqrt(square))
        r = self.y - self.problem.design.product(w, self.centre)  # the rows again, where differences of squares cancel
        c = self.problem.share
        return self.problem.design.adjoint_product(c * r, self.centre), float(np.sqrt((c * r) @ r))

    def settle(self) -> None:
        """Go to the minimum of the set; coefficients that change their sign on the way leave it."""
        for _ in range(2 * len(self.used) + 2):
            if not len(self.used):
                return
            goal = self._minimum()
            if goal is None or not self._walk(goal):
                return

    def _minimum(self) -> Vector | None:
        """Return the coefficients of the closed form."""
        used, sign = self.used, self.sign
        size, strength = self.size[used], self.alpha[used] * self.sign
        matrix = self._products(used) / np.multiply.outer(size, size)
        solved = np.linalg.lstsq(matrix, np.stack([self.q[used] / size, strength / size], axis=1), rcond=1e-13)[0]
        plain, bent = solved[:, 0], solved[:, 1]
        room = 1.0 - float((strength / size) @ bent)
        left = self.square - float((self.q[used] / size) @ plain)
        if left < 1e-4 * self.square:  # read the rows again, where differences of squares cancel
            w = np.zeros_like(self.w)
            w[used] = plain / size
            left = self._slope(w)[1] ** 2
        if room <= 1e-12:  # no minimum inside: the set gives way along the strengths
            return np.asarray(
                self.w[used] - bent / size * (np.abs(self.w[used]).max(initial=0.0) + 1.0) * 1e3 * sign**2
            )
        return np.asarray((plain - np.sqrt(max(left, 0.0) / room) * bent) / size)

    def _walk(self, goal: Vector) -> bool:
        """Go to the goal, or to the best point before it where a sign changes; say whether a coefficient has left."""
        used, old = self.used, self.w[self.used].copy()
        step = goal - old
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = np.where((self.sign * step < 0), -old / step, np.inf)
        stops = np.unique(np.append(cross[(cross < 1.0) & (cross >= 0.0)], 1.0))
        if len(stops) > 8:
            stops = np.append(stops[:7], 1.0)
        best: tuple[float, Any, float, Any] = (self.value * (1 + 1e-15), None, 0.0, None)
        for stop in stops:
            trial = self.w.copy()
            moved = old + stop * step
            moved[np.abs(cross - stop) <= 1e-15] = 0.0
            trial[used] = moved
            slope, scale = self._slope(trial)
            value = scale + float(self.alpha @ np.abs(trial))
            if value <= best[0]:
                best = (value, trial, scale, slope)
        if best[1] is None:
            keep = old != 0  # nothing is better: columns that have just joined leave again
            left = bool(np.any(~keep))
            self.used, self.sign = used[keep], self.sign[keep]
            return left and bool(len(self.used))
        self.value, self.w, self.scale, self.slope = best[0], best[1], best[2], best[3]
        now = np.sign(self.w[used])
        changed = bool(np.any(now != self.sign))
        self.used, self.sign = used[now != 0], now[now != 0]
        return changed

    def join(self, most: int | None) -> float:
        """Let columns join whose slope the penalty does not hold; return how much the worst of them may bring."""
        slope = self.slope / self.scale
        over = (np.abs(slope) - self.alpha) / self.size
        over[self.used] = 0.0
        worst = float(over.max(initial=0.0))
        if worst <= 1e-13 * float((self.alpha / self.size).max(initial=1.0)):
            return 0.0
        count = max(4, len(self.used) // 2) if most is None else most
        new = np.argsort(-over, kind="stable")[:count]
        new = new[over[new] > 0.3 * worst]
        self.used = np.append(self.used, new)
        self.sign = np.append(self.sign, np.sign(slope[new]))
        return worst * float(np.sqrt(self.square))

    def polish(self) -> None:
        """Correct the coefficients by residuals taken from the rows."""
        if not len(self.used) or self.scale == 0.0:
            return
        used, c = self.used, self.problem.share
        size = self.size[used]
        matrix = self._products(used) / np.multiply.outer(size, size)
        for _ in range(2):
            r = self.y - self.problem.design.product(self.w, self.centre)
            scale = float(np.sqrt((c * r) @ r))
            slope = self.problem.design.adjoint_product(c * r, self.centre)[used]
            rest = (slope - scale * self.alpha[used] * self.sign) / size
            moved = self.w[used] + np.linalg.lstsq(matrix, rest, rcond=1e-13)[0] / size
            if np.any(np.sign(moved) != self.sign):
                return
            self.w = self.w.copy()
            self.w[used] = moved
