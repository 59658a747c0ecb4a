"""Models with a likelihood, checked: what is best in closed form is computed again by definition, and so is the likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._by_class import MAX_BELIEVED_ROUNDING, Estimate, Labelled, labelled, require_near, require_shares
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.certificates import LikelihoodCertificate


Array = np.ndarray[Any, Any]


def check(
    estimate: Callable[..., Estimate],
    model: Any,
    certificate: LikelihoodCertificate,
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Verdict:
    """Estimate the parameters again, as the class of the model does; raise CertificateError when they are others."""
    found = estimate(model, certificate, X, y, sample_weight)
    _require_likelihood(model, certificate, found.likelihood, found.slack)
    return Verdict(
        certificate.statement,
        found.likelihood,
        found.off,
        found.rounding,
        certificate.rounding,
        measure="log-likelihood",
    )


def _require_likelihood(model: Any, certificate: LikelihoodCertificate, found: float, slack: float) -> None:
    stated = certificate.log_likelihood
    if stated != found and not abs(stated - found) <= 1e-8 * (1 + abs(found) + model.n_features_in_) + slack:
        refuse(model, f"its log-likelihood is {found:.12g} a row, and {stated:.12g} is stated")


def check_normal(model: Any, certificate: LikelihoodCertificate, X: Any, y: Any, sample_weight: Any) -> Estimate:
    """Check means and variances of independent normal columns."""
    found = labelled(model, certificate, X, y, sample_weight)
    near = min(certificate.rounding, MAX_BELIEVED_ROUNDING) + found.rounding
    prior = require_shares(model, model.class_prior_, model.priors, found, near)
    seen = found.weight > 0
    weight = np.where(seen, found.weight, 1)[:, np.newaxis]
    require_near(model, "the weight of a class", model.class_count_, found.weight, near * found.weight)
    whole = found.weight.sum()
    share = (found.weight / whole)[:, np.newaxis]
    middle = (share * found.mean).sum(axis=0)
    of_all = found.scatter.sum(axis=0) / whole + (share * (found.mean - middle) ** 2).sum(axis=0)
    epsilon = model.var_smoothing * of_all.max()
    require_near(model, "what is added to variances", np.float64(model.epsilon_), epsilon, 2 * near * epsilon)
    variance = np.where(seen[:, np.newaxis], found.scatter / weight + epsilon, model.var_)
    deviation = np.sqrt(variance)
    last_bit = 2.0**-52 * np.abs(found.mean)
    off = require_near(model, "the mean of a column", model.theta_, found.mean, 2 * near * deviation + last_bit)
    slack = 2 * near * variance + 4 * deviation * last_bit
    off = max(off, require_near(model, "the variance of a column", model.var_, variance, slack))
    if not np.array_equal(model.moments_.mean, model.theta_):
        refuse(model, "its statistic has other means than it stores")
    return Estimate(_likelihood_of_columns(model, found, prior), off, found.rounding)


def _likelihood_of_columns(model: Any, found: Labelled, prior: Array) -> float:
    """Sum the logarithms of the densities of the rows, one by one."""
    total = EXTENDED(0)
    with np.errstate(divide="ignore"):
        level = np.log(prior)
    for at, x, s in found.parts():
        squares = (x - model.theta_[at]) ** 2 / model.var_[at]
        logs = level[at] - 0.5 * (squares + np.log(2 * np.pi * model.var_[at])).sum(axis=1)
        total = total + s @ logs
    return float(total / found.weight.sum())
