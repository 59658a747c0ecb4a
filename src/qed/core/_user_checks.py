"""Checks of arrays for estimators that users write: ``from qed.utils.validation import check_array, check_X_y``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from qed.core import _finite, _tables, _targets
from qed.core._arrays import as_array, floats
from qed.core._errors import DataConversionWarning, InvalidData, InvalidDataType, InvalidParameter
from qed.core._traits import Traits
from qed.core._user_models import check_n_features

Array = np.ndarray[Any, Any]


def check_array(
    array: Any,
    accept_sparse: Any = False,
    *,
    accept_large_sparse: bool = True,  # noqa: ARG001
    dtype: Any = "numeric",
    order: str | None = None,
    copy: bool = False,
    force_writeable: bool = False,
    ensure_all_finite: Any = True,
    ensure_non_negative: bool = False,
    ensure_2d: bool = True,
    allow_nd: bool = False,
    ensure_min_samples: int = 1,
    ensure_min_features: int = 1,
    estimator: Any = None,
    input_name: str = "",
) -> Any:
    """Read a table as an array or a sparse container, and refuse what cannot be learnt from.

    Parameters
    ----------
    array : object
        An array, list, frame or sparse container.
    accept_sparse : bool, str or list of str
        Whether sparse containers are accepted, or in which formats; others are converted to the first of these.
    accept_large_sparse : bool
        Indices of 64 bits are always accepted.
    dtype : "numeric", type, list of types or None
        The type of the result; "numeric" keeps numbers and converts objects, a list keeps any of its types, None keeps all.
    order : {"C", "F"}, optional
        The order in memory.
    copy, force_writeable : bool
        Whether to copy, and whether the result must be writeable.
    ensure_all_finite : bool or "allow-nan"
        Whether NaN and infinity are rejected.
    ensure_non_negative, ensure_2d, allow_nd : bool
        Whether negative numbers are rejected, and which numbers of dimensions are accepted.
    ensure_min_samples, ensure_min_features : int
        The fewest rows and columns.
    estimator, input_name : object
        Names for messages.

    Returns
    -------
    ndarray or sparse container
        The table.
    """
    owner = (
        estimator if isinstance(estimator, str) else "check_array" if estimator is None else type(estimator).__name__
    )
    what = input_name or "X"
    if _tables.is_sparse(array):
        found = _sparse(array, accept_sparse, dtype, copy=copy)
    else:
        found = _dense(array, dtype, what)
        if ensure_2d and found.ndim != 2:
            raise InvalidData(_tables._wrong_dimension(found, owner))  # noqa: SLF001
        if not allow_nd and found.ndim > 2:
            raise InvalidData(f"Found array with dim {found.ndim}, while dim <= 2 is required by {owner}.")
        source = array if isinstance(array, np.ndarray) else None
        if order is not None:
            found = np.asarray(found, order=order)  # type: ignore[call-overload]
        if (copy and source is not None and np.may_share_memory(found, source)) or (
            force_writeable and not found.flags.writeable
        ):
            found = found.copy(order="K")
    if ensure_all_finite is not False:
        data = found.data if _tables.is_sparse(found) else found
        if data.dtype.kind == "f":
            _finite.require(found, what, None, owner, allow_nan=ensure_all_finite == "allow-nan")
    if ensure_min_samples > 0 and found.ndim and found.shape[0] < ensure_min_samples:
        raise InvalidData(
            f"Found array with {found.shape[0]} sample(s) (shape={found.shape}) while a minimum of {ensure_min_samples} is required"
            f" by {owner}."
        )
    if ensure_min_features > 0 and found.ndim == 2 and found.shape[1] < ensure_min_features:
        raise InvalidData(
            f"Found array with {found.shape[1]} feature(s) (shape={found.shape}) while a minimum of {ensure_min_features} is"
            f" required by {owner}."
        )
    if ensure_non_negative:
        check_non_negative(found, owner)
    return found


def _sparse(array: Any, accept: Any, dtype: Any, *, copy: bool) -> Any:
    if accept is False:
        raise InvalidDataType(
            "Sparse data was passed, but dense data is required. Use '.toarray()' to convert to a dense numpy array."
        )
    formats = [accept] if isinstance(accept, str) else [] if accept is True else list(accept)
    found = array.asformat(formats[0]) if formats and array.format not in formats else array
    kind = _wanted(found.dtype, dtype)
    if kind is not None and found.dtype != kind:
        return found.astype(kind)
    return found.copy() if copy and found is array else found


def _dense(array: Any, dtype: Any, what: str) -> Array:
    if not isinstance(array, np.ndarray | list | tuple):
        from qed.core import _frames  # noqa: PLC0415

        frame = _frames.table(array, what)
        array = array if frame is None else frame[0]
    found = as_array(array, what)
    if isinstance(dtype, str) and dtype == "numeric" and found.dtype.kind not in "biuf":
        return floats(found, what)
    kind = _wanted(found.dtype, dtype)
    return found if kind is None or found.dtype == kind else found.astype(kind)


def _wanted(own: Any, dtype: Any) -> Any:
    if dtype is None or (isinstance(dtype, str) and dtype == "numeric"):
        return None
    if isinstance(dtype, list | tuple):
        return None if any(own == np.dtype(one) for one in dtype) else np.dtype(dtype[0])
    return np.dtype(dtype)


def check_X_y(  # noqa: N802
    X: Any,
    y: Any,
    accept_sparse: Any = False,
    *,
    multi_output: bool = False,
    y_numeric: bool = False,
    estimator: Any = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Read a table and a target of the same rows.

    Parameters
    ----------
    X, y : object
        Rows and targets.
    accept_sparse : bool, str or list of str
        Whether sparse containers are accepted as X.
    multi_output : bool
        Whether the target may have several columns.
    y_numeric : bool
        Whether the target must hold numbers.
    estimator : object
        A name for messages.
    **options : object
        As for `check_array`.

    Returns
    -------
    tuple
        X and y.
    """
    if y is None:
        name = (
            "estimator" if estimator is None else estimator if isinstance(estimator, str) else type(estimator).__name__
        )
        raise InvalidData(f"{name} requires y to be passed, but the target y is None.")
    rows = check_array(X, accept_sparse, estimator=estimator, **options)
    target = _targets.as_target(y, "y") if multi_output else column_or_1d(y, warn=True)
    if y_numeric and target.dtype.kind == "O":
        target = floats(target, "y")
    if target.dtype.kind == "f":
        _finite.require(target, "y", None, "check_X_y")
    check_consistent_length(rows, target)
    return rows, target


