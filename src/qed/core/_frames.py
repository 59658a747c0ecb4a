"""Tables with named columns, in and out: pandas, polars, Arrow and whatever else narwhals knows.

This file is loaded when something arrives that is neither an array, a list nor sparse; it loads narwhals,
and narwhals never loads a library of frames that the user has not loaded.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from qed.core._arrays import floats
from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter

if TYPE_CHECKING:
    from qed.core._params import Array


# Why a column of this type is no number, and what to do about it.
_ADVICE: dict[type[Any], str] = {
    nw.Categorical: "Encode the categories as numbers first, for example with one column each (OneHotEncoder).",
    nw.Enum: "Encode the categories as numbers first, for example with one column each (OneHotEncoder).",
    nw.String: "Convert it to numbers if it holds numbers, or encode its values (OneHotEncoder).",
    nw.Datetime: "Turn the dates into numbers first: days since a date, month, weekday, hour.",
    nw.Date: "Turn the dates into numbers first: days since a date, month, weekday.",
    nw.Time: "Turn the times into numbers first, such as seconds since midnight.",
    nw.Duration: "Turn the durations into numbers first, such as seconds.",
}
_LIBRARIES = ("pandas", "polars", "pyarrow")
_OTHERWISE = "Leave the column out, or turn it into numbers."


def _frame(X: Any) -> Any:
    """See ``X`` as a narwhals frame or series; None when narwhals does not know it."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    try:
        seen = nw.from_native(X, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidData(f"Two columns have the same name. {error}. Rename one of them.") from error
    if isinstance(seen, nw.LazyFrame):
        raise InvalidDataType(
            f"X is a {type(X).__name__}, a query that has not been run. Run it first: X.collect() in polars,"
            " X.to_arrow_table() in DuckDB."
        )
    return seen if isinstance(seen, nw.DataFrame | nw.Series) else None


def table(X: Any, what: str) -> tuple[Array, Array | None] | None:
    """Read a frame as a float array and its column names; None when ``X`` is no frame.

    Parameters
    ----------
    X : object
        Anything.
    what : str
        What to call it in messages.

    Returns
    -------
    (ndarray, ndarray or None) or None
        Float columns that share one block of memory are not copied.
    """
    frame = _frame(X)
    if frame is None:
        return None
    if isinstance(frame, nw.Series):
        raise InvalidData(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame containing a single"
            " row (i.e. single sample) or a single column (i.e. single feature) instead."
        )
    for name, dtype in frame.schema.items():
        _require_number(name, dtype, what)
    return _numbers(frame, what), names_of(frame.columns)


def _require_number(name: Any, dtype: Any, what: str) -> None:
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean | nw.Object | nw.Unknown):
        return
    advice = _ADVICE.get(type(dtype), _OTHERWISE)
    raise InvalidData(f"Column {name!r} of {what} is {type(dtype).__name__}; numbers are needed. {advice}")


def _numbers(frame: Any, what: str) -> Array:
    dtypes = list(frame.schema.values())
    objects = [isinstance(dtype, nw.Object | nw.Unknown) for dtype in dtypes]
    single = bool(dtypes) and all(isinstance(dtype, nw.Float32) for dtype in dtypes)
    dtype = np.dtype(np.float32 if single else np.float64)
    native = frame.to_native()
    if frame.implementation.is_pandas_like() and not any(objects):
        # One block is returned as a view; NA of the nullable types becomes NaN.
        array: Array = native.to_numpy(dtype=dtype, na_value=np.nan)
        return array
    if frame.implementation.is_polars() and len(set(dtypes)) == 1 and dtypes[0].is_float():
        whole: Array = native.to_numpy()
        return whole
    array = np.empty((len(frame), len(dtypes)), dtype=dtype, order="F")
    for j, series in enumerate(frame.iter_columns()):
        if objects[j]:  # it may hold numbers; converting it decides, and names what does not
            array[:, j] = floats(series.to_numpy(), f"column {frame.columns[j]!r} of {what}")
        else:
            array[:, j] = series.cast(nw.Float32 if single else nw.Float64).to_numpy()
    return array


def names_of(columns: Any) -> Array | None:
    """Take column names as scikit-learn does: all of them strings, or none at all."""
    kinds = sorted({type(name).__qualname__ for name in columns})
    if len(kinds) > 1 and "str" in kinds:
        raise InvalidDataType(
            "Feature names are only supported if all input features have string names, but your input has"
            f" {kinds} as feature name / column name types. If you want feature names to be stored and"
            " validated, you must convert them all to strings, by using X.columns = X.columns.astype(str) for"
            " example. Otherwise you can remove feature / column names from your input data, or convert them"
            " all to a non-string data type."
        )
    return np.asarray(list(columns), dtype=object) if kinds == ["str"] else None


def column(values: Any, what: str) -> Array | None:
    """Read a series, or a frame used as a target, as an array; None when it is neither."""
    frame = _frame(values)
    if frame is None:
        return None
    if isinstance(frame, nw.Series):
        missing = int(frame.is_null().sum())
        if missing and not frame.dtype.is_float():
            row = int(np.flatnonzero(frame.is_null().to_numpy())[0])
            raise InvalidData(
                f"Input {what} contains NaN. Row {row} is missing, and {missing} of {len(frame)} in all."
                " Drop these rows, or fill the values in first."
            )
        array: Array = np.asarray(frame.to_numpy())
        return array
    if all(dtype.is_numeric() or isinstance(dtype, nw.Boolean) for dtype in frame.schema.values()):
        return _numbers(frame, what)
    values = frame.to_numpy()
    return np.asarray(values)


def in_container(array: Array, names: Any, like: Any, kind: str) -> Any:
    """Put a transformed array into a frame of the kind that ``set_output`` asked for.

    Parameters
    ----------
    array : ndarray of shape (n, p)
        The result; its memory is shared with the frame where the library allows it.
    names : ndarray of str
        The names of the columns.
    like : object
        The input of the transformation: a pandas result takes over its index.
    kind : {"pandas", "polars"}
        The library.
    """
    from importlib import import_module  # noqa: PLC0415

    try:
        library = import_module(kind)
    except ImportError as error:
        raise ImportError(f"set_output(transform={kind!r}) needs {kind}, which is not installed.") from error
    if kind == "polars":
        return library.DataFrame(array, schema=list(names), orient="row")
    index = like.index if isinstance(like, library.DataFrame | library.Series) else None
    return library.DataFrame(array, index=index, columns=names, copy=False)


def framed(columns: dict[str, Any], kind: str | None) -> Any:
    """Put named columns into a frame.

    Parameters
    ----------
    columns : dict of str to sequence
        The columns, in order.
    kind : {"pandas", "polars", "pyarrow"} or None
        The library; None means the first of them that is loaded, or else the first that is installed.
    """
    from importlib.util import find_spec  # noqa: PLC0415

    if kind is not None and kind not in _LIBRARIES:
        raise InvalidParameter(f"A frame is made by one of {', '.join(_LIBRARIES)}, or None for any; got {kind!r}.")
    wanted = _LIBRARIES if kind is None else (kind,)
    there = [name for name in wanted if name in sys.modules] or [name for name in wanted if find_spec(name)]
    if not there:
        raise ImportError(f"A frame needs {' or '.join(wanted)}, which is not installed. Install one of them.")
    backend: Any = there[0]
    return nw.from_dict(columns, backend=backend).to_native()
