"""Rows that come and go: a fitted statistic merged with more rows, or with some of them taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import ForgetError, InvalidData
from qed.core._threads import limited_threads
from qed.core._validation import is_source, learn_columns, require_fit_source, require_source_target
from qed.data import ArraySource, Moments, fold
from qed.designs._range import fingerprint_of, require_merged_range, require_range
from qed.linear_model._learn import relearn, require_products

if TYPE_CHECKING:
    from qed.data import Source
    from qed.linear_model._learn import Settings


def merge(model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings) -> None:
    """Add rows to what ``model`` has learnt."""
    old = _statistic(model)
    with limited_threads(settings.threads):
        new, flat = _moments(model, X, y, sample_weight, settings, is_first=old is None, is_new=True)
        if old is not None and old.rows and new.rows:
            with np.errstate(over="ignore", invalid="ignore"):  # refused in words right below
                merged = old.merge(new)
            require_merged_range(old, new, merged, centred=settings.intercept)
            new = merged
        relearn(model, new, settings, flat=flat)


def forget(model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings) -> None:
    """Take rows out of what ``model`` has learnt."""
    model._check_is_fitted()  # noqa: SLF001
    old = _statistic(model)
    with limited_threads(settings.threads):
        gone, flat = _moments(model, X, y, sample_weight, settings, is_first=False, is_new=False)
        left = old.subtract(gone)
        if left.rows == 0:
            name = type(model).__name__
            msg = f"These are all the rows that {name} has learnt. A model of no rows is a new model: make one."
            raise ForgetError(msg)
        relearn(model, left, settings, flat=flat)


def _statistic(model: Any) -> Any:
    """Return the moments of the model, None before any fit."""
    if "coef_" in model.__dict__ and "moments_" not in model.__dict__:
        msg = (
            f"This {type(model).__name__} was fitted without products of columns (solver_used_ = {model.solver_used_!r}), so rows"
            " can be neither added nor taken out. Learn by partial_fit from the start, or refit on all rows."
        )
        raise InvalidData(msg)
    return model.__dict__.get("moments_")


def _moments(
    model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings, *, is_first: bool, is_new: bool
) -> tuple[Moments, bool]:
    """Return the statistic of the rows, and whether there is a single, flat target; new rows must be in range."""
    model._validate_params()  # noqa: SLF001  (a source does not pass the door that does so)
    known = model.__dict__.get("coef_")
    source: Source
    if is_source(X):
        require_fit_source(model, X, y, sample_weight)
        require_source_target(model, X)
        schema = X.schema
        require_products(schema.n_features + schema.n_targets, "Choose fewer features=.")
        learn_columns(model, schema.n_features, schema.names, reset=is_first)
        source, flat = X, schema.n_targets == 1
    else:
        data = model._fit_data(X, y, sample_weight, finite=False, reset=is_first)  # noqa: SLF001
        source, flat = ArraySource(data.X, data.y.reshape(data.n_rows, -1), data.weight), data.y.ndim == 1
        columns = source.schema.n_features + source.schema.n_targets
        require_products(columns, "Choose fewer columns; or fit all rows at once, which can do without.")
    targets = source.schema.n_targets
    if known is not None and targets != (1 if known.ndim == 1 else len(known)):
        msg = f"y has {targets} targets, and {type(model).__name__} learnt {1 if known.ndim == 1 else len(known)}."
        raise InvalidData(msg)
    moments = fold(source, Moments.of, name=type(model).__name__, verbose=settings.verbose)
    if is_new and moments.rows:
        require_range(source, fingerprint_of(moments), centred=settings.intercept)
    return moments, flat if known is None else known.ndim == 1
