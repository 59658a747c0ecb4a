"""What a fitted transformer hands on to the steps behind it.

It is what ``transform`` should answer by definition, compared with what it does answer. Where a fit hands on something else, which
is so for encoders that code each row by the other folds, the codes are computed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import Estimator
from qed.core._mixed import read as read_columns
from qed.core._records import public_name
from qed.core._targets import as_target
from qed.verify._answers import agreed
from qed.verify._blocks import picked, side_by_side
from qed.verify._part import folds_of, is_nothing
from qed.verify._refusals import refuse_changed
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]


def handed_on(part: Any, X: Any, y: Any) -> Any:
    """Return the rows that a fit of a verified transformer hands on."""
    if not _is_cross_fitted(part):
        return agreed(part, "transform", X)
    name, state = public_name(type(part)), vars(part)
    if name == "qed.preprocessing.TargetEncoder":
        rows = _cross_fitted_codes(part, X, y)
    elif name == "qed.compose.Pipeline":
        *first, last = [step for _, step in state["steps_"] if not is_nothing(step)]
        for step in first:
            X = handed_on(step, X, y)
        return agreed(last, "transform", X)
    else:
        triples = [(one[1], one[2] if len(one) == 3 else None) for one in state["transformers_"]]
        rows = side_by_side(part, [block_of(step, X, y, columns) for step, columns in triples])
    container = state.get("_output", "default")
    if container in (None, "default"):
        return rows
    from qed.core import _frames  # noqa: PLC0415

    return _frames.in_container(rows, part.get_feature_names_out(), X, container)


def _is_cross_fitted(part: Any) -> bool:
    """Say whether a fit hands on other rows than ``transform`` gives."""
    name, state = public_name(type(part)), vars(part)
    if name == "qed.preprocessing.TargetEncoder":
        return True
    inside = state.get("steps_", [])[:-1] if name == "qed.compose.Pipeline" else state.get("transformers_", [])
    known = ("qed.compose.Pipeline", "qed.compose.ColumnTransformer", "qed.compose.FeatureUnion")
    return name in known and any(isinstance(one[1], Estimator) and _is_cross_fitted(one[1]) for one in inside)


def block_of(part: Any, X: Any, y: Any, columns: Any) -> Any:
    rows = X if columns is None else picked(X, columns)
    if isinstance(part, str):
        return None if part == "drop" else rows
    return handed_on(part, rows, y)


def _cross_fitted_codes(encoder: Any, X: Any, y: Any) -> Array:
    """Code each row by the rows of the other folds, from the definition."""
    fold = folds_of(encoder, len(as_target(y, "y")), encoder.cv)
    target = as_target(y, "y").reshape(-1)
    if encoder.target_type_ == "continuous":
        columns = [target.astype(EXTENDED)]
    else:
        labels = encoder.classes_[1:2] if encoder.target_type_ == "binary" else encoder.classes_
        columns = [(target == label).astype(EXTENDED) for label in labels.tolist()]
        columns = columns or [np.zeros(len(target), EXTENDED)]
    blocks = []
    for column, known in zip(read_columns(X, "qed.verify").columns, encoder.categories_, strict=True):
        place = _places(column.dense.tolist(), known.tolist())
        for numbers in columns:
            out = np.empty(len(numbers))
            for number in np.unique(fold):
                here, others = fold == number, fold != number
                out[here] = _codes(place, numbers, others, len(known), encoder.smooth)[place[here]]
            blocks.append(out)
    return _to_the_last_bit(encoder, np.column_stack(blocks), X, y)


def _to_the_last_bit(encoder: Any, codes: Array, X: Any, y: Any) -> Array:
    """Return the codes as the encoder rounds them, once they are those computed here: steps behind it may look at every bit."""
    own = np.asarray(encoder._coded_by_folds(X, y))  # noqa: SLF001
    size = np.max(np.abs(codes), initial=0.0)
    if own.shape != codes.shape or not np.all(np.abs(own - codes) <= 1e-12 * size):
        refuse_changed(encoder, "codes the rows of its fit in another way than its folds and targets give")
    return own


def _places(entries: list[Any], known: list[Any]) -> Array:
    """Return the number of each entry among the categories; the last one for entries that are none."""

    def key(value: Any) -> Any:
        return "a gap" if value is None or (isinstance(value, float) and value != value) else (value,)  # noqa: PLR0124

    number = {key(value): at for at, value in enumerate(known)}
    return np.array([number.get(key(value), len(known)) for value in entries], dtype=np.intp)


def _codes(place: Array, numbers: Array, used: Array, count: int, smooth: Any) -> Array:
    """Return the code of each category from some of the rows, and the mean of these rows for all others."""
    some = numbers[used]
    mean = some.mean() if len(some) else EXTENDED(numbers.mean())
    variance = np.mean((some - mean) ** 2) if len(some) else EXTENDED(0)
    codes = np.full(count + 1, mean, EXTENDED)
    for category in range(count):
        own = numbers[used & (place == category)]
        if not len(own):
            continue
        own_mean = own.mean()
        if isinstance(smooth, str):
            prior, whole = variance * len(own), variance * len(own) + np.mean((own - own_mean) ** 2)
            share = prior / whole if whole > 0 else EXTENDED(0)
        else:
            share = EXTENDED(len(own)) / (len(own) + EXTENDED(smooth))
        codes[category] = share * own_mean + (1 - share) * mean
    return np.asarray(codes.astype(np.float64))
