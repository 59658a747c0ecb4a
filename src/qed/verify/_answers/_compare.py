"""What a model should answer, and how near its answers must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED, read_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Array = np.ndarray[Any, Any]
METHODS = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform")
AT_ONCE = 1 << 20  # numbers of a block of rows
FACTOR = 8  # of the rounding of a sum, for what comes after it


class Numbers(NamedTuple):
    """Numbers for each row, and how large the terms are that were added up to them: what rounding is relative to."""

    values: Array
    size: Any


class Labels(NamedTuple):
    """What speaks for each label, for each row; the answer is one for which most does."""

    scores: Array
    size: Any
    classes: Array


if TYPE_CHECKING:
    Rule = Callable[[Any, Any, Any], None]  # model, rows, what it answered
    Definition = Callable[[Any, Array], Numbers | Labels]  # model, a block of rows


def table_of(model: Any, X: Any) -> Any:
    """Read rows of numbers as the class takes them: an array or a sparse container."""
    rows, _ = read_numbers(model, X)
    return rows if isinstance(rows, np.ndarray) else rows.tocsr()


def blocks_of(rows: Any) -> Iterator[tuple[slice, Array]]:
    """Cut rows into blocks, dense and in double precision."""
    step = max(1, AT_ONCE // max(1, rows.shape[1]))
    for first in range(0, rows.shape[0], step):
        part = rows[first : first + step]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        yield slice(first, first + step), part.astype(np.float64)


def dense(answers: Any) -> Array:
    """Return answers as one array, from whatever container they came in."""
    if hasattr(answers, "toarray"):
        answers = answers.toarray()
    elif hasattr(answers, "to_numpy"):
        answers = answers.to_numpy()
    return np.asarray(answers)


def of_rows(method: str, define: Definition, *, in_single: bool = False) -> Rule:
    """Compare answers with a definition, block by block; ``in_single`` says that rows of float32 are added up in float32."""

    def rule(model: Any, X: Any, told: Any) -> None:
        rows = table_of(model, X)
        whole = told if hasattr(told, "tocsr") else dense(told)
        if whole.shape[0] != rows.shape[0]:
            refuse_answer(model, method)
        whole = whole.tocsr() if hasattr(whole, "tocsr") else whole
        is_single = whole.dtype == np.float32 or ((in_single or whole.dtype.kind != "f") and rows.dtype == np.float32)
        for some, block in blocks_of(rows):
            require(model, method, define(model, block), dense(whole[some]), terms=rows.shape[1], is_single=is_single)

    return rule


def defined(**definitions: Definition) -> dict[str, Rule]:
    """Return a rule for each method: compare block by block with a definition for rows of numbers."""
    return {method: of_rows(method, define) for method, define in definitions.items()}


def in_precision_of_rows(**definitions: Definition) -> dict[str, Rule]:
    """Return the same for models that add up columns in the precision of the rows."""
    return {method: of_rows(method, define, in_single=True) for method, define in definitions.items()}


def require(
    model: Any, method: str, own: Numbers | Labels, told: Array, *, terms: int = 1, is_single: bool = False
) -> None:
    """Refuse answers that are not within rounding of what they should be; of labels, those that others are ahead of."""
    unit = (2.0**-24 if is_single else 2.0**-53) * FACTOR * (terms + 8)
    if isinstance(own, Labels):
        if told.size != len(own.scores):
            refuse_answer(model, method)
        near = np.broadcast_to(unit * np.asarray(own.size, dtype=np.float64), own.scores.shape)
        chosen = told.reshape(-1, 1) == np.asarray(own.classes)
        ahead = np.max(own.scores - near, axis=1, keepdims=True)
        good = chosen.sum(axis=1) == 1
        good &= ~(chosen & (own.scores + near < ahead)).any(axis=1)
        if not good.all():
            refuse_answer(model, method)
        return
    values = own.values.astype(EXTENDED)
    if told.shape != values.shape or told.dtype.kind not in "biuf":
        refuse_answer(model, method)
    near = unit * np.asarray(own.size, dtype=EXTENDED) + np.finfo(np.float64).tiny
    with np.errstate(invalid="ignore"):
        same = (np.isnan(values) & np.isnan(told)) | (values == told) | (np.abs(values - told) <= near)
        # what leaves the range of the answers' type
        most = np.finfo(told.dtype if told.dtype.kind == "f" else np.float64).max
        same |= np.isinf(told) & (np.abs(values) + near >= most) & (np.sign(values) == np.sign(told))
    if not same.all():
        refuse_answer(model, method)


def softmax(scores: Array) -> Array:
    """Return shares of exponentials; of rows without any, equal ones."""
    top = scores.max(axis=1, keepdims=True)
    up = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return np.asarray(up / up.sum(axis=1, keepdims=True))


def sigmoid(t: Array) -> Array:
    """Return 1 / (1 + exp(-t)), without overflow."""
    small = np.exp(-np.abs(t))
    return np.asarray(np.where(t >= 0, 1, small) / (1 + small))


def both(chance: Array) -> Array:
    """Return shares of two labels from that of the second."""
    return np.column_stack([1 - chance, chance])
