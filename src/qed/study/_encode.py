"""A raw table as the matrix of floats that a pipeline takes: numbers, codes of categories, days, and words that occur."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.study._kinds import NO, YES, tokens
from qed.study._raw import moments_of, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._raw import RawColumn, RawTable
    from qed.study._schema import ColumnSchema

__all__ = ["UNKNOWN", "encode", "feature_names"]

Array = np.ndarray[Any, Any]
UNKNOWN = -1.0  # a category that the fit has not seen


def encode(table: RawTable, columns: Sequence[ColumnSchema]) -> tuple[Array, list[str]]:
    """Turn a table into numbers by what a model remembers of its columns.

    Parameters
    ----------
    table : RawTable
        Rows, old or new; columns in any order, further ones left aside.
    columns : sequence of ColumnSchema
        What the columns are.

    Returns
    -------
    (ndarray of shape (n, width), list of str)
        The numbers, NaN for gaps, column by column in memory; and what the reader should know.
    """
    used = [column for column in columns if column.is_used]
    out = np.full((table.n_rows, sum(column.width for column in used)), np.nan, order="F")
    raw = {column.name: column for column in table.columns}
    words: list[str] = []
    lacking = [column.name for column in used if column.name not in raw]
    if len(lacking) == len(used):
        raise InvalidData(
            f"None of the {len(used)} columns of the model is in {table.source}. It needs {', '.join(lacking[:8])}"
            f"{' …' if len(lacking) > 8 else ''}."
        )
    at = 0
    for column in used:
        block = out[:, at : at + column.width]
        at += column.width
        if column.name not in raw:
            words.append(f"Column {column.name!r} is not there: every row counts as missing it.")
            block[:] = 0.0 if column.kind == "text" else np.nan  # a gap is an empty text
            continue
        problem = _fill(block, raw[column.name], column)
        if problem:
            words.append(problem)
    return out, words


def _fill(block: Array, raw: RawColumn, column: ColumnSchema) -> str:
    if raw.kind == "nested":
        block[:] = 0.0 if column.kind == "text" else np.nan
        return f"Column {column.name!r} holds nested values: every row counts as missing it."
    if column.kind in ("number", "date"):
        block[:, 0], strays = _numbers(raw, column.kind)
        noun = "number" if column.kind == "number" else "date"
        return _told(column.name, strays, f"no {noun}{'s' if len(strays) > 1 else ''}, and counted as missing")
    if column.kind == "text":
        return _fill_text(block, raw, column)
    codes, words = raw.as_words()
    place = {word: float(at) for at, word in enumerate(column.words)}
    if column.kind == "yes/no" and len(column.words) == 2:
        for at, family in enumerate((NO, YES)):  # true, yes and 1 mean the same where both words of the fit are such
            if column.words[at].lower() in family:
                place |= {word: float(at) for word in words if word.lower() in family}
    table = np.array([place.get(word, UNKNOWN) for word in words] + [np.nan])
    block[:, 0] = table[codes]
    if column.kind == "yes/no":
        block[:, 0][block[:, 0] == UNKNOWN] = np.nan
    strays = [(word, int(np.argmax(codes == at))) for at, word in enumerate(words) if table[at] == UNKNOWN]
    return _told(column.name, strays, "unknown to the model")


def _numbers(raw: RawColumn, kind: str) -> tuple[Array, list[tuple[str, int]]]:
    if raw.values is not None:
        return raw.values, []
    assert raw.codes is not None  # noqa: S101  (one of the two forms)
    if not raw.words:
        return np.full(len(raw), np.nan), []
    found = numbers_of(raw.words)[0] if kind == "number" else moments_of(raw.words)
    table = np.append(found, np.nan)
    present = np.flatnonzero(np.bincount(raw.codes[raw.codes >= 0], minlength=len(raw.words)))
    strays = [(raw.words[at], int(np.argmax(raw.codes == at))) for at in present[np.isnan(found[present])][:50]]
    return table[raw.codes], strays


def _fill_text(block: Array, raw: RawColumn, column: ColumnSchema) -> str:
    codes, words = raw.as_words()
    known = {word: at + 2 for at, word in enumerate(column.words)}
    table = np.zeros((len(words) + 1, block.shape[1]))
    for at, entry in enumerate(words):
        table[at, 0], table[at, 1] = np.log1p(len(entry)), np.log1p(entry.count(" "))
        for token in tokens(entry):
            if token in known:
                table[at, known[token]] = 1.0
    block[:] = table[codes]  # a gap is an empty text
    return ""


def _told(name: str, strays: list[tuple[str, int]], what: str) -> str:
    if not strays:
        return ""
    shown = ", ".join(f"{word[:30]!r} (row {row + 1})" for word, row in strays[:3])
    more = f" and {len(strays) - 3} more" if len(strays) > 3 else ""
    verb = "is" if len(strays) == 1 else "are"
    return f"Column {name!r}: {shown}{more} {verb} {what}."


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
