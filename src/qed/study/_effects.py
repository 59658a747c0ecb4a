"""How the prediction moves with a column, all others as they are: curves for numbers, dots for categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._losses import answers
from qed.study._raw import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._schema import ColumnSchema, TargetSchema


Array = np.ndarray[Any, Any]

ROWS = 200
POINTS = 25
MOST_LABELS = 8


@dataclass(frozen=True)
class Effect:
    """The mean prediction of some rows for every value of one column.

    Attributes
    ----------
    name : str
        The column.
    places : ndarray
        Values of a number, days since 1970, or 0, 1, 2 … for categories.
    labels : tuple of str
        The categories, or dates; empty for numbers.
    answers : ndarray
        Mean prediction at each place: the number, or the probability of the second of two classes.
    """

    name: str
    places: Array
    labels: tuple[str, ...]
    answers: Array


def effects(
    model: Any, X: Array, columns: Sequence[ColumnSchema], target: TargetSchema, names: Sequence[str], seed: int
) -> tuple[Effect, ...]:
    """Set one column to each of its values in turn, and average the predictions.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline.
    X : ndarray
        Rows it has not seen.
    columns, target : schemas
        What they are.
    names : sequence of str
        Which columns, in this order; those whose values have no order and no names are passed over.
    seed : int
        For the choice of rows.
    """
    if target.task == "multiclass":
        return ()
    rows = np.array(X[np.random.default_rng(seed).permutation(len(X))[:ROWS]], order="F")
    places, at = {}, 0
    for column in columns:
        places[column.name] = (column, at)
        at += column.width
    found = []
    for name in names:
        column, at = places[name]
        grid, labels = _grid(column, X[:, at])
        if len(grid) < 2:
            continue
        kept = rows[:, at].copy()
        answers = []
        for value in grid:
            rows[:, at] = value
            answers.append(_answer(model, rows, target))
        rows[:, at] = kept
        found.append(Effect(name, np.asarray(grid), labels, np.asarray(answers)))
    return tuple(found)


def _grid(column: ColumnSchema, values: Array) -> tuple[Array, tuple[str, ...]]:
    present = values[~np.isnan(values)]
    if column.kind == "number" and len(present):
        low, high = np.quantile(present, [0.01, 0.99])
        return np.linspace(low, high, POINTS) if high > low else np.zeros(0), ()
    if column.kind == "date" and len(present):
        low, high = np.quantile(present, [0.01, 0.99])
        days = np.unique(np.round(np.linspace(low, high, MOST_LABELS)))
        return days, tuple(text_of(float(day), "moment")[:10] for day in days)
    if column.kind in ("category", "code", "yes/no"):
        codes, counts = np.unique(present[present >= 0], return_counts=True)
        often = np.sort(codes[np.argsort(-counts, kind="stable")[:MOST_LABELS]])
        return often, tuple(str(column.words[int(code)]) for code in often)
    return np.zeros(0), ()


def _answer(model: Any, rows: Array, target: TargetSchema) -> float:
    said = answers(model, rows, target)
    return float(np.mean(said if said.ndim == 1 else said[:, 1]))
