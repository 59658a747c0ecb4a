"""Validation: the two functions through which data reach a model.

``fit_data`` looks at parameters, X, y and weights before any work is done; ``new_data`` looks at what a fitted
model is asked about. Both give a float32 or float64 array (or a SciPy CSR/CSC container) that native code can
read in place, and touch X at most once: to see that it is finite. What they say when they refuse begins with
scikit-learn's sentence, which other people's code looks for, and goes on with where and what to do.

Rows that come in chunks stay where they are. Their targets and weights are gathered, one number for each row; a model that
declares ``chunks`` is given the source itself as X, and looks at its values on its own first pass.
"""
# ruff: noqa: SLF001  the doors are a part of Estimator, kept in their own file

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import _finite, _targets
from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter, NotFitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.core._params import Array


class FitData(NamedTuple):
    """The validated input of ``fit``.

    Attributes
    ----------
    X : ndarray, scipy.sparse container or source of chunks
        Float32 or float64, two-dimensional, native byte order, aligned, any strides; or CSR/CSC; or the source that came.
    y : ndarray or None
        Float for regressors; for classifiers the index of each label in ``classes``.
    weight : ndarray or None
        Float64, one nonnegative finite number per row, not all zero; None means one each.
    names : list of str or None
        The names of the columns.
    n_rows : int
        The number of rows; of a source without a target, 0 where only reading can tell.
    classes : ndarray or None
        The sorted labels of a classifier.
    warm : bool
        Whether ``warm_start`` asks to go on from an earlier fit to columns like these.
    owner : str
        The name of the model, for messages.
    categories : list of ndarray or None
        Of a model that numbers categories, the values of each column; empty for columns of numbers. None if all are numbers.
    """

    X: Any
    y: Any
    weight: Array | None
    names: list[str] | None
    n_rows: int
    classes: Any = None
    warm: bool = False
    owner: str = ""
    categories: list[Array] | None = None

    def raise_if_not_finite(self) -> None:
        """Name the row and column of the first value of X that is not finite, if there is one."""
        _finite.require(self.X, "X", self.names, self.owner)


def fit_data(model: Any, X: Any, y: Any, sample_weight: Any, *, finite: bool = True, reset: bool = True) -> FitData:
    """Let the data of a fit in.

    Parameters
    ----------
    model : Estimator
        The model: its parameters are validated, and it learns the number and names of the columns.
    X, y, sample_weight : object
        As passed to ``fit``.
    finite : bool
        Whether to look for NaN and infinity in X. With False the caller's own pass over X notices, and
        calls ``raise_if_not_finite``.
    reset : bool
        False for a later ``partial_fit``: the columns must be those of the first.

    Returns
    -------
    FitData
        Clean data.
    """
    model._validate_params()
    traits = model._traits()
    owner = type(model).__name__
    if is_source(X):
        return _chunked_data(model, X, y, sample_weight, reset=reset)
    if traits.target and y is None:
        raise InvalidData(f"This {owner} estimator requires y to be passed, but the target y is None. Pass y after X.")
    X, names, categories = model._read_table(X, learns=reset)
    n_rows, n_columns = X.shape
    _require_size(X.shape, traits.min_samples, owner)
    if traits.pairwise and n_rows != n_columns:
        raise InvalidData(f"X must be square for {owner}, a table of all pairs of rows; got shape {X.shape}.")
    warm = False
    if reset:
        warm = bool(getattr(model, "warm_start", False)) and _same_columns(model, n_columns, names)
    else:
        _match_columns(model, owner, n_columns, names)
    listed = None if names is None else list(names)
    if finite:
        _finite.require(X, "X", listed, owner, allow_nan=traits.allow_nan)
    if traits.positive_only:
        _require_nonnegative(X, owner)
    target, classes = _targets.read(y, n_rows, traits, owner) if traits.target else (None, None)
    weight = _targets.weights(sample_weight, n_rows)
    if reset:
        _learn_columns(model, n_columns, names)
    return FitData(X, target, weight, listed, n_rows, classes, warm, owner, categories)


def stream_data(model: Any, X: Any, y: Any, sample_weight: Any, classes: Any, state: str) -> tuple[FitData, bool]:
    """Let in the rows of a classifier's ``partial_fit``; its labels must be known from the first call on.

    Parameters
    ----------
    model : Estimator
        The classifier; it learns ``classes_`` in its first call.
    X, y, sample_weight, classes : object
        As passed to ``partial_fit``.
    state : str
        An attribute that the model has after its first call.

    Returns
    -------
    FitData, bool
        Clean data, with numbers of labels among ``classes_``, and whether this was the first call.
    """
    first = state not in model.__dict__
    if first and classes is None:
        raise InvalidParameter(
            f"classes must be passed on the first call to partial_fit: {type(model).__name__} has to know all labels before it"
            " sees the first row."
        )
    data = model._fit_data(X, y, sample_weight, reset=first)
    if first:
        model.classes_ = np.unique(_targets.as_target(classes, "classes"))
        if len(model.classes_) < 2:
            raise InvalidData(f"classes must hold at least two labels, got {model.classes_.tolist()}.")
    elif classes is not None and not np.array_equal(np.unique(_targets.as_target(classes, "classes")), model.classes_):
        raise InvalidParameter(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {model.classes_!r}."
        )
    known = {label: number for number, label in enumerate(model.classes_.tolist())}
    strange = [label for label in data.classes.tolist() if label not in known]
    if strange:
        raise InvalidData(
            f"y holds the labels {strange!r:.200}, which are not among those of the first call: {model.classes_.tolist()!r:.200}."
        )
    table = np.array([known[label] for label in data.classes.tolist()], dtype=np.float64)
    return data._replace(y=table[data.y], classes=model.classes_), first


