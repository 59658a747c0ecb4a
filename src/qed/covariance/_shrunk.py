"""Covariances that are shrunk by as much as the rows ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import KW_ONLY, Array, PositiveInt, fitted, param
from qed.covariance._empirical import EmpiricalCovariance

BLOCK_ENTRIES = 1 << 18  # entries of rows in memory at a time


class LedoitWolf(EmpiricalCovariance):
    r"""Ledoit-Wolf shrinkage of the covariance, by the amount that minimises the expected squared error.

    Objective
    ---------
    .. math:: \min_\rho \mathbb{E} \left\| (1 - \rho) \, \Sigma + \rho \, \mu I - \Sigma_{true} \right\|_F^2, \quad
              \mu = \operatorname{tr}(\Sigma) / p

    with expectations replaced by means over the rows.

    Certificate
    -----------
    ExactCertificate: location, shrinkage, covariance and its inverse are those of the rows, up to rounding.

    Cost
    ----
    Two passes, O(n p^2) and O(n p), and O(p^3) for the inverse. Memory beyond X: 48 p^2 bytes.

    Examples
    --------
    >>> from qed.covariance import LedoitWolf
    >>> model = LedoitWolf().fit([[0.0, 1.0], [2.0, 3.0], [1.0, 0.0], [5.0, 4.0]])
    >>> 0 < model.shrinkage_ < 1
    True
    """

    _: KW_ONLY
    block_size: PositiveInt = param(1000, "Size of scikit-learn's blocks; blocks here are rows.", kind="hint")
    shrinkage_: float = fitted("How far the covariance was drawn towards the identity.", low=0, high=1)

    def _shrinkage(self, covariance: Array, location: Array, data: Any, weight: float) -> float:
        self.shrinkage_ = ledoit_wolf_amount(data.X, data.weight, location, covariance, weight)
        return self.shrinkage_


class OAS(EmpiricalCovariance):
    r"""Oracle approximating shrinkage (OAS) of the covariance of Gaussian rows (Chen and others).

    Objective
    ---------
    .. math:: \rho = \min\left(1, \frac{q + \mu^2}{(n + 1)(q - \mu^2 / p)} \right), \; q = \operatorname{tr}(\Sigma^2) / p^2, \;
              \mu = \operatorname{tr}(\Sigma) / p

    Certificate
    -----------
    ExactCertificate: location, shrinkage, covariance and its inverse are those of the rows, up to rounding.

    Cost
    ----
    One pass, O(n p^2), and O(p^3) for the inverse. Memory beyond X: 48 p^2 bytes.

    Examples
    --------
    >>> from qed.covariance import OAS
    >>> model = OAS().fit([[0.0, 1.0], [2.0, 3.0], [1.0, 0.0], [5.0, 4.0]])
    >>> 0 < model.shrinkage_ <= 1
    True
    """

    shrinkage_: float = fitted("How far the covariance was drawn towards the identity.", low=0, high=1)

    def _shrinkage(self, covariance: Array, location: Array, data: Any, weight: float) -> float:  # noqa: ARG002
        self.shrinkage_ = oas_amount(covariance, weight)
        return self.shrinkage_


def ledoit_wolf_amount(X: Any, s: Any, location: Array, covariance: Array, weight: float) -> float:
    """Return the shrinkage of Ledoit and Wolf; the fourth moments it needs are sums of squared lengths of rows."""
    fourth, size, unit = 0.0, max(1, BLOCK_ENTRIES // len(location)), _unit(covariance)
    for first in range(0, X.shape[0], size):
        apart = (np.asarray(X[first : first + size], dtype=np.float64) - location) / unit
        lengths = np.sum(apart**2, axis=1)
        fourth += float(np.sum(lengths**2 if s is None else s[first : first + size] * lengths**2))
    return ledoit_wolf_formula(covariance / unit / unit, fourth / weight, weight)


def _unit(covariance: Array) -> float:
    """Return the power of two nearest to the deviation of a column: shares have no unit, and fourth powers a small range."""
    level = float(np.trace(covariance)) / len(covariance)
    return float(2.0 ** np.round(0.5 * np.log2(level))) if 0 < level < np.inf else 1.0


def ledoit_wolf_formula(covariance: Array, fourth: float, weight: float) -> float:
    r"""Return the shrinkage of Ledoit and Wolf from a covariance S and the mean fourth power of the lengths of centred rows.

    With m the mean variance, the amount is b / d, at most 1, where d = ||S - m I||² and b = (mean ||z||⁴ - ||S||²) / n.
    """
    p = len(covariance)
    if p == 1:
        return 0.0
    squares = float(np.sum(covariance**2))
    spread = squares - float(np.trace(covariance)) ** 2 / p
    if not spread > 0:
        return 0.0
    return float(min(max((fourth - squares) / weight, 0.0), spread) / spread)


def oas_amount(covariance: Array, weight: float) -> float:
    """Return the shrinkage of the oracle approximation."""
    p = len(covariance)
    if p == 1:
        return 0.0
    unit = _unit(covariance)
    covariance = covariance / unit / unit
    level, squares = float(np.trace(covariance)) / p, float(np.mean(covariance**2))
    below = (weight + 1) * (squares - level**2 / p)
    return 1.0 if not below > 0 else float(min((squares + level**2) / below, 1.0))


def ledoit_wolf(X: Any, *, assume_centered: bool = False, block_size: int = 1000) -> tuple[Array, float]:
    """Return the shrunk covariance of Ledoit and Wolf, and how far it was shrunk.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    assume_centered : bool
        Whether their mean is known to be zero.
    block_size : int
        Not needed here; scikit-learn's.

    Returns
    -------
    covariance : ndarray of shape (p, p)
        The covariance.
    shrinkage : float
        From 0 to 1.
    """
    model = LedoitWolf(assume_centered=assume_centered, block_size=block_size, store_precision=False).fit(X)
    return model.covariance_, model.shrinkage_


def ledoit_wolf_shrinkage(X: Any, assume_centered: bool = False, block_size: int = 1000) -> float:
    """Return how far Ledoit and Wolf shrink the covariance of rows.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    assume_centered : bool
        Whether their mean is known to be zero.
    block_size : int
        Not needed here; scikit-learn's.

    Returns
    -------
    float
        From 0 to 1.
    """
    return ledoit_wolf(X, assume_centered=assume_centered, block_size=block_size)[1]


def oas(X: Any, *, assume_centered: bool = False) -> tuple[Array, float]:
    """Return the covariance shrunk by the oracle approximation, and how far it was shrunk.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    assume_centered : bool
        Whether their mean is known to be zero.

    Returns
    -------
    covariance : ndarray of shape (p, p)
        The covariance.
    shrinkage : float
        From 0 to 1.
    """
    model = OAS(assume_centered=assume_centered, store_precision=False).fit(X)
    return model.covariance_, model.shrinkage_
