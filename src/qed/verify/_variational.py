"""Variational mixtures, checked: the lower bound at the stored posterior, and one more step from there.

The prior is read from parameters and rows again. Numbers of rows behind the components tie concentrations, precisions of means and
degrees of freedom to each other; a changed one fits the others no more. The bound is added up from expected logarithms of
densities, factor by factor, digamma functions by their asymptotic series.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._mixtures import Components, EmStep, cholesky, judge, read_components, solved, sums
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, Rows, read
from qed.verify._same_data import ColumnSummary, require_same_data, summarize_columns

if TYPE_CHECKING:
    from qed.certificates import AscentCertificate
    from qed.verify._verdict import Verdict

Array = np.ndarray[Any, Any]
RELATIVE_TOLERANCE = 1e-9  # relative, of numbers that parameters and rows prescribe
LOG_TWO = math.log(2)


class Before(NamedTuple):
    """The prior."""

    concentration: float
    mean: Array  # (p,)
    precision: float
    degrees: float
    scatter: Array  # (p, p), whatever the structure


class Beliefs(NamedTuple):
    """A posterior: expected weights, means, inverses of expected precisions, and rows behind each component."""

    weights: Array
    means: Array
    covariances: Array
    n: Array


def check(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    before = _prior(model, rows, seen)
    stored = _posterior(model, before)
    what = "variational lower bound of the evidence"
    return judge(model, certificate, what, stored, partial(_step, model, rows, before), None)  # type: ignore[arg-type]


def _prior(model: Any, rows: Rows, seen: ColumnSummary) -> Before:
    k, p, kind = model.n_components, rows.p, model.covariance_type
    concentration = float(_or(model.weight_concentration_prior, 1 / k))
    precision, degrees = (
        float(_or(model.mean_precision_prior, 1.0)),
        float(_or(model.degrees_of_freedom_prior, p)),
    )
    mean = np.asarray(_or(model.mean_prior, seen.mean)).astype(EXTENDED)
    if model.covariance_prior is None:
        scatter = np.zeros((p, p), EXTENDED)
        for block in rows.blocks():
            away = block.X - seen.mean.astype(rows.kind)
            scatter += (block.s[:, None] * away).T @ away
        scatter = scatter / (seen.weight - 1) + EXTENDED(model.reg_covar) * np.eye(p)
        scatter = _structured(scatter, kind)
    else:
        given = np.asarray(model.covariance_prior, dtype=np.float64).astype(EXTENDED)
        scatter = given if given.ndim == 2 else given * np.eye(p)
    stored = np.asarray(model.covariance_prior_, dtype=np.float64)
    whole = stored if stored.ndim == 2 else stored * np.eye(p)
    size = np.sqrt(np.multiply.outer(np.diagonal(scatter), np.diagonal(scatter)))
    spread = np.sqrt(seen.spread / seen.weight) + np.abs(seen.mean) * 1e-6
    same = (
        model.weight_concentration_prior_ == concentration
        and model.mean_precision_prior_ == precision
        and model.degrees_of_freedom_prior_ == degrees
        and bool(np.all(np.abs(model.mean_prior_ - mean) <= RELATIVE_TOLERANCE * spread))
        and bool(np.all(np.abs(whole - scatter) <= RELATIVE_TOLERANCE * size))
    )
    if not same:
        refuse(model, "its prior is not the one that parameters and rows prescribe")
    return Before(concentration, model.mean_prior_.astype(EXTENDED), precision, degrees, whole.astype(EXTENDED))


def _or(given: Any, instead: Any) -> Any:
    return instead if given is None else given


def _structured(matrix: Array, kind: str) -> Array:
    """Return a matrix of the structure: without correlations, or with equal variances too."""
    if kind in ("full", "tied"):
        return matrix
    variances = np.diagonal(matrix)
    return np.asarray(np.diag(variances if kind == "diag" else np.broadcast_to(variances.mean(), variances.shape)))


def _posterior(model: Any, before: Before) -> Beliefs:
    """Read the posterior, and hold its parts against the numbers of rows behind the components."""
    whole, k = read_components(model, model.n_components), model.n_components
    n = model.mean_precision_ - before.precision
    tied = model.covariance_type == "tied"
    degrees = before.degrees + (n.sum() / k if tied else n)
    concentration = _concentrations(model, n, before)
    good = (
        model.mean_precision_.shape == (k,)
        and bool(np.all(n >= -1e-12 * (1 + model.mean_precision_)))
        and model.weight_concentration_.shape == concentration.shape
        and np.shape(model.degrees_of_freedom_) == degrees.shape
        and bool(np.all(np.abs(model.weight_concentration_ - concentration) <= 1e-11 * (1 + n.sum())))
        and bool(np.all(np.abs(model.degrees_of_freedom_ - degrees) <= 1e-11 * (1 + degrees + before.precision)))
    )
    if not good:
        refuse(model, "its concentrations, precisions and degrees of freedom rest on different numbers of rows")
    if not np.allclose(model.weights_, _weights(model, n, before), rtol=1e-10, atol=1e-300):
        refuse(model, "its weights are not those that their posterior expects")
    return Beliefs(whole.weights, whole.means, whole.covariances, np.maximum(n, 0.0).astype(EXTENDED))


def _concentrations(model: Any, n: Array, before: Before) -> Array:
    n = np.asarray(n, dtype=np.float64)
    if model.weight_concentration_prior_type == "dirichlet_distribution":
        return n + before.concentration
    return np.stack([1 + n, before.concentration + np.array([n[j + 1 :].sum() for j in range(len(n))])])


def _weights(model: Any, n: Array, before: Before) -> Array:
    found = _concentrations(model, n, before)
    if found.ndim == 1:
        return np.asarray(found / found.sum())
    weights, left = np.empty(len(n)), 1.0
    for j, (own, rest) in enumerate(found.T):
        weights[j], left = left * own / (own + rest), left * rest / (own + rest)
    return np.asarray(weights / weights.sum())


def _digamma(x: float) -> float:
    """Add up 1/x until the asymptotic series holds to the last bit."""
    total = 0.0
    while x < 12:
        total -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132)))))
    return total + math.log(x) - 0.5 / x - series


def _beta_divergence(after: list[float], before: list[float]) -> float:
    """Divergence of Dirichlet distributions."""
    a, b = sum(after), sum(before)
    found = math.lgamma(a) - math.lgamma(b)
    for x, y in zip(after, before, strict=True):
        found += math.lgamma(y) - math.lgamma(x) + (x - y) * (_digamma(x) - _digamma(a))
    return found


def _of_weights(model: Any, n: Array, before: Before) -> tuple[Array, float]:
    """Return expected logarithms of the weights, and the divergence of their posterior from the prior."""
    found = _concentrations(model, n, before)
    if found.ndim == 1:
        total = _digamma(float(found.sum()))
        logs = np.array([_digamma(float(one)) - total for one in found])
        return logs, _beta_divergence(found.tolist(), [before.concentration] * len(found))
    logs, left, apart = np.empty(len(n)), 0.0, 0.0
    for j, (own, rest) in enumerate(found.T.tolist()):
        total = _digamma(own + rest)
        logs[j], left = left + _digamma(own) - total, left + _digamma(rest) - total
        apart += _beta_divergence([own, rest], [1.0, before.concentration])
    return logs, apart


def _wishart(size: int, degrees: float) -> tuple[float, float]:
    """Return a digamma sum and a sum of log-gammas of halves of degrees of freedom."""
    halves = [0.5 * (degrees - j) for j in range(size)]
    return sum(_digamma(one) for one in halves), sum(math.lgamma(one) for one in halves)


def _precision_terms(model: Any, before: Before, at: Beliefs, factors: list[Array]) -> tuple[Array, float]:
    """Return expected log-determinants of precisions, (k,), and the divergence of all precisions from their prior."""
    (k, p), kind = at.means.shape, model.covariance_type
    ways = {"full": 1, "tied": k, "diag": 1, "spherical": p}[kind]
    size = p if kind in ("full", "tied") else 1
    expected, apart = np.empty(k), 0.0
    units = np.diagonal(before.scatter)
    of_prior = float(2 * np.sum(np.log(np.diagonal(cholesky(model, before.scatter)))))
    for j in range(k):
        rows = at.n.sum() / k if kind == "tied" else at.n[j]
        after, first = ways * float(before.degrees + rows), ways * before.degrees
        # the scale of the posterior and of the prior, as sums over the numbers on the diagonal of each unknown
        own = float(2 * np.sum(np.log(np.diagonal(factors[j]))))  # of the inverse of the expected precision
        inverse = solved(factors[j], np.eye(p, dtype=EXTENDED))
        psi, gamma = _wishart(size, after)
        _, gamma_first = _wishart(size, first)
        copies = p if kind == "diag" else 1
        logs = own if kind != "spherical" else own / p
        log_prior = of_prior if kind != "spherical" else math.log(float(units[0]))
        trace = float(np.sum(inverse * (inverse @ before.scatter))) * (ways if kind != "spherical" else 1)
        # log |B| = size log(after) + log |covariance|, of the prior size log(ways) + log |scatter|
        log_after = copies * size * math.log(after) + logs
        log_first = copies * size * math.log(ways) + log_prior
        determinant = copies * (psi + size * LOG_TWO) - log_after
        expected[j] = determinant * (p if kind == "spherical" else 1)
        if j == 0 or kind != "tied":
            apart += 0.5 * after * log_after - 0.5 * first * log_first - 0.5 * (after - first) * copies * size * LOG_TWO
            apart += copies * (gamma_first - gamma) + 0.5 * (after - first) * determinant
            apart += 0.5 * trace - 0.5 * after * copies * size
    return expected, apart


def expected_logarithms(model: Any) -> tuple[Array, Array]:
    """Return expected logarithms of the weights, and of determinants of precisions less those of expected precisions."""
    (k, p), kind = model.means_.shape, model.covariance_type
    before = Before(
        model.weight_concentration_prior_, model.mean_prior_, model.mean_precision_prior_, 0.0, np.empty((0, 0))
    )
    weights, _ = _of_weights(model, model.mean_precision_ - before.precision, before)
    size, copies = (p, 1) if kind in ("full", "tied") else (1, p)
    ways = {"full": 1, "tied": k, "diag": 1, "spherical": p}[kind]
    shifts = []
    for one in np.broadcast_to(np.asarray(model.degrees_of_freedom_), (k,)).tolist():
        shifts.append(copies * (_wishart(size, ways * one)[0] - size * math.log(0.5 * ways * one)))
    return weights, np.array(shifts)


def _step(model: Any, rows: Rows, before: Before, at: Beliefs) -> EmStep:
    """Find the bound, and the posterior that one step leads to."""
    k, p = at.means.shape
    factors = [cholesky(model, one) for one in at.covariances]
    log_weights, apart = _of_weights(model, at.n, before)
    determinants, of_precisions = _precision_terms(model, before, at, factors)
    counted = (before.precision + at.n).astype(np.float64)
    for j in range(k):
        ratio = before.precision / counted[j]
        away = solved(factors[j], (at.means[j] - before.mean)[:, None])
        apart += 0.5 * p * (ratio - 1 - math.log(ratio)) + 0.5 * before.precision * float(np.sum(away**2))
    traces = np.array([np.sum(solved(one, np.eye(p, dtype=EXTENDED)) ** 2) for one in factors])
    floor = EXTENDED(model.reg_covar)
    levels = log_weights + 0.5 * (determinants - p * math.log(2 * math.pi) - p / counted - floor * traces)
    found = sums(model, rows, Components(levels, factors, at.means))
    bound = float((found.total - apart - of_precisions) / found.weight)
    return EmStep(bound, _following(model, before, at, found))  # type: ignore[arg-type]


def _following(model: Any, before: Before, at: Beliefs, found: Any) -> Beliefs:
    kind, (k, p) = model.covariance_type, at.means.shape
    n, unit, floor = found.n, np.eye(p), EXTENDED(model.reg_covar)
    step = found.firsts / np.where(n > 0, n, EXTENDED(1))[:, None]
    centre = at.means + step
    counted = before.precision + n
    means = (before.precision * before.mean + n[:, None] * centre) / counted[:, None]
    scatters = []
    for j in range(k):
        away = centre[j] - before.mean
        own = found.squares[j] - n[j] * np.outer(step[j], step[j]) + n[j] * floor * unit
        scatters.append(_structured(own + before.precision * n[j] / counted[j] * np.outer(away, away), kind))
    if kind == "tied":
        one = (k * before.scatter + np.sum(scatters, axis=0)) / (k * before.degrees + n.sum())
        covariances = np.broadcast_to(one, (k, p, p))
    else:
        covariances = np.stack([(before.scatter + s) / (before.degrees + m) for s, m in zip(scatters, n, strict=True)])
    weights = _weights(model, n, before).astype(EXTENDED)
    return Beliefs(weights, means, covariances, n)
