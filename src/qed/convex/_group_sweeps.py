"""Least squares with a penalty of the lengths of groups, on few columns: sweeps, extrapolation, Newton steps.

A sweep of proximal steps, group after group, settles which groups are zero. Sweeps converge like powers, so that a combination of
the last ones leads far ahead (Anderson). Where groups are not zero their lengths are smooth, and where few columns are in use
Newton steps end it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels

if TYPE_CHECKING:
    from qed.convex._loss import Vector


Indices = np.ndarray[Any, Any]
ROUNDS = 400  # batches of sweeps, at most
SWEEPS = 5  # of a batch
NEWTON_STEPS = 4  # between batches
# seconds for a group, an entry of Q, a cubed column, and what else belongs to a batch: measured
SWEEP_COST, PRODUCT_COST, SOLVE_COST, BATCH_COST = 1e-7, 5e-10, 5e-11, 1e-4
STALLED = 30  # batches without a gap that halves, after which rounding rules


class Groups:
    """Groups that lie side by side, the strengths of their lengths, and a ridge."""

    def __init__(self, starts: Indices, size: int, strength: Vector, ridge: float) -> None:
        self.starts, self.strength, self.ridge = starts, strength, ridge
        self.edges = np.append(starts, size).astype(np.int64)
        self.slices = [slice(a, b) for a, b in pairwise(self.edges.tolist())]
        self.number = np.repeat(np.arange(len(starts)), np.diff(self.edges))

    def lengths(self, v: Vector) -> Vector:
        """Return the length of each group."""
        return np.asarray(np.sqrt(np.add.reduceat(v * v, self.starts)))

    def value(self, w: Vector) -> float:
        """Return the penalty."""
        return float(self.strength @ self.lengths(w)) + 0.5 * self.ridge * float(w @ w)

    def gap(self, w: Vector, g: Vector, error: float) -> float:
        """Return the duality gap for the gradient g of half the squared error; the residual, shrunk, is the dual point."""
        pull, length = self.lengths(g), self.lengths(w)
        lengths = float(self.strength @ length)
        if self.ridge > 0:
            out = np.maximum(pull - self.strength, 0.0)
            return lengths + 0.5 * self.ridge * float(w @ w) + float(out @ out) / (2 * self.ridge) + float(w @ g)
        ratio = np.divide(self.strength, pull, out=np.ones_like(pull), where=pull > self.strength)
        factor = float(ratio.min(initial=1.0))
        return 0.5 * (1 - factor) ** 2 * error + lengths + factor * float(w @ g)


class _Sweeping(ABC):
    """What both ways share: half the squared error is followed by a state that is affine in the coefficients."""

    groups: Groups
    bend: Vector

    @abstractmethod
    def state(self, w: Vector) -> Vector:
        """Return the state at a point."""

    @abstractmethod
    def gradient(self, state: Vector) -> Vector:
        """Return the gradient of half the squared error."""

    @abstractmethod
    def error(self, w: Vector, state: Vector) -> float:
        """Return the squared error."""

    @abstractmethod
    def sweep(self, points: Vector, states: Vector, which: Indices) -> None:
        """Take one proximal step along each group from the first row of points and states, then from the next one."""

    @abstractmethod
    def settle(self, w: Vector, state: Vector, goal: float, batches: int) -> Vector | None:
        """Return a point that dearer steps lead to; None if they do not pay yet."""

    def minimised(self, w: Vector, goal: float) -> Vector:
        """Sweep, extrapolate and take Newton steps until the gap is within the goal, or rounding allows no more."""
        groups, w = self.groups, w.copy()
        state = self.state(w)
        g = self.gradient(state)
        best: float = np.inf
        since = 0
        for batch in range(1, ROUNDS + 1):
            points, states = np.empty((SWEEPS + 1, len(w))), np.empty((SWEEPS + 1, len(state)))
            points[0], states[0] = w, state
            self.sweep(points, states, self._awake(w, g))
            w, state = self._ahead(points, states)
            if batch % 4 == 0:
                state = self.state(w)  # what updates have rounded is made anew
            g = self.gradient(state)
            gap = groups.gap(w, g, self.error(w, state))
            if gap <= goal:
                break
            settled = self.settle(w, state, goal, batch)
            if settled is not None:
                w, state = settled, self.state(settled)
                g = self.gradient(state)
                gap = groups.gap(w, g, self.error(w, state))
                if gap <= goal:
                    break
            since = 0 if gap < 0.5 * best else since + 1
            best = gap if gap < best else best
            if since > STALLED:
                break
        return np.asarray(w)

    def _awake(self, w: Vector, g: Vector) -> Indices:
        """Return the groups that are not zero, or nearly want not to be: the others need no visit."""
        near = self.groups.lengths(g) > 0.9 * self.groups.strength
        near |= self.groups.lengths(w) > 0
        return np.flatnonzero(near & (self.bend > 0))

    def _ahead(self, points: Vector, states: Vector) -> tuple[Vector, Vector]:
        """Return the combination of the last points whose steps cancel best, if it is lower; the last point otherwise."""
        w, state = points[-1], states[-1]
        steps = np.diff(points, axis=0)
        products = steps @ steps.T
        most = float(np.trace(products))
        if not most > 0:
            return w, state
        try:
            z = np.linalg.solve(products + 1e-12 * most * np.eye(len(products)), np.ones(len(products)))
        except np.linalg.LinAlgError:
            return w, state
        if not np.isfinite(z).all() or z.sum() == 0:
            return w, state
        share = z / z.sum()
        far, far_state = share @ points[1:], share @ states[1:]
        now = 0.5 * self.error(w, state) + self.groups.value(w)
        then = 0.5 * self.error(far, far_state) + self.groups.value(far)
        return (far, far_state) if then < now else (w, state)


class ByProducts(_Sweeping):
    """Half of w'Qw - c'w: the state is its gradient."""

    def __init__(self, groups: Groups, Q: Vector, c: Vector, target: Vector) -> None:
        self.groups, self.Q, self.c = groups, Q, c
        self.constant = float(target @ target)
        self.bend = np.array([_largest(Q[one, one]) for one in groups.slices]) + groups.ridge
        self.swept = (groups.edges, self.bend, groups.strength, float(groups.ridge))
        self._next = 1

    def state(self, w: Vector) -> Vector:
        """Return the gradient."""
        used = np.flatnonzero(w)
        part = self.Q @ w if 2 * len(used) > len(w) else self.Q[:, used] @ w[used]
        return np.asarray(part - self.c)

    def gradient(self, state: Vector) -> Vector:
        """Return the gradient."""
        return state

    def error(self, w: Vector, state: Vector) -> float:
        """Return the squared error."""
        return max(self.constant + float(w @ (state - self.c)), 0.0)

    def sweep(self, points: Vector, states: Vector, which: Indices) -> None:
        """Take proximal steps, and keep the gradients up."""
        _kernels.sweep_products(self.Q, self.swept, which, points, states)

    def settle(self, w: Vector, state: Vector, goal: float, batches: int) -> Vector | None:
        """Take Newton steps on the groups that are not zero, once the sweeps have cost as much."""
        used, k = int(np.count_nonzero(w)), len(w)
        batch = SWEEPS * (len(self.groups.starts) * SWEEP_COST + PRODUCT_COST * k * used) + BATCH_COST
        if batches < self._next or not used:
            return None
        self._next = batches + int(np.clip(SOLVE_COST * used**3 / batch, 1, 40))
        return self._newton(w, state, goal)

    def _newton(self, w: Vector, r: Vector, goal: float) -> Vector:
        groups = self.groups
        for _ in range(NEWTON_STEPS):
            length = groups.lengths(w)
            used = np.flatnonzero((length > 0)[groups.number])
            if not len(used):
                break
            number, v = groups.number[used], w[used]
            over = groups.strength[number] / length[number]
            g = r[used] + (groups.ridge + over) * v
            H = self.Q[np.ix_(used, used)]
            _bent(H, number, v / length[number], over, groups.ridge)
            d = -_solved(H, g)
            fall = -float(g @ d)
            step = self._line(w, used, d, r, fall) if fall > 0 else 0.0
            ended = self._to_zero(w, used, d) if 0 < step < 1 or (fall > 0 and step == 0.0) else None
            if step == 0.0 and ended is None:
                break
            far = w.copy()
            far[used] += step * d
            if ended is not None and (step == 0.0 or self._objective(ended) < self._objective(far)):
                far, step = ended, 1.0  # on with one group less
            w, r = far, self.state(far)
            if fall <= max(0.01 * goal, 1e-15 * float(np.abs(self.c) @ np.abs(w))) or step < 1:
                break  # near enough, or a group wants to be zero, which sweeps find
        return w

    def _objective(self, w: Vector) -> float:
        return 0.5 * self.error(w, self.state(w)) + self.groups.value(w)

    def _to_zero(self, w: Vector, used: Indices, d: Vector) -> Vector | None:
        """Return the point on the way where the first group passes through zero, with that group at zero; None if none does."""
        whole = np.zeros_like(w)
        whole[used] = d
        starts = self.groups.starts
        along, square = np.add.reduceat(w * whole, starts), np.add.reduceat(whole * whole, starts)
        share = np.divide(-along, square, out=np.full_like(along, np.inf), where=square > 0)
        near = self.groups.lengths(w + share.clip(0.0, 1.0)[self.groups.number] * whole) <= 1e-3 * self.groups.lengths(
            w
        )
        share = np.where(near & (share > 0) & (share < 1), share, np.inf)
        first = int(np.argmin(share))
        if not share[first] < 1:
            return None
        there = w + share[first] * whole
        there[self.groups.slices[first]] = 0.0
        return np.asarray(there) if self._objective(there) < self._objective(w) else None

    def _line(self, w: Vector, used: Indices, d: Vector, r: Vector, fall: float) -> float:
        """Return the first of 1, 1/2, 1/4 … that lowers the objective enough; 0 for none."""
        groups, whole = self.groups, np.zeros_like(w)
        whole[used] = d
        bent = float(d @ (self.Q[np.ix_(used, used)] @ d)) + groups.ridge * float(d @ d)
        tilt = float((r + groups.ridge * w) @ whole)
        now = float(groups.strength @ groups.lengths(w))
        step = 1.0
        for _ in range(12):
            then = float(groups.strength @ groups.lengths(w + step * whole))
            if step * tilt + 0.5 * step * step * bent + then - now <= -0.1 * step * fall + 1e-16 * now:
                return step
            step *= 0.5
        return 0.0


class AlongColumns(_Sweeping):
    """Half of |Aw - y|², A in blocks of columns, one for each group: the state is the residual."""

    def __init__(self, groups: Groups, blocks: list[Vector], target: Vector, known: list[float]) -> None:
        self.groups, self.blocks, self.target = groups, blocks, target
        # the largest eigenvalue of a group does not change as others join it
        known.extend(_largest(block.T @ block) for block in blocks[len(known) :])
        self.bend = np.array(known) + groups.ridge
        self.swept = (groups.edges, self.bend, groups.strength, float(groups.ridge))

    def state(self, w: Vector) -> Vector:
        """Return the residual."""
        residual = -self.target
        for one, block in zip(self.groups.slices, self.blocks, strict=True):
            if w[one].any():
                residual = residual + block @ w[one]
        return np.asarray(residual)

    def gradient(self, state: Vector) -> Vector:
        """Return the products of all columns with the residual."""
        return np.concatenate([block.T @ state for block in self.blocks])

    def error(self, w: Vector, state: Vector) -> float:  # noqa: ARG002
        """Return the squared error."""
        return float(state @ state)

    def sweep(self, points: Vector, states: Vector, which: Indices) -> None:
        """Take proximal steps, and keep the residuals up."""
        _kernels.sweep_columns(self.blocks, self.swept, which, points, states)

    def settle(self, w: Vector, state: Vector, goal: float, batches: int) -> Vector | None:  # noqa: ARG002
        """Leave it to the sweeps: second derivatives of so many columns would cost more."""
        return None


def _bent(H: Vector, number: Indices, direction: Vector, over: Vector, ridge: float) -> None:
    """Add the second derivatives of the lengths of groups."""
    H[np.diag_indices_from(H)] += over + ridge
    edges = np.flatnonzero(np.diff(number)) + 1
    for first, last in zip([0, *edges], [*edges, len(number)], strict=True):
        one = slice(first, last)
        H[one, one] -= over[first] * np.multiply.outer(direction[one], direction[one])


def _largest(block: Vector) -> float:
    """Return the largest eigenvalue, never too small."""
    if len(block) == 1:
        return float(block[0, 0])
    return float(np.linalg.eigvalsh(block)[-1]) * (1 + 1e-12)


def _solved(H: Vector, g: Vector) -> Vector:
    """Solve equations whose matrix is nonnegative definite and may be singular, in units that make its diagonal one."""
    size = np.sqrt(np.maximum(H.diagonal(), 0.0))
    unit = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    scaled, right = H * unit[:, np.newaxis] * unit, unit * g
    scaled[np.diag_indices_from(scaled)] += 1e-14
    try:
        d = np.linalg.solve(scaled, right)
    except np.linalg.LinAlgError:
        d = np.full_like(g, np.nan)
    if not (np.isfinite(d).all() and float(np.linalg.norm(scaled @ d - right)) <= 1e-6 * float(np.linalg.norm(right))):
        d = np.linalg.lstsq(scaled, right, rcond=None)[0]
    return np.asarray(unit * d)
