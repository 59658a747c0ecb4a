r"""Variational inference for topics: expectations, the evidence lower bound, and one step after the other.

A document d has shares of topics with a Dirichlet posterior of parameters :math:`\gamma_d`, a topic k shares of words with one of
parameters :math:`\lambda_k`. With :math:`\tilde\theta_d = \exp E \log \theta_d` and :math:`\tilde\beta_k` alike, the
best assignment of words to topics for both is in closed form, and

.. math:: \mathcal{L}(\gamma, \lambda) = \sum_{dw} n_{dw} \log \sum_k \tilde\theta_{dk} \tilde\beta_{kw}
    - \sum_d \mathrm{KL}(\gamma_d \,\|\, \alpha) - \sum_k \mathrm{KL}(\lambda_k \,\|\, \eta)

bounds the log-likelihood of all words from below. Updates of :math:`\gamma` and of :math:`\lambda` never lower it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._tables import is_sparse
from qed.decomposition import _kernels

if TYPE_CHECKING:
    from qed.core import Array


@dataclass(frozen=True, eq=False)
class Documents:
    """Counts of words, as compressed rows with indices of 64 bits."""

    starts: Array
    words: Array
    counts: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Any) -> Documents:
        """Read a table or a sparse container; zeros that are stored count as none."""
        if is_sparse(X):
            rows = X.tocsr()
            if not rows.has_canonical_format or not np.all(rows.data):
                rows = rows.copy()
                rows.sum_duplicates()
                rows.eliminate_zeros()
            starts, words, counts = rows.indptr, rows.indices, rows.data
        else:
            at, words = np.nonzero(X)
            counts = X[at, words]
            starts = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=X.shape[0]))])
        shape = (int(X.shape[0]), int(X.shape[1]))
        return cls(
            np.ascontiguousarray(starts, dtype=np.int64),
            np.ascontiguousarray(words, dtype=np.int64),
            np.ascontiguousarray(counts, dtype=np.float64),
            shape,
        )

    def part(self, first: int, last: int) -> Documents:
        """Return some of the documents."""
        begin, end = int(self.starts[first]), int(self.starts[min(last, self.shape[0])])
        starts = self.starts[first : last + 1] - begin
        return Documents(starts, self.words[begin:end], self.counts[begin:end], (len(starts) - 1, self.shape[1]))

    def likelihood(self, ratios: Array) -> Array:
        """Return the sums of counts times the logarithms of what they were divided by, for each document."""
        terms = np.concatenate([self.counts * np.log(self.counts / ratios), [0.0]])
        sums = np.add.reduceat(terms, self.starts[:-1])
        return np.where(np.diff(self.starts) > 0, sums, 0.0)

    def sums(self, ratios: Array, theta: Array) -> Array:
        """Return the sums of ratios times theta over documents, for each word, (words, k)."""
        return _kernels.csr_adjoint(self.starts, self.words, ratios, self.shape, theta)


class Inference(NamedTuple):
    """What a step finds for documents."""

    theta: Array
    ratios: Array
    likelihood: Array  # (n,) sums of counts times logarithms of phi, where the step began


def expectation(parameters: Array) -> Array:
    """Return exp(E log) of Dirichlet distributions, whose parameters are the columns of an array."""
    total = np.sum(parameters, axis=0, keepdims=True)
    return _kernels.exp_digamma(parameters) / _kernels.exp_digamma(total)


def infer(documents: Documents, beta: Array, gamma: Array, prior: float, tol: float, sweeps: int) -> Inference:
    """Update the parameters of documents, in place, for expected topics beta (words, k)."""
    theta, ratios, likelihood = _kernels.topics_of_rows(
        documents.starts, documents.words, documents.counts, beta, gamma, prior, tol, sweeps
    )
    return Inference(theta, ratios, likelihood)


def divergences(parameters: Array, prior: float) -> Array:
    """Return the divergences of Dirichlet distributions, the rows, from one with equal parameters."""
    from scipy.special import gammaln, psi  # noqa: PLC0415  special functions

    k, prior = parameters.shape[1], float(prior)
    total = np.sum(parameters, axis=1, keepdims=True)
    inside = np.sum((parameters - prior) * (psi(parameters) - psi(total)) - gammaln(parameters), axis=1)
    return np.asarray(inside + gammaln(total[:, 0]) + (k * float(gammaln(prior)) - float(gammaln(k * prior))))


def bound(likelihood: Array, gamma: Array, lam: Array, priors: tuple[float, float]) -> float:
    """Return the evidence lower bound for parameters of documents (n, k) and of topics (words, k)."""
    own = likelihood - divergences(gamma, priors[0])
    return float(np.sum(own)) - float(np.sum(divergences(lam.T, priors[1])))
