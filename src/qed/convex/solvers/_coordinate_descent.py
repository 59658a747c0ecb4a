"""Coordinate descent on working sets: a few columns at a time are solved for, the rest are only looked at.

One pass over the design tells which coefficients want to leave zero, and how far that is from optimal. The columns that
want it most join the working set, which is taken out of the design; everything until the next pass happens there, on the
products of its columns with each other where those pay, along the columns themselves where they do not. A loss with
changing curvature is replaced, on the working set, by its second-order model, again and again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import PointCache
from qed.convex._passes import Passes, ScorePasses
from qed.convex._solve import Iterate
from qed.convex._working_columns import gram_pays, taken_columns, working_columns
from qed.convex.solvers._curved_columns import by_compressed_columns, takes_compressed_columns
from qed.convex.solvers._narrow import by_products, rows_of_loss, takes_products
from qed.designs import Compressed, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem
    from qed.convex._working_columns import WorkingColumns


FIRST = 4.0  # columns of the first working set, times the root of all: its Gram matrix then costs about a pass
LEAST = 32
SWEEPS = 2000  # of one descent, at most
NEWTON_STEPS = 20  # on one working set, at most
ROUGH = 0.01  # and a first one, of a loss whose curvature changes, to this share of the gap there is
TIGHTER = 0.25  # a working set is solved to this share of the gap asked for


class _Look(NamedTuple):
    """A point, and what one pass over the design tells about it."""

    w: Vector
    b: Any
    t: Vector
    slope: Vector
    gradient: Vector
    gap: float
    known: PointCache | None = None  # for the proof; None if it is scores, slope and gradient


class CoordinateDescent:
    """One coefficient (or row of coefficients) after the other, on a working set that grows until nothing is missing."""

    name = "coordinate descent"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse penalties that no compiled loop knows, and losses without curvature."""
        penalty, loss = problem.penalty.traits, problem.loss.traits
        if penalty.native not in ("kinks", "rows"):
            return "it needs a penalty that its compiled loops know"
        if not loss.has_curvature:
            return "it needs a loss with curvature"
        if loss.n_scores > 1 and not loss.is_quadratic:
            return "it takes several scores a row only with a quadratic loss"
        return None

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict some passes, each followed by a descent on a few columns."""
        n, p = problem.shape
        passes = 5 if problem.loss.traits.is_quadratic else 12
        return float(1e-9 * n * p * passes * max(1.0, -0.25 * np.log10(max(tol, 1e-16))) + 1e-4)

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield a point for each working set."""
        if not problem.loss.traits.is_quadratic and problem.penalty.traits.native == "kinks":
            if takes_compressed_columns(problem):
                yield from by_compressed_columns(problem, start, target)
                return
            if takes_products(problem) and rows_of_loss(problem) is not None:
                yield from by_products(problem, start, target)
                return
        if problem.loss.traits.is_quadratic:
            descent: _Quadratic | _Curved = _Quadratic(problem)
        else:
            problem = _by_columns(problem)
            descent = _Curved(problem)
        size = _first_size(problem)
        few = size == problem.shape[1] and problem.loss.traits.is_quadratic
        at = descent.unseen(*start) if few else descent.look(*start)
        # a start that is the answer already: the null model under a strong penalty, an earlier fit
        if at.gap <= target:
            yield _iterate(at, at.gap)
        while True:
            wanted = np.flatnonzero(problem.spans) if few else _wanted(problem, at, size)
            size = descent.use(wanted)
            at, is_exact = descent.solve(at, TIGHTER * target)
            done = at.gap > target and is_exact and not len(_missing(problem, at, descent.index))
            # nothing is missing and the gap is still open: the proof must do better than the slope, or rounding rules
            yield _iterate(at, None if done else at.gap)
            if done and not descent.sharpen():
                return


def _by_columns(problem: Problem) -> Problem:
    """Return the same problem on a sparse table compressed by columns, which are taken out of it again and again."""
    plain = problem.design
    if not isinstance(plain, Sparse) or plain.table.format == "csc":
        return problem
    return replace(problem, design=Sparse(plain.table.tocsc()), lengths=problem.spans)


