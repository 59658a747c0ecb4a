"""Descent by groups of columns: whole groups enter a working set, sweeps find which of them are zero, Newton steps do the rest.

As in `_coordinate_descent` one pass over the design tells which groups want to leave zero; everything until the next pass
happens on the products of the columns of the working set. There the lengths of groups are smooth wherever they are not zero:
a sweep of proximal steps, group after group, settles which are, and Newton steps on the others converge in a few.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._problem import Known
from qed.convex._solve import Iterate
from qed.convex._working_columns import working_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem
    from qed.convex._working_columns import WorkingColumns

__all__ = ["GroupDescent"]

Indices = np.ndarray[Any, Any]
FIRST = 4.0  # columns of the first working set, times the root of all, as for single columns
LEAST = 64
ROUNDS = 60  # of sweeps and Newton steps on one working set, at most
SWEEPS = 5  # of a batch
NEWTON_STEPS = 4  # between batches
SWEEP_COST, PRODUCT_COST, SOLVE_COST = (
    8e-6,
    5e-10,
    5e-11,
)  # seconds for a group, an entry of Q, a cubed column: measured
ROUGH = 0.1  # a working set that will grow is solved to this share of the gap there is
TIGHTER = 0.1  # a working set is solved to this share of the gap asked for


class GroupDescent:
    """Sweeps over groups of columns, then Newton steps on those that are not zero, on a working set that grows."""

    name = "group descent"

    def refusal(self, problem: Problem) -> str | None:
        """Refuse penalties without groups of columns, and losses that are not squares of one target."""
        if problem.penalty.traits.native != "groups":
            return "it needs a penalty of groups of columns"
        if not problem.loss.traits.is_quadratic or problem.loss.y.ndim != 1:
            return "it needs the squared error of one target"
        return None

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict some passes, each followed by a descent on a few groups."""
        n, p = problem.shape
        return float(1e-9 * n * p * 5 * max(1.0, -0.25 * np.log10(max(tol, 1e-16))) + 1e-3)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield a point for each working set."""
        descent = _Descent(problem)
        at = descent.look(start[0])
        if at.gap <= target:  # the null model under a strong penalty, an earlier fit
            yield descent.iterate(at, at.gap)
        share = TIGHTER
        while True:
            descent.use(descent.wanted(at))
            goal = share * target
            rough = max(goal, ROUGH * at.gap) if np.isfinite(at.gap) and descent.can_grow else goal
            at = descent.look(descent.solved(at.w, rough))
            done = rough == goal and not len(descent.missing(at))
            if not done and not len(descent.missing(at)) and at.gap > target:
                at = descent.look(descent.solved(at.w, goal))
                done = not len(descent.missing(at))
            # nothing is missing and the gap is still open: the proof must do better than the slope, or rounding rules
            yield descent.iterate(at, None if done and at.gap > target else at.gap)
            if done:
                share *= 1e-3
                if share < 1e-11:
                    return


class _Look(NamedTuple):
    """A point, and what one pass over the design tells about it."""

    w: Vector
    t: Vector
    slope: Vector
    gradient: Vector
    gap: float
    beyond: Vector  # how far the pull on each group exceeds what its penalty holds, by the size of its columns


class _Descent:
    """A working set of whole groups, and the passes between."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.group, self.strength, self.ridge = problem.penalty.numbers(problem.shape[1])
        self.b = problem.null_point[1]  # of centred columns the best intercept is the mean, whatever the coefficients
        self.root = np.sqrt(problem.share)
        self.target = self.root * (problem.loss.y - self.b)
        count = len(self.strength)
        self.size = np.sqrt(np.bincount(self.group, problem.spans**2, minlength=count))
        self.columns_of = np.split(np.argsort(self.group, kind="stable"), np.cumsum(np.bincount(self.group))[:-1])
        self.held = np.zeros(0, dtype=np.intp)  # groups of the working set, in the order of its columns
        self.columns: WorkingColumns
        self.pull = np.zeros(0)

    def look(self, w: Vector) -> _Look:
        """Make scores and gradient: two passes, the first over the columns in use."""
        problem = self.problem
        used = np.flatnonzero(w)
        t = np.full(problem.shape[0], float(self.b))
        if 4 * len(used) < len(w):
            centre = None if problem.centre is None else problem.centre[used]
            t += problem.design.columns(used).product(w[used], centre) if len(used) else 0.0
        else:
            t += problem.design.product(w, problem.centre)
        slope = problem.loss.slope(t)
        gradient = problem.adjoint(slope)
        pull = np.sqrt(np.bincount(self.group, gradient * gradient, minlength=len(self.strength)))
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = np.where(self.size > 0, (pull - self.strength) / self.size, -np.inf)
        return _Look(w, t, slope, gradient, self._gap(w, t, slope, gradient), np.asarray(beyond))

    def _gap(self, w: Vector, t: Vector, slope: Vector, gradient: Vector) -> float:
        """Return the gap of the slope as a dual point, rounding left aside."""
        problem, penalty = self.problem, self.problem.penalty
        if not penalty.traits.is_bounding:
            return np.inf
        nothing = np.zeros_like(gradient)
        factor = penalty.shrink(-gradient, nothing)
        excess = float(problem.share @ problem.loss.excess(t, factor * slope)) if factor < 1 else 0.0
        return excess + penalty.excess(w, -factor * gradient, nothing)[0]

    def iterate(self, at: _Look, hint: float | None) -> Iterate:
        """Return the point with the products that a proof would make again."""
        return Iterate(at.w, self.b, hint=hint, known=Known(t=at.t, slope=at.slope, gradient=at.gradient))

    @property
    def can_grow(self) -> bool:
        """Whether there are groups outside the working set."""
        return len(self.held) < len(self.strength)

    def missing(self, at: _Look) -> Indices:
        """Return the groups that want to be used and are not worked on."""
        wants = at.beyond > 0
        wants[self.held] = False
        return np.flatnonzero(wants)

    def wanted(self, at: _Look) -> Indices:
        """Return the groups to add: those in use, and about as many columns more, those that want it most first."""
        beyond = at.beyond.copy()
        used = np.unique(self.group[np.flatnonzero(at.w)])
        beyond[self.held] = -np.inf
        fresh = np.setdiff1d(used, self.held)
        beyond[fresh] = np.inf
        order = np.argsort(-beyond, kind="stable")
        # the first set also takes groups that may soon want to be used
        order = order[: int(np.count_nonzero(beyond > (0.0 if len(self.held) else -np.inf)))]
        p, held = len(self.group), sum(len(self.columns_of[g]) for g in self.held)
        room = max(int(FIRST * np.sqrt(p)), held, LEAST)
        sizes = np.cumsum([len(self.columns_of[g]) for g in order]) if len(order) else np.zeros(0)
        count = max(int(np.searchsorted(sizes, room, side="right")), len(fresh), 1)  # one group at least, if any
        return np.asarray(order[:count], dtype=np.intp)

    def use(self, groups: Indices) -> None:
        """Take the columns of more groups."""
        if not len(groups):
            return
        index = np.concatenate([self.columns_of[g] for g in groups])
        if len(self.held):
            self.columns.add(index)
        elif len(index) == len(self.group):
            self.columns = working_columns(self.problem.design, self.root, self.problem.centre, np.sort(index))
            if np.array_equal(self.columns.index, np.arange(len(index))):  # all of them, in their own order
                index = self.columns.index
        else:
            self.columns = working_columns(self.problem.design, self.root, self.problem.centre, index)
        self.held = np.concatenate([self.held, groups])
        self.pull = self.columns.adjoint(self.target)

    def solved(self, w: Vector, goal: float) -> Vector:
        """Minimise over the working set."""
        index, Q, pull = self.columns.index, self.columns.gram(), self.pull
        label = self.group[index]
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        if len(starts) > len(
            self.held
        ):  # groups whose columns do not lie side by side, in a design that is taken whole
            order = np.argsort(label, kind="stable")
            index, pull, label, Q = index[order], pull[order], label[order], Q[np.ix_(order, order)]
            starts = np.flatnonzero(np.diff(label, prepend=-1))
        inner = _Inner(Q, pull, starts, self.strength[label[starts]], self.ridge)
        whole = np.zeros_like(w)
        constant = float(self.target @ self.target)
        whole[index] = inner.minimised(w[index], goal, constant)
        return whole


