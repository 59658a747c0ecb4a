"""Huber's regression with its scale."""

from __future__ import annotations

from typing import Annotated, Any

from qed.convex import L2, Zero
from qed.convex.solvers import ScaledNewton
from qed.core import Array, NonNegative, NonNegativeInt, PositiveInt, fitted, param
from qed.core._rules import Number
from qed.core._shared_params import STRICT, VERBOSE
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import FitOptions
from qed.linear_model._learn_scaled import learn_scaled

AtLeastOne = Annotated[float, Number(low=1.0)]


class HuberRegressor(ConvexRegressor, chunks=True):
    r"""Huber regression, robust to outliers: squared loss for small residuals, absolute loss for large ones, with estimated scale.

    Objective
    ---------
    .. math:: \min_{w, b, \sigma \ge 0} \; \sum_i s_i \left( \sigma + \sigma\, H_\epsilon\!\left(\frac{y_i - x_i^\top w - b}
              {\sigma}\right) \right) + \alpha \|w\|^2, \qquad
              H_\epsilon(z) = \begin{cases} z^2 & |z| \le \epsilon \\ 2 \epsilon |z| - \epsilon^2 & |z| > \epsilon \end{cases}

    It is convex in all of them together; at scale zero it means its limit, :math:`2 \epsilon \sum_i s_i |r_i|`.

    Certificate
    -----------
    DualityGapCertificate: no (w, b, scale) lowers the objective by more than ``gap``. It keeps one dual variable for each row.

    Cost
    ----
    Some eight steps of Newton's method, each of two passes and products of columns over the rows that changed sides:
    O(n p^2) at first, less later; O(n + p^2) memory beyond X and the rows that changed.

    See Also
    --------
    QuantileRegressor : Predicts the median or another quantile.
    SquareRootLasso : The scale of all residuals, and few coefficients.

    Notes
    -----
    A weight counts as repetition. Coefficients do not change when y is multiplied by a number, other than by it, if alpha is
    divided by it. Rows of weight zero are never outliers. ``scale_`` is zero where so many rows are met exactly that no scale
    is left to estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import HuberRegressor
    >>> x = np.arange(12.0)
    >>> y = 2 * x + 0.1 * (-1) ** x
    >>> y[10] = 90.0
    >>> model = HuberRegressor(alpha=0.0).fit(x[:, np.newaxis], y)
    >>> model.coef_.round(2), model.outliers_.nonzero()[0]
    (array([2.]), array([10]))
    """

    epsilon: AtLeastOne = param(1.35, "Residuals beyond so many scales count in proportion to their size.")
    max_iter: PositiveInt = param(100, "Most steps of the solver.")
    alpha: NonNegative = param(0.0001, "Strength of the squared l2 penalty.")
    warm_start: bool = param(False, "Whether a fit starts from the coefficients there are.")
    fit_intercept: bool = param(True, "Whether to fit an intercept, which is not penalised.")
    tol: NonNegative = param(1e-05, "Largest accepted gap, relative to the objective of the intercept alone.")
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    scale_: float = fitted("The scale: residuals are divided by it before they are compared with epsilon.", low=0)
    outliers_: Array = fitted(
        "Whether each row of the fit lies beyond epsilon scales, shape (n,).", dtype="bool", shape="(n,)", answers=False
    )

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        learn_scaled(
            self,
            X,
            y,
            sample_weight,
            # twice the joint problem, times the weights: alpha |w|² is twice (alpha / weight) |w|² / 2
            penalty=lambda rows: L2(self.alpha / rows.weight) if self.alpha > 0 else Zero(),
            unit=lambda rows: 2.0 * rows.weight,
            knee=self.epsilon,
            solver=ScaledNewton,
            options=FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose),
        )
