"""Coefficients in units that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter

Array = np.ndarray[Any, Any]


def standardised_coefficients(model: Any, X: Any, y: Any = None) -> Array:
    """Return coefficients times the standard deviation of their columns: what one deviation of each column is worth.

    Parameters
    ----------
    model : fitted linear model
        With ``coef_``.
    X : array-like of shape (n, p)
        Rows that say how much each column varies.
    y : array-like of shape (n,), optional
        Targets; coefficients are then divided by their standard deviation, and have no unit.

    Returns
    -------
    ndarray of the shape of ``coef_``
        Comparable between columns where these are not nearly dependent.

    Examples
    --------
    >>> from qed.inspection import standardised_coefficients
    >>> from qed.linear_model import LinearRegression
    >>> X, y = [[0.0, 100.0], [1.0, 300.0], [2.0, 100.0]], [1.0, 4.0, 3.0]
    >>> standardised_coefficients(LinearRegression().fit(X, y), X).round(3).tolist()
    [0.816, 0.943]
    """
    coef = getattr(model, "coef_", None)
    if coef is None:
        raise InvalidParameter(f"{type(model).__name__} has no coef_. Pass a fitted linear model.")
    rows = np.asarray(X.toarray() if hasattr(X, "tocsr") else X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != np.shape(coef)[-1] or not len(rows):
        raise InvalidData(f"X must have rows of {np.shape(coef)[-1]} columns, got shape {rows.shape}.")
    scaled = np.asarray(coef, dtype=np.float64) * rows.std(axis=0)
    if y is None:
        return np.asarray(scaled)
    spread = float(np.asarray(y, dtype=np.float64).std())
    if not spread > 0:
        raise InvalidData("y does not vary: there is no deviation to divide by.")
    return np.asarray(scaled / spread)
