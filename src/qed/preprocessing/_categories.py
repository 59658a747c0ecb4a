"""The distinct values of a column, in order, and each entry as its place among them.

Words of fixed width and numbers are hashed by native code, objects by their own hash, and columns
that their library keeps as numbers already are only renumbered. Order is that of the values; None and then NaN come last.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidDataType, InvalidParameter
from qed.core._kernels import number_words
from qed.core._mixed import Column, MixedTable, fit_table
from qed.core._validation import is_source, learn_columns
from qed.data import fold
from qed.data._column_counts import ColumnCounts, Limit
from qed.preprocessing._columns import require_rows

Array = np.ndarray[Any, Any]


class Numbered(NamedTuple):
    """A column as numbers into its distinct values."""

    values: Array  # distinct, in order
    codes: Array  # for each entry its place among them

    def counts(self) -> Array:
        """Return how often each value occurs."""
        return np.bincount(self.codes, minlength=len(self.values))


class CountedTable(NamedTuple):
    """The columns of a fit; of a source, its distinct values in place of its entries, and how often each occurs."""

    table: MixedTable
    times: list[Array] | None = None

    def counts(self, j: int, codes: Array, n_categories: int) -> Array:
        """Return how often each category of a column occurs, from the category of each entry (-1: none)."""
        times = None if self.times is None else self.times[j]
        counts = np.bincount(codes + 1, times, n_categories + 1)[1:]
        return counts if times is None else counts.astype(np.int64)  # sums of whole numbers below 2^53


def counted_table(model: Any, X: Any) -> CountedTable:
    """Let the table of an encoder's fit in; the distinct values of a source are collected in one pass."""
    if not is_source(X):
        return CountedTable(fit_table(model, X))
    model._validate_params()  # noqa: SLF001  (as fit_table does)
    learn_columns(model, X.schema.n_features, X.schema.names, reset=True)
    seen = fold(X, partial(ColumnCounts.of, limit=Limit(X.schema.names)), name=type(model).__name__)
    require_rows(seen.rows, type(model).__name__)
    columns, times = [], []
    for j, (values, counts) in enumerate(zip(seen.values, seen.counts, strict=True)):
        gaps = seen.missing(j)
        kind, gap = (object, None) if values.dtype == object else (X.schema.dtype, np.nan)  # type: Any, Any
        columns.append(Column((np.append(values, gap) if gaps else values).astype(kind)))
        times.append(np.append(counts, gaps) if gaps else counts)
    names = None if X.schema.names is None else np.asarray(X.schema.names, dtype=object)
    return CountedTable(MixedTable(columns, names, seen.rows, None), times)


def is_nan(value: Any) -> bool:
    """Tell whether a value is a NaN, of whatever type."""
    return isinstance(value, float | np.floating) and value != value  # noqa: PLR0124


def numbered(column: Column) -> Numbered:
    """Return the distinct values of a column in order, and the place of each entry."""
    values, codes = _unordered(column)
    return _ordered(values, codes)


def _unordered(column: Column) -> tuple[Array, Array]:
    """Return distinct values in any order, the same NaN possibly several times, and the place of each entry."""
    if column.codes is not None and column.words is not None:
        return _renumbered(column.codes, column.words, column.missing)
    entries = column.values
    assert entries is not None  # noqa: S101  (one of the two forms)
    kind = entries.dtype.kind
    if kind == "T":  # words of varying width that NumPy keeps
        entries, kind = entries.astype(object), "O"
    if kind == "O":
        try:
            codes, firsts = number_words(entries)
        except TypeError:  # something that has no hash
            raise InvalidDataType(_not_uniform(entries)) from None
        return entries[firsts], codes
    if kind in "US" and entries.itemsize == 0:
        return entries[:1], np.zeros(len(entries), np.intp)
    if not entries.dtype.isnative:
        entries = entries.astype(entries.dtype.newbyteorder("="))
    if kind == "f":
        entries = entries + 0.0  # one zero, not two
    codes, firsts = number_words(entries)
    return entries[firsts], codes


def _renumbered(codes: Array, words: Array, missing: Any) -> tuple[Array, Array]:
    """Leave out of a list what does not occur, and give what is missing a place."""
    wide = codes.astype(np.intp)
    n_words = len(words)
    if len(wide) and wide.min() < 0:
        wide = np.where(wide < 0, n_words, wide)
        words = np.append(words.astype(object), [None])
        words[-1] = missing
    used = np.bincount(wide, minlength=len(words)) > 0
    if used.all():
        return words, wide
    return words[used], (np.cumsum(used) - 1)[wide]


