"""What a user may ask of the trees of boosting: directions, categories, and columns that may meet."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.tree._directions import directions as read_directions

Array = np.ndarray[Any, Any]
MOST = 254  # the largest number of a category


def directions(model: Any, n_columns: int, k: int) -> Array | None:
    """Return 1, -1 or 0 for each column; None if predictions may go anywhere."""
    owner, names = type(model).__name__, model.__dict__.get("feature_names_in_")
    values = read_directions(owner, model.monotonic_cst, names, n_columns)
    if values is None:
        return None
    if k > 1:
        raise InvalidParameter(
            "monotonic constraints are not supported for multiclass classification: pass two classes."
        )
    categories = model.categorical_features
    if categories is not None and not isinstance(categories, str):
        chosen = _chosen(model, n_columns)
        if values[chosen].any():
            raise InvalidParameter("Categorical features cannot have monotonic constraints: categories have no order.")
    return values


def category_columns(model: Any, X: Array) -> Array | None:
    """Return whether each column holds categories; None if none does."""
    given = model.categorical_features
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        return None
    chosen = _chosen(model, X.shape[1])
    for j in chosen:
        known = X[:, j][~np.isnan(X[:, j])]
        if len(known) and not ((known >= 0) & (known <= MOST) & (known == np.rint(known))).all():
            raise InvalidData(
                f"Categorical column {j} must hold whole numbers from 0 to {MOST}, or NaN. Encode it first (OrdinalEncoder)."
            )
        if len(np.unique(known)) > model.max_bins:
            raise InvalidData(
                f"Categorical column {j} has {len(np.unique(known))} categories, more than max_bins={model.max_bins}. Join rare"
                " ones, or raise max_bins."
            )
    mask = np.zeros(X.shape[1], dtype=np.uint8)
    mask[chosen] = 1
    return mask if mask.any() else None


def _chosen(model: Any, n_columns: int) -> Array:
    given, owner = np.asarray(model.categorical_features), type(model).__name__
    if given.dtype.kind in "UO" and given.size:
        names = _names(model, "categorical_features")
        unknown = sorted(set(given.tolist()) - set(names))
        if unknown:
            raise InvalidParameter(f"{owner}.categorical_features names the columns {unknown}, which X does not have.")
        return np.array([names.index(name) for name in given.tolist()], dtype=np.int64)
    if given.dtype.kind == "b":
        if given.shape != (n_columns,):
            raise InvalidParameter(
                f"{owner}.categorical_features is a mask of {given.size} columns, and X has {n_columns}."
            )
        return np.flatnonzero(given)
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n_columns):
        raise InvalidParameter(
            f"{owner}.categorical_features must be a mask, names, or indices from 0 to {n_columns - 1}, got"
            f" {model.categorical_features!r:.80}."
        )
    return given.astype(np.int64).ravel()


def meeting_groups(model: Any, n_columns: int) -> list[list[int]]:
    """Return sets of columns that may meet on a path; none if all may."""
    given, owner = model.interaction_cst, type(model).__name__
    if given is None:
        return []
    if isinstance(given, str):
        if given not in ("pairwise", "no_interactions"):
            raise InvalidParameter(
                f"{owner}.interaction_cst must be sets of columns, 'pairwise' or 'no_interactions', got {given!r}."
            )
        return [list(group) for group in combinations(range(n_columns), 1 if given == "no_interactions" else 2)]
    groups = [sorted({int(column) for column in group}) for group in given]
    seen = {column for group in groups for column in group}
    if any(not 0 <= column < n_columns for column in seen):
        raise InvalidParameter(
            f"{owner}.interaction_cst must hold indices from 0 to {n_columns - 1}, got {given!r:.80}."
        )
    others = sorted(set(range(n_columns)) - seen)
    return [*groups, others] if others else groups


def _names(model: Any, parameter: str) -> list[str]:
    names = model.__dict__.get("feature_names_in_")
    if names is None:
        raise InvalidParameter(
            f"{type(model).__name__}.{parameter} names columns, and X has no names. Pass a frame, or indices."
        )
    return [str(name) for name in names]
