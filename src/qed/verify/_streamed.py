"""What checks need of a source that cannot be summed: counts of values, values of given ranks, ranks of given values, some rows.

Every number is found by comparing values and counting. A value of a given rank is enclosed by pivots: a pass counts the entries
up to each of 4,096 of them, equally spaced in the order of float64. The two that enclose the rank are the ends of the next pass.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = np.ndarray[Any, Any]
PIVOTS = 4096
MAX_INT64 = np.int64(2**63 - 1)


def _columns(chunk: Any) -> Any:
    table = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return table.astype(np.float64).T


def _there(column: Array) -> Array:
    return np.asarray(column[~np.isnan(column)])


def times_of(source: Any) -> list[Counter[Any]]:
    """Return for each column how often each value occurs, NaN under the key that checks give it."""
    totals: list[Counter[Any]] = [Counter() for _ in range(source.schema.n_features)]
    for part in source.each(_times):
        for total, (values, counts, gaps) in zip(totals, part, strict=True):
            total.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            if gaps:
                total[("NaN",)] += gaps
    return totals


def _times(chunk: Any) -> list[tuple[Array, Array, int]]:
    found = []
    for j in range(chunk.n_features):
        column = chunk.column(j).dense
        if column.dtype == object:  # words
            there = [one for one in column.tolist() if one is not None]
            words, counts = np.unique(np.array(there, dtype=object), return_counts=True)
            found.append((words, counts, 0))
            if len(there) < len(column):
                found[-1] = np.append(words, [None]), np.append(counts, len(column) - len(there)), 0
            continue
        column = column.astype(np.float64)
        values, counts = np.unique(_there(column), return_counts=True)
        found.append((values + 0.0, counts, int(np.isnan(column).sum())))
    return found


# -- ranks ---------------------------------------------------------------------------------------------------------


def _place(value: float, count: int) -> Array:
    """Return the place of a float64 among all of them, a signed whole number, several times."""
    whole = np.full(count, value).view(np.int64)
    return np.where(whole < 0, -(whole & MAX_INT64), whole)


def _value(places: Array) -> Array:
    """Return the float64 values at places."""
    return np.where(places < 0, (-places) | np.int64(-(2**63)), places).view(np.float64)


def order_statistics(source: Any, ranks: Callable[[int], Sequence[int]]) -> tuple[list[int], list[Array]]:
    """Return how many entries of each column are there, and those of given ranks, counted from zero."""
    inside = np.float64(np.finfo(np.float64).max)
    number = [int(one[0]) for one in _counts_upto(source, [np.array([inside])] * source.schema.n_features)]
    wanted = [np.asarray(ranks(n) if n else [], np.int64) for n in number]
    low, high = ([_place(end, len(one)) for one in wanted] for end in (-inside, inside))
    while any((a < b).any() for a, b in zip(low, high, strict=True)):
        grids = [_grid(a, b) for a, b in zip(low, high, strict=True)]
        upto = _counts_upto(source, [_value(grid) for grid in grids])
        for j, (grid, counts) in enumerate(zip(grids, upto, strict=True)):
            # The least place that more entries than the rank are up to.
            first = np.searchsorted(counts, wanted[j], side="right")
            high[j] = np.minimum(high[j], grid[np.minimum(first, len(grid) - 1)]) if len(grid) else high[j]
            below = np.where(first > 0, grid[np.maximum(first - 1, 0)] + 1, low[j]) if len(grid) else low[j]
            low[j] = np.minimum(np.maximum(low[j], below), high[j])
    return number, [_value(one) for one in high]


def _grid(low: Array, high: Array) -> Array:
    """Return places between ends, those included, in order."""
    steps = np.linspace(0.0, 1.0, PIVOTS)
    found: set[int] = set()
    for a, b in {(int(a), int(b)) for a, b in zip(low, high, strict=True)}:
        width = b - a
        if width < PIVOTS:
            found.update(range(a, b + 1))
        else:
            found.update(min(b, a + int(step * width)) for step in steps)
    return np.array(sorted(found), dtype=np.int64)


def _counts_upto(source: Any, values: list[Array]) -> list[Array]:
    """Return for each column how many entries are at most each of some values, which rise."""
    total = [np.zeros(len(one), np.int64) for one in values]
    for part in source.each(partial(_upto, values=values)):
        total = [a + b for a, b in zip(total, part, strict=True)]
    return total


def _upto(chunk: Any, values: list[Array]) -> list[Array]:
    found = []
    for column, own in zip(_columns(chunk), values, strict=True):
        places = np.searchsorted(own, _there(column), side="left")
        found.append(np.cumsum(np.bincount(places, minlength=len(own) + 1))[: len(own)])
    return found


class Ranks:
    """Shares of the entries of a column of a source below some values, and up to them."""

    def __init__(self, values: Array, below: Array, upto: Array, entries: int, size: float) -> None:
        self._shares = {
            float(value): (float(a) / entries, float(b) / entries)
            for value, a, b in zip(values, below, upto, strict=True)
        }
        self.size = size

    def ranks(self, value: Any) -> tuple[float, float]:
        """Return the shares below a value, and up to it."""
        return self._shares[float(value)]


def ranks_of(source: Any, values: list[Array], sizes: Sequence[float]) -> list[Ranks]:
    """Return the shares of the entries of each column below given values and up to them, of weight one each."""
    own = [np.unique(one.astype(np.float64)) for one in values]
    grids = [np.unique(np.concatenate([np.nextafter(one, -np.inf), one, [np.finfo(np.float64).max]])) for one in own]
    found = []
    for one, grid, counts, size in zip(own, grids, _counts_upto(source, grids), sizes, strict=True):
        below, upto = (counts[np.searchsorted(grid, at)] for at in (np.nextafter(one, -np.inf), one))
        found.append(Ranks(one, below, upto, max(1, int(counts[-1])), size))
    return found


# -- rows ----------------------------------------------------------------------------------------------------------


def rows_of(source: Any, index: Array | None, n: int) -> tuple[Array, Array | None]:
    """Return rows of a source by number, as often as they are named, all of them for None; and their weights."""
    wanted = np.arange(n) if index is None else np.unique(index)
    size = 8 * len(wanted) * source.schema.n_features
    require_memory(size, f"The {len(wanted)} rows that this check compares", "Verify with the rows that were drawn.")
    tables: list[Array] = []
    weights: list[Array] = []
    start = 0
    for chunk in source.chunks():
        own = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, start + chunk.n_rows)] - start
        start += chunk.n_rows
        table = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
        tables.append(table[own])
        weights += [] if chunk.s is None else [chunk.s[own]]
    back = slice(None) if index is None else np.searchsorted(wanted, index)
    return np.concatenate(tables)[back], np.concatenate(weights)[back] if weights else None
