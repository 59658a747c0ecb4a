"""Laplace's approximation: a Gaussian at the mode of a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.distributions import MultivariateGaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """What `laplace_approximation` returns.

    Attributes
    ----------
    posterior : MultivariateGaussian
        Of the coefficients, the intercept last where there is one: the mode, and the inverse of the curvature there.
    log_evidence : float
        Logarithm of the marginal likelihood of the labels, approximately; minus infinity with an intercept, whose prior is flat.
    fit_intercept : bool
        Whether the last coefficient is an intercept.
    """

    posterior: MultivariateGaussian
    log_evidence: float
    fit_intercept: bool

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities of the two classes, coefficients integrated out (the probit approximation of MacKay).

        Parameters
        ----------
        X : array-like of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Probabilities: closer to one half than those of the mode alone, the more so the less is known.
        """
        x = np.asarray(X, dtype=np.float64)
        if self.fit_intercept:
            x = np.column_stack([x, np.ones(len(x))])
        score = x @ self.posterior.mean
        variance = np.einsum("ij,ij->i", x @ self.posterior.covariance, x)
        one = 1 / (1 + np.exp(-score / np.sqrt(1 + np.pi / 8 * variance)))
        return np.column_stack([1 - one, one])


def laplace_approximation(model: Any, X: Any, y: Any, sample_weight: Any = None) -> LaplaceApproximation:
    r"""Approximate the posterior of a logistic regression by a Gaussian at its mode.

    A penalty of strength 1/C is a Gaussian prior of variance C, and its optimum the mode of the posterior. The curvature there,
    :math:`I / C + \sum_i s_i p_i (1 - p_i) x_i x_i^\top`, is the inverse of the covariance.

    Parameters
    ----------
    model : LogisticRegression
        Fitted to two classes, with the l2 penalty.
    X : array-like of shape (n, p)
        The rows of the fit.
    y : array-like of shape (n,)
        Their labels.
    sample_weight : array-like of shape (n,), optional
        Their weights.

    Returns
    -------
    LaplaceApproximation
        Posterior, evidence, and probabilities that know how sure the model is.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) != 2 or not hasattr(model, "coef_"):
        raise InvalidData("laplace_approximation takes a logistic regression that is fitted to two classes.")
    if (
        getattr(model, "l1_ratio", 0.0) not in (0, 0.0, None)
        or not np.isfinite(model.C)
        or getattr(model, "penalty", "l2") is None
    ):
        raise InvalidParameter("laplace_approximation needs the l2 penalty of a finite C: it is the Gaussian prior.")
    x, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    s = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    w, prior = np.ravel(model.coef_).astype(np.float64), np.full(x.shape[1], 1 / model.C)
    if model.fit_intercept:
        x, w, prior = np.column_stack([x, np.ones(len(x))]), np.append(w, model.intercept_), np.append(prior, 0.0)
    score = x @ w
    p = 1 / (1 + np.exp(-score))
    H = np.diag(prior) + (x * (s * p * (1 - p))[:, None]).T @ x
    try:
        covariance = np.linalg.inv(H)
        posterior = MultivariateGaussian(w, (covariance + covariance.T) / 2)
    except (np.linalg.LinAlgError, InvalidParameter):
        raise InvalidData(
            "The posterior is flat in some direction: the classes are separable along the intercept."
        ) from None
    sign = np.where(labels == classes[1], 1.0, -1.0)
    likelihood = -float(s @ np.logaddexp(0.0, -sign * score))
    with np.errstate(divide="ignore"):
        evidence = likelihood + 0.5 * float(np.log(prior).sum() - prior @ w**2 + posterior.log_det)
    return LaplaceApproximation(posterior, evidence, bool(model.fit_intercept))
