"""Mixtures of independent columns, checked: the objective by the probability of each entry, and one more step from there.

Probabilities of entries are added up column by column as they are defined, without the products of counts and parameters that fits
use. A step from changed parameters gains and moves otherwise than the certificate states.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._ascents import Decomposed, decomposed, require, require_decomposition
from qed.verify._mixtures import require_ascent
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import AscentCertificate

Array = np.ndarray[Any, Any]
WHAT = "log-likelihood plus the logarithm of the prior"
RELATIVE_TOLERANCE = 1e-7  # relative, of how far a step moves
log_factorial = np.frompyfunc(lambda x: math.lgamma(float(x) + 1.0), 1, 1)


class Parameters(NamedTuple):
    """Weights (k,), and for each column a table (k, values): probabilities of one and zero, of values, or rates."""

    weights: Array
    tables: list[Array]


class Step(NamedTuple):
    """What one pass over the rows found: the objective, how large its terms are, and the parameters that follow."""

    objective: float
    size: float
    following: Parameters


def check(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    prior = (seen.mean * seen.weight + 1) / (seen.weight + 1)
    stored = _stored(model, rows.p)
    here = _step(model, rows, stored, prior)
    columns = sum(len(one[0]) for one in stored.tables)
    rounding = 64 * (columns + 8) * DOUBLE * (1 + float(np.max(np.abs(certificate.trace))) + here.size)
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    require_ascent(model, certificate, WHAT)
    require(model, "its objective is another", here.objective, certificate.objective, rounding)
    found = _compare(model, rows, prior, stored, here.following)
    gained = found.next_objective - here.objective
    require(model, "the next step gains something else", gained, certificate.gain, 4 * rounding)
    smallest = np.maximum(stored.weights, np.finfo(float).tiny)
    noise = 1e-9 + 8 * DOUBLE * float(np.sqrt(np.sum(1 / smallest))) + 4 * math.sqrt(columns) * rounding
    moved = _displacement(model, stored, here.following)
    moved = 0.0 if certificate.displacement == 0 and moved <= 5 * noise else moved
    allowed = RELATIVE_TOLERANCE * certificate.displacement + noise
    require(model, "the next step moves differently", moved, certificate.displacement, allowed)
    require_decomposition(model, certificate, found, (4 * rounding, 8 * rounding, 8 * rounding))
    off = abs(here.objective - certificate.objective)
    return Verdict(certificate.statement, here.objective, off, rounding, certificate.rounding, "objective value")


def _stored(model: Any, p: int) -> Parameters:
    k = model.n_components
    weights = np.asarray(model.weights_, dtype=np.float64)
    if weights.shape != (k,) or not abs(float(weights.sum()) - 1) <= 1e-12 * k or not np.all(weights >= 0):
        refuse(model, "its weights do not sum to one")
    tables = tables_of(model)
    if len(tables) != p or any(len(one) != k or not np.all(one > 0) for one in tables):
        refuse(model, "its parameters are not one positive table for each column")
    return Parameters(weights.astype(EXTENDED), tables)


def tables_of(model: Any) -> list[Array]:
    """Return for each column the parameters of its values, (k, values), in extended precision."""
    name = type(model).__name__
    if name == "CategoricalMixture":
        tables = [np.asarray(one).astype(EXTENDED) for one in model.probabilities_]
        if not all(np.all(np.abs(one.sum(axis=1) - 1) <= 1e-12 * one.shape[1]) for one in tables):
            refuse(model, "its probabilities do not sum to one")
        return tables
    stored = np.asarray(model.rates_ if name == "PoissonMixture" else model.probabilities_).astype(EXTENDED)
    if name == "PoissonMixture":
        return [one[:, None] for one in stored.T]
    return [np.stack([one, 1 - one], axis=1) for one in stored.T]


def joint_logarithms(model: Any, X: Array, at: Parameters) -> tuple[Array, Array]:
    """Return logarithms of weights and densities, (n, k), and how large the terms of each row are, (n,)."""
    with np.errstate(divide="ignore"):
        total = np.broadcast_to(np.log(at.weights), (len(X), len(at.weights)))
    size = np.zeros((len(X), len(at.weights)), EXTENDED)
    for x, table in zip(X.T, at.tables, strict=True):
        own = _of_column(model, x, table)
        total = total + sum(own)
        size = size + sum(np.abs(one) for one in own)
        if type(model).__name__ == "BernoulliMixture":  # a fit adds the odds of ones to the logarithm of zeros alone
            size = size + np.abs(np.log(table)).sum(axis=1)
    return total, size


def _of_column(model: Any, x: Array, table: Array) -> list[Array]:
    """Return the terms of the log-probability of the entries of a column, (n, k) each."""
    logs = np.log(table)
    name = type(model).__name__
    if name == "PoissonMixture":
        x = x.astype(EXTENDED)
        return [
            x[:, None] * logs[:, 0],
            np.broadcast_to(-table[:, 0], (len(x), len(table))),
            -log_factorial(x).astype(EXTENDED)[:, None] * np.ones(len(table)),
        ]
    if name == "CategoricalMixture":
        if np.any(x < 0) or np.any(x.astype(np.int64) >= table.shape[1]):
            refuse(model, "rows hold values that it has no probability for")
        return [logs.T[x.astype(np.int64)]]
    return [np.where(_present(model, x)[:, None], logs[:, 0], logs[:, 1])]


def _present(model: Any, x: Array) -> Array:
    return np.asarray(x > (0.5 if model.binarize is None else model.binarize))


def _counted(model: Any, x: Array, values: int) -> Array:
    """Return what is counted of the entries of a column, (n, values)."""
    name = type(model).__name__
    if name == "PoissonMixture":
        return x[:, None]
    if name == "CategoricalMixture":
        return np.asarray(x.astype(np.int64)[:, None] == np.arange(values))
    return np.stack([_present(model, x), ~_present(model, x)], axis=1)


def _step(model: Any, rows: Rows, at: Parameters, prior: Array) -> Step:
    """Find the objective, and the parameters that one step leads to."""
    total = weight = size = EXTENDED(0)
    n: Array = np.zeros(len(at.weights), EXTENDED)
    counts: list[Array] = [np.zeros(one.shape, EXTENDED) for one in at.tables]
    for block in rows.blocks():
        joint, terms = joint_logarithms(model, block.X, at)
        top = joint.max(axis=1)
        shares = np.exp(joint - top[:, None])
        total = total + block.s @ (top + np.log(shares.sum(axis=1)))
        size, weight = size + block.s @ terms.max(axis=1), weight + block.s.sum()
        shares = shares / shares.sum(axis=1)[:, None] * block.s[:, None]
        n = n + shares.sum(axis=0)
        for j, x in enumerate(block.X.T):
            counts[j] = counts[j] + shares.T @ _counted(model, x, counts[j].shape[1])
    alpha, poisson = EXTENDED(model.alpha), type(model).__name__ == "PoissonMixture"
    tables = []
    for j, own in enumerate(counts):
        if poisson:
            tables.append((own + alpha * prior[j]) / (n[:, None] + alpha))
        else:
            tables.append((own + alpha) / (n[:, None] + alpha * own.shape[1]))
    objective = float((total + _log_prior(model, at, prior)) / weight)
    return Step(objective, float(size / weight), Parameters(n / n.sum(), tables))


def _log_prior(model: Any, at: Parameters, prior: Array) -> Any:
    """Return the logarithm of the prior density, constants left out."""
    if type(model).__name__ == "PoissonMixture":
        logs = sum(np.sum(mean * np.log(table) - table) for mean, table in zip(prior, at.tables, strict=True))
    else:
        logs = sum(np.sum(np.log(table)) for table in at.tables)
    return EXTENDED(model.alpha) * logs


def _compare(model: Any, rows: Rows, prior: Array, at: Parameters, following: Parameters) -> Decomposed:
    """Take the likelihood apart by the responsibilities of components, there and after the step that follows."""

    def joint(of: Parameters, block: Any) -> Array:
        return joint_logarithms(model, block.X, of)[0]

    blocks = ((block.s, joint(at, block), joint(following, block)) for block in rows.blocks())
    return decomposed(blocks, (_log_prior(model, at, prior), _log_prior(model, following, prior)), is_hard=False)


def _displacement(model: Any, before: Parameters, after: Parameters) -> float:
    """Root of the squared changes of weights and parameters, in units of their deviations."""
    total = np.sum((after.weights - before.weights) ** 2 / np.maximum(before.weights, np.finfo(float).tiny))
    binary = type(model).__name__ == "BernoulliMixture"
    for old, new in zip(before.tables, after.tables, strict=True):
        variance = old[:, :1] * old[:, 1:] if binary else old
        step = (new - old)[:, :1] if binary else new - old
        total = total + before.weights @ np.sum(step**2 / variance, axis=1)
    return float(np.sqrt(total))
