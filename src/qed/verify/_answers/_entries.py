"""Answers of transformers of entries of any type: codes of categories, dates, and what stands for gaps."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from typing import Any

import numpy as np

from qed.core._mixed import read as read_columns
from qed.verify._answers._compare import Numbers, dense, require
from qed.verify._learnt import key
from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]


def columns_of(model: Any, X: Any) -> list[list[Any]]:
    """Read a table as lists of entries, one for each column."""
    return [column.dense.tolist() for column in read_columns(X, type(model).__name__).columns]


def places_of(entries: list[Any], known: Any) -> Array:
    """Return the place of each entry among the categories, -1 for those that are none."""
    number = {key(value): place for place, value in enumerate(np.asarray(known).tolist())}
    return np.array([number.get(key(value), -1) for value in entries], dtype=np.intp)


def _groups(count: int, rare: Any) -> Array:
    """Return a number for each category; rare ones share the last."""
    seldom = set() if rare is None else {int(one) for one in np.atleast_1d(np.asarray(rare))}
    numbers, following = [], 0
    for place in range(count):
        numbers.append(-1 if place in seldom else following)
        following += place not in seldom
    return np.array([following if one < 0 else one for one in numbers], dtype=np.intp)


def _code(model: Any, told: Any, own: list[Array]) -> None:
    require(model, "transform", Numbers(np.column_stack(own), 0.0), dense(told))


def one_hot(model: Any, X: Any, told: Any) -> None:
    """Compare a column for each category, or group of rare ones, without those that are dropped."""
    blocks = []
    for j, entries in enumerate(columns_of(model, X)):
        known, rare = model.categories_[j], model.rare_[j]
        group = _groups(len(known), rare)
        width = int(group.max(initial=-1)) + 1
        unknown = -1
        if rare is not None and model.handle_unknown in ("infrequent_if_exist", "warn"):
            unknown = int(group[int(np.atleast_1d(rare)[0])])
        place = np.append(group, unknown)[places_of(entries, known)]
        block = (place[:, None] == np.arange(width)).astype(np.float64)
        dropped = None if model.drop_idx_ is None else model.drop_idx_[j]
        blocks.append(block if dropped is None else np.delete(block, int(group[int(dropped)]), axis=1))
    _code(model, told, blocks)


def ordinal(model: Any, X: Any, told: Any) -> None:
    """Compare the number of each category; gaps and unknown entries have numbers of their own."""
    columns = []
    for j, entries in enumerate(columns_of(model, X)):
        known = np.asarray(model.categories_[j]).tolist()
        plain = len(known) - (1 if known and key(known[-1]) == ("NaN",) else 0)
        numbers: list[Any] = _groups(plain, model.rare_[j]).tolist()
        numbers += [model.encoded_missing_value] * (len(known) - plain)
        numbers.append(0 if model.unknown_value is None else model.unknown_value)
        columns.append(np.array(numbers, dtype=np.float64)[places_of(entries, model.categories_[j])])
    _code(model, told, columns)


def thermometer(model: Any, X: Any, told: Any) -> None:
    """Compare ones up to the level of an entry."""
    blocks = []
    for entries, known in zip(columns_of(model, X), model.categories_, strict=True):
        place = places_of(entries, known)
        blocks.append((np.arange(len(known)) <= place[:, None]).astype(np.float64))
    _code(model, told, blocks)


def factored(model: Any, X: Any, told: Any) -> None:
    """Compare a column for each part of a word, or for each pattern in it."""
    blocks = []
    for j, entries in enumerate(columns_of(model, X)):
        words = [str(one) for one in entries]
        if model.factors is not None:
            found = [[bool(re.search(one, word)) for one in model.factors.values()] for word in words]
        else:
            pairs = [(at, part) for at, known in enumerate(model.categories_[j]) for part in np.asarray(known).tolist()]
            found = [[one in set(enumerate(word.split(model.separator))) for one in pairs] for word in words]
        blocks.append(np.array(found, dtype=np.float64).reshape(len(words), -1))
    _code(model, told, blocks)


def mean_targets(model: Any, X: Any, told: Any) -> None:
    """Compare the code of each category; entries that are none have the mean of all rows."""
    means, columns = np.atleast_1d(np.asarray(model.target_mean_, dtype=np.float64)), []
    for j, entries in enumerate(columns_of(model, X)):
        place = places_of(entries, model.categories_[j])
        for number, mean in enumerate(means):
            columns.append(np.append(model.encodings_[j * len(means) + number], mean)[place])
    _code(model, told, columns)


# -- dates -----------------------------------------------------------------------------------------------------

# after how many the parts of a date begin again
PERIODS = {"quarter": 4, "month": 12, "day": 31, "weekday": 7, "dayofyear": 366, "hour": 24, "minute": 60, "second": 60}
DAY = 86_400_000_000  # microseconds


def dates(model: Any, X: Any, told: Any) -> None:
    """Compare parts of the calendar, entry by entry."""
    columns = []
    origin = _moment(str(model.origin))
    for entries in (column.dense for column in read_columns(X, type(model).__name__).columns):
        moments = [
            _moment(one)
            for one in (entries.astype("datetime64[us]") if entries.dtype.kind == "M" else entries).tolist()
        ]
        for part in model.parts:
            numbers = np.array(
                [math.nan if one is None else _part(one, part, origin) for one in moments], dtype=EXTENDED
            )
            if model.cyclic and part in PERIODS:
                angle = 2 * EXTENDED(math.pi) * numbers / PERIODS[part]
                columns += [np.sin(angle), np.cos(angle)]
            else:
                columns.append(numbers)
    own = np.column_stack(columns)
    require(model, "transform", Numbers(own, 8.0 + np.abs(np.nan_to_num(own))), dense(told))


def _moment(entry: Any) -> int | None:
    """Return an entry as microseconds since 1970."""
    if entry is None or entry != entry:  # noqa: PLR0124  NaN and NaT differ from themselves
        return None
    if isinstance(entry, bool | int | float):
        return int(entry * DAY)
    if isinstance(entry, str):
        return int(np.datetime64(entry, "us").astype(np.int64))
    if isinstance(entry, dt.datetime):
        entry = entry.replace(tzinfo=None)
    elif isinstance(entry, dt.date):
        entry = dt.datetime(entry.year, entry.month, entry.day)
    else:
        return int(np.datetime64(entry, "us").astype(np.int64))
    return int((entry - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))


def _part(moment: int, part: str, origin: int | None) -> float:
    if part == "days_since":
        return (moment - (origin or 0)) / DAY
    day, within = divmod(moment, DAY)
    if part in ("hour", "minute", "second"):
        seconds = within // 1_000_000
        return {"hour": seconds // 3600, "minute": seconds // 60 % 60, "second": seconds % 60}[part]
    if part == "weekday":
        return (day + 3) % 7  # the first of 1970 was a Thursday
    year, month, number = _civil(day)
    before = sum(calendar.monthrange(year, earlier)[1] for earlier in range(1, month))
    return {"year": year, "quarter": (month + 2) // 3, "month": month, "day": number, "dayofyear": before + number}[
        part
    ]


def _civil(day: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970, in the Gregorian calendar."""
    cycles, rest = divmod(day + 719_162, 146_097)  # from the first day of the year 1, in cycles of 400 years
    one = dt.date.fromordinal(rest + 1)
    return one.year + 400 * cycles, one.month, one.day


