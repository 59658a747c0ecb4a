"""Dual points for the checker: from the model's own scores, then from better and better points of its own.

The checker improves on the model by Newton steps on the coefficients that matter, and offers the slope at each point, corrected to
first order along the next step, as a dual point. However good the model is, a few steps lead to a dual point that shows it;
however bad, no dual point can make it look better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._losses import HALF, Scaled
from qed.verify._rows import EXTENDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.verify._objectives import Objective
    from qed.verify._table import Table


Array = np.ndarray[Any, Any]
MAX_NEWTON_STEPS = 60  # Newton's steps end by themselves: few are needed near the optimum
LENGTHS = 60  # of a step, each half or twice the one before: next to no curvature makes steps too long by many orders
MAX_DENSE_UNKNOWNS = 1500  # unknowns whose equations are written down; beyond, conjugate gradients
MAX_STEPS = 300


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
    return _valued(table, objective, w, b, table.scores(w, b), scale)


def _valued(table: Table, objective: Objective, w: Array, b: Array, t: Array, scale: Any = None) -> Point:
    if scale is None and isinstance(objective.loss, Scaled):
        scale = objective.loss.best_scale(t, table.y, table.q)
    loss = table.q @ objective.loss.value(t, table.y, scale)
    return Point(w, b, scale, t, loss + objective.penalty.value(w))


def dual_points(
    table: Table, objective: Objective, start: Point, given: Array | None, claimed: float
) -> Iterator[Array]:
    """Yield dual points, not yet repaired, better and better ones, until coefficients better than is claimed are found."""
    yield np.zeros_like(start.t)
    if given is not None and given.size == start.t.size:
        wide = given.reshape(start.t.shape).astype(EXTENDED)
        yield wide
        if isinstance(
            objective.loss, Scaled
        ):  # as slopes of half the loss, which is how the root of a mean square has them
            yield 2 * wide
    if not objective.loss.has_curvature or _is_met_exactly(table, objective, start):
        yield from _between_kinks(table, objective, start)
    if not objective.loss.has_curvature:
        return
    at = start
    for _ in range(MAX_NEWTON_STEPS):
        u = objective.loss.slope(at.t, table.y, at.scale)
        if not np.all(np.isfinite(u)):
            return
        yield u
        step = _Step.of(table, objective, at, u)
        if step is None:
            return
        yield step.corrected(u)
        then = at
        at = step.taken()
        if not (at.objective < then.objective and start.objective - at.objective <= claimed):
            return


@dataclass(frozen=True)
class _Step:
    """A step to where the objective, to second order at a point, is least."""

    table: Table
    objective: Objective
    at: Point
    columns: Array  # features that take part
    extra: Array  # (n, e): ones for the intercept, the derivative by the scale
    d: Array  # (columns + e, k), what coefficients lose

    @classmethod
    def of(cls, table: Table, objective: Objective, at: Point, u: Array) -> _Step | None:
        penalty, w, k = objective.penalty, at.w, at.w.shape[1]
        g = table.adjoint(u)
        rest = [table.q @ u] if table.intercept else []
        if isinstance(objective.loss, Scaled):
            rest.append(np.array([table.q @ (1 - u[:, 0] ** 2 / 4)]))
        size = np.maximum(-g, 0) if penalty.positive else penalty.size(g)
        near = (w != 0) | penalty.spread(size > 0.5 * np.asarray(penalty.l1))
        near = np.broadcast_to(near, w.shape).any(axis=1) & (table.length > 0)
        every = table.length > 0
        is_small = (every.sum() + len(rest)) * k <= MAX_DENSE_UNKNOWNS
        columns = np.flatnonzero(every if is_small else near)
        extra = _extra_columns(table, objective, at)
        pull = (g + EXTENDED(penalty.l2) * w)[columns]
        rhs = np.vstack([pull, *(row[None, :] for row in rest)])
        if not len(rhs):
            return None
        if (len(columns) + len(rest)) * k <= MAX_DENSE_UNKNOWNS:
            d = _least(table, objective, at, columns, extra, rhs)
        else:
            d = _conjugate_gradients(table, objective, at, columns, extra, rhs)
        return cls(table, objective, at, columns, extra, d) if np.all(np.isfinite(d)) else None

    def corrected(self, u: Array) -> Array:
        """Return the slopes after the step, to first order."""
        loss, t, y, scale = self.objective.loss, self.at.t, self.table.y, self.at.scale
        out = np.array(u)
        for some, x in self.table.pieces(self.columns, self.extra):
            change = x @ self.d
            out[some] -= np.einsum("nab,nb->na", np.asarray(loss.curvature(t[some], y[some], scale)), change)
        return out

    def taken(self) -> Point:
        """Return the best point along the step: its length is halved, or doubled, as long as the objective falls.

        Rows of great weight that are almost certain bend so little, or so much, that a whole step may fall by next to nothing.
        """
        w, b = self._way()
        moved = self.table.scores(w, b)
        here, best, length = self.at, self._ahead(w, b, moved, EXTENDED(1)), EXTENDED(1)
        is_short = not self.objective.penalty.positive and best.objective < here.objective
        is_short = is_short and self._ahead(w, b, moved, EXTENDED(2)).objective < best.objective
        for _ in range(LENGTHS):
            length = length * (2 if is_short else HALF)
            new = self._ahead(w, b, moved, length)
            if best.objective < here.objective and not new.objective < best.objective:
                break
            best = new
        if not best.objective < here.objective:
            return here
        return point_at(self.table, self.objective, best.w, best.b)

    def _way(self) -> tuple[Array, Array]:
        """Return what the step adds to coefficients and intercept."""
        at, m = self.at, len(self.columns)
        w, b = np.zeros_like(at.w), np.zeros_like(at.b)
        w[self.columns] = -self.d[:m]
        if self.objective.penalty.positive:
            w = np.maximum(at.w + w, 0) - at.w
        if self.table.intercept:  # b belongs to the columns as they are, the step to the centred ones
            b = -self.d[m] - self.table.centre.astype(EXTENDED) @ w
        return w, b

    def _ahead(self, w: Array, b: Array, moved: Array, length: Any) -> Point:
        at = self.at
        return _valued(self.table, self.objective, at.w + length * w, at.b + length * b, at.t + length * moved)


def _extra_columns(table: Table, objective: Objective, at: Point) -> Array:
    """Return columns for the intercept and for the scale, which moves scores by their residuals."""
    n = len(table.q)
    columns = [np.ones((n, 1))] if table.intercept else []
    if isinstance(objective.loss, Scaled):
        columns.append((-(at.t - table.y) / max(at.scale, EXTENDED(1e-300))).astype(np.float64))
    return np.hstack([np.empty((n, 0)), *columns])


def _least(table: Table, objective: Objective, at: Point, columns: Array, extra: Array, rhs: Array) -> Array:
    """Minimise the quadratic and the penalty: which coefficients are zero is settled by asking again and again."""
    loss, y, t, scale, penalty = objective.loss, table.y, at.t, at.scale, objective.penalty
    width, k = rhs.shape
    m = len(columns)
    second = table.second(columns, extra, lambda some: loss.curvature(t[some], y[some], scale))
    is_feature = np.tile(np.arange(width) < m, k)
    second[np.diag_indices_from(second)] += np.where(is_feature, float(penalty.l2), 0.0)
    diagonal = second.diagonal()
    unit = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    matrix = second * np.multiply.outer(unit, unit)
    w = np.vstack([at.w[columns].astype(np.float64), np.zeros((width - m, k))]).T.ravel()
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        start = np.where(unit > 0, w / np.where(unit > 0, unit, 1.0), 0.0)
    each = np.broadcast_to(np.asarray(penalty.spread(np.ravel(penalty.l1)), EXTENDED), at.w.shape[:1])[columns]
    l1 = np.tile(np.concatenate([each, np.zeros(width - m, EXTENDED)]), k)
    quadratic = _Quadratic(matrix, start, rhs.T.ravel(), unit, l1)
    if (penalty.by_rows or penalty.groups is not None) and penalty.is_bounding and np.any(l1 > 0):
        index = np.arange(width * k).reshape(k, width).T  # (width, k): where the entries of a row are
        number = np.arange(m) if penalty.groups is None else penalty.groups[columns]
        together = [index[:m][number == group].ravel() for group in np.unique(number)]
        move = quadratic.least_by_groups(together, index[m:].ravel())
    else:
        move = quadratic.least(is_feature & penalty.positive)
    return np.asarray((-unit * move).reshape(k, width).T)


@dataclass(frozen=True)
class _Quadratic:
    """``g·δ + δ'Mδ / 2 + Σ l1 |start + δ|`` for a move δ, in units that make the diagonal of M one.

    Moves are small and gradients cancel against l1: gradients are kept in extended precision, and moves are solved for, not
    where they lead.
    """

    matrix: Array
    start: Array
    g: Array  # extended, in the units of the coefficients
    unit: Array
    l1: Array  # extended, likewise

    def _fall(self, sign: Array) -> Array:
        """Return minus the gradient at the start, for a slope of the penalty that the signs tell."""
        return np.asarray((-self.unit * (self.g + self.l1 * sign)).astype(np.float64))

    def least(self, positive: Array) -> Array:
        """Return the best move: a step along the diagonal tells signs, the equations for those signs the rest."""
        ok, limit = self.unit > 0, (self.unit * self.l1).astype(np.float64)
        plain, move = self._fall(np.zeros(len(self.g))), np.zeros(len(self.g))
        seen: list[bytes] = []
        for _ in range(60):
            ahead = self.start + move + (plain - self.matrix @ move)
            sign = np.where(ahead > limit, 1.0, np.where((ahead < -limit) & ~positive, -1.0, 0.0)) * ok
            key = sign.tobytes()
            if key in seen:
                break
            seen.append(key)
            move = self._solved(sign)
        if key != seen[-1]:  # signs go round in a circle
            return self._one_by_one(positive, limit)
        rest, size = plain - self.matrix @ move, limit + np.abs(plain).max(initial=0.0)
        wrong = ((self.start + move) * sign < 0) | ((sign == 0) & ok & (np.abs(rest) > limit * (1 + 1e-9)) & ~positive)
        wrong |= (sign == 0) & ok & positive & (rest > limit * (1 + 1e-9))
        wrong |= (sign != 0) & (np.abs(rest - limit * sign) > 1e-9 * size)  # more coefficients than rows can tell apart
        return self._one_by_one(positive, limit) if np.any(wrong & (limit > 0)) else move

    def _solved(self, sign: Array) -> Array:
        """Solve for the move of coefficients of given signs, all others to zero."""
        used = sign != 0
        move = np.where(used, 0.0, -self.start)
        fall = self._fall(sign) - self.matrix @ move
        if used.any():
            move[used] = _solve(self.matrix[np.ix_(used, used)], fall[used])
        return np.asarray(move)

    def _one_by_one(self, positive: Array, limit: Array) -> Array:
        """Let coefficients in one by one, and out as soon as they would change sign: slow, and downhill all the way."""
        plain, move = self._fall(np.zeros(len(self.g))), np.zeros(len(self.g))
        sign = np.sign(self.start) * (self.unit > 0)
        for _ in range(6 * len(self.g) + 20):
            for _ in range(len(self.g) + 1):  # to the best place for these signs, or to the first that turns
                there, is_least = self._downhill(move, sign)
                v, new = self.start + move, self.start + there
                turns = (sign != 0) & (new * sign < 0)
                if not turns.any():
                    if not is_least:  # the way goes on for ever
                        return there
                    move = there
                    break
                share = np.where(turns, np.abs(v) / np.maximum(np.abs(v - new), 1e-300), np.inf)
                first = int(np.argmin(share))
                move = move + min(float(share[first]), 1.0) * (there - move)
                move[first], sign[first] = -self.start[first], 0.0
            rest = plain - self.matrix @ move
            over = np.where((sign == 0) & (self.unit > 0), np.where(positive, rest, np.abs(rest)) - limit, -1.0)
            best = int(np.argmax(over))
            if not over[best] > 1e-13 * (limit[best] + np.abs(plain).max(initial=0.0)):
                break
            sign[best] = np.sign(rest[best])
        return move

    def _downhill(self, move: Array, sign: Array) -> tuple[Array, bool]:
        """Return the best move for given signs and True; where there is none because there is no curvature, a long way downhill."""
        used = sign != 0
        if used.any():
            values, vectors = np.linalg.eigh(self.matrix[np.ix_(used, used)])
            flat = vectors[:, values <= 1e-13 * len(values) * values.max()]
            rest = (self._fall(sign) - self.matrix @ move)[used]
            along = flat @ (flat.T @ rest)
            if np.linalg.norm(along) > 1e-9 * np.linalg.norm(self._fall(sign)[used]):
                far = np.array(move)
                far[used] += along * (1e3 * (1 + np.abs(self.start + move).max()) / np.abs(along).max())
                return far, False
        return self._solved(sign), True

    def least_by_groups(self, groups: list[Array], others: Array) -> Array:
        """Return the best move for a penalty of the lengths of groups, linearised again and again where they lie."""
        move, plain = np.zeros(len(self.g)), self._fall(np.zeros(len(self.g)))
        for _ in range(60):
            v = self.start + move
            here, ahead = v * self.unit, (v + plain - self.matrix @ move) * self.unit
            sign, matrix = np.zeros(len(v)), self.matrix.copy()
            used = np.zeros(len(v), dtype=bool)
            used[others] = self.unit[others] > 0
            linearised = np.zeros(len(v))  # the penalty is linearised about v, the move starts at the start
            for at in groups:
                l1, step = float(self.l1[at[0]]), float(self.unit[at].max())
                length, size = float(np.linalg.norm(here[at])), float(np.linalg.norm(ahead[at]))
                if not size > l1 * step**2:
                    continue
                guess = length if length > 0 else size - l1 * step**2
                toward = here[at] if length > 0 else ahead[at]
                toward = toward / max(float(np.linalg.norm(toward)), 1e-300)
                used[at], sign[at] = self.unit[at] > 0, toward
                around = l1 / max(guess, 1e-300) * (np.eye(len(at)) - np.outer(toward, toward))
                around = around * np.outer(self.unit[at], self.unit[at])
                matrix[np.ix_(at, at)] += around
                linearised[at] = around @ self.start[at]
            new = np.where(used, 0.0, -self.start)
            fall = self._fall(sign) - linearised - self.matrix @ new
            if used.any():
                new[used] = _solve(matrix[np.ix_(used, used)], fall[used])
            moved = float(np.max(np.abs(new - move), initial=0.0))
            move = new
            if moved <= 1e-14 * float(np.max(np.abs(move), initial=0.0)):
                break
        return move


def _solve(matrix: Array, r: Array) -> Array:
    """Solve equations that may be singular."""
    if len(matrix) > 300:
        found = np.linalg.solve(matrix + 1e-13 * np.eye(len(matrix)), r)
        if np.linalg.norm(matrix @ found - r) <= 1e-10 * np.linalg.norm(r):
            return np.asarray(found)
    values, vectors = np.linalg.eigh(matrix)
    keep = values > 1e-15 * len(values) * values.max()
    return np.asarray(vectors[:, keep] @ ((vectors[:, keep].T @ r) / values[keep]))


def _conjugate_gradients(
    table: Table, objective: Objective, at: Point, columns: Array, extra: Array, rhs: Array
) -> Array:
    """Solve for all coefficients that are not zero without writing the equations down, in units of the columns' lengths."""
    loss, y, t, scale, penalty = objective.loss, table.y, at.t, at.scale, objective.penalty
    m = len(columns)
    size = np.concatenate(
        [table.length[columns].astype(np.float64), np.full(extra.shape[1], float(np.sqrt(table.q.sum())))]
    )
    size = np.where(size > 0, size, 1.0)[:, None]
    w = at.w[columns].astype(np.float64)
    l1 = np.broadcast_to(np.asarray(penalty.spread(np.ravel(penalty.l1)), np.float64), at.w.shape[:1])[columns][:, None]
    used = np.vstack([(w != 0) | (l1 == 0), np.ones((extra.shape[1], w.shape[1]), dtype=bool)])
    rhs = rhs.astype(np.float64)
    lengths = penalty.spread(penalty.size(at.w.astype(np.float64)))[columns]
    rhs[:m] += l1 * np.where(lengths > 0, w / np.where(lengths > 0, lengths, 1.0), 0.0)

    def times(d: Array) -> Array:
        total = np.zeros_like(d)
        for some, x in table.pieces(columns, extra):
            curved = np.einsum(
                "nab,nb->na", np.asarray(loss.curvature(t[some], y[some], scale), dtype=np.float64), x @ d
            )
            total += x.T @ (table.q[some, None].astype(np.float64) * curved)
        total[:m] += float(penalty.l2) * d[:m]
        return np.where(used, total, 0.0)

    d, r = np.zeros_like(rhs), np.where(used, rhs, 0.0) / size
    along, now = r, float(np.sum(r * r))
    first = now
    for _ in range(MAX_STEPS):
        if not now > 1e-22 * first:
            break
        image = times(along / size) / size
        curve = float(np.sum(along * image))
        if not curve > 0:
            break
        d, r = d + now / curve * along, r - now / curve * image
        then, now = now, float(np.sum(r * r))
        along = r + now / then * along
    return np.asarray(d / size)


