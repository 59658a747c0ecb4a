"""Poisson regression: counts whose mean is the exponential of a linear score."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.convex import L2, Poisson
from qed.convex.solvers import LBFGS, NarrowNewton, Newton, NewtonCG
from qed.core import KW_ONLY, Array, InvalidData, NonNegative, NonNegativeInt, PositiveInt, Regressor, fitted, param
from qed.core import _targets as targets
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_convex
from qed.linear_model._linear import predict_linear


class PoissonRegressor(Regressor, sparse=True, chunks=True, positive_target=True):
    r"""Poisson regression: a generalised linear model with log link, for counts and rates.

    Objective
    ---------
    .. math:: \sum_i s_i \, \bigl(y_i \log\tfrac{y_i}{\mu_i} - y_i + \mu_i\bigr) \Big/ \sum_i s_i + \frac{\alpha}{2} \|w\|^2,
        \qquad \mu_i = e^{x_i^\top w + b}

    which is half the mean Poisson deviance plus the penalty. The intercept is not penalised.

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``.

    Cost
    ----
    Newton's method: some five reads of X and O(n p^2 / 16) operations for second derivatives when rows are many, O(p^2)
    memory beyond X. Very many columns: conjugate gradients within it, one read a product, O(n + p) memory.

    See Also
    --------
    Ridge : Targets that may be negative.

    Notes
    -----
    A weight counts as repetition; for rates, pass the rate as y and the exposure as weight. The penalty depends on the units
    of the columns: standardise first if they differ.

    Examples
    --------
    >>> from qed.linear_model import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0.0, tol=1e-12).fit([[0.0], [1.0]], [1.0, 2.0])
    >>> model.predict([[0.0], [2.0]]).round(4)
    array([1., 4.])
    """

    _: KW_ONLY
    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    fit_intercept: bool = FIT_INTERCEPT
    solver: Literal["lbfgs", "newton-cholesky"] = param(
        "lbfgs",
        "Solver that scikit-learn would use; the optimum is the same, and solver_used_ says what was done.",
        kind="hint",
    )
    max_iter: PositiveInt = param(100, "Most steps of the solver.")
    tol: NonNegative = param(1e-7, "Largest accepted gap, relative to the objective of the intercept alone.")
    warm_start: bool = param(False, "Whether to start from the coefficients there are.")
    verbose: NonNegativeInt = VERBOSE
    strict: bool = STRICT

    coef_: Array = fitted("Coefficients, shape (p,).", dtype="float", shape="(p,)")
    intercept_: float = fitted("Intercept.")
    n_iter_: int = fitted("Steps that the solver took.", low=0, answers=False)
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows to learn from; a source (`qed.scan`) brings its target and weights, and is read again for each step.
        y : array-like of shape (n,)
            Counts or rates, not negative, and not all zero.
        """

        def declare(rows: TrainingData) -> ObjectiveSpec:
            if not rows.y.any():
                raise InvalidData(
                    "PoissonRegressor got targets that are all 0 (in rows of positive weight): the best mean is 0, whose"
                    " logarithm is -inf. There is nothing to learn from them."
                )
            return ObjectiveSpec(Poisson(rows.y), L2(float(self.alpha)))

        options = FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose)
        learn_convex(
            self,
            X,
            y,
            sample_weight,
            declare=declare,
            solvers=(NarrowNewton(), Newton(), NewtonCG(), LBFGS()),
            options=options,
        )
        return self

    def predict(self, X: Any) -> Array:
        """Predict the mean of each row.

        Returns
        -------
        ndarray of shape (n,)
            Positive numbers, float32 for float32 rows, float64 otherwise.
        """
        with np.errstate(over="ignore"):  # far outside the rows of the fit a mean may be out of range
            return np.exp(predict_linear(self, X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D²: the share of the deviance from the mean that is explained.

        Returns
        -------
        float
            One is perfect; zero is what the mean of ``y`` achieves.
        """
        t = np.log(np.asarray(self.predict(X), dtype=np.float64))
        truth = targets.read_numbers(y, len(t), self._traits(), type(self).__name__).astype(np.float64)
        weight = targets.weights(sample_weight, len(t))
        s = np.ones(len(t)) if weight is None else weight
        loss = Poisson(truth)
        constant = np.full(len(t), loss.constant(s / s.sum()))
        total = float(s @ loss.value(constant))
        rest = float(s @ loss.value(t))
        return 1.0 - rest / total if total > 0 else float(rest == 0)
