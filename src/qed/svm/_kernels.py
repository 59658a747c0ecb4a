"""The package's one door to compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed import _native

__all__ = ["CompiledPlanes", "find_planes"]

Array = np.ndarray[Any, np.dtype[np.float64]]


class CompiledPlanes(NamedTuple):
    """A row for each plane: coefficients, dual variables; and objective, gap, rounding, null objective and steps."""

    w: Array
    u: Array
    numbers: Array


def find_planes(
    loss: str, width: float, X: Array, y: Array, c: Array, goal: tuple[float, int], *, is_sparse: bool
) -> CompiledPlanes:
    """Find a plane for each row of targets, on a table of few columns; ``c`` are weights of losses, twice that of a square."""
    w, u, numbers = _native.find_planes(loss, width, is_sparse, X, y, c, goal)
    return CompiledPlanes(w, u, numbers)
