"""How the prediction moves with a column, all others as they are: curves for numbers and moments, dots for categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._losses import answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._schema import ColumnSchema, TargetSchema


Array = np.ndarray[Any, Any]

ROWS = 200
POINTS = 25
MOMENTS = 60  # points of a curve over time, which goes up and down with the seasons
MOST_LABELS = 8
MOST_CLASSES = 4  # curves that one figure can hold apart
LEAST_MOVE = 0.05  # of how far the prediction moves with the whole date: less is not worth a figure of its own
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST_MONDAY = 4  # days after 1970-01-01, a Thursday


@dataclass(frozen=True)
class Effect:
    """The mean prediction of some rows for every value of one column.

    Attributes
    ----------
    name : str
        The column.
    places : ndarray of shape (points,)
        Values of a number, days since 1970, hours of the day, or 0, 1, 2 … for categories and days of the week.
    labels : tuple of str
        The categories, or days of the week; empty for numbers and moments.
    answers : ndarray of shape (points, curves)
        Mean prediction at each place: the number, the probability of the second of two classes, or of several classes those of
        `classes`.
    classes : tuple of int
        Of several classes, which are shown: those that are predicted most. Empty otherwise.
    part : {"", "time", "weekday", "hour"}
        Of a date, what moves: the date by whole weeks, the day within its week, or the hour within its day.
    """

    name: str
    places: Array
    labels: tuple[str, ...]
    answers: Array
    classes: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True)
class _Grid:
    """The values that a column is given: one line for each place, one entry for each row or one for all."""

    places: Array
    values: Array
    labels: tuple[str, ...] = ()
    part: str = ""


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
    rows = np.array(X[np.random.default_rng(seed).permutation(len(X))[:ROWS]], order="F")
    classes = _shown_classes(answers(model, rows, target), target)
    places, at = {}, 0
    for column in columns:
        places[column.name] = (column, at)
        at += column.width
    found: list[Effect] = []
    for name in names:
        column, at = places[name]
        drawn = []
        for grid in _grids(column, X[:, at], rows[:, at]):
            many = np.tile(rows, (len(grid.places), 1))
            many[:, at] = np.broadcast_to(grid.values, (len(grid.places), len(rows))).ravel()
            said = answers(model, many, target).reshape(len(grid.places), len(rows), -1).mean(axis=1)
            said = said[:, list(classes)] if classes else said[:, -1:]
            drawn.append(Effect(name, grid.places, grid.labels, said, classes, grid.part))
        least = LEAST_MOVE * max((float(np.ptp(one.answers, axis=0).max()) for one in drawn), default=0.0)
        found += [one for one in drawn if np.ptp(one.answers, axis=0).max() >= least or one is drawn[0]]
    return tuple(found)


def _shown_classes(said: Array, target: TargetSchema) -> tuple[int, ...]:
    """Return which of several classes are drawn, in the order of the target."""
    if target.task != "multiclass":
        return ()
    return tuple(sorted(np.argsort(-said.mean(axis=0), kind="stable")[:MOST_CLASSES].tolist()))


def _grids(column: ColumnSchema, values: Array, kept: Array) -> list[_Grid]:
    """Return the values to try: those of a date in three ways, others in one; none where fewer than two can be told apart."""
    present = values[~np.isnan(values)]
    if not len(present):
        return []
    if column.kind == "date":
        return _date_grids(present, np.where(np.isnan(kept), np.median(present), kept))
    if column.kind == "number":
        low, high = np.quantile(present, [0.01, 0.99])
        places = np.linspace(low, high, POINTS)
        return [_Grid(places, places[:, np.newaxis])] if high > low else []
    if column.kind in ("category", "code", "yes/no"):
        codes, counts = np.unique(present[present >= 0], return_counts=True)
        often = np.sort(codes[np.argsort(-counts, kind="stable")[:MOST_LABELS]])
        labels = tuple(str(column.words[int(code)]) for code in often)
        return [_Grid(np.arange(len(often)), often[:, np.newaxis], labels)] if len(often) > 1 else []
    return []


def _date_grids(present: Array, kept: Array) -> list[_Grid]:
    """Move dates by whole weeks, so that days of the week and hours stay; then within the week; then within the day."""
    low, high = np.quantile(present, [0.01, 0.99])
    found = []
    if high > low:
        places = np.linspace(low, high, MOMENTS)
        found.append(_Grid(places, kept + 7 * np.round((places[:, np.newaxis] - kept) / 7), part="time"))
    if present.max() - present.min() >= 7:
        monday = kept - np.floor(kept - FIRST_MONDAY) % 7
        days = np.arange(7)
        found.append(_Grid(days, monday + days[:, np.newaxis], WEEKDAYS, "weekday"))
    if np.any(present != np.floor(present)):
        hours = np.arange(24)
        found.append(_Grid(hours, np.floor(kept) + hours[:, np.newaxis] / 24, part="hour"))
    return found
