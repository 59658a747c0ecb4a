"""How numbers and dates are written: points or commas, signs of money, days before months or after.

What cannot be told from the entries is decided by the more usual reading, and said: a `Reading` carries its form, which a model
remembers so that new rows are read alike, and its ambiguity, which the user may settle with ``--types``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DAY = 86_400e6  # microseconds
MONEY = ("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY")
SIGNS = (*MONEY, "%")
NUMBER_FORMS = ("decimal point", "decimal comma")
DATE_FORMS = ("month first", "day first")
FORM_WORDS = {"decimal point": "commas between thousands", "decimal comma": "a comma before fractions",
              "month first": "the month first", "day first": "the day first"}  # fmt: skip
FORMS = frozenset({*SIGNS, *NUMBER_FORMS, *DATE_FORMS})

_DIGITS = frozenset("0123456789+-.")
_DIGIT = re.compile(r"\d")
_ISO = np.frombuffer(b"0000-00-00 00:00:00", np.uint8).astype(np.uint32)  # 0 stands for any digit
_ISO_LENGTHS = (10, 16, 19)  # without a time, to the minute, to the second
_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_APART = " '’\u00a0\u2009\u202f"  # what stands between thousands besides comma and point
# no number of thousands begins with a zero: 0,126 has a comma before its fraction
_POINT = re.compile(
    rf"[+-]?(?:[1-9]\d{{0,2}}(?:([,{_APART}])\d{{3}}(?:\1\d{{3}})*)?|\d+)?(?:(?<=\d)\.\d*|\.\d+)?", re.ASCII
)
_COMMA = re.compile(rf"[+-]?(?:[1-9]\d{{0,2}}(?:([.{_APART}])\d{{3}}(?:\1\d{{3}})*)?|\d+)(?:,\d+)?", re.ASCII)
_EITHER = re.compile(r"[+-]?\d{1,3}(?:,\d{3}|\.\d{3})", re.ASCII)  # 1,234: a thousand and more, or a bit more than one
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DATE = re.compile(
    r"(?:(?P<y>\d{4})(?:-(?P<m>\d\d)-(?P<d>\d\d)|/(?P<m2>\d\d)/(?P<d2>\d\d))"
    r"|(?P<first>\d{1,2})(?P<sep>[./-])(?P<second>\d{1,2})(?P=sep)(?P<y2>\d{4})"
    r"|(?P<d3>\d{1,2})[ -](?P<m3>[A-Za-z]{3,9})\.?,?[ -](?P<y3>\d{4})|(?P<m4>[A-Za-z]{3,9})\.? (?P<d4>\d{1,2}),? (?P<y4>\d{4}))"
    r"(?:[ T](?P<time>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?(?:Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Reading:
    """Words, read.

    Attributes
    ----------
    values : ndarray of float64
        Numbers, or days since 1970; NaN where a word is neither.
    strays : list of int
        The places of those.
    form : str
        How they are written: words of `FORMS` with semicolons between them, empty where there is one way only.
    ambiguity : str
        What cannot be told from the words alone, as a sentence; empty where nothing.
    """

    values: Array
    strays: list[int]
    form: str = ""
    ambiguity: str = ""


def numbers_of(words: list[str], form: str = "") -> Reading:
    """Read words as numbers: ``1234.5``, ``1,234.5``, ``1.234,5``, ``1 234``, ``$5``, ``5 %``, ``(5)`` for minus five.

    Parameters
    ----------
    words : list of str
        Distinct entries.
    form : str
        How they are written, if that is known; found from the words otherwise.

    Returns
    -------
    Reading
        The numbers. Different signs of money, and numbers with and without %, are not mixed: the rarer ones are strays.
    """
    out = np.full(len(words), np.nan)
    dressed = []
    is_comma = "decimal comma" in form
    for at, word in enumerate(words):
        if _PLAIN.fullmatch(word) and len(word) < 400 and not (is_comma and "." in word):
            out[at] = _finite(word)
        else:
            dressed.append(at)
    strays = np.flatnonzero(np.isnan(out)).tolist() if len(dressed) < len(words) else list(range(len(words)))
    bare = {at: _undressed(words[at]) for at in dressed if len(words[at]) < 60 and _DIGIT.search(words[at])}
    bare = {at: parts for at, parts in bare.items() if parts[0][:1] in _DIGITS}
    if not bare:
        return Reading(out, strays)
    sign = _only_sign([parts[1] for parts in bare.values() if parts[1]])
    bare = {at: parts for at, parts in bare.items() if parts[1] in ("", sign)}
    style, ambiguity = _style(words, bare, form)
    if style == "decimal comma" and not is_comma and any("." in word for word in words):
        return numbers_of(words, style)  # what looked plain, such as 1.234, is now more than a thousand
    for at, (text, _) in bare.items():
        value = _value(text, style)
        if math.isfinite(value):
            out[at] = value
    if sign == "%":
        for at in range(len(words)):  # 5 and 5 % are not the same number
            if at not in bare or not bare[at][1]:
                out[at] = math.nan
    strays = np.flatnonzero(np.isnan(out)).tolist()
    if len(strays) == len(words):
        return Reading(out, strays)
    has_style = any(sign in words[at] for at in bare for sign in ",.") and (
        style == "decimal comma" or any("," in words[at] for at in bare)
    )
    return Reading(out, strays, "; ".join([sign] * bool(sign) + [style] * has_style), ambiguity)


def _finite(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else math.nan


def _undressed(word: str) -> tuple[str, str]:
    """Take a number out of its signs: the rest, and the sign of money or per cent."""
    text, sign = word.replace("\u2212", "-"), ""
    if text[:1] == "(" and text[-1:] == ")":  # as accountants write what is owed
        text = "-" + text[1:-1].strip()
    minus = text[:1] if text[:1] in ("-", "+") else ""
    text = text[len(minus) :].strip()
    for one in SIGNS:
        if text.startswith(one) and one != "%":
            sign, text = one, text[len(one) :].strip()
            break
        if text.endswith(one):
            sign, text = one, text[: -len(one)].strip()
            break
    if text[:1] in ("-", "+") and not minus:
        minus, text = text[0], text[1:].strip()
    return minus + text if text[:1].isdigit() or text[:1] == "." else "", sign


def _only_sign(signs: list[str]) -> str:
    return max(sorted(set(signs)), key=signs.count) if signs else ""


def _value(text: str, style: str) -> float:
    if style == "decimal comma":
        if not _COMMA.fullmatch(text):
            return math.nan
        text = text.replace(".", "").replace(",", ".")
    elif _PLAIN.fullmatch(text):
        return _finite(text)
    elif not _POINT.fullmatch(text):
        return math.nan
    else:
        text = text.replace(",", "")
    for sign in _APART:
        text = text.replace(sign, "")
    return _finite(text) if _PLAIN.fullmatch(text) else math.nan


def _style(words: list[str], bare: dict[int, tuple[str, str]], form: str) -> tuple[str, str]:
    """Decide between points and commas: by what is known, else by how many words each reading understands."""
    for style in NUMBER_FORMS:
        if style in form:
            return style, ""
    texts = [bare[at][0] if at in bare else words[at] for at in range(len(words))]
    texts = [text for text in texts if "," in text or "." in text]
    point, comma = (sum(math.isfinite(_value(text, style)) for text in texts) for style in NUMBER_FORMS)
    if comma > point:
        return "decimal comma", ""
    example = next((text for text in texts if "," in text), "")
    # three digits in a row without a comma tell that commas stand between thousands, and so do most moneys
    is_told = any(len(re.findall(r"\d", word)) >= 3 and "," not in word and "." not in word for word in words)
    is_told = is_told or any(parts[1] not in ("", "€", "EUR", "CHF", "%") for parts in bare.values())
    if example and not is_told and all(_EITHER.fullmatch(text) for text in texts) and comma == point:
        return "decimal point", f"{example} is read as {example.replace(',', '')}, with a comma between thousands"
    return "decimal point", ""


def moments_of(words: list[str], form: str = "") -> Reading:
    """Read words as dates: ``2024-12-31``, ``31.12.2024``, ``12/31/2024``, ``31 Dec 2024``, with or without a time.

    Parameters
    ----------
    words : list of str
        Distinct entries.
    form : str
        Whether days or months come first, if that is known; found from the words otherwise.
    """
    plain = _iso_moments(words)
    if plain is not None:
        return Reading(plain, [])
    found = [_DATE.fullmatch(word) if len(word) < 50 else None for word in words]
    undecided = [m for m in found if m and m["first"]]
    order, ambiguity = _order(undecided, form)
    out = np.full(len(words), np.nan)
    for at, m in enumerate(found):
        if m is not None:
            out[at] = _moment(m, order)
    strays = np.flatnonzero(np.isnan(out)).tolist()
    return Reading(out, strays, order if undecided else "", ambiguity)


def _iso_moments(words: list[str]) -> Array | None:
    """Read all words at once where each is written like the first, as 2024-12-31 or 2024-12-31 23:59:59; None otherwise."""
    length = len(words[0]) if words else 0
    if length not in _ISO_LENGTHS or any(len(word) != length for word in words):
        return None
    table = np.array(words, f"U{length}")
    signs, pattern = table.view(np.uint32).reshape(len(words), length), _ISO[:length]
    is_digit = (signs >= ord("0")) & (signs <= ord("9"))
    fits = np.where(pattern == ord("0"), is_digit, signs == pattern)
    if length > 10:  # a T may stand between date and time
        fits[:, 10] |= signs[:, 10] == ord("T")
    if not fits.all():
        return None
    try:
        return np.asarray(table.astype("datetime64[us]").astype(np.int64) / DAY)
    except ValueError:  # a day that no month has
        return None


def _order(undecided: list[re.Match[str]], form: str) -> tuple[str, str]:
    for order in DATE_FORMS:
        if order in form:
            return order, ""
    if any(int(m["first"]) > 12 or m["sep"] == "." for m in undecided):
        return "day first", ""
    if not undecided or any(int(m["second"]) > 12 for m in undecided):
        return "month first", ""
    telling = next((m for m in undecided if m["first"] != m["second"]), undecided[0])
    date = f"{telling['y2']}-{telling['first']:0>2}-{telling['second']:0>2}"
    return "month first", f"{telling[0]} is read as {date}, the month first"


def _moment(m: re.Match[str], order: str) -> float:
    if m["first"]:
        day, month = (m["second"], m["first"]) if order == "month first" else (m["first"], m["second"])
        date = f"{m['y2']}-{month:0>2}-{day:0>2}"
    elif m["y"]:
        date = f"{m['y']}-{m['m'] or m['m2']}-{m['d'] or m['d2']}"
    else:
        word = "sep" if m["m3"] == "Sept" or m["m4"] == "Sept" else (m["m3"] or m["m4"]).lower()
        month = next((str(at + 1) for at, name in enumerate(_MONTHS) if name.startswith(word)), "")
        if not month:
            return math.nan
        date = f"{m['y3'] or m['y4']}-{month:0>2}-{m['d3'] or m['d4']:0>2}"
    try:
        # beyond microseconds digits are dropped: "12:00:00.123456" has 15 letters
        moment = np.datetime64(f"{date}T{m['time'][:15]}" if m["time"] else date, "us")
    except ValueError:
        return math.nan
    return float(moment.astype(np.int64) / DAY)
