"""Distances between rows, by definition."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def distances(rows: Array, others: Array, metric: Any, p: float = 2.0, params: dict[str, Any] | None = None) -> Array:
    """Return the distances of rows to others, one row at a time."""
    if callable(metric):
        return np.array([[float(metric(a, b, **(params or {}))) for b in others] for a in rows])
    return np.stack([_from(row, others, metric, p, params or {}) for row in rows])


def _from(row: Array, others: Array, metric: str, p: float, params: dict[str, Any]) -> Array:  # noqa: PLR0911
    if metric in ("cosine", "correlation"):
        if metric == "correlation":
            row, others = row - row.mean(), others - others.mean(axis=1, keepdims=True)
        size = np.linalg.norm(row)
        sizes = np.linalg.norm(others, axis=1)
        one = row / size if size > 0 else row
        two = others / np.where(sizes > 0, sizes, 1.0)[:, None]
        both = (size > 0) & (sizes > 0)
        return np.where(both, 0.5 * np.sum((one - two) ** 2, axis=1), np.where((size > 0) | (sizes > 0), 1.0, 0.0))
    step = np.abs(others - row)
    if metric in ("manhattan", "l1", "cityblock"):
        return np.asarray(step.sum(axis=1))
    if metric == "chebyshev":
        return np.asarray(step.max(axis=1))
    if metric == "hamming":
        return np.asarray(np.mean(step != 0, axis=1))
    if metric == "sqeuclidean":
        return np.asarray(np.sum(step**2, axis=1))
    if metric == "minkowski":
        power = float(params.get("p", p))
        weight = np.ones(len(row)) if params.get("w") is None else np.asarray(params["w"], np.float64)
        if np.isinf(power):
            return np.asarray(step.max(axis=1))
        top = step.max(axis=1)
        unit = np.where(top > 0, top, 1.0)[:, None]
        return np.asarray(top * np.sum(weight * (step / unit) ** power, axis=1) ** (1 / power))
    return np.asarray(np.sqrt(np.sum(step**2, axis=1)))
