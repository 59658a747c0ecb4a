"""Descent by groups of columns: whole groups enter a working set, sweeps find which of them are zero, Newton steps do the rest.

As in `_coordinate_descent` one pass over the design tells which groups want to leave zero; everything until the next pass
happens on the working set, by `qed.convex._group_sweeps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._gap import PointCache
from qed.convex._group_sweeps import AlongColumns, ByProducts, Groups
from qed.convex._solve import Iterate
from qed.convex._working_columns import working_columns
from qed.designs import Dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem
    from qed.convex._working_columns import WorkingColumns


Indices = np.ndarray[Any, Any]
FIRST = 4.0  # columns of the first working set, times the root of all, as for single columns
LEAST = 64
ROUGH = 0.1  # a working set that will grow is solved to this share of the gap there is
FEW = 600  # columns up to which Newton steps cost little, whatever the number of rows
LONG = 0.7  # columns over rows from which products of columns cost more than descents along them
TIGHTER = 0.3  # a working set is solved to this share of the gap asked for


class GroupDescent:
    """Sweeps over groups of columns, then Newton steps on those that are not zero, on a working set that grows."""

    name = "group descent"

    def unsupported_reason(self, problem: Problem) -> str | None:
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
        self.is_dense = isinstance(problem.design, Dense)
        self.parts: dict[int, Vector] = {}  # columns of groups, for descents along them
        self.bends: list[float] = []  # largest eigenvalues of these, in the order of the working set

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
        return Iterate(at.w, self.b, hint=hint, known=PointCache(t=at.t, slope=at.slope, gradient=at.gradient))

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

    def solved(self, w: Vector, goal: float) -> Vector:
        """Minimise over the working set."""
        if not len(self.held):  # no column has a length
            return np.zeros_like(w)
        if self.is_dense and len(self.columns.index) > max(LONG * len(self.target), FEW):
            return self._along(w, goal)
        index, Q, pull = self.columns.index, self.columns.gram(), self.columns.adjoint(self.problem.loss.y - self.b)
        label = self.group[index]
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        if len(starts) > len(
            self.held
        ):  # of a design that is taken whole, columns of a group need not lie side by side
            order = np.argsort(label, kind="stable")
            index, pull, label, Q = index[order], pull[order], label[order], Q[np.ix_(order, order)]
            starts = np.flatnonzero(np.diff(label, prepend=-1))
        inner = ByProducts(Groups(starts, len(index), self.strength[label[starts]], self.ridge), Q, pull, self.target)
        whole = np.zeros_like(w)
        whole[index] = inner.minimised(w[index], goal)
        return whole

    def _along(self, w: Vector, goal: float) -> Vector:
        """Minimise over the working set along its columns, whose products would cost more."""
        fresh = [g for g in self.held.tolist() if g not in self.parts]
        if fresh:
            index = np.concatenate([self.columns_of[g] for g in fresh])
            taken = np.asarray(self.problem.design.taken(index, self.root, self.problem.centre))
            ends = np.cumsum([len(self.columns_of[g]) for g in fresh])[:-1]
            self.parts.update(zip(fresh, np.split(taken, ends, axis=1), strict=True))
        index = np.concatenate([self.columns_of[g] for g in self.held])
        sizes = np.array([len(self.columns_of[g]) for g in self.held])
        groups = Groups(np.cumsum(sizes) - sizes, len(index), self.strength[self.held], self.ridge)
        whole = np.zeros_like(w)
        inner = AlongColumns(groups, [self.parts[g] for g in self.held.tolist()], self.target, self.bends)
        whole[index] = inner.minimised(w[index], goal)
        return whole
