"""Dual coordinate ascent: one dual variable a row, one row at a time, under an l2 penalty.

With ``w = -(1/α) Σ c u x`` the dual is a function of u alone, and largest along one entry where

    ℓ*(u)  -  u t  +  c |x|²/(2α) (u - u_now)²          is least, t being the score of the row:

a closed form for every conjugate ``bend u²/2 + kink u + width |u|`` between two ends (hinge, squared hinge, quantile,
epsilon-insensitive, squared, Huber and others), a few steps of Newton's method for the logistic loss. The order of rows is
drawn again for each pass, in groups of neighbours; rows at an end of their interval that would like to go further rest.

An intercept is free: the sum of ``c u`` must vanish, and single steps do not keep it. The intercept follows the sum as if it
were penalised about its last value, which moves along with it from pass to pass (a proximal point method in b alone).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._kernels import AscentLosses, AscentRows, dual_ascent
from qed.convex._solve import Iterate, delegate
from qed.convex.solvers._interior_point import InteriorPoint
from qed.convex.solvers._newton_cg import NewtonCG
from qed.convex.solvers._straight import sides, solver_of
from qed.designs import Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Loss, Vector
    from qed.convex._problem import Problem


HUGE = 1e300
SEED = 20_011
WORK = 3e7  # multiplications in one call of compiled code: a few hundredths of a second
FEW = 2e4  # multiplications that cost less than the call that makes them
PASSES = 20_000
AT_LEAST = 8  # passes before the first look at the gap, which costs more than they do
PATIENCE = 2000  # passes before they are given up
REST = 50  # passes after which rows that rest are looked at again
CALLS = 2e6  # multiply-adds that cost as much as the calls around a system of equations
TINY = 64  # equations that cost next to nothing
ANGLES = 50  # rows whose angles tell how many directions there are


class DualAscent:
    """Coordinate ascent in the dual, for losses whose steps have a closed form and an l2 penalty."""

    name = "dual ascent"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not one l2 strength, a known conjugate, and a table in memory."""
        penalty = sides(problem.penalty, problem.shape[1])
        if penalty is None or penalty[0].any() or not np.all(penalty[1] == penalty[1][:1]) or not penalty[1].min() > 0:
            return "it needs an l2 penalty of one positive strength"
        if problem.penalty.slope(np.zeros(problem.shape[1])).any():
            return "it needs an l2 penalty towards zero"
        if not isinstance(problem.design, Dense | Sparse):
            return "it needs a table in memory"
        if problem.loss.traits.n_scores > 1 or problem.loss.y.ndim > 1:
            return "it needs one score a row"
        if not problem.loss.traits.is_convex or read_ascent(problem) is None:
            return "it needs a convex loss whose conjugate is quadratic either side of zero, or a logistic one"
        return None

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict passes in proportion to how much rows can pull each other, and to the digits wanted."""
        n, p = problem.shape
        pull = float(np.sum(problem.sizes**2)) / max(float(problem.penalty.curvature(np.ones(p))[0]), 1e-300) / n
        digits = max(1.0, -np.log10(max(tol, 1e-16)))
        # dual variables come to rest at their ends, or at the kinks; where there are none, each digit moves all of them
        traits = problem.loss.traits
        rests = digits if traits.has_curvature and traits.pieces is None else 1.0
        passes = 10 * rests + min(3 * pull, _entangled(problem)) * digits
        entries = 4e-10 * p if isinstance(problem.design, Dense) else 4e-9 * _entries(problem) / max(n, 1)
        entries *= 2.5 if rests > 1 else 1.0
        return float(passes * n * (3e-8 + entries))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        ascent = _Ascent(problem, start)
        each = max(1, int(WORK / max(ascent.entries, 1)))
        least = min(20, max(AT_LEAST, int(FEW / max(ascent.entries, 1))))
        done, asleep = 0, 0
        seen: list[tuple[int, float]] = []
        while done < PASSES:
            passes = min(each, max(least, done // 4), REST)
            ascent.climb(passes)
            done += passes + 1
            asleep += passes
            if ascent.gap > 0.5 * target and asleep < REST:  # of the rows that do not rest
                yield Iterate(*ascent.point(), hint=np.inf)
                continue
            ascent.wake()
            asleep = 0
            ascent.settle()
            ascent.climb(1)
            yield Iterate(*ascent.point(), ascent.u.copy(), ascent.gap)
            if ascent.largest <= 1e-15:
                return
            seen.append((done, ascent.gap))
            if done >= PATIENCE and _is_hopeless(seen, 0.5 * target):
                break
        for other in (InteriorPoint(), NewtonCG()):  # rows that pull each other along for ever are solved for at once
            if other.unsupported_reason(problem) is None:
                yield from delegate(other, problem, ascent.point(), target)
                return


def _is_hopeless(seen: list[tuple[int, float]], target: float) -> bool:
    """Say whether the gap would still be open after all passes allowed, at the pace of the later half of them so far."""
    done, gap = seen[-1]
    then, before = next(one for one in seen if 2 * one[0] >= done)
    if not gap > target:
        return False
    fallen = np.log(max(before, 1e-300) / gap) / max(done - then, 1)
    return not fallen * (PASSES - done) >= np.log(gap / target)


def ascent_losses(loss: Loss) -> AscentLosses | None:
    """Read the conjugate of a loss from its values; None if steps along it have no closed form here."""
    n = len(loss.y)
    if loss.traits.native == "logistic":
        return AscentLosses(np.ascontiguousarray(loss.y), np.zeros(n), np.zeros(n), 0.0, 0.0)
    low, high = loss.project(np.full(n, -HUGE)), loss.project(np.full(n, HUGE))
    if loss.traits.pieces is not None:
        return AscentLosses(np.ascontiguousarray(loss.y), *_open_ends(low, high), *loss.traits.pieces)
    ends = [np.sign(low) * np.minimum(np.abs(low), 1.0), np.sign(high) * np.minimum(np.abs(high), 1.0)]
    bends, lines = [], []
    for end in ends:
        if not end.any():  # nothing on this side
            lines.append(end)
            continue
        whole, half, third = (loss.conjugate(part * end) for part in (1.0, 0.5, 0.25))
        size = np.where(end == 0, 1.0, end)
        bend = 4 * (whole - 2 * half) / size**2
        line = (whole - 0.5 * bend * end**2) / size
        error = np.abs(0.5 * bend * (0.25 * end) ** 2 + 0.25 * end * line - third)
        if np.any(error > 1e-9 * (np.abs(whole) + np.abs(end * loss.y) + np.abs(end))):
            return None
        bends.append(bend[end != 0])
        lines.append(line)
    every = np.concatenate(bends)
    unit = 1e-6 * (1.0 + np.abs(loss.y).max(initial=0.0))
    bend = _one_number(every, unit)
    left, right = np.where(low == 0, lines[1], lines[0]), np.where(high == 0, lines[0], lines[1])
    width = 0.5 * (right - left)
    edge = _one_number(width, unit)
    if bend is None or edge is None or width.min(initial=0.0) < -1e-6:
        return None
    edge = max(edge, 0.0)
    kink = np.ascontiguousarray(0.5 * (left + right))
    return AscentLosses(kink, *_open_ends(low, high), bend, edge)


def _open_ends(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return ends of intervals, those that are out of reach as infinities."""
    return np.where(low <= -0.1 * HUGE, -np.inf, low), np.where(high >= 0.1 * HUGE, np.inf, high)


