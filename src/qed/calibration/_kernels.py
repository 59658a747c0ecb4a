"""The interface of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native

Array = np.ndarray[Any, Any]
LARGE = 2.0**1000  # differences of larger numbers may overflow


def rising(x: Array, y: Array, s: Array | None) -> Array:
    """Return the best rising values of rows that are sorted by x; equal x share one. Weights are positive."""
    unit = 2.0**-24 if np.abs(y).max(initial=0.0) > LARGE else 1.0  # a power of two: nothing is rounded
    values = _native.pool_adjacent_violators(_vector(x), _vector(y) * unit, None if s is None else _vector(s))
    return np.asarray(values / unit)


def _vector(values: Array) -> Array:
    return np.require(values, dtype=np.float64, requirements=["C", "A"])
