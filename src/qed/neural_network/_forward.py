"""What a network says, in NumPy: a model that was loaded predicts without PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._jobs import mapped
from qed.core._threads import get_num_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.core import Array


BLOCK_ROWS = 1024  # rows that go through the layers together: their units stay in the cache
MIN_PRODUCTS_FOR_THREADS = 2**24  # multiplications from which blocks are shared out among threads


def _relu(z: Array) -> Array:
    return np.maximum(z, 0, out=z)


def _tanh(z: Array) -> Array:
    return np.tanh(z, out=z)


def _logistic(z: Array) -> Array:
    small = np.exp(-np.abs(z))  # overflows nowhere, and keeps the digits of the smaller of the two probabilities
    np.divide(np.where(z >= 0, np.ones((), z.dtype), small), 1 + small, out=z)
    return z


def _softmax(z: Array) -> Array:
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def _exp(z: Array) -> Array:
    return np.exp(z, out=z)


def _identity(z: Array) -> Array:
    return z


UNITS: dict[str, Callable[[Array], Array]] = {
    "identity": _identity,
    "logistic": _logistic,
    "tanh": _tanh,
    "relu": _relu,
}
ENDS: dict[str, Callable[[Array], Array]] = {
    "identity": _identity,
    "logistic": _logistic,
    "softmax": _softmax,
    "exp": _exp,
}


def scores(X: Any, weights: Sequence[Array], intercepts: Sequence[Array], activation: str) -> Array:
    """Return the values of the last layer before its activation, one row for each of X, in fixed blocks of rows."""
    n = X.shape[0]
    dtype = np.result_type(X.dtype, weights[0].dtype)
    found = np.empty((n, weights[-1].shape[1]), dtype)
    unit = UNITS[activation]

    def pass_through(first: int) -> None:
        a = X[first : first + BLOCK_ROWS]
        for weight, intercept in zip(weights[:-1], intercepts[:-1], strict=True):
            z = a @ weight
            z += intercept
            a = unit(z)
        out = found[first : first + BLOCK_ROWS]
        out[...] = a @ weights[-1]
        out += intercepts[-1]

    cost = n * sum(weight.size for weight in weights)
    starts = range(0, n, BLOCK_ROWS)
    with one_blas_thread(max(min(n, BLOCK_ROWS) * max(weight.shape[0] for weight in weights), weights[0].size)):
        for _ in mapped(pass_through, starts, get_num_threads() if cost > MIN_PRODUCTS_FOR_THREADS else None):
            pass
    return found


def silence(X: Any, weights: Sequence[Array], intercepts: Sequence[Array]) -> None:
    """Set rectifiers to zero that no row reaches, in place: their weights are what was drawn, and not what was learnt."""
    most = [np.full(len(one), -np.inf, one.dtype) for one in intercepts[:-1]]
    for first in range(0, X.shape[0], BLOCK_ROWS):
        a = X[first : first + BLOCK_ROWS]
        for k, highest in enumerate(most):
            z = a @ weights[k] + intercepts[k]
            np.maximum(highest, z.max(axis=0), out=highest)
            a = _relu(z)
    for k, highest in enumerate(most):
        silent = highest <= 0
        weights[k][:, silent], intercepts[k][silent], weights[k + 1][silent] = 0.0, 0.0, 0.0


def outputs(z: Array, end: str) -> Array:
    """Return what the last layer says, in place of its values before the activation; what overflows is infinite."""
    with np.errstate(over="ignore"):
        return ENDS[end](z)
