"""What scalers learn of a column, summed again: of columns in memory, or of the chunks of a source in two passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


EXTENDED = np.longdouble
BLOCK_ROWS = 4096  # rows of a chunk that are summed in double precision; blocks are added in extended precision
Array = np.ndarray[Any, Any]


class Summary(NamedTuple):
    """Entries of a column that are there: how many, their weight, mean, variance, mean square, least and largest."""

    entries: int
    weight: Any
    mean: Any
    var: Any
    square: Any
    low: Any
    high: Any

    @property
    def is_constant(self) -> bool:
        """Whether all entries are one number."""
        return self.entries > 0 and bool(self.low == self.high)

    @property
    def size(self) -> Any:
        """The largest size of an entry; NaN without one."""
        return max(abs(self.low), abs(self.high)) if self.entries else EXTENDED(np.nan)


def of_column(column: Any) -> Summary:
    """Summarise a column in memory; zeros that a sparse table leaves out count."""
    here = column.s > 0
    x, s = column.x[here], column.s[here]
    weight = s.sum() + column.weight_of_zeros
    ends = ([EXTENDED(0)] if column.zeros else []) + ([column.x.min(), column.x.max()] if len(column.x) else [])
    low, high = min(ends, default=EXTENDED(np.inf)), max(ends, default=EXTENDED(-np.inf))
    if not weight > 0:
        return Summary(column.entries, weight, EXTENDED(np.nan), EXTENDED(np.nan), EXTENDED(0), low, high)
    middle = x[0] if len(x) and not column.zeros else EXTENDED(0)
    mean = middle + (s @ (x - middle)) / weight
    var = (s @ (x - mean) ** 2 + column.weight_of_zeros * mean**2) / weight
    return Summary(column.entries, weight, mean, var, (s @ x**2) / weight, low, high)


def of_source(source: Any, *, weighted: bool) -> tuple[int, list[Summary]]:
    """Summarise the columns of a source; return the number of rows too. Chunks are summed wherever the source computes."""
    first = list(source.each(_Pass(weighted, None)))
    rows = sum(n for n, _ in first)
    entries, weight, total, squares = (np.sum([sums[k] for _, sums in first], axis=0) for k in range(4))
    low, high = (end([sums[k] for _, sums in first], axis=0) for k, end in ((4, np.min), (5, np.max)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / weight
        second = list(source.each(_Pass(weighted, mean)))
        off, spread = (np.sum([part[k] for part in second], axis=0) / weight for k in range(2))
        var = spread - off**2
        mean, square = mean.astype(np.float64) + off, squares / weight
    there = weight > 0
    table = (weight, np.where(there, mean, np.nan), np.where(there, var, np.nan), np.where(there, square, 0), low, high)
    return rows, [Summary(int(entries[j]), *(column[j] for column in table)) for j in range(len(low))]


class _Pass:
    """What is summed of a chunk.

    Without a mean: its rows, and for each column entries, weight, sum, sum of squares, least and largest. With one: distances
    from it, and their squares.
    """

    def __init__(self, weighted: bool, mean: Array | None) -> None:
        self.weighted, self.mean = weighted, mean

    def __call__(self, chunk: Any) -> Any:
        table = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
        weight = chunk.s if self.weighted and chunk.s is not None else np.ones(len(table))
        p = table.shape[1]
        if self.mean is not None:
            about, out = self.mean.astype(np.float64), np.zeros((2, p), EXTENDED)
            for x, s, there in _blocks(table, weight):
                z = np.where(there, x - about, 0.0)
                out += s @ z, s @ (z * z)
            return out
        sums = np.zeros((6, p), EXTENDED)
        sums[4], sums[5] = np.inf, -np.inf
        for x, s, there in _blocks(table, weight):
            z = np.where(there, x, 0.0)
            sums[0] += np.count_nonzero(there, axis=0)
            sums[1] += s @ there
            sums[2] += s @ z
            sums[3] += s @ (z * z)
            sums[4] = np.minimum(sums[4], np.where(there, x, np.inf).min(axis=0, initial=np.inf))
            sums[5] = np.maximum(sums[5], np.where(there, x, -np.inf).max(axis=0, initial=-np.inf))
        return len(table), sums


def _blocks(table: Array, weight: Array) -> Sequence[tuple[Array, Array, Array]]:
    starts = range(0, len(table), BLOCK_ROWS)
    cut = [(table[i : i + BLOCK_ROWS].astype(np.float64), weight[i : i + BLOCK_ROWS]) for i in starts]
    return [(x, s, ~np.isnan(x)) for x, s in cut]
