"""Distances by definition, for all pairs at once: the slow twin of every search."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["METRICS", "distances", "nearest"]

Array = np.ndarray[Any, Any]


def _minkowski(d: Array, p: float) -> Array:
    return (np.abs(d) ** p).sum(axis=2) ** (1 / p)


def _cosine(Q: Array, X: Array) -> Array:
    lengths = np.outer(np.sqrt((Q**2).sum(axis=1)), np.sqrt((X**2).sum(axis=1)))
    return 1 - np.divide(Q @ X.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _less_mean(X: Array) -> Array:
    return X - X.mean(axis=1, keepdims=True)


METRICS: dict[str, dict[str, Any]] = {
    "euclidean": {},
    "manhattan": {"p": 1},
    "chebyshev": {"p": np.inf},
    "cubes": {"p": 3},
    "power": {"p": 1.5},
    "hamming": {"metric": "hamming"},
    "cosine": {"metric": "cosine"},
    "correlation": {"metric": "correlation"},
    "squares": {"metric": "sqeuclidean"},
    "weighted": {"metric_params": {"w": [1.0, 0.0, 4.0]}},
}


def distances(name: str, Q: Array, X: Array) -> Array:
    """Return the distance of every row of Q from every row of X."""
    d = Q[:, None] - X[None]
    if name in ("cosine", "correlation"):
        return _cosine(Q, X) if name == "cosine" else _cosine(_less_mean(Q), _less_mean(X))
    return {
        "euclidean": lambda: np.sqrt((d**2).sum(axis=2)),
        "manhattan": lambda: np.abs(d).sum(axis=2),
        "chebyshev": lambda: np.abs(d).max(axis=2),
        "cubes": lambda: _minkowski(d, 3),
        "power": lambda: _minkowski(d, 1.5),
        "hamming": lambda: (d != 0).mean(axis=2),
        "squares": lambda: (d**2).sum(axis=2),
        "weighted": lambda: np.sqrt((d**2 * [1.0, 0.0, 4.0]).sum(axis=2)),
    }[name]()


def nearest(table: Array, k: int) -> Array:
    """Return the columns of the k least entries of each row, equal ones in their order."""
    return np.argsort(table, axis=1, kind="stable")[:, :k]
