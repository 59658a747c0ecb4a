"""Validation of truth and predictions: what a score may be computed from, and what raises which error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _finite
from qed.core._arrays import floats
from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter
from qed.core._tables import is_sparse
from qed.core._targets import as_target, weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qed.core._params import Array

INDICATOR = "multilabel-indicator"


def column(values: Any, what: str) -> Array:
    """Read one value a row, of any kind; a table of a single column is read as that column."""
    array = as_target(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise InvalidData(
            f"{what} should be a 1d array, got an array of shape {array.shape} instead. Pass one value for each row."
        )
    return array


def numbers(values: Any, what: str, *, ndim: int = 1, whole: bool = False) -> Array:
    """Read numbers in float32 or float64, one a row or (``ndim=2``) several; NaN is noticed by whoever adds them up.

    Whoever turns rows into float64 block by block takes integers as they are (``whole``), and saves a copy.
    """
    array = as_target(values, what)
    if array.ndim == 2 and array.shape[1] == 1 and ndim == 1:
        array = array.reshape(-1)
    if array.ndim == 0 or array.ndim > max(ndim, 1):
        accepted = "one number for each row" + (", or one column an output" if ndim == 2 else "")
        raise InvalidData(f"{what} has shape {array.shape}. Pass {accepted}.")
    if not (whole and array.dtype.kind in "iu" and array.flags.aligned and array.dtype.isnative):
        array = floats(array, what)
    if not array.size:
        raise InvalidData(f"{what} is empty: its shape is {array.shape}. A score needs at least one row.")
    return array


def finite(array: Array, what: str) -> Array:
    """Return the array, or name the first of its entries that is NaN or infinite."""
    if array.dtype.kind == "f":
        _finite.require(array, what, None, "The score")
    return array


def same_length(**named: Any) -> None:
    """Refuse columns of different lengths."""
    lengths = {name: len(values) for name, values in named.items() if values is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length} rows" for name, length in lengths.items())
        raise InvalidData(
            f"Found input variables with inconsistent numbers of samples: {list(lengths.values())}. {listed}; they must"
            " be of the same rows."
        )


def row_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Read sample weights as float64, or None when every row counts once."""
    return weights(sample_weight, n_rows)


def labels_of(values: Any, what: str) -> tuple[Array, str]:
    """Read labels, and say what they are: "labels" one a row, or an indicator of several a row.

    Integral floats are labels; other floats are rejected. Objects must be words, or convert to labels.
    """
    if is_sparse(values):
        return np.asarray(values.toarray()), INDICATOR
    array = as_target(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim not in (1, 2):
        raise InvalidData(f"{what} has {array.ndim} dimensions. Pass one label a row, or one column a label.")
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    kind = array.dtype.kind
    if kind == "f":
        if not (np.floor(array) == array).all():
            finite(floats(array, what), what)
            raise InvalidData(
                f"continuous is not supported: {what} holds numbers such as {_first_fraction(array)!r}, which are no"
                " labels. Pass predicted labels (predict), not scores or probabilities."
            )
        finite(floats(array, what), what)
    elif kind in "Sa":
        raise InvalidDataType(f"{what} holds bytes. Support for labels as bytes is not there; use {what}.astype(str).")
    elif kind not in "iubUT":
        raise InvalidData(f"unknown is not supported: {what} is {array.dtype}. Labels are integers, booleans or words.")
    if array.ndim == 1:
        return array, "labels"
    distinct = np.unique(array)
    if len(distinct) > 2 or kind in "UT":
        raise InvalidData(
            f"multiclass-multioutput is not supported: {what} has shape {array.shape} and more than two values. Score"
            " each column by itself."
        )
    return array, INDICATOR


def label_pair(y_true: Any, y_pred: Any, names: tuple[str, str] = ("y_true", "y_pred")) -> tuple[Array, Array, str]:
    """Read true and predicted labels of the same rows and the same kind."""
    truth, kind = labels_of(y_true, names[0])
    guess, other = labels_of(y_pred, names[1])
    same_length(**{names[0]: truth, names[1]: guess})
    if not truth.size:
        raise InvalidData("Found empty input array: a score needs at least one row.")
    if kind != other:
        raise InvalidData(
            f"Classification metrics can't handle a mix of {kind} and {other} targets: {names[0]} has shape"
            f" {truth.shape} and {names[1]} has {guess.shape}."
        )
    words = [array.dtype.kind in "OUT" for array in (truth, guess)]
    if words[0] != words[1]:
        raise InvalidData(
            f"Mix of label input types (string and number): {names[0]} is {truth.dtype} and {names[1]} is {guess.dtype}."
            " Convert one of them."
        )
    if kind == INDICATOR and truth.shape != guess.shape:
        raise InvalidData(
            f"Multi-label binary indicator input with different numbers of labels: shapes {truth.shape}, {guess.shape}."
        )
    return truth, guess, kind


def _from_objects(array: Array, what: str) -> Array:
    kinds = {type(label) for label in array.flat}
    if all(issubclass(kind, str) for kind in kinds):
        return array.astype(str)
    for row, label in enumerate(array.flat):
        if label is None or (isinstance(label, float) and math.isnan(label)):
            raise InvalidData(f"Input {what} contains NaN. The label in row {row} is {label!r}. Drop such rows first.")
    if all(issubclass(kind, bool | int | np.integer | np.bool_) for kind in kinds):
        return np.asarray(array.tolist())
    listed = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidData(
        f"unknown is not supported: {what} holds objects of type {listed}. Labels are integers, booleans or words, all"
        " of one kind."
    )


def _first_fraction(array: Array) -> float:
    return float(array.flat[int(np.argmax((np.floor(array) != array).ravel()))])


def one_of(name: str, value: Any, accepted: Iterable[Any]) -> None:
    """Refuse an option that is not among the accepted ones."""
    accepted = list(accepted)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in accepted):
        listed = ", ".join(map(repr, accepted))
        raise InvalidParameter(f"{name} must be one of {listed}, got {value!r}.")
