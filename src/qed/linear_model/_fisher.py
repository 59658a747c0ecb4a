"""Fisher's discriminant: the direction along which two classes are furthest apart for their spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData
from qed.core._records import record
from qed.core._targets import as_target

Array = np.ndarray[Any, Any]


@record("discriminant")
class Discriminant:
    """A direction, and the moments of both classes along it.

    Attributes
    ----------
    coef : ndarray of shape (p,)
        Direction, of length one, from the first class to the second.
    criterion : float
        Squared difference of the projected means over the sum of the projected variances: no direction has more.
    means, variances : ndarray of shape (2,)
        Moments of the classes along the direction.
    """

    coef: Array
    criterion: float
    means: Array
    variances: Array

    def check(self) -> None:
        """Refuse what no data have."""
        if not (self.criterion >= 0 and np.all(self.variances >= 0) and np.isfinite(self.coef).all()):
            raise InvalidData("a discriminant holds numbers that no data have")


def fisher_discriminant(X: Any, y: Any) -> Discriminant:
    r"""Return the direction :math:`w \propto (S_1 + S_2)^{-1} (m_2 - m_1)` that maximises Fisher's criterion.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Labels, two of them.

    Returns
    -------
    Discriminant
        The direction, its criterion and the projected moments.

    Notes
    -----
    S is the covariance of a class about its own mean, over its number of rows. Directions in which neither class has any spread
    but the means differ would separate the classes perfectly, and raise an error: a hyperplane separates them, see
    `separating_hyperplane`.

    Examples
    --------
    >>> from qed.linear_model import fisher_discriminant
    >>> X, y = [[0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [3.0, 4.0], [5.0, 4.0], [4.0, 6.0]], [0, 0, 0, 1, 1, 1]
    >>> fisher_discriminant(X, y).coef.round(3).tolist()
    [0.707, 0.707]
    """
    first, second = _classes(X, y)
    difference = second.mean(axis=0) - first.mean(axis=0)
    within = _spread(first) + _spread(second)
    w, *_ = np.linalg.lstsq(within, difference, rcond=None)
    missed = difference - within @ w
    if np.linalg.norm(missed) > 1e-9 * max(float(np.linalg.norm(difference)), 1e-300) or not np.any(w):
        raise InvalidData(
            "The means of the classes differ in a direction without any spread, or not at all: Fisher's criterion has no"
            " maximum. Take columns that are not constant within both classes."
        )
    coef = w / np.linalg.norm(w)
    means, variances = _projected(first, second, coef)
    return Discriminant(coef, _criterion(means, variances), means, variances)


def fisher_criterion(X: Any, y: Any, direction: Any) -> float:
    """Return the squared difference of projected means over the sum of projected variances.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Labels, two of them.
    direction : array-like of shape (p,)
        Any direction; its length does not matter.

    Returns
    -------
    float
        The criterion; infinite where neither class has spread along the direction.

    Examples
    --------
    >>> from qed.linear_model import fisher_criterion
    >>> fisher_criterion([[0.0], [2.0], [6.0], [8.0]], [0, 0, 1, 1], [5.0])
    18.0
    """
    first, second = _classes(X, y)
    return _criterion(*_projected(first, second, np.asarray(direction, dtype=np.float64)))


def _classes(X: Any, y: Any) -> tuple[Array, Array]:
    rows, labels = np.asarray(X, dtype=np.float64), as_target(y, "y")
    known = np.unique(labels)
    if rows.ndim != 2 or labels.shape != rows.shape[:1] or len(known) != 2 or not np.isfinite(rows).all():
        raise InvalidData(
            f"A discriminant needs a table of finite numbers and one of two labels a row, got {len(known)} labels."
        )
    return rows[labels == known[0]], rows[labels == known[1]]


def _spread(rows: Array) -> Array:
    centred = rows - rows.mean(axis=0)
    return np.asarray(centred.T @ centred / len(rows))


def _projected(first: Array, second: Array, w: Array) -> tuple[Array, Array]:
    """Return means ``w·m`` and variances ``w'Sw`` of both classes."""
    means = np.array([part.mean(axis=0) @ w for part in (first, second)])
    return means, np.array([w @ _spread(part) @ w for part in (first, second)])


def _criterion(means: Array, variances: Array) -> float:
    total = float(variances.sum())
    return float((means[1] - means[0]) ** 2 / total) if total > 0 else np.inf
