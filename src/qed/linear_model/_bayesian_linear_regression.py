"""Bayesian linear regression with a Gaussian prior: everything by formula."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import KW_ONLY, Array, InvalidData, Matrix, NonNegativeInt, Positive, Regressor, Vector, fitted, param
from qed.core._shared_params import FIT_INTERCEPT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.data import Moments
from qed.data._kernels import UNIT
from qed.distributions import MultivariateGaussian, StudentT
from qed.distributions._distribution import definite
from qed.linear_model._evidence import LOG_TWO_PI, read_rows
from qed.linear_model._linear import predict_linear


def _have_its_columns(model: Any, moments: Moments) -> str:
    p = model.n_features_in_
    return "" if moments.n_features == p else f"should be of {p} columns, and are of {moments.n_features}"


class BayesianLinearRegression(Regressor, sparse=True):
    r"""Bayesian linear regression with a Gaussian prior: posterior, predictive distribution and evidence in closed form.

    Objective
    ---------
    Nothing is optimised. With prior :math:`w \sim N(m_0, S_0)` and noise of variance :math:`\sigma^2` the posterior is

    .. math:: w \sim N(m_N, S_N), \quad S_N^{-1} = S_0^{-1} + \sigma^{-2} X^\top X, \quad
              S_N^{-1} m_N = S_0^{-1} m_0 + \sigma^{-2} X^\top y.

    With ``noise_variance=None`` the noise precision has a gamma prior, the prior covariance of the coefficients is
    :math:`\sigma^2 S_0`, and the posterior of the coefficients is a t distribution. The intercept is the last coefficient, of a
    column of ones, with a prior like the others. A sample weight repeats a row.

    Certificate
    -----------
    LikelihoodCertificate: mean and covariance are those of the posterior, up to rounding. The likelihood that it states is the
    evidence.

    Cost
    ----
    One pass over the rows, O(n p^2), and O(p^3). Memory beyond X: 64 p^2 bytes. ``partial_fit`` keeps no rows.

    See Also
    --------
    BayesianRidge : Finds the precisions of prior and noise from the data.

    Notes
    -----
    The posterior mean is ridge regression of strength ``noise_variance / prior_covariance``. ``log_evidence_`` compares models: it
    is the logarithm of the probability of the targets, coefficients integrated out.

    Examples
    --------
    >>> from qed.linear_model import BayesianLinearRegression
    >>> model = BayesianLinearRegression(fit_intercept=False).fit([[1.0]], [2.0])
    >>> model.coef_.round(6).tolist(), model.covariance_.round(6).tolist()
    ([1.0], [[0.5]])
    >>> mean, deviation = model.predict([[1.0]], return_std=True)
    >>> round(float(deviation[0] ** 2), 6)
    1.5
    """

    prior_covariance: Positive | Matrix = param(
        1.0, "Prior covariance of the coefficients, the intercept last: a variance for all, or a matrix."
    )
    _: KW_ONLY
    prior_mean: Vector | None = param(None, "Prior mean of the coefficients, the intercept last; None means zero.")
    noise_variance: Positive | None = param(1.0, "Variance of the targets about the line; None to learn it.")
    noise_shape: Positive = param(1.0, "Shape of the gamma prior of the noise precision, where it is learnt.")
    noise_rate: Positive = param(1.0, "Rate of the gamma prior of the noise precision, where it is learnt.")
    fit_intercept: bool = FIT_INTERCEPT
    verbose: NonNegativeInt = VERBOSE

    coef_: Array = fitted("Posterior mean of the coefficients, shape (p,).", shape="(p,)")
    intercept_: float = fitted("Posterior mean of the intercept.")
    covariance_: Array = fitted(
        "Posterior covariance of the coefficients, the intercept last; where the noise is learnt, the scale matrix of their t"
        " distribution.",
        shape="(p, p) or (p + 1, p + 1)",
    )
    noise_shape_: float = fitted("Shape of the posterior of the noise precision, where it is learnt.", above=0)
    noise_rate_: float = fitted("Rate of the posterior of the noise precision, where it is learnt.", above=0)
    log_evidence_: float = fitted("Logarithm of the marginal likelihood of the targets.")
    log_occam_factor_: float = fitted(
        "Logarithm of the Occam factor: evidence less the largest likelihood under the posterior mean."
    )
    moments_: Moments = fitted("The statistic of the rows.", check=_have_its_columns, answers=False)
    certificate_: LikelihoodCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the posterior.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows to learn from; a source from ``qed.scan`` brings its own target.
        """
        self._solve(read_rows(self, X, y, sample_weight).moments)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take further rows in: the posterior so far is their prior.

        Returns
        -------
        self
            The posterior of all rows so far.
        """
        is_first = not self.__sklearn_is_fitted__()
        rows = read_rows(self, X, y, sample_weight, reset=is_first)
        self._solve(rows.moments if is_first else self.moments_.merge(rows.moments))
        return self

    def _prior(self, q: int) -> tuple[Array, Array]:
        """Return prior mean and precision."""
        mean = np.zeros(q) if self.prior_mean is None else np.asarray(self.prior_mean, dtype=np.float64)
        if mean.shape != (q,):
            raise InvalidData(
                f"prior_mean must hold {q} numbers, one for each coefficient, intercept last; got {mean.shape}."
            )
        given = np.asarray(self.prior_covariance, dtype=np.float64)
        if given.ndim == 0:
            return mean, np.eye(q) / float(given)
        return mean, np.linalg.inv(definite(given, q, "BayesianLinearRegression.prior_covariance"))

    def _solve(self, moments: Moments) -> None:
        p, weight = moments.n_features, moments.weight
        about = moments.about_origin()
        q = p + self.fit_intercept
        G, c, yy = np.empty((q, q)), np.empty(q), float(about.YY[0, 0])
        G[:p, :p], c[:p] = about.XX, about.XY[:, 0]
        if self.fit_intercept:
            G[p, :p] = G[:p, p] = weight * moments.mean_x
            G[p, p], c[p] = weight, weight * float(moments.mean_y[0])
        mean, precision = self._prior(q)
        beta = 1.0 if self.noise_variance is None else 1 / float(self.noise_variance)
        with one_blas_thread(G.size):
            A = precision + beta * G
            unit = np.sqrt(np.diagonal(A))
            try:
                lower = np.linalg.cholesky(A / np.outer(unit, unit))
            except np.linalg.LinAlgError as error:
                raise InvalidData(
                    "The posterior precision of these rows is not positive definite in floating point. Scale the columns."
                ) from error
            inverse = np.linalg.inv(lower) / unit
            S = inverse.T @ inverse
            w = mean + S @ (beta * (c - G @ mean))
            log_dets = np.linalg.slogdet(precision)[1] - 2 * float(np.log(np.diagonal(lower) * unit).sum())
        step = w - mean
        squares = max(yy - 2 * float(w @ c) + float(w @ G @ w), 0.0)
        self._store(weight, w, S, beta * squares, float(step @ precision @ step), float(log_dets))
        condition = float(np.sum(inverse**2 @ unit**2) * q) if q else 1.0
        self.moments_ = moments
        rounding = (64 * (q + 8) * UNIT + 8 * moments.rounding) * max(condition, 1.0)
        self.certificate_ = LikelihoodCertificate(
            "Mean and covariance of the posterior", moments.rows, self.log_evidence_ / weight, rounding
        )

    def _store(self, weight: float, w: Array, S: Array, fit: float, shift: float, log_dets: float) -> None:
        """Store the posterior; ``fit`` is the weighted sum of squares, and ``shift`` the squared distance from the prior mean."""
        from scipy.special import gammaln  # noqa: PLC0415  (SciPy costs a fifth of a second)

        p = len(w) - self.fit_intercept
        self.coef_, self.intercept_ = w[:p].copy(), float(w[p]) if self.fit_intercept else 0.0
        if self.noise_variance is not None:
            self.noise_shape_, self.noise_rate_ = float(self.noise_shape), float(self.noise_rate)
            self.covariance_ = S
            likelihood = 0.5 * (-weight * (LOG_TWO_PI + np.log(self.noise_variance)) - fit)
            self.log_occam_factor_ = float(0.5 * (log_dets - shift))
            self.log_evidence_ = float(likelihood + self.log_occam_factor_)
            return
        a, b = float(self.noise_shape), float(self.noise_rate)
        shape, rate = a + weight / 2, b + (fit + shift) / 2
        self.noise_shape_, self.noise_rate_ = shape, rate
        self.covariance_ = S * (rate / shape)
        self.log_evidence_ = float(
            0.5 * (log_dets - weight * LOG_TWO_PI) + a * np.log(b) - shape * np.log(rate) + gammaln(shape) - gammaln(a)
        )
        best = 0.5 * weight * (np.log(shape / rate) - LOG_TWO_PI) - 0.5 * fit * shape / rate
        self.log_occam_factor_ = float(self.log_evidence_ - best)

    def posterior(self) -> MultivariateGaussian | StudentT:
        """Return the posterior distribution of the coefficients, the intercept last.

        Returns
        -------
        MultivariateGaussian, or StudentT where the noise is learnt
            The distribution.
        """
        self._check_is_fitted()
        w = np.append(self.coef_, self.intercept_) if self.fit_intercept else self.coef_
        if self.noise_variance is None:
            return StudentT(2 * self.noise_shape_, w, self.covariance_)
        return MultivariateGaussian(w, self.covariance_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        return_std : bool
            Whether to return the standard deviation of the predictive distribution too. Where the noise is learnt, that
            distribution is a t distribution of ``2 * noise_shape_`` degrees of freedom.

        Returns
        -------
        ndarray of shape (n,), or two of them
            Means of the predictive distributions, and their standard deviations.
        """
        means = predict_linear(self, X)
        if not return_std:
            return means
        X = self._new_data(X)
        x = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
        if self.fit_intercept:
            x = np.column_stack([x, np.ones(len(x))])
        spread = np.einsum("ij,ij->i", x @ self.covariance_, x)
        if self.noise_variance is not None:
            return means, np.sqrt(np.maximum(spread, 0.0) + self.noise_variance)
        degrees = 2 * self.noise_shape_
        if not degrees > 2:
            raise InvalidData(
                "The predictive distribution has no variance yet: pass more rows, or a noise_shape above 1."
            )
        noise = self.noise_rate_ / self.noise_shape_
        return means, np.sqrt((np.maximum(spread, 0.0) + noise) * degrees / (degrees - 2))
