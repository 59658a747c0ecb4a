"""liblinear's intercept: the coefficient of a constant column, penalised like every other coefficient."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter
from qed.designs import Chunked

if TYPE_CHECKING:
    from qed.linear_model._learn_convex import TrainingData


LEAST, MOST = 1e-290, 1e300  # as for the columns of X


def constant_of(model: Any, n_classes: int) -> float | None:
    """Return the value of the constant column that a model asks for; None if its intercept is free, or there is none."""
    owner, scaling = type(model).__name__, float(model.intercept_scaling)
    if model.solver != "liblinear":
        if scaling != 1.0:
            raise InvalidParameter(
                f"{owner}.intercept_scaling is the value of liblinear's constant column, and with solver={model.solver!r} there"
                f" is none: the intercept is free. Got {scaling:g}; leave it at 1, or pass solver='liblinear'."
            )
        return None
    if n_classes > 2:
        raise InvalidParameter(
            f"The 'liblinear' solver does not support multiclass classification (n_classes >= 3), and {owner} got"
            f" {n_classes} classes. Pass another solver, whose objective is that of all classes at once."
        )
    return scaling if model.fit_intercept else None


def with_constant(rows: TrainingData, value: float, *, by_columns: bool = False) -> TrainingData:
    """Return the rows with a constant column at the end; they are still recognised by the columns they came with.

    ``by_columns`` is for solvers that read columns: a sparse table is then compressed by them, which makes room at its end.
    """
    X, n = rows.X, rows.X.shape[0]
    if not LEAST < rows.weight * value * value < MOST:
        raise InvalidParameter(
            f"intercept_scaling is the value of a column, and the sum of its squares must lie between {LEAST:g} and {MOST:g},"
            f" got {value:g} for rows of weight {rows.weight:.3g}."
        )
    if isinstance(X, Chunked):
        wide = X.with_constant(value)
        return replace(rows, X=wide, mean=np.append(rows.mean, value), length=np.append(rows.length, 0.0))
    kind = X.dtype if X.dtype == np.float64 or np.float32(value) == value else np.float64
    column = np.full((n, 1), value, dtype=kind)
    if isinstance(X, np.ndarray):
        wider: Any = np.concatenate([X, column], axis=1)
    else:
        from scipy import sparse  # noqa: PLC0415  a sparse container came, so that it is there

        if by_columns and X.nnz + n < np.iinfo(X.indices.dtype).max:
            wider = _appended(X.tocsc(), column[:, 0])
        elif X.format == "csr" and max(X.nnz + n, X.shape[1]) < np.iinfo(X.indices.dtype).max:
            wider = _ended(X, column[:, 0])
        else:
            wider = sparse.hstack([X, sparse.csr_array(column)], format=X.format)
    return replace(rows, X=wider, mean=np.append(rows.mean, value), length=np.append(rows.length, 0.0))


def _appended(X: Any, column: Any) -> Any:
    """Return a table compressed by columns with one more, full column."""
    from scipy import sparse  # noqa: PLC0415  a sparse container came, so that it is there

    n, p = X.shape
    starts = np.append(X.indptr, X.indptr.dtype.type(X.nnz + n))
    indices = np.concatenate([X.indices, np.arange(n, dtype=X.indices.dtype)])
    values = np.concatenate([X.data, column])
    return sparse.csc_array((values, indices, starts), shape=(n, p + 1))


def _ended(X: Any, column: Any) -> Any:
    """Return a table compressed by rows with one more, full column: each row is one entry longer."""
    from scipy import sparse  # noqa: PLC0415  a sparse container came, so that it is there

    n, p = X.shape
    starts = X.indptr + np.arange(n + 1, dtype=X.indptr.dtype)
    is_new = np.zeros(X.nnz + n, dtype=bool)
    is_new[starts[1:] - 1] = True
    indices, values = np.full(X.nnz + n, p, dtype=X.indices.dtype), np.empty(X.nnz + n, dtype=column.dtype)
    indices[~is_new], values[~is_new], values[is_new] = X.indices, X.data, column
    wider = sparse.csr_array((values, indices, starts), shape=(n, p + 1))
    wider.has_sorted_indices = X.has_sorted_indices
    return wider
