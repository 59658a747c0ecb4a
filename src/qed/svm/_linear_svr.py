"""The linear support vector regressor."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.convex import L2, EpsilonInsensitive, Squared, SquaredEpsilonInsensitive
from qed.convex.solvers import DualAscent, InteriorPoint, Multipliers, NarrowNewton, Newton, NewtonCG
from qed.core import KW_ONLY, NonNegative, NonNegativeInt, Positive, PositiveInt, Seed, param
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData
from qed.linear_model._penalised_intercept import with_constant
from qed.svm._planes import BinaryProblem, solve_binary_problems, store_planes
from qed.svm._small_tables import fit_small

SMALL, SMOOTH = NarrowNewton(), (Newton(), NewtonCG(), DualAscent())
STRAIGHT = Multipliers()
KINKS = (STRAIGHT, DualAscent(), InteriorPoint())


class LinearSVR(ConvexRegressor, chunks=True):
    r"""Linear support vector regression: errors up to ``epsilon`` cost nothing.

    Objective
    ---------
    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i \, \ell(|y_i - x_i^\top w - b|),
              \qquad \ell(r) = \max(r - \varepsilon, 0) \text{ or its square}

    The intercept is ``intercept_scaling`` times the coefficient of a constant column, which is penalised like the others.

    Certificate
    -----------
    DualityGapCertificate: no hyperplane lowers the objective by more than ``gap``. Without squares it keeps a dual variable for
    each row.

    Cost
    ----
    Squares: a few passes of O(n p^2), or of O(nnz) where p is large. Without squares: passes of O(nnz) over rows near the edge
    of the tube, or some tens of steps of O(n p + m p^2) with m rows on that edge. O(n + p^2) memory, and a copy of X with the
    constant column.

    See Also
    --------
    QuantileRegressor : No tube, a free intercept, and other quantiles than the median.

    Notes
    -----
    A weight counts as repetition. The penalty depends on the units of the columns: standardise first if they differ.

    Examples
    --------
    >>> from qed.svm import LinearSVR
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 8.0]
    >>> LinearSVR(epsilon=0.5, C=100.0, fit_intercept=False).fit(X, y).coef_.round(6)
    array([1.875])
    """

    _: KW_ONLY
    epsilon: NonNegative = param(0.0, "Half the width of the tube, in units of the target.")
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to the objective without coefficients.")
    C: Positive = param(1.0, "Weight of the losses beside the penalty.")
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = param(
        "epsilon_insensitive", "What a row costs beyond the tube: its distance, or the square of it."
    )
    fit_intercept: bool = FIT_INTERCEPT
    intercept_scaling: Positive = param(1.0, "Value of the constant column, whose coefficient is penalised.")
    dual: bool | Literal["auto"] = param(
        "auto", "Whether liblinear would solve the dual; the optimum is the same.", kind="hint"
    )
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of liblinear's order of rows. Nothing here is random.", kind="hint")
    max_iter: PositiveInt = param(1000, "Most steps of the solver.")
    strict: bool = STRICT

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        data = self._fit_data(X, y, sample_weight, finite=False)
        rows = TrainingData.of(data, centred=self.fit_intercept)
        options = FitOptions(False, self.tol, self.max_iter, self.strict, self.verbose)
        constant = float(self.intercept_scaling) if self.fit_intercept else None
        small = fit_small(self, rows, rows.y[np.newaxis], options, width=self.epsilon)
        if small is not None:
            w = small.w[0]
            self.coef_ = w if constant is None else w[:-1].copy()
            self.intercept_ = 0.0 if constant is None else float(constant * w[-1])
            return
        wider = rows if constant is None else with_constant(rows, constant)
        found = solve_binary_problems(self, wider, [BinaryProblem(None, self._declared)], self._solvers(wider), options)
        w = found[0].solution.w
        self.coef_ = np.array(w if constant is None else w[:-1])
        self.intercept_ = 0.0 if constant is None else float(constant * w[-1])
        store_planes(self, found, options, rows.seen)

    def _solvers(self, rows: TrainingData) -> Any:
        """Return the solvers that can take the declared problem; one alone where the table is small."""
        n, p = rows.X.shape
        is_table = isinstance(rows.X, np.ndarray)
        if self.loss == "squared_epsilon_insensitive":
            return (SMALL,) if is_table and SMALL.takes(n, p) else SMOOTH
        return (STRAIGHT,) if is_table and STRAIGHT.takes(n, p) else KINKS

    def _declared(self, rows: TrainingData) -> ObjectiveSpec:
        squares = self.loss == "squared_epsilon_insensitive"
        kind: Any = SquaredEpsilonInsensitive if squares else EpsilonInsensitive
        # without a tube, squares are those that everything compiled knows
        loss: Any = Squared(rows.y) if squares and self.epsilon == 0 else kind(rows.y, self.epsilon)
        unit = (2.0 if squares else 1.0) * self.C * rows.weight
        return ObjectiveSpec(loss, L2(1.0 / unit), unit)
