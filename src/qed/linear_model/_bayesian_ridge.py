"""Bayesian ridge regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import AscentCertificate
from qed.core import KW_ONLY, Array, NonNegative, NonNegativeInt, PositiveInt, Regressor, fitted, param
from qed.core._events import Progress
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.linear_model._evidence import (
    LEAST,
    Climbed,
    GramDesign,
    Hyper,
    Rows,
    SpectralDesign,
    certify,
    climb,
    evaluate,
    read_rows,
)
from qed.linear_model._linear import predict_linear

if TYPE_CHECKING:
    from qed.linear_model._evidence import Point

BLOCK = 1 << 20  # entries of rows in memory at a time while deviations are found


class EvidenceRegressor(Regressor, sparse=True):
    """A linear model whose precisions maximise the evidence."""

    _: KW_ONLY
    max_iter: PositiveInt = param(300, "Most steps.")
    tol: NonNegative = param(
        1e-3,
        "The ascent ends when a step changes coefficients, and the log evidence of all rows, by no more than this.",
    )
    alpha_1: NonNegative = param(1e-6, "Shape of the gamma prior of the noise precision.")
    alpha_2: NonNegative = param(1e-6, "Rate of the gamma prior of the noise precision.")
    lambda_1: NonNegative = param(1e-6, "Shape of the gamma prior of a precision of coefficients.")
    lambda_2: NonNegative = param(1e-6, "Rate of the gamma prior of a precision of coefficients.")
    compute_score: bool = param(False, "Whether to keep the objective of each step in ``scores_``.")
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    verbose: NonNegativeInt = VERBOSE
    method: Literal["fixed-point", "em"] = param(
        "fixed-point", "Steps of MacKay's fixed point, or of expectation and maximisation, which are slower."
    )

    coef_: Array = fitted("Posterior mean of the coefficients, shape (p,).", shape="(p,)")
    intercept_: float = fitted("Intercept.")
    alpha_: float = fitted("Precision of the noise: one over its variance.", above=0)
    scores_: Array = fitted(
        "The objective at the start and after each step, where ``compute_score`` asks for it.",
        shape="(t,)",
        answers=False,
    )
    n_iter_: int = fitted("Steps.", low=0, answers=False)
    sigma_: Array = fitted("Posterior covariance of the coefficients that are kept, shape (k, k).", shape="(c, c)")
    X_offset_: Array = fitted("What columns are centred at, shape (p,).", shape="(p,)")
    X_scale_: Array = fitted("What they are divided by: ones, shape (p,).", shape="(p,)")
    certificate_: AscentCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the precisions, and the posterior of the coefficients.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows to learn from; a source from ``qed.scan`` brings its own target.
        """
        rows = read_rows(self, X, y, sample_weight)
        with (
            Progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress,
            one_blas_thread(rows.G.size),
        ):
            outcome = self._learn(rows, progress)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _learn(self, rows: Rows, progress: Progress) -> str:
        """Fit from products of columns; return the outcome."""
        raise NotImplementedError

    def _is_pruning(self, precision: Array) -> bool:  # noqa: ARG002
        """Say whether a step leaves columns out."""
        return False

    def _hyper(self, *, shared: bool) -> Hyper:
        return Hyper(self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2, shared)

    def _store(self, rows: Rows, climbed: Climbed, coef: Array, scores: list[float], steps: int) -> None:
        self.coef_ = coef
        self.intercept_ = float(rows.mean_y - rows.mean_x @ coef)
        self.alpha_ = climbed.point.alpha
        self.n_iter_ = steps
        self.scores_ = np.array(scores if self.compute_score else [], dtype=np.float64)
        self.X_offset_, self.X_scale_ = rows.mean_x.copy(), np.ones(len(coef))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        return_std : bool
            Whether to return the standard deviation of the predictive distribution too.

        Returns
        -------
        ndarray of shape (n,), or two of them
            Means of the predictive distributions, and their standard deviations: noise, and what is not known of the coefficients.
        """
        means = predict_linear(self, X)
        if not return_std:
            return means
        X = self._new_data(X)
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        kept, sigma = self._kept(), self.sigma_
        variances = np.empty(X.shape[0])
        size = max(1, BLOCK // X.shape[1])
        for first in range(0, X.shape[0], size):
            part = X[first : first + size]
            x = (np.asarray(part if isinstance(part, np.ndarray) else part.toarray(), np.float64) - self.X_offset_)[
                :, kept
            ]
            variances[first : first + size] = np.einsum("ij,ij->i", x @ sigma, x)
        return means, np.sqrt(np.maximum(variances, 0.0) + 1 / self.alpha_).astype(means.dtype, copy=False)

    def _kept(self) -> Any:
        """Return the columns whose posterior covariance is stored."""
        return slice(None)


class BayesianRidge(EvidenceRegressor):
    r"""Bayesian ridge regression: the penalty strength maximises the evidence, and predictions have standard deviations.

    Objective
    ---------
    .. math:: \max_{\alpha, \lambda} \log N\!\left(y \mid b, \; \lambda^{-1} X X^\top + \alpha^{-1} I\right)
              + \log \Gamma(\alpha \mid a_1, a_2) + \log \Gamma(\lambda \mid l_1, l_2)

    the probability of the targets with the coefficients integrated out (prior :math:`w \sim N(0, \lambda^{-1} I)`), and gamma
    priors of the two precisions, up to constants. Coefficients are the posterior mean: ridge regression of strength
    :math:`\lambda / \alpha`. A sample weight repeats a row.

    Certificate
    -----------
    AscentCertificate: the evidence after each step, none of which lowered it, and what one more step would add.

    Cost
    ----
    One pass over the rows, O(n p^2); one eigendecomposition, O(p^3); O(p) a step. Memory beyond X: 48 p^2 bytes.

    See Also
    --------
    ARDRegression : One precision for each coefficient.
    BayesianLinearRegression : Any Gaussian prior, and the evidence itself.

    Notes
    -----
    Parameters and attributes have scikit-learn's names. The ascent ends when coefficients *and* the evidence rest, so that
    precisions may be closer to the maximum than scikit-learn's. Steps never lower the evidence: one of the fixed-point method that
    would is replaced by one of expectation and maximisation.

    Examples
    --------
    >>> from qed.linear_model import BayesianRidge
    >>> model = BayesianRidge().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> mean, deviation = model.predict([[1.0, 1.0]], return_std=True)
    >>> mean.round(6)
    array([1.])
    """

    _: KW_ONLY
    alpha_init: NonNegative | None = param(None, "First noise precision; None means one over the variance of y.")
    lambda_init: NonNegative | None = param(None, "First precision of coefficients; None means 1.")

    lambda_: float = fitted("Precision of the coefficients.", above=0)
    sigma_: Array = fitted("Posterior covariance of the coefficients, shape (p, p).", shape="(p, p)")

    def _learn(self, rows: Rows, progress: Progress) -> str:
        values, vectors = np.linalg.eigh(rows.G)
        design = SpectralDesign(np.maximum(values, 0.0), vectors.T @ rows.c, rows.yy, rows.weight)
        hyper = self._hyper(shared=True)
        alpha = first_alpha(rows) if self.alpha_init is None else max(float(self.alpha_init), LEAST)
        first = 1.0 if self.lambda_init is None else max(float(self.lambda_init), LEAST)
        start: Point = evaluate(design, alpha, np.full(len(values), first), hyper)
        climbed, steps = climb(design, start, hyper, self, progress, self.max_iter)
        # eigenvectors lose columns much smaller than others: where the columns themselves are better conditioned, the last point
        # is found from them
        whole, at = GramDesign(rows.G, rows.c, rows.yy, rows.weight), climbed.point
        exact = evaluate(whole, at.alpha, at.precision, hyper)
        if exact.posterior.condition <= at.posterior.condition:
            change = exact.value - at.value  # what was rounded, the same all the way
            climbed = climbed._replace(point=exact, trace=[value + change for value in climbed.trace])
            coef, self.sigma_ = exact.posterior.mean, whole.covariance(at.alpha, at.precision)[0]
            self.certificate_ = certify(whole, climbed, hyper, self, rows)
        else:
            coef, self.sigma_ = vectors @ at.posterior.mean, (vectors * at.posterior.variance) @ vectors.T
            self.certificate_ = certify(design, climbed, hyper, self, rows)
        self._store(rows, climbed, coef, climbed.trace, steps)
        self.lambda_ = float(at.precision[0])
        return climbed.outcome


def first_alpha(rows: Rows) -> float:
    """Return one over the variance of the targets."""
    total = rows.moments.YY[0, 0]
    return 1.0 / (float(total) / rows.weight + np.finfo(np.float64).eps)