def _one_number(read: Vector, unit: float) -> float | None:
    """Return the number that all entries are, up to the rounding of differences; None if they differ."""
    if not len(read):
        return 0.0
    low, high = float(read.min()), float(read.max())
    if not high - low <= unit:
        return None
    # the middle of many is nearer than the ends of a range that rounding has spread
    return round(float(read.mean() if high - low > 1e-9 else 0.5 * (low + high)), 9)


def read_ascent(problem: Problem) -> AscentLosses | None:
    """Return what `ascent_losses` reads of a problem's loss, which is read once."""
    if "ascent" not in problem.kept:
        problem.kept["ascent"] = ascent_losses(problem.loss)
    found: AscentLosses | None = problem.kept["ascent"]
    return found


def _entries(problem: Problem) -> float:
    return float(problem.design.table.nnz)  # type: ignore[attr-defined]  # of a sparse table


def _entangled(problem: Problem) -> float:
    """Predict how far rows are from orthogonal: the condition of their products, if there are far more directions than rows.

    With columns that are independent, n rows in d of them have products whose eigenvalues lie between the squares of
    ``1 - sqrt(n / d)`` and ``1 + sqrt(n / d)``; d is told from the angles between a few of them.
    """
    n, p = problem.shape
    if p <= n or n < 2 or not isinstance(problem.design, Dense):
        return np.inf
    rows = np.asarray(problem.design.table[:: -(-n // ANGLES)], dtype=np.float64)
    rows = rows if problem.centre is None else rows - problem.centre
    products = rows @ rows.T
    squares = products.diagonal().copy()
    if not np.all(squares > 0):
        return np.inf
    cosines = products**2 / np.multiply.outer(squares, squares)
    pairs = max(len(rows) * (len(rows) - 1), 1)
    crowd = n * (float(cosines.sum()) - len(rows)) / pairs  # n / d
    return ((1 + np.sqrt(crowd)) / (1 - np.sqrt(crowd))) ** 2 if crowd < 1 else np.inf


class _Ascent:
    """Dual variables, and the coefficients that follow from them."""

    def __init__(self, problem: Problem, start: tuple[Vector, Any]) -> None:
        n, p = problem.shape
        self.problem = problem
        losses = read_ascent(problem)
        assert losses is not None  # noqa: S101  refused before
        self.losses, self.logistic = losses, problem.loss.traits.native == "logistic"
        self.table = table = rows_of(problem.design)
        self.entries = table.size if isinstance(table, np.ndarray) else table.nnz
        self.spent = 0.0  # multiply-adds since equations were solved
        self.centre = np.zeros(p) if problem.centre is None else problem.centre
        plain, lengths = problem.design, row_squares(table)
        along = plain.product(self.centre) if problem.centre is not None else np.zeros(n)
        square = float(self.centre @ self.centre)
        self.alpha = float(problem.penalty.curvature(np.ones(p))[0])
        squares = np.maximum(lengths - 2 * along + square, 0.0)
        give = max(float(problem.share @ squares), 1e-300) / self.alpha if problem.free_intercept else 0.0
        self.rows = AscentRows(np.ascontiguousarray(problem.share), squares, along, square, self.alpha, give)
        self.seed, self.order, self.active = SEED, np.arange(n), n
        w, b = np.asarray(start[0], dtype=np.float64), float(start[1])
        # the slope at the start is a dual point; nothing is known of it at the null model, where zero is as good
        self.u = problem.loss.project(np.asarray(problem.loss.slope(problem.scores(w, b)))) if w.any() else np.zeros(n)
        if self.logistic:
            self.u = -problem.loss.y * np.clip(-problem.loss.y * self.u, 1e-12, 1 - 1e-12)
        self.u = np.ascontiguousarray(
            np.clip(self.u, self.losses.low, self.losses.high) if not self.logistic else self.u
        )
        self.numbers = np.zeros(7)
        self.numbers[2] = b
        self._recompute()

    def _recompute(self) -> None:
        """Make coefficients afresh from the dual variables; rounding of many steps is left behind."""
        weighted = self.problem.share * self.u
        self.w = np.ascontiguousarray(-self.problem.design.adjoint_product(weighted) / self.alpha)
        self.numbers[0] = -float(weighted.sum()) / self.alpha
        self.numbers[1] = float(self.centre @ self.w)
        self.numbers[3] = float(weighted.sum())
        self.numbers[4] = np.inf

    @property
    def gap(self) -> float:
        """What the last pass found to be left."""
        return float(self.numbers[6])

    @property
    def largest(self) -> float:
        """Largest slope that the last pass found."""
        return float(self.numbers[5])

    def climb(self, passes: int) -> None:
        """Visit the active rows."""
        state = (self.u, self.w, self.order, self.numbers)
        counts = (self.active, self.seed, passes)
        self.spent += float(self.entries) * passes
        self.active, self.seed = dual_ascent(self.table, self.losses, self.rows, state, counts, logistic=self.logistic)

    def wake(self) -> None:
        """Let all rows take part again, in the next pass at least."""
        self.active = len(self.u)
        self._recompute()

    def settle(self) -> None:
        """Solve for all dual variables between their ends at once, as far as they stay between them.

        Where the conjugates are straight, ascent by single rows comes to the optimum slowly when rows are alike; which rows
        are on their kink is known early, and one system of equations then tells their variables. Without an intercept only.
        """
        losses, u = self.losses, self.u
        if self.logistic or losses.bend > 0 or self.rows.give > 0:
            return
        free = np.flatnonzero((u > losses.low) & (u < losses.high) & ((u != 0) | (losses.width == 0)))
        if not 0 < len(free) <= 2 * self.w.size:
            return
        m, width = len(free), self.entries / len(u)
        # equations are no dearer than all that was done instead of them
        is_tiny = m <= TINY and self.entries <= FEW
        if not is_tiny and CALLS + m * m * (width + m / 3) > self.spent:
            return
        self.spent = 0.0
        X = self.table[free]
        products = X @ X.T
        products = np.asarray(products if isinstance(products, np.ndarray) else products.toarray(), dtype=np.float64)
        wanted = losses.kink[free] + losses.width * np.sign(u[free])
        solve, lack = solver_of(products), wanted - X @ self.w
        if solve is None and not is_tiny:
            return
        moved = (
            np.linalg.lstsq(products, lack, rcond=1e-12)[0] if solve is None else solve(lack)
        )  # rows may be repeated
        step = -self.alpha * moved / self.rows.weight[free]
        if not np.isfinite(step).all():
            return
        low = np.maximum(losses.low[free], np.where((u[free] > 0) & (losses.width > 0), 0.0, -np.inf))
        high = np.minimum(losses.high[free], np.where((u[free] < 0) & (losses.width > 0), 0.0, np.inf))
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (high - u[free]) / step, np.where(step < 0, (low - u[free]) / step, np.inf))
        length = min(1.0, float(room.min()))
        self.u[free] = np.clip(u[free] + length * step, low, high)
        self._recompute()

    def point(self) -> tuple[Vector, float]:
        """Return coefficients, and the intercept of the centred columns."""
        drift, _, base, total = self.numbers[:4]
        return self.w - drift * self.centre, float(base - self.rows.give * total)


def rows_of(design: Any) -> Any:
    """Return a table whose rows lie together: an array with contiguous rows, or one compressed by rows."""
    table = design.table
    if not isinstance(table, np.ndarray):
        return table.tocsr()
    return table if table.strides[1] == table.itemsize or table.shape[1] <= 1 else np.ascontiguousarray(table)


def row_squares(table: Any) -> Vector:
    """Return the squared length of each row."""
    if isinstance(table, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", table, table, dtype=np.float64))
    values = np.asarray(table.data, dtype=np.float64)
    sums = np.add.reduceat(np.append(values * values, 0.0), table.indptr[:-1])
    return np.asarray(np.where(np.diff(table.indptr) > 0, sums, 0.0))
