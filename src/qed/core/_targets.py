"""Reading y and sample weights."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _finite
from qed.core._arrays import as_array, floats, require_kind
from qed.core._errors import DataConversionWarning, InvalidData
from qed.core._tables import is_sparse

if TYPE_CHECKING:
    from qed.core._params import Array
    from qed.core._traits import Traits


def as_target(values: Any, what: str) -> Array:
    """See a target or a weight as an array of any dtype."""
    if type(values) is np.ndarray:
        return values
    if is_sparse(values):
        raise InvalidData(f"Sparse data was passed for {what}, but dense data is required. Use '.toarray()'.")
    if not isinstance(values, np.ndarray | list | tuple):
        from qed.core import _frames  # noqa: PLC0415  (loads narwhals)

        array = _frames.column(values, what)
        if array is not None:
            return array
    return as_array(values, what)


def read(y: Any, n_rows: int, traits: Traits, owner: str) -> tuple[Array, Any]:
    """Read a target: floats for regressors; for classifiers codes, and the labels they stand for, a list for several columns."""
    array = _shaped(as_target(y, "y"), n_rows, traits)
    if traits.target == "number":
        return _as_numbers(array, traits, owner), None
    if array.ndim == 2 and traits.label_columns:
        columns = [encode(column) for column in array.T]
        return np.stack([codes for _, codes in columns], axis=1), [classes for classes, _ in columns]
    if array.ndim == 2:
        return _indicators(array, traits)
    classes, codes = encode(array)
    if not traits.multi_class and len(classes) > 2:
        raise InvalidData(
            f"Only binary classification is supported. The type of the target is multiclass: {owner} got"
            f" {len(classes)} classes."
        )
    return codes, classes


def read_numbers(y: Any, n_rows: int, traits: Traits, owner: str) -> Array:
    """Read a target of numbers, as a regressor's ``score`` does."""
    return _as_numbers(_shaped(as_target(y, "y"), n_rows, traits, warn=False), traits, owner)


def labels(y: Any, n_rows: int, traits: Traits) -> Array:
    """Read a target of labels as they are, as a classifier's ``score`` does."""
    return _shaped(as_target(y, "y"), n_rows, traits, warn=False)


def _shaped(array: Array, n_rows: int, traits: Traits, *, warn: bool = True) -> Array:
    if array.ndim == 2 and array.shape[1] == 1 and (traits.label_columns or not traits.multi_output):
        if warn and not traits.multi_output:
            message = (
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to"
                " (n_samples, ), for example using ravel()."
            )
            warnings.warn(DataConversionWarning(message), stacklevel=6)
        array = array.reshape(-1)
    if array.ndim not in (1, 2) or (array.ndim == 2 and not (traits.multi_output or traits.multi_label)):
        accepted = (
            "one number for each row, or one column a target" if traits.multi_output else "one number for each row"
        )
        raise InvalidData(f"y should be a 1d array, got an array of shape {array.shape} instead. Pass {accepted}.")
    if array.ndim == 2 and array.shape[1] == 0:
        raise InvalidData(
            f"y has no target: its shape is {array.shape}. Pass one number for each row, or one column a target."
        )
    if len(array) != n_rows:
        raise InvalidData(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(array)]}. X has {n_rows} rows"
            f" and y has {len(array)}; they must be of the same rows."
        )
    return array


