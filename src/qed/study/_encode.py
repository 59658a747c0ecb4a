"""A raw table as the matrix of floats that a pipeline takes: numbers, codes of categories, days, and words that occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.study._column_types import NO, YES, tokens
from qed.study._number_formats import DATE_FORMS, FORM_WORDS, moments_of, numbers_of
from qed.study._raw import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._raw import RawColumn, RawTable
    from qed.study._schema import ColumnSchema


Array = np.ndarray[Any, Any]
UNKNOWN = -1.0  # a category that the fit has not seen
SHIFT = 0.2  # share of entries that may change sides of the median before it is said
FEWEST_FOR_A_SHIFT = 30
MARGIN = 0.1  # of the range: a little beyond it is what new rows are now and then


@dataclass(frozen=True)
class Encoded:
    """A table as numbers.

    Attributes
    ----------
    X : ndarray of shape (n, width)
        The numbers, NaN for gaps, column by column in memory.
    notices : list of str
        What the reader should know.
    strange : dict of str to ndarray of int
        By column the rows whose entry is like nothing at the fit: an unknown category, or a number far beyond the range.
    """

    X: Array
    notices: list[str]
    strange: dict[str, Array]

    def rows_of_strange(self) -> dict[int, list[str]]:
        """Return by row the columns whose entry is strange."""
        found: dict[int, list[str]] = {}
        for name, rows in self.strange.items():
            for row in rows.tolist():
                found.setdefault(row, []).append(name)
        return found


def encode(table: RawTable, columns: Sequence[ColumnSchema]) -> Encoded:
    """Turn a table into numbers by what a model remembers of its columns.

    Parameters
    ----------
    table : RawTable
        Rows, old or new; columns in any order, further ones left aside.
    columns : sequence of ColumnSchema
        What the columns are.
    """
    used = [column for column in columns if column.is_used]
    out = np.full((table.n_rows, sum(column.width for column in used)), np.nan, order="F")
    raw = {column.name: column for column in table.columns}
    found = Encoded(out, [], {})
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
            found.notices.append(
                f"Column {column.name!r} is not there: every row counts as missing it.{_meant(column.name, spare)}"
            )
            block[:] = 0.0 if column.kind == "text" else np.nan  # a gap is an empty text
            continue
        _fill(block, raw[column.name], column, found)
    _sum_up(found)
    return found


def _meant(name: str, spare: Sequence[str]) -> str:
    """Ask whether a column under another name was meant."""
    from difflib import get_close_matches  # noqa: PLC0415  (only for a message)

    plain = {"".join(sign for sign in one.lower() if sign.isalnum()): one for one in spare}
    close = get_close_matches("".join(sign for sign in name.lower() if sign.isalnum()), list(plain), n=1, cutoff=0.7)
    return f" Did you mean {plain[close[0]]!r}? Then rename it to {name!r}." if close else ""


def _sum_up(found: Encoded) -> None:
    if found.strange:
        rows = len(np.unique(np.concatenate(list(found.strange.values()))))
        found.notices.append(
            f"{rows:,} of {len(found.X):,} rows hold" if rows != 1 else f"1 of {len(found.X):,} rows holds"
        )
        found.notices[-1] += " something that the fit has not seen: there the predictions are guesses beyond the data."


def _fill(block: Array, raw: RawColumn, column: ColumnSchema, found: Encoded) -> None:
    if raw.kind == "nested":
        block[:] = 0.0 if column.kind == "text" else np.nan
        found.notices.append(f"Column {column.name!r} holds nested values: every row counts as missing it.")
    elif column.kind in ("number", "date"):
        block[:, 0] = _numbers(raw, column, found.notices)
        _look_beyond(block[:, 0], column, found)
    elif column.kind == "text":
        _fill_text(block, raw, column)
    else:
        _fill_codes(block[:, 0], raw if column.kind == "yes/no" or column.form else raw.worded(), column, found)


def _fill_codes(block: Array, raw: RawColumn, column: ColumnSchema, found: Encoded) -> None:
    codes, words = raw.as_words()
    place = {word: float(at) for at, word in enumerate(column.words)}
    if column.kind == "yes/no" and len(column.words) == 2:
        for at, family in enumerate((NO, YES)):  # true, yes and 1 mean the same where both words of the fit are such
            if column.words[at].lower() in family:
                place |= {word: float(at) for word in words if word.lower() in family}
    table = np.array([place.get(word, UNKNOWN) for word in words] + [np.nan])
    block[:] = table[codes]
    strays = [(word, int(np.argmax(codes == at))) for at, word in enumerate(words) if table[at] == UNKNOWN]
    if strays:
        found.strange[column.name] = np.flatnonzero(block == UNKNOWN)
    if column.kind == "yes/no":
        block[block == UNKNOWN] = np.nan
    found.notices.extend(_told(column.name, strays, "unknown to the model"))


def _look_beyond(values: Array, column: ColumnSchema, found: Encoded) -> None:
    """Note the entries that lie beyond the range of the fit by more than a tenth of it."""
    room = MARGIN * (column.high - column.low)
    _look_for_shift(values, column, found)
    rows = np.flatnonzero((values < column.low - room) | (values > column.high + room))
    if not len(rows):  # also where the file of an earlier version knows no range
        return
    found.strange[column.name] = rows
    kind = "moment" if column.kind == "date" else "number"
    low, high, first = (text_of(one, kind) for one in (column.low, column.high, float(values[rows[0]])))
    verb = "entry lies" if len(rows) == 1 else "entries lie"
    found.notices.append(
        f"Column {column.name!r}: {len(rows):,} {verb} far outside {low} to {high}, the range of the fit, such as {first} in row"
        f" {rows[0] + 1}."
    )


def _look_for_shift(values: Array, column: ColumnSchema, found: Encoded) -> None:
    """Note a column most of whose entries lie on one side of the median of the fit, beyond what chance gives."""
    present = values[~np.isnan(values)]
    if np.isnan(column.middle) or len(present) < FEWEST_FOR_A_SHIFT:
        return
    below, above = float(np.mean(present < column.middle)), float(np.mean(present > column.middle))
    most = 0.5 + SHIFT + 2 / np.sqrt(len(present))  # four standard errors of a share
    if max(below, above) <= most:
        return
    kind = "moment" if column.kind == "date" else "number"
    side, share = ("below", below) if below > above else ("above", above)
    found.notices.append(
        f"Column {column.name!r} has shifted: {100 * share:.0f} % of its entries lie {side} {text_of(column.middle, kind)}, the"
        " median of the fit."
    )


def _numbers(raw: RawColumn, column: ColumnSchema, notices: list[str]) -> Array:
    if raw.values is not None:
        if raw.form != column.form:
            raw = raw.read_as(column.form)
            notices += _other_form(raw, column)
        return np.asarray(raw.values)
    assert raw.codes is not None  # noqa: S101  (one of the two forms)
    if not raw.words:
        return np.full(len(raw), np.nan)
    read = numbers_of if column.kind == "number" else moments_of
    values = read(raw.words, column.form).values
    present = np.flatnonzero(np.bincount(raw.codes[raw.codes >= 0], minlength=len(raw.words)))
    strays = [(raw.words[at], int(np.argmax(raw.codes == at))) for at in present[np.isnan(values[present])][:50]]
    noun = "date" if column.kind == "date" else "number with %" if "%" in column.form else "number"
    notices += _told(column.name, strays, f"no {noun}, and counted as missing")
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
    codes, words = raw.worded().as_words()
    known = {word: at + 2 for at, word in enumerate(column.words)}
    table = np.zeros((len(words) + 1, block.shape[1]))
    for at, entry in enumerate(words):
        table[at, 0], table[at, 1] = np.log1p(len(entry)), np.log1p(entry.count(" "))
        for token in tokens(entry):
            if token in known:
                table[at, known[token]] = 1.0
    block[:] = table[codes]  # a gap is an empty text


def _told(name: str, strays: list[tuple[str, int]], what: str) -> list[str]:
    if not strays:
        return []
    shown = ", ".join(f"{word[:30]!r} (row {row + 1})" for word, row in strays[:3])
    more = f" and {len(strays) - 3} more" if len(strays) > 3 else ""
    verb = "is" if len(strays) == 1 else "are"
    return [f"Column {name!r}: {shown}{more} {verb} {what}."]


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
