"""Laplace's approximation: a Gaussian at the mode of a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._targets import weights as read_weights
from qed.distributions import MultivariateGaussian
from qed.linear_model._logistic_regression import LogisticRegression, Strength

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """What `laplace_approximation` returns.

    Attributes
    ----------
    posterior : MultivariateGaussian
        The mode, and the inverse of the curvature there: of the coefficients, those of each class in turn where there are more than
        two; then of the intercepts, where there are any, of all classes but the first and relative to that.
    log_evidence : float
        Logarithm of the marginal likelihood of the labels, approximately; minus infinity with an intercept, whose prior is flat.
    fit_intercept : bool
        Whether there are intercepts.
    n_classes : int
        Number of classes.
    """

    posterior: MultivariateGaussian
    log_evidence: float
    fit_intercept: bool
    n_classes: int = 2

    def predict_proba(self, X: Any) -> Array:
        r"""Return probabilities of the classes, coefficients integrated out.

        The integral has no closed form. With a_k the score of class k, which is normal,

        .. math:: p_k \propto \Big( \sum_l \exp \frac{\mathrm{E}[a_l - a_k]}
                  {\sqrt{1 + \pi/8 \operatorname{Var}[a_l - a_k]}} \Big)^{-1}

        approximates it; for two classes this is MacKay's probit approximation.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities: closer to equal ones than those of the mode alone, the more so the less is known.
        """
        k, size = self.n_classes, len(self.posterior.mean)
        with_coefficients = 1 if k == 2 else k
        x = _design(X, (size - (k - 1) * self.fit_intercept) // with_coefficients)
        groups = _groups(x, k, intercept=self.fit_intercept)
        mean, spread = np.zeros((len(x), k)), np.zeros((len(x), k, k))  # of the scores of each row
        for a, left, rows in groups:
            mean[:, a] += left @ self.posterior.mean[rows]
            for b, right, columns in groups:
                spread[:, a, b] += np.einsum("ij,ij->i", left @ self.posterior.covariance[rows, columns], right)
        own_variance = np.diagonal(spread, axis1=1, axis2=2)
        odds = np.empty((len(x), k))  # logarithms of inverse probabilities, not yet normalised
        for label in range(k):
            variance = np.maximum(own_variance + own_variance[:, [label]] - 2 * spread[:, label], 0.0)
            odds[:, label] = np.logaddexp.reduce((mean - mean[:, [label]]) / np.sqrt(1 + np.pi / 8 * variance), axis=1)
        return np.asarray(np.exp(-odds - np.logaddexp.reduce(-odds, axis=1, keepdims=True)))


def _design(X: Any, p: int) -> Array:
    """Read rows of p columns."""
    x = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != p or not np.isfinite(x).all():
        raise InvalidData(f"The model has {p} columns: pass rows of as many finite numbers, got shape {x.shape}.")
    return x


class Group(NamedTuple):
    """Parameters of one score: its class, the columns that they are multiplied by, and their places among all parameters."""

    label: int
    columns: Array
    places: slice


def _groups(x: Array, classes: int, *, intercept: bool) -> list[Group]:
    """Return the groups of parameters in their order.

    Two classes have one set of coefficients, that of the second; more have one each. Intercepts are relative to the first class.
    """
    found = [(label, x) for label in range(1 if classes == 2 else 0, classes)]
    found += [(label, np.ones((len(x), 1))) for label in range(1, classes) if intercept]
    ends = np.cumsum([columns.shape[1] for _, columns in found]).tolist()
    return [
        Group(label, columns, slice(end - columns.shape[1], end))
        for (label, columns), end in zip(found, ends, strict=True)
    ]


def laplace_approximation(model: Any, X: Any, y: Any, sample_weight: Any = None) -> LaplaceApproximation:
    r"""Approximate the posterior of a logistic regression by a Gaussian at its mode.

    A penalty of strength 1/C is a Gaussian prior of variance C, and its optimum the mode of the posterior. The curvature there is
    the inverse of the covariance: :math:`I / C + \sum_i s_i p_i (1 - p_i) x_i x_i^\top` of two classes. Of more it has a block for
    each pair of classes, :math:`[k = l] I / C + \sum_i s_i p_{ik} ([k = l] - p_{il}) x_i x_i^\top`.

    Parameters
    ----------
    model : LogisticRegression
        Fitted, with the l2 penalty.
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

    Notes
    -----
    O(n p^2) operations for each pair of classes, and a matrix as wide as there are coefficients is inverted.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or not isinstance(model, LogisticRegression):
        raise InvalidData("laplace_approximation takes a LogisticRegression that is fitted.")
    strength = Strength.of("LogisticRegression", model.penalty, model.C, model.l1_ratio)
    if strength.l1_ratio != 0 or not np.isfinite(strength.C):
        raise InvalidParameter("laplace_approximation needs the l2 penalty of a finite C: it is the Gaussian prior.")
    if model.class_weight is not None:
        raise InvalidParameter("laplace_approximation takes weights of rows: fit with sample_weight, not class_weight.")
    w, labels = np.asarray(model.coef_, dtype=np.float64), np.ravel(np.asarray(y))
    x = _design(X, w.shape[1])
    if len(labels) != len(x) or not np.isin(labels, classes).all():
        raise InvalidData(f"y must hold one of the labels {classes.tolist()} for each of {len(x)} rows.")
    s = read_weights(sample_weight, len(x))
    s = np.ones(len(x)) if s is None else s
    mode, prior = w.ravel(), np.full(w.size, 1 / strength.C)
    if model.fit_intercept:
        b = np.ravel(model.intercept_)
        mode, prior = np.append(mode, b if len(b) == 1 else b[1:] - b[0]), np.append(prior, np.zeros(len(classes) - 1))
    groups = _groups(x, len(classes), intercept=model.fit_intercept)
    posterior, evidence = curvature_at_mode(mode, prior, groups, labels[:, None] == classes, s)
    return LaplaceApproximation(posterior, evidence, bool(model.fit_intercept), len(classes))


