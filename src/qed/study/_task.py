"""What there is to do with a target: predict a number, one of two classes, or one of several; and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.study._column_types import NO, YES, in_order, is_beyond_squares, sign_of, unit_of
from qed.study._number_formats import numbers_of
from qed.study._raw import MAX_LISTED_VALUES
from qed.study._schema import TASKS, TargetSchema, words_array

if TYPE_CHECKING:
    from qed.study._raw import RawColumn


Array = np.ndarray[Any, Any]
MOST_CLASSES = 500  # each has its own coefficients, or its own trees
FEWEST_OF_A_CLASS = 3  # one to keep aside, one to learn from, one to compare by


def describe_target(column: RawColumn, said: str | None = None) -> TargetSchema:
    """Decide the task.

    Parameters
    ----------
    column : RawColumn
        The target, gaps left out.
    said : str or None
        The task, if the user says it: ``"regression"``, ``"binary"``, ``"multiclass"`` or ``"counts"``.
    """
    distinct, words, counts = column.tally()
    _require_target(column, distinct, words)
    task, reason = _said(said, column, distinct, words) if said is not None else _seen(column, counts, distinct, words)
    reason = "; ".join([reason, *[note for note in column.notes if "counted as missing" not in note]])
    if task == "regression":
        values = column.values
        assert values is not None  # noqa: S101  (checked by both ways to the task)
        if is_beyond_squares(float(values.min()), float(values.max())):
            raise InvalidData(
                f"The target {column.name!r} lies between {values.min():.3g} and {values.max():.3g}: squares of these leave the"
                " range of numbers. Multiply it by a power of ten first."
            )
        tallies = bool((values >= 0).all() and (values == np.floor(values)).all() and distinct > 2)
        is_count = said == "counts" or (tallies and (values.min() == 0 or values.mean() < 50) and distinct < 200)
        return TargetSchema(
            column.name,
            task,
            reason,
            unit_of(column.name) or sign_of(column.form),
            words_array([]),
            bool(is_count and tallies),
            column.form,
            float(values.min()),
            float(values.max()),
            "number",
        )
    if not words:
        _, words = column.as_words()
        counts = np.ones(len(words), np.int64)
    if column.values is None:
        _refuse_numbers_with_strays(column)
    rare = [word for word, count in zip(words, counts, strict=True) if count < FEWEST_OF_A_CLASS]
    if len(words) > MOST_CLASSES or len(rare) > len(words) / 2:
        raise InvalidData(
            f"The target {column.name!r} has {len(words)} different entries, {len(rare) or 'none'} of them once or twice. A class"
            f" needs at least three rows, and there may be at most {MOST_CLASSES} classes. Choose another target, or join classes"
            " first."
        )
    if rare:
        raise InvalidData(
            f"Class {rare[0][:40]!r} of the target {column.name!r} occurs in fewer than three rows, so it cannot be learnt and"
            " checked. Leave those rows out, or join the class with another."
        )
    labels = in_order(words) if len(words) == 2 else _sorted(words)
    return TargetSchema(column.name, task, reason, "", words_array(labels), False, entries=_entries(column))


def _entries(column: RawColumn) -> str:
    """Say what the entries of a column of classes are."""
    if column.kind == "truth":
        return "truth"
    if column.values is None:
        return "truth" if {word.lower() for word in column.as_words()[1]} == {"true", "false"} else "word"
    values = column.values[~column.gaps]
    return "whole" if bool((values == np.floor(values)).all()) else "number"


def _refuse_numbers_with_strays(column: RawColumn) -> None:
    """Refuse a target of numbers in which few entries are words: as classes it would be nonsense."""
    found = numbers_of(column.words)
    assert column.codes is not None  # noqa: S101  (words have codes)
    if len(column.words) > 25 and 0 < len(found.strays) < 0.5 * len(column.words):
        word, row = column.words[found.strays[0]], int(np.argmax(column.codes == found.strays[0])) + 1
        raise InvalidData(
            f"The target {column.name!r} holds numbers, and words among them, such as {word[:40]!r} in row {row}. Repair them, or"
            " leave them empty."
        )


def _sorted(words: list[str]) -> list[str]:
    try:
        return sorted(words, key=float)
    except ValueError:
        return sorted(words)


def _require_target(column: RawColumn, distinct: int, words: list[str]) -> None:
    if column.kind == "nested":
        raise InvalidData(f"The target {column.name!r} holds {column.notes[0]}. Choose another.")
    if column.kind == "moment":
        raise InvalidData(
            f"The target {column.name!r} holds dates. Turn them into a number first, such as days since a date."
        )
    if not distinct:
        raise InvalidData(f"The target {column.name!r} is empty in every row. Choose another column.")
    if distinct == 1:
        raise InvalidData(f"The target {column.name!r} is always {words[0][:40]!r}: there is nothing to learn.")


def _said(said: str, column: RawColumn, distinct: int, words: list[str]) -> tuple[str, str]:
    task = "regression" if said == "counts" else said
    if task not in TASKS:
        raise InvalidParameter(f"--task {said}: the task is one of {', '.join(TASKS)}, counts.")
    if task == "regression" and column.values is None:
        raise InvalidData(
            f"The target {column.name!r} holds words such as {words[0][:40]!r}, so --task {said} cannot be. Leave --task out."
        )
    if said == "counts" and column.values is not None:
        bad = np.flatnonzero((column.values < 0) | (column.values != np.floor(column.values)))
        if len(bad):
            raise InvalidData(
                f"The target {column.name!r} holds {column.values[bad[0]]:g} in row {bad[0] + 1}, and counts are 0, 1, 2 and so"
                " on. Say --task regression."
            )
    if task == "binary" and distinct != 2:
        raise InvalidData(f"The target {column.name!r} has {distinct} different entries, and --task binary needs two.")
    if task == "multiclass" and distinct == 2:
        task = "binary"
    return task, "you said so"


def _seen(column: RawColumn, counts: Array, k: int, words: list[str]) -> tuple[str, str]:
    if k == 2:
        return "binary", f"two different entries, {words[0][:30]!r} and {words[1][:30]!r}"
    if column.values is None:
        return "multiclass", f"{k} different words"
    values = column.values
    whole = bool((values == np.floor(values)).all())
    consecutive = whole and values.min() in (0, 1) and values.max() - values.min() == k - 1
    if consecutive and k <= 10 and counts.min() >= 0.05 * counts.sum():
        return (
            "multiclass",
            f"whole numbers {words[0]} to {k - 1 + int(values.min())}, none of them rare; say --task regression if not",
        )
    many = f"{k:,}" if k <= MAX_LISTED_VALUES else f"over {MAX_LISTED_VALUES:,}"
    return "regression", f"{'whole numbers' if whole else 'numbers'}, {many} different"


def encode_target(column: RawColumn, target: TargetSchema) -> tuple[Array, list[str]]:
    """Turn a target column into numbers: itself, or the number of the class; NaN for gaps and unknown classes.

    Returns
    -------
    (ndarray of float64, list of str)
        The numbers, and the words that are no class.
    """
    if target.task == "regression":
        column = column.read_as(target.form)
        if column.values is None:
            if not len(column.words):
                return np.full(len(column), np.nan), []
            raise InvalidData(
                f"Column {column.name!r} holds words such as {column.words[0][:40]!r}, and the model predicts numbers."
            )
        return column.values, []
    if not set(target.labels).isdisjoint(column.words):
        column = column.worded()
    codes, words = column.as_words()
    place = {label: float(at) for at, label in enumerate(target.labels)}
    spoken = {YES: "yes", NO: "no"}
    table = np.array([place.get(word, place.get(_same(word, spoken, place), np.nan)) for word in words] + [np.nan])
    return table[codes], [word for word, at in zip(words, table, strict=False) if np.isnan(at)]


def _same(word: str, spoken: dict[frozenset[str], str], place: dict[str, float]) -> str:
    """Find the label that means the same truth, written in another way: true, yes, 1."""
    for family in spoken:
        if word.lower() in family:
            found = [label for label in place if label.lower() in family]
            return found[0] if len(found) == 1 else ""
    return ""
