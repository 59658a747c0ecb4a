"""All hyperplanes of a small table in one call of compiled code, each with its proof: what is small costs little but calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.core._events import Progress
from qed.designs import Chunked
from qed.linear_model._penalised_intercept import with_constant
from qed.svm._kernels import find_class_planes, find_planes

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.linear_model._learn_convex import FitOptions, TrainingData
    from qed.svm._kernels import CompiledPlanes


WIDEST = 256  # columns whose equations cost little beside the rows
ENTRIES, WORK = 2e6, 5e7  # entries, and multiply-adds of their products: a call takes part of a second at most
LOOSE = 5e5  # entries of a sparse table, over which some tens of passes are made
ORDINARY = 1e-60, 1e60  # sizes of entries, targets and weights whose squares and sums stay far from the ends of float64


def fit_small(
    model: Any, rows: TrainingData, targets: Vector, options: FitOptions, *, width: float = 0.0
) -> CompiledPlanes | None:
    """Find the hyperplanes of a model that is not told one by one, and keep their certificate; None where this way is not open.

    Parameters
    ----------
    model : LinearSVC or LinearSVR
        Its parameters say what is minimised.
    rows : TrainingData
        Rows of positive weight.
    targets : ndarray of shape (hyperplanes, n)
        Targets, or sides of -1 and 1.
    options : FitOptions
        What the model asks of its fit.
    width : float
        Half the width of a tube.
    """
    is_squared, has_kinks = model.loss.startswith("squared"), getattr(model, "penalty", "l2") == "l1"
    strength = (2.0 if is_squared else 1.0) * model.C * rows.weight
    is_open = _is_small(rows.X) and _is_ordinary(rows, strength) and not _is_heard(model, options)
    if not is_open or (has_kinks and not is_squared):
        return None
    targets = np.ascontiguousarray(targets, dtype=np.float64)
    table, goal = (rows.X, _constant(model)), (options.tol, options.max_iter)
    found = find_planes(model.loss, width, table, targets, strength * rows.share, goal, has_kinks=has_kinks)
    solver = _solver(model.loss, is_table=isinstance(rows.X, np.ndarray), has_kinks=has_kinks)
    # slopes of losses with squares are told by the coefficients; other dual variables are not
    rests_on_slopes = is_squared and (isinstance(rows.X, np.ndarray) or solver == "newton-cg")
    u = (2.0 if is_squared else 1.0) * found.u  # documented squares are not halved
    dual = None if rests_on_slopes else u[0] if len(targets) == 1 else np.ascontiguousarray(u.T)
    return _kept(model, rows, options, found, dual, solver)


def fit_small_classes(model: Any, rows: TrainingData, n_classes: int, options: FitOptions) -> CompiledPlanes | None:
    """Find the hyperplanes of all classes in one objective, and keep their certificate; None where this way is not open."""
    strength, constant, X = model.C * rows.weight, _constant(model), rows.X
    is_small = not isinstance(X, Chunked) and n_classes * _entries(X) <= ENTRIES
    if not is_small or not _is_ordinary(rows, strength) or _is_heard(model, options):
        return None
    if constant and not isinstance(X, np.ndarray):
        X = with_constant(rows, constant).X
    if not isinstance(X, np.ndarray) and X.format != "csr":
        return None
    goal = (options.tol, options.max_iter)
    found = find_class_planes((X, constant), rows.y, strength * rows.share, goal, classes=n_classes)
    return _kept(model, rows, options, found, found.u, "class ascent")


def _constant(model: Any) -> float:
    """Return the value of the column whose coefficient is the intercept; zero for none."""
    return float(model.intercept_scaling) if model.fit_intercept else 0.0


def _entries(X: Any) -> float:
    return float(X.size if isinstance(X, np.ndarray) else X.nnz)


def _is_small(X: Any) -> bool:
    n, p = X.shape
    if isinstance(X, np.ndarray):
        return bool(p < min(WIDEST, n) and n * p <= ENTRIES and n * p * p <= WORK)
    return not isinstance(X, Chunked) and bool(X.format == "csr" and X.nnz <= LOOSE)


def _is_ordinary(rows: TrainingData, strength: float) -> bool:
    """Say whether squares and sums of all that is there stay far from the ends of float64."""
    longest = float((rows.seen.spread + rows.weight * rows.seen.mean**2).max())
    size = float(np.sqrt(longest)) if longest > 0 else float(abs(rows.X).max())
    return all(ORDINARY[0] < one < ORDINARY[1] for one in (size, strength))


def _is_heard(model: Any, options: FitOptions) -> bool:
    return Progress(type(model).__name__, options.max_iter, verbose=options.verbose).has_listeners


def _solver(loss: str, *, is_table: bool, has_kinks: bool) -> str:
    if has_kinks:
        return "coordinate descent"
    if is_table:
        return "newton" if loss.startswith("squared") else "multipliers"
    return "newton-cg" if loss == "squared_epsilon_insensitive" else "dual ascent"


def _kept(
    model: Any, rows: TrainingData, options: FitOptions, found: CompiledPlanes, dual: Vector | None, solver: str
) -> CompiledPlanes | None:
    """Keep the certificate of planes that are all within the tolerance; None if one is not."""
    objective, gap, rounding, null, steps = found.numbers.T.tolist()
    within = all(one - off <= options.tol * most for one, off, most in zip(gap, rounding, null, strict=True))
    if not (within and np.isfinite(sum(gap))):
        return None
    model.n_iter_ = max(1, int(max(steps)))
    model.solver_used_ = solver
    model.certificate_ = DualityGapCertificate(
        gap=sum(gap),
        rounding=sum(rounding),
        objective=sum(objective),
        null_objective=sum(null),
        tol=float(options.tol),
        radius=np.inf,
        outcome="solved",
        fingerprint=rows.seen,
        dual=dual,
    )
    return found
