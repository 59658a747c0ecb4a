"""Groups of columns, as users name them: lists of columns, a label for each column, or a size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qed.core import InvalidParameter

Array = np.ndarray[Any, Any]


def group_numbers(owner: str, groups: Any, names: Any, p: int) -> Array:
    """Return the number of the group of each column, from 0 on without holes.

    Parameters
    ----------
    owner : str
        The name of the model, for messages.
    groups : object
        None, a whole number, lists of columns (by number or name), or a label for each column.
    names : array-like of str or None
        The names of the columns.
    p : int
        How many columns there are.

    Returns
    -------
    ndarray of int of shape (p,)
        Groups are numbered as they were listed, or as their labels sort.
    """
    if groups is None:
        return np.arange(p)
    if isinstance(groups, int | np.integer) and not isinstance(groups, bool):
        if not groups >= 1:
            raise _refused(owner, groups, "a size is at least 1")
        return np.arange(p) // min(int(groups), p)
    if isinstance(groups, str | bytes | dict) or not hasattr(groups, "__len__"):
        raise _refused(owner, groups, f"got {type(groups).__name__}")
    entries = list(groups)
    nested = [isinstance(one, Sequence | np.ndarray) and not isinstance(one, str | bytes) for one in entries]
    if any(nested):
        if not all(nested):
            at = nested.index(False)
            raise _refused(owner, groups, f"entry {at} is no list of columns, and others are")
        return _from_lists(owner, entries, names, p)
    if len(entries) != p:
        raise _refused(owner, groups, f"there are {len(entries)} labels for {p} columns")
    try:
        return np.asarray(np.unique(np.asarray(entries), return_inverse=True)[1], dtype=np.intp)
    except TypeError:
        raise _refused(owner, groups, "labels of several kinds cannot be sorted") from None


def _from_lists(owner: str, lists: list[Any], names: Any, p: int) -> Array:
    place = {} if names is None else {str(name): at for at, name in enumerate(names)}
    number = np.full(p, -1, dtype=np.intp)
    for group, columns in enumerate(lists):
        if not len(columns):
            raise _refused(owner, lists, f"group {group} is empty")
        for one in columns:
            at = place.get(one) if isinstance(one, str) else one
            if isinstance(at, bool) or not isinstance(at, int | np.integer) or not 0 <= at < p:
                known = f"numbers from 0 to {p - 1}" + (" or names of columns" if place else "")
                raise _refused(owner, lists, f"group {group} holds {one!r}, and columns are {known}")
            if number[at] >= 0:
                raise _refused(
                    owner, lists, f"column {_called(names, int(at))} is in group {number[at]} and in group {group}"
                )
            number[at] = group
    if (number < 0).any():
        left = int(np.flatnonzero(number < 0)[0])
        raise _refused(owner, lists, f"column {_called(names, left)} is in no group; a group of one column is allowed")
    return number


def _called(names: Any, at: int) -> str:
    return str(at) if names is None else repr(str(names[at]))


def _refused(owner: str, groups: Any, words: str) -> InvalidParameter:
    return InvalidParameter(
        f"{owner}.groups must be None (each column by itself), a number of neighbouring columns, lists of columns that hold"
        f" each column once, or one label for each column; {words}, got {groups!r:.200}."
    )


def group_weights(owner: str, weights: Any, number: Array) -> Array:
    """Return what the length of each group is multiplied by: given, or the root of its size."""
    sizes = np.bincount(number)
    if weights is None:
        return np.asarray(np.sqrt(sizes))
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != sizes.shape or not (np.isfinite(given).all() and (given > 0).all()):
        raise InvalidParameter(
            f"{owner}.weights must hold one finite number > 0 for each of the {len(sizes)} groups, got {weights!r:.200}."
            " Leave it None for the roots of their sizes."
        )
    return given
