"""The one interface of `qed.designs` to native code: fixes layout, type and alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.data._kernels import Array, csr_arrays, strided

Matrix = np.ndarray[Any, np.dtype[np.float64]]
Shape = tuple[int, int]


def product(X: Array, w: Matrix, centre: Matrix | None) -> Matrix:
    """Return (X - 1 centre') w in float64."""
    return np.asarray(_native.matmul(X, strided(w), None, centre, wide=True))


def adjoint_product(X: Array, u: Matrix, centre: Matrix | None) -> Matrix:
    """Return (X - 1 centre')' u in float64."""
    return np.asarray(_native.rmatmul(X, strided(u), centre))


def column_squares(X: Array, s: Matrix | None, centre: Matrix | None) -> Matrix:
    """Return the weighted sums of squares of the columns of X - 1 centre'."""
    return np.asarray(_native.column_squares(X, s, centre))


def gram(X: Array, s: Matrix | None, centre: Matrix | None, *, transpose: bool, fast: bool = False) -> Matrix:
    """Return (X - 1 centre')' diag(s) (X - 1 centre'), or the same of the transposed; `fast` multiplies in the type of X."""
    return np.asarray(_native.gram(X, s, centre, transpose=transpose, fast=fast))


def csr_product(X: Any, shape: Shape, w: Matrix, offset: Matrix | None = None, **reading: bool) -> Matrix:
    """Return X w + offset in float64, for X of the given shape compressed by rows (the transpose of a table by columns is).

    ``absolute=True`` multiplies by the absolute values of X, ``squared=True`` by their squares.
    """
    starts, indices, values = csr_arrays(X)
    # The kernel answers in the type of the values.
    values = values.astype(np.float64, copy=False)
    return np.asarray(_native.csr_matmul(starts, indices, values, shape, strided(w), offset, **reading))


def csr_adjoint(X: Any, shape: Shape, u: Matrix, **reading: bool) -> Matrix:
    """Return X' u in float64, for X of the given shape compressed by rows; read as by `csr_product`."""
    starts, indices, values = csr_arrays(X)
    return np.asarray(_native.csr_rmatmul(starts, indices, values, shape, strided(u), **reading))


def csr_gram_product(X: Any, v: Matrix, offset: Matrix | None, s: Matrix | None, parts: int) -> tuple[Matrix, Matrix]:
    """Return X' s (X v - offset), and the sums of s (X v - offset), of compressed rows in one pass."""
    out, sums = _native.csr_gram_matmul(csr_arrays(X), X.shape, strided(v), offset, s, parts)
    return np.asarray(out), np.asarray(sums)


def csr_moments(X: Any, s: Matrix | None) -> tuple[float, Matrix, Matrix]:
    """Return weight, column sums and Gram matrix of a table compressed by rows."""
    weight, sums, products = _native.csr_moments(*csr_arrays(X), X.shape, np.empty((X.shape[0], 0)), s)
    return float(weight), sums, products


def take_columns(X: Array, index: Any, scale: Matrix, centre: Matrix | None) -> Matrix:
    """Return columns of X - 1 centre', each row times ``scale``, in float64 and Fortran order."""
    index = np.ascontiguousarray(index, dtype=np.int64)
    return np.asarray(_native.take_columns(X, index, np.ascontiguousarray(scale), centre))


def csr_take_columns(X: Any, index: Any, scale: Matrix) -> tuple[Any, Any, Matrix]:
    """Return columns of a table compressed by rows or columns, as starts, rows and values, each row times ``scale``."""
    index = np.ascontiguousarray(index, dtype=np.int64)
    return _native.csr_take_columns(csr_arrays(X), X.shape, X.format == "csc", index, np.ascontiguousarray(scale))


def column_spreads(X: Array, y: Matrix, s: Matrix | None, total: float) -> tuple[Matrix, Matrix, Matrix]:
    """Return weighted means and sums of squared deviations of ``[X | y]``, and the first row.

    Sums are taken about that row, so that constant columns are recognised to the last bit.
    """
    s = None if s is None else np.ascontiguousarray(s)
    return _native.column_spreads(strided(X), strided(y), s, total)


def moment_rounding(mean: Matrix, spread: Matrix, about: Matrix, total: float, terms: int) -> tuple[Matrix, Matrix]:
    """Bound the rounding of means and spreads that were summed about a row with at most so many additions."""
    return _native.moment_rounding(mean, spread, np.ascontiguousarray(about), total, terms)
