"""Distinct values of every column and how often each occurs; and, from counts of leading bits, exact order statistics.

A float64 is taken as a whole number of 64 bits whose order is that of the values (`order_bits`). Counts of the sixteen leading
bits of a column say which of at most 65,536 buckets holds the value of a given rank. A pass for the next sixteen bits of that
bucket, and so on, find the value in four passes, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import InvalidData
from qed.core._kernels import number_words
from qed.data._chunk import MixedChunk
from qed.data._finite import raise_not_finite
from qed.data._fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.core._mixed import Column
    from qed.data._chunk import Chunk
    from qed.data._sources import Source

Array = np.ndarray[Any, Any]

MAX_DISTINCT = 1 << 22  # of a column: 64 MiB of values and counts
DIGIT = 16  # bits that a pass of a selection settles
SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class Limit:
    """How many distinct values are counted of a column, and what is said of one that has more.

    Attributes
    ----------
    names : tuple of str or None
        Names of all columns of the source.
    most : int
        Of values that are there.
    refusal : str
        What follows "Column 'a' has more than"; empty for a sentence about memory.
    """

    names: tuple[str, ...] | None = None
    most: int = MAX_DISTINCT
    refusal: str = ""

    def refused(self, j: int, values: Array) -> InvalidData:
        """Return the error of a column that has more values."""
        what, advice = ("words", "join rare ones") if values.dtype == object else ("values", "round it")
        memory = f"{self.most:,} distinct {what}, too many to list from chunks. Leave it out, or {advice} first."
        column = j if self.names is None else repr(self.names[j])
        return InvalidData(f"Column {column} has more than {self.refusal or memory}")


LISTABLE = Limit()  # what memory allows, of columns without names


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """How often each distinct value of each column occurs; merges.

    Attributes
    ----------
    rows : int
        Rows that were counted.
    values : tuple of ndarray
        For each column its distinct values, ascending; NaN is not among them, nor are words that are missing.
    counts : tuple of ndarray of int64
        Rows of each value.
    columns : tuple of int or None
        Which columns were counted; None for all.
    limit : Limit
        A column that has more values is an error, as soon as that is seen.

    Notes
    -----
    Memory: 16 bytes for each distinct value of each column.
    """

    rows: int
    values: tuple[Array, ...]
    counts: tuple[Array, ...]
    columns: tuple[int, ...] | None = None
    limit: Limit = LISTABLE

    def __post_init__(self) -> None:
        """Refuse a column that has more values than are counted."""
        for place, values in enumerate(self.values):
            if len(values) > self.limit.most:
                raise self.limit.refused(place if self.columns is None else self.columns[place], values)

    @classmethod
    def of(cls, chunk: Chunk | MixedChunk, limit: Limit = LISTABLE) -> Self:
        """Count the values of a chunk, and the words of one that has some."""
        if isinstance(chunk, MixedChunk):
            return cls._of_columns(chunk, tuple(range(chunk.n_features)), limit)
        pairs = [_counted(_entries(column)) for column in _columns(chunk)]
        return cls(chunk.n_rows, tuple(one for one, _ in pairs), tuple(many for _, many in pairs), limit=limit)

    @classmethod
    def of_words(cls, chunk: MixedChunk, limit: Limit = LISTABLE) -> Self:
        """Count the words of the columns that hold words, and nothing else."""
        return cls._of_columns(chunk, tuple(j for j, own in enumerate(chunk.words) if own is not None), limit)

    @classmethod
    def _of_columns(cls, chunk: MixedChunk, chosen: tuple[int, ...], limit: Limit) -> Self:
        columns = [chunk.column(j) for j in chosen]
        if any(column.values is not None and np.isinf(column.values).any() for column in columns):
            chunk.require_finite()
        pairs = [
            _counted_words(column) if column.values is None else _counted(_entries(column.values)) for column in columns
        ]
        return cls(chunk.n_rows, tuple(one for one, _ in pairs), tuple(many for _, many in pairs), chosen, limit)

    def merge(self, other: Self) -> Self:
        """Return the counts of the rows of both."""
        pairs = [
            _merged(a, m, b, k) for a, m, b, k in zip(self.values, self.counts, other.values, other.counts, strict=True)
        ]
        values, counts = tuple(one for one, _ in pairs), tuple(many for _, many in pairs)
        return type(self)(self.rows + other.rows, values, counts, self.columns, self.limit)

    def missing(self, j: int) -> int:
        """Return how many entries of a column are NaN."""
        return self.rows - int(self.counts[j].sum())


def _columns(chunk: Chunk) -> Any:
    table = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    if np.isinf(table).any():
        raise_not_finite(chunk, gaps=True)
    return table.T


def _entries(column: Array) -> Array:
    """Return what is there of a column, as float64 with one zero."""
    wide = column.astype(np.float64) + 0.0
    gaps = np.isnan(wide)
    return np.asarray(wide[~gaps] if gaps.any() else wide)


def _counted(values: Array) -> tuple[Array, Array]:
    if not len(values):
        return values, np.empty(0, np.int64)
    codes, firsts = number_words(np.ascontiguousarray(values))
    distinct = values[firsts]
    order = np.argsort(distinct)
    return distinct[order], np.bincount(codes, minlength=len(firsts))[order].astype(np.int64)


def _counted_words(column: Column) -> tuple[Array, Array]:
    assert column.words is not None  # noqa: S101  (a column of words)
    assert column.codes is not None  # noqa: S101
    many = np.bincount(column.codes[column.codes >= 0], minlength=len(column.words))
    order = np.array(sorted(np.flatnonzero(many).tolist(), key=column.words.__getitem__), dtype=np.intp)
    return column.words[order], many[order].astype(np.int64)


def _merged(a: Array, m: Array, b: Array, k: Array) -> tuple[Array, Array]:
    if len(a) == len(b) and np.array_equal(a, b):
        return a, m + k
    values = np.union1d(a, b)
    counts = np.zeros(len(values), np.int64)
    counts[np.searchsorted(values, a)] = m
    counts[np.searchsorted(values, b)] += k
    return values, counts


# -- order statistics ----------------------------------------------------------------------------------------------


def order_bits(values: Array) -> Array:
    """Return float64 values, none of them NaN, as whole numbers of 64 bits in the same order."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(bits >> np.uint64(63), ~bits, bits | SIGN)


