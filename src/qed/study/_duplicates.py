"""Rows that stand in a table more than once: kept together, so that no row is judged by a model that has seen its twin.

Rows of few categories repeat each other as a matter of course, and are independent all the same. Copies are rows whose numbers
tell them apart from nearly all others, and which yet come again, target and all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._schema import ColumnSchema


Array = np.ndarray[Any, Any]

SAMPLE = 20_000
BEYOND_CHANCE = 10.0  # times the repetitions that columns without ties between them would give
FEWEST_DISTINCT = 0.1  # of the rows: where less than that differ, repetition is what the table is made of
FEWEST_COPIES = 0.005  # of the rows: fewer move no score
TELLING = 0.5  # of the distinct rows, told apart by their numbers, dates and texts alone


def twins_of(X: Array, y: Array, columns: Sequence[ColumnSchema], *, is_number: bool) -> tuple[Array, int] | None:
    """Find copies.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        The rows, as numbers.
    columns : sequence of ColumnSchema
        What the columns are.
    is_number : bool
        Whether the target is a number, which tells rows apart as well.

    Returns
    -------
    (ndarray of int64 of shape (n,), int) or None
        For every row the first one that it is a copy of, itself where there is none, and the number of copies; None where there are
        no copies or where repetition means nothing.
    """
    n = len(y)
    key = _key([*X.T, y], n)
    _, first, inside, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    distinct = len(first)
    if n - distinct < FEWEST_COPIES * n or distinct < FEWEST_DISTINCT * n:
        return None
    telling = [
        part for part, column in zip(X.T, _owners(columns), strict=True) if column.kind in ("number", "date", "text")
    ]
    telling += [y] if is_number else []
    if len(np.unique(_key([part[first] for part in telling], distinct))) < TELLING * distinct:
        return None
    pairs = float((counts * (counts - 1.0)).sum() / 2)
    if pairs <= BEYOND_CHANCE * n * (n - 1.0) / 2 * _chance([*X.T, y]):
        return None
    return first[inside], n - distinct


def _owners(columns: Sequence[ColumnSchema]) -> list[ColumnSchema]:
    return [column for column in columns for _ in range(column.width)]


def _key(parts: Sequence[Array], n: int) -> Array:
    """Mix the bits of all columns into one number a row; of a million rows two different ones meet once in 30 million tables."""
    key = np.full(n, 0x9E3779B97F4A7C15, np.uint64)
    for part in parts:
        bits = (np.ascontiguousarray(part, np.float64) + 0.0).view(np.uint64)  # minus zero is zero
        key = (key ^ (bits * np.uint64(0xD6E8FEB86659FD93))) * np.uint64(0xFF51AFD7ED558CCD)
        key ^= key >> np.uint64(32)
    return key


def _chance(parts: Sequence[Array]) -> float:
    """Guess how often two rows would agree if no column knew of the others."""
    chance = 1.0
    for part in parts:
        some = part[:SAMPLE]
        counts = np.unique(some, return_counts=True)[1].astype(np.float64)
        chance *= float((counts * (counts - 1)).sum()) / max(1.0, len(some) * (len(some) - 1.0))
    return chance


def together(marks: Array, twins: Array) -> Array:
    """Give every copy the mark of the row that it is a copy of, among the rows at hand.

    Parameters
    ----------
    marks : ndarray of shape (n,)
        On which side of a split, or in which fold, each row is; by chance, so that the first copy's place is as good as any.
    twins : ndarray of int of shape (n,)
        The same number for copies of one row.
    """
    _, first, inside = np.unique(twins, return_index=True, return_inverse=True)
    return np.asarray(marks[first][inside])
