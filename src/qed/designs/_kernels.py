"""The one door from `qed.designs` to native code: fixes layout, type and alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def strided(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array as the kernels want it: aligned, native byte order, strides in whole elements; else a copy."""
    if X.flags.aligned and X.dtype.isnative and all(stride % X.itemsize == 0 for stride in X.strides):
        return X
    return np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("="))


def product(X: np.ndarray[Any, Any], w: Matrix) -> Matrix:
    """Return X w in float64."""
    if X.dtype == np.float64:
        return np.asarray(_native.matmul(X, strided(w), np.zeros(w.shape[1])))
    # `matmul` answers in the type of X; the transposed product of the transposed view answers in float64.
    return np.asarray(_native.rmatmul(X.T, strided(w)))


def adjoint_product(X: np.ndarray[Any, Any], u: Matrix) -> Matrix:
    """Return X' u in float64."""
    return np.asarray(_native.rmatmul(X, strided(u)))


def gram(X: np.ndarray[Any, Any], s: Matrix | None, centre: Matrix | None, *, transpose: bool) -> Matrix:
    """Return (X - 1 centre')' diag(s) (X - 1 centre'), or the same of the transposed."""
    return np.asarray(_native.gram(X, s, centre, transpose))


def double(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return float64 data: the CSR product answers in the type of its data."""
    return a.astype(np.float64, copy=False)


def csr_product(X: Any, w: Matrix) -> Matrix:
    """Return X w in float64 for CSR arrays."""
    zeros = np.zeros(w.shape[1])
    return np.asarray(_native.csr_matmul(X.indptr, X.indices, double(X.data), X.shape, np.ascontiguousarray(w), zeros))


def csr_adjoint_product(X: Any, u: Matrix) -> Matrix:
    """Return X' u in float64 for CSR arrays."""
    return np.asarray(_native.csr_rmatmul(X.indptr, X.indices, X.data, X.shape, np.ascontiguousarray(u)))


def csr_moments(X: Any, s: Matrix | None) -> tuple[float, Matrix, Matrix]:
    """Return weight, column sums and Gram matrix of CSR arrays."""
    weight, sums, products = _native.csr_moments(X.indptr, X.indices, X.data, X.shape, np.empty((X.shape[0], 0)), s)
    return float(weight), sums, products
