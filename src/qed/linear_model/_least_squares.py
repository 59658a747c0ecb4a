"""What least-squares models share: a solved one predicts and shows its errors; most can also learn more, and forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.certificates import LeastSquaresCertificate
from qed.core import Array, Regressor, fitted
from qed.data import Moments
from qed.linear_model._inference import coefficient_table
from qed.linear_model._learn import Settings, learn
from qed.linear_model._linear import one_for_each_target, predict_linear
from qed.linear_model._shared_columns import predict_columns
from qed.linear_model._stream import forget, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.linear_model._linear import CoefficientTable


def _have_its_columns(model: Any, moments: Moments) -> str:
    p = model.n_features_in_
    return "" if moments.n_features == p else f"should be of {p} columns, and are of {moments.n_features}"


class Solved(Regressor, sparse=True, multi_output=True):
    """A regressor whose coefficients solve a least-squares problem."""

    coef_: Array = fitted("Coefficients, shape (p,) or (m, p).", dtype="float", shape="(p,) or (m, p)")
    intercept_: float | Array = fitted("Intercept, a number or one for each target.", check=one_for_each_target)
    rank_: int = fitted(
        "Directions in which the fit is determined by more than rounding. Without a penalty the numerical rank of the design,"
        " centred if there is an intercept (after conjugate gradients an upper bound on it); with one, the number of columns.",
        low=0,
    )
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    n_iter_: int = fitted("Steps of the iterative solver, 1 for a direct one.", low=0, answers=False)
    squared_residuals_: float | Array = fitted(
        "Weighted sum of squared residuals, for each target.", low=0, shape="(m,)", check=one_for_each_target
    )
    moments_: Moments = fitted(
        "Means and products of all columns; absent after a fit that did not form them.",
        optional=True,
        check=_have_its_columns,
        answers=False,
    )
    certificate_: LeastSquaresCertificate = fitted("What is proved about the coefficients.")

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows with the columns of the fit; those of a source are read chunk by chunk, and only the predictions kept.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Float32 for float32 rows, float64 otherwise.
        """
        return predict_linear(self, X)

    def coefficient_table(self, level: float = 0.95) -> CoefficientTable:
        """Return the coefficients with standard errors and confidence intervals, of a fit without penalty.

        Parameters
        ----------
        level : float
            Probability that an interval covers its coefficient.

        Returns
        -------
        CoefficientTable
            Valid for linear data with independent noise of equal variance.

        Raises
        ------
        InvalidData
            When they would not be valid, with the reason: a penalty, dependent columns, too few rows.
        """
        self._check_is_fitted()
        settings = self._settings()
        return coefficient_table(self, level, alpha=settings.alpha, intercept=settings.intercept)

    def _settings(self) -> Settings:
        """Translate the parameters to what a fit needs to know."""
        raise NotImplementedError


class LeastSquares(Solved):
    """A regressor whose coefficients follow from the means and products of the columns."""

    def _predict_columns(self, X: Any, y: Any, sample_weight: Any, folds: Sequence[Any]) -> Callable[[Any], Any] | None:
        """Predict the test rows of all folds for many sets of columns from one pass; None where that is not the same."""
        settings = self._settings()
        if settings.prior is not None or np.ndim(settings.alpha):
            return None
        return predict_columns(self, float(settings.alpha), X, y, sample_weight, folds)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows to learn from; a source from ``qed.scan`` brings its own target.
        """
        learn(self, X, y, sample_weight, self._settings())
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been there from the start."""
        merge(self, X, y, sample_weight, self._settings())
        return self

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt before, as if they had never been there, up to a tracked rounding.

        This corrects a model; it is no guarantee of privacy.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            The rows to take out.
        y : array-like of shape (n,) or (n, m)
            Their targets.
        sample_weight : array-like of shape (n,), optional
            The weights they were learnt with.

        Returns
        -------
        self
            The model of the rows that remain.

        Raises
        ------
        ForgetError
            When the rows cannot have been learnt, or rounding would be visible in what remains.
        """
        forget(self, X, y, sample_weight, self._settings())
        return self
