"""Scaling column by column, dense or sparse: what the scalers share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import InvalidData
from qed.core._finite import require
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.data import ColumnMoments, fold
from qed.data._finite import raise_not_finite

if TYPE_CHECKING:
    from qed.data import Chunk

Array = np.ndarray[Any, Any]


EPSILON = float(np.finfo(np.float64).eps)


def looked_at(data: Any, *, weighted: bool = False) -> ColumnMoments:
    """Return the statistics of the validated input of a fit, and refuse infinite entries that they show.

    Of a source they are folded, with its weights if ``weighted``.
    """
    if is_source(data.X):
        seen = fold(data.X, partial(_of_chunk, weighted=weighted), name=data.owner)
        require_rows(seen.rows, data.owner)
        return seen
    seen = ColumnMoments.of(data.X, data.weight)
    present = seen.count > 0
    if np.isinf(np.where(present, seen.low, 0)).any() or np.isinf(np.where(present, seen.high, 0)).any():
        require(data.X, "X", data.names, data.owner, allow_nan=True)
    return seen


def require_rows(rows: int, owner: str) -> None:
    """Refuse a source that has no rows."""
    if not rows:
        raise InvalidData(f"{owner} got a source without rows. Check which files or partitions it reads.")


def finite_rows(model: Any, table: Any) -> Any:
    """Return gathered rows of a source, and refuse infinite ones, and NaN where the model does."""
    names = model.__dict__.get("feature_names_in_")
    allowed = model._traits().allow_nan  # noqa: SLF001
    require(table, "X", None if names is None else list(names), type(model).__name__, allow_nan=allowed)
    return table


def _of_chunk(chunk: Chunk, *, weighted: bool) -> ColumnMoments:
    seen = ColumnMoments.of(chunk.X, chunk.s if weighted else None)
    if np.isinf(seen.low[seen.count > 0]).any() or np.isinf(seen.high[seen.count > 0]).any():
        raise_not_finite(chunk, gaps=True)
    return seen


def is_weighted(data: Any) -> bool:
    """Tell whether the rows of a fit have weights."""
    return bool(data.X.schema.weighted) if is_source(data.X) else data.weight is not None


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