def _ordered(values: Array, codes: Array) -> Numbered:
    kind = values.dtype.kind
    if kind != "O":
        order = np.argsort(values, kind="stable")  # NaN last
        ordered = values[order]
        rank = np.empty(len(values), np.intp)
        rank[order] = np.arange(len(values))
        if kind == "f" and len(ordered) > 1 and np.isnan(ordered[-2]):  # NaN of several bit patterns
            first = int(np.argmax(np.isnan(ordered)))
            ordered, rank = ordered[: first + 1], np.minimum(rank, first)
        return Numbered(ordered, rank[codes])
    listed = list(values)
    nans = [i for i, one in enumerate(listed) if is_nan(one)]
    nones = [i for i, one in enumerate(listed) if one is None]
    apart = {*nans, *nones}
    plain = [i for i in range(len(listed)) if i not in apart] if apart else range(len(listed))
    try:
        order_of = sorted(plain, key=listed.__getitem__)
    except TypeError:
        raise InvalidDataType(_not_uniform(values)) from None
    if any(isinstance(listed[i], list | dict | set | tuple) for i in order_of):
        raise InvalidDataType(_not_uniform(values))
    ends = order_of + nones[:1] + nans[:1]
    rank = np.empty(len(listed), np.intp)
    rank[ends] = np.arange(len(ends))
    rank[nones] = len(order_of)
    rank[nans] = len(ends) - 1
    ordered = np.empty(len(ends), object)
    ordered[:] = [listed[i] for i in ends]
    return Numbered(ordered, rank[codes])


def _not_uniform(values: Array) -> str:
    kinds = sorted({type(one).__name__ for one in values.flat})
    return (
        "Encoders require their input argument must be uniformly strings or numbers. Got"
        f" {kinds}. Convert the column to one type, such as str."
    )


_NAN = object()


def _key(value: Any) -> Any:
    return _NAN if is_nan(value) else value


def places(column: Column, known: Array) -> tuple[Array, list[Any]]:
    """Return for each entry its place among known values, -1 where it is none of them; and those unknown values."""
    values, codes = _unordered(column)
    return places_of(values, codes, known)


def places_of(values: Array, codes: Array, known: Array) -> tuple[Array, list[Any]]:
    """Do the same for a column that is numbered already."""
    index = {_key(one): place for place, one in enumerate(known.tolist())}
    try:
        table = np.array([index.get(_key(one), -1) for one in values.tolist()], dtype=np.intp)
    except TypeError:
        raise InvalidDataType(_not_uniform(values)) from None
    unknown = [one for one, place in zip(values.tolist(), table, strict=True) if place < 0]
    if len(table) == 0:
        return np.zeros(len(codes), np.intp), unknown
    return table[codes], unknown


def given_categories(given: Any, column: Column, number: int) -> Array:
    """Read the categories that a user lists for a column."""
    values = column.values
    kind = "O" if values is None else values.dtype.kind
    dtype = object if values is None or kind in "OUST" else values.dtype
    listed = np.asarray(given)
    if listed.dtype.kind == "S" and kind != "S":
        first = None if values is None or not len(values) else values[0]
        raise InvalidParameter(
            f"In column {number}, the predefined categories have type 'bytes' which is incompatible with values of type"
            f" '{type(first).__name__}'."
        )
    known = np.array(given, dtype=dtype)
    listed_values = known.tolist()
    if any(is_nan(one) for one in listed_values[:-1]):
        raise InvalidParameter(
            f"Nan should be the last element in user provided categories, see categories {known} in column #{number}"
        )
    if len({_key(one) for one in listed_values}) != len(listed_values):
        raise InvalidParameter(f"In column {number}, the predefined categories contain duplicate elements.")
    if kind not in "OUST":
        inner = known[:-1] if is_nan(listed_values[-1]) else known
        if (inner[1:] < inner[:-1]).any():
            raise InvalidParameter("Unsorted categories are not supported for numerical categories")
    return known


def refuse_unknown(unknown: list[Any], number: int, when: str) -> None:
    """Refuse values that the fit has not seen."""
    if unknown:
        shown = unknown if len(unknown) <= 20 else [*unknown[:20], "..."]
        raise InvalidData(
            f"Found unknown categories {shown} in column {number} during {when}. Say what to do with such values:"
            " handle_unknown='ignore', for example."
        )