def _chunked_data(model: Any, source: Any, y: Any, sample_weight: Any, *, reset: bool) -> FitData:
    """Gather targets and weights of rows that come in chunks; labels that are whole numbers become integers."""
    traits, owner, schema = model._traits(), type(model).__name__, source.schema
    if not traits.chunks:
        instead = (
            "pass each to partial_fit" if hasattr(model, "partial_fit") else "fit Ridge, Lasso or LogisticRegression"
        )
        raise InvalidData(
            f"{owner} needs all rows in memory, and got a source of chunks. Read them first, as polars.read_parquet does; or,"
            f" to go through them chunk by chunk, {instead}."
        )
    require_fit_source(model, source, y if traits.target else None, sample_weight)
    if not traits.target:
        learn_columns(model, schema.n_features, schema.names, reset=reset)
        listed = None if schema.names is None else list(schema.names)
        return FitData(source, None, None, listed, source.n_rows or 0, owner=owner)
    require_source_target(model, source)
    target, weight = source_targets(source, labels=traits.target == "label")
    n_rows = len(target)
    _require_size((n_rows, schema.n_features), traits.min_samples, owner)
    names = None if schema.names is None else np.asarray(list(schema.names), dtype=object)
    warm = reset and bool(getattr(model, "warm_start", False)) and _same_columns(model, schema.n_features, names)
    numbers, classes = _targets.read(target, n_rows, traits, owner)
    learn_columns(model, schema.n_features, schema.names, reset=reset)
    listed = None if names is None else list(names)
    return FitData(source, numbers, _targets.weights(weight, n_rows), listed, n_rows, classes, warm, owner)


def source_targets(source: Any, *, labels: bool) -> tuple[Array, Array | None]:
    """Gather targets and weights of all rows of a source; labels that are whole numbers become integers.

    Parameters
    ----------
    source : Source
        It names a target.
    labels : bool
        Whether targets are labels.
    """
    parts = list(source.targets())
    target = np.concatenate([part for part, _ in parts])
    if not np.isfinite(target).all():
        _name_target(source)
    weight = None if parts[0][1] is None else np.concatenate([part for _, part in parts])
    target = target[:, 0] if target.shape[1] == 1 else target
    return target.astype(np.int64) if labels and np.all(target == np.rint(target)) else target, weight


def _name_target(source: Any) -> None:
    """Raise the error of the first target that is NaN or infinite, which names its file and row."""
    for chunk in source.chunks():
        if not np.isfinite(chunk.y).all():
            replace(chunk, X=np.zeros((chunk.n_rows, chunk.n_features))).require_finite()


def require_numbers(model: Any, source: Any) -> None:
    """Refuse a source with string columns, unless the model takes those."""
    schema = source.schema
    if schema.words and not model._takes_words():
        j = schema.words[0]
        column = f"column {j if schema.names is None else repr(schema.names[j])}"
        raise InvalidDataType(only_numbers(type(model).__name__, column))


def only_numbers(owner: str, column: str) -> str:
    """Return the message for words in a source where only numbers are accepted."""
    return (
        f"{owner} takes numbers, and {column} holds words. From a source, words are read by OneHotEncoder, OrdinalEncoder,"
        " TargetEncoder, and by HistGradientBoostingClassifier and HistGradientBoostingRegressor. Encode the column first; leave it"
        " out: scan(..., features=[...]); or, if a file holds numbers written as text, declare it: scan(..., schema={name:"
        " 'float64'})."
    )


def is_source(X: Any) -> bool:
    """Tell a source of chunks from a table, by its class alone."""
    kind = type(X)
    return hasattr(kind, "chunks") and hasattr(kind, "schema") and hasattr(kind, "n_rows")


def require_fit_source(model: Any, source: Any, y: Any, sample_weight: Any) -> None:
    """Refuse targets and weights that come beside a source, which brings its own, and words that the model does not take."""
    if y is not None or sample_weight is not None:
        msg = (
            f"{type(model).__name__} got a source of chunks together with y or sample_weight. Name them in it: "
            "scan(..., target='price')."
        )
        raise InvalidData(msg)
    require_numbers(model, source)


