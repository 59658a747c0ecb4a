"""Validation of tables whose columns differ in type: words, categories, numbers, with gaps.

Models of numbers see one array; encoders and imputers see columns. A column is an array of one dimension, or, where its
library already keeps words as numbers into a list (pandas' categories, polars' and Arrow's strings), those numbers and that
list. Nothing is copied that need not be, and nothing is looked at twice.
"""
# ruff: noqa: SLF001  a door is a part of Estimator

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import _finite, _kernels, _tables, _validation
from qed.core._errors import InvalidData, InvalidDataType

if TYPE_CHECKING:
    from qed.core._params import Array


class Column(NamedTuple):
    """One column.

    Attributes
    ----------
    values : ndarray or None
        The entries: numbers, fixed-width words or objects. None when the column is kept as numbers into ``words``.
    codes : ndarray of int or None
        For each entry its place in ``words``; negative where it is missing.
    words : ndarray of object or None
        The list, in any order; not all of it need occur.
    missing : object
        What stands for a missing entry of a column kept as numbers: None or NaN.
    """

    values: Array | None
    codes: Array | None = None
    words: Array | None = None
    missing: Any = None

    @property
    def dense(self) -> Array:
        """The entries as an array, whatever the column is kept as."""
        if self.values is not None:
            return self.values
        assert self.words is not None  # noqa: S101  (one of the two forms)
        assert self.codes is not None  # noqa: S101
        entries = np.append(self.words.astype(object), [None])
        entries[-1] = self.missing
        dense: Array = entries[self.codes]
        return dense


class MixedTable(NamedTuple):
    """Columns of equal length, and their names if all are words."""

    columns: list[Column]
    names: Array | None
    n_rows: int
    whole: Array | None  # the array that the columns are cut from, where there is one


def fit_table(model: Any, X: Any, *, finite: bool = True, reset: bool = True) -> MixedTable:
    """Let the table of a fit in: parameters are validated, the columns learnt.

    Parameters
    ----------
    model : Estimator
        The model.
    X : object
        As passed to ``fit``.
    finite : bool
        Whether infinite numbers are rejected; NaN is rejected by models that do not declare it.
    reset : bool
        Whether the columns are learnt, rather than compared with those of an earlier fit.
    """
    model._validate_params()
    owner, traits = type(model).__name__, model._traits()
    table = read(X, owner)
    n_columns = len(table.columns)
    _validation._require_size((table.n_rows, n_columns), traits.min_samples, owner)
    if reset:
        _validation._learn_columns(model, n_columns, table.names)
    else:
        _validation._match_columns(model, owner, n_columns, table.names)
    if finite:
        _require_finite(table, owner, allow_nan=traits.allow_nan)
    return table


def new_table(model: Any, X: Any, *, finite: bool = True) -> MixedTable:
    """Let in what a fitted model is asked about.

    Parameters
    ----------
    model : Estimator
        A fitted model.
    X : object
        As passed to ``transform``.
    finite : bool
        Whether infinite numbers are rejected.
    """
    _validation.require_fitted(model)
    owner = type(model).__name__
    table = read(X, owner)
    _validation._match_columns(model, owner, len(table.columns), table.names)
    _validation._require_size((table.n_rows, len(table.columns)), 1, owner)
    if finite:
        _require_finite(table, owner, allow_nan=model._traits().allow_nan)
    return table


def read(X: Any, owner: str) -> MixedTable:
    """Read a table column by column.

    Parameters
    ----------
    X : object
        An array, a list of rows, or a frame.
    owner : str
        The name of the model, for messages.
    """
    if isinstance(X, MixedTable):  # rows of a source
        return X
    if _tables.is_sparse(X):
        raise InvalidDataType(
            f"Sparse data was passed for X, but dense data is required by {owner}. Use '.toarray()' to convert to a dense"
            " numpy array."
        )
    if not isinstance(X, np.ndarray | list | tuple):
        found = _from_frame(X)
        if found is not None:
            return found
    array = _as_array(X)
    if array.ndim != 2:
        raise InvalidData(_tables._wrong_dimension(array, owner))
    return MixedTable([Column(array[:, j]) for j in range(array.shape[1])], None, len(array), array)


def _as_array(X: Any) -> Array:
    from qed.core._arrays import as_array  # noqa: PLC0415

    array = as_array(X, "X")
    if array.dtype.kind == "c":
        raise InvalidData(f"Complex data not supported\nX is {array.dtype}.")
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):
        # A list of numbers and words was made all words; as objects each keeps its type.
        return np.asarray(X, dtype=object)
    return array


