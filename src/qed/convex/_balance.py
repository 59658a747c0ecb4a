"""Moving a dual point, inside its domain, to where the intercept asks for it: weighted sums of zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector

__all__ = ["shrink_heavier_side", "transport"]


def shrink_heavier_side(u: Vector, c: Vector) -> Vector:
    """Return u with the sign that weighs more scaled down until ``sum(c u) = 0``; every domain holds zero and is convex."""
    for _ in range(2):  # the second time takes out what rounding left
        over, under = float(c @ np.maximum(u, 0.0)), float(c @ np.maximum(-u, 0.0))
        if over > under:
            u = np.where(u > 0, under / over, 1.0) * u
        elif under > over:
            u = np.where(u < 0, over / under, 1.0) * u
    return np.asarray(u)


def transport(v: Vector, c: Vector, sums: Vector) -> Vector:
    """Return rows of probabilities near v whose weighted sums over rows are ``sums``.

    Columns that weigh too much are scaled down; what rows then lack goes to the columns that lack it.

    Parameters
    ----------
    v : ndarray of shape (n, k)
        Rows on the simplex.
    c : ndarray of shape (n,)
        Weights.
    sums : ndarray of shape (k,)
        What each column shall weigh, ``sum(sums) = sum(c)``.
    """
    heavy = c @ v
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(heavy > sums, sums / heavy, 1.0)
    v = v * factor
    row_lack = np.maximum(1.0 - v.sum(axis=1), 0.0)
    column_lack = np.maximum(sums - c @ v, 0.0)
    total = float(column_lack.sum())
    return v if total <= 0 else np.asarray(v + np.multiply.outer(row_lack, column_lack / total))
