"""The package's one interface to compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.data._kernels import category_entries, strided

Array = np.ndarray[Any, np.dtype[np.float64]]
ENTRIES = 1 << 17


def class_distances(X: np.ndarray[Any, Any], centre: Array, scale: Array) -> Array:
    """Return the squared length of ``(x - centre) * scale`` for each row and class, (n, k)."""
    return np.asarray(_native.class_distances(strided(X), np.ascontiguousarray(centre), np.ascontiguousarray(scale)))


def category_products(X: np.ndarray[Any, Any], sizes: Array, weights: Array, levels: Array) -> Array:
    """Return for each row the sum of the weights of its categories, (n, k); weights are (k, total of sizes).

    Categories beyond the sizes weigh nothing.
    """
    total, n = int(sizes.sum()), len(X)
    w, b = np.vstack([weights.T, np.zeros((1, len(weights)))]), np.ascontiguousarray(levels)
    out = np.empty((n, len(weights)))
    step = max(1, ENTRIES // max(1, len(sizes)))  # rows whose categories stay in cache
    for first in range(0, n, step):
        rows = X[first : first + step]
        starts, columns, ones = category_entries(rows, sizes)
        unknown = rows >= sizes
        if unknown.any():
            columns[unknown.reshape(-1)] = total  # a column that says nothing
        out[first : first + step] = _native.csr_matmul(starts, columns, ones, (len(rows), total + 1), w, b)
    return out