# -- gaps ------------------------------------------------------------------------------------------------------


def _is_gap(value: Any, missing: Any) -> bool:
    if missing is None:
        return value is None
    if key(missing) == ("NaN",):
        return value is None or key(value) == ("NaN",)
    try:
        return bool(value == missing)
    except (TypeError, ValueError):
        return value is missing


def _grid(model: Any, X: Any) -> tuple[Array, Array]:
    """Return the entries of a table, and where there are gaps."""
    table = X.toarray().astype(object) if hasattr(X, "tocsr") else np.array(columns_of(model, X), dtype=object).T
    missing = model.missing_values
    if type(missing).__name__ == "NAType":
        from pandas import isna  # noqa: PLC0415  whose gap it is

        return table, np.asarray(isna(table))
    gaps = np.array([[_is_gap(one, missing) for one in row] for row in table.tolist()], dtype=bool)
    if hasattr(X, "tocsr"):  # what is not stored is no gap
        gaps &= X.toarray() != 0
    return table, gaps.reshape(table.shape)


def fillings(model: Any, X: Any, told: Any) -> None:
    """Compare entries with themselves, gaps with what fills them, and the columns that mark gaps."""
    table, gaps = _grid(model, X)
    statistics = np.asarray(model.statistics_)
    own = np.where(gaps, statistics.astype(object), table)
    if model.strategy != "constant" and not model.keep_empty_features:
        own = own[:, [key(one) != ("NaN",) for one in statistics.tolist()]]
    _require_entries(
        model, own if model.indicator_ is None else np.hstack([own, gaps[:, model.indicator_.features_]]), told
    )


def marks(model: Any, X: Any, told: Any) -> None:
    """Compare where the gaps of some columns are."""
    _, gaps = _grid(model, X)
    _require_entries(model, gaps[:, model.features_].astype(object), told)


def _require_entries(model: Any, own: Array, told: Any) -> None:
    answers = dense(told)
    if answers.shape != own.shape:
        refuse_answer(model, "transform")
    single = answers.dtype == np.float32
    for one, other in zip(own.ravel().tolist(), answers.ravel().tolist(), strict=True):
        one, other = key(one), key(other)  # noqa: PLW2901
        if one != other and not (single and np.float32(one) == other):
            refuse_answer(model, "transform")
