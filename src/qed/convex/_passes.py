"""One pass over the rows of a smooth problem: everything that a step, a line search and a proof ask of a point.

Compiled where the loss has a name that compiled loops know: on a table, or on each chunk of a source, whose sums a fold adds up.
Products of the design elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import PointCache
from qed.convex._problem import NEARLY, Problem
from qed.convex._sample_rows import rows_apart
from qed.core._once import cached_property
from qed.designs import Chunked, Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.convex._loss import Loss, Vector
    from qed.data import Chunk


MANY = 50_000  # rows up to which slopes are kept beside scores
LIVING = 3  # points whose scores are in use at a time
MOST = 1 << 16  # coefficients of all scores whose sums a compiled pass keeps apart for each block of rows
NARROW = 384  # columns up to which second derivatives join the pass; more of them are better made in tiles


class Seen(NamedTuple):
    """What one pass shows at a point.

    Attributes
    ----------
    value : float
        Weighted mean loss.
    slope_w, slope_b : ndarray, float or ndarray
        Its gradient.
    t : ndarray
        Scores; they hold as long as no more than two further passes are made.
    known : PointCache
        Products that a proof would make again.
    sides : tuple of float
        Weighted sums of positive and of negative slopes.
    bend : ndarray of shape (n,) or None
        Shares times curvatures, if asked for.
    hessian : ndarray of shape (p + 1, p + 1) or None
        Second derivatives by the coefficients and the intercept, if asked for.
    """

    value: float
    slope_w: Vector
    slope_b: Any
    t: Vector
    known: PointCache
    sides: tuple[float, float]
    bend: Vector | None = None
    hessian: Vector | None = None


class LaterScores:
    """Scores of the rows of a source at a point, read as an array where one is wanted.

    Those of a sample that is in memory are computed there; all of them take a pass, whose scores are then kept. Few ask: a proof
    by the curvature of a sample asks for those of the sample.
    """

    def __init__(self, problem: Problem, w: Vector, b: Any) -> None:
        self._problem, self._w, self._b = problem, w, float(b)

    ndim = 1

    @property
    def shape(self) -> tuple[int]:
        """Number of rows."""
        return (self._problem.shape[0],)

    @cached_property
    def _all(self) -> Vector:
        return np.asarray(self._problem.scores(self._w, self._b))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Vector:
        return self._all if dtype is None else self._all.astype(dtype)

    def __getitem__(self, rows: Any) -> Any:
        problem, step = self._problem, rows.step if isinstance(rows, slice) else None
        part = problem.kept.get(f"one row in {step}")
        if "_all" in self.__dict__ or part is None or rows != slice(None, None, step):
            return self._all[rows]
        return part.product(self._w, problem.centre) + self._b

    def __sub__(self, other: Any) -> Vector:
        return np.asarray(np.subtract(self._all, other))

    def __add__(self, other: Any) -> Vector:
        return np.asarray(np.add(self._all, other))


@dataclass(frozen=True, eq=False)
class Passes:
    """Passes over the rows of one problem.

    Parameters
    ----------
    problem : Problem
        With a loss that has curvature.
    """

    problem: Problem

    @cached_property
    def _shift(self) -> Vector:
        centre = self.problem.centre
        return np.zeros(self.problem.shape[1]) if centre is None else centre

    @cached_property
    def _buffers(self) -> list[Vector]:
        return []

    def _buffer(self) -> Vector:
        """Return a table that a pass writes scores and slopes to, each in turn: fresh pages would cost as much as the scores.

        Slopes of many rows are not kept: proofs that need them are rare, and they are found again from the scores.
        """
        n, used = self.problem.shape[0], self._buffers
        used.append(used.pop(0) if len(used) == LIVING else np.empty((2 if n <= MANY else 1, n)))
        return used[-1]

    @cached_property
    def _native(self) -> str | None:
        """Name of a loss of one score that the compiled pass knows; None means products of the design."""
        problem = self.problem
        fits = problem.loss.y.ndim == 1 and problem.loss.traits.n_scores == 1
        name = problem.loss.traits.native
        is_read = isinstance(problem.design, Dense | Sparse | Chunked)
        return name if fits and name in _kernels.ONE_SCORE and is_read else None

    @property
    def is_compiled(self) -> bool:
        """Whether one read of the table does it all."""
        return self._native is not None

    @cached_property
    def _by_rows(self) -> Any:
        """The table of a sparse design, compressed by rows."""
        return self.problem.design.table.tocsr()  # type: ignore[attr-defined]

    def at(self, w: Vector, b: Any, *, bend: bool = False, hessian: bool = False, scores: bool = True) -> Seen:
        """Look at a point; scores of a source that are not asked for are found when they are used."""
        problem = self.problem
        if self._native is None:
            return self._by_products(w, b, bend=bend, hessian=hessian)
        point, wanted = (w, float(b), self._shift), (bend, hessian)
        if isinstance(problem.design, Chunked):
            of = partial(_pass_of_chunk, name=self._native, point=point, wanted=wanted, scores=scores)
            (found_t, curve), (sums, rise, fall, second) = problem.design.fold_rows(of, problem.loss.y, problem.share)
            t: Any = LaterScores(problem, w, b) if found_t is None else found_t
            slope = None
        else:
            out = self._buffer()
            X = problem.design.table if isinstance(problem.design, Dense) else self._by_rows
            found = _table_pass(self._native, X, (problem.loss.y, problem.share, out), point, wanted)
            sums, rise, fall, curve, second = found
            t, slope = out[0], out[1] if len(out) == 2 else None
        if hessian and second is None:
            curve = problem.share * problem.loss.curvature(t) if curve is None else curve
            second = self._second(curve)
        sides = (float(sums[1]), float(sums[2]))
        slope_w = rise + fall
        lengths = (float(np.sqrt(sums[4])), float(np.sqrt(sums[5])))
        known = PointCache(t, rise, fall, slope, float(sums[0]), sides=(sides[0], -sides[1]), lengths=lengths)
        return Seen(float(sums[0]), slope_w, sides[0] + sides[1], t, known, sides, curve, second)

    def curvature_product(self, bend: Vector, v: Vector) -> Vector:
        """Return ``[X | 1]' diag(bend) [X | 1] v`` for v of length p + 1."""
        design = self.problem.design
        if isinstance(design, Dense):
            return _kernels.curvature_product(design.table, bend, self._shift, v)
        if isinstance(design, Sparse):
            return _kernels.csr_curvature_product(self._by_rows, bend, self._shift, v)
        if isinstance(design, Chunked):
            of = partial(_curvature_of_chunk, shift=self._shift, v=v)
            return np.asarray(design.fold_rows(of, None, bend)[1][0])
        change = bend * (design.product(v[:-1], self.problem.centre) + v[-1])
        return np.append(design.adjoint_product(change, self.problem.centre), change.sum())

    def _by_products(self, w: Vector, b: Any, *, bend: bool, hessian: bool) -> Seen:
        problem, loss, c = self.problem, self.problem.loss, self.problem.share
        t = problem.scores(w, b)
        slope = loss.slope(t)
        value = float(c @ loss.value(t))
        if t.ndim == 2:
            return Seen(value, problem.adjoint(slope), c @ slope, t, PointCache(t), (0.0, 0.0))
        sides = np.stack([np.maximum(slope, 0.0), np.minimum(slope, 0.0)], axis=1)
        rise, fall = problem.adjoint(sides).T
        over, under = c @ sides
        curve = c * loss.curvature(t) if bend or hessian else None
        second = self._second(curve) if hessian and curve is not None else None
        return Seen(value, rise + fall, over + under, t, PointCache(t, rise, fall), (over, under), curve, second)

    def _second(self, curve: Vector) -> Vector:
        """Return the second derivatives by products of the design."""
        problem = self.problem
        gram = problem.design.gram(curve, problem.centre)
        edge = problem.design.adjoint_product(curve, problem.centre)
        return np.block([[gram, edge[:, np.newaxis]], [edge[np.newaxis, :], np.array([[curve.sum()]])]])