def _iterate(at: _Look, hint: float | None) -> Iterate:
    known = PointCache(t=at.t, slope=at.slope, gradient=at.gradient) if at.known is None else at.known
    return Iterate(at.w, at.b, hint=hint, known=known)


def _first_size(problem: Problem) -> int:
    p = problem.shape[1]
    return int(min(p, max(LEAST, FIRST * np.sqrt(p))))


def _away(problem: Problem, at: _Look) -> Vector:
    """Return how far the pull on each coefficient is beyond what its penalty holds, by the length of its column.

    Negative numbers say how much is missing: the smaller the distance, the sooner a coefficient may leave zero.
    """
    z, span = -at.gradient, problem.spans
    numbers = problem.penalty.numbers(len(z))
    if problem.penalty.traits.native == "rows":
        beyond = np.sqrt(np.einsum("ij,ij->i", z, z)) - numbers[0]
    elif z.ndim == 2:
        beyond = np.maximum(z - numbers[1][:, np.newaxis], numbers[0][:, np.newaxis] - z).max(axis=1)
    else:
        beyond = np.maximum(z - numbers[1], numbers[0] - z)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(span > 0, beyond / span, -np.inf))


def _in_use(w: Vector) -> Any:
    return np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))


def _wanted(problem: Problem, at: _Look, size: int) -> np.ndarray[Any, Any]:
    """Return the columns to work on: all in use, and about as many more, those that want to be used first."""
    away = _away(problem, at)
    used = _in_use(at.w)
    away[used] = np.inf
    wanting = int(np.count_nonzero(away > 0)) - len(used)
    more = max(min(wanting + wanting // 2, max(len(used), size)), min(size, LEAST)) + 8
    count = min(len(used) + more, int(np.count_nonzero(away > -np.inf)))
    return np.argpartition(-away, count - 1)[:count] if 0 < count < len(away) else np.flatnonzero(away > -np.inf)


def _missing(problem: Problem, at: _Look, index: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the columns that want to be used and are not worked on."""
    away = _away(problem, at)
    away[index] = -np.inf
    return np.flatnonzero(away > 0)


class _Descent:
    """What both kinds of loss share: a working set, and a look at a point."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.numbers = problem.penalty.numbers(problem.shape[1])
        self.is_bounding = problem.penalty.traits.is_bounding
        self.index: np.ndarray[Any, Any] = np.zeros(0, dtype=np.int64)
        self.tighter = 1.0

    def look(self, w: Vector, b: Any) -> _Look:
        """Make the scores of a point, which only the columns in use take part in, and one pass."""
        problem = self.problem
        used = _in_use(w)
        t = np.broadcast_to(np.asarray(b, dtype=np.float64), problem.loss.y.shape).copy()
        if len(used):
            centre = None if problem.centre is None else problem.centre[used]
            few = 4 * len(used) < problem.shape[1]
            t += (
                problem.design.columns(used).product(w[used], centre)
                if few
                else problem.design.product(w, problem.centre)
            )
        return self._passed(w, b, t)

    @staticmethod
    def unseen(w: Vector, b: Any) -> _Look:
        """Return a point that nothing is known of: with few columns the first pass would tell what the first step tells."""
        nothing = np.zeros(0)
        return _Look(w, b, nothing, nothing, nothing, np.inf)

    def _passed(self, w: Vector, b: Any, t: Vector, gap: float | None = None) -> _Look:
        """Make one pass at a point; its gap may be known from a descent over all columns."""
        problem = self.problem
        slope = problem.loss.slope(t)
        gradient = problem.adjoint(slope)
        return _Look(w, b, t, slope, gradient, self._gap(w, t, slope, gradient) if gap is None else gap)

    def _gap(self, w: Vector, t: Vector, slope: Vector, gradient: Vector) -> float:
        """Return the gap of the slope as a dual point, rounding left aside."""
        problem, penalty = self.problem, self.problem.penalty
        if not self.is_bounding:
            return np.inf
        nothing = np.zeros(gradient.shape)
        factor = penalty.shrink(-gradient, nothing)
        excess = float(problem.share @ problem.loss.excess(t, factor * slope)) if factor < 1 else 0.0
        return excess + penalty.excess(w, -factor * gradient, nothing)[0]

    def sharpen(self) -> bool:
        """Ask for more digits; False if there are none left."""
        self.tighter *= 1e-3
        return self.tighter > 1e-10

    def _penalty(self, index: Any) -> tuple[Any, ...]:
        return (*(one[index] for one in self.numbers[:-1]), self.numbers[-1])


class _Quadratic(_Descent):
    """Half the squared error: the working set is solved as it is."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.root = np.sqrt(problem.share)
        self.passes, self.score_passes = Passes(problem), ScorePasses(problem)
        self.columns: WorkingColumns  # there with the first working set
        y, b = problem.loss.y, problem.null_point[1]
        self.b = b  # of centred columns the best intercept is the mean, whatever the coefficients
        self.target = y - b
        self.pull: Vector = np.zeros((0, *y.shape[1:]))

    def _scaled(self, rows: Vector) -> Vector:
        return rows * (self.root if rows.ndim == 1 else self.root[:, np.newaxis])

    def use(self, wanted: np.ndarray[Any, Any]) -> int:
        """Take the columns that are not there yet."""
        if not len(self.index):
            self.columns = working_columns(self.problem.design, self.root, self.problem.centre, np.sort(wanted))
        else:
            fresh = np.setdiff1d(wanted, self.index)
            if len(fresh):
                self.columns.add(fresh)
        self.index = self.columns.index
        return len(self.index)

    def solve(self, at: _Look, target: float) -> tuple[_Look, bool]:
        """Minimise over the working set, then make one pass."""
        columns, index = self.columns, self.index
        target *= self.tighter
        w = at.w[columns.places]
        # along columns a sweep is dear, and the set will grow: no more digits than the others allow
        along = w.ndim == 1 and not columns.prefers_gram()
        rough = max(target, 0.02 * at.gap) if along and np.isfinite(at.gap) and len(index) < len(at.w) else target
        gap = None
        if len(index):
            w, gap = self._descended(columns, self._penalty(columns.places), (rough, SWEEPS), w, along=along)
        is_whole = len(index) == len(at.w)
        gap = gap if is_whole and self.is_bounding and gap is not None and gap <= target else None
        whole = np.zeros_like(at.w)
        whole[columns.places] = w
        if is_whole:
            return self._seen(whole, gap), rough == target
        fitted = columns.product(w)
        t = fitted / (self.root if fitted.ndim == 1 else self.root[:, np.newaxis]) + self.b
        return self._passed(whole, self.b, t, gap), rough == target

    def _seen(self, w: Vector, gap: float | None) -> _Look:
        """Make scores and gradient in one pass, where all columns take part in the scores anyway."""
        if w.ndim == 2:
            looked = self.score_passes.at(np.concatenate([w, self.b[np.newaxis]]))
            slope, gradient = self.problem.loss.slope(looked.t), looked.slope[:-1]
            gap = self._gap(w, looked.t, slope, gradient) if gap is None else gap
            return _Look(
                w, self.b, looked.t, slope, gradient, gap, looked.known._replace(slope=slope, gradient=gradient)
            )
        seen = self.passes.at(w, self.b)
        slope = self.problem.loss.slope(seen.t) if seen.known.slope is None else seen.known.slope
        gap = self._gap(w, seen.t, slope, seen.slope_w) if gap is None else gap
        return _Look(w, self.b, seen.t, slope, seen.slope_w, gap, seen.known)

    def _descended(
        self, columns: WorkingColumns, penalty: tuple[Any, ...], goal: tuple[float, int], w: Vector, *, along: bool
    ) -> tuple[Vector, float]:
        if along:
            residual = columns.product(w) - self._scaled(self.target)
            w, _, _, _, gap = columns.descend(penalty, goal, w, residual)
            return w, gap
        Q = columns.gram()
        if len(self.pull) < len(w):
            self.pull = columns.adjoint(self.target)
        constant = 0.5 * float((self.problem.share @ (self.target * self.target)).sum())
        rows = self.problem.penalty.traits.native == "rows"
        if w.ndim == 1 and rows:
            strength, ridge = penalty
            penalty, rows = (-strength, strength, ridge), False
        kernel = _kernels.descend_gram if w.ndim == 1 else _kernels.descend_rows if rows else _kernels.descend_targets
        w, _, _, gap = kernel(Q, self.pull, constant, penalty, goal, w)
        return w, gap


class _Curved(_Descent):
    """A loss whose curvature changes: its second-order model is solved on the working set, with a search along the line."""

    def use(self, wanted: np.ndarray[Any, Any]) -> int:
        """Work on these columns; their weights change with every step, so nothing is kept."""
        problem = self.problem
        is_in = np.zeros(problem.shape[1], dtype=bool)
        is_in[self.index] = is_in[wanted] = True
        if np.count_nonzero(is_in) == len(self.index):
            return len(self.index)
        self.index = np.flatnonzero(is_in)
        self.plain = problem.design.columns(self.index)
        self.centre = None if problem.centre is None else problem.centre[self.index]
        self.by_gram = gram_pays(self.plain)
        self.entries = None
        if isinstance(self.plain, Sparse) and not self.by_gram:
            self.entries = Compressed(*problem.design.taken(self.index, np.ones(problem.shape[0])))
        return len(self.index)

    def solve(self, at: _Look, target: float) -> tuple[_Look, bool]:
        """Take Newton steps on the working set, then make one pass."""
        problem, index = self.problem, self.index
        target *= self.tighter
        # the set will grow: no more digits than the columns outside allow
        rough = max(target, ROUGH * at.gap) if np.isfinite(at.gap) and len(index) < len(at.w) else target
        w, b, t = at.w[index], at.b, at.t
        penalty = problem.penalty.take(index)
        value = float(problem.share @ problem.loss.value(t)) + penalty.value(w)
        gained = min(value, at.gap)
        for _ in range(NEWTON_STEPS):
            step = self._step(w, t, 0.1 * max(rough, 0.1 * gained))
            if step is None:
                break
            d, db, fall = step
            change = self.plain.product(d, self.centre) + db
            length = 1.0
            for _ in range(40):
                new = float(problem.share @ problem.loss.value(t + length * change)) + penalty.value(w + length * d)
                if new <= value - 0.1 * length * fall:
                    break
                length *= 0.5
            else:
                break
            w, b = w + length * d, b + length * db
            t = self.plain.product(w, self.centre) + b
            gained, value = value - new, new
            if length == 1.0 and gained < rough:
                break
        whole = np.zeros_like(at.w)
        whole[index] = w
        return self._passed(whole, b, t), rough == target

    def _step(self, w: Vector, t: Vector, goal: float) -> tuple[Vector, float, float] | None:
        """Return the step to the minimum of the second-order model, and how far the objective should fall at least."""
        problem = self.problem
        slope = problem.loss.slope(t)
        weight = problem.share * problem.loss.curvature(t)
        weight = np.maximum(weight, 1e-12 * float(weight.max(initial=0.0)))
        total = float(weight.sum())
        if not total > 0:
            return None
        c = problem.share * slope
        g = self.plain.adjoint_product(c, self.centre)
        lean = float(c.sum()) if problem.free_intercept else 0.0
        edge = self.plain.adjoint_product(weight, self.centre) if problem.free_intercept else np.zeros_like(w)
        # the intercept of the model is the best one for every w: it is eliminated by centring with the weights of the model
        middle, level = (edge / total, lean / total) if problem.free_intercept else (edge, 0.0)
        if self.by_gram:
            Q = self.plain.gram(weight, self.centre) - np.multiply.outer(edge, middle)
            pull = Q @ w - (g - edge * level)
            constant = 0.5 * float(np.sum(c * c / weight)) + max(0.0, float(w @ (pull - 0.5 * (Q @ w))))
            new = _kernels.descend_gram(Q, pull, constant, self._penalty(self.index), (goal, SWEEPS), w)[0]
        else:
            root = np.sqrt(weight)
            centre = np.zeros(problem.shape[1])
            centre[self.index] = middle if self.centre is None else self.centre + middle
            columns = taken_columns(problem.design, root, centre, self.index, self.entries)
            new = columns.descend(self._penalty(self.index), (goal, SWEEPS), w, (c - level * weight) / root)[0]
        d = new - w
        if not d.any() and lean == 0.0:
            return None
        db = -(lean + float(edge @ d)) / total if problem.free_intercept else 0.0
        part = problem.penalty.take(self.index)
        fall = -(float(c @ (self.plain.product(d, self.centre) + db)) + part.value(new) - part.value(w))
        return (d, db, max(fall, 0.0))
