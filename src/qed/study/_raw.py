"""Columns as they were read: numbers, moments, truths or words, before anybody has decided what they mean.

One reading of text for every source: what stands for a gap, what is a number, what is a date. Files of text arrive as lists
(small ones, by the csv module) or as Arrow columns (large ones, by DuckDB); both end in the same `RawColumn`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from qed.core import InvalidData, QedError

Array = np.ndarray[Any, Any]

__all__ = ["GAPS", "RawColumn", "RawTable", "moments_of", "numbers_of", "of_text", "of_words", "text_of"]

# Words that stand for nothing, in lower case and without spaces around them.
GAPS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--", "<na>"})
# How many entries are looked at to tell codes such as 01234 from numbers.
LOOKED_AT = 10_000
LONGEST_ENTRY = 131_072
FEW = 1000
# A column of numbers may hold so few other words, which then count as gaps.
STRAY = 0.02

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_CODE = re.compile(r"0\d+", re.ASCII)
_DATE = re.compile(
    r"(?:(\d{4})-(\d\d)-(\d\d)|(\d{4})/(\d\d)/(\d\d)|(\d{1,2})([./])(\d{1,2})\8(\d{4}))"
    r"(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?(?:Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
DAY = 86_400e6  # microseconds


@dataclass(frozen=True)
class RawColumn:
    """One column as it was read.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "truth", "moment", "word", "nested"}
        What its entries are. Nested ones cannot be used.
    values : ndarray of float64 or None
        Numbers; 0 and 1 for truths; days since 1970 for moments. NaN for gaps.
    codes, words : ndarray of int64 and list of str
        For words: the place of each entry in the list of distinct ones, -1 for gaps.
    notes : tuple of str
        What the reader should know, such as entries that were no numbers.
    """

    name: str
    kind: Literal["number", "truth", "moment", "word", "nested"]
    values: Array | None = None
    codes: Array | None = None
    words: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        entries = self.values if self.values is not None else self.codes
        return 0 if entries is None else len(entries)

    @property
    def gaps(self) -> Array:
        """Where nothing stands."""
        if self.values is not None:
            return np.asarray(np.isnan(self.values))
        assert self.codes is not None  # noqa: S101  (one of the two forms)
        return np.asarray(self.codes < 0)

    def rows(self, chosen: Array) -> RawColumn:
        """Return some of the rows."""
        values = None if self.values is None else self.values[chosen]
        codes = None if self.codes is None else self.codes[chosen]
        return RawColumn(self.name, self.kind, values, codes, self.words, self.notes)

    def as_words(self) -> tuple[Array, list[str]]:
        """See any column as words: the place of each entry, and the distinct ones that occur, sorted."""
        if self.values is None:
            assert self.codes is not None  # noqa: S101
            seen = np.flatnonzero(np.bincount(self.codes[self.codes >= 0], minlength=len(self.words)))
            order = sorted(seen.tolist(), key=self.words.__getitem__)
            place = np.full(len(self.words) + 1, -1, np.int64)  # the last place answers for gaps
            place[order] = np.arange(len(order))
            return place[self.codes], [self.words[at] for at in order]
        distinct, codes = np.unique(self.values, return_inverse=True)
        codes = np.where(np.isnan(self.values), -1, codes)
        return codes, [text_of(one, self.kind) for one in distinct if not math.isnan(one)]

    def tally(self) -> tuple[int, list[str], Array]:
        """Count the distinct entries: their number, the words sorted, and how often each occurs.

        Numbers with more than `FEW` distinct values come without words; of very long columns their number is a lower bound.
        """
        if self.values is not None:
            values = self.values[~np.isnan(self.values)]
            some = np.unique(values[: 50 * FEW])
            distinct = len(some) if len(some) > FEW and len(values) > 400 * FEW else len(np.unique(values))
            if distinct > FEW:
                return distinct, [], np.zeros(0, np.int64)
        codes, words = self.as_words()
        return len(words), words, np.bincount(codes[codes >= 0], minlength=len(words))


@dataclass(frozen=True)
class RawTable:
    """Columns of one length, where they came from, and what was noticed on the way."""

    columns: tuple[RawColumn, ...]
    n_rows: int
    source: str
    digest: str = ""
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.columns]

    def column(self, name: str, what: str = "column", error: type[QedError] = InvalidData) -> RawColumn:
        """Return a column by name; the error names those there are."""
        for column in self.columns:
            if column.name == name:
                return column
        from difflib import get_close_matches  # noqa: PLC0415  (only for a message)

        close = get_close_matches(name, self.names, n=1)
        listed = ", ".join(self.names[:12]) + (" …" if len(self.names) > 12 else "")
        hint = f" Did you mean {close[0]!r}?" if close else f" Its columns: {listed}."
        raise error(f"There is no {what} {name!r} in {self.source}.{hint}")

    def rows(self, chosen: Array) -> RawTable:
        """Return some of the rows."""
        size = int(np.count_nonzero(chosen)) if chosen.dtype == bool else len(chosen)
        columns = tuple(column.rows(chosen) for column in self.columns)
        return RawTable(columns, size, self.source, self.digest, self.notes)


def text_of(value: float, kind: str = "number") -> str:
    """Write a number the way a table would: whole ones without a point."""
    if kind == "truth":
        return "yes" if value else "no"
    if kind == "moment":
        return str(np.datetime64(round(value * DAY), "us")).replace("T00:00:00.000000", "")
    return str(int(value)) if value == math.floor(value) and abs(value) < 1e15 else repr(float(value))


def of_text(name: str, entries: list[str | None]) -> RawColumn:
    """Read a column of text: numbers where all entries are numbers, words otherwise.

    Parameters
    ----------
    name : str
        The column's name.
    entries : list of str or None
        What the file holds.
    """
    stripped = [None if entry is None else entry.strip() for entry in entries]
    found: dict[str | None, int] = {}
    codes = np.fromiter((found.setdefault(entry, len(found)) for entry in stripped), np.int64, len(stripped))
    return of_words(name, codes, list(found))


def of_words(name: str, codes: Array, words: list[str | None]) -> RawColumn:
    """Read a column that is kept as places in a list of words.

    Parameters
    ----------
    name : str
        The column's name.
    codes : ndarray of int
        Place of each entry; negative for gaps.
    words : list of str or None
        The distinct words, without spaces around them, in any order.
    """
    codes = np.asarray(codes, np.int64)
    gap = np.array([word is None or word.lower() in GAPS for word in words] + [True])
    codes = np.where(gap[codes], -1, codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    used = [at for at in range(len(words)) if counts[at]]
    if not used:
        return RawColumn(name, "word", None, codes, [])
    plain: list[str] = [word or "" for word in words]
    # codes such as 01234 are names made of digits: as numbers they would lose their zeros
    first = codes[codes >= 0][:LOOKED_AT]
    if not any(_CODE.fullmatch(plain[at]) for at in set(first.tolist())):
        numbers, strays = numbers_of([plain[at] for at in used])
        stray_rows = int(sum(counts[used[at]] for at in strays))
        if stray_rows <= (STRAY * counts.sum() if len(used) - len(strays) > 20 else 0):
            return _of_numbers(name, codes, used, numbers, [plain[used[at]] for at in strays], stray_rows)
    moments = moments_of([plain[at] for at in used[:20]])
    if not np.isnan(moments).any():
        moments = moments_of([plain[at] for at in used])
        if not np.isnan(moments).any():
            table = np.full(len(words) + 1, np.nan)
            table[used] = moments
            return RawColumn(name, "moment", table[codes])
    return RawColumn(name, "word", None, codes, plain)


def _of_numbers(name: str, codes: Array, used: list[int], numbers: Array, strays: list[str], rows: int) -> RawColumn:
    table = np.full(max(used) + 2, np.nan)
    table[used] = numbers
    notes: tuple[str, ...] = ()
    if strays:
        shown = ", ".join(repr(word[:30]) for word in strays[:3])
        verb = "entry is no number" if rows == 1 else "entries are no numbers"
        notes = (f"{rows} {verb} ({shown}) and counted as missing",)
    return RawColumn(name, "number", table[codes], notes=notes)


def numbers_of(words: list[str]) -> tuple[Array, list[int]]:
    """Read words as numbers: the numbers, NaN where a word is none, and the places of those.

    Also read are ``1,234.5`` (thousands apart) and, where every fraction is written so, ``1,5``.
    """
    out = np.full(len(words), np.nan)
    strays = []
    with_comma = [word for word in words if "," in word]
    decimal = bool(with_comma) and not any(_GROUPED.fullmatch(word) or "." in word for word in words)
    for at, word in enumerate(words):
        plain = word
        if with_comma and "," in word:
            if decimal and _COMMA.fullmatch(word):
                plain = word.replace(",", ".")
            elif _GROUPED.fullmatch(word):
                plain = word.replace(",", "")
        value = float(plain) if len(plain) < 400 and _NUMBER.fullmatch(plain) else math.nan
        if math.isfinite(value):
            out[at] = value
        else:
            strays.append(at)
    return out, strays


def moments_of(words: list[str]) -> Array:
    """Read words as days since 1970; NaN where a word is no date."""
    parts = [_DATE.fullmatch(word) if len(word) < 40 else None for word in words]
    # 3/4/2024: the day comes first if any first number is above twelve, or where dots are written
    month_first = not any(m and m[7] and (int(m[7]) > 12 or m[8] == ".") for m in parts)
    out = np.full(len(words), np.nan)
    for at, m in enumerate(parts):
        if m is None:
            continue
        if m[7]:
            day, month = (m[9], m[7]) if month_first else (m[7], m[9])
            date = f"{m[10]}-{month:0>2}-{day:0>2}"
        else:
            date = f"{m[1] or m[4]}-{m[2] or m[5]}-{m[3] or m[6]}"
        try:
            moment = np.datetime64(f"{date}T{m[11]}" if m[11] else date, "us")
        except ValueError:
            continue
        out[at] = moment.astype(np.int64) / DAY
    return out
