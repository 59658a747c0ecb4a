"""How the values of a column are spread in each class: densities by windows, of the columns that matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._schema import ColumnSchema, TargetSchema


Array = np.ndarray[Any, Any]

MOST_COLUMNS = 3
MOST_CLASSES = 4  # curves that one figure can hold apart
MOST_ROWS = 2_000  # of a class
FEWEST_ROWS = 20  # of a class: the curve of fewer shows where they happen to be
FEWEST_VALUES = 20  # of a column: fewer are bars, and not a curve
POINTS = 80


@dataclass(frozen=True)
class Density:
    """The density of one column in each of some classes, each of area one.

    Attributes
    ----------
    name : str
        The column.
    places : ndarray of shape (points,)
        Its values.
    classes : tuple of int
        The classes, by their numbers.
    curves : ndarray of shape (points, classes)
        Densities.
    overlap : float
        Share of the area that all curves have in common: 1 where the column tells nothing by itself, 0 where it tells all.
    """

    name: str
    places: Array
    classes: tuple[int, ...]
    curves: Array
    overlap: float


def densities(
    X: Array, y: Array, columns: Sequence[ColumnSchema], target: TargetSchema, names: Sequence[str]
) -> tuple[Density, ...]:
    """Return the densities of the first columns of numbers in each class.

    Parameters
    ----------
    X, y : ndarray
        Rows, and the numbers of their classes.
    columns, target : schemas
        What they are.
    names : sequence of str
        Which columns, in this order.
    """
    if target.task == "regression":
        return ()
    ends = np.cumsum([0, *(column.width for column in columns)])
    numbers = {column.name: at for column, at in zip(columns, ends, strict=False) if column.kind == "number"}
    found = [_density(name, X[:, numbers[name]], y) for name in names if name in numbers]
    return tuple(one for one in found if one is not None)[:MOST_COLUMNS]


def _density(name: str, values: Array, y: Array) -> Density | None:
    """Return the densities of a column; None where fewer than two classes have rows enough, or the values are few."""
    from qed.neighbors import KernelDensity  # noqa: PLC0415  (not every table has classes)

    known = ~np.isnan(values)
    values, y = values[known], y[known].astype(np.int64)
    codes, counts = np.unique(y, return_counts=True)
    most = codes[np.argsort(-counts, kind="stable")[:MOST_CLASSES]]
    classes = sorted(int(code) for code in most if np.sum(y == code) >= FEWEST_ROWS)
    if len(classes) < 2 or len(np.unique(values)) < FEWEST_VALUES:
        return None
    low, high = np.quantile(values, [0.01, 0.99])
    width = _window(values, int(counts[np.isin(codes, classes)].min()))
    if not (high > low and width > 0 and np.isfinite([low, high]).all()):
        return None
    places = np.linspace(low - width, high + width, POINTS)
    curves = [
        np.exp(KernelDensity(bandwidth=width).fit(values[y == code][:MOST_ROWS, None]).score_samples(places[:, None]))
        for code in classes
    ]
    overlap = float(np.min(curves, axis=0).sum() * (places[1] - places[0]))
    return Density(name, places, tuple(classes), np.column_stack(curves), min(1.0, overlap))


def _window(values: Array, n: int) -> float:
    """Return a bandwidth by Silverman's rule for the smallest class, about a spread that outlying rows do not widen."""
    quarters = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.349
    spread = min(float(values.std()), float(quarters)) if quarters > 0 else float(values.std())
    return float(0.9 * spread * n**-0.2)
