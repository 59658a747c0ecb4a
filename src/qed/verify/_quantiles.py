"""Weighted quantiles, checked: the rule of the fit leaves one number, or a few where the rounding of sums decides.

A fit takes the least value with at least a share of all weight at or below it, and the middle between it and the next where the
weight is that share, up to a slack that it names. Every other number between the two has the same loss, and is none of the fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._rows import DOUBLE, EXTENDED

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
TIE_TOLERANCE = 1e-12  # of all weight: how far a share may be off, for boosted trees


def rounding_of_halves(n: int) -> float:
    """Return how far, in units of all weight, the sums of a tree let two halves be apart."""
    return 2 * (n + 16) * DOUBLE


def quantiles(values: Array, s: Array, level: float, slack: float, *, middle: bool = True) -> Array:
    """Return the numbers that a fit can state for the quantile of some values.

    Parameters
    ----------
    values, s : ndarray of shape (n,)
        Values and their weights, all positive.
    level : float
        The share of the weight.
    slack : float
        Up to what part of all weight a share counts as reached exactly.
    middle : bool
        Whether the middle to the next value is taken where it is.
    """
    order = np.argsort(values, kind="stable")
    ranked, reached = np.asarray(values)[order], np.cumsum(np.asarray(s)[order].astype(EXTENDED))
    total, last = reached[-1], len(ranked) - 1
    goal, rounding = EXTENDED(level) * total, (len(ranked) + 16) * DOUBLE * total
    ends = [int(np.searchsorted(reached, goal - slack * total + shift)) for shift in (-rounding, rounding)]
    places = np.arange(min(ends[0], last), min(ends[1], last) + 1)
    here, after = ranked[places], ranked[np.minimum(places + 1, last)]
    if not middle:
        return np.unique(here)
    off = np.abs(reached[places] - goal)
    is_apart, is_met = off >= slack * total - rounding, off <= slack * total + rounding
    return np.unique(np.concatenate([here[is_apart], (here / 2 + after / 2)[is_met]]))


def distance_from_quantile(values: Array, s: Array, level: float, slack: float, stated: float) -> float:
    """Return how far a number is from the nearest that a fit can state."""
    return float(np.min(np.abs(quantiles(values, s, level, slack) - stated)))


def huber_levels(y: Array, s: Array, share: float) -> Array:
    """Return the thresholds that a fit of boosted trees can state: that share of the errors of the median, or the largest."""
    errors = [np.abs(y - middle) for middle in quantiles(y, s, 0.5, TIE_TOLERANCE)]
    levels = [(one, level) for one in errors for level in quantiles(one, s, share, TIE_TOLERANCE)]
    return np.array([level if level > 0 else float(one.max()) or 1.0 for one, level in levels])


def off_medians(value: Array, local: Array, target: Array, s: Array) -> Iterator[int]:
    """Yield the numbers of the groups of rows that state another median than the fit of a tree takes.

    Parameters
    ----------
    value : ndarray of shape (m,)
        What each group states.
    local, target, s : ndarray of shape (n,)
        The group of each row, its target and its weight.
    """
    order = np.argsort(local, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(local[order])) + 1):
        group = int(local[own[0]])
        apart = distance_from_quantile(target[own], s[own], 0.5, rounding_of_halves(len(own)), float(value[group]))
        if not apart <= 4 * DOUBLE * float(np.abs(target[own]).max()):
            yield group
