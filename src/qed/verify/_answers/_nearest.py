"""Answers from the rows that are nearest: votes, means, labels of equal rows, and what stands for gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._compare import Labels, Numbers, dense, require, table_of
from qed.verify._neighbors import require_neighbours
from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]
BLOCK_DISTANCES = 1 << 20


def by_neighbours(method: str) -> Any:
    """Compare with the neighbours that the model names, once none is nearer than they are."""

    def rule(model: Any, X: Any, told: Any) -> None:
        rows = table_of(model, X)
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        require_neighbours(model, rows.astype(np.float64), method, told)

    return rule


def lookup(model: Any, X: Array) -> Labels:
    """Predict the label of the row of the fit that is the same, or the usual one."""
    known = {tuple(row): int(place) for row, place in zip((model.rows_ + 0.0).tolist(), model.row_labels_, strict=True)}
    place = [known.get(tuple(row), int(model.default_)) for row in (X + 0.0).tolist()]
    return Labels(np.eye(len(model.classes_))[place], 0.0, model.classes_)


# -- gaps ------------------------------------------------------------------------------------------------------


def donors(model: Any, X: Any, told: Any) -> None:
    """Compare gaps with means of the nearest rows that have the column; nearness counts columns that both have."""
    given = table_of(model, X)
    rows, known = given.astype(np.float64), np.asarray(model.rows_, dtype=np.float64)
    missing = model.missing_values
    marked = np.isnan(rows) if missing != missing else rows == missing  # noqa: PLR0124
    rows = np.where(marked, np.nan, rows)
    empty: Array = np.asarray(np.isnan(known).all(axis=0))
    answers, own = dense(told), np.where(empty, 0.0, rows)
    size = np.zeros(own.shape)
    for number in np.flatnonzero(np.isnan(own).any(axis=1)):
        _fill(model, own, size, int(number), np.where(empty, np.nan, rows[number]), known, answers, empty)
    kept: Array = empty | True if model.keep_empty_features else ~empty
    own, size = own[:, kept], size[:, kept]
    if model.indicator_ is not None:
        marks = marked[:, model.indicator_.features_].astype(np.float64)
        own, size = np.hstack([own, marks]), np.hstack([size, np.zeros(marks.shape)])
    require(
        model,
        "transform",
        Numbers(own, size),
        answers,
        terms=int(model.n_neighbors),
        is_single=given.dtype == np.float32,
    )


def _fill(
    model: Any, own: Array, size: Array, number: int, row: Array, known: Array, answers: Array, empty: Array
) -> None:
    """Fill the gaps of one row; where several rows are equally near, any of them may have been taken."""
    if callable(model.metric):
        far = np.array([model.metric(row, other, missing_values=np.nan) for other in known], dtype=np.float64)
    else:
        apart = (row.astype(EXTENDED) - known) ** 2
        common = ~np.isnan(apart)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(common, apart, 0).sum(axis=1) / common.sum(axis=1)
            far = np.where(common.any(axis=1), np.sqrt(known.shape[1] * mean), np.nan)
    for j in np.flatnonzero(np.isnan(own[number])):
        there = np.flatnonzero(~np.isnan(known[:, j]))
        values, distance = known[there, j], far[there]
        usable = np.flatnonzero(~np.isnan(distance))
        size[number, j] = np.abs(values).max(initial=0)
        if not len(usable):
            own[number, j] = np.sum(values / len(values))
            continue
        order = usable[np.argsort(distance[usable], kind="stable")]
        k = min(int(model.n_neighbors), len(there), len(order))
        own[number, j] = _mean(model, values[order[:k]], distance[order[:k]])
        edge = distance[order[k - 1]]
        tied = order[np.abs(distance[order] - edge) <= 2.0**-20 * max(float(edge), 1e-300)]
        if len(tied) > 1:  # which of these is taken is a matter of rounding
            place = int(j) if model.keep_empty_features else int(np.count_nonzero(~empty[:j]))
            sure = order[:k][distance[order[:k]] < distance[tied].min()]
            inside = np.concatenate([values[sure], values[tied]])
            if (
                not inside.min() - 1e-6 * size[number, j]
                <= answers[number, place]
                <= inside.max() + 1e-6 * size[number, j]
            ):
                refuse_answer(model, "transform")
            own[number, j] = answers[number, place]


def _mean(model: Any, values: Array, distance: Array) -> float:
    if model.weights in (None, "uniform"):
        return float(values.mean())
    if callable(model.weights):
        weight = np.asarray(model.weights(distance[None].astype(np.float64)), dtype=np.float64)[0]
    else:
        with np.errstate(divide="ignore"):
            weight = 1 / distance
        weight = np.isinf(weight) if np.isinf(weight).any() else weight
    return float((weight * values).sum() / weight.sum())
