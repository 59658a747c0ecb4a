"""What a user may ask of the trees of boosting: directions, categories, and columns that may meet."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from qed.core import InvalidParameter
from qed.tree._directions import directions as read_directions

Array = np.ndarray[Any, Any]


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
    categories = model._category_mask()  # noqa: SLF001
    if categories is not None and values[categories].any():
        raise InvalidParameter("Categorical features cannot have monotonic constraints: categories have no order.")
    return values


def category_columns(model: Any) -> Array | None:
    """Return whether each column holds categories; None if none does."""
    mask = model._category_mask()  # noqa: SLF001
    return None if mask is None else mask.astype(np.uint8)


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
