"""Dual points that make a gap tight.

The slope of the loss at the scores is feasible and cheap, but its gap shrinks only like the square root of the true error
under l1, and like error / alpha under a weak l2. A Newton step on the coordinates where the penalty is smooth mends that:
the scores that the step would lead to, to first order, have a slope whose gap is of the size of the true error. Which
coordinates those are is settled as in an active-set method: a proximal step, with one step length for each column so that
scales do not matter, says which are free and with which sign; the others go to where the penalty holds them; and the dual
point that comes out is asked again.

Where the slope of the loss jumps, rows at a breakpoint have a whole interval of slopes. There the equations that the optimum
satisfies are solved for those rows, within their intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._interruptible import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LARGEST = 1500  # coordinates times scores whose second derivatives are worth factorising for a proof
EFFORT = 4e9  # multiplications that a proof may cost beyond its passes
ROUNDS = 4  # times that the free coordinates are chosen anew
STEPS = 100  # of conjugate gradients, where second derivatives are too many to write down


@dataclass(frozen=True)
class _Model:
    """The problem to second order around a point: slopes that are linear in the change of the scores."""

    problem: Problem
    w: Vector
    t: Vector
    slope: Vector

    def bent(self, change: Vector) -> Vector:
        """Return the slopes after a change of the scores, to first order."""
        return np.asarray(self.slope + self.problem.loss.curvature_product(self.t, change))

    @property
    def has_one_score(self) -> bool:
        return self.t.ndim == 1


def newton_points(problem: Problem, w: Vector, t: Vector, slope: Vector, z: Vector) -> Iterator[Vector]:
    """Yield slopes after a Newton step, to first order, the free coordinates chosen better each time.

    Parameters
    ----------
    problem : Problem
        The problem, whose loss has curvature.
    w, t, slope, z : ndarray
        Coefficients, scores, slopes there, and minus the adjoint product of the slopes.
    """
    bend = problem.loss.curvature(t)
    if not (np.all(np.isfinite(bend)) and np.any(bend > 0)):
        return
    model = _Model(problem, w, t, slope)
    step = _steps(problem, bend)
    new, z_new, before = w, z, None
    for _ in range(ROUNDS):
        rested = problem.penalty.prox(new + _like(step, w) * z_new, _like(step, w))
        is_free = problem.penalty.free(new, z_new, step)
        choice = (is_free.tobytes(), np.sign(rested[is_free]).tobytes())
        if choice == before:
            return
        before = choice
        found = _newton_step(model, rested, np.flatnonzero(is_free))
        if found is None:
            return
        new, change = found
        u = model.bent(change)
        yield u
        z_new = -problem.adjoint(u)


def _steps(problem: Problem, bend: Vector) -> Vector:
    """Return one proximal step length for each column: one over the curvature along it."""
    if problem.loss.traits.is_quadratic:
        squares = problem.spans**2
    else:
        most = bend if bend.ndim == 1 else bend.max(axis=1)
        squares = problem.design.column_norms(problem.share * most, problem.centre) ** 2
    return np.asarray(np.where(squares > 0, 1.0 / np.where(squares > 0, squares, 1.0), 0.0))


def _newton_step(model: _Model, rested: Vector, free: Any) -> tuple[Vector, Vector] | None:
    """Move the free coordinates to the best place, all others to where they rest; return the point and the change of scores."""
    problem, w = model.problem, model.w
    n, p = problem.shape
    k = 1 if model.has_one_score else model.t.shape[1]
    size = len(free) * k
    pairs = 1 if model.has_one_score or problem.loss.traits.is_quadratic else k * (k + 1) // 2
    is_small = size <= LARGEST and n * len(free) ** 2 * pairs <= EFFORT
    if not is_small and 4 * STEPS * n * size > EFFORT:
        return None
    new = np.array(rested)
    new[free] = w[free]
    moved = np.flatnonzero((new != w) if new.ndim == 1 else (new != w).any(axis=1))
    change = np.zeros_like(model.t)
    if len(moved):
        at = None if problem.centre is None else problem.centre[moved]
        part = problem.design if len(moved) == p else problem.design.columns(moved)
        change = part.product((new - w)[moved], at)
    system = _System.of(model, rested, free)
    g, lean = system.gradient(model.bent(change))
    d, shift = system.solve_small(g, lean) if is_small else system.solve_large(g, lean)
    new[free] = w[free] - d
    return new, change - system.scores(d, shift)


@dataclass(frozen=True)
class _System:
    """The equations of a Newton step on some columns, scaled to columns of length one."""

    model: _Model
    part: Any
    centre: Vector | None
    free: Any
    scale: Vector
    pull: Vector  # slope of the penalty, linearised about where the coordinates rest, at the coefficients
    rested: Vector

    @classmethod
    def of(cls, model: _Model, rested: Vector, free: Any) -> _System:
        problem = model.problem
        key, kept = free.tobytes(), problem.kept.get("columns")
        if kept is None or kept[0] != key:
            every = len(free) == problem.shape[1]
            kept = (key, problem.design if every else problem.design.columns(free))
            problem.kept["columns"] = kept
        scale = problem.sizes[free]
        scale = np.where(scale > 0, scale, 1.0)
        penalty, at = problem.penalty.take(free), rested[free]
        pull = penalty.slope(at) + _bent_penalty(penalty.slope, at, model.w[free] - at)
        centre = None if problem.centre is None else problem.centre[free]
        return cls(model, kept[1], centre, free, scale, pull, at)

    def gradient(self, u: Vector) -> tuple[Vector, Any]:
        """Return the gradient by the free coordinates and by the intercept."""
        c = self.model.problem.share
        weighted = c * u if u.ndim == 1 else c[:, np.newaxis] * u
        return self.part.adjoint_product(weighted, self.centre) + self.pull, c @ u

    def scores(self, d: Vector, shift: Any) -> Vector:
        """Return the change of scores for a change of coefficients and intercept."""
        return np.asarray(self.part.product(d, self.centre) + shift)

    def times(self, d: Vector, shift: Any) -> tuple[Vector, Any]:
        """Multiply by the second derivatives."""
        problem = self.model.problem
        bent = problem.loss.curvature_product(self.model.t, self.scores(d, shift))
        c = problem.share if bent.ndim == 1 else problem.share[:, np.newaxis]
        penalty = problem.penalty.take(self.free)
        along = self.part.adjoint_product(c * bent, self.centre) + _bent_penalty(penalty.slope, self.rested, d)
        return along, np.sum(c * bent, axis=0) if problem.free_intercept else np.zeros(np.shape(shift))

    def solve_small(self, g: Vector, lean: Any) -> tuple[Vector, Any]:
        """Write the second derivatives down and solve."""
        problem = self.model.problem
        matrix = self._matrix()
        k = 1 if g.ndim == 1 else g.shape[1]
        columns = g[:, np.newaxis] if g.ndim == 1 else g
        rhs = (columns / self.scale[:, np.newaxis]).T.ravel()
        if problem.free_intercept:
            rhs = np.concatenate([rhs, np.atleast_1d(lean)])
        d = _solve(matrix, rhs)
        shift: Any = (d[-k:] if k > 1 or g.ndim == 2 else d[-1]) if problem.free_intercept else 0.0
        steps = d[: len(self.free) * k].reshape(k, len(self.free)).T / self.scale[:, np.newaxis]
        return (steps[:, 0] if g.ndim == 1 else steps), shift

    def _matrix(self) -> Vector:
        """Return the second derivatives, score after score, the intercepts last."""
        problem, t = self.model.problem, self.model.t
        k = 1 if t.ndim == 1 else t.shape[1]
        m = len(self.free)
        keeps = problem.loss.traits.is_quadratic
        kept = problem.kept.get("second")
        if keeps and kept is not None and kept[0] == self.free.tobytes():
            whole = kept[1].copy()
        else:
            edges = k if problem.free_intercept else 0
            whole = np.zeros((m * k + edges, m * k + edges))
            for right in range(k):
                bends = self._curvatures(right)
                for left in range(right + 1):
                    self._fill(whole, left, right, bends[:, left])
            if keeps:
                problem.kept["second"] = (self.free.tobytes(), whole.copy())
        blocks = _penalty_blocks(problem.penalty.take(self.free).slope, self.rested)
        index = np.arange(m)
        for left in range(k):
            for right in range(k):
                whole[left * m + index, right * m + index] += blocks[:, left, right] / self.scale**2
        return np.asarray(whole)

    def _curvatures(self, right: int) -> Vector:
        """Return the second derivatives of the loss of each row by one score and each of the scores."""
        loss, t = self.model.problem.loss, self.model.t
        if t.ndim == 1:
            return loss.curvature(t)[:, np.newaxis]
        unit = np.zeros_like(t)
        unit[:, right] = 1.0
        return unit if loss.traits.is_quadratic else loss.curvature_product(t, unit)

    def _fill(self, whole: Vector, left: int, right: int, bend: Vector) -> None:
        """Fill in the block of two scores, and its mirror image."""
        if not bend.any():
            return
        problem, m = self.model.problem, len(self.free)
        k = 1 if self.model.has_one_score else self.model.t.shape[1]
        c = problem.share * bend
        sides = [(1.0, np.maximum(c, 0.0)), (-1.0, np.maximum(-c, 0.0))]
        rows, columns = slice(left * m, (left + 1) * m), slice(right * m, (right + 1) * m)
        scale = np.multiply.outer(self.scale, self.scale)
        block = sum(sign * self.part.gram(side, self.centre) for sign, side in sides if side.any()) / scale
        whole[rows, columns] = block
        whole[columns, rows] = block.T
        if problem.free_intercept:
            edge = self.part.adjoint_product(c, self.centre) / self.scale
            for one, other in ((left, right), (right, left)):
                whole[one * m : (one + 1) * m, m * k + other] = edge
                whole[m * k + other, one * m : (one + 1) * m] = edge
                whole[m * k + one, m * k + other] = c.sum()

    def solve_large(self, g: Vector, lean: Any) -> tuple[Vector, Any]:
        """Take steps of conjugate gradients, in units of the columns' lengths."""
        scale = _like(self.scale, g)
        d, shift = np.zeros_like(g), np.zeros_like(np.asarray(lean, dtype=np.float64))
        r, r_shift = g / scale, np.asarray(lean) if self.model.problem.free_intercept else shift
        along, along_shift = r, r_shift
        now = first = float(np.sum(r * r) + np.sum(r_shift * r_shift))
        for _ in range(STEPS):
            if not now > 1e-20 * first:
                break
            image, image_shift = self.times(along / scale, along_shift)
            image = image / scale
            curve = float(np.sum(along * image) + np.sum(along_shift * image_shift))
            if not curve > 0:
                break
            far = now / curve
            d, shift = d + far * along, shift + far * along_shift
            r, r_shift = r - far * image, r_shift - far * image_shift
            then, now = now, float(np.sum(r * r) + np.sum(r_shift * r_shift))
            along, along_shift = r + (now / then) * along, r_shift + (now / then) * along_shift
        return d / scale, shift