def _from_frame(X: Any) -> MixedTable | None:
    from qed.core import _frames  # noqa: PLC0415  (loads narwhals)

    frame = _frames._frame(X)
    if frame is None:
        return None
    nw = sys.modules["narwhals"]
    if isinstance(frame, nw.Series):
        raise InvalidData(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame containing a single row (i.e."
            " single sample) or a single column (i.e. single feature) instead."
        )
    columns = [as_column(series) for series in frame.iter_columns()]
    return MixedTable(columns, _frames.names_of(frame.columns), len(frame), None)


def as_column(series: Any) -> Column:  # noqa: PLR0911  one line per library and type
    """Return a column of a frame."""
    nw = sys.modules["narwhals"]
    dtype, native = series.dtype, series.to_native()
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        if series.implementation.is_polars():
            return _of_polars(native)
        if series.implementation.is_pyarrow():
            return _of_arrow(native)
        if series.implementation.is_pandas_like() and isinstance(dtype, nw.Categorical | nw.Enum):
            words = np.asarray(native.cat.categories)
            if words.dtype.kind in "OUST":
                return Column(None, np.asarray(native.cat.codes), words.astype(object), np.nan)
        if series.implementation.is_pandas() and isinstance(dtype, nw.String) and native.dtype != object:
            codes, words = native.factorize()
            return Column(None, codes, np.asarray(words, dtype=object), np.nan)
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return Column(_numbers(series))
    if series.implementation.is_pandas_like():
        return Column(np.asarray(native))
    return Column(
        np.asarray(series.to_list(), dtype=object) if isinstance(dtype, nw.Object) else np.asarray(series.to_numpy())
    )


def _numbers(series: Any) -> Array:
    nw = sys.modules["narwhals"]
    if bool(series.is_null().any()) and not series.dtype.is_float():
        return np.asarray(series.cast(nw.Float64).to_numpy())
    if series.implementation.is_pandas_like() and not isinstance(series.to_native().dtype, np.dtype):
        native = series.to_native()
        if series.dtype.is_float():
            return np.asarray(native.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(native.to_numpy())
    return np.asarray(series.to_numpy())


def _of_polars(native: Any) -> Column:
    polars = sys.modules["polars"]
    if native.dtype == polars.String and not native.null_count() and len(native):
        views = _short_words(native)
        if views is not None:
            codes, firsts = _kernels.number_words(views)
            return Column(None, codes, np.asarray(native.gather(firsts).to_list(), dtype=object))
    coded = native.cast(polars.Categorical) if native.dtype == polars.String else native
    places = coded.to_physical()
    if places.null_count():
        places = places.cast(polars.Int64).fill_null(-1)
    codes = places.to_numpy()
    n_words = int(codes.max()) + 1 if len(codes) else 0
    # Where each word stands, so that only those that occur become objects; a missing entry stands at the end.
    where = np.full(n_words + 1, -1, dtype=np.int64)
    where[codes] = np.arange(len(codes))
    used = np.flatnonzero(where[:n_words] >= 0)
    words = np.full(n_words, None, dtype=object)
    words[used] = native.gather(where[used]).cast(polars.String).to_list()
    return Column(None, codes, words)


def _short_words(native: Any) -> Array | None:
    """See words of at most twelve bytes as entries of fixed width, as polars keeps them; None for longer ones."""
    polars = sys.modules["polars"]
    try:
        arrow = native.to_arrow(compat_level=polars.CompatLevel.newest())
    except ImportError:  # polars hands its memory over through Arrow's own library
        return None
    if str(arrow.type) != "string_view":
        return None
    views = np.frombuffer(arrow.buffers()[1], "V16")[arrow.offset : arrow.offset + len(arrow)]
    lengths = np.frombuffer(arrow.buffers()[1], np.int32)[4 * arrow.offset :: 4][: len(arrow)]
    return views if len(views) == len(arrow) and lengths.max() <= 12 else None


def _of_arrow(native: Any) -> Column:
    pyarrow = sys.modules["pyarrow"]
    if not pyarrow.types.is_dictionary(native.type):
        native = native.dictionary_encode()
    native = native.unify_dictionaries() if hasattr(native, "unify_dictionaries") else native
    whole = native.combine_chunks() if hasattr(native, "combine_chunks") else native
    if isinstance(whole, pyarrow.ChunkedArray):
        whole = (
            whole.chunk(0) if whole.num_chunks else pyarrow.DictionaryArray.from_arrays([], pyarrow.array([], "string"))
        )
    words = np.asarray(whole.dictionary.to_pylist(), dtype=object)
    return Column(None, whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), words)


def _require_finite(table: MixedTable, owner: str, *, allow_nan: bool) -> None:
    names = None if table.names is None else list(table.names)
    if table.whole is not None:
        if table.whole.dtype.kind == "f":
            _finite.require(table.whole, "X", names, owner, allow_nan=allow_nan)
        elif table.whole.dtype.kind == "O" and not allow_nan:
            _refuse_missing(table, owner)
        return
    for j, column in enumerate(table.columns):
        if column.values is not None and column.values.dtype.kind == "f":
            _finite.require(
                column.values[:, np.newaxis], "X", None if names is None else [names[j]], owner, allow_nan=allow_nan
            )
    if not allow_nan:
        _refuse_missing(table, owner)


def _refuse_missing(table: MixedTable, owner: str) -> None:
    for j, column in enumerate(table.columns):
        bad = column.codes < 0 if column.codes is not None else _missing(column.values)
        if bad.any():
            place = f"column {j}" if table.names is None else f"column {table.names[j]!r}"
            raise InvalidData(
                f"Input X contains NaN.\n{owner} does not accept missing values: row {int(np.argmax(bad))}, {place}."
            )


def _missing(values: Any) -> Array:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), bool)
    return np.fromiter((one is None or one != one for one in values), bool, len(values))  # noqa: PLR0124  NaN
