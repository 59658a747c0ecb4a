"""Ridge regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from qed.core import (
    KW_ONLY,
    Array,
    NonNegative,
    NonNegativeInt,
    NonNegativeVector,
    PositiveInt,
    Seed,
    param,
)
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._learn import Settings
from qed.linear_model._least_squares import LeastSquares
from qed.linear_model._shared_folds import predict_folds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Ridge(LeastSquares):
    r"""Ridge regression: least squares with L2 regularisation, towards zero or a prior mean.

    Objective
    ---------
    .. math:: \sum_i s_i \, \|y_i - x_i^\top w - b\|^2 + \sum_t \alpha_t \, \|w_t - w^0_t\|^2

    with one strength for all targets or one each, and prior :math:`w^0 = 0` unless given. The intercept is not penalised.

    Certificate
    -----------
    LeastSquaresCertificate: no (w, b) lowers the objective by more than ``gap``.

    Cost
    ----
    One pass over the rows, O(n p^2) operations and O(p^2) memory beyond X, which is never copied; one Cholesky
    factorisation for each distinct strength. With no more rows than columns O(n^2 p) and O(n^2). Sparse designs of more
    than 128 columns take two products a step of conjugate gradients, and O(n + p) memory, as long as that is cheaper.

    See Also
    --------
    RidgeCV : Chooses the strength by exact leave-one-out.
    LinearRegression : No penalty.

    Notes
    -----
    A weight counts as repetition. The penalty depends on the units of the columns: standardise first if they differ.
    ``coefficient_table`` refuses: a penalised estimate is biased by an amount that the data do not tell.

    Examples
    --------
    >>> from qed.linear_model import Ridge
    >>> Ridge(alpha=5.0, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0]).coef_.round(6)
    array([0.5])
    """

    alpha: NonNegative | NonNegativeVector = param(1.0, "Strength of the penalty; one number, or one for each target.")
    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    max_iter: PositiveInt | None = param(
        None, "Most steps of the iterative solver, which only wide sparse designs need."
    )
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    solver: Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] = param(
        "auto",
        "Solver that scikit-learn would use; the optimum is the same, and solver_used_ says what was done.",
        kind="hint",
    )
    positive: bool = param(
        False,
        "Whether coefficients must be nonnegative.",
        kind="refused",
        instead="Use ElasticNet(alpha / n, l1_ratio=0.0, positive=True) for n rows, which has the same optimum.",
    )
    random_state: Seed = param(None, "Seed of scikit-learn's stochastic solvers. Nothing here is random.", kind="hint")
    prior: Array | None = param(
        None, "Coefficients that the penalty shrinks towards, shape (p,) or (m, p); None means zero."
    )
    strict: bool = STRICT
    warm_start: bool = param(False, "Whether an iterative fit starts from the coefficients there are.")
    verbose: NonNegativeInt = VERBOSE

    def _predict_folds(
        self, X: Any, y: Any, sample_weight: Any, folds: Sequence[Any], settings: Sequence[Mapping[str, Any]]
    ) -> Iterator[Array] | None:
        """Predict the test rows of all folds for many strengths from one pass; None where that is not the same."""
        return predict_folds(self, X, y, sample_weight, folds, settings)

    def _settings(self) -> Settings:
        return Settings(
            alpha=self.alpha,
            prior=self.prior,
            intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            strict=self.strict,
            verbose=self.verbose,
        )
