"""The native code that preprocessing calls, and the layouts it wants."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native

Array = np.ndarray[Any, Any]


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


def counted(X: Array, levels: list[Array]) -> Array:
    """Return how many levels of its column each entry reaches, in the layout and type of X; NaN stays."""
    out = np.empty_like(X, subok=False)
    starts = np.concatenate([[0], np.cumsum([len(one) for one in levels])]).astype(np.int64)
    _native.count_levels(X, out, _vector(np.concatenate(levels)), starts)
    return out


def followed(X: Array, levels: Array, values: Array, *, in_place: bool = False) -> Array:
    """Return curves through (levels, values) at the entries of X, in its layout and type; row j of levels is of column j."""
    out = X if in_place and X.flags.writeable else np.empty_like(X, subok=False)
    _native.follow_levels(X, out, _vector(levels), _vector(values))
    return out


def monomials(X: Array, runs: Array, first: int, columns: int) -> Array:
    """Return products of columns, row-major, as `runs` say: target, source, length, factor."""
    out = np.empty((len(X), columns), X.dtype)
    _native.monomials(X, out, np.ascontiguousarray(runs, dtype=np.int64), first)
    return out


def sparse_monomials(
    X: Any, offsets: Array, degrees: tuple[int, int], starts: Array, *, distinct: bool, ones: bool
) -> tuple[Array, Array]:
    """Return columns and values of the products of the entries of compressed rows; `starts` counts them."""
    columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], X.dtype)
    _native.sparse_monomials(
        X.indptr.astype(np.int64),
        X.indices.astype(np.int64),
        np.ascontiguousarray(X.data),
        X.shape[1],
        np.ascontiguousarray(offsets, dtype=np.int64).ravel(),
        degrees,
        bool(distinct),
        bool(ones),
        starts,
        columns,
        values,
    )
    return columns, values


def hashed(words: list[Any]) -> Array:
    """Return MurmurHash3 (32 bits, seed zero) of words or bytes, signed."""
    coded = [word if isinstance(word, bytes) else word.encode() for word in words]
    ends = np.cumsum([len(word) for word in coded], dtype=np.int64) if coded else np.zeros(0, np.int64)
    return _native.hash_words(np.frombuffer(b"".join(coded), np.uint8), ends)
