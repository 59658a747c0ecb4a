"""The native code that core calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.core._params import Array

__all__ = ["all_finite"]

_SMALL = 1 << 16  # entries below which NumPy answers before threads could be woken


def all_finite(array: Array) -> bool:
    """Tell whether a float array of one or two dimensions, of any strides, holds no NaN and no infinity."""
    if array.size <= _SMALL:
        return bool(np.isfinite(array).all())
    try:
        from qed import _native  # noqa: PLC0415  (loaded by the first large array, not by import)
    except ImportError:
        return _all_finite_in_blocks(array)
    return bool(_native.all_finite(array))


def _all_finite_in_blocks(array: Array) -> bool:
    """Answer the same without native code, in memory that does not grow with the array."""
    step = max(1, _SMALL // max(1, array.size // len(array)))
    return all(bool(np.isfinite(array[i : i + step]).all()) for i in range(0, len(array), step))
