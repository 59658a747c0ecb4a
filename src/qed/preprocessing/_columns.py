"""Scaling column by column, dense or sparse: what the scalers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import InvalidData
from qed.core._finite import require
from qed.core._tables import is_sparse
from qed.data import ColumnMoments

Array = np.ndarray[Any, Any]


EPSILON = float(np.finfo(np.float64).eps)


def looked_at(data: Any) -> ColumnMoments:
    """Return the statistics of the validated input of a fit, and refuse infinite entries that they show."""
    seen = ColumnMoments.of(data.X, data.weight)
    present = seen.count > 0
    if np.isinf(np.where(present, seen.low, 0)).any() or np.isinf(np.where(present, seen.high, 0)).any():
        require(data.X, "X", data.names, data.owner, allow_nan=True)
    return seen


def has_its_columns(model: Any, seen: ColumnMoments) -> str:
    """Say what is wrong with the statistics of a fitted model: they are of its columns."""
    own, p = len(seen.count), model.n_features_in_
    return "" if own == p else f"should be of {p} columns, and is of {own}"


def certificate(what: str, seen: ColumnMoments, *, rounded: bool = True) -> ExactCertificate:
    """Return the certificate of statistics of columns."""
    return ExactCertificate(f"{what} of {len(seen.count)} columns", seen.rows, seen.rounding if rounded else 0.0)


def without_zeros(scale: Array, constant: Array | None = None) -> Array:
    """Return a scale in which columns that do not vary are divided by one."""
    still = scale < 10 * EPSILON if constant is None else constant
    return np.where(still, 1.0, scale)


def scaled_sparse(X: Any, factor: Array, *, divides: bool, copy: bool) -> Any:
    """Multiply or divide the columns of a compressed container; zeros stay zeros."""
    if copy:
        X = X.copy()
    each = factor[X.indices] if X.format == "csr" else np.repeat(factor, np.diff(X.indptr))
    if divides:
        np.divide(X.data, each, out=X.data, casting="same_kind")
    else:
        np.multiply(X.data, each, out=X.data, casting="same_kind")
    return X


def refuse_sparse_centring(X: Any, word: str, *, centres: bool) -> None:
    """Refuse to fill a sparse container by taking means away."""
    if centres and is_sparse(X):
        raise InvalidData(
            f"Cannot center sparse matrices: pass `{word}=False` instead. Centring would fill every place of the matrix."
        )
