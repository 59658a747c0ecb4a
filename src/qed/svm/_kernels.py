"""The package's one interface to compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed import _native
from qed.data._kernels import csr_arrays

Array = np.ndarray[Any, np.dtype[np.float64]]


class CompiledPlanes(NamedTuple):
    """A row for each hyperplane: coefficients, dual variables; and objective, gap, rounding, null objective and steps."""

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
    """Find a hyperplane for each row of targets; ``c`` are weights of losses, twice that of a square.

    ``table`` is an array of few columns or compressed rows, and the value of one more column; zero for none.
    ``has_kinks`` says whether absolute values are penalised.
    """
    X, constant = table
    if isinstance(X, np.ndarray):
        return CompiledPlanes(*_native.find_planes(loss, width, has_kinks, _ended(X, constant), y, c, goal))
    arrays = csr_arrays(X)
    return CompiledPlanes(*_native.csr_find_planes(loss, width, has_kinks, arrays, X.shape, constant, y, c, goal))


def find_class_planes(
    table: tuple[Any, float], label: Array, c: Array, goal: tuple[float, int], *, classes: int
) -> CompiledPlanes:
    """Find the hyperplanes of all classes in one objective; of the dual variables each row has one for each class.

    ``table`` is an array and the value of one more column, zero for none; or compressed rows, which have that column already.
    """
    X, constant = table
    if isinstance(X, np.ndarray):
        return CompiledPlanes(*_native.find_class_planes(_ended(X, constant), label, c, classes, goal))
    return CompiledPlanes(*_native.csr_find_class_planes(csr_arrays(X), X.shape, label, c, classes, goal))


def _ended(X: Array, constant: float) -> Array:
    """Return a copy with one more column, if its entries are not zero."""
    n, p = X.shape
    wider = np.empty((n, p + (constant != 0.0)))
    wider[:, :p] = X
    wider[:, p:] = constant
    return wider
