"""Quantile regression."""

from __future__ import annotations

from typing import Any, Literal

from qed.convex import L1, Quantile, Zero
from qed.convex.solvers import InteriorPoint
from qed.core import KW_ONLY, Fraction, NonNegative, NonNegativeInt, PositiveInt, param
from qed.core._shared_params import STRICT, VERBOSE
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_convex


class QuantileRegressor(ConvexRegressor, chunks=True):
    r"""Quantile regression (pinball loss) with L1 regularisation.

    Objective
    ---------
    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i \, \rho_q(y_i - x_i^\top w - b) + \alpha \|w\|_1,
              \qquad \rho_q(r) = q \max(r, 0) + (1 - q) \max(-r, 0)

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``. It keeps one dual variable for each row.

    Cost
    ----
    A few passes of O(n p^2) that tell which rows are near their predicted quantile; some twenty systems of p equations over
    those; O(n + p^2) memory beyond X, and a copy of the rows that are near. More columns than rows, and many: O(n^2 p).

    See Also
    --------
    HuberRegressor : Outliers count little, and the mean of the others is predicted.

    Notes
    -----
    A weight counts as repetition. Where several models are equally good, one at a corner is returned: as many rows are met
    exactly as there are coefficients that are not zero, and an intercept.

    Examples
    --------
    >>> from qed.linear_model import QuantileRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 4.0, 100.0]
    >>> QuantileRegressor(alpha=0.0).fit(X, y).coef_.round(6)
    array([1.])
    """

    _: KW_ONLY
    quantile: Fraction = param(0.5, "The quantile to predict, between 0 and 1.")
    alpha: NonNegative = param(1.0, "Strength of the l1 penalty.")
    fit_intercept: bool = param(True, "Whether to fit an intercept, which is not penalised.")
    solver: Literal["highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"] = param(
        "highs",
        "Linear program solver that scikit-learn would use; the optimum is the same, and solver_used_ says what was done.",
        kind="hint",
    )
    solver_options: dict[str, Any] | None = param(
        None, "Options of scikit-learn's solver. tol and max_iter are what can be asked for here.", kind="hint"
    )
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to the objective of the intercept alone.")
    max_iter: PositiveInt = param(1000, "Most steps of the solver.")
    strict: bool = STRICT
    warm_start: bool = param(False, "Whether a fit starts from the coefficients there are.")
    verbose: NonNegativeInt = VERBOSE

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        def declare(rows: TrainingData) -> ObjectiveSpec:
            return ObjectiveSpec(Quantile(rows.y, self.quantile), L1(self.alpha) if self.alpha > 0 else Zero())

        options = FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose)
        learn_convex(self, X, y, sample_weight, declare=declare, solvers=[InteriorPoint()], options=options)
