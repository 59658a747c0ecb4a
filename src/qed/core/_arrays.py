"""Seeing an object as an array of floats that native code can read in place, or saying why it is none."""

from __future__ import annotations

import sys
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidDataType

if TYPE_CHECKING:
    from qed.core._params import Array


_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
# float16 has no arithmetic of its own and fits in float32; everything else that is a number goes to float64.
_TARGET = {np.dtype(np.float16): _FLOAT32, _FLOAT32: _FLOAT32}


def as_array(X: Any, what: str) -> Array:
    """See an array, a list or any other array-like as an ndarray."""
    if isinstance(X, np.matrix):
        raise InvalidDataType(
            "np.matrix is not supported. Please convert to a numpy array with np.asarray. For more information"
            " see: https://numpy.org/doc/stable/reference/generated/numpy.matrix.html"
        )
    masked = sys.modules.get("numpy.ma")  # whoever has a masked array has loaded it; naming it would load it for all
    if masked is not None and isinstance(X, masked.MaskedArray) and masked.is_masked(X):
        raise InvalidData(f"{what} is a masked array with masked entries. Fill them: {what}.filled(value).")
    if isinstance(X, str | bytes | PathLike):
        raise InvalidDataType(f"{what} is a {type(X).__name__}, {X!r:.60}. To read files, use qed.scan(path, ...).")
    try:
        array = np.asarray(X)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InvalidData(f"{what} is not a table of numbers: {reason}. Every row needs the same length.") from error
    except (TypeError, RuntimeError, BufferError) as error:  # what libraries raise for memory of other devices
        raise InvalidDataType(
            f"{what} is a {type(X).__name__} that NumPy cannot read: {error}. Copy it to main memory first."
        ) from error
    if array.ndim == 0 and array.dtype == object:
        try:
            array = np.from_dlpack(X)
        except (AttributeError, TypeError, RuntimeError, BufferError):
            raise InvalidDataType(
                f"{what} is a {type(X).__name__}, which does not say how to read it as an array. Pass an array,"
                " a list of rows, a pandas, polars or Arrow table, or a SciPy sparse array."
            ) from None
    return array


def floats(array: Array, what: str) -> Array:
    """Give an array in float32 or float64, native and aligned; the array itself when it is that already."""
    dtype = array.dtype
    if dtype in (_FLOAT64, _FLOAT32) and array.flags.aligned and _whole_strides(array):
        return array
    require_kind(array, what)
    target = _TARGET.get(dtype.newbyteorder("="), _FLOAT64)
    if dtype.kind == "O":
        return _from_objects(array, what)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, and is reported as such
        return array.astype(target, order="K", copy=True)


def _whole_strides(array: Array) -> bool:
    return all(stride % array.itemsize == 0 for stride in array.strides)


def require_kind(array: Array, what: str) -> None:
    """Refuse what is no number, in words."""
    kind = array.dtype.kind
    if kind in "fiubO":
        return
    if kind == "c":
        advice = "Pass the real and imaginary parts as columns." if what == "X" else "Pass real numbers."
        raise InvalidData(f"Complex data not supported\n{what} is {array.dtype}. {advice}")
    if kind in "mM":
        raise InvalidData(f"{what} holds dates or durations ({array.dtype}). Turn them into numbers first.")
    if kind in "USTa":
        raise InvalidData(
            f"{what} holds strings ({array.dtype}), and dtype='numeric' is not compatible with arrays of"
            f" bytes/strings. Convert your data to numeric values explicitly instead: {what}.astype(float) if they"
            " are numbers, or encode them (OneHotEncoder)."
        )
    raise InvalidData(f"{what} has dtype {array.dtype}, which is not a number. Pass one column per field.")


def _from_objects(array: Array, what: str) -> Array:
    try:
        return array.astype(_FLOAT64)
    except (TypeError, ValueError, OverflowError) as error:
        place, value = _first_not_a_number(array)
        kind = InvalidDataType if isinstance(error, TypeError) else InvalidData
        prefix = "Complex data not supported\n" if isinstance(value, complex) else ""
        raise kind(
            f"{prefix}{error}. {what} holds {type(value).__name__} {value!r:.60} at {place}; numbers are needed."
        ) from error


def _first_not_a_number(array: Array) -> tuple[str, Any]:
    for index, value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            if value is not None:
                row = f"row {index[0]}"
                return (f"{row}, column {index[1]}" if len(index) > 1 else row), value
    return "an unknown place", None
