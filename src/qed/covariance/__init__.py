"""Covariance matrices: of all rows, shrunk, of the rows that are not outliers, and with a sparse inverse.

One rule: **a covariance is a location, a matrix and its inverse**, and every estimator measures distances and densities by them.

::

    _covariance        what all share: distances, densities      _empirical        of all rows; shrunk by a given amount
    _shrunk            shrunk by the data: Ledoit-Wolf, OAS      _robust           of the rows that lie closest together
    _graphical_lasso   sparse inverses, with a duality gap       _graphical_lasso_cv   their penalty, by held-out likelihood
    _newton            the solver behind them
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
