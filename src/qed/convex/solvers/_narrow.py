"""Newton's method on arrays of few columns, all of it in compiled code: one call for what is small.

Calls are cut into rounds where a round takes long, so that listeners hear of them and Ctrl-C finds a point to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import PointCache
from qed.convex._solve import MAX_CHEAP_ENTRIES, Iterate, steps_allowed
from qed.convex.solvers._dual_ascent import read_ascent
from qed.designs import Dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


WIDEST = 1024  # columns whose products with each other fit a second-level cache, about
WORK = 1e10  # multiply-adds in one call: part of a second
SMALL = 4e6  # multiply-adds of second derivatives below which nothing but the call counts
FURTHER = 1e-5  # what one round more brings where entries are few
DIGITS = 6  # times that a gap which the proof does not confirm is asked for with a digit more


class NarrowNewton:
    """Full second derivatives in compiled code, for small tables and an l2 penalty."""

    name = "newton"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not an array of few columns, or a loss or penalty that compiled rounds do not know."""
        if not takes_products(problem) or rows_of_loss(problem) is None or not _is_smooth(problem):
            return "it needs an array of few columns, a piecewise quadratic or known loss, and one l2 penalty strength"
        return None

    @staticmethod
    def takes(n: int, p: int) -> bool:
        """Say whether a table of n rows and p columns is small enough for it to be the best choice."""
        return p <= min(WIDEST, max(64, n)) and n * p * p <= SMALL

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict six rounds, on one thread."""
        n, p = problem.shape
        return float(5e-5 + 6 * (1.5e-10 * n * p * p + 2e-8 * n + 1e-9 * p**3))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the iterates."""
        return by_products(problem, start, target)


def _is_smooth(problem: Problem) -> bool:
    """Say whether the penalty has no kink."""
    low, high, _ = problem.penalty.numbers(problem.shape[1])
    return not (np.any(low) or np.any(high))


def takes_products(problem: Problem) -> bool:
    """Say whether the table is an array of few columns, and the penalty one of single coefficients that compiled rounds know."""
    n, p = problem.shape
    return (
        isinstance(problem.design, Dense)
        and p <= min(WIDEST, max(64, n))
        and problem.loss.traits.n_scores == 1
        and problem.loss.y.ndim == 1
        and problem.penalty.traits.is_separable
        and len(problem.penalty.numbers(0)) == 3
    )


def rows_of_loss(problem: Problem) -> tuple[str, Any] | None:
    """Return a loss as compiled rounds know it: by name with its targets, or by the pieces of its conjugate."""
    loss = problem.loss
    traits = loss.traits
    if traits.native in _kernels.ONE_SCORE:
        return traits.native, np.ascontiguousarray(loss.y)
    if not traits.has_curvature or not traits.is_convex:
        return None
    pieces = read_ascent(problem)
    return None if pieces is None or not pieces.bend > 0 else ("pieces", tuple(pieces))


def by_products(problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
    """Yield a point for each call."""
    n, p = problem.shape
    loss = rows_of_loss(problem)
    assert loss is not None  # noqa: S101  refused before
    table = (problem.design.table, problem.centre)  # type: ignore[attr-defined]
    penalty = problem.penalty.numbers(p)
    most = int(max(1, WORK // (n * p * p + 1)))
    w, b = np.asarray(start[0], dtype=np.float64), start[1]
    asked = (FURTHER if _is_smooth(problem) and n * p <= MAX_CHEAP_ENTRIES else 0.5) * target
    for _ in range(DIGITS):
        is_open = True
        while is_open:
            rounds = min(most, steps_allowed(problem))
            begin = (w, float(b) if problem.free_intercept else None)
            found = _kernels.descend_narrow(loss, problem.share, table, penalty, (asked, rounds), begin)
            w, b = found.w, found.b if problem.free_intercept else start[1]
            is_open = found.gap > asked and not found.is_over
            known = PointCache(t=found.t, slope=found.slope, loss=found.loss, gradient=found.gradient)
            yield Iterate(w, b, hint=found.gap if is_open else None, known=known, steps=max(1, found.rounds))
        if found.is_over:
            return
        asked *= 0.1
