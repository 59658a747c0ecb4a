"""Columns as they were read: numbers, moments, truths or words, before anybody has decided what they mean.

One reading of text for every source: what stands for a gap, what is a number, what is a date. Files of text arrive as lists
(small ones, by the csv module) or as Arrow columns (large ones, by DuckDB); both end in the same `RawColumn`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import InvalidData, QedError
from qed.study._number_formats import DATE_FORMS, DAY, FORM_WORDS, Reading, moments_of, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]


# Words that stand for nothing, in lower case and without spaces around them.
GAPS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--", "<na>"})
# How many entries are looked at to tell codes such as 01234 from numbers.
LOOKED_AT = 10_000
LONGEST_ENTRY = 131_072
MAX_LISTED_VALUES = 1000
# A column of numbers may hold so few other words, which then count as gaps.
STRAY = 0.02
MAX_EXACT = 2.0**53  # beyond, floats do not tell neighbouring whole numbers apart
DIGITS_SHOWN = 20  # of whole numbers, as in the longest card numbers and 64-bit integers
LONG_NAME = 16  # digits of whole numbers that floats of 53 bits cannot all tell apart

_CODE = re.compile(r"0\d+", re.ASCII)


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
        For words: the place of each entry in the list of distinct ones, -1 for gaps. Kept of numbers and moments that could
        be read in more than one way.
    notes : tuple of str
        What the reader should know, such as entries that were no numbers.
    form : str
        How numbers and moments are written, where there are several ways.
    ambiguity : str
        What could not be told from the entries, as a sentence.
    """

    name: str
    kind: Literal["number", "truth", "moment", "word", "nested"]
    values: Array | None = None
    codes: Array | None = None
    words: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    form: str = ""
    ambiguity: str = ""

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

    def rows(self, chosen: Array | slice) -> RawColumn:
        """Return some of the rows."""
        values = None if self.values is None else self.values[chosen]
        codes = None if self.codes is None else self.codes[chosen]
        return replace(self, values=values, codes=codes)

    def read_as(self, form: str) -> RawColumn:
        """Read the entries again, as they are written by one who says how; what has one form only stays as it is."""
        if not form or not self.words or self.codes is None:
            return self
        is_date = any(order in form for order in DATE_FORMS)
        if is_date != (self.kind == "moment") and self.kind != "word":
            return self
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))
        used = np.flatnonzero(counts).tolist()
        words = [self.words[at] for at in used]
        found = moments_of(words, form) if is_date else numbers_of(words, form)
        if not used or len(found.strays) > (0 if is_date else STRAY * len(used)):
            return self
        rows = int(sum(counts[used[at]] for at in found.strays))
        return _of_reading("moment" if is_date else "number", self.name, self.codes, self.words, used, found, rows)

    def numbered(self) -> RawColumn:
        """Read words as numbers; those that are none count as gaps, and a note says how many."""
        if self.kind != "word" or self.codes is None:
            return self
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))
        used = np.flatnonzero(counts).tolist()
        found = numbers_of([self.words[at] for at in used])
        rows = int(sum(counts[used[at]] for at in found.strays))
        return _of_reading("number", self.name, self.codes, self.words, used, found, rows)

    @property
    def is_mostly_fractions(self) -> bool:
        """Whether most entries of a column of words are numbers, whole ones and others, written without zeros in front."""
        if self.kind != "word" or self.codes is None:
            return False
        some = self.codes[self.codes >= 0][:LOOKED_AT]
        words = [self.words[at] for at in np.unique(some).tolist()]
        values = numbers_of(words).values
        known = values[np.isfinite(values)]
        is_whole = not len(known) or bool((known == np.floor(known)).all())
        return not is_whole and 2 * len(known) > len(words) and not any(_CODE.fullmatch(word) for word in words)

    def worded(self) -> RawColumn:
        """See numbers and moments whose words were kept as those words again."""
        return replace(self, kind="word", values=None, form="", ambiguity="", notes=()) if self.form else self

    def as_words(self) -> tuple[Array, list[str]]:
        """See any column as words: the place of each entry, and the distinct ones that occur, sorted."""
        if self.values is None or (self.words and not self.form):  # numbers whose digits floats do not hold
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

        Numbers with more than `MAX_LISTED_VALUES` distinct values come without words; of very long columns their
        number is a lower bound.
        """
        if self.values is not None:
            values = self.values[~np.isnan(self.values)]
            some = np.unique(values[: 50 * MAX_LISTED_VALUES])
            distinct = (
                len(some)
                if len(some) > MAX_LISTED_VALUES and len(values) > 400 * MAX_LISTED_VALUES
                else len(np.unique(values))
            )
            if distinct > MAX_LISTED_VALUES:
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

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.columns]

    @property
    def size(self) -> str:
        """Its rows and columns, as a person reads them."""
        p = len(self.columns)
        return f"{self.n_rows:,} row{'s' if self.n_rows != 1 else ''}, {p:,} column{'s' if p != 1 else ''}"

    @cached_property
    def _by_name(self) -> dict[str, RawColumn]:
        return {column.name: column for column in reversed(self.columns)}  # of two of one name, the first

    def column(self, name: str, what: str = "column", error: type[QedError] = InvalidData) -> RawColumn:
        """Return a column by name; the error names those there are."""
        if name not in self._by_name:
            require_column(name, self.names, self.source, what, error)
        return self._by_name[name]

    def rows(self, chosen: Array) -> RawTable:
        """Return some of the rows."""
        size = int(np.count_nonzero(chosen)) if chosen.dtype == bool else len(chosen)
        columns = tuple(column.rows(chosen) for column in self.columns)
        return RawTable(columns, size, self.source, self.digest, self.notes)

    def blocks(self, most: int) -> Iterator[RawTable]:
        """Return the rows some at a time, in their order; one empty block of an empty table."""
        for at in range(0, max(1, self.n_rows), most):
            columns = tuple(column.rows(slice(at, at + most)) for column in self.columns)
            yield replace(self, columns=columns, n_rows=min(most, self.n_rows - at))


def require_column(
    name: str, names: list[str], source: str, what: str = "column", error: type[QedError] = InvalidData
) -> None:
    """Refuse a name that no column has; the error names those there are."""
    if name in names:
        return
    from difflib import get_close_matches  # noqa: PLC0415  (only for a message)

    close = get_close_matches(name, names, n=1)
    listed = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
    hint = f" Did you mean {close[0]!r}?" if close else f" Its columns: {listed}."
    raise error(f"There is no {what} {name!r} in {source}.{hint}")


def text_of(value: float, kind: str = "number") -> str:
    """Write a number the way a table would: whole ones without a point."""
    if kind == "truth":
        return "yes" if value else "no"
    if kind == "moment":
        return str(np.datetime64(round(value * DAY), "us")).replace("T00:00:00.000000", "")
    return str(int(value)) if value == math.floor(value) and abs(value) < 10**DIGITS_SHOWN else repr(float(value))


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
    if not moments_of([plain[at] for at in used[:20]]).strays:  # nothing is both a date and a number
        found = moments_of([plain[at] for at in used])
        if not found.strays:
            return _of_reading("moment", name, codes, plain, used, found, 0)
    # codes such as 01234 are names made of digits: as numbers they would lose their zeros
    first = codes[codes >= 0][:LOOKED_AT]
    if not any(_CODE.fullmatch(plain[at]) for at in set(first.tolist())):
        found = numbers_of([plain[at] for at in used])
        stray_rows = int(sum(counts[used[at]] for at in found.strays))
        if _are_merged([plain[at] for at in used], found.values):
            return RawColumn(name, "word", None, codes, plain)
        if stray_rows <= (STRAY * counts.sum() if len(used) - len(found.strays) > 20 else 0):
            return _of_reading("number", name, codes, plain, used, found, stray_rows)
    return RawColumn(name, "word", None, codes, plain)


def _are_merged(words: list[str], values: Array) -> bool:
    """Say whether names made of many digits, such as card numbers, would be fewer as numbers: their last digits are lost."""
    long = [at for at, word in enumerate(words) if len(word) >= LONG_NAME and word.isdecimal()]
    return len(np.unique(values[long])) < len(long)


def _lose_digits(words: list[str]) -> bool:
    """Say whether a whole number changes when it is read as a float; a model that knows it as a name needs all its digits."""
    return any(
        LONG_NAME <= len(word) <= DIGITS_SHOWN and word.isdecimal() and int(word) != int(float(word)) for word in words
    )


def _of_reading(
    kind: Literal["number", "moment"],
    name: str,
    codes: Array,
    plain: list[str],
    used: list[int],
    found: Reading,
    rows: int,
) -> RawColumn:
    table = np.full(len(plain) + 1, np.nan)
    table[used] = found.values
    notes = [FORM_WORDS.get(part, f"written with {part}") for part in found.form.split("; ") if part]
    if found.strays:
        shown = ", ".join(repr(plain[used[at]][:30]) for at in found.strays[:3])
        verb = "entry is no number" if rows == 1 else "entries are no numbers"
        notes.append(f"{rows} {verb} ({shown}) and counted as missing")
    if not found.form and not _lose_digits(
        [plain[at] for at in used]
    ):  # one way to read them: no need of the words any more
        return RawColumn(name, kind, table[codes], notes=tuple(notes))
    return RawColumn(name, kind, table[codes], codes, plain, tuple(notes), found.form, found.ambiguity)
