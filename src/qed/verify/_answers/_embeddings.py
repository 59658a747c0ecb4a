"""Where new rows are placed among embedded ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._compare import Numbers, dense, table_of
from qed.verify._embeddings import RELATIVE_TOLERANCE, Measure
from qed.verify._refusals import refuse_answer

Array = np.ndarray[Any, Any]
CANCELLED = 2.0**20  # sums of squared paths, and small systems of equations, cancel: so many units of the last place


def _nearest(measure: Measure, row: Array, k: int) -> tuple[Array, Array, bool]:
    """Return distances to all rows, the numbers of the nearest, and whether others are as near as those."""
    away = measure.to_all(row)
    order = np.argsort(away, kind="stable")
    is_open = k < len(order) and away[order[k]] <= away[order[k - 1]] * (1 + RELATIVE_TOLERANCE)
    return away, order[:k], bool(is_open)


def along_paths(model: Any, X: Array) -> Numbers:
    """Place rows by classical scaling of their shortest paths to the rows of the fit."""
    measure = Measure(np.asarray(model.rows_, np.float64), model.metric, model.metric_params, float(model.p))
    G, points = np.asarray(model.dist_matrix_, np.float64), np.asarray(model.embedding_, np.float64)
    values = np.maximum(model.eigenvalues_, 0.0)
    axes = np.divide(points, values, out=np.zeros_like(points), where=values > 0)
    inner = G**2
    placed, size = np.empty((len(X), points.shape[1])), np.empty((len(X), points.shape[1]))
    for i, row in enumerate(X):
        away, near, is_open = _nearest(
            measure, row, measure.n if model.n_neighbors is None else min(model.n_neighbors, measure.n)
        )
        near = near if model.radius is None else np.flatnonzero(away <= model.radius)
        squares = np.min(away[near, None] + G[near], axis=0) ** 2 if len(near) else np.full(measure.n, np.nan)
        product = -0.5 * (squares - squares.mean() - inner.mean(axis=0) + inner.mean())
        placed[i] = product @ axes
        size[i] = np.inf if is_open else CANCELLED * ((squares + inner.mean(axis=0)) @ np.abs(axes))
    return Numbers(placed, size)


def by_weights(model: Any, X: Array) -> Numbers:
    """Place rows at the weighted means of the points of their neighbours."""
    rows, points = np.asarray(model.rows_, np.float64), np.asarray(model.embedding_, np.float64)
    measure = Measure(rows, "euclidean", None)
    placed, size = np.empty((len(X), points.shape[1])), np.empty((len(X), 1))
    for i, row in enumerate(X):
        _, near, is_open = _nearest(measure, row, min(model.n_neighbors, len(rows)))
        away = rows[near] - row
        products = away @ away.T
        trace = float(np.trace(products))
        weights = np.linalg.solve(
            products + (model.reg * trace if trace > 0 else model.reg) * np.eye(len(near)), np.ones(len(near))
        )
        weights /= weights.sum()
        placed[i] = weights @ points[near]
        size[i] = np.inf if is_open else CANCELLED * (np.abs(weights) @ np.abs(points[near])).max()
    return Numbers(placed, size)


def drawn(model: Any, X: Any, told: Any) -> None:
    """Compare what can be: rows of the fit stand where they stand, and others are somewhere; how they are drawn, no rule says."""
    rows, points = table_of(model, X), dense(told)
    embedding = np.asarray(model.embedding_)
    if points.shape != (rows.shape[0], embedding.shape[1]) or not np.isfinite(points).all():
        refuse_answer(model, "transform")
    known = np.asarray(model.rows_, np.float64)
    place = {tuple(row): number for number, row in reversed(list(enumerate(known.tolist())))}
    for row, point in zip(np.asarray(rows, np.float64).tolist(), points, strict=True):
        number = place.get(tuple(row))
        if (
            model.metric != "precomputed"
            and number is not None
            and not np.array_equal(point, embedding[number].astype(point.dtype))
        ):
            refuse_answer(model, "transform")