def curvature_at_mode(
    mode: Array, prior: Array, groups: list[Group], observed: Any, s: Array
) -> tuple[MultivariateGaussian, float]:
    """Return the Gaussian at the mode of a posterior, and the logarithm of the evidence.

    Parameters
    ----------
    mode : ndarray of shape (m,)
        All parameters.
    prior : ndarray of shape (m,)
        Inverse variances of their prior; zero where it is flat.
    groups : list of Group
        What scores they enter.
    observed : ndarray of bool of shape (n, k)
        Whether a row has a class.
    s : ndarray of shape (n,)
        Weights.
    """
    scores = np.zeros(observed.shape)
    for one in groups:
        scores[:, one.label] += one.columns @ mode[one.places]
    logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    shares, H, slope = np.exp(logs), np.diag(prior), prior * mode
    for a, left, rows in groups:
        slope[rows] -= left.T @ (s * (observed[:, a] - shares[:, a]))
        for b, right, columns in groups:
            H[rows, columns] += (left * (s * shares[:, a] * ((a == b) - shares[:, b]))[:, None]).T @ right
    try:
        covariance = np.linalg.inv(H)
        posterior = MultivariateGaussian(mode, (covariance + covariance.T) / 2)
    except (np.linalg.LinAlgError, InvalidParameter):
        raise InvalidData(
            "The posterior is flat in some direction: the classes are separable along the intercept."
        ) from None
    if not slope @ posterior.covariance @ slope <= 1:  # more than a standard deviation of the posterior away
        raise InvalidData(
            "The coefficients are not at the mode of the posterior of these rows: pass the rows, labels and weights of the fit."
        )
    likelihood = float(s @ logs[observed])
    with np.errstate(divide="ignore"):
        evidence = likelihood + 0.5 * float(np.log(prior).sum() - prior @ mode**2 + posterior.log_det)
    return posterior, evidence
