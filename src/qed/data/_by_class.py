"""Rows with labels, folded into a statistic by class: from the input of a classifier to what it learns from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qed.core._errors import ForgetError, InvalidData
from qed.core._validation import is_source, stream_data
from qed.data._fold import fold
from qed.data._sources import ArraySource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.core._validation import FitData
    from qed.data._chunk import Chunk


S = TypeVar("S")


def of_classes(model: Any, data: FitData, of: Callable[..., S]) -> S:
    """Fold the validated rows of a classifier; ``of(chunk, n_classes)`` is given class numbers as targets."""
    if is_source(data.X):
        counted = partial(_of_labels, of=of, classes=np.asarray(data.classes, dtype=np.float64))
        return fold(data.X, counted, name=type(model).__name__)  # type: ignore[type-var]
    source = _coded(data)
    try:
        return fold(source, partial(of, n_classes=len(data.classes)), name=type(model).__name__)  # type: ignore[type-var]
    except InvalidData:
        data.raise_if_not_finite()  # says so in the words of the door
        raise


def labelled_chunks(data: FitData) -> Iterator[Chunk]:
    """Go through validated rows again, class numbers as their targets."""
    if is_source(data.X):
        classes = np.asarray(data.classes, dtype=np.float64)
        return (_of_labels(chunk, lambda coded, _: coded, classes) for chunk in data.X.chunks())
    return _coded(data).chunks()


def _coded(data: FitData) -> ArraySource:
    return ArraySource(data.X, data.y, data.weight, names=data.names)


def _of_labels(chunk: Chunk, of: Callable[..., S], classes: Any) -> S:
    codes = np.searchsorted(classes, chunk.y[:, :1]) if chunk.y is not None else None
    return of(replace(chunk, y=None if codes is None else codes.astype(np.float64)), len(classes))


def all_rows(model: Any, X: Any, y: Any, sample_weight: Any, of: Callable[..., S]) -> tuple[S, Any]:
    """Return the statistic of the rows of a ``fit``, and the labels."""
    data = model._fit_data(X, y, sample_weight, finite=False)  # noqa: SLF001
    return of_classes(model, data, of), data.classes


def more_rows(model: Any, X: Any, y: Any, sample_weight: Any, classes: Any, of: Callable[..., S]) -> Any:
    """Return the statistic of all rows so far, those of this ``partial_fit`` included; the model learns its labels."""
    data, first = stream_data(model, X, y, sample_weight, classes, "moments_")
    new: Any = of_classes(model, data, of)
    return new if first else model.moments_.merge(new)


def fewer_rows(model: Any, X: Any, y: Any, sample_weight: Any, of: Callable[..., S]) -> Any:
    """Return the statistic of the rows that remain when these are taken out."""
    model._check_is_fitted()  # noqa: SLF001
    data, _ = stream_data(model, X, y, sample_weight, None, "moments_")
    left = model.moments_.subtract(of_classes(model, data, of))
    if not left.rows.any():
        name = type(model).__name__
        raise ForgetError(
            f"These are all the rows that {name} has learnt. A model of no rows is a new model: make one."
        )
    return left
