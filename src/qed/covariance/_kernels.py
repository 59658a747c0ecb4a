"""The interface of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native

Array = np.ndarray[Any, Any]


def newton_direction(S: Array, T: Array, W: Array, alpha: float, sweeps: int) -> Array:
    """Return the direction from a precision matrix T, of inverse W, towards the best one for a covariance S."""
    return _native.precision_descent(_square(S), _square(T), _square(W), float(alpha), int(sweeps))


def _square(matrix: Array) -> Array:
    return np.require(matrix, dtype=np.float64, requirements=["C", "A"])