def column_or_1d(y: Any, *, dtype: Any = None, warn: bool = False, device: Any = None) -> Array:  # noqa: ARG001
    """Return a target as one dimension; a table of one column becomes that column."""
    array = _targets.as_target(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        if warn:
            message = (
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for"
                " example using ravel()."
            )
            warnings.warn(DataConversionWarning(message), stacklevel=2)
        array = array.reshape(-1)
    if array.ndim != 1:
        raise InvalidData(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return array if dtype is None else array.astype(dtype)


def check_consistent_length(*arrays: Any) -> None:
    """Refuse tables and targets of different numbers of rows; None is left out."""
    lengths = [int(one.shape[0]) if hasattr(one, "shape") else len(one) for one in arrays if one is not None]
    if len(set(lengths)) > 1:
        raise InvalidData(f"Found input variables with inconsistent numbers of samples: {lengths}")


def indexable(*arrays: Any) -> list[Any]:
    """Return tables and targets of the same number of rows in a form whose rows can be picked: sparse ones by rows."""
    check_consistent_length(*arrays)
    return [one.tocsr() if _tables.is_sparse(one) else one if _has_rows(one) else np.array(one) for one in arrays]


def _has_rows(one: Any) -> bool:
    return one is None or hasattr(one, "__getitem__") or hasattr(one, "iloc")


def as_float_array(X: Any, *, copy: bool = True, ensure_all_finite: Any = True) -> Any:
    """Return a table as float32 or float64: as it is where it is that already, in float32 where whole numbers have 32 bits."""
    own = getattr(X, "dtype", np.dtype(np.float64))
    kept = own in (np.float32, np.float64)
    goal = own if kept else np.float32 if own.kind in "uib" and own.itemsize <= 4 else np.float64
    accepted = ("csr", "csc", "coo")
    return check_array(
        X,
        accept_sparse=accepted,
        dtype=goal,
        copy=copy,
        ensure_all_finite=ensure_all_finite,
        ensure_2d=False,
        allow_nd=True,
    )


def check_symmetric(
    array: Any, *, tol: float = 1e-10, raise_warning: bool = True, raise_exception: bool = False
) -> Any:
    """Return a square array that is symmetric; the mean with its transpose, after a warning or an error, where it is not."""
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InvalidData(f"array must be 2-dimensional and square. shape = {array.shape}")
    apart = array - array.T
    if np.max(np.abs(apart.data if _tables.is_sparse(apart) else apart), initial=0.0) <= tol:
        return array
    if raise_exception:
        raise InvalidData("Array must be symmetric")
    if raise_warning:
        warnings.warn(
            "Array is not symmetric, and will be converted to symmetric by average with its transpose.", stacklevel=2
        )
    mean = 0.5 * (array + array.T)
    return mean.asformat(array.format) if _tables.is_sparse(array) else mean


def check_random_state(seed: Any) -> np.random.RandomState:
    """Return a RandomState: of an integer, the one that NumPy's global functions use for None, or the one given."""
    if seed is None or seed is np.random:
        return np.random.mtrand._rand  # noqa: SLF001
    if isinstance(seed, np.random.RandomState):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return np.random.RandomState(int(seed))
    raise InvalidParameter(f"{seed!r} cannot be used to seed a numpy.random.RandomState instance")


def check_non_negative(X: Any, whom: str) -> None:
    """Refuse negative numbers."""
    data = X.data if _tables.is_sparse(X) else X
    if np.size(data) and np.nanmin(data) < 0:
        raise InvalidData(f"Negative values in data passed to {whom}.")


def check_scalar(
    x: Any, name: str, target_type: Any, *, min_val: Any = None, max_val: Any = None, include_boundaries: str = "both"
) -> Any:
    """Return a number once its type and range are right."""
    if not isinstance(x, target_type):
        raise TypeError(f"{name} must be an instance of {target_type}, not {type(x).__name__}.")
    open_low, open_high = include_boundaries in ("right", "neither"), include_boundaries in ("left", "neither")
    if min_val is not None and (x < min_val or (open_low and x == min_val)):
        raise InvalidParameter(f"{name} == {x}, must be {'>' if open_low else '>='} {min_val}.")
    if max_val is not None and (x > max_val or (open_high and x == max_val)):
        raise InvalidParameter(f"{name} == {x}, must be {'<' if open_high else '<='} {max_val}.")
    return x


def assert_all_finite(X: Any, *, allow_nan: bool = False, estimator_name: str = "", input_name: str = "") -> None:
    """Refuse NaN and infinity."""
    array: Any = X if _tables.is_sparse(X) else np.asarray(X)
    if (array.data if _tables.is_sparse(array) else array).dtype.kind == "f":
        _finite.require(array, input_name or "X", None, estimator_name or "This", allow_nan=allow_nan)


def has_fit_parameter(estimator: Any, parameter: str) -> bool:
    """Tell whether ``fit`` of an estimator takes a parameter."""
    import inspect  # noqa: PLC0415

    return hasattr(estimator, "fit") and parameter in inspect.signature(estimator.fit).parameters


def validate_data(
    estimator: Any, X: Any = "no_validation", y: Any = "no_validation", *, reset: bool = True, **options: Any
) -> Any:
    """Check X and y, and remember or compare the number and names of the columns.

    Parameters
    ----------
    estimator : object
        The estimator, which learns ``n_features_in_`` and ``feature_names_in_``.
    X, y : object
        Rows and targets; left out when not given.
    reset : bool
        Whether this is a fit; otherwise the columns must be those of the fit.
    **options : object
        As for `check_array` and `check_X_y`.

    Returns
    -------
    object
        X, y or both.
    """
    has_rows, has_target = not isinstance(X, str), not (isinstance(y, str) or y is None)
    if not has_rows:
        return column_or_1d(y)
    names = None
    if not isinstance(X, np.ndarray | list | tuple) and not _tables.is_sparse(X):
        _, names = _tables.read(X, "X", Traits(sparse=True), type(estimator).__name__)
    if has_target:
        rows, target = check_X_y(X, y, estimator=estimator, **options)
    else:
        own = {key: value for key, value in options.items() if key not in ("multi_output", "y_numeric")}
        rows, target = check_array(X, estimator=estimator, **own), None
    check_n_features(estimator, rows, reset=reset)
    if reset:
        if names is not None:
            estimator.feature_names_in_ = names
        else:
            estimator.__dict__.pop("feature_names_in_", None)
    return (rows, target) if has_target else rows


def resample(
    *arrays: Any,
    replace: bool = True,
    n_samples: int | None = None,
    random_state: Any = None,
    stratify: Any = None,
    sample_weight: Any = None,
) -> Any:
    """Draw rows of several arrays together, with or without replacement.

    Parameters
    ----------
    *arrays : array-like
        Tables and targets of the same rows.
    replace : bool
        Whether a row may be drawn again.
    n_samples : int, optional
        How many rows; as many as there are by default.
    random_state : int, RandomState or None
        The seed; an integer draws scikit-learn's rows.
    stratify : None
        Not supported: use ``train_test_split(stratify=y)``.
    sample_weight : array-like, optional
        Probabilities of the rows, up to a factor; only with replacement.

    Returns
    -------
    object
        The drawn rows: a list if there are several arrays.
    """
    from qed.core._errors import NotSupported  # noqa: PLC0415

    if stratify is not None:
        raise NotSupported(
            "resample(stratify=...) is not in qed; use qed.model_selection.train_test_split(stratify=y)."
        )
    if not arrays:
        return None
    check_consistent_length(*arrays)
    first = arrays[0]
    n = int(first.shape[0]) if hasattr(first, "shape") else len(first)
    count = n if n_samples is None else int(n_samples)
    if not replace and count > n:
        raise InvalidData(f"Cannot sample {count} out of arrays with dim {n} when replace is False")
    draws = check_random_state(random_state)
    if sample_weight is not None:
        if not replace:
            raise InvalidParameter("Resampling with sample_weight is only implemented for replace=True.")
        share = np.asarray(sample_weight, dtype=np.float64)
        index = draws.choice(n, size=count, p=share / share.sum(), replace=True)
    elif replace:
        index = draws.randint(0, n, size=(count,))
    else:
        index = np.arange(n)
        draws.shuffle(index)
        index = index[:count]
    found = [_rows(one, index) for one in arrays]
    return found[0] if len(found) == 1 else found


def shuffle(*arrays: Any, random_state: Any = None, n_samples: int | None = None) -> Any:
    """Shuffle the rows of several arrays together; an integer seed gives scikit-learn's order."""
    return resample(*arrays, replace=False, n_samples=n_samples, random_state=random_state)


def _rows(table: Any, index: Array) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[index]
    if hasattr(table, "shape"):
        return table.tocsr()[index] if _tables.is_sparse(table) else table[index]
    return [table[int(one)] for one in index]
