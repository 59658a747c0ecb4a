"""Dual points for the checker: from the model's own scores, then from better and better points of its own.

The checker improves on the model by Newton steps on the coefficients that matter, and offers the slope at each point, bent to
first order along the next step, as a dual point. However good the model is, a few steps lead to a dual point that shows it;
however bad, no dual point can make it look better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._losses import Scaled
from qed.verify._rows import EXTENDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.verify._objectives import Objective
    from qed.verify._table import Table

__all__ = ["Point", "dual_points", "point_at"]

Array = np.ndarray[Any, Any]
ROUNDS = 12
LARGEST = 1500  # unknowns whose equations are written down; beyond, conjugate gradients
STEPS = 300


@dataclass(frozen=True)
class Point:
    """Coefficients (p, k), intercept (k,), scale, and what follows from them."""

    w: Array
    b: Array
    scale: Any
    t: Array
    objective: Any


def point_at(table: Table, objective: Objective, w: Array, b: Array, scale: Any = None) -> Point:
    """Evaluate a point; the best scale is found if none is given."""
    t = table.scores(w, b)
    if scale is None and isinstance(objective.loss, Scaled):
        scale = objective.loss.best_scale(t, table.y, table.q)
    loss = table.q @ objective.loss.value(t, table.y, scale)
    return Point(w, b, scale, t, loss + objective.penalty.value(w))


def dual_points(table: Table, objective: Objective, start: Point, given: Array | None) -> Iterator[Array]:
    """Yield dual points, not yet repaired, better and better ones."""
    yield np.zeros_like(start.t)
    if given is not None and given.size == start.t.size:
        yield given.reshape(start.t.shape).astype(EXTENDED)
    if not objective.loss.has_curvature:
        yield from _between_kinks(table, objective, start)
        return
    at = start
    for _ in range(ROUNDS):
        u = objective.loss.slope(at.t, table.y, at.scale)
        if not np.all(np.isfinite(u)):
            return
        yield u
        step = _Step.of(table, objective, at, u)
        if step is None:
            return
        yield step.bent(u)
        then = at
        at = step.taken()
        if not at.objective < then.objective:
            return


@dataclass(frozen=True)
class _Step:
    """A Newton step from a point, on the coefficients that are not held at zero."""

    table: Table
    objective: Objective
    at: Point
    columns: Array  # features that take part
    active: Array  # (columns, k) of bool
    sign: Array
    extra: Array  # (n, e): ones for the intercept, the derivative by the scale
    d: Array  # (columns + e, k)

    @classmethod
    def of(cls, table: Table, objective: Objective, at: Point, u: Array) -> _Step | None:
        penalty, w = objective.penalty, at.w
        g = table.adjoint(u)
        z, l1 = -g, EXTENDED(penalty.l1)
        if penalty.positive:
            active = (w > 0) | (z > l1)
        elif l1 > 0:
            active = np.broadcast_to((penalty.size(w) > 0) | (penalty.size(z) > l1), w.shape)
        else:
            active = np.ones(w.shape, dtype=bool)
        active = active & (table.length > 0)[:, None]
        columns = np.flatnonzero(active.any(axis=1))
        active = active[columns]
        extra = _extra_columns(table, objective, at)
        toward = np.where(penalty.size(w) > 0, w, z)
        size = penalty.size(toward)
        sign = np.where(size > 0, toward / np.where(size > 0, size, 1), 0)[columns]
        pull = g[columns] + l1 * sign + EXTENDED(penalty.l2) * w[columns]
        rest = [table.q @ u] if table.intercept else []
        if isinstance(objective.loss, Scaled):
            rest.append(np.array([table.q @ (1 - u[:, 0] ** 2 / 4)]))
        rhs = np.vstack([np.where(active, pull, 0), *(row[None, :] for row in rest)]).astype(np.float64)
        used = np.vstack([active, np.ones((len(rest), w.shape[1]), dtype=bool)])
        if not used.any():
            return None
        blocks = _penalty_bend(table, objective, at, columns, sign, z[columns])
        d = _solved(table, objective, at, columns, extra, blocks, used, rhs)
        if not np.all(np.isfinite(d)):
            return None
        return cls(table, objective, at, columns, active, sign, extra, d)

    def bent(self, u: Array) -> Array:
        """Return the slopes after the step, to first order."""
        loss, t, y, scale = self.objective.loss, self.at.t, self.table.y, self.at.scale
        out = np.array(u)
        for some, x in self.table.pieces(self.columns, self.extra):
            change = x @ self.d
            out[some] -= np.einsum("nab,nb->na", np.asarray(loss.bend(t[some], y[some], scale)), change)
        return out

    def taken(self) -> Point:
        """Return the point after the step, halved until the objective falls."""
        penalty, at, m = self.objective.penalty, self.at, len(self.columns)
        new = at
        for halving in range(12):
            length = EXTENDED(0.5) ** halving
            w, b = np.array(at.w), np.array(at.b)
            moved = w[self.columns] - length * self.d[:m]
            if penalty.positive:
                moved = np.maximum(moved, 0)
            elif penalty.l1 > 0 and not penalty.by_rows:
                moved = np.where(moved * self.sign > 0, moved, 0)
            w[self.columns] = moved
            if self.table.intercept:  # b belongs to the columns as they are, the step to the centred ones
                b = b - length * self.d[m] - self.table.centre.astype(EXTENDED) @ (w - at.w)
            new = point_at(self.table, self.objective, w, b)
            if new.objective < at.objective:
                break
        return new


def _extra_columns(table: Table, objective: Objective, at: Point) -> Array:
    """Return columns for the intercept and for the scale, which moves scores by their residuals."""
    n = len(table.q)
    columns = [np.ones((n, 1))] if table.intercept else []
    if isinstance(objective.loss, Scaled):
        columns.append((-(at.t - table.y) / max(at.scale, EXTENDED(1e-300))).astype(np.float64))
    return np.hstack([np.empty((n, 0)), *columns])


def _penalty_bend(table: Table, objective: Objective, at: Point, columns: Array, sign: Array, z: Array) -> Array:
    """Return the second derivatives of the penalty for each feature, (m, k, k)."""
    penalty = objective.penalty
    m, k = sign.shape
    out = np.zeros((m, k, k))
    out[:, np.arange(k), np.arange(k)] = float(penalty.l2)
    if penalty.by_rows and penalty.l1 > 0:
        size = penalty.size(at.w[columns])[:, 0].astype(np.float64)
        curve = np.maximum(table.length[columns].astype(np.float64) ** 2, 1e-300)
        guess = penalty.beyond(z)[:, 0].astype(np.float64) / curve
        size = np.where(size > 0, size, np.maximum(guess, 1e-12))
        direction = sign.astype(np.float64)
        around = np.eye(k) - direction[:, :, None] * direction[:, None, :]
        out += (float(penalty.l1) / size)[:, None, None] * around
    return out


def _solved(
    table: Table,
    objective: Objective,
    at: Point,
    columns: Array,
    extra: Array,
    blocks: Array,
    used: Array,
    rhs: Array,
) -> Array:
    """Solve the equations of a Newton step in doubles."""
    loss, y, t, scale = objective.loss, table.y, at.t, at.scale

    def bend(some: slice) -> Array:
        return loss.bend(t[some], y[some], scale)

    m, (width, k) = len(columns), rhs.shape
    flat = used.T.ravel()
    if width * k <= LARGEST:
        matrix = table.second(columns, extra, bend)
        for left in range(k):
            for right in range(k):
                index = np.arange(m)
                matrix[left * width + index, right * width + index] += blocks[:, left, right]
        matrix, right_side = matrix[np.ix_(flat, flat)], rhs.T.ravel()[flat]
        unit = 1 / np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
        values, vectors = np.linalg.eigh(matrix * np.multiply.outer(unit, unit))
        keep = values > 1e-15 * len(values) * values.max()
        d = unit * (vectors[:, keep] @ ((vectors[:, keep].T @ (unit * right_side)) / values[keep]))
    else:
        d = _conjugate_gradients(table, columns, extra, blocks, bend, used, rhs)[flat]
    out = np.zeros(width * k)
    out[flat] = d
    return out.reshape(k, width).T


def _conjugate_gradients(
    table: Table, columns: Array, extra: Array, blocks: Array, bend: Any, used: Array, rhs: Array
) -> Array:
    """Solve without writing the equations down, in units of the lengths of the columns."""
    m = len(columns)
    size = np.concatenate(
        [table.length[columns].astype(np.float64), np.full(extra.shape[1], float(np.sqrt(table.q.sum())))]
    )
    size = np.where(size > 0, size, 1.0)[:, None]

    def times(d: Array) -> Array:
        total = np.zeros_like(d)
        for some, x in table.pieces(columns, extra):
            bent = np.einsum("nab,nb->na", np.asarray(bend(some), dtype=np.float64), x @ d)
            total += x.T @ (table.q[some, None].astype(np.float64) * bent)
        total[:m] += np.einsum("mab,mb->ma", blocks, d[:m])
        return np.where(used, total, 0.0)

    d, r = np.zeros_like(rhs), np.where(used, rhs, 0.0) / size
    along, now = r, float(np.sum(r * r))
    first = now
    for _ in range(STEPS):
        if not now > 1e-22 * first:
            break
        image = times(along / size) / size
        curve = float(np.sum(along * image))
        if not curve > 0:
            break
        d, r = d + now / curve * along, r - now / curve * image
        then, now = now, float(np.sum(r * r))
        along = r + now / then * along
    return np.asarray((d / size).T.ravel())


def _between_kinks(table: Table, objective: Objective, at: Point) -> Iterator[Array]:
    """Yield slopes of a loss with kinks: rows at a kink take what the coefficients that are not zero ask for."""
    loss, penalty = objective.loss, objective.penalty
    columns = np.flatnonzero((at.w != 0).any(axis=1))
    r = np.abs(at.t - table.y)[:, 0]
    size = float(np.sqrt(np.mean((r * r).astype(np.float64)))) + 1e-300
    u = loss.slope(at.t, table.y, at.scale)
    yield u
    for width in (1e-14, 1e-11, 1e-8):
        kinks = np.flatnonzero(r <= width * size)
        if not len(kinks) or len(kinks) > min(LARGEST, 4 * len(columns) + 50):
            continue
        w = at.w[columns].astype(np.float64)
        goal = float(penalty.l1) * np.sign(w[:, 0]) + float(penalty.l2) * w[:, 0]
        goal = np.append(goal, 0.0) if table.intercept else goal
        ones = np.ones((len(r), 1 if table.intercept else 0))
        moved = np.array(u)
        for _ in range(3):
            total, matrix = np.zeros(len(goal)), np.zeros((len(goal), len(kinks)))
            for some, x in table.pieces(columns, ones):
                q = table.q[some].astype(np.float64)
                total += x.T @ (q * moved[some, 0].astype(np.float64))
                here = (kinks >= some.start) & (kinks < some.stop)
                local = kinks[here] - some.start
                matrix[:, here] = (x[local] * q[local, None]).T
            scale = 1 / np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
            change = np.linalg.lstsq(matrix * scale[:, None], -(total + goal) * scale, rcond=None)[0]
            moved[kinks, 0] += change
            moved = loss.repaired(moved, table.q, table.y, balance=False)
        yield moved
