"""Linear models: a prediction is a weighted sum of columns, and its optimality is proved.

One rule: **a fit is a statistic followed by a solve, and the certificate decides how much work that is.**

::

    _linear_regression, _ridge, _ridge_cv   the models, as declarations
    _least_squares, _linear, _stream        what they share: learn, learn more, forget, predict
    _learn                                  which way to solve, what to store
    _solve                                  products of columns -> coefficients and proof
      _quadratic, _factors                  the objective as a quadratic, with rounding bounds; its inverse
      _triangle, _residuals                 the columns themselves, when squaring them would cost too many digits
    _dual                                   products of rows, for fewer rows than columns
    _conjugate_gradients                    products with vectors alone, for wide sparse designs
    _leave_one_out                          exact leave-one-out predictions for many strengths
    _inference                              standard errors and intervals
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.linear_model._linear import CoefficientTable
from qed.linear_model._linear_regression import LinearRegression
from qed.linear_model._ridge import Ridge
from qed.linear_model._ridge_cv import RidgeCV

__all__ = ["CoefficientTable", "LinearRegression", "Ridge", "RidgeCV"]
__getattr__ = lacking(__name__)
