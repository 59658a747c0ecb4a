"""How far computed eigenpairs of a symmetric matrix can be from its own: measured, not presumed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qed.core._interruptible import interruptible
from qed.data._kernels import UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def error_of_all(M: Array, values: Array, vectors: Array) -> float:
    """Bound how far each of all d values, in order, can be from the eigenvalue of M in its place."""
    d = len(M)
    top = max(float(values[0]), -float(values[-1]))
    residual = length(interruptible(np.matmul, M, vectors, work=2.0 * d**3) - vectors * values)
    noise = (d + 8) * UNIT * math.sqrt(d)
    skew = skewness(vectors.T) + noise
    return 1.01 * residual + 2.02 * top * skew + 2 * noise * length(M)


def length(A: Array) -> float:
    """Return the Frobenius norm."""
    return math.sqrt(np.vdot(A, A))


def skewness(V: Array) -> float:
    """Return how far the products of rows are from those of an orthonormal set."""
    products = interruptible(np.matmul, V, V.T, work=2.0 * V.size * len(V))
    products.flat[:: len(products) + 1] -= 1
    return length(products)
