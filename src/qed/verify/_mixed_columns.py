"""Naive Bayes with columns of several kinds, checked: every column and class by itself, from the entries that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._by_class import MAX_BELIEVED_ROUNDING, Estimate, require_near
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read_data

if TYPE_CHECKING:
    from qed.certificates import LikelihoodCertificate

Array = np.ndarray[Any, Any]


def check(model: Any, certificate: LikelihoodCertificate, X: Any, y: Any, sample_weight: Any) -> Estimate:
    """Estimate the parameters of every column again, and the likelihood."""
    data = read_data(model, X, y, sample_weight)
    used = slice(None) if data.weight is None else data.weight > 0
    x, code = np.asarray(data.X, np.float64)[used].astype(EXTENDED), np.asarray(data.y)[used]
    s = np.ones(len(x), EXTENDED) if data.weight is None else data.weight[used].astype(EXTENDED)
    if len(x) != certificate.rows:
        refuse(model, f"it learnt from {certificate.rows} rows of positive weight, and these are {len(x)}")
    if data.classes.tolist() != model.classes_.tolist():
        refuse(model, "its classes are not those of the labels")
    k = len(model.classes_)
    own = (len(x) + 64) * 2.0**-53
    near = 4 * (min(certificate.rounding, MAX_BELIEVED_ROUNDING) + own)
    weight = np.array([s[code == c].sum() for c in range(k)])
    require_near(model, "the weight of a class", model.class_count_, weight, near * weight)
    prior = weight / weight.sum() if model.priors is None else np.asarray(model.priors, np.float64).astype(EXTENDED)
    require_near(model, "a prior", model.class_prior_, prior, near * (prior + 1e-300))
    wanted = [model.distributions] * x.shape[1] if isinstance(model.distributions, str) else list(model.distributions)
    if list(model.kinds_) != wanted:
        refuse(model, "its columns are of other kinds than its parameters say")
    normal = [column for column, kind in zip(x.T, wanted, strict=True) if kind == "gaussian"]
    epsilon = EXTENDED(model.var_smoothing) * max((_variance(one, s) for one in normal), default=EXTENDED(0))
    require_near(model, "what is added to variances", np.float64(model.epsilon_), np.asarray(epsilon), near * epsilon)
    with np.errstate(divide="ignore"):
        total, off = weight @ np.log(prior), 0.0
    for j, kind in enumerate(wanted):
        table, likelihood, slack = _column(model, x[:, j], code, s, kind, epsilon)
        off = max(off, require_near(model, f"a parameter of column {j}", model.parameters_[j], table, near * slack))
        total = total + likelihood
    if model.sizes_.tolist() != [one.shape[1] for one in model.parameters_]:
        refuse(model, "its columns have other numbers of parameters")
    return Estimate(float(total / weight.sum()), off, own)


def _variance(column: Array, s: Array) -> Any:
    there = ~np.isnan(column)
    x, w = column[there], s[there]
    mean = w @ x / w.sum()
    return w @ (x - mean) ** 2 / w.sum()


def _column(model: Any, column: Array, code: Array, s: Array, kind: str, epsilon: Any) -> tuple[Array, Any, Array]:
    """Return parameters, the log-likelihood of the entries without factorials, and what a rounding of one is of each."""
    there = ~np.isnan(column)
    x, at, w = column[there], code[there], s[there]
    k, alpha = len(model.classes_), EXTENDED(model.alpha)
    n = np.array([w[at == c].sum() for c in range(k)])
    if kind == "gaussian":
        mean = np.array([w[at == c] @ x[at == c] for c in range(k)]) / n
        variance = np.array([w[at == c] @ (x[at == c] - mean[c]) ** 2 for c in range(k)]) / n + epsilon
        logs = -((x - mean[at]) ** 2 / variance[at] + np.log(2 * EXTENDED(np.pi) * variance[at])) / 2
        slack = np.stack([np.sqrt(variance) + np.abs(mean), variance + np.abs(mean) * np.sqrt(variance)], axis=1)
        return np.stack([mean, variance], axis=1), w @ logs, slack
    if kind == "poisson":
        middle = (w @ x + 1) / (w.sum() + 1)
        rate = (np.array([w[at == c] @ x[at == c] for c in range(k)]) + alpha * middle) / (n + alpha)
        return rate[:, None], w @ (x * np.log(rate[at]) - rate[at]), rate[:, None]
    value = (x > 0).astype(np.int64) if kind == "bernoulli" else x.astype(np.int64)
    size = 2 if kind == "bernoulli" else int(value.max()) + 1
    counts = np.array([[w[(at == c) & (value == v)].sum() for v in range(size)] for c in range(k)])
    table = (counts + alpha) / (n[:, None] + alpha * size)
    return table, w @ np.log(table[at, value]), table
