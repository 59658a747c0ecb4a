"""Newton's method by coordinates on a table compressed by columns, all of it in compiled code.

The loop over rounds runs in calls of about equal work, so that listeners hear of them and Ctrl-C finds a point to keep.
Columns are taken as they came: a free intercept is eliminated from the second-order model, which centres them with its
weights, and is told for the centred columns at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import Known
from qed.convex._solve import Iterate, steps_allowed
from qed.designs import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem

__all__ = ["by_compressed_columns", "takes_compressed_columns"]

WORK = 1.5e8  # visits of entries in one call: a good part of a second
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
    table = problem.design.table.tocsc()  # type: ignore[attr-defined]
    name, rows = str(problem.loss.traits.native), (problem.loss.y, problem.share)
    penalty = problem.penalty.numbers(problem.shape[1])
    w, level = start
    asked, pace = target, np.zeros(5)
    for _ in range(DIGITS):
        is_open = True
        while is_open:
            b = float(level - _shift(problem, w)) if problem.free_intercept else None
            goal = (asked, steps_allowed(problem), WORK)
            found = _kernels.descend_curved(name, rows, table, penalty, goal, (w, b), pace)
            w, level = found.w, found.b + _shift(problem, found.w) if problem.free_intercept else start[1]
            is_open = found.gap > asked and not found.is_over
            known = Known(t=found.t, slope=found.slope, gradient=found.gradient)
            hint = found.gap if is_open else None
            yield Iterate(w, level, found.u, hint, known, is_on_its_way=not found.is_over, steps=max(1, found.rounds))
        if found.is_over:
            return
        asked *= 0.1


def _shift(problem: Problem, w: Vector) -> float:
    """Return what separates the intercept of the centred columns from that of the columns as they came."""
    return 0.0 if problem.centre is None else float(problem.centre @ w)
