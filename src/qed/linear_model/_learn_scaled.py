"""From the input of ``fit`` to stored attributes, for models that estimate a scale together with the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qed.convex import solve
from qed.convex._concomitant import Concomitant
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._learn_convex import FitOptions, TrainingData, from_model, store

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex import Problem, Solver
    from qed.convex._penalty import Penalty


FARTHEST = 1e100  # scales that no residual is away, and whose square float64 still holds


def learn_scaled(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    penalty: Callable[[TrainingData], Penalty],
    knee: float,
    unit: Callable[[TrainingData], float],
    solver: Callable[[], Any],
    options: FitOptions,
) -> None:
    """Fit a model on arrays, frames or sparse containers, and store what was learnt."""
    start = (model.__dict__.get("coef_"), model.__dict__.get("intercept_"))
    data = model._fit_data(X, y, sample_weight, finite=False)  # noqa: SLF001
    rows = TrainingData.of(data, centred=options.intercept)
    knee = float(knee) if knee < FARTHEST else np.inf
    centre = rows.mean if options.intercept else None
    length = rows.length if options.intercept else np.hypot(rows.length, rows.mean)
    joint = Concomitant(design(rows.X), rows.y, penalty(rows), rows.share, knee, options.intercept, centre, length)
    # the driver asks a problem for its null model and its proofs, which this one has
    problem, chosen = cast("Problem", joint), cast("Solver", solver())
    with one_blas_thread(), Progress(type(model).__name__, options.max_iter, verbose=options.verbose) as progress:
        begin = from_model(problem, start) if data.warm else None
        solution = solve(problem, chosen, tol=options.tol, max_iter=options.max_iter, progress=progress, start=begin)
    r = joint.scores(solution.w, solution.b) - rows.y
    model.scale_ = joint.scale(r)
    if "outliers_" in type(model)._results:  # noqa: SLF001
        outliers = np.zeros(data.n_rows, dtype=bool)
        used = slice(None) if data.weight is None else np.flatnonzero(data.weight)
        outliers[used] = np.abs(r) > model.scale_ * knee
        model.outliers_ = outliers
    # documented objectives count scale and squares twice as much as the joint problem: so do their slopes
    store(model, solution, problem, unit=unit(rows), rows=rows, options=options, dual=2.0 * solution.gap.u)
