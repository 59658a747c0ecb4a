"""The package's one door to compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed import _native
from qed.data._kernels import csr_arrays

__all__ = ["CompiledPlanes", "find_planes"]

Array = np.ndarray[Any, np.dtype[np.float64]]


class CompiledPlanes(NamedTuple):
    """A row for each plane: coefficients, dual variables; and objective, gap, rounding, null objective and steps."""

    w: Array
    u: Array
    numbers: Array


def find_planes(
    loss: str,
    width: float,
    table: tuple[Any, float],
    y: Array,
    c: Array,
    goal: tuple[float, int],
    *,
    has_kinks: bool,
) -> CompiledPlanes:
    """Find a plane for each row of targets; ``c`` are weights of losses, twice that of a square.

    ``table`` is an array of few columns or compressed rows, and the value of one more column; zero for none.
    ``has_kinks`` says whether absolute values are penalised.
    """
    X, constant = table
    if isinstance(X, np.ndarray):
        n, p = X.shape
        wider = np.empty((n, p + (constant != 0.0)))
        wider[:, :p] = X
        wider[:, p:] = constant
        return CompiledPlanes(*_native.find_planes(loss, width, has_kinks, wider, y, c, goal))
    arrays = csr_arrays(X)
    return CompiledPlanes(*_native.csr_find_planes(loss, width, has_kinks, arrays, X.shape, constant, y, c, goal))