def _like(row: Vector, w: Vector) -> Vector:
    """Give one number for each coordinate the shape of the coefficients."""
    return row[:, np.newaxis] if w.ndim == 2 else row


def _bent_penalty(slope: Callable[[Vector], Vector], at: Vector, d: Vector) -> Vector:
    """Return the second derivative of a penalty applied to d, from differences of its slope."""
    size = np.abs(d).max(initial=0.0)
    if not size > 0:
        return np.zeros_like(d)
    h = 1e-6 * np.where(at != 0, np.abs(at), 1.0).min(initial=1.0) / size
    return np.asarray((slope(at + h * d) - slope(at - h * d)) / (2 * h))


def _penalty_blocks(slope: Callable[[Vector], Vector], at: Vector) -> Vector:
    """Return the second derivatives of a penalty of single coefficients or of rows of them, (m, k, k)."""
    rows = at[:, np.newaxis] if at.ndim == 1 else at
    k = rows.shape[1]
    blocks = np.zeros((len(at), k, k))
    size = np.abs(rows).max(axis=1, initial=0.0)
    h = 1e-6 * np.where(size > 0, size, 1.0)
    for score in range(k):
        unit = np.zeros_like(rows)
        unit[:, score] = h
        up, down = slope((rows + unit).reshape(at.shape)), slope((rows - unit).reshape(at.shape))
        blocks[:, :, score] = (up - down).reshape(rows.shape) / (2 * h)[:, np.newaxis]
    return np.asarray(0.5 * (blocks + blocks.transpose(0, 2, 1)), dtype=np.float64)


