"""Many sets of columns on many folds: products of columns are made once a fold, and every set takes its part of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import clone
from qed.core._threads import one_blas_thread
from qed.linear_model._quadratic import Quadratic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


DEPTH = 1e-4  # least share of a column's length that the columns before it leave, for its products to be trusted


def predict_columns(
    model: Any, alpha: float, X: Any, y: Any, sample_weight: Any, folds: Sequence[Any]
) -> Callable[[Any], list[Array]] | None:
    """Return a function of sets of columns, (sets, k), that gives predictions of test rows fold by fold, (rows, sets).

    NaN stands for sets so nearly dependent that a fit would not use products of columns either. None is returned for sparse
    rows and several targets.
    """
    from qed.linear_model._choose import training_statistics  # noqa: PLC0415  not needed by a single fit

    data = clone(model)._fit_data(X, y, sample_weight)  # noqa: SLF001
    weight = data.weight
    dense = isinstance(data.X, np.ndarray) and data.y.ndim == 1
    if not dense or (weight is not None and any(not weight[train].any() for train, _ in folds)):
        return None
    target = data.y[:, np.newaxis].astype(np.float64)
    with one_blas_thread():
        statistics = training_statistics(list(folds), data.X, target, weight)[0]
    quadratics = [Quadratic.of(moments, intercept=model.fit_intercept) for moments in statistics]
    rows = [np.asarray(data.X[test], dtype=np.float64) for _, test in folds]

    def predict(sets: Any) -> list[Array]:
        index = np.asarray(sets, dtype=np.intp)
        with one_blas_thread():
            return [_predicted(one, part, index, alpha) for one, part in zip(quadratics, rows, strict=True)]

    return predict


def _predicted(quadratic: Quadratic, rows: Array, sets: Any, alpha: float) -> Array:
    """Solve the equations of every set, and predict."""
    count, k = sets.shape
    p = rows.shape[1]
    size = np.sqrt(quadratic.S.diagonal() + alpha)
    size = np.where(size > 0, size, 1.0)
    Q = quadratic.S / np.multiply.outer(size, size)
    Q[np.diag_indices_from(Q)] += alpha / size**2
    c = quadratic.c[:, 0] / size
    parts = Q[sets[:, :, np.newaxis], sets[:, np.newaxis, :]]
    w = np.full((count, k), np.nan)
    sure = _depths(parts) > DEPTH
    if sure.any():
        w[sure] = np.linalg.solve(parts[sure], c[sets[sure]][:, :, np.newaxis])[:, :, 0]
    whole = np.zeros((p, count))
    whole[sets.T, np.arange(count)] = (w / size[sets]).T
    # what is far from the mean of its column is not multiplied where it would cancel
    return np.asarray((rows - quadratic.mean_x) @ whole + quadratic.mean_y[0])


def _depths(parts: Array) -> Array:
    """Return the least diagonal entry of each triangular factor; zero where there is none."""
    try:
        return np.asarray(np.linalg.cholesky(parts).diagonal(axis1=1, axis2=2).min(axis=1, initial=1.0))
    except np.linalg.LinAlgError:
        found = np.zeros(len(parts))
        for at, part in enumerate(parts):
            try:
                found[at] = np.linalg.cholesky(part).diagonal().min(initial=1.0)
            except np.linalg.LinAlgError:
                continue
        return found
