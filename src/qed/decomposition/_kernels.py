"""The interface of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.core._tables import is_sparse
from qed.data._kernels import Array, csr_arrays, plain, strided

Matrix = np.ndarray[Any, np.dtype[np.float64]]
PRODUCT_TERMS = int(_native.product_terms)  # roundings behind an entry of a product, for each thousand terms or so


def mapped(X: Any, W: Matrix, b: Matrix | None = None, shift: Matrix | None = None) -> Array:
    """Return ``(X - shift) W + b`` in the type of X, which is an array or compressed rows or columns."""
    if not is_sparse(X):
        return np.asarray(_native.matmul(strided(X), plain(W), b, shift))
    offset = np.zeros(W.shape[1]) if b is None else b
    offset = offset if shift is None else offset - shift @ W
    if X.format == "csr":
        return np.asarray(_native.csr_matmul(*csr_arrays(X), X.shape, plain(W), plain(offset)))
    turned = _native.csr_rmatmul(*csr_arrays(X), X.shape[::-1], plain(W))
    return np.asarray(turned + offset).astype(X.dtype, copy=False)


def triangle(X: Array, s: Matrix | None, shift: Matrix) -> Matrix:
    """Return the upper factor of ``sqrt(s) (X - shift)``, for at least as many rows as columns."""
    weights = None if s is None else np.ascontiguousarray(s)
    return np.asarray(_native.triangle(strided(X), np.empty((len(X), 0)), weights, plain(shift), None, False))


def factorises(A: Matrix) -> bool:
    """Tell whether a symmetric matrix has a Cholesky factor: then it is positive definite up to rounding."""
    _, bad = _native.cholesky(np.ascontiguousarray(A))
    return int(bad) < 0


def product(A: Matrix, B: Matrix) -> Matrix:
    """Return A B of arrays in memory, the same bits on any number of threads."""
    return np.asarray(_native.matmul(A, plain(B), None, None))


def adjoint(A: Matrix, B: Matrix) -> Matrix:
    """Return A' B of arrays in memory, the same bits on any number of threads."""
    return np.asarray(_native.rmatmul(A, plain(B), None))


def shifted_adjoint(A: Matrix, B: Matrix, shift: Matrix) -> Matrix:
    """Return (A - shift)' B of arrays in memory, the same bits on any number of threads."""
    return np.asarray(_native.rmatmul(A, plain(B), plain(shift)))


def triangle_of_both(X: Matrix, Y: Matrix, shift: Matrix, scale: Matrix) -> Matrix:
    """Return the upper factor of ``([X, Y] - shift) scale``, for at least as many rows as columns."""
    return np.asarray(_native.triangle(X, Y, None, plain(shift), plain(scale), False))


def code_rows(
    G: Matrix, P: Matrix, W: Matrix, enough: Matrix, lasso: float, ridge: float, *, positive: bool, sweeps: int
) -> tuple[float, float]:
    """Lower ``w'(G + ridge)w/2 - p'w + lasso |w|`` along coordinates of the rows of W, in place.

    Return its sum where they end, and what single entries could gain where they began.
    """
    _, value, gain = _native.code_rows(
        plain(G), plain(P), W, plain(enough), float(lasso), float(ridge), bool(positive), int(sweeps)
    )
    return float(value), float(gain)


def sweep_rows(G: Matrix, P: Matrix, W: Matrix, lasso: float, ridge: float, *, sweeps: int) -> tuple[float, float]:
    """Take so many sweeps over the coordinates of nonnegative rows of W, in place; return as ``code_rows`` does."""
    value, gain = _native.sweep_rows(plain(G), plain(P), W, float(lasso), float(ridge), int(sweeps))
    return float(value), float(gain)


def pursue_rows(G: Matrix, P: Matrix, squares: Matrix, most: int, tolerance: float) -> Matrix:
    """Return codes by orthogonal matching pursuit from products alone."""
    return np.asarray(_native.pursue_rows(plain(G), plain(P), plain(squares), int(most), float(tolerance)))


def contrast_pass(Z: Matrix, W: Matrix, contrast: str, a: float) -> tuple[Matrix, Matrix, Matrix]:
    """Return sums over rows z of Z, with sources y = W z: of g(y) z', of g'(y), and of the contrast G(y)."""
    slopes, curvatures, values = _native.contrast_pass(plain(Z), plain(W), contrast, float(a))
    return np.asarray(slopes), np.asarray(curvatures), np.asarray(values)


def exp_digamma(x: Matrix) -> Matrix:
    """Return exp(digamma(x)) of positive numbers."""
    return np.asarray(_native.exp_digamma(plain(x)))


def topics_of_rows(
    starts: Array, words: Array, counts: Array, topics: Matrix, gamma: Matrix, prior: float, tol: float, sweeps: int
) -> tuple[Matrix, Matrix, Matrix]:
    """Update the parameters of documents, in place; return expected shares, ratios of counts, and the likelihood at the start."""
    found = _native.topics_of_rows(starts, words, counts, plain(topics), gamma, float(prior), float(tol), int(sweeps))
    theta, ratios, likelihood = (np.asarray(one) for one in found)
    return theta, ratios, likelihood


def csr_adjoint(starts: Array, indices: Array, values: Array, shape: tuple[int, int], U: Matrix) -> Matrix:
    """Return the transpose of compressed rows times columns, the same bits on any number of threads."""
    return np.asarray(_native.csr_rmatmul(starts, indices, values, shape, plain(U)))