def _solve(matrix: Vector, rhs: Vector) -> Vector:
    """Solve equations whose matrix is nonnegative definite and may be singular: the shortest solution."""
    if len(matrix) > 300:
        most = float(matrix.diagonal().max(initial=0.0))
        ridge = matrix + 1e-13 * most * np.eye(len(matrix))
        try:
            d = interruptible(np.linalg.solve, ridge, rhs, work=1.0 * len(ridge) ** 3)
        except np.linalg.LinAlgError:
            d = np.full_like(rhs, np.nan)
        if np.linalg.norm(matrix @ d - rhs) <= 1e-9 * np.linalg.norm(rhs):
            return np.asarray(d, dtype=np.float64)
    if not np.isfinite(matrix).all():
        return np.zeros_like(rhs)  # products of columns that leave float64: no step is known
    values, vectors = interruptible(np.linalg.eigh, matrix, work=9.0 * len(matrix) ** 3)
    keep = values > values[-1:].max(initial=0.0) * len(values) * 1e-15
    return np.asarray(vectors[:, keep] @ ((vectors[:, keep].T @ rhs) / values[keep]))


def kink_points(problem: Problem, w: Vector, t: Vector) -> Iterator[Vector]:
    """Yield dual points for losses whose slope jumps, from coefficients and scores alone.

    Rows near a breakpoint may take any slope between those on its two sides; the equations of the free coordinates and of the
    intercept are solved for them by least squares, clipped to the intervals and solved again for the rest.

    Parameters
    ----------
    problem : Problem
        The problem, with one score a row.
    w, t : ndarray
        Coefficients and scores.
    """
    if t.ndim != 1:
        return
    free = np.flatnonzero(problem.penalty.free(w, np.zeros_like(w), np.zeros_like(problem.spans)))
    most = 4 * (len(free) + 1) + 50
    y = np.asarray(problem.loss.y, dtype=np.float64)
    scale = problem.length(t - t.mean()) + problem.length(y - y.mean())
    for width in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5):
        low, high = problem.loss.slope(t - width * scale), problem.loss.slope(t + width * scale)
        kinks = np.flatnonzero(high > low)
        if len(kinks) > min(most, LARGEST):
            return
        if len(kinks):
            yield _between(problem, w, free, kinks, low, high)


