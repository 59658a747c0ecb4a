"""Laplace's approximation: a Gaussian at the mode of a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._targets import weights as read_weights
from qed.distributions import MultivariateGaussian
from qed.linear_model._logistic_regression import LogisticRegression, Strength

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
        x = _design(X, len(self.posterior.mean) - self.fit_intercept, intercept=self.fit_intercept)
        score = x @ self.posterior.mean
        variance = np.einsum("ij,ij->i", x @ self.posterior.covariance, x)
        one = _sigmoid(score / np.sqrt(1 + np.pi / 8 * variance))
        return np.column_stack([1 - one, one])


def _sigmoid(score: Array) -> Array:
    """Return 1 / (1 + exp(-score)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -score)))


def _design(X: Any, p: int, *, intercept: bool) -> Array:
    """Read rows of p columns, with a column of ones last for an intercept."""
    x = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != p or not np.isfinite(x).all():
        raise InvalidData(f"The model has {p} columns: pass rows of as many finite numbers, got shape {x.shape}.")
    return np.column_stack([x, np.ones(len(x))]) if intercept else x


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
    if classes is None or len(classes) != 2 or not isinstance(model, LogisticRegression):
        raise InvalidData("laplace_approximation takes a LogisticRegression that is fitted to two classes.")
    strength = Strength.of("LogisticRegression", model.penalty, model.C, model.l1_ratio)
    if strength.l1_ratio != 0 or not np.isfinite(strength.C):
        raise InvalidParameter("laplace_approximation needs the l2 penalty of a finite C: it is the Gaussian prior.")
    if model.class_weight is not None:
        raise InvalidParameter("laplace_approximation takes weights of rows: fit with sample_weight, not class_weight.")
    w, labels = np.ravel(model.coef_).astype(np.float64), np.ravel(np.asarray(y))
    x = _design(X, len(w), intercept=model.fit_intercept)
    if len(labels) != len(x) or not np.isin(labels, classes).all():
        raise InvalidData(f"y must hold one of the labels {classes.tolist()} for each of {len(x)} rows.")
    s = read_weights(sample_weight, len(x))
    s = np.ones(len(x)) if s is None else s
    prior = np.full(len(w), 1 / strength.C)
    if model.fit_intercept:
        w, prior = np.append(w, model.intercept_), np.append(prior, 0.0)
    score = x @ w
    p = _sigmoid(score)
    sign = np.where(labels == classes[1], 1.0, -1.0)
    H = np.diag(prior) + (x * (s * p * (1 - p))[:, None]).T @ x
    try:
        covariance = np.linalg.inv(H)
        posterior = MultivariateGaussian(w, (covariance + covariance.T) / 2)
    except (np.linalg.LinAlgError, InvalidParameter):
        raise InvalidData(
            "The posterior is flat in some direction: the classes are separable along the intercept."
        ) from None
    slope = prior * w - x.T @ (s * sign * _sigmoid(-sign * score))
    if (
        not slope @ posterior.covariance @ slope <= 1
    ):  # the mode is more than a standard deviation of the posterior away
        raise InvalidData(
            "The coefficients are not at the mode of the posterior of these rows: pass the rows, labels and weights of the fit."
        )
    likelihood = -float(s @ np.logaddexp(0.0, -sign * score))
    with np.errstate(divide="ignore"):
        evidence = likelihood + 0.5 * float(np.log(prior).sum() - prior @ w**2 + posterior.log_det)
    return LaplaceApproximation(posterior, evidence, bool(model.fit_intercept))
