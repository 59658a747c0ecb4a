"""The one interface of `qed.neighbors` to native code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed import _native

if TYPE_CHECKING:
    from qed.core._params import Array

Parts = tuple["Array", "Array", "Array", "Array", int]


Sums = tuple[int, float, "Array | None"]


def arrange(rows: Array, *, tree: bool) -> Parts:
    """Put rows into groups of eight, near ones together and boxes around them for a tree."""
    return _native.arrange_rows(rows, tree)


def plain(a: Any) -> Array:
    """Return float64 that is contiguous and aligned: the array itself where it is so already."""
    return np.require(a, dtype=np.float64, requirements=["C", "A"])


def nearest(parts: Parts, queries: Array, k: int, metric: Sums, *, others: bool) -> tuple[Array, Array, int]:
    """Return distances and numbers of the k nearest rows of each query, and how many groups of eight were looked at."""
    return _native.nearest_rows(parts, queries, k, metric, others)


def within(parts: Parts, queries: Array, radius: float, metric: Sums, *, others: bool) -> tuple[Array, Array, Array]:
    """Return where the list of each query begins, and distances and numbers of the rows within a radius, list after list."""
    return _native.rows_within(parts, queries, radius, metric, others)


def to_all(parts: Parts, queries: Array, metric: Sums) -> Array:
    """Return the distances of queries to all rows; the rows are arranged without a tree."""
    return _native.measure_rows(parts, queries, metric)


def log_densities(
    parts: Parts, queries: Array, weights: Array | None, kernel: tuple[int, float], metric: Sums
) -> Array:
    """Return the logarithm of the sum of windows, weighted by row, at each query."""
    return _native.log_densities(parts, queries, weights, kernel, metric)
