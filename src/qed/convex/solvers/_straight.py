"""A problem whose loss is made of straight pieces, laid out for solvers that follow its breakpoints.

Every loss here is a sum, over its breakpoints k, of ``max(high (t - k), low (t - k))`` with ``low <= 0 <= high``; and so is an l1
penalty, for which a coefficient takes the place of the score. All of them stand in one list: for each breakpoint of the loss one
entry for each row, then one for each coefficient with a breakpoint at zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import _kernels
from qed.core._memory import require_memory
from qed.core._once import cached_property
from qed.designs import Dense

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex._loss import Loss, Vector
    from qed.convex._penalty import Penalty
    from qed.convex._problem import Problem


SINGULAR = 3e-8  # root of a pivot, the diagonal being one, that is nothing but rounding
HUGE = 1e300
SMALL_TABLE, SMALL_SIDE = 200_000, 200  # entries and columns of a table that is copied
WIDE = 400  # coefficients up to which their own equations, which keep more digits, cost little


class Pieces(NamedTuple):
    """Breakpoints and slopes either side, one line of numbers for each breakpoint that a loss has."""

    kink: Vector
    low: Vector
    high: Vector


def pieces(loss: Loss) -> Pieces | None:
    """Read the breakpoints of a loss from its conjugate; None if it is not made of straight pieces.

    The conjugate of a loss with infimum 0 is 0 at u = 0, and its slope at u is the score where the loss has slope u. A loss
    with at most one breakpoint either side of its minimum has a conjugate that is straight either side of zero.
    """
    n = len(loss.y)
    low, high = loss.project(np.full(n, -HUGE)), loss.project(np.full(n, HUGE))
    if not (low.min(initial=0.0) > -HUGE and high.max(initial=0.0) < HUGE):
        return None
    if loss.traits.pieces is not None:
        bend, width = loss.traits.pieces
        return None if bend > 0 else _with_width(loss.y, low, high, width)
    found = []
    for end in (low, high):
        whole, half = loss.conjugate(end), loss.conjugate(0.5 * end)
        if not np.all(np.abs(whole - 2 * half) <= 1e-12 * (np.abs(whole) + np.abs(end * loss.y))):
            return None
        found.append(whole / np.where(end == 0, 1.0, end))
    left, right = np.where(low == 0, found[1], found[0]), np.where(high == 0, found[0], found[1])
    if np.all(np.abs(left - right) <= 1e-14 * (np.abs(left) + np.abs(right))):
        return Pieces(np.asarray(left)[np.newaxis], low[np.newaxis], high[np.newaxis])
    zero = np.zeros(n)
    return Pieces(np.stack([left, right]), np.stack([low, zero]), np.stack([zero, high]))


def _with_width(y: Vector, low: Vector, high: Vector, width: float) -> Pieces:
    """Return the kinks of a loss that is flat on ``width`` either side of y."""
    if width == 0.0:
        return Pieces(y[np.newaxis], low[np.newaxis], high[np.newaxis])
    zero = np.zeros(len(y))
    return Pieces(np.stack([y - width, y + width]), np.stack([low, zero]), np.stack([zero, high]))


def sides(penalty: Penalty, p: int) -> tuple[Vector, Vector] | None:
    """Return the jump of the slope at zero (half of it) and the curvature of each coordinate; None if there is more to it.

    Nothing but its values tells: the slopes at one and at two differ by the curvature, and are odd.
    """
    if not penalty.traits.is_separable:
        return None
    told = penalty.numbers(p)
    if len(told) == 3 and np.array_equal(told[0], -told[1]):
        return told[1], np.full(p, float(told[2]))
    one = np.ones(p)
    curvature = penalty.curvature(one)
    first, second, back = penalty.slope(one), penalty.slope(2 * one), penalty.slope(-one)
    if not np.isfinite(penalty.value(-one)):
        return None
    close = 1e-12 * (np.abs(first) + np.abs(second))
    if np.any(np.abs(second - first - curvature) > close) or np.any(np.abs(back + first) > close):
        return None
    jump = first - curvature
    return np.where(jump > 1e-14 * np.abs(first), jump, 0.0), curvature


def read_straight(problem: Problem) -> tuple[tuple[Vector, Vector] | None, Pieces | None]:
    """Return what `sides` and `pieces` read of a problem, which is read once."""
    kept = problem.kept.get("straight")
    if kept is None:
        kept = sides(problem.penalty, problem.shape[1]), pieces(problem.loss)
        problem.kept["straight"] = kept
    found: tuple[tuple[Vector, Vector] | None, Pieces | None] = kept
    return found


def is_small(n: int, p: int) -> bool:
    """Say whether a table is copied as one array, the intercept's column with it."""
    return n * (p + 1) <= SMALL_TABLE and p <= SMALL_SIDE