class _Inner:
    """Half of w'Qw - c'w, plus the strengths times the lengths of groups that lie side by side, plus a ridge."""

    def __init__(self, Q: Vector, c: Vector, starts: Indices, strength: Vector, ridge: float) -> None:
        self.Q, self.c, self.starts, self.strength, self.ridge = Q, c, starts, strength, ridge
        ends = np.append(starts[1:], len(c))
        self.slices = [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
        self.number = np.repeat(np.arange(len(starts)), ends - starts)
        self.bend = np.array([_largest(Q[one, one]) for one in self.slices]) + ridge
        self.bends, self.strengths = self.bend.tolist(), strength.tolist()

    def lengths(self, v: Vector) -> Vector:
        """Return the length of each group."""
        return np.sqrt(np.add.reduceat(v * v, self.starts))

    def minimised(self, w: Vector, goal: float, constant: float) -> Vector:
        """Sweep and take Newton steps until the gap is within the goal, or rounding allows no more."""
        w = w.copy()
        r = self.Q @ w - self.c
        best: float = np.inf
        since = 0
        for _ in range(ROUNDS):
            for _ in range(self._sweeps(w)):
                for _ in range(SWEEPS):
                    self._sweep(w, r, self._awake(w, r))
                if self._gap(w, r, constant) <= goal:
                    return w
            w = self._newton(w, r, goal)
            r = self.Q @ w - self.c
            gap: float = self._gap(w, r, constant)
            since = 0 if gap < 0.5 * best else since + 1
            best = gap if gap < best else best
            if gap <= goal or since > 8:
                break
        return w

    def _sweeps(self, w: Vector) -> int:
        """Return after how many batches of sweeps a Newton step is about as dear as they were."""
        used, k = np.count_nonzero(w), len(w)
        batch = SWEEPS * (len(self.starts) * SWEEP_COST + PRODUCT_COST * k * max(used, 1))
        return int(np.clip(SOLVE_COST * used**3 / batch, 1, 40))

    def _awake(self, w: Vector, r: Vector) -> list[int]:
        """Return the groups that are not zero, or nearly want not to be: the others need no visit."""
        near = self.lengths(r) > 0.9 * self.strength
        near |= self.lengths(w) > 0
        return np.flatnonzero(near & (self.bend > 0)).tolist()

    def _sweep(self, w: Vector, r: Vector, groups: list[int]) -> None:
        """Take one proximal step along each group; r is kept the gradient of the quadratic."""
        Q, ridge, bends, strengths = self.Q, self.ridge, self.bends, self.strengths
        for g in groups:
            one, bend, strength = self.slices[g], bends[g], strengths[g]
            old = w[one]
            new = old - (r[one] + ridge * old) / bend
            length = sqrt(new @ new)
            if length * bend > strength:
                new *= 1.0 - strength / (bend * length)
            elif old.any():
                new = np.zeros_like(old)
            else:
                continue
            r += (new - old) @ Q[one]
            w[one] = new

    def _newton(self, w: Vector, r: Vector, goal: float) -> Vector:
        """Take Newton steps on the groups that are not zero, as long as they pay."""
        for _ in range(NEWTON_STEPS):
            length = self.lengths(w)
            used = np.flatnonzero((length > 0)[self.number])
            if not len(used):
                break
            number, v = self.number[used], w[used]
            over = self.strength[number] / length[number]
            g = r[used] + (self.ridge + over) * v
            H = self.Q[np.ix_(used, used)]
            self._bend(H, number, v / length[number], over)
            d = -_solved(H, g)
            fall = -float(g @ d)
            step = self._line(w, used, d, r, fall) if fall > 0 else 0.0
            if step == 0.0:
                break
            w = w.copy()
            w[used] += step * d
            r = self.Q[:, used] @ w[used] - self.c
            if fall <= max(0.01 * goal, 1e-15 * float(np.abs(self.c) @ np.abs(w))) or step < 1:
                break  # near enough, or a group wants to be zero, which sweeps find
        return w

    def _bend(self, H: Vector, number: Indices, direction: Vector, over: Vector) -> None:
        """Add the second derivatives of the lengths of groups."""
        H[np.diag_indices_from(H)] += over + self.ridge
        edges = np.flatnonzero(np.diff(number)) + 1
        for first, last in zip([0, *edges], [*edges, len(number)], strict=True):
            one = slice(first, last)
            H[one, one] -= over[first] * np.multiply.outer(direction[one], direction[one])

    def _line(self, w: Vector, used: Indices, d: Vector, r: Vector, fall: float) -> float:
        """Return the first of 1, 1/2, 1/4 … that lowers the objective enough; 0 for none."""
        whole = np.zeros_like(w)
        whole[used] = d
        bent = float(d @ (self.Q[np.ix_(used, used)] @ d)) + self.ridge * float(d @ d)
        tilt = float((r + self.ridge * w) @ whole)
        now = float(self.strength @ self.lengths(w))
        step = 1.0
        for _ in range(12):
            change = (
                step * tilt + 0.5 * step * step * bent + float(self.strength @ self.lengths(w + step * whole)) - now
            )
            if change <= -0.1 * step * fall + 1e-16 * now:
                return step
            step *= 0.5
        return 0.0

    def _gap(self, w: Vector, r: Vector, constant: float) -> float:
        """Return the duality gap on the working set, with a dual point that is the residual, shrunk if it must be."""
        error = max(constant + float(w @ (r - self.c)), 0.0)  # squared length of the residual
        pull, length = self.lengths(r), self.lengths(w)
        lengths = float(self.strength @ length)
        if self.ridge > 0:
            out = np.maximum(pull - self.strength, 0.0)
            conjugate = float(out @ out) / (2 * self.ridge)
            return lengths + 0.5 * self.ridge * float(w @ w) + conjugate + float(w @ r)
        ratio = np.divide(self.strength, pull, out=np.ones_like(pull), where=pull > self.strength)
        factor = float(ratio.min(initial=1.0))
        return 0.5 * (1 - factor) ** 2 * error + lengths + factor * float(w @ r)


def _largest(block: Vector) -> float:
    """Return the largest eigenvalue, never too small."""
    if len(block) == 1:
        return float(block[0, 0])
    return float(np.linalg.eigvalsh(block)[-1]) * (1 + 1e-12)


def _solved(H: Vector, g: Vector) -> Vector:
    """Solve equations whose matrix is nonnegative definite and may be singular; a little is added to its diagonal."""
    H[np.diag_indices_from(H)] += 1e-14 * float(H.diagonal().max(initial=0.0))
    try:
        d = np.linalg.solve(H, g)
    except np.linalg.LinAlgError:
        d = np.full_like(g, np.nan)
    if np.isfinite(d).all() and float(np.linalg.norm(H @ d - g)) <= 1e-6 * float(np.linalg.norm(g)):
        return np.asarray(d)
    return np.asarray(np.linalg.lstsq(H, g, rcond=None)[0])