def _between(problem: Problem, w: Vector, free: Any, kinks: Any, low: Vector, high: Vector) -> Vector:
    """Solve for the slopes of rows at kinks, within their intervals."""
    c = problem.share
    u = np.where(high > low, 0.5 * (low + high), low)
    part = problem.design.columns(free)
    centre = None if problem.centre is None else problem.centre[free]
    size = np.where(problem.sizes[free] > 0, problem.sizes[free], 1.0)
    units = np.zeros((len(c), len(kinks)))
    units[kinks, np.arange(len(kinks))] = c[kinks]
    matrix = part.adjoint_product(units, centre) / size[:, np.newaxis]
    goal = problem.penalty.take(free).slope(w[free]) / size
    if problem.free_intercept:
        matrix, goal = np.vstack([matrix, c[kinks]]), np.append(goal, 0.0)
    open_ = np.ones(len(kinks), dtype=bool)
    for _ in range(20):
        rest = (part.adjoint_product(c * u, centre)) / size
        if problem.free_intercept:
            rest = np.append(rest, c @ u)
        move = np.linalg.lstsq(matrix[:, open_], -(rest + goal), rcond=None)[0]
        wanted = u[kinks[open_]] + move
        u[kinks[open_]] = np.clip(wanted, low[kinks[open_]], high[kinks[open_]])
        outside = (wanted < low[kinks[open_]]) | (wanted > high[kinks[open_]])
        if not outside.any() or outside.all():
            break
        open_[np.flatnonzero(open_)[outside]] = False
    return u
