"""The one door from `qed.data` to native code: fixes layout and types, and says how long the kernels' sums are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed import _native

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


def chain(n_rows: int) -> int:
    """How many roundings one entry of a kernel's sum over `n_rows` rows has been through, at most.

    Any order of summation is covered by the number of rows itself.
    """
    return n_rows


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
