"""Quantiles of weighted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.data._column_counts import order_statistics
from qed.preprocessing._columns import require_rows

if TYPE_CHECKING:
    from qed.data import Source

Array = np.ndarray[Any, Any]


def percentile(column: Array, levels: Array, method: str) -> Array:
    """Return percentiles of a column without gaps, by one of NumPy's methods.

    A whole sort costs less than many partitions, and the inverse of the distribution function is read off it.
    """
    if method not in ("averaged_inverted_cdf", "inverted_cdf"):
        wide = column.astype(np.float64, copy=False)
        return np.asarray(np.percentile(wide, levels, method=method))  # type: ignore[call-overload]
    values = np.sort(column).astype(np.float64)
    place = np.asarray(levels) / 100 * len(values)
    above = np.clip(np.ceil(place).astype(np.intp) - 1, 0, len(values) - 1)
    if method == "inverted_cdf":
        return np.asarray(values[above])
    met = place == np.floor(place)
    beyond = np.where(met & (place > 0), np.minimum(above + 1, len(values) - 1), above)
    return np.asarray((values[above] + values[beyond]) / 2)


def weighted_percentile(column: Array, weight: Array, levels: Array, *, average: bool = True) -> Array:
    """Return percentiles of a column whose rows count with weights: the inverse of the distribution function.

    Parameters
    ----------
    column, weight : ndarray of shape (n,)
        Numbers, and how often each counts; NaN is left out.
    levels : ndarray
        Percentages.
    average : bool
        Whether, where a level is met exactly, the two neighbours are averaged.
    """
    here = (weight > 0) & ~np.isnan(column)
    values, s = column[here].astype(np.float64), weight[here]
    if not len(values):
        return np.full(len(levels), np.nan)
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(s[order])
    wanted = np.asarray(levels) / 100 * reached[-1]
    # A level that is met up to rounding is met.
    slack = 8 * len(values) * 2.0**-53 * reached[-1]
    below = np.minimum(np.searchsorted(reached, wanted - slack, side="left"), len(values) - 1)
    if not average:
        return np.asarray(values[below])
    above = np.minimum(np.searchsorted(reached, wanted + slack, side="right"), len(values) - 1)
    return np.asarray((values[below] + values[np.where(wanted <= slack, 0, above)]) / 2)


def source_percentiles(source: Source, levels: Array, owner: str) -> tuple[int, Array]:
    """Return the number of rows of a source and percentiles of its columns, (levels, p), linear between neighbours.

    They are those of the same rows in memory, bit for bit; NaN is left out, and a column without entries has NaN.
    """
    shares = np.asarray(levels) / 100

    def neighbours(n: int) -> Array:
        below = np.floor(shares * (n - 1)).astype(np.int64)
        return np.concatenate([below, np.minimum(below + 1, n - 1)])

    rows, entries, found = order_statistics(source, neighbours, name=owner)
    require_rows(rows, owner)
    table = np.full((len(shares), len(found)), np.nan)
    for j, (n, values) in enumerate(zip(entries, found, strict=True)):
        if n:
            low, high = values[: len(shares)], values[len(shares) :]
            part = shares * (n - 1) - np.floor(shares * (n - 1))
            # From the nearer neighbour, as NumPy does it.
            table[:, j] = np.where(part < 0.5, low + part * (high - low), high - (1 - part) * (high - low))
    return rows, table