def _indicators(array: Array, traits: Traits) -> tuple[Array, Array]:
    """Read a table of zeros and ones that says which of several labels each row has; labels are called by their columns."""
    if not traits.multi_label:
        raise InvalidData(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    numbers = floats(array, "y") if array.dtype.kind in "biuf" else None
    if numbers is None or not ((numbers == 0) | (numbers == 1)).all():
        raise InvalidData(
            f"Unknown label type: y has {array.shape[1]} columns that are not zeros and ones. Multilabel targets need"
            " such columns; a multiclass target is a single column."
        )
    return numbers.astype(np.float64), np.arange(array.shape[1])


def _as_numbers(array: Array, traits: Traits, owner: str) -> Array:
    if array.dtype.kind in "UST":
        raise InvalidData(
            f"y holds strings ({array.dtype}), and {owner} predicts numbers. Convert y to numbers, or use a classifier"
            " if they are classes."
        )
    array = floats(array, "y")
    _finite.require(array, "y", None, owner)
    if traits.positive_target and array.size and array.min() < 0:
        raise InvalidData(f"{owner} needs a target y >= 0, got {array.min():g}.")
    return array


def encode(labels: Array) -> tuple[Array, Array]:
    """Return the sorted labels that occur, and for each entry the index of its label.

    Integers of a small range, also those written as floats, are counted rather than sorted.
    """
    if labels.dtype.kind in "cmMV":
        require_kind(labels, "y")
    kind = labels.dtype.kind
    if kind == "f":
        _finite.require(floats(labels, "y"), "y", None, "the classifier")
        if (labels != np.floor(labels)).any():
            raise InvalidData(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete"
                " classes on a regression target with continuous values."
            )
        if labels.size and np.abs(labels).max() <= 4 * labels.size:
            classes, codes = encode(labels.astype(np.int64))
            return classes.astype(labels.dtype), codes
    if kind in "iu" and labels.size and int(labels.max()) - int(labels.min()) <= 4 * labels.size:
        wide = np.dtype(np.int64 if kind == "i" else np.uint64)
        low = labels.min().astype(wide)
        offsets = labels.astype(wide, copy=False)
        offsets = (offsets - low if low != 0 else offsets).astype(np.intp, copy=False)
        seen = np.bincount(offsets) > 0
        classes = np.flatnonzero(seen).astype(wide) + low
        if not seen.all():
            offsets = (np.cumsum(seen) - 1)[offsets]
        return classes.astype(labels.dtype), offsets.copy() if offsets is labels else offsets
    if kind == "O":
        _require_labels(labels)
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels.flat})
        raise InvalidData(
            f"Unknown label type: y mixes {' and '.join(kinds)}, which have no common order. Convert the labels to one"
            " type, such as str."
        ) from error
    return classes, codes.reshape(labels.shape)


def _require_labels(labels: Array) -> None:
    for row, label in enumerate(labels.flat):
        if label is None or (isinstance(label, float) and math.isnan(label)):
            raise InvalidData(f"Input y contains NaN. The label in row {row} is {label!r}. Drop such rows first.")
        if isinstance(label, complex):
            raise InvalidData("Complex data not supported\ny holds complex numbers. Labels are integers or strings.")


def weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Read sample weights as float64, or None when every row counts once."""
    if sample_weight is None:
        return None
    what = "sample_weight"
    if isinstance(sample_weight, Real) and not isinstance(sample_weight, bool):
        array = np.full(n_rows, float(sample_weight))
    else:
        array = as_target(sample_weight, what)
    if array.ndim != 1:
        raise InvalidData(
            f"Sample weights must be 1D array or scalar, got {array.ndim}D array of shape {array.shape}."
            " Pass one weight for each row of X."
        )
    if len(array) != n_rows:
        raise InvalidData(
            f"sample_weight.shape == {array.shape}, expected {(n_rows,)}! Pass one weight for each row of X."
        )
    if array.dtype.kind in "UST":
        raise InvalidData(f"sample_weight holds strings ({array.dtype}); pass one number for each row.")
    array = np.require(floats(array, what), dtype=np.float64, requirements=["C", "A"])
    least, most = array.min(), array.max()
    if not 0 <= least <= most < math.inf:  # NaN makes both ends NaN
        _finite.require(array, what, None, "")
        raise InvalidData(
            f"Negative values in data passed to `sample_weight`: {least:g} in row {int(array.argmin())}. A weight says"
            " how often a row counts, so it is >= 0."
        )
    if most == 0:
        raise InvalidData(
            "Sample weights must contain at least one non-zero number. All of them are zero, so no row counts. Give one row a"
            " positive weight, or leave the weights out."
        )
    return array
