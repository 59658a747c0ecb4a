"""Multipliers for the hinge of several classes: Newton's method on a smoothed problem, whose smoothing the multipliers undo.

Scores are given a copy s of their own with the price u for differing from ``t = XW``, and a stiffness σ. The best copy is known,
and what is left to minimise is smooth in W: with ``a = t + 1 - e_y`` and ``v = u + e_y`` a row of probabilities, the price that
the next round begins with is ``v⁺ = project(v + σ a)`` onto the simplex, and the slope of what is left ``αW + X'(c (v⁺ - e_y))``.
It is made of quadratic pieces, whose second derivative is ``α + σ Σ c P ⊗ x x'`` with P the projection onto the directions of the
face of the simplex that v⁺ lies on: Newton's steps end after a few. Columns of very different sizes, on which ascents of one row
at a time never end, cost nothing here; and every v⁺ is a point of the dual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._simplex import to_simplex
from qed.convex._solve import Iterate
from qed.convex.solvers._straight import sides
from qed.designs import Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LARGEST = 2000  # coefficients whose equations are solved
ROUNDS = 60
STEPS = 100  # of Newton's method in a round
STIFFER = 4.0  # from one round to the next
STIFFEST = 1e9
ENOUGH = 0.1  # of the gap that is left: what the slope of a round may add to it
SLOPE = 1e-4  # of the fall that a step promises: what it must keep
LEAST = 1e-14  # of a step
TOGETHER = 1 << 19  # entries of the rows whose products are made at once


class _Smoothed(NamedTuple):
    """A point of the smoothed problem."""

    w: Vector
    t: Vector
    v: Vector  # prices, as rows of probabilities
    value: float
    slope: Vector


class ClassMultipliers:
    """Newton's method on smoothed scores, for the hinge of several classes and an l2 penalty."""

    name = "class multipliers"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse other losses, other penalties, a free intercept, and more coefficients than equations are solved for."""
        if problem.shape[1] * problem.loss.traits.n_scores > LARGEST:
            return f"it solves for {LARGEST} coefficients at most"
        return class_refusal(problem)

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict some forty Newton steps."""
        (n, p), k = problem.shape, problem.loss.traits.n_scores
        grams = 1e-5 * k + 1e-10 * n * (p * k) ** 2  # of all rows, though few may lie on faces
        return float((20 + 3 * max(1.0, -np.log10(max(tol, 1e-16)))) * (3e-4 + grams + 1e-10 * (p * k) ** 3))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the point after each round, with the prices as its dual point."""
        rounds = _Rounds(problem)
        w = np.asarray(start[0], dtype=np.float64)
        prices, stiffness, gap = rounds.labels, 1.0, np.inf  # nobody pays yet
        for _ in range(ROUNDS):
            at = rounds.at(w, prices, stiffness)
            for _ in range(STEPS):
                if rounds.rest(at) <= ENOUGH * max(target, min(gap, rounds.excess(at))):
                    break
                moved = rounds.search(at, rounds.step(at, stiffness), prices, stiffness)
                if moved is None:
                    break
                at = moved
                yield Iterate(at.w, start[1], hint=np.inf)
            w, prices = at.w, at.v
            gap = rounds.rest(at) + rounds.excess(at)
            yield Iterate(w, start[1], prices - rounds.labels, gap)
            stiffness = min(STIFFER * stiffness, STIFFEST)


def class_refusal(problem: Problem) -> str | None:
    """Say why methods for the hinge of several classes cannot take a problem."""
    if problem.loss.traits.native != "crammer_singer":
        return "it takes the hinge of several classes"
    penalty = sides(problem.penalty, problem.shape[1])
    if penalty is None or penalty[0].any() or not np.all(penalty[1] == penalty[1][:1]) or not penalty[1].min() > 0:
        return "it needs an l2 penalty of one positive strength"
    if problem.free_intercept:
        return "it takes no intercept but the coefficient of a constant column"
    return None if isinstance(problem.design, Dense | Sparse) else "it needs a table in memory"


class _Rounds:
    """The smoothed problem of each round."""

    def __init__(self, problem: Problem) -> None:
        (n, p), self.k = problem.shape, problem.loss.traits.n_scores
        self.problem, self.alpha = problem, float(problem.penalty.curvature(np.ones(p))[0])
        self.labels = np.zeros((n, self.k))
        self.labels[np.arange(n), np.asarray(problem.loss.y).astype(np.intp)] = 1.0

    def at(self, w: Vector, prices: Vector, stiffness: float, t: Vector | None = None) -> _Smoothed:
        """Return value, slope and next prices at a point."""
        t = self.problem.scores(w, 0.0) if t is None else t
        ahead = t + 1.0 - self.labels
        v = to_simplex(prices + stiffness * ahead)
        u = v - self.labels
        # of ⟨u, ahead⟩ - |v - prices|²/2σ both parts stay of the size of the losses
        value = float(self.problem.share @ np.sum(u * ahead - (v - prices) ** 2 / (2.0 * stiffness), axis=1))
        slope = self.alpha * w + self.problem.adjoint(u)
        return _Smoothed(w, t, v, value + 0.5 * self.alpha * float(np.sum(w * w)), slope)

    def rest(self, at: _Smoothed) -> float:
        """Return what the penalty adds to the gap that the prices prove."""
        return float(np.sum(at.slope**2)) / (2.0 * self.alpha)

    def excess(self, at: _Smoothed) -> float:
        """Return what the losses add to it."""
        return float(self.problem.share @ self.problem.loss.excess(at.t, at.v - self.labels))

    def step(self, at: _Smoothed, stiffness: float) -> Vector:
        """Return Newton's step, the equations scaled to a diagonal of ones."""
        p, k = at.w.shape[0], self.k
        on = at.v > 0.0
        count = on.sum(axis=1)
        flat = np.zeros((k * p, k * p))
        matrix = flat.reshape(k, p, k, p)
        rows = np.flatnonzero(count > 1)  # a corner of the simplex has no directions
        for some in np.split(rows, range(TOGETHER // (k * p), len(rows), TOGETHER // (k * p))):
            X, c, here = self._table(some), stiffness * self.problem.share[some], on[some]
            each = (here[:, :, np.newaxis] * X[:, np.newaxis, :]).reshape(len(some), k * p)
            flat -= each.T @ ((c / count[some])[:, np.newaxis] * each)
            for a in range(k):
                matrix[a, :, a, :] += X.T @ ((c * here[:, a])[:, np.newaxis] * X)
        # no slope points the same way for all classes: what is added there keeps a weak penalty's equations solvable
        diagonal = np.einsum("apap->p", matrix) / k
        np.einsum("apbp->abp", matrix)[:] += np.where(diagonal > 0, diagonal, self.alpha) / k
        flat.flat[:: k * p + 1] += self.alpha
        scale = 1.0 / np.sqrt(flat.diagonal())
        slope = at.slope - at.slope.mean(axis=1, keepdims=True)
        step = -scale * np.linalg.solve(flat * scale * scale[:, np.newaxis], scale * slope.T.ravel())
        step = step.reshape(k, p).T
        return np.asarray(step - step.mean(axis=1, keepdims=True))

    def _table(self, rows: Any) -> Vector:
        """Return some rows as an array."""
        part = self.problem.design.rows(rows).table  # type: ignore[attr-defined]  # in memory, or refused
        return np.asarray(part if isinstance(part, np.ndarray) else part.toarray(), dtype=np.float64)

    def search(self, at: _Smoothed, step: Vector, prices: Vector, stiffness: float) -> _Smoothed | None:
        """Return the end of the step, or where the value is least along it; None where rounding hides that it falls.

        Where few rows lie on a face of the simplex the penalty alone bounds a step, which can then be a million times too long.
        """
        along, fall = self.problem.scores(step, 0.0), float(np.sum(step * at.slope))

        def there(length: float) -> _Smoothed:
            return self.at(at.w + length * step, prices, stiffness, at.t + length * along)

        end = there(1.0)
        if end.value <= at.value + SLOPE * fall or self.rest(end) <= ENOUGH * self.rest(at):
            return end
        low, high = LEAST, 1.0
        while high > 1.5 * low:  # the derivative along the step rises
            middle = float(np.sqrt(low * high))
            found = there(middle)
            low, high = (middle, high) if float(np.sum(step * found.slope)) < 0 else (low, middle)
        found = there(low)
        return found if found.value < at.value else None
