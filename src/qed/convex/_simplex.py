"""Rows of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector


def to_simplex(v: Vector) -> Vector:
    """Return the rows nearest to those of v that are >= 0 and sum to one.

    Examples
    --------
    >>> to_simplex(np.array([[1.0, 0.5, -3.0]]))
    array([[0.75, 0.25, 0.  ]])
    """
    v = v - v.max(axis=1, keepdims=True)  # the answer is the same, and the level below stays of ordinary size
    down = -np.sort(-v, axis=1)
    total = np.cumsum(down, axis=1) - 1.0
    kept = np.maximum((down * np.arange(1, v.shape[1] + 1) > total).sum(axis=1), 1)
    level = total[np.arange(len(v)), kept - 1] / kept
    return np.asarray(np.maximum(v - level[:, np.newaxis], 0.0))
