"""Topics, checked: the evidence lower bound by its definition, from the stored parameters of topics and documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._ascents import require_none
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import AscentCertificate

Array = np.ndarray[Any, Any]
AT_ONCE = 1 << 20  # numbers of a block of entries


@dataclass(frozen=True)
class _Words:
    """Documents, words and counts of all entries that are not zero."""

    rows: Array
    words: Array
    counts: Array
    shape: tuple[int, int]

    def shares(self, theta: Array, beta: Array) -> Array:
        """Return the sum over topics of the shares of both, for each entry."""
        found = np.empty(len(self.counts))
        step = max(1, AT_ONCE // theta.shape[1])
        for first in range(0, len(found), step):
            some = slice(first, first + step)
            found[some] = np.einsum("ek,ek->e", theta[self.rows[some]], beta[:, self.words[some]].T)
        return np.maximum(found, 1e-300)

    def table(self, values: Array) -> Any:
        """Return values as a sparse table."""
        from scipy.sparse import csr_array  # noqa: PLC0415  sparse containers

        return csr_array((values, (self.rows, self.words)), shape=self.shape)


def _logs(parameters: Array) -> Array:
    from scipy.special import psi  # noqa: PLC0415  special functions

    return np.asarray(psi(parameters) - psi(parameters.sum(axis=1, keepdims=True)))


def _divergence(parameters: Array, prior: float) -> float:
    from scipy.special import gammaln  # noqa: PLC0415  special functions

    k, total = parameters.shape[1], parameters.sum(axis=1)
    one = gammaln(total) - gammaln(k * prior) + k * gammaln(prior)
    return float(np.sum(one) + np.sum((parameters - prior) * _logs(parameters) - gammaln(parameters)))


def _bound(words: _Words, gamma: Array, lam: Array, priors: tuple[float, float]) -> float:
    shares = words.shares(np.exp(_logs(gamma)), np.exp(_logs(lam)))
    own = float(np.sum(words.counts * np.log(shares)))
    return (own - _divergence(gamma, priors[0]) - _divergence(lam, priors[1])) / words.shape[0]


def check(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute the bound, and what one more update of documents and topics adds to it."""
    rows = read(model, X, None, None)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    table = read_data(model, X, None, None).X
    entries = (table if not isinstance(table, np.ndarray) else _sparse(table)).tocoo()
    words = _Words(entries.coords[0], entries.coords[1], entries.data.astype(np.float64), table.shape)
    lam, gamma, k = np.asarray(model.components_), np.asarray(model.doc_topic_), model.n_components
    priors = model.doc_topic_prior_, model.topic_word_prior_
    asked = (1 / k if given is None else float(given) for given in (model.doc_topic_prior, model.topic_word_prior))
    if priors != tuple(asked) or gamma.shape != (seen.rows, k) or certificate.what != "evidence lower bound":
        refuse(model, "its priors, or the number of its documents, are others than asked for")
    expected = np.exp(_logs(lam))
    if not np.all(
        np.abs(model.exp_dirichlet_component_ - expected) <= 1e-10 * expected * (1 + np.abs(_logs(lam))) + 1e-300
    ):
        refuse(model, "the expected shares of words are not those of its topics")
    value = _bound(words, gamma, lam, priors)
    total = float(np.sum(words.counts))
    size = total * (1 + np.log(words.shape[1] * k + 1)) + float(np.sum(lam)) + float(np.sum(gamma))
    rounding = 64 * DOUBLE * (size * (1 + np.log(size + 1)) / seen.rows + 1)
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    _near(model, "its bound", value, certificate.objective, 4 * rounding)
    _require_trace(model, certificate, rounding)
    require_none(model, certificate)
    after, following = _next(words, gamma, lam, priors)
    gained = _bound(words, after, following, priors) - value
    gained = 0.0 if certificate.gain == 0 and abs(gained) <= 32 * rounding else gained
    _near(model, "what the next step adds", gained, certificate.gain, 16 * rounding)
    moved = float(np.max(np.abs(following - lam) / lam.sum(axis=1, keepdims=True)))
    _near(model, "how far the next step moves topics", moved, certificate.displacement, 1e-9)
    perplexity = float(np.exp(-seen.rows * value / total)) if total > 0 else 1.0
    _near(model, "its perplexity", float(model.bound_), perplexity, 1e-9 * perplexity)
    off = abs(value - certificate.objective)
    return Verdict(certificate.statement, value, off, rounding, certificate.rounding, measure="evidence lower bound")


def _sparse(table: Array) -> Any:
    from scipy.sparse import csr_array  # noqa: PLC0415  sparse containers

    return csr_array(table)


def _next(words: _Words, gamma: Array, lam: Array, priors: tuple[float, float]) -> tuple[Array, Array]:
    """Return parameters of documents and topics after one update of each."""
    theta, beta = np.exp(_logs(gamma)), np.exp(_logs(lam))
    ratios = words.table(words.counts / words.shares(theta, beta))
    after = priors[0] + theta * (ratios @ beta.T)
    theta = np.exp(_logs(after))
    ratios = words.table(words.counts / words.shares(theta, beta))
    return after, priors[1] + beta * (ratios.T @ theta).T


def _near(model: Any, what: str, found: float, stated: float, allowed: float) -> None:
    if not abs(found - stated) <= allowed:
        refuse(model, f"{what} is {found:.12g}, not {stated:.12g}")


def _require_trace(model: Any, certificate: AscentCertificate, rounding: float) -> None:
    trace = np.asarray(certificate.trace)
    if not np.all(np.diff(trace) >= -8 * rounding) or not abs(trace[-1] - certificate.objective) <= 8 * rounding:
        refuse(model, "the bound fell, or ended elsewhere")
    if model.learning_method == "online" and len(trace) != 1:
        refuse(model, "batches give no trace of the bound")
