"""Rows that come and go: a fitted statistic merged with more rows, or with some of them taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Forgetting, InvalidData
from qed.core._threads import limited_threads
from qed.data import ArraySource, Moments, fold
from qed.linear_model._learn import is_source, refuse_beside_source, relearn, require_target

if TYPE_CHECKING:
    from qed.linear_model._learn import Settings

__all__ = ["forget", "merge"]


def merge(model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings) -> None:
    """Add rows to what ``model`` has learnt."""
    old = _statistic(model)
    with limited_threads(settings.threads):
        new, flat = _moments(model, X, y, sample_weight, settings, is_first=old is None)
        relearn(model, new if old is None else old.merge(new), settings, flat=flat)


def forget(model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings) -> None:
    """Take rows out of what ``model`` has learnt."""
    model._check_is_fitted()  # noqa: SLF001
    old = _statistic(model)
    with limited_threads(settings.threads):
        gone, flat = _moments(model, X, y, sample_weight, settings, is_first=False)
        left = old.subtract(gone)
        if left.rows == 0:
            name = type(model).__name__
            msg = f"These are all the rows that {name} has learnt. A model of no rows is a new model: make one."
            raise Forgetting(msg)
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
    model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings, *, is_first: bool
) -> tuple[Moments, bool]:
    """Return the statistic of the rows, and whether there is a single, flat target."""
    model._validate_params()  # noqa: SLF001  (a source does not pass the door that does so)
    known = model.__dict__.get("coef_")
    if is_source(X):
        refuse_beside_source(model, y, sample_weight)
        require_target(model, X)
        schema = X.schema
        if not is_first and schema.n_features != model.n_features_in_:
            msg = f"The source has {schema.n_features} features, and {type(model).__name__} has {model.n_features_in_}."
            raise InvalidData(msg)
        model.n_features_in_ = schema.n_features
        if is_first and schema.names is not None:
            model.feature_names_in_ = np.array(schema.names, dtype=object)
        source, flat = X, schema.n_targets == 1
    else:
        data = model._fit_data(X, y, sample_weight, finite=False, reset=is_first)  # noqa: SLF001
        source, flat = ArraySource(data.X, data.y.reshape(data.n_rows, -1), data.weight), data.y.ndim == 1
    targets = source.schema.n_targets
    if known is not None and targets != (1 if known.ndim == 1 else len(known)):
        msg = f"y has {targets} targets, and {type(model).__name__} learnt {1 if known.ndim == 1 else len(known)}."
        raise InvalidData(msg)
    moments = fold(source, Moments.of, name=type(model).__name__, verbose=settings.verbose)
    return moments, flat if known is None else known.ndim == 1
