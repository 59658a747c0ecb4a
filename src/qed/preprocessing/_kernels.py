"""The native code that preprocessing calls, and the layouts it wants."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native

Array = np.ndarray[Any, Any]

__all__ = ["monomials", "moved"]


def moved(
    X: Array,
    first: Array,
    second: Array,
    *,
    divides: bool,
    clip: tuple[float, float] | None = None,
    in_place: bool = False,
) -> Array:
    """Return ``(X - first) / second`` or ``X * second + first``, cut off at ``clip``, in the layout and type of X."""
    out = X if in_place and X.flags.writeable else np.empty_like(X, subok=False)
    _native.move(X, out, _vector(first), _vector(second), divides, clip)
    return out


def _vector(values: Array) -> Array:
    return np.require(values, dtype=np.float64, requirements=["C", "A"])


def monomials(X: Array, runs: Array, first: int, columns: int) -> Array:
    """Return products of columns, row-major, as `runs` say: target, source, length, factor."""
    return _native.monomials(X, np.ascontiguousarray(runs, dtype=np.int64), first, columns)

