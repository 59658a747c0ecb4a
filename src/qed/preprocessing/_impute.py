"""Gaps filled, and gaps marked."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, InvalidData, InvalidDataType, InvalidParameter, Transformer, fitted, param
from qed.core._arrays import floats
from qed.core._mixed import Column, MixedTable, fit_table, new_table
from qed.core._params import AnyFunction, needed_with
from qed.core._roles import _input_names
from qed.core._shared_params import COPY
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.data import ColumnMoments, fold
from qed.data._column_counts import ColumnCounts, Limit
from qed.preprocessing._categories import is_nan, numbered
from qed.preprocessing._columns import looked_at, require_rows
from qed.preprocessing._quantiles import source_percentiles

Array = np.ndarray[Any, Any]

if TYPE_CHECKING:
    from collections.abc import Callable


def _read(model: Any, X: Any, *, first: bool) -> Any:
    """Let a table in as numbers, as a sparse container, or as objects where it holds words.

    Whole numbers stay whole where nothing but values that occur, or a constant, is put in.
    """
    if is_sparse(X):
        return model._fit_data(X, finite=False, reset=first).X if first else model._new_data(X, finite=False)  # noqa: SLF001
    gap = model.missing_values
    table: MixedTable = fit_table(model, X, finite=False) if first else new_table(model, X, finite=False)
    whole_numbers = getattr(model, "strategy", None) in ("most_frequent", "constant")
    if table.whole is not None and table.whole.dtype.kind in "fiub":
        stays = table.whole.dtype.kind == "f" or (whole_numbers and table.whole.dtype.kind in "iu")
        array = table.whole if stays else floats(table.whole, "X")
    elif table.whole is not None and table.whole.dtype.kind == "O":
        array = _numbers_if_all(table.whole)
    else:
        array = _joined(table, whole_numbers=whole_numbers)
    if array.dtype.kind == "f":
        _refuse_infinite(array, type(model).__name__, allow_nan=is_nan(gap) or gap is None)
        if gap is None:
            return array
    return array


def _joined(table: MixedTable, *, whole_numbers: bool) -> Array:
    dense = [column.dense for column in table.columns]
    if whole_numbers and all(column.dtype.kind in "iu" for column in dense):
        out = np.empty((table.n_rows, len(dense)), np.result_type(*dense), order="F")
    elif all(column.dtype.kind in "fiub" for column in dense):
        single = all(column.dtype == np.float32 for column in dense)
        out = np.empty((table.n_rows, len(dense)), np.float32 if single else np.float64, order="F")
    else:
        out = np.empty((table.n_rows, len(dense)), object)
    for j, column in enumerate(dense):
        out[:, j] = column
    return out


def _numbers_if_all(array: Array) -> Array:
    """Turn objects that are all numbers (or gaps) into floats; leave words alone."""
    if any(isinstance(one, str | bytes) for one in array.flat):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def _refuse_infinite(array: Array, owner: str, *, allow_nan: bool) -> None:
    from qed.core._finite import require  # noqa: PLC0415

    require(array, "X", None, owner, allow_nan=allow_nan)


def gaps(array: Any, missing: Any) -> Array:
    """Return where a table has the value that stands for a gap."""
    if is_nan(missing) or (missing is None and array.dtype.kind == "f"):
        if array.dtype.kind == "f":
            return np.asarray(np.isnan(array))
        return np.array([is_nan(one) or _is_pandas_gap(one) for one in array.flat], dtype=bool).reshape(array.shape)
    if missing is None or _is_pandas_gap(missing):
        return np.array([one is missing for one in array.flat], dtype=bool).reshape(array.shape)
    return np.asarray(array == missing)


def _is_pandas_gap(one: Any) -> bool:
    return type(one).__name__ == "NAType"


def _why_no_gap(value: Any) -> str:
    return "" if value is None or np.isscalar(value) else "should be a number, a word or None"


def beside(filled: Any, marks: Any) -> Any:
    """Return a filled table with the marks of its gaps beside it."""
    if is_sparse(filled):
        from scipy import sparse  # noqa: PLC0415

        return sparse.hstack([filled, marks], format=filled.format)
    marks = marks.toarray() if is_sparse(marks) else np.asarray(marks)
    return np.hstack([filled, marks.astype(filled.dtype)])


def names_with_marks(model: Any, input_features: Any) -> Any:
    """Name the columns that a model keeps, then those of its marks."""
    inside = _input_names(model, input_features)
    names = inside[model._kept]  # noqa: SLF001
    if model.indicator_ is None:
        return names
    return np.concatenate([names, model.indicator_.get_feature_names_out(inside)])


class SimpleImputer(Transformer, sparse=True, chunks=True):
    r"""Imputation by one value for each column: mean, median, most frequent value or a constant.

    Objective
    ---------
    .. math:: z_{ij} = x_{ij} \text{ if it is there, else the mean, median, most frequent value or a constant}

    Certificate
    -----------
    ExactCertificate: the statistics are those of what is there, up to a stated rounding.

    Cost
    ----
    One pass for means; a partition a column for medians; one hashed pass for the most frequent values.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.preprocessing import SimpleImputer
    >>> SimpleImputer().fit_transform([[1.0], [np.nan], [3.0]]).ravel()
    array([1., 2., 3.])
    """

    _: KW_ONLY
    missing_values: Any = param(np.nan, "What stands for a gap.", in_files=_why_no_gap)
    strategy: str | AnyFunction = param(
        "mean", "What gaps become: 'mean', 'median', 'most_frequent', 'constant' or a function of a column."
    )
    fill_value: Any = param(None, "The constant; 0 for numbers and 'missing_value' for words by default.")
    copy: bool = COPY
    add_indicator: bool = param(False, "Whether columns that mark the gaps are put beside.")
    keep_empty_features: bool = param(False, "Whether columns without a single value are kept, filled with zeros.")

    statistics_: Array = fitted("What gaps of each column become.", dtype="label", shape="(p,)", finite=False, nan=True)
    indicator_: MissingIndicator | None = fitted(
        "The model that marks the gaps; None without ``add_indicator``.", check=needed_with("add_indicator")
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Any:
        gap = self.missing_values
        return super()._traits()._replace(allow_nan=is_nan(gap) or _is_pandas_gap(gap))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn what gaps become."""
        self._validate_params()
        if not callable(self.strategy) and self.strategy not in ("mean", "median", "most_frequent", "constant"):
            raise InvalidParameter(
                "SimpleImputer.strategy must be 'mean', 'median', 'most_frequent', 'constant' or a function, got"
                f" {self.strategy!r}."
            )
        if is_source(X):
            return self._fit_source(X)
        array = _read(self, X, first=True)
        self._require_numbers(array)
        sparse = is_sparse(array)
        if sparse and self.missing_values == 0:
            raise InvalidData(
                "Imputation not possible when missing_values == 0 and input is sparse. Provide a dense array instead."
            )
        if not sparse and self.strategy == "mean" and array.dtype.kind == "f" and self._gap_is_nan:
            statistics = self._means(array)
        else:
            statistics = [self._statistic(self._column(array, j)) for j in range(array.shape[1])]
        words = not sparse and array.dtype == object
        kind = array.dtype if array.dtype.kind in "iu" and not any(map(is_nan, statistics)) else np.dtype(np.float64)
        self.statistics_ = np.empty(len(statistics), object if words else kind)
        self.statistics_[:] = statistics
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(missing_values=self.missing_values, error_on_new=False).fit(X)
        rounding = 0.0 if self.strategy in ("most_frequent", "constant") else (array.shape[0] + 16) * 2.0**-53
        what = f"{self.strategy if isinstance(self.strategy, str) else 'function'} of {len(statistics)} columns"
        self.certificate_ = ExactCertificate(what, array.shape[0], rounding)
        return self

    def _fit_source(self, source: Any) -> Self:
        """Learn what gaps become from rows that come in chunks."""
        if callable(self.strategy) or not self._gap_is_nan or self.add_indicator:
            raise InvalidParameter(
                "SimpleImputer learns means, medians, most frequent values and constants with missing_values=nan and"
                f" add_indicator=False from a source of chunks, got strategy={self.strategy!r:.40},"
                f" missing_values={self.missing_values!r}, add_indicator={self.add_indicator}. Fit it on a sample of the rows in"
                " memory."
            )
        if self.strategy == "constant" and isinstance(self.fill_value, str):
            raise InvalidParameter(f"A source holds numbers, and fill_value={self.fill_value!r} is none.")
        rows, fillings = self._source_fillings(self._fit_data(source, finite=False))
        self.statistics_ = np.array(fillings, dtype=np.float64)
        self.indicator_ = None
        rounding = 0.0 if self.strategy in ("most_frequent", "constant") else (rows + 16) * 2.0**-53
        self.certificate_ = ExactCertificate(f"{self.strategy} of {len(fillings)} columns", rows, rounding)
        return self

    def _source_fillings(self, data: Any) -> tuple[int, list[Any]]:
        """Return the number of rows of a source, and what the gaps of each column become."""
        empty = 0.0 if self.keep_empty_features else np.nan
        if self.strategy == "median":
            rows, (middle,) = source_percentiles(data.X, np.array([50.0]), data.owner)
            return rows, [empty if np.isnan(one) else one for one in middle]
        if self.strategy == "most_frequent":
            limit = Limit(data.X.schema.names)
            counted = fold(data.X, partial(ColumnCounts.of, limit=limit), name=data.owner)
            require_rows(counted.rows, data.owner)
            pairs = zip(counted.values, counted.counts, strict=True)  # of equally frequent ones the least
            return counted.rows, [values[int(np.argmax(many))] if len(values) else empty for values, many in pairs]
        seen = looked_at(data)
        if self.strategy == "constant":
            return seen.rows, [0.0 if self.fill_value is None else self.fill_value] * len(seen.count)
        return seen.rows, self._mean_fillings(seen)

    @property
    def _gap_is_nan(self) -> bool:
        return is_nan(self.missing_values) or self.missing_values is None

    def _means(self, array: Array) -> list[Any]:
        """Return the means of all columns, from one pass over memory."""
        return self._mean_fillings(ColumnMoments.of(array, None))

    def _mean_fillings(self, seen: ColumnMoments) -> list[Any]:
        empty = 0.0 if self.keep_empty_features else np.nan
        return [float(mean) if count else empty for mean, count in zip(seen.mean, seen.count, strict=True)]

    def _require_numbers(self, array: Any) -> None:
        if array.dtype.kind == "f" or self.strategy in ("most_frequent", "constant") or callable(self.strategy):
            fill = self.fill_value
            words = array.dtype.kind in "fiu" and isinstance(fill, str)
            fraction = array.dtype.kind in "iu" and not (fill is None or isinstance(fill, int | np.integer))
            if self.strategy == "constant" and (words or fraction):
                raise InvalidParameter(
                    f"fill_value={fill!r} (of type {type(fill)!r}) cannot be cast to the input data that is {array.dtype!r}."
                )
            return
        word = next((one for one in array.flat if isinstance(one, str)), None)
        if word is None:
            strange = next(one for one in array.flat if not isinstance(one, int | float | np.number | type(None)))
            raise InvalidDataType(f"float() argument must be a string or a real number, not '{type(strange).__name__}'")
        raise InvalidData(
            f"Cannot use {self.strategy} strategy with non-numeric data:\ncould not convert string to float: {word!r}"
        )

    def _column(self, array: Any, j: int) -> Array:
        """Return what is there of a column; zeros of a sparse one included."""
        if not is_sparse(array):
            column = array[:, j]
            return np.asarray(column[~gaps(column, self.missing_values)])
        columns = array.tocsc()
        stored = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        here = stored[~gaps(stored, self.missing_values)]
        return np.concatenate([here, np.zeros(array.shape[0] - len(stored), here.dtype)])

    def _statistic(self, values: Array) -> Any:
        words = values.dtype == object
        if self.strategy == "constant":
            fill = self.fill_value
            return fill if fill is not None else "missing_value" if words else 0
        if len(values) == 0:
            return (0 if not words else "missing_value") if self.keep_empty_features else np.nan
        if callable(self.strategy):
            return self.strategy(values)
        if self.strategy == "most_frequent":
            if values.dtype.kind == "f":  # often all different, where sorting beats hashing
                distinct, counts = np.unique(values, return_counts=True)
                return distinct[int(np.argmax(counts))]
            found = numbered(Column(values))
            return found.values[int(np.argmax(found.counts()))]  # of equally frequent ones the least
        exact = values.astype(np.float64, copy=False)
        return np.mean(exact) if self.strategy == "mean" else np.median(exact)

    @property
    def _kept(self) -> Array:
        if self.strategy == "constant" or self.keep_empty_features:
            return np.arange(len(self.statistics_))
        return np.flatnonzero([not is_nan(one) for one in self.statistics_])

    def transform(self, X: Any) -> Any:
        """Fill the gaps.

        Returns
        -------
        ndarray, sparse container or frame
            Rows without gaps; columns that were empty in the fit are left out.
        """
        self._check_is_fitted()
        given = X
        array = _read(self, X, first=False)
        kept = self._kept
        if len(kept) < len(self.statistics_):
            lost = np.setdiff1d(np.arange(len(self.statistics_)), kept)
            names = self.__dict__.get("feature_names_in_")
            shown = lost if names is None else names[lost]
            warnings.warn(
                f"Skipping features without any observed values: {shown}. At least one non-missing value is needed for imputation"
                f" with strategy='{self.strategy}'.",
                stacklevel=2,
            )
        if is_sparse(array):
            filled = self._filled_sparse(array)[:, kept]
        else:
            filled = self._filled(array, given)
            filled = filled if len(kept) == filled.shape[1] else filled[:, kept]
        return filled if self.indicator_ is None else beside(filled, self.indicator_.transform(given))

    def _filled(self, array: Array, given: Any) -> Array:
        may_write = not self.copy and array is given and array.flags.writeable
        out = array if may_write else array.copy(order="K")
        mask = np.isnan(out) if out.dtype.kind == "f" and self._gap_is_nan else gaps(out, self.missing_values)
        if out.flags.c_contiguous:  # places in memory say the column: one pass, whatever the columns are
            where = np.flatnonzero(mask)
            out.reshape(-1)[where] = self._values(out.dtype)[where % out.shape[1]]
            return out
        for j in np.flatnonzero(mask.any(axis=0)):
            out[mask[:, j], j] = self._values(out.dtype)[j]
        return out

    def _values(self, dtype: Any) -> Array:
        """Return what gaps become in a table of this type."""
        try:
            return np.asarray(self.statistics_.astype(dtype))
        except (TypeError, ValueError) as error:
            raise InvalidData(
                f"This SimpleImputer fills gaps with {self.statistics_.dtype}, which a table of {dtype} cannot hold: {error}."
            ) from error

    def _filled_sparse(self, array: Any) -> Any:
        if self.missing_values == 0:
            raise InvalidData(
                "Imputation not possible when missing_values == 0 and input is sparse. Provide a dense array instead."
            )
        out = array.tocsc(copy=self.copy)
        mask = gaps(out.data, self.missing_values)
        column_of = np.repeat(np.arange(out.shape[1]), np.diff(out.indptr))
        out.data[mask] = self._values(out.dtype)[column_of[mask]]
        return out

    @property
    def inverse_transform(self) -> Callable[[Any], Any]:
        """Put the gaps back where the marks are; there with ``add_indicator=True``, which keeps the marks."""
        if not self.add_indicator:
            raise AttributeError(
                "'inverse_transform' works only when 'SimpleImputer' is instantiated with 'add_indicator=True'."
            )
        return self._with_gaps

    def _with_gaps(self, X: Any) -> Any:
        self._check_is_fitted()
        X = np.asarray(X)
        indicator: Any = self.indicator_
        marked = indicator.features_
        n_kept = X.shape[1] - len(marked)
        out = np.empty((len(X), len(self.statistics_)), X.dtype if X.dtype == object else np.float64)
        kept = self._kept
        if n_kept != len(kept):
            raise InvalidData(f"Expected {len(kept) + len(marked)} columns, got {X.shape[1]}.")
        out[:] = self.missing_values
        out[:, kept] = X[:, :n_kept]
        for place, j in enumerate(marked):
            out[X[:, n_kept + place].astype(bool), j] = self.missing_values
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out.

        Returns
        -------
        ndarray of str
            The names, then those of the marks.
        """
        self._check_is_fitted()
        return names_with_marks(self, input_features)


class MissingIndicator(Transformer, sparse=True, strings=True, keeps_dtype=None):
    r"""Indicators of missing values.

    Objective
    ---------
    .. math:: z_{ij} = 1 \text{ if } x_{ij} \text{ is missing else } 0

    Certificate
    -----------
    ExactCertificate: the columns with gaps are exactly those of the fit.

    Cost
    ----
    One pass.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.preprocessing import MissingIndicator
    >>> MissingIndicator().fit_transform([[1.0, 2.0], [np.nan, 3.0]])
    array([[False],
           [ True]])
    """

    _: KW_ONLY
    missing_values: Any = param(np.nan, "What stands for a gap.", in_files=_why_no_gap)
    features: Literal["missing-only", "all"] = param(
        "missing-only", "Whether only columns with gaps in the fit are marked."
    )
    sparse: bool | Literal["auto"] = param("auto", "Whether the result is sparse; 'auto' for as the table is.")
    error_on_new: bool = param(True, "Whether gaps in columns that had none in the fit raise.")

    features_: Array = fitted(
        "Numbers of the columns that are marked.", dtype="int", shape="(*,)", low=0, below="p", order="strictly rising"
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Any:
        gap = self.missing_values
        return super()._traits()._replace(allow_nan=is_nan(gap) or _is_pandas_gap(gap))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the columns with gaps."""
        self._validate_params()
        if self.sparse not in (True, False, "auto"):
            raise InvalidParameter(f"MissingIndicator.sparse must be True, False or 'auto', got {self.sparse!r}.")
        mask = self._mask(_read(self, X, first=True))
        counts = np.asarray(mask.sum(axis=0)).ravel()
        self.features_ = np.arange(mask.shape[1]) if self.features == "all" else np.flatnonzero(counts)
        self.certificate_ = ExactCertificate(f"gaps of {mask.shape[1]} columns", mask.shape[0], 0.0)
        return self

    def _mask(self, array: Any) -> Any:
        if not is_sparse(array):
            return gaps(array, self.missing_values)
        if self.missing_values == 0:
            raise InvalidData("Sparse input with missing_values=0 is not supported. Provide a dense array instead.")
        mask = array.tocsc(copy=True)
        mask.data = gaps(mask.data, self.missing_values)
        mask.eliminate_zeros()
        return mask

    def transform(self, X: Any) -> Any:
        """Mark the gaps.

        Returns
        -------
        ndarray or sparse container of bool, or a frame
            True where a gap is.
        """
        array = _read(self, X, first=False)
        mask = self._mask(array)
        if self.features == "missing-only":
            counts = np.asarray(mask.sum(axis=0)).ravel()
            counts[self.features_] = 0
            new = np.flatnonzero(counts)
            if self.error_on_new and len(new):
                raise InvalidData(
                    f"The features {new} have missing values in transform but have no missing values in fit."
                )
            mask = mask[:, self.features_]
        if self.sparse is True or (self.sparse == "auto" and is_sparse(mask)):
            from scipy import sparse  # noqa: PLC0415

            return sparse.csc_matrix(mask)
        return mask.toarray() if is_sparse(mask) else mask

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: ``missingindicator_<name>``."""
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        return np.asarray([f"missingindicator_{inside[j]}" for j in self.features_], dtype=object)
