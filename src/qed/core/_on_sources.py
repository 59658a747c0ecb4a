"""Asking a fitted model about a source of chunks: answers of all rows, or a source of transformed rows."""

from __future__ import annotations

from copy import copy
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _validation
from qed.core._errors import InvalidData
from qed.core._mixed import MixedTable
from qed.core._tables import is_sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples")


def by_chunks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that answers one entry a row, so that a source is answered chunk by chunk.

    The answers are gathered: one entry, or one row of entries, for each row of the source.
    """

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if type(X) is np.ndarray or not _validation.is_source(X):
            return method(self, X, *args, **kwargs)
        model = _for_chunks(self, X)
        return _gathered(X.each(partial(_answers, model, method.__name__, args, kwargs)), X.n_rows)

    return wrapped


def _gathered(parts: Iterator[Any], n: int | None) -> Any:
    """Put answers one below the other: into one array, beside which few of them are held, where the number of rows is known."""
    first = next(parts)
    if isinstance(first, tuple):
        return tuple(np.concatenate(column) for column in zip(first, *parts, strict=True))
    if n is None:
        return np.concatenate([first, *parts])
    found, start = np.empty((n, *first.shape[1:]), first.dtype), 0
    for part in chain([first], parts):
        found[start : start + len(part)] = part
        start += len(part)
    return found


def _answers(model: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], chunk: Any) -> Any:
    if chunk.n_rows:
        try:
            return getattr(model, name)(chunk.table, *args, **kwargs)
        except InvalidData:
            chunk.require_finite()  # says so with the name of the file
            raise
    # Models refuse to answer about no rows: ask about one, and leave its answer out.
    one = getattr(model, name)(np.zeros((1, chunk.n_features)), *args, **kwargs)
    return tuple(part[:0] for part in one) if isinstance(one, tuple) else one[:0]


def with_own_targets(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``score``, so that a source without y is scored on the targets that it brings, by its weights."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        given = bool(args) or kwargs.get("y") is not None
        if given or type(X) is np.ndarray or not _validation.is_source(X) or not X.schema.n_targets:
            return method(self, X, *args, **kwargs)
        y, weight = _validation.source_targets(X, labels=self._traits().role == "classifier")
        if weight is not None:
            kwargs.setdefault("sample_weight", weight)
        return method(self, X, **{**kwargs, "y": y})

    return wrapped


def transformed(model: Any, source: Any) -> Any:
    """Return a source whose rows a fitted transformer transforms as they are read."""
    bare = _for_chunks(model, source)
    names = [str(name) for name in model.get_feature_names_out()]
    change = partial(_rows, bare, n_columns=len(names))
    return source.changed(change, len(names), None if source.schema.names is None else names)


def _rows(model: Any, X: Any, n_columns: int) -> Any:
    n_rows = X.n_rows if isinstance(X, MixedTable) else X.shape[0]
    if not n_rows:  # which models refuse
        return np.empty((0, n_columns))
    rows = model.transform(X)
    rows = rows if is_sparse(rows) else np.asarray(rows)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _for_chunks(model: Any, source: Any) -> Any:
    """Compare the columns of a source with those of the fit; return the model as it answers about arrays without names."""
    _validation.require_fitted(model)
    schema = source.schema
    _validation.require_numbers(model, source)
    if "n_features_in_" in model.__dict__:
        _validation.learn_columns(model, schema.n_features, schema.names, reset=False)
    bare = copy(model)
    bare.__dict__.pop("feature_names_in_", None)
    if hasattr(bare, "set_output"):
        bare.set_output(transform="default")
    return bare
