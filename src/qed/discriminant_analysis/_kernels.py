"""The package's one interface to compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.data._kernels import strided

Array = np.ndarray[Any, np.dtype[np.float64]]


def project(X: np.ndarray[Any, Any], shift: Array, directions: Array) -> np.ndarray[Any, Any]:
    """Return ``(X - shift) @ directions`` in the type of ``X``."""
    return np.asarray(_native.matmul(strided(X), np.ascontiguousarray(directions), None, np.ascontiguousarray(shift)))


def squared_lengths(X: np.ndarray[Any, Any], shift: Array, directions: Array) -> Array:
    """Return the squared length of ``(x - shift) @ directions`` for each row; the products are never stored."""
    rank = directions.shape[1]
    squares, _ = _native.projected_squares(
        strided(X),
        np.ascontiguousarray(shift),
        np.ascontiguousarray(directions),
        np.ones((rank, 1)),
        np.empty((rank, 0)),
    )
    return np.asarray(squares)[:, 0]


def scaled_lengths(X: np.ndarray[Any, Any], shift: Array, scale: Array) -> Array:
    """Return the squared length of ``(x - shift) * scale`` for each row."""
    return np.asarray(_native.class_distances(strided(X), shift.reshape(1, -1), scale.reshape(1, -1)))[:, 0]
