"""Arrow columns as raw columns: numbers by Arrow's own parser where that gives what ours would, distinct words otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData
from qed.study._number_formats import DAY
from qed.study._raw import GAPS, LONGEST_ENTRY, LOOKED_AT, MAX_EXACT, MAX_LISTED_VALUES, RawColumn, of_text, of_words

Array = np.ndarray[Any, Any]


def of_arrow(name: str, column: Any) -> RawColumn:  # noqa: PLR0911  one line per type
    """Read a column of an Arrow table.

    Parameters
    ----------
    name : str
        Its name.
    column : pyarrow.ChunkedArray
        Its entries.
    """
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(
        column.type, pa.BaseExtensionType
    ):  # numbers of unlimited precision, for example, which come as words
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _of_text(name, column)
    if pa.types.is_dictionary(kind) and (
        pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    ):
        return _of_dictionary(name, column)
    if pa.types.is_boolean(kind):
        return RawColumn(name, "truth", _floats(column.cast(pa.int8())))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = _floats(_as_type(column, pa.float64(), safe=False))
        if pa.types.is_integer(kind) and (np.abs(values[np.isfinite(values)]) > MAX_EXACT).any():  # names, perhaps
            return _of_text(name, column.cast(pa.string()))
        strange = np.isinf(values)
        notes = (f"{int(strange.sum())} infinite entries counted as missing",) if strange.any() else ()
        return RawColumn(name, "number", np.where(strange, np.nan, values) if notes else values, notes=notes)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        whole = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        return RawColumn(name, "moment", _floats(whole.cast(pa.float64(), safe=False)) / DAY)
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
        size = pa.int32() if kind.bit_width == 32 else pa.int64()
        notes = ("taken as seconds",)
        return RawColumn(name, "number", _floats(column.cast(size)) * unit, notes=notes)
    if pa.types.is_null(kind):
        return RawColumn(name, "number", np.full(len(column), np.nan))
    return RawColumn(name, "nested", np.full(len(column), np.nan), notes=(f"entries are of type {kind}",))


def of_chunks(name: str, arrays: list[Any]) -> RawColumn:
    """Read a column that comes as Arrow arrays of one type."""
    import pyarrow as pa  # noqa: PLC0415

    return of_arrow(name, pa.chunked_array(arrays))


def of_columns(names: list[str], columns: list[Any]) -> list[RawColumn]:
    """Read columns of a table one at a time and let go of each, so that text and numbers of all never stand side by side.

    Parameters
    ----------
    names : list of str
        Their names.
    columns : list of pyarrow.ChunkedArray
        Their entries; empty afterwards.
    """
    columns.reverse()
    return [of_arrow(name, columns.pop()) for name in names]


def _floats(column: Any) -> Array:
    """Return the numbers of a column, NaN for gaps, from where they lie in memory: Arrow's own way loads pandas first."""
    import pyarrow as pa  # noqa: PLC0415

    found = [_of_memory(chunk) for chunk in _as_type(column, pa.float64()).chunks]
    return found[0] if len(found) == 1 else np.concatenate([np.zeros(0), *found])


def _as_type(column: Any, kind: Any, *, safe: bool = True) -> Any:
    """Cast a column that is of another type; the functions that do so take a while to load."""
    return column if column.type == kind else column.cast(kind, safe=safe)


def _of_memory(chunk: Any) -> Array:
    valid, data = chunk.buffers()
    n, start = len(chunk), chunk.offset
    values = np.frombuffer(data, np.float64, n, 8 * start) if n else np.zeros(0)
    if not chunk.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=start + n, bitorder="little")[start:]
    return np.where(bits, values, np.nan)


def _of_text(name: str, column: Any) -> RawColumn:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if len(column) <= MAX_LISTED_VALUES:  # what Arrow does to start costs more than the few entries
        _require_short(name, column)
        return of_text(name, column.to_pylist())
    if pc.count_distinct(column.slice(0, LOOKED_AT)).as_py() <= MAX_LISTED_VALUES:
        return _of_dictionary(name, column.dictionary_encode())  # what is done with words is then done once for each
    _require_short(name, column)
    plain = pc.utf8_trim_whitespace(column)
    first = plain.drop_null().slice(0, LOOKED_AT)
    if not pc.any(pc.match_substring_regex(first, r"^0\d+$")).as_py():
        # Arrow refuses a column at the first entry that is no number; then the distinct words are looked at one by one.
        try:
            numbers = pc.cast(_without_gaps(plain), pa.float64())
        except pa.ArrowInvalid:
            numbers = None
        if numbers is not None and len(numbers) > numbers.null_count:
            values = np.asarray(numbers.to_numpy(), np.float64)
            if not np.isinf(values).any():
                return RawColumn(name, "number", values)
    return _of_dictionary(name, plain.dictionary_encode())


def _require_short(name: str, words: Any) -> None:
    import pyarrow.compute as pc  # noqa: PLC0415

    longest = pc.max(pc.binary_length(words)).as_py() or 0
    if longest > LONGEST_ENTRY:
        raise InvalidData(
            f"Column {name!r} holds an entry of more than {LONGEST_ENTRY:,} characters. Perhaps a quotation mark is not closed;"
            " otherwise leave that column out."
        )


def _without_gaps(column: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    # words for gaps are short, and most columns have none: lower case is worth its time for few entries only
    short = pc.less_equal(pc.binary_length(column), max(map(len, GAPS)))
    gap = pc.is_in(pc.if_else(short, pc.utf8_lower(column), "x"), value_set=pa.array(sorted(GAPS)))
    return pc.if_else(gap, pa.scalar(None, column.type), column)


def _of_dictionary(name: str, column: Any) -> RawColumn:
    whole = column.unify_dictionaries().combine_chunks()
    chunks = getattr(whole, "chunks", None)
    if chunks is not None:
        if not chunks:
            return RawColumn(name, "word", None, np.zeros(0, np.int64), [])
        if len(chunks) > 1:
            raise InvalidData(f"Column {name!r} has more distinct words than can be counted.")
        whole = chunks[0]
    _require_short(name, whole.dictionary)
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    words = [None if word is None else word.strip() for word in whole.dictionary.to_pylist()]
    merged: dict[str | None, int] = {}
    places = np.array([merged.setdefault(word, len(merged)) for word in words] + [-1], np.int64)
    return of_words(name, places[codes], list(merged))