def require_source_target(model: Any, source: Any) -> None:
    """Refuse a source that names no target."""
    if source.schema.n_targets == 0:
        msg = f"{type(model).__name__} needs a target, and the source names none. Use scan(..., target='price')."
        raise InvalidData(msg)


def new_data(model: Any, X: Any, *, finite: bool = True) -> Any:
    """Let in what a fitted model is asked about.

    Parameters
    ----------
    model : Estimator
        A fitted model.
    X : object
        As passed to ``predict`` or ``transform``.
    finite : bool
        Whether to look for NaN and infinity.

    Returns
    -------
    ndarray or scipy.sparse container
        With the columns of the fit.
    """
    traits = model._traits()
    owner = type(model).__name__
    require_fitted(model)
    X, names, _ = model._read_table(X, learns=False)
    if "n_features_in_" in model.__dict__:
        _match_columns(model, owner, X.shape[1], names)
    _require_size(X.shape, 1, owner)
    if finite:
        _finite.require(X, "X", None if names is None else list(names), owner, allow_nan=traits.allow_nan)
    if traits.positive_only:
        _require_nonnegative(X, owner)
    return X


def learn_columns(model: Any, n_columns: int, names: Sequence[str] | None, *, reset: bool) -> None:
    """Learn the columns of rows that come in chunks and were not validated yet; without ``reset`` they must be those of the fit.

    Parameters
    ----------
    model : Estimator
        The model.
    n_columns : int
        How many columns the chunks have.
    names : sequence of str or None
        Their names.
    reset : bool
        Whether this is the first of the rows.
    """
    listed = None if names is None else np.asarray(list(names), dtype=object)
    if reset:
        _learn_columns(model, n_columns, listed)
    else:
        _match_columns(model, type(model).__name__, n_columns, listed)


def require_fitted(model: Any) -> None:
    """Refuse a model that has not been fitted."""
    if model._traits().requires_fit and not model.__sklearn_is_fitted__():
        raise NotFitted(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments"
            " before using this estimator."
        )


def _require_size(shape: tuple[int, int], least: int, owner: str) -> None:
    n_rows, n_columns = shape
    if n_rows < least:
        raise InvalidData(
            f"Found array with {n_rows} sample(s) (shape={shape}) while a minimum of {least} is required by {owner}."
            " Pass more rows."
        )
    if n_columns < 1:
        raise InvalidData(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required by {owner}."
            " Pass at least one column."
        )


def _require_nonnegative(X: Any, owner: str) -> None:
    data = X if isinstance(X, np.ndarray) else X.data
    if data.size and np.fmin.reduce(data, axis=None) < 0:
        raise InvalidData(f"Negative values in data passed to {owner} (input X). It needs values >= 0.")


def _learn_columns(model: Any, n_columns: int, names: Array | None) -> None:
    if "n_features_in_" in model.__dict__ and not _has_columns(model, n_columns, names):
        # Should this fit fail, what an earlier one learnt about other columns must not seem to be about these.
        for name in [name for name in model.__dict__ if name[-1] == "_" and name[0] != "_"]:
            del model.__dict__[name]
    model.n_features_in_ = n_columns
    if names is not None:
        model.feature_names_in_ = names
    else:
        model.__dict__.pop("feature_names_in_", None)


def _has_columns(model: Any, n_columns: int, names: Array | None) -> bool:
    known = model.__dict__.get("feature_names_in_")
    same_names = known is names or (known is not None and names is not None and list(known) == list(names))
    return model.__dict__.get("n_features_in_") == n_columns and same_names


def _same_columns(model: Any, n_columns: int, names: Array | None) -> bool:
    return _has_columns(model, n_columns, names) and bool(model.__sklearn_is_fitted__())


def _match_columns(model: Any, owner: str, n_columns: int, names: Array | None) -> None:
    known = model.__dict__.get("feature_names_in_")
    if names is not None and known is None:
        warnings.warn(f"X has feature names, but {owner} was fitted without feature names", stacklevel=5)
    elif names is None and known is not None:
        warnings.warn(f"X does not have valid feature names, but {owner} was fitted with feature names", stacklevel=5)
    elif names is not None and known is not None and (len(names) != len(known) or (names != known).any()):
        raise InvalidData(_unlike(list(known), list(names)))
    if n_columns != model.n_features_in_:
        raise InvalidData(
            f"X has {n_columns} features, but {owner} is expecting {model.n_features_in_} features as input."
            " Pass the columns that it was fitted on."
        )


def _unlike(known: list[str], names: list[str]) -> str:
    """Say how two lists of names differ, in scikit-learn's words."""

    def listed(title: str, some: set[str]) -> str:
        shown = [f"- {name}\n" for name in sorted(some)[:5]] + ["- ...\n"] * (len(some) > 5)
        return f"{title}:\n{''.join(shown)}" if some else ""

    message = listed("Feature names unseen at fit time", set(names) - set(known))
    message += listed("Feature names seen at fit time, yet now missing", set(known) - set(names))
    message = message or "Feature names must be in the same order as they were in fit.\n"
    return f"The feature names should match those that were passed during fit.\n{message}"
