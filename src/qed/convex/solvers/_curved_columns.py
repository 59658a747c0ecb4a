"""Newton's method by coordinates on a table compressed by columns, all of it in compiled code.

The loop over rounds runs in calls of about equal work, so that listeners hear of them and Ctrl-C finds a point to keep.
Columns are taken as they came: a free intercept is eliminated from the second-order model, which centres them with its
weights, and is told for the centred columns at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import PointCache
from qed.convex._solve import Iterate, steps_allowed
from qed.designs import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


WORK = 1.5e8  # visits of entries in one call: a good part of a second
PACE = 6  # numbers that one call hands to the next
WEAK = 30.0  # pull of the losses on a coefficient without it, in units of its penalty, beyond which this is approached
APART = 3.0  # from one penalty on the way to the next
ROUGH = 1e-5  # share of the objective without coefficients, to which problems on the way are solved
DIGITS = 6  # times that a gap which the proof does not confirm is asked for with a digit more


def takes_compressed_columns(problem: Problem) -> bool:
    """Say whether compiled rounds know the loss and the penalty, and the table is sparse."""
    return (
        isinstance(problem.design, Sparse)
        and problem.penalty.traits.native == "kinks"
        and problem.loss.traits.native in _kernels.ONE_SCORE
        and problem.loss.traits.n_scores == 1
        and problem.loss.y.ndim == 1
    )


def by_compressed_columns(problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
    """Yield a point for each call."""
    columns = _Columns(problem, problem.design.table.tocsc())  # type: ignore[attr-defined]
    point = start
    for times in _stronger_penalties(problem, start[0]):
        for found in columns.descend(point, max(target, ROUGH * problem.null_objective), times):
            point = columns.place(found, point)
            yield Iterate(*point, hint=np.inf, more_coming=True, steps=max(1, found.rounds))
    asked = target
    for _ in range(DIGITS):
        for found in columns.descend(point, asked):
            point = columns.place(found, point)
            known = PointCache(t=found.t, slope=found.slope, gradient=found.gradient)
            hint = found.gap if found.gap > asked and not found.is_over else None
            yield Iterate(*point, found.u, hint, known, more_coming=not found.is_over, steps=max(1, found.rounds))
        if found.is_over:
            return
        asked *= 0.1


def _stronger_penalties(problem: Problem, w: Vector) -> list[float]:
    """Return what to multiply the penalty by on the way to itself, where it is weak and rows come and go.

    Losses made of pieces bend for some rows only, which are not known far from the optimum: models lead astray there. Under
    a penalty that is three times as strong the rows are almost the same.
    """
    if problem.loss.traits.pieces is None or problem.loss.traits.is_quadratic or w.any():
        return []
    low, high = problem.penalty.numbers(problem.shape[1])[:2]
    gradient = problem.adjoint(problem.loss.slope(problem.scores(*problem.null_point)))
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = np.where(gradient > 0, -gradient / low, -gradient / high)
    most = float(np.max(np.abs(pull[np.isfinite(pull)]), initial=0.0))
    count = max(0, int(np.log(max(most / WEAK, 1.0)) / np.log(APART)))
    return [APART**k for k in range(count, 0, -1)]


class _Columns:
    """A table compressed by columns, and calls of compiled code on it."""

    def __init__(self, problem: Problem, table: Any) -> None:
        self.problem, self.table, self.pace = problem, table, np.zeros(PACE)
        self.low, self.high, self.ridge = problem.penalty.numbers(problem.shape[1])

    def descend(self, point: tuple[Vector, Any], asked: float, times: float = 1.0) -> Iterator[Any]:
        """Yield what each call finds, under so many times the penalty, until the gap is within what is asked for."""
        problem = self.problem
        name, rows = str(problem.loss.traits.native), (problem.loss.y, problem.share)
        penalty = (times * self.low, times * self.high, self.ridge)
        is_open = True
        while is_open:
            w, level = point
            b = float(level - _shift(problem, w)) if problem.free_intercept else None
            goal = (asked, steps_allowed(problem), WORK)
            found = _kernels.descend_curved(name, rows, self.table, penalty, goal, (w, b), self.pace)
            point = self.place(found, point)
            yield found
            is_open = found.gap > asked and not found.is_over

    def place(self, found: Any, before: tuple[Vector, Any]) -> tuple[Vector, Any]:
        """Return the coefficients that were found, and the intercept of the centred columns."""
        return found.w, found.b + _shift(self.problem, found.w) if self.problem.free_intercept else before[1]


def _shift(problem: Problem, w: Vector) -> float:
    """Return what separates the intercept of the centred columns from that of the columns as they came."""
    return 0.0 if problem.centre is None else float(problem.centre @ w)
