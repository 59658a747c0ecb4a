"""The one door from `qed.data` to native code: fixes layout and types, and says how long the kernels' sums are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed import _native

UNIT = 2.0**-53

if TYPE_CHECKING:
    from qed.data._chunk import Chunk

    Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
    Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse container; NumPy arrays are the only other thing a chunk holds."""
    return not isinstance(X, np.ndarray)


def moments(chunk: Chunk, shift: Vector) -> tuple[float, Vector, Matrix]:
    """Weight, sums and products of ``[X | y] - shift`` over the rows of a chunk, in one pass.

    Sparse chunks are summed about zero: the shift would fill them, so it must be zero.
    """
    if is_sparse(chunk.X):
        X = chunk.X.tocsr()
        weight, sums, products = _native.csr_moments(
            X.indptr, X.indices, X.data, X.shape, strided(chunk.y, X.shape[0]), weights(chunk.s)
        )
    else:
        weight, sums, products = _native.moments(
            strided(chunk.X), strided(chunk.y, chunk.n_rows), weights(chunk.s), shift
        )
    return float(weight), sums, products


def rounding(chunk: Chunk) -> tuple[float, float]:
    """Bound the relative errors γ of the sums and products, and η of the weight, that `moments` gives of a chunk.

    The dense kernel sums panels, adds panels to blocks and merges blocks with compensation: its longest chain of
    roundings is `product_terms`, however many rows there are. The number of rows covers any order of summation.
    """
    n, most = chunk.n_rows, int(_native.product_terms)
    roundings = (n if is_sparse(chunk.X) else min(n, most)) + 16  # sixteen: shift, root of the weight, centring
    gamma = roundings * UNIT / (1 - roundings * UNIT)
    # The weight is summed with compensation: two roundings, and a term of second order.
    eta = 0.0 if chunk.s is None else 4 * UNIT + 2 * (n * UNIT) ** 2
    return gamma, eta


def strided(a: np.ndarray[Any, Any] | None, n_rows: int = 0) -> np.ndarray[Any, Any]:
    """Return the array as the kernels want it: aligned, native byte order, strides in whole elements; else a copy."""
    if a is None:
        return np.empty((n_rows, 0))
    whole = all(stride % a.itemsize == 0 for stride in a.strides)
    if a.flags.aligned and a.dtype.isnative and whole:
        return a
    return np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("="))


def weights(s: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any] | None:
    """Contiguous float64 weights, or None."""
    return None if s is None else np.ascontiguousarray(s, dtype=np.float64)