def _table_pass(
    name: str,
    X: Any,
    rows: tuple[Vector, Vector, Vector],
    point: tuple[Vector, float, Vector],
    wanted: tuple[bool, bool],
) -> tuple[Any, ...]:
    """Return sums, rise, fall, bend and hessian of a table; one of many columns has no hessian."""
    bend, hessian = wanted
    if isinstance(X, np.ndarray):
        return _kernels.dense_pass(name, X, rows, point, bend=bend, hessian=hessian and point[0].size <= NARROW)
    return _kernels.csr_pass(name, X, rows, point, bend=bend or hessian)


def _pass_of_chunk(
    chunk: Chunk, name: str, point: tuple[Vector, float, Vector], wanted: tuple[bool, bool], *, scores: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return what a pass shows of each row of a chunk, whose targets and weights are those of the problem, and its sums."""
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.tocsr()
    out = np.empty((1, chunk.n_rows))
    y: Vector = np.asarray(chunk.y)[:, 0]
    sums, rise, fall, curve, second = _table_pass(name, X, (y, np.asarray(chunk.s), out), point, wanted)
    keeps = wanted[0] or (wanted[1] and second is None)
    return (out[0] if scores else None, curve if keeps else None), (sums, rise, fall, second)


def _curvature_of_chunk(chunk: Chunk, shift: Vector, v: Vector) -> tuple[tuple[()], tuple[Vector]]:
    of = _kernels.curvature_product if isinstance(chunk.X, np.ndarray) else _kernels.csr_curvature_product
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.tocsr()
    return (), (of(X, np.asarray(chunk.s), shift, v),)


class Looked(NamedTuple):
    """What one pass shows of all scores: mean loss, its gradient with the intercepts last, scores, and what a proof needs."""

    value: float
    slope: Vector
    t: Vector
    known: PointCache


@dataclass(frozen=True, eq=False)
class ScorePasses:
    """Passes over the rows of a problem of one score a row or of several.

    Parameters
    ----------
    problem : Problem
        With a loss that has curvature.
    """

    problem: Problem

    @cached_property
    def _turn(self) -> Iterator[Vector]:
        """Tables that passes write scores to in turn."""
        return cycle([np.empty((self.problem.shape[0], self.problem.loss.traits.n_scores)) for _ in range(LIVING)])

    @cached_property
    def _native(self) -> Any:
        """The compiled pass of the loss, if there is one: of classes, or of several targets."""
        problem = self.problem
        if not isinstance(problem.design, Dense) or problem.shape[1] * problem.loss.traits.n_scores > MOST:
            return None
        if problem.loss.traits.native == "squared" and problem.loss.y.ndim == 2:
            return _kernels.targets_pass
        return _kernels.softmax_pass if problem.loss.traits.native == "softmax" else None

    @property
    def is_compiled(self) -> bool:
        """Whether one read of the table does it all."""
        return self._native is not None

    @cached_property
    def _centres(self) -> tuple[Vector, Vector]:
        """What is subtracted from each row, and what from sums over rows: columns that are nearly centred are read as they are."""
        problem = self.problem
        none = np.zeros(problem.shape[1])
        if problem.centre is None:
            return none, none
        is_near = bool(np.all(np.abs(problem.centre) <= NEARLY * problem.spans))
        return (none, problem.centre) if is_near else (problem.centre, none)

    def at(self, z: Vector) -> Looked:
        """Look at coefficients with intercepts stacked below; scores hold as long as two further passes are not made."""
        problem = self.problem
        w, b = z[:-1], z[-1]
        if not self.is_compiled:
            t = problem.scores(w, b)
            value, slope = value_and_slope(problem.loss, t)
            pull = problem.share * slope if slope.ndim == 1 else problem.share[:, np.newaxis] * slope
            top = problem.design.adjoint_product(pull, problem.centre)
            found = np.concatenate([top, np.reshape(pull.sum(axis=0), (1, *z.shape[1:]))])
            loss, known = float(problem.share @ value), PointCache(t)
            if z.ndim == 2 and problem.loss.y.ndim == 1:
                known = PointCache(t, loss=loss, gradient=top, level=found[-1].copy())
        else:
            out = next(self._turn)
            first, later = self._centres
            table = problem.design.table  # type: ignore[attr-defined]
            sums, found = self._native(table, (problem.loss.y, problem.share, out), (w, b - later @ w, first))
            found[:-1] -= np.multiply.outer(later, found[-1])
            t, loss = out, float(sums[0])
            lengths = (math.sqrt(sums[1]), math.sqrt(sums[2]))
            known = PointCache(t, loss=loss, gradient=found[:-1], lengths=lengths, level=found[-1].copy())
        if not problem.free_intercept:
            found[-1] = 0.0
        return Looked(loss, found, t, known)

    def bends(self, t: Vector) -> Callable[[Vector], Vector]:
        """Return how second derivatives of the loss at scores act on a change of coefficients and intercepts."""
        problem = self.problem
        if self._native is _kernels.softmax_pass:
            first, later = self._centres
            table, probabilities = problem.design.table, self._probabilities(t)  # type: ignore[attr-defined]

            def bend(v: Vector) -> Vector:
                moved = np.concatenate([v[:-1], [v[-1] - later @ v[:-1]]])
                found = _kernels.softmax_curvature(table, probabilities, problem.share, first, moved)
                found[:-1] -= np.multiply.outer(later, found[-1])
                return found

            return bend

        def apply(v: Vector) -> Vector:
            bent = problem.loss.curvature_product(t, problem.scores(v[:-1], v[-1]))
            bent = problem.share * bent if bent.ndim == 1 else problem.share[:, np.newaxis] * bent
            top = problem.design.adjoint_product(bent, problem.centre)
            return np.concatenate([top, np.reshape(bent.sum(axis=0), (1, *v.shape[1:]))])

        return apply

    def hessian(self, t: Vector, table: Vector) -> Vector:
        """Return second derivatives of the loss by coefficients of the columns of a table, (k q, k q), score after score."""
        loss, (n, q), k = self.problem.loss, table.shape, t.shape[1]
        if loss.traits.native == "softmax":
            return _kernels.softmax_hessian(table, self._probabilities(t), self.problem.share)
        units = np.tile(np.eye(k), (n, 1))  # every row once for each score
        bend = loss.curvature_product(np.repeat(t, k, axis=0), units).reshape(n, k, k)
        bend *= self.problem.share[:, np.newaxis, np.newaxis]
        pairs = (table[:, :, np.newaxis] * table[:, np.newaxis, :]).reshape(n, q * q)
        second = (bend.reshape(n, k * k).T @ pairs).reshape(k, k, q, q).transpose(0, 2, 1, 3)
        return np.ascontiguousarray(second).reshape(k * q, k * q)

    def _probabilities(self, t: Vector) -> Vector:
        """Return those of classes at scores: their slopes, but for a one at the label."""
        loss = self.problem.loss
        probabilities = loss.slope(t)
        probabilities[np.arange(len(t)), loss.y.astype(np.intp)] += 1.0
        return np.maximum(probabilities, 0.0)  # a slope that rounds to just below minus one


def value_and_slope(loss: Loss, t: Vector) -> tuple[Vector, Vector]:
    """Return both, from one look at the scores where a compiled loop knows the loss."""
    name = loss.traits.native
    if name == "softmax" or (name in _kernels.ONE_SCORE and t.ndim == 1):
        return _kernels.loss_value_and_slope(name, t, loss.y)
    return loss.value(t), loss.slope(t)


def sampled(problem: Problem, every: int) -> Problem | None:
    """Return the problem of each so many rows, with the same penalty; None where the design cannot tell its rows apart."""
    rows = slice(None, None, every)
    part = rows_apart(problem, every)
    if part is None:
        return None
    share = np.ascontiguousarray(problem.share[rows])
    return Problem(
        part,
        problem.loss.take(rows),
        problem.penalty,
        share / share.sum(),
        problem.free_intercept,
        problem.centre,
        problem.lengths,
    )