def _is_met_exactly(table: Table, objective: Objective, at: Point) -> bool:
    """Say whether the scale of the residuals is next to nothing, so that their signs and sizes are noise."""
    if not isinstance(objective.loss, Scaled):
        return False
    return bool(at.scale <= 1e-9 * _size(table))


def _size(table: Table) -> float:
    """Return the spread of the targets."""
    y = (table.y - table.y.mean(axis=0)).astype(np.float64)
    return float(np.sqrt(np.mean(y * y))) + 1e-300


def _between_kinks(table: Table, objective: Objective, at: Point) -> Iterator[Array]:
    """Yield slopes of a loss with kinks: rows at a kink take what the coefficients ask for.

    Those that are not zero ask for equations; those that are, and would be exceeded, for as much as they allow.
    """
    loss, penalty = objective.loss, objective.penalty
    r = np.abs(at.t - table.y)[:, 0]
    size = _size(table)
    u = loss.slope(at.t, table.y, at.scale)
    yield u
    if isinstance(loss, Scaled):  # beyond the kink the slope is an end of its interval, at it anything between
        ends = np.sign(at.t - table.y) * (2 * EXTENDED(loss.epsilon) if np.isfinite(loss.epsilon) else 0)
        u = np.where(r[:, None] <= 1e-9 * size, 0, ends)
    w = at.w[:, 0].astype(np.float64)
    for width in (1e-14, 1e-11, 1e-8, 1e-6):
        kinks = np.flatnonzero(r <= width * size)
        most = (
            MAX_DENSE_UNKNOWNS
            if isinstance(loss, Scaled)
            else min(MAX_DENSE_UNKNOWNS, 4 * int(np.count_nonzero(w)) + 50)
        )
        if not len(kinks) or len(kinks) > most:
            continue
        moved, asked = np.array(u), np.sign(w)
        for _ in range(8):
            goal = float(penalty.l1) * asked + float(penalty.l2) * w
            moved = _asked_for(table, np.flatnonzero(asked != 0), kinks, goal, moved)
            moved = loss.repaired(moved, table.q, table.y, balance=False)
            z = -table.adjoint(moved)[:, 0].astype(np.float64)
            beyond = (asked == 0) & (np.abs(z) > float(penalty.l1) * (1 + 1e-12)) & (table.length > 0)
            if penalty.l1 == 0 or not beyond.any() or np.count_nonzero(asked) > len(kinks):
                break
            worst = beyond & (np.abs(z) >= 0.9 * np.max(np.abs(z)[beyond]))
            yield np.array(moved)
            asked = np.where(worst, np.sign(z), asked)
        yield moved


def _asked_for(table: Table, columns: Array, kinks: Array, goal: Array, u: Array) -> Array:
    """Change the slopes of rows at kinks by as little as possible, so that columns and intercept have what they ask for."""
    wanted = np.append(goal[columns], 0.0) if table.intercept else goal[columns]
    ones = np.ones((len(u), 1 if table.intercept else 0))
    total, matrix = np.zeros(len(wanted)), np.zeros((len(wanted), len(kinks)))
    out = np.array(u)
    for _ in range(3):  # the second and third time take out what rounding and clipping left
        total[:] = 0.0
        for some, x in table.pieces(columns, ones):
            q = table.q[some].astype(np.float64)
            total += x.T @ (q * out[some, 0].astype(np.float64))
            here = (kinks >= some.start) & (kinks < some.stop)
            local = kinks[here] - some.start
            matrix[:, here] = (x[local] * q[local, None]).T
        scale = 1 / np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
        out[kinks, 0] += np.linalg.lstsq(matrix * scale[:, None], -(total + wanted) * scale, rcond=None)[0]
    return out
