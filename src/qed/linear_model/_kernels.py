"""The door of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.core._threads import one_blas_thread
from qed.data._kernels import strided

__all__ = [
    "cholesky",
    "column_sums",
    "matmul",
    "one_blas_thread",
    "projected_squares",
    "residual_sums",
    "solve_lower",
    "solve_lower_t",
    "triangle",
]

Array = np.ndarray[Any, np.dtype[np.float64]]


def matmul(X: np.ndarray[Any, Any], w: Array, b: Array) -> Any:
    """Return ``X w + b`` in the type of ``X``."""
    return _native.matmul(X, np.ascontiguousarray(w), np.ascontiguousarray(b))


def column_sums(X: np.ndarray[Any, Any], s: Array, about: Array) -> tuple[Array, Array]:
    """Return weighted sums and sums of squares of the columns of ``X - about``, in one pass."""
    s = np.ascontiguousarray(s)
    sums, squares = _native.column_sums(strided(X), s, s, np.ascontiguousarray(about))
    return sums[:, 0], squares


def residual_sums(
    X: np.ndarray[Any, Any], y: np.ndarray[Any, Any], w: Array, b: Array, s: Array | None, shift: Array
) -> tuple[Array, Array, Array, int]:
    """Return gradient, sums and squares of ``r = y - (X - shift) w - b``, and the longest chain of additions behind them."""
    s = None if s is None else np.ascontiguousarray(s)
    w, b, shift = np.ascontiguousarray(w), np.ascontiguousarray(b), np.ascontiguousarray(shift)
    gradient, sums, squares = _native.residual(strided(X), strided(y), w, b, s, shift)
    return gradient, sums, squares, int(_native.product_terms) + 64


def cholesky(A: Array) -> tuple[Array, int]:
    """Return the lower factor of ``A`` and the index of the first pivot that is not positive, -1 if all are."""
    L, bad = _native.cholesky(np.ascontiguousarray(A))
    return L, int(bad)


def solve_lower(L: Array, B: Array) -> Array:
    """Return ``L⁻¹ B``."""
    return np.asarray(_native.solve_lower(L, np.ascontiguousarray(B)))


def solve_lower_t(L: Array, B: Array) -> Array:
    """Return ``L⁻ᵀ B``."""
    return np.asarray(_native.solve_lower_t(L, np.ascontiguousarray(B)))


def projected_squares(X: np.ndarray[Any, Any], shift: Array, V: Array, D: Array, B: Array) -> tuple[Array, Array]:
    """Return ``Z² D`` and ``Z B`` for ``Z = (X - shift) V``, which is never stored."""
    squares, linear = _native.projected_squares(
        X, np.ascontiguousarray(shift), np.ascontiguousarray(V), np.ascontiguousarray(D), np.ascontiguousarray(B)
    )
    return squares, linear


def triangle(
    X: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any] | None = None,
    s: Array | None = None,
    shift: Array | None = None,
    scale: Array | None = None,
    *,
    ones: bool = False,
) -> Array:
    """Return the upper factor ``R`` with ``RᵀR = ZᵀSZ`` for ``Z = ([X | y] - shift) scale``, after ``ones`` if asked."""
    y = np.empty((len(X), 0)) if y is None else strided(y)
    s, shift, scale = (None if each is None else np.ascontiguousarray(each) for each in (s, shift, scale))
    return np.asarray(_native.triangle(strided(X), y, s, shift, scale, ones))
