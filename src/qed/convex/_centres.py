"""The constant that fits best: weighted quantiles where a loss is not smooth, a guarded Newton's method where it bends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex._loss import Vector


STEPS = 2100  # halvings until any bracket of float64 numbers closes


def weighted_quantile(y: Vector, c: Vector, tau: float = 0.5) -> float:
    """Return a number b with weight at most tau below it and at most 1 - tau above; the middle if there are many.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers.
    c : ndarray of shape (n,)
        Weights > 0.
    tau : float
        Level between 0 and 1.

    Examples
    --------
    >>> weighted_quantile(np.array([4.0, 1.0, 2.0]), np.ones(3))
    2.0
    >>> weighted_quantile(np.array([4.0, 1.0]), np.ones(2))
    2.5
    """
    order = np.argsort(y, kind="stable")
    below = np.cumsum(c[order])
    level = tau * below[-1]
    slack = 4 * np.finfo(np.float64).eps * below[-1]  # sums of shares such as 0.1 + 0.2 + 0.2 are ties up to rounding
    first = min(int(np.searchsorted(below, level - slack)), len(y) - 1)
    last = min(int(np.searchsorted(below, level + slack)), len(y) - 1)
    low, high = float(y[order[first]]), float(y[order[last]])
    return 0.5 * low + 0.5 * high


def root(slope: Callable[[float], float], curvature: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function crosses zero, by Newton's steps kept inside a bracket.

    Parameters
    ----------
    slope, curvature : callable
        The function and its derivative; a derivative of zero or infinity is passed over.
    low, high : float
        Numbers with ``slope(low) <= 0 <= slope(high)``.
    """
    at, width = 0.5 * low + 0.5 * high, np.inf
    for _ in range(STEPS):
        if not low < at < high:
            break
        rise = slope(at)
        if rise == 0.0:
            return at
        low, high = (at, high) if rise < 0 else (low, at)
        bend = curvature(at)
        ahead = at - rise / bend if 0.0 < bend < np.inf else np.inf
        # Newton's step, unless it leaves the bracket or the bracket has not halved: then the middle
        slow, width = high - low > 0.5 * width, high - low
        at = ahead if low < ahead < high and not slow else 0.5 * low + 0.5 * high
    return low if abs(slope(low)) <= abs(slope(high)) else high