class Straight:
    """The list of breakpoints, with the products between (w, b) and it.

    Parameters
    ----------
    problem : Problem
        Of a loss and a penalty that `pieces` and `sides` can read.
    pull : ndarray of shape (p + 1,), optional
        Slope of a linear term in (w, b): rows that are certain to stay on their side.
    """

    def __init__(self, problem: Problem, pull: Vector | None = None) -> None:
        n, p = problem.shape
        self.problem, self.n, self.p = problem, n, p
        penalty, kinks = read_straight(problem)
        if kinks is None or penalty is None:
            raise ValueError("the loss or the penalty is not piecewise linear")
        jump, self.curvature = penalty
        self.copies = len(kinks.kink)
        self.kinked = np.flatnonzero(jump)
        m = len(self.kinked)
        share = 1.0 / max(m, 1)  # the coefficients together weigh as much as the rows together
        self.weight = np.concatenate([*[problem.share] * self.copies, np.full(m, share)])
        self.kink = np.concatenate([kinks.kink.ravel(), np.zeros(m)])
        self.low = np.concatenate([kinks.low.ravel(), -jump[self.kinked] / share])
        self.high = np.concatenate([kinks.high.ravel(), jump[self.kinked] / share])
        self.width = self.high - self.low
        self.size = np.where(problem.sizes > 0, problem.sizes, 1.0)
        self.unit = np.concatenate([np.ones(n * self.copies), 1.0 / self.size[self.kinked]])  # one unit of score
        self.pull = np.zeros(p + 1) if pull is None else pull
        self.is_linear = not self.curvature.any()
        # fewer rows than coefficients, all of them held by the penalty: the inversion lemma pays
        self.is_wide = p > max(n, WIDE) and bool(np.all((self.curvature > 0) | (jump > 0)))

    @property
    def rows(self) -> slice:
        """The part of the list that belongs to rows."""
        return slice(0, self.n * self.copies)

    @cached_property
    def table(self) -> Vector | None:
        """Columns and ones as one array where that is small: NumPy's own products start sooner than those of a design."""
        if not is_small(self.n, self.p):
            return None
        problem, out = self.problem, np.empty((self.n, self.p + 1))
        if isinstance(problem.design, Dense):
            out[:, :-1] = problem.design.table if problem.centre is None else problem.design.table - problem.centre
        else:
            out[:, :-1] = problem.design.product(np.eye(self.p), problem.centre)
        out[:, -1] = 1.0 if self.problem.free_intercept else 0.0
        return out

    @cached_property
    def transposed(self) -> Vector:
        """The columns as they are multiplied, for tables of few rows."""
        return self.problem.design.adjoint_product(np.eye(self.n), self.problem.centre)

    def scores(self, w: Vector, b: float) -> Vector:
        """Return the scores, and the coefficients that stand among them."""
        table = self.table
        t = self.problem.design.product(w, self.problem.centre) if table is None else table[:, :-1] @ w
        t = t + b
        return np.concatenate([*[t] * self.copies, w[self.kinked]])

    def forward(self, d: Vector) -> Vector:
        """Return the change of the scores along a change d of (w, b)."""
        return self.scores(d[:-1], float(d[-1]))

    def per_row(self, x: Vector) -> Vector:
        """Add up what belongs to the same row."""
        return x[: self.n] if self.copies == 1 else x[: self.n] + x[self.n : 2 * self.n]

    def backward(self, x: Vector) -> Vector:
        """Return the sums of x times (columns, 1)."""
        rows = self.per_row(x)
        if self.table is not None:
            out = self.table.T @ rows
        else:
            out = np.empty(self.p + 1)
            out[:-1] = self.problem.design.adjoint_product(rows, self.problem.centre)
            out[-1] = rows.sum() if self.problem.free_intercept else 0.0
        if len(self.kinked):
            out[self.kinked] += x[self.n * self.copies :]
        return out

    def slopes(self, w: Vector, u: Vector) -> Vector:
        """Return the gradient in (w, b) for dual variables u: zero at the optimum."""
        out = self.backward(self.weight * u) + self.pull
        out[:-1] += self.curvature * w
        if not self.problem.free_intercept:
            out[-1] = 0.0
        return out

    def equations(self, weighted: Vector) -> Callable[[Vector], tuple[Vector, Vector]] | None:
        """Return what solves ``(A' diag(weighted) A + curvature) d = g`` for d and A d, A being scores as functions of (w, b)."""
        extra = self.curvature.copy()
        extra[self.kinked] += weighted[self.n * self.copies :]
        c = self.per_row(weighted)
        if self.is_wide:
            return self._by_rows(extra, c)
        matrix = self._gram(c)
        matrix[np.arange(self.p), np.arange(self.p)] += extra
        if not self.problem.free_intercept:
            matrix[-1, -1] = 1.0
        inner = solver_of(matrix)
        if inner is None:
            return None

        def solve(g: Vector) -> tuple[Vector, Vector]:
            d = inner(g)
            return d, self.forward(d)

        return solve

    def _gram(self, c: Vector) -> Vector:
        """Return the weighted products of the columns, the ones among them."""
        problem, p = self.problem, self.p
        if self.table is not None:
            return (self.table * c[:, np.newaxis]).T @ self.table
        design, used = problem.design, np.flatnonzero(c)
        if 4 * len(used) < self.n:  # most rows play no part
            design, c = design.rows(used), c[used]
        fewer = "Choose fewer columns, for example those with more than a few entries that are not zero."
        # the products, what they are gathered in, and their decomposition
        require_memory(4 * 8 * (p + 1) ** 2, f"A central path with the products of {p} columns", fewer)
        matrix = np.zeros((p + 1, p + 1))
        matrix[:p, :p] = design.gram(c, problem.centre)
        if problem.free_intercept:
            matrix[p, :p] = matrix[:p, p] = design.adjoint_product(c, problem.centre)
            matrix[p, p] = c.sum()
        return matrix

    def gram_of(self, c: Vector, columns: Any) -> Vector:
        """Return the weighted products of some of the columns, for weights of few rows; the ones are the last column."""
        used = np.flatnonzero(c)
        if self.table is not None:
            part = self.table[np.ix_(used, columns)]
            return np.asarray((part * c[used, np.newaxis]).T @ part)
        with_ones = len(columns) > 0 and columns[-1] == self.p
        inner, c = columns[:-1] if with_ones else columns, c[used]
        design = self.problem.design.rows(used).columns(inner)
        centre = None if self.problem.centre is None else self.problem.centre[inner]
        whole = design.gram(c, centre)
        if not with_ones:
            return whole
        edge = design.adjoint_product(c, centre)
        return np.block([[whole, edge[:, np.newaxis]], [edge[np.newaxis, :], np.array([[c.sum()]])]])

    def _by_rows(self, extra: Vector, c: Vector) -> Callable[[Vector], tuple[Vector, Vector]] | None:
        """Solve for v = C (X d + b), one unknown a row, by ``(X E^-1 X' + C^-1) v = X E^-1 g + b`` with the sum of v given."""
        transposed, n = self.transposed, self.n
        scaled = transposed / np.sqrt(extra)[:, np.newaxis]
        matrix = scaled.T @ scaled
        c = np.maximum(c, 1e-200)  # a row without weight has next to none
        matrix[np.arange(n), np.arange(n)] += 1.0 / c
        inner = solver_of(matrix)
        if inner is None:
            return None
        free = self.problem.free_intercept
        ones = inner(np.ones(n)) if free else np.zeros(n)

        def solve(g: Vector) -> tuple[Vector, Vector]:
            v = inner(transposed.T @ (g[:-1] / extra))
            b = (float(g[-1]) - float(v.sum())) / float(ones.sum()) if free else 0.0
            v = v + b * ones
            d = (g[:-1] - transposed @ v) / extra
            return np.append(d, b), np.concatenate([*[v / c] * self.copies, d[self.kinked]])

        return solve


def solver_of(matrix: Vector) -> Callable[[Vector], Vector] | None:
    """Factorise a positive definite matrix, scaled to a unit diagonal, with a little more diagonal where it is singular."""
    diagonal = matrix.diagonal()
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix * scale * scale[:, np.newaxis]
    if not np.isfinite(scaled).all():
        return None
    for more in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        scaled.flat[:: len(scale) + 1] += more
        lower = _kernels.cholesky(scaled)
        if lower is not None and lower.diagonal().min(initial=1.0) > SINGULAR:
            break
    else:
        return None

    def solve(g: Vector) -> Vector:
        size = scale if g.ndim == 1 else scale[:, np.newaxis]
        return np.asarray(size * _kernels.solve_cholesky(lower, size * g))

    return solve
