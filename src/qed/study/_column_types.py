"""What a column means, and why: number, code, category, yes/no, date, text, identifier or constant."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter
from qed.study._number_formats import SIGNS, moments_of, numbers_of
from qed.study._raw import MAX_LISTED_VALUES, RawColumn, text_of
from qed.study._schema import ColumnSchema, words_array

if TYPE_CHECKING:
    from collections.abc import Mapping


Array = np.ndarray[Any, Any]

# What a user may say of a column.
SAID = ("number", "code", "category", "yes/no", "date", "text", "identifier", "constant")
ALIASES = {"integer": "number", "int": "number", "float": "number", "bool": "yes/no", "yesno": "yes/no", "id": "identifier",
           "datetime": "date", "time": "date", "cat": "category", "ignore": "identifier"}  # fmt: skip
# What a user may say of how a column is written, and what it is then.
SAID_FORMS = {"day-first": "date", "month-first": "date", "decimal-comma": "number", "decimal-point": "number"}
YES = frozenset({"yes", "y", "true", "t", "1", "on"})
NO = frozenset({"no", "n", "false", "f", "0", "off"})
_CODES = re.compile(
    r"(^|[_\W])(zip|zipcode|postcode|postal|code|cd|class|type|category|region|department|dept)($|[_\W\d])", re.I
)
_IDENTIFIERS = re.compile(
    r"(^|[_\W])(id|uuid|guid|key|index|idx|rowid|row|number|no|nr)$|(?<=[a-z])(ID|Id)$|^(id|ID|Unnamed)"
)
_UNITS = ("mm", "cm", "m", "km", "g", "kg", "mg", "lb", "oz", "s", "sec", "ms", "min", "h", "hours", "days", "years", "months",
          "eur", "usd", "gbp", "chf", "pct", "percent", "c", "f", "k", "w", "kw", "kwh", "v", "hz", "l", "ml", "gb",
          "mb")  # fmt: skip
MOST_TEXT_WORDS = 1000
FEWEST_TEXT_WORDS = 40  # that are looked for even where there are many rows
TEXT_CELLS = 40_000_000  # numbers that the words of one text column may take: 320 MB
MANY_LEVELS = 25  # beyond, single levels are too rare for a coefficient of their own
ROWS_OF_A_LEVEL = 4  # on average, below which the mean of a level is noise
MAX_MAGNITUDE = 1e60  # errors are squared, and spreads of squares again
_TOKEN = re.compile(r"[^\W\d_]{3,30}")
MOST_LEVELS = 50  # words that can stand for a target; of more, repeated rows alone may match


def unit_of(name: str) -> str:
    """Read a unit from a column's name: ``mass (g)``, ``mass [g]`` or ``mass_g``.

    >>> unit_of("body_mass_g"), unit_of("speed (km/h)"), unit_of("colour")
    ('g', 'km/h', '')
    """
    bracket = re.search(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$", name)
    if bracket:
        return bracket[1].strip()
    last = name.lower().rsplit("_", 1)[-1]
    return last if "_" in name and last in _UNITS else ""


def describe(column: RawColumn, said: Mapping[str, str], target: RawColumn | None) -> ColumnSchema:
    """Decide what a column is.

    Parameters
    ----------
    column : RawColumn
        The column.
    said : mapping of str to str
        What the user says about columns, by name.
    target : RawColumn or None
        What is to be predicted, to recognise a copy of it; None where nothing is.
    """
    distinct, words, counts = column.tally()
    kind, reason = _said(column, said) or _seen(column, counts, words, distinct, target)
    if kind == "number" and column.kind == "word":
        column = column.numbered()
        distinct, words, counts = column.tally()
    missing = float(np.count_nonzero(column.gaps)) / max(1, len(column))
    if column.form and kind in ("category", "code", "text", "identifier"):
        column = column.worded()  # what is no number is kept as it is written
        distinct, words, counts = column.tally()
    if column.notes:
        reason += "; " + "; ".join(column.notes)
    kept: list[str] = []
    if kind in ("category", "code"):
        kept = words
    elif kind == "yes/no":
        kept = in_order(words)
    elif kind == "text":
        kept = _frequent_words(words, counts)
    if kind in ("category", "code") and not kept:  # the user said so of numbers with many values
        kept = column.as_words()[1]
    shown = _shown(column, counts, words, kind)
    low, high = _range(column) if kind in ("number", "date") else (math.nan, math.nan)
    if kind == "number" and is_beyond_squares(low, high):
        kind, reason = (
            "dropped",
            f"{_short(str(low))} to {_short(str(high))}: squares of these leave the range of numbers",
        )
    unit = unit_of(column.name) or (sign_of(column.form) if kind == "number" else "")
    repeats = _comes_back(column, kind, distinct, len(kept))
    return ColumnSchema(
        column.name,
        kind,
        reason,
        unit,
        words_array(kept),
        missing,
        distinct,
        shown,
        column.form,
        low,
        high,
        repeats,
        _middle(column, kind),
    )


def _middle(column: RawColumn, kind: str) -> float:
    if kind not in ("number", "date") or column.values is None or column.gaps.all():
        return math.nan
    return float(np.nanmedian(column.values))


def _comes_back(column: RawColumn, kind: str, distinct: int, levels: int) -> bool:
    """Say whether a column has many values, words or whole numbers, of which each occurs several times on average."""
    if kind in ("category", "code"):
        return levels > MANY_LEVELS
    if kind != "number" or column.values is None or not MANY_LEVELS < distinct <= len(column) / ROWS_OF_A_LEVEL:
        return False
    values = column.values[~column.gaps]
    return bool((values == np.floor(values)).all())


def _range(column: RawColumn) -> tuple[float, float]:
    """Return the least and the greatest entry of a column that was read as numbers or days."""
    values = column.values
    if values is None or np.isnan(values).all():
        return math.nan, math.nan
    return float(np.nanmin(values)), float(np.nanmax(values))


def is_beyond_squares(low: float, high: float) -> bool:
    """Say whether sums of squares of such numbers overflow, or vanish."""
    return max(abs(low), abs(high)) > MAX_MAGNITUDE or 0 < high - low < 1 / MAX_MAGNITUDE


def sign_of(form: str) -> str:
    """Return the sign of money or per cent that numbers are written with."""
    return next((part for part in form.split("; ") if part in SIGNS), "")


def said_form(name: str, said: Mapping[str, str]) -> str:
    """Return how a column is written, if the user says so."""
    word = said.get(name, "").strip().lower()
    return word.replace("-", " ") if word in SAID_FORMS else ""


def in_order(words: list[str]) -> list[str]:
    """Put the negative one of two words first: no before yes, "not improved" before "improved"."""

    def denies(word: str) -> bool:
        return any(word.lower() != other.lower() and word.lower().endswith(other.lower()) for other in words)

    return sorted(words, key=lambda word: (word.lower() in YES, word.lower() not in NO, not denies(word), word))


def _said(column: RawColumn, said: Mapping[str, str]) -> tuple[str, str] | None:
    if column.name not in said:
        return None
    word = said[column.name].strip().lower()
    word = ALIASES.get(word, word)
    if word in SAID_FORMS:
        return _written_as(column, word)
    if word not in SAID:
        raise InvalidParameter(
            f"--types {column.name}={said[column.name]}: a column is one of {', '.join(SAID)}, or has one of the formats"
            f" {', '.join(SAID_FORMS)}."
        )
    if column.kind == "nested":
        raise InvalidParameter(f"--types {column.name}={word}: {column.notes[0]}, which cannot be used.")
    if word == "number" and column.kind == "word" and len(numbers_of(column.words).strays) == len(column.words):
        raise InvalidParameter(f"--types {column.name}=number: none of its entries is a number.")
    if word == "date" and column.kind != "moment":
        raise InvalidParameter(
            f"--types {column.name}=date: {_no_date(column)!r} is no date that is understood. Write dates as 2024-12-31."
        )
    distinct = column.tally()[0]
    if word == "yes/no" and distinct > 2:
        raise InvalidParameter(f"--types {column.name}=yes/no: it has {distinct} different entries.")
    return word, "you said so"


def _no_date(column: RawColumn) -> str:
    """Return an entry that is not read as a date."""
    words = column.as_words()[1]
    strays = moments_of(words).strays
    return words[strays[0] if strays else 0][:40] if words else ""


def _written_as(column: RawColumn, word: str) -> tuple[str, str]:
    kind = SAID_FORMS[word]
    if column.kind != {"date": "moment", "number": "number"}[kind]:
        example = repr(column.words[0][:40]) if column.words else f"a column of kind {column.kind}"
        raise InvalidParameter(f"--types {column.name}={word}: {example} cannot be read so.")
    return kind, f"{kind}s, as you said"


def _seen(  # noqa: PLR0911  one line per kind
    column: RawColumn, counts: Array, words: list[str], distinct: int, target: RawColumn | None
) -> tuple[str, str]:
    present = len(column) - int(np.count_nonzero(column.gaps))
    if column.kind == "nested":
        return "nested", f"{column.notes[0] if column.notes else 'nested values'}, which cannot be used"
    if distinct == 0:
        return "constant", "no entry at all"
    if distinct == 1 and present == len(column):
        return "constant", f"always {words[0][:40]!r}"
    if target is not None and _is_copy(column, distinct, target):
        return "copy", f"says the same as the target {target.name!r} in every row"
    if column.kind == "truth":
        return "yes/no", "true or false"
    if distinct == 2 and {word.lower() for word in words} <= YES | NO:
        return "yes/no", f"{words[0]} or {words[1]}"
    if column.kind == "moment":
        return "date", "dates"
    if column.kind == "number":
        return _seen_number(column, present, distinct)
    kind, reason = _seen_words(counts, words, present)
    if kind == "identifier" and column.is_mostly_fractions:
        return "number", "numbers, among words"
    return kind, reason


def _seen_number(column: RawColumn, present: int, distinct: int) -> tuple[str, str]:
    values = column.values[~column.gaps]  # type: ignore[index]
    whole = bool((values == np.floor(values)).all())
    if whole and present >= 10 and values.max() - values.min() == present - 1 and (np.diff(values) > 0).all():
        return "identifier", "numbers the rows"
    if whole and _IDENTIFIERS.search(column.name) and present >= 10 and len(np.unique(values)) == present:
        return "identifier", "a different number in every row"
    if whole and _CODES.search(column.name) and distinct <= max(20, present // 20):
        return "code", f"whole numbers under the name of a code, {distinct} different"
    many = (
        f"{distinct:,}" if distinct <= MAX_LISTED_VALUES else f"over {MAX_LISTED_VALUES:,}"
    )  # of long columns the number is a lower bound
    return "number", f"{'whole numbers' if whole else 'numbers'}, {many} different"


def _seen_words(counts: Array, words: list[str], present: int) -> tuple[str, str]:
    distinct = len(words)
    shares = counts / present
    length = float(shares @ np.array([len(word) for word in words]))
    spaces = float(shares @ np.array([word.count(" ") for word in words]))
    if distinct > 0.3 * present and present >= 10 and (spaces >= 3 or length > 60):
        return "text", f"sentences: {spaces + 1:.0f} words on average"
    if distinct > 0.9 * present and present >= 10:
        return "identifier", "a different word in nearly every row"
    if distinct > max(1000, 0.5 * present):
        return "identifier", f"{distinct:,} different words, most of them rare"
    digits = all(word.isdigit() for word in words[:1000])
    if digits:
        what = "digits that begin with zeros" if any(word[0] == "0" for word in words) else "numbers of many digits"
        return "code", f"{what}, {distinct} different"
    return "category", f"{distinct} different word{'s' if distinct > 1 else ''}"


def _is_copy(column: RawColumn, distinct: int, target: RawColumn) -> bool:
    """Say whether a column tells the target without error: numbers on a line with it, or few words that match one to one."""
    both = ~(column.gaps | target.gaps)
    if np.count_nonzero(both) < 10 or np.count_nonzero(both) < 0.5 * len(both):
        return False
    if column.values is not None and target.values is not None and target.tally()[0] > 2:
        x, t = column.values[both], target.values[both]
        spread = np.std(x) * np.std(t)  # the same up to a unit and an offset, as pounds tell kilograms
        return bool(spread > 0 and abs(np.mean((x - x.mean()) * (t - t.mean()))) >= (1 - 1e-12) * spread)
    if not 1 < distinct <= MOST_LEVELS or target.tally()[0] != distinct:
        return False
    ours, theirs = column.as_words()[0][both], target.as_words()[0][both]
    pairs = len(np.unique(ours * (theirs.max() + 1) + theirs))
    return pairs == len(np.unique(ours)) == len(np.unique(theirs)) and distinct < 0.5 * len(ours)


def _frequent_words(words: list[str], counts: Array) -> list[str]:
    """Return the words that most entries of a text hold, longest of a tie first; very common ones tell nothing."""
    most = max(FEWEST_TEXT_WORDS, min(MOST_TEXT_WORDS, TEXT_CELLS // max(1, int(counts.sum()))))
    often: dict[str, int] = {}
    sample = np.argsort(-counts, kind="stable")[:20_000]
    for at in sample:
        for token in set(_TOKEN.findall(words[at].lower())):
            often[token] = often.get(token, 0) + int(counts[at])
    total = int(counts[sample].sum())
    useful = [word for word, count in often.items() if 5 <= count < 0.6 * total]
    return sorted(sorted(useful, key=lambda word: (-often[word], word))[:most])


def tokens(entry: str) -> frozenset[str]:
    """Return the words of an entry, in lower case."""
    return frozenset(_TOKEN.findall(entry.lower()))


def _shown(column: RawColumn, counts: Array, words: list[str], kind: str) -> str:
    if column.values is not None and kind in ("number", "date", "identifier") and not column.gaps.all():
        values = column.values[~column.gaps]
        low, high = (
            text_of(float(one), column.kind).removesuffix(".000000").replace("T", " ")
            for one in (values.min(), values.max())
        )
        return f"{_short(low)} to {_short(high)}"
    if not words:
        return ""
    most = np.argsort(-counts, kind="stable")[:4]
    rest = " …" if len(words) > 4 else ""
    return ", ".join(words[at][:24] for at in most) + rest


def _short(text: str) -> str:
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) and not text.isdigit() else text
