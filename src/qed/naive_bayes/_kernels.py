"""The package's one door to compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.data._kernels import strided

__all__ = ["class_distances"]

Array = np.ndarray[Any, np.dtype[np.float64]]


def class_distances(X: np.ndarray[Any, Any], centre: Array, scale: Array) -> Array:
    """Return the squared length of ``(x - centre) * scale`` for each row and class, (n, k)."""
    return np.asarray(
        _native.class_distances(strided(X), np.ascontiguousarray(centre), np.ascontiguousarray(scale))
    )
