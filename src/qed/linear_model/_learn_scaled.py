"""From the door of ``fit`` to stored attributes, for models that estimate a scale together with the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qed.convex import solve
from qed.convex._concomitant import Concomitant
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._learn_convex import Rows, Wish, from_model, store

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex import Problem, Solver
    from qed.convex._penalty import Penalty

__all__ = ["learn_scaled"]

FARTHEST = 1e100  # scales that no residual is away, and whose square float64 still holds


def learn_scaled(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    penalty: Callable[[Rows], Penalty],
    knee: float,
    unit: Callable[[Rows], float],
    solver: Callable[[], Any],
    wish: Wish,
) -> None:
    """Fit a model on arrays, frames or sparse containers, and store what was learnt."""
    start = (model.__dict__.get("coef_"), model.__dict__.get("intercept_"))
    data = model._fit_data(X, y, sample_weight, finite=False)  # noqa: SLF001
    rows = Rows.of(data, centred=wish.intercept)
    knee = float(knee) if knee < FARTHEST else np.inf
    centre = rows.mean if wish.intercept else None
    length = rows.length if wish.intercept else np.hypot(rows.length, rows.mean)
    joint = Concomitant(design(rows.X), rows.y, penalty(rows), rows.share, knee, wish.intercept, centre, length)
    # the driver asks a problem for its null model and its proofs, which this one has
    problem, chosen = cast("Problem", joint), cast("Solver", solver())
    with one_blas_thread(), Progress(type(model).__name__, wish.max_iter, verbose=wish.verbose) as progress:
        begin = from_model(problem, start) if data.warm else None
        solution = solve(problem, chosen, tol=wish.tol, max_iter=wish.max_iter, progress=progress, start=begin)
    r = joint.scores(solution.w, solution.b) - rows.y
    model.scale_ = joint.scale(r)
    if np.isfinite(knee):
        outliers = np.zeros(data.n_rows, dtype=bool)
        used = slice(None) if data.weight is None else np.flatnonzero(data.weight)
        outliers[used] = np.abs(r) > model.scale_ * knee
        model.outliers_ = outliers
    # documented objectives count scale and squares twice as much as the joint problem: so do their slopes
    store(model, solution, problem, unit=unit(rows), rows=rows, wish=wish, dual=2.0 * solution.gap.u)
