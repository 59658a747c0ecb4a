"""Dual points with ``sum(c u) = 0``: what a free intercept asks, without leaving the domain of the conjugate.

Three ways, by the shape of the domain: shift where every number is allowed; shrink the heavier sign side where the domain is
an interval around zero; transport mass where each row is a probability over classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector


def centre(u: Vector, c: Vector) -> Vector:
    """Return u less its weighted mean, for losses whose dual variable may be any number.

    Parameters
    ----------
    u : ndarray of shape (n,) or (n, k)
        Dual point.
    c : ndarray of shape (n,)
        Weights > 0.
    """
    total = c.sum()
    u = u - c @ u / total
    return np.asarray(u - c @ u / total)  # the second time takes out what rounding left


def shrink_heavier_side(u: Vector, c: Vector) -> Vector:
    """Return u with the positive or the negative entries, whichever weigh more, scaled down until ``sum(c u) = 0``.

    Every entry moves towards zero, so that the result stays in any domain that is an interval around zero.

    Parameters
    ----------
    u : ndarray of shape (n,) or (n, k)
        Dual point; each column is balanced by itself.
    c : ndarray of shape (n,)
        Weights > 0.

    Examples
    --------
    >>> shrink_heavier_side(np.array([1.0, 0.5, -0.75]), np.ones(3))
    array([ 0.5 ,  0.25, -0.75])
    """
    if u.ndim == 2:
        return np.stack([shrink_heavier_side(column, c) for column in u.T], axis=1)
    peak = float(np.max(np.abs(u), initial=0.0))
    if peak == 0.0:
        return u
    mass = c * (u / peak)  # of ordinary size, however large or small u is; np.sum adds in pairs, with errors of log n
    over, under = float(np.sum(mass[mass > 0])), -float(np.sum(mass[mass < 0]))
    if over == under:
        return u
    if over > under:
        return np.where(u > 0, (under / over) * u, u)
    return np.where(u < 0, (over / under) * u, u)


def transport(v: Vector, c: Vector, marginal: Vector) -> Vector:
    """Return rows of probabilities near v whose weighted sums over rows are those asked for.

    Columns that weigh too much are scaled down; what rows and columns then lack is added as one outer product, which
    meets both at once because both lack the same in total.

    Parameters
    ----------
    v : ndarray of shape (n, k)
        Rows that are >= 0 and sum to one.
    c : ndarray of shape (n,)
        Weights > 0.
    marginal : ndarray of shape (k,)
        Wanted values of ``c @ v``, with ``sum(marginal) = sum(c)``.

    Examples
    --------
    >>> v = transport(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    >>> v
    array([[0.25, 0.75],
           [0.25, 0.75]])
    """
    columns = np.sum(c[:, np.newaxis] * v, axis=0)
    heavy = columns > marginal
    scale = np.where(heavy, marginal / np.where(heavy, columns, 1.0), 1.0)
    v = v * scale
    lack = np.where(heavy, 0.0, marginal - columns)
    total = lack.sum()
    if not total > 0.0:
        return v
    rest = np.maximum(1.0 - v.sum(axis=1), 0.0)
    return np.asarray(v + np.multiply.outer(rest, lack / total))