def _values_of(bits: Array) -> Array:
    return np.where(bits >= SIGN, bits ^ SIGN, ~bits).view(np.float64)


def order_statistics(
    source: Source, ranks: Callable[[int], Sequence[int] | Array], *, name: str
) -> tuple[int, list[int], list[Array]]:
    """Return values of given ranks of every column, exactly, in four passes over a source.

    Parameters
    ----------
    source : Source
        Rows; NaN is left out.
    ranks : callable
        From the number of entries of a column that are there, at least one, to the ranks that are wanted, counted from zero.
    name : str
        Who is said to work in progress events.

    Returns
    -------
    int, list of int, list of ndarray
        The number of rows, how many entries of each column are there, and the values; of a column without entries, none.

    Notes
    -----
    Memory: counts of at most 65,536 buckets for each column and each of its ranks, 16 bytes each; most are empty.
    """
    prefixes: list[Array] | None = None
    wanted: list[Array] = []
    entries: list[int] = []
    rows = 0
    for shift in range(64 - DIGIT, -1, -DIGIT):
        seen = fold(source, partial(_leading, shift=shift, prefixes=prefixes), name=name)
        if prefixes is None:
            rows, entries = seen.rows, [int(counts.sum()) for counts in seen.counts]
            wanted = [np.asarray(ranks(many) if many else [], np.int64) for many in entries]
            prefixes = [np.zeros(len(one), np.uint64) for one in wanted]
        found = []
        for j, (bits, counts) in enumerate(zip(seen.values, seen.counts, strict=True)):
            own = np.empty(len(wanted[j]), np.uint64)
            for k, prefix in enumerate(prefixes[j]):
                inside = slice(None) if shift == 64 - DIGIT else bits >> np.uint64(DIGIT) == prefix
                reached = np.cumsum(counts[inside])
                at = int(np.searchsorted(reached, wanted[j][k], side="right"))
                own[k] = bits[inside][at]
                wanted[j][k] -= reached[at - 1] if at else 0
            found.append(own)
        prefixes = found
    assert prefixes is not None  # noqa: S101  (four passes were made)
    return rows, entries, [_values_of(own) for own in prefixes]


def _leading(chunk: Chunk, shift: int, prefixes: list[Array] | None) -> ColumnCounts:
    """Count leading bits of entries: of all, or of those that begin with one of the prefixes of their column."""
    values, counts = [], []
    for j, column in enumerate(_columns(chunk)):
        bits = order_bits(_entries(column)) >> np.uint64(shift)
        if prefixes is None:
            many = np.bincount(bits.astype(np.int64))
            there = np.flatnonzero(many)
            values.append(there.astype(np.uint64))
            counts.append(many[there])
            continue
        known = np.unique(prefixes[j])
        before = bits >> np.uint64(DIGIT)
        place = np.searchsorted(known, before)
        inside = bits[known[np.minimum(place, len(known) - 1)] == before] if len(known) else bits[:0]
        own, many = np.unique(inside, return_counts=True)
        values.append(own)
        counts.append(many.astype(np.int64))
    return ColumnCounts(chunk.n_rows, tuple(values), tuple(counts))
