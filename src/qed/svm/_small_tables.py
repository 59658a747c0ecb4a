"""All planes of a small table in one call of compiled code, each with its proof: what is small costs little but calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._certificates import DualityGapCertificate
from qed.core._events import Progress
from qed.svm._kernels import find_planes

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.linear_model._learn_convex import Rows, Wish
    from qed.svm._kernels import CompiledPlanes

__all__ = ["fit_small"]

WIDEST = 256  # columns whose equations cost little beside the rows
ENTRIES, WORK = 2e6, 5e7  # entries, and multiply-adds of their products: a call takes part of a second at most
ORDINARY = 1e-60, 1e60  # sizes of entries, targets and weights whose squares and sums stay far from the ends of float64


def fit_small(model: Any, rows: Rows, targets: Vector, wish: Wish, *, width: float = 0.0) -> CompiledPlanes | None:
    """Find the planes of a model that is not told one by one, and keep their certificate; None where this way is not open.

    Parameters
    ----------
    model : LinearSVC or LinearSVR
        Its parameters say what is minimised.
    rows : Rows
        Rows of positive weight.
    targets : ndarray of shape (planes, n)
        Targets, or sides of -1 and 1.
    wish : Wish
        What the model asks of its fit.
    width : float
        Half the width of a tube.
    """
    X = rows.X
    if not isinstance(X, np.ndarray) or not _is_small(*X.shape):
        return None
    is_squared, is_sparse = model.loss.startswith("squared"), getattr(model, "penalty", "l2") == "l1"
    if is_sparse and not is_squared:
        return None
    if Progress(type(model).__name__, wish.max_iter, verbose=wish.verbose).is_heard:
        return None
    n, p = X.shape
    strength = (2.0 if is_squared else 1.0) * model.C * rows.weight
    table = np.empty((n, p + model.fit_intercept))
    table[:, :p] = X
    if model.fit_intercept:
        table[:, p] = model.intercept_scaling
    lengths = rows.seen.spread + rows.weight * rows.seen.mean**2
    sizes = [float(np.abs(X).max(initial=0.0)) if not lengths.max() > 0 else float(np.sqrt(lengths.max())), strength]
    if not all(ORDINARY[0] < one < ORDINARY[1] for one in sizes):
        return None
    targets = np.ascontiguousarray(targets, dtype=np.float64)
    found = find_planes(
        model.loss, width, table, targets, strength * rows.share, (wish.tol, wish.max_iter), is_sparse=is_sparse
    )
    objective, gap, rounding, null, steps = found.numbers.T.tolist()
    whole = sum(gap)
    within = all(one - off <= wish.tol * most for one, off, most in zip(gap, rounding, null, strict=True))
    if not (within and np.isfinite(whole)):
        return None
    dual = None if is_squared else (found.u[0] if len(targets) == 1 else np.ascontiguousarray(found.u.T))
    model.n_iter_ = max(1, int(max(steps)))
    model.solver_used_ = "coordinate descent" if is_sparse else "newton" if is_squared else "multipliers"
    model.certificate_ = DualityGapCertificate(
        gap=whole,
        rounding=sum(rounding),
        objective=sum(objective),
        null_objective=sum(null),
        tol=float(wish.tol),
        radius=np.inf,
        outcome="solved",
        fingerprint=rows.seen,
        dual=dual,
    )
    return found


def _is_small(n: int, p: int) -> bool:
    return p < min(WIDEST, n) and n * p <= ENTRIES and n * p * p <= WORK
