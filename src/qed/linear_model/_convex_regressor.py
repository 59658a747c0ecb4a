"""What regressors of one target share: predictions, a state that can be checked; and the fit of those that are convex."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from qed.certificates import DualityGapCertificate
from qed.core import Array, Regressor, fitted
from qed.linear_model._inference import refused_table
from qed.linear_model._linear import predict_linear


class SingleTarget(Regressor, sparse=True):
    """A regressor of one target that is linear in the columns, without classical standard errors."""

    coef_: Array = fitted("Coefficients, shape (p,).", dtype="float", shape="(p,)")
    intercept_: float = fitted("Intercept.")

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Returns
        -------
        ndarray of shape (n,)
            Float32 for float32 rows, float64 otherwise.
        """
        return predict_linear(self, X)

    def coefficient_table(self, level: float = 0.95) -> NoReturn:  # noqa: ARG002
        """Refuse: classical standard errors are valid for least squares without a penalty alone.

        Parameters
        ----------
        level : float
            Probability that an interval would cover its coefficient.

        Raises
        ------
        InvalidData
            With the reason, and what to use instead.
        """
        refused_table(self)


class ConvexRegressor(SingleTarget):
    """One whose coefficients solve a convex problem."""

    n_iter_: int = fitted("Steps of the solver.", low=0, answers=False)
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        self._learn(X, y, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Solve the problem that the parameters declare."""
        raise NotImplementedError
