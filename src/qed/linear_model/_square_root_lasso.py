"""The square-root lasso."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.convex import L1
from qed.convex.solvers import ScaledLasso
from qed.core import KW_ONLY, NonNegative, NonNegativeInt, Positive, PositiveInt, fitted, param
from qed.core._shared_params import STRICT, VERBOSE
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import FitOptions
from qed.linear_model._learn_scaled import learn_scaled


class SquareRootLasso(ConvexRegressor, chunks=True):
    r"""Square-root lasso: a lasso whose best penalty strength does not depend on the noise level.

    Objective
    ---------
    .. math:: \sqrt{\frac{\sum_i s_i (y_i - x_i^\top w - b)^2}{\sum_i s_i}} + \alpha \|w\|_1

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``. It keeps one dual variable for each row.

    Cost
    ----
    Products of columns, O(n p^2) in one pass and O(p^2) memory, up to 2000 columns; then a system of as many equations as
    columns are in use for each that joins or leaves. With more columns two passes for each of those.

    See Also
    --------
    HuberRegressor : The scale of the residuals without the outliers.

    Notes
    -----
    A weight counts as repetition. If y is multiplied by a number, so are the coefficients, for the same ``alpha``; for columns
    of length one (root mean square), noise alone has slopes below ``sqrt(2 log(2 p) / n)`` most of the time, whatever its size.
    With ``scale_`` σ the coefficients are those of a lasso of strength α σ.

    Examples
    --------
    >>> from qed.linear_model import SquareRootLasso
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]], [1.0, 2.0, 3.0, 4.5]
    >>> SquareRootLasso(alpha=0.1).fit(X, y).coef_.round(3)
    array([1.125, 0.074])
    """

    alpha: Positive = param(
        1.0, "Strength of the l1 penalty, free of the units of y; without one use LinearRegression."
    )
    _: KW_ONLY
    fit_intercept: bool = param(True, "Whether to fit an intercept, which is not penalised.")
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to the objective of the intercept alone.")
    max_iter: PositiveInt = param(10_000, "Most steps of the solver.")
    warm_start: bool = param(False, "Whether a fit starts from the coefficients there are.")
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    scale_: float = fitted("Root mean square of the residuals.", low=0)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        learn_scaled(
            self,
            X,
            y,
            sample_weight,
            penalty=lambda _: L1(self.alpha),
            unit=lambda _: 1.0,
            knee=np.inf,
            solver=ScaledLasso,
            options=FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose),
        )
