"""A raw table as the matrix of floats that a pipeline takes: numbers, codes of categories, days, and words that occur."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.study._column_types import NO, YES, tokens
from qed.study._number_formats import DATE_FORMS, FORM_WORDS, moments_of, numbers_of
from qed.study._schema import TEXT_NUMBERS
from qed.study._unseen import Unseen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._raw import RawColumn, RawTable
    from qed.study._schema import ColumnSchema


Array = np.ndarray[Any, Any]
UNKNOWN = -1.0  # a category that the fit has not seen


def encode(table: RawTable, columns: Sequence[ColumnSchema], unseen: Unseen | None = None) -> Array:
    """Turn a table into numbers by what a model remembers of its columns.

    Parameters
    ----------
    table : RawTable
        Rows, old or new; columns in any order, further ones left aside.
    columns : sequence of ColumnSchema
        What the columns are.
    unseen : Unseen, optional
        What remembers, over the blocks of a long table, that which the fit has not seen.

    Returns
    -------
    ndarray of shape (n, width)
        The numbers, NaN for gaps, column by column in memory.
    """
    used = [column for column in columns if column.is_used]
    out = np.empty((table.n_rows, sum(column.width for column in used)), order="F")
    raw = {column.name: column for column in table.columns}
    found = Unseen(columns) if unseen is None else unseen
    lacking = [column.name for column in used if column.name not in raw]
    known = {column.name for column in columns}
    spare = [name for name in table.names if name not in known]
    if len(lacking) == len(used):
        raise InvalidData(
            f"None of the {len(used)} columns of the model is in {table.source}. It needs {', '.join(lacking[:8])}"
            f"{' …' if len(lacking) > 8 else ''}.{_meant(lacking[0], spare)}"
        )
    at = 0
    for column in used:
        block = out[:, at : at + column.width]
        at += column.width
        if column.name not in raw:
            words = f"Column {column.name!r} is not there: every row counts as missing it.{_meant(column.name, spare)}"
            found.note(column, [words])
            block[:] = 0.0 if column.kind == "text" else np.nan  # a gap is an empty text
            continue
        _fill(block, raw[column.name], column, found)
    found.n_rows += table.n_rows
    return out


def _meant(name: str, spare: Sequence[str]) -> str:
    """Ask whether a column under another name was meant."""
    from difflib import get_close_matches  # noqa: PLC0415  (only for a message)

    plain = {"".join(sign for sign in one.lower() if sign.isalnum()): one for one in spare}
    close = get_close_matches("".join(sign for sign in name.lower() if sign.isalnum()), list(plain), n=1, cutoff=0.7)
    return f" Did you mean {plain[close[0]]!r}? Then rename it to {name!r}." if close else ""


def _fill(block: Array, raw: RawColumn, column: ColumnSchema, found: Unseen) -> None:
    if raw.kind == "nested":
        block[:] = 0.0 if column.kind == "text" else np.nan
        found.note(column, [f"Column {column.name!r} holds nested values: every row counts as missing it."])
    elif column.kind in ("number", "date"):
        block[:, 0] = _numbers(raw, column, found)
        found.numbers(column, block[:, 0])
    elif column.kind == "text":
        _fill_text(block, raw, column)
    else:
        _fill_codes(block[:, 0], raw if column.kind == "yes/no" or column.form else raw.worded(), column, found)


def _fill_codes(block: Array, raw: RawColumn, column: ColumnSchema, found: Unseen) -> None:
    codes, words = raw.as_words()
    place = {word: float(at) for at, word in enumerate(column.words)}
    if column.kind == "yes/no" and len(column.words) == 2:
        for at, family in enumerate((NO, YES)):  # true, yes and 1 mean the same where both words of the fit are such
            if column.words[at].lower() in family:
                place |= {word: float(at) for word in words if word.lower() in family}
    table = np.array([place.get(word, UNKNOWN) for word in words] + [np.nan])
    block[:] = table[codes]
    strays = first_rows(codes, words, np.flatnonzero(table == UNKNOWN))
    if strays:
        found.words(column, strays, "unknown to the model")
        found.strange(column, np.flatnonzero(block == UNKNOWN))
    if column.kind == "yes/no":
        block[block == UNKNOWN] = np.nan


def first_rows(codes: Array, words: Sequence[str], chosen: Array) -> list[tuple[str, int]]:
    """Return some words, each with the row where it comes first, in the order of those rows."""
    if not len(chosen):
        return []
    first = np.empty(len(words) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return sorted(((words[at], int(first[at])) for at in chosen.tolist()), key=lambda pair: pair[1])


def _numbers(raw: RawColumn, column: ColumnSchema, found: Unseen) -> Array:
    if raw.values is not None:
        if raw.form != column.form:
            raw = raw.read_as(column.form)
            found.note(column, _other_form(raw, column))
        return np.asarray(raw.values)
    assert raw.codes is not None  # noqa: S101  (one of the two forms)
    if not raw.words:
        return np.full(len(raw), np.nan)
    read = numbers_of if column.kind == "number" else moments_of
    values = read(raw.words, column.form).values
    present = np.flatnonzero(np.bincount(raw.codes[raw.codes >= 0], minlength=len(raw.words)))
    strays = first_rows(raw.codes, raw.words, present[np.isnan(values[present])])
    noun = "date" if column.kind == "date" else "number with %" if "%" in column.form else "number"
    found.words(column, strays, f"no {noun}, and counted as missing")
    return np.asarray(np.append(values, np.nan)[raw.codes])


def _other_form(raw: RawColumn, column: ColumnSchema) -> list[str]:
    """Say that new rows are written in another way than those of the fit, where that may change what they mean."""
    for part in (*DATE_FORMS, "%"):
        if part in column.form and part not in raw.form and (raw.form or part == "%"):
            here = FORM_WORDS.get(raw.form, "without %")
            then = FORM_WORDS.get(part, part)
            return [
                f"Column {column.name!r} was written with {then} at the fit, and is read {here} here, as it is written."
            ]
    return []


def _fill_text(block: Array, raw: RawColumn, column: ColumnSchema) -> None:
    """Note the length of each text, and which of the words it holds; a gap is an empty text."""
    from qed.core._tables import csr  # noqa: PLC0415  (loads SciPy)

    codes, words = raw.worded().as_words()
    known = {word: at for at, word in enumerate(column.words)}
    sizes = np.array([(len(entry), entry.count(" ")) for entry in words] + [(0, 0)], np.float64)
    block[:, :TEXT_NUMBERS] = np.log1p(sizes)[codes]
    held = [[known[token] for token in tokens(entry) if token in known] for entry in words] + [[]]
    ends = np.cumsum([0, *map(len, held)])
    places = np.fromiter((at for one in held for at in one), np.int32, ends[-1])
    block[:, TEXT_NUMBERS:] = 0.0
    found = csr(np.ones(ends[-1]), places, ends, (len(held), len(known)))[codes].tocoo()
    block[found.row, TEXT_NUMBERS + found.col] = 1.0


def feature_names(columns: Sequence[ColumnSchema]) -> list[str]:
    """Name the columns of the matrix."""
    names = []
    for column in columns:
        if column.kind == "text":
            names += [f"{column.name}: length", f"{column.name}: words"]
            names += [f"{column.name}: “{word}”" for word in column.words]
        elif column.is_used:
            names.append(column.name)
    return names
