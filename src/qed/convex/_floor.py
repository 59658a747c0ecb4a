r"""A floor under the objective, from the curvature of some rows at some point: what it proves of other points costs no pass.

No row bends the objective downwards, so that the curvature of a sample of the rows is a lower bound of that of all. A loss
with ``|ℓ'''| <= ℓ''`` (of a score; of classes, times the range of the change of a row's scores) bends at another point at least
``exp(-δ)`` times as much, where δ is the largest change of a score (the largest range) among the rows of the sample. With the
gradient of all rows and ``λ² = g'H⁺g``, `_curvature_bound` says how far the objective can fall.

Second derivatives of classes are too many to write down. Those of a row, ``diag p - p p'``, are at least ``θ (diag π - π π')``
for any π, with θ the least of ``p / π``, because a variance is the least mean square about any number: so that
``(diag π - π π') ⊗ Σ c θ a a'`` is below them, and one matrix of the size of the columns is enough. A common change of all
scores of a row changes no loss; the penalty alone speaks there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._curvature_bound import FLATTEST, LARGEST, UNIT, fall, longest_row
from qed.convex._kernels import longest_square
from qed.convex._sample_rows import rows_apart
from qed.core._once import cached_property
from qed.designs import Dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem
    from qed.designs import Design


BLOCK = 1 << 15  # numbers of sparse rows that are measured at a time
MOST_APART = 8  # one row in so many makes a floor under several classes, at most
ONE_TURN, ONE_LEVEL = np.ones((1, 1)), np.ones(1)  # the directions of a single score
NEAR = 0.5  # logarithm of lost curvature up to which a cheap bound of it is good enough


@dataclass(frozen=True, eq=False)
class Floor:
    """Curvature of a sample of rows at a point.

    Attributes
    ----------
    problem : Problem
        The whole problem.
    whole, part : Design
        Rows of the sample: all columns, and those that are not constant.
    rows : slice
        Which they are.
    scores : ndarray
        Their scores at the point.
    used : ndarray
        Which columns.
    size : ndarray
        What columns, and the constant last, are divided by.
    values, vectors : ndarray
        Eigenvalues and -vectors of the matrix of second derivatives so scaled.
    sure : float
        By how much rounding may have made inverse eigenvalues too small.
    turn, level : ndarray
        Directions of the classes, and their curvatures beside the matrix; one of each for a single score.
    """

    problem: Problem
    whole: Design
    part: Design
    rows: slice
    scores: Vector
    used: Any
    size: Vector
    values: Vector
    vectors: Vector
    sure: float
    turn: Vector
    level: Vector

    @staticmethod
    def refuses(problem: Problem) -> bool:
        """Say whether the losses or the penalty of a problem allow no such bound, or its columns are too many."""
        loss, penalty = problem.loss.traits, problem.penalty.traits
        is_known = (
            loss.native == "softmax" if loss.n_scores > 1 else np.isfinite(loss.self_concordance) or loss.is_quadratic
        )
        fits = problem.loss.y.ndim == 1 and problem.shape[1] <= LARGEST
        return not (is_known and fits and penalty.is_smooth and penalty.is_separable)

    @classmethod
    def of(
        cls, problem: Problem, rows: slice, scores: Vector, part: Design | None = None, second: Vector | None = None
    ) -> Floor | None:
        """Look at the scores of the rows of a sample; None where their curvature cannot be told from none.

        ``part`` is the design of the sample, and ``second`` are its second derivatives by coefficients and intercept with the
        shares of the whole problem, where they are known.
        """
        if cls.refuses(problem) or not np.isfinite(scores).all():
            return None
        part = problem.design.rows(rows) if part is None else part
        share, used = problem.share[rows], np.flatnonzero(problem.spans > 0)
        is_whole = len(used) == problem.shape[1]
        some = part if is_whole else part.columns(used)
        turn, level = ONE_TURN, ONE_LEVEL
        if scores.ndim == 2:
            turn, level, weight = _under_classes(scores, share)
            second = None
        elif second is None:
            weight = share * problem.loss.take(rows).curvature(scores)
        if second is None:
            centre = None if problem.centre is None else problem.centre[used]
            matrix = some.gram(weight, centre)
            edge, corner = some.adjoint_product(weight, centre), weight.sum()
            matrix = np.block([[matrix, edge[:, np.newaxis]], [edge[np.newaxis, :], np.array([[corner]])]])
        else:
            at = None if is_whole else np.append(used, problem.shape[1])
            matrix = second.copy() if at is None else second[np.ix_(at, at)]
        strength = np.asarray(problem.penalty.curvature(np.zeros((problem.shape[1], *scores.shape[1:]))))
        if strength.ndim == 2 and np.any(strength != strength[:, :1]):
            return None
        strength = strength if strength.ndim == 1 else strength[:, 0]
        strength = strength if is_whole else strength[used]
        np.einsum("ii->i", matrix)[: len(used)] += strength if level is ONE_LEVEL else strength / level.max()
        matrix = matrix if problem.free_intercept else matrix[:-1, :-1]
        size = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        if not len(size) or not 0 < size.min() <= size.max() < np.inf:
            return None
        values, vectors = np.linalg.eigh(matrix / np.multiply.outer(size, size))
        m = some.shape[0]
        terms = min(m, 8192) + 64 if problem.design.centres_first else 2 * m
        off = 4 * UNIT * (terms + 8 * len(values)) * len(values)
        if (
            not problem.design.centres_first
        ):  # what was summed has the whole length of the columns, not that of their spread
            steep = 1.0 if scores.ndim == 2 else float(np.max(problem.loss.take(rows).curvature(scores), initial=0.0))
            lengths = np.append(problem.sizes[used], 1.0)[: len(size)]
            off *= max(1.0, steep * float(np.max(lengths / size)) ** 2)
        if not values[0] > max(FLATTEST * values[-1], 4 * off):
            return None
        sure = 1.0 / (1.0 - off / values[0])
        return cls(problem, part, some, rows, scores, used, size, values, vectors, sure, turn, level)

    @classmethod
    def lay(cls, problem: Problem, t: Vector, target: float, hint: float) -> None:
        """Leave a floor behind at scores of classes, unless there is one that proves nearly as much as it could.

        ``hint`` is what the floor there is, if any, says of the scores.
        """
        n, p = problem.shape
        floor: Floor | None = problem.kept.get("floor")
        if floor is not None:
            if not target < hint <= 4 * target * float(np.exp(min(2 * floor.away(t), 50.0))):
                return
            floor.moved(t)
        elif t.ndim == 2 and n >= 4 * p and not cls.refuses(problem):
            every = max(1, n // max(20 * p, n // MOST_APART, 2000))
            rows = slice(None, None, every)
            part = rows_apart(problem, every)
            found = None if part is None else cls.of(problem, rows, t[rows].copy(), part)
            if found is not None:
                problem.kept["floor"] = found

    def moved(self, t: Vector) -> Floor:
        """Compute the bound again at other scores of all rows, for the problem too; where that fails it stays where it is."""
        found = Floor.of(self.problem, self.rows, t[self.rows].copy(), self.whole)
        if found is not None:
            self.problem.kept["floor"] = found
        return self if found is None else found

    @property
    def loose(self) -> float:
        """How many rows there are for each of the sample."""
        return self.problem.shape[0] / max(self.part.shape[0], 1)

    @property
    def self_concordance(self) -> float:
        """How fast the loss of a row may lose its curvature: with its score, or with the range of its scores."""
        if self.scores.ndim == 2:
            return 1.0
        traits = self.problem.loss.traits
        return 0.0 if traits.is_quadratic else traits.self_concordance

    def away(self, t: Vector) -> float:
        """Return the logarithm of what curvature may have lost at other scores of all rows."""
        if self.self_concordance == 0:
            return 0.0
        change = t[self.rows] - self.scores
        most = max(float(change.max(initial=0.0)), -float(change.min(initial=0.0)))
        if change.ndim == 1:
            return self.self_concordance * most
        if 2.0 * most < NEAR:  # no range is larger
            return 2.0 * most
        change = np.ascontiguousarray(change.T)
        return float(np.max(change.max(axis=0) - change.min(axis=0), initial=0.0))

    def hint(self, w: Vector, t: Vector, g: Vector, target: float) -> float:
        """Return what `bound` would say, as far as it is cheap to tell; above the target it may say too little."""
        found = self._bound(w, t, g, 0.0, target, far=target)
        return np.inf if found is None else found[0]

    def bound(
        self, w: Vector, t: Vector, g: Vector, rounding_error: float = 0.0, target: float = 0.0
    ) -> tuple[float, float] | None:
        """Return a bound on the distance from the optimum, and the rounding to be added.

        Parameters
        ----------
        w, t : ndarray
            Coefficients and the scores of all rows there.
        g : ndarray
            The gradient of the objective by the coefficients, and by the intercept in its last row.
        rounding_error : float
            Bound on the error of each of its entries, in units of the lengths of the columns.
        target : float
            A bound that is small enough: more is paid only above it.
        """
        return self._bound(w, t, g, rounding_error, target)

    def _bound(
        self, w: Vector, t: Vector, g: Vector, rounding_error: float, target: float, far: float = np.inf
    ) -> tuple[float, float] | None:
        """Return the bound; more than ``far`` is only told to be so."""
        problem, p = self.problem, self.problem.shape[1]
        away = self.away(t)
        if not away < 20.0:
            return None
        more = self.sure * math.exp(away)
        q = len(self.size)
        columns = g.reshape(p + 1, -1)[self._places]
        turned = columns if self.turn is ONE_TURN else columns @ self.turn
        along = self.vectors.T @ (turned / self.size[:, np.newaxis])
        along *= along
        decrement = math.sqrt(float((along / np.multiply.outer(self.values, self.level)).sum()) * more)
        unit = np.ones(q)
        unit[: len(self.used)] = problem.sizes[self.used]
        error = (rounding_error * unit + 8 * UNIT * np.abs(columns).max(axis=1)) / self.size
        rounding = math.sqrt(float(error @ error) * more * len(self.level) / float(self.values[0] * self.level.min()))
        apart = self._apart(w)
        if 0.5 * decrement**2 + apart > far:
            return 0.5 * decrement**2 + apart, 0.0
        for longest in self._reaches(more):
            value, whole = fall(decrement, longest), fall(decrement + rounding, longest)
            if value + apart <= target or far < np.inf:
                break
        return (value + apart, whole - value + 16 * UNIT * apart) if np.isfinite(whole) else None

    @property
    def _places(self) -> Any:
        """Where the columns that are used, and an intercept, stand in a gradient."""
        p, has_constant = self.problem.shape[1], self.problem.free_intercept
        if len(self.used) == p:
            return slice(None) if has_constant else slice(p)
        return np.append(self.used, p) if has_constant else self.used

    def _reaches(self, more: float) -> Iterator[float]:
        """Yield bounds on how much a score (the range of scores) of a row changes in a step of length one, cheap ones first."""
        if self.self_concordance == 0:
            yield 0.0
            return
        scale = self.self_concordance * float(
            np.sqrt(more * (2.0 if self.scores.ndim == 2 else 1.0) / self.level.min())
        )
        yield scale * self._longest_row / float(np.sqrt(self.values[0]))
        yield scale * self._exact_row

    @property
    def _centre(self) -> Vector | None:
        return None if self.problem.centre is None else self.problem.centre[self.used]

    @cached_property
    def _longest_row(self) -> float:
        """The longest row of the sample, columns scaled."""
        return _row_length(self.part, self._centre, self.size, self.problem.free_intercept)

    @cached_property
    def _exact_row(self) -> float:
        """The longest row of the sample, measured by the second derivatives."""
        to = (self.vectors / np.sqrt(self.values)) / self.size[:, np.newaxis]
        many = len(self.used)
        return longest_row(self.part, self._centre, to[:many], to[many:]) * 1.001

    def _apart(self, w: Vector) -> float:
        """Return what the penalty alone can fall: by constant columns, and by a common change of all scores."""
        if self.scores.ndim == 1 and len(self.used) == len(w):
            return 0.0
        penalty = self.problem.penalty
        slope = penalty.slope(w).reshape(len(w), -1)
        strength = np.asarray(penalty.curvature(w)).reshape(len(w), -1)[:, :1]
        alone = np.ones(len(w), dtype=bool)
        alone[self.used] = False
        squares = (slope[alone] ** 2 / np.where(strength[alone] > 0, strength[alone], np.inf)).sum()
        if self.scores.ndim == 2:
            common = slope.sum(axis=1) ** 2 / slope.shape[1]
            some = strength[self.used, 0]
            squares += (common[self.used] / np.where(some > 0, some, np.inf)).sum()
        return 0.5 * float(squares)


def _under_classes(t: Vector, share: Vector) -> tuple[Vector, Vector, Vector]:
    """Return directions of classes, curvatures along them, and weights of rows that together are below all curvature."""
    log_chance = np.ascontiguousarray(t.T)  # a row for each class: sums over classes are then of whole vectors
    log_chance = log_chance - log_chance.max(axis=0)
    log_chance -= np.log(np.exp(log_chance).sum(axis=0))
    typical = np.exp(np.maximum(log_chance @ (share / share.sum()), -30.0))
    typical /= typical.sum()
    k = len(typical)
    spread = np.diag(typical) - np.multiply.outer(typical, typical)
    values, vectors = np.linalg.eigh(spread + np.ones((k, k)))  # a common change has by far the largest
    log_chance -= np.log(typical)[:, np.newaxis]
    least = np.exp(log_chance.min(axis=0))
    level = values[:-1] - 8 * k * UNIT * values[-1]
    return vectors[:, :-1], np.maximum(level, 1e-300), share * least


def _row_length(part: Design, centre: Vector | None, size: Vector, has_constant: bool) -> float:
    """Return the length of the longest row, columns divided by their sizes."""
    p = part.shape[1]
    shift, scale = np.zeros(p) if centre is None else centre, 1.0 / size[:p]
    table: Any = part.table  # type: ignore[attr-defined]
    longest = 0.0
    if isinstance(part, Dense):
        longest = longest_square(table, shift, scale)
    else:
        step = max(1, BLOCK // max(p, 1))
        for first in range(0, part.shape[0], step):
            rows = (table[first : first + step].toarray() - shift) * scale
            longest = max(longest, float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0)))
    return float(np.sqrt(longest + (1.0 / size[-1] ** 2 if has_constant else 0.0))) * 1.000001
