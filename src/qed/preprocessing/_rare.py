"""Rare categories, put together into one."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def rare_ones(counts: Array, n_rows: int, min_frequency: Any, max_categories: int | None) -> Array | None:
    """Return which categories are rare, by their counts; None when no one is.

    Parameters
    ----------
    counts : ndarray of int
        How often each category occurs.
    n_rows : int
        Rows in all.
    min_frequency : int, float or None
        Rarer than so many rows, or than this share of them, is rare.
    max_categories : int or None
        The most categories to be left, the common one of the rare ones included.
    """
    rare = np.zeros(len(counts), bool)
    if min_frequency is not None:
        rare = counts < (min_frequency if isinstance(min_frequency, Integral) else min_frequency * n_rows)
    if max_categories is not None and max_categories < len(counts) - rare.sum() + 1:
        keep = max_categories - 1
        rare[np.argsort(counts, kind="stable")[: len(counts) - keep]] = True
    found = np.flatnonzero(rare)
    return found if len(found) else None


def grouping(n_categories: int, rare: Array | None) -> Array:
    """Return the place of each category when the rare ones share the last."""
    if rare is None:
        return np.arange(n_categories)
    is_rare = np.zeros(n_categories, bool)
    is_rare[rare] = True
    return np.where(is_rare, n_categories - len(rare), np.cumsum(~is_rare) - 1)
