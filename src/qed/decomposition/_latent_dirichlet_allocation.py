r"""Latent Dirichlet allocation: topics of documents from their counts of words."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import AscentCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    Probability,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.decomposition import _topics as inference
from qed.decomposition._topics import Documents
from qed.designs._range import fingerprint, require_range

BOUND = "evidence lower bound"
# Passes that begin documents anew and keep what they find; more find little: on four corpora, eight seeds, the perplexity after
# 30 passes was 17.78 without any, 17.62 with 7, 17.61 with 15 or 29.
EXPLORING = 8
TOLERANCE = 1e-4  # of a gain: the model has no tolerance of its own
Prior = Annotated[float, Number(low=0, high=1, open_low=True)]


class LatentDirichletAllocation(Transformer, sparse=True, positive_only=True):
    r"""Latent Dirichlet allocation (topic model): each document is a mixture of topics, each topic a distribution over words.

    Objective
    ---------
    .. math:: \max_{\gamma, \lambda} \; \sum_{dw} n_{dw} \log \sum_k e^{E \log \theta_{dk} + E \log \beta_{kw}}
        - \sum_d \mathrm{KL}(\gamma_d \,\|\, \alpha) - \sum_k \mathrm{KL}(\lambda_k \,\|\, \eta)

    with counts n, Dirichlet posteriors :math:`\theta_d \sim \mathrm{Dir}(\gamma_d)` of the topics of a document and :math:`\beta_k
    \sim \mathrm{Dir}(\lambda_k)` of the words of a topic, and priors :math:`\alpha` and :math:`\eta`. It bounds the log-likelihood
    of all words from below (the evidence lower bound) and has many maxima.

    Certificate
    -----------
    AscentCertificate: the bound after every step but the first ones, none of which lowered it (batch learning), its value for
    ``components_`` and ``doc_topic_``, and what one more update of both adds. After online learning and ``partial_fit`` the trace
    has one value, of all documents or of those of the last call.

    Cost
    ----
    O(e k) for each update of all documents, with e nonzero counts; O((n + p) k + e) memory. ``components_`` and ``doc_topic_`` are
    stored.

    Notes
    -----
    In batch learning documents start from random weights at every step, as in scikit-learn. In the first steps, eight or half
    of ``max_iter``, the bound may fall so, and better places are found; from then on each document keeps the better of the new and
    the old place, so that the bound never falls. ``transform`` begins with equal shares, and its answers do not
    depend on other documents. Counts need not be whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import LatentDirichletAllocation
    >>> X = np.array([[4, 3, 0, 0], [5, 2, 0, 0], [0, 0, 3, 4], [0, 1, 5, 2]])
    >>> model = LatentDirichletAllocation(2, random_state=0, max_iter=50).fit(X)
    >>> model.transform(X).max(axis=1).round(1)
    array([0.9, 0.9, 0.9, 0.9])
    """

    n_components: PositiveInt = param(10, "How many topics.")
    _: KW_ONLY
    doc_topic_prior: Prior | None = param(
        None, "Prior of the topics of a document; one divided by their number by default."
    )
    topic_word_prior: Prior | None = param(
        None, "Prior of the words of a topic; one divided by the number of topics by default."
    )
    learning_method: Literal["batch", "online"] = param(
        "batch", "Whether every step looks at all documents, or at ``batch_size`` of them."
    )
    learning_decay: Probability = param(0.7, "How fast batches count less, between 0.5 and 1 for convergence (online).")
    learning_offset: Annotated[float, Number(low=1)] = param(10.0, "How much less the first batches count (online).")
    max_iter: PositiveInt = param(10, "Most passes over the documents.")
    batch_size: PositiveInt = param(128, "Documents of a batch (online).")
    evaluate_every: int = param(-1, "Passes between two looks at the perplexity, for ``perp_tol``; 0 or less for none.")
    total_samples: Positive = param(1e6, "Documents altogether, for ``partial_fit``.")
    perp_tol: NonNegative = param(0.1, "Change of the perplexity at which to stop, where it is looked at.")
    mean_change_tol: NonNegative = param(1e-3, "Mean change of the parameters of a document at which its updates stop.")
    max_doc_update_iter: NonNegativeInt = param(100, "Most updates of a document in a step.")
    n_jobs: int | None = param(None, "Jobs of scikit-learn; here all threads are used.", kind="hint")
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of the topics to begin with, and of documents in batch learning.")

    components_: Array = fitted(
        "Parameters of the words of each topic, shape (k, p).", shape="(n_components, p)", above=0
    )
    exp_dirichlet_component_: Array = fitted(
        "Exponential of the expected logarithm of the share of each word, shape (k, p).",
        shape="(n_components, p)",
        low=0,
    )
    doc_topic_: Array = fitted(
        "Parameters of the topics of each document of the fit, shape (n, k).",
        shape="(n, n_components)",
        above=0,
        answers=False,
    )
    doc_topic_prior_: float = fitted("Prior of the topics of a document.", above=0, high=1)
    topic_word_prior_: float = fitted("Prior of the words of a topic.", above=0, high=1)
    bound_: float = fitted("Perplexity of the documents of the fit.", low=0, answers=False)
    n_batch_iter_: int = fitted("Batches seen, plus one.", low=1, answers=False)
    n_iter_: int = fitted("Passes over the documents.", low=0, answers=False)
    certificate_: AscentCertificate = fitted("What is proven about the fit.")

    # -- learning --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn topics.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Counts of words, one document a row.
        """
        documents, seen = self._let_in(X, reset=True)
        rng = generator(self.random_state)
        lam = self._begin(documents.shape[1], rng)
        trace: list[float] = []
        gamma, outcome = np.ones((documents.shape[0], self.n_components)), "max_iter"
        try:
            with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress:
                for _ in range(self.max_iter):
                    if self.learning_method == "online":
                        lam, value = self._online_pass(documents, lam)
                    elif self.n_iter_ < min(EXPLORING, self.max_iter // 2):
                        lam, value = self._exploring_step(documents, lam, gamma, rng)
                    else:
                        lam, value = self._batch_step(documents, lam, gamma, rng)
                        trace.append(value)
                    self.n_iter_ += 1
                    if self._at_rest(documents, trace):
                        outcome = "solved"
                        break
                    if progress.step(None if np.isnan(value) else -value) is STOP:
                        outcome = "stopped"
                        break
        except KeyboardInterrupt:
            outcome = "interrupted"
        if self.learning_method == "online":
            gamma, trace = self._settled(documents, inference.expectation(lam)), []
        self._store(documents, lam, gamma, trace, outcome, seen)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Take documents in, in batches of ``batch_size``.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Counts of words, one document a row.
        """
        is_first = "components_" not in self.__dict__
        documents, seen = self._let_in(X, reset=is_first)
        rng = generator(self.random_state)
        lam = self._begin(documents.shape[1], rng) if is_first else np.ascontiguousarray(self.components_.T)
        lam, _ = self._online_pass(documents, lam, float(self.total_samples))
        gamma = self._settled(documents, inference.expectation(lam))
        self._store(documents, lam, gamma, [], "max_iter", seen)
        return self

    def _let_in(self, X: Any, *, reset: bool) -> tuple[Documents, Any]:
        table = self._fit_data(X, reset=reset).X
        seen = fingerprint(table, np.empty((table.shape[0], 0)), None)
        require_range(ArraySource(table, None, None), seen, centred=False)
        return Documents.of(table), seen

    def _begin(self, words: int, rng: Any) -> Array:
        k = int(self.n_components)
        self.doc_topic_prior_ = 1.0 / k if self.doc_topic_prior is None else float(self.doc_topic_prior)
        self.topic_word_prior_ = 1.0 / k if self.topic_word_prior is None else float(self.topic_word_prior)
        self.n_iter_, self.n_batch_iter_ = 0, 1
        drawn = rng.gamma(100.0, 0.01, (k, words))
        return np.ascontiguousarray(drawn.T)

    def _infer(self, documents: Documents, beta: Array, gamma: Array, sweeps: int | None = None) -> inference.Inference:
        most = int(self.max_doc_update_iter) if sweeps is None else sweeps
        return inference.infer(documents, beta, gamma, self.doc_topic_prior_, float(self.mean_change_tol), most)

    def _settled(self, documents: Documents, beta: Array) -> Array:
        """Return the parameters of documents that begin with equal shares."""
        gamma = np.ones((documents.shape[0], beta.shape[1]))
        self._infer(documents, beta, gamma)
        return gamma

    def _exploring_step(self, documents: Documents, lam: Array, gamma: Array, rng: Any) -> tuple[Array, float]:
        """Update documents, in place and begun anew, then topics; return these, and no bound."""
        gamma[:] = rng.gamma(100.0, 0.01, gamma.shape)
        return self._learnt(documents, lam, gamma), float("nan")

    def _learnt(self, documents: Documents, lam: Array, gamma: Array) -> Array:
        """Update documents, in place, from where they are; return the topics that follow."""
        beta = inference.expectation(lam)
        found = self._infer(documents, beta, gamma)
        self.n_batch_iter_ += 1
        return self.topic_word_prior_ + beta * documents.sums(found.ratios, found.theta)

    def _batch_step(self, documents: Documents, lam: Array, gamma: Array, rng: Any) -> tuple[Array, float]:
        """Update documents, in place, then topics; return these and the bound before.

        Documents are begun anew, which finds better places than going on from where they are; each then goes on from the better of
        both places, so that the bound never falls.
        """
        beta, (prior, _) = inference.expectation(lam), self._priors()
        own = self._infer(documents, beta, gamma.copy(), 0).likelihood - inference.divergences(gamma, prior)
        before = float(np.sum(own)) - float(np.sum(inference.divergences(lam.T, self.topic_word_prior_)))
        fresh = rng.gamma(100.0, 0.01, gamma.shape)
        found = self._infer(documents, beta, fresh)
        better = documents.likelihood(found.ratios) - inference.divergences(fresh, prior) > own
        gamma[better] = fresh[better]
        return self._learnt(documents, lam, gamma), before / documents.shape[0]

    def _online_pass(self, documents: Documents, lam: Array, total: float | None = None) -> tuple[Array, float]:
        n = documents.shape[0]
        for first in range(0, n, self.batch_size):
            batch = documents.part(first, min(first + self.batch_size, n))
            beta = inference.expectation(lam)
            found = self._infer(batch, beta, np.ones((batch.shape[0], self.n_components)))
            share = (self.learning_offset + self.n_batch_iter_) ** -self.learning_decay
            times = (n if total is None else total) / batch.shape[0]
            learnt = self.topic_word_prior_ + times * beta * batch.sums(found.ratios, found.theta)
            lam = (1 - share) * lam + share * learnt
            self.n_batch_iter_ += 1
        return lam, float("nan")

    def _at_rest(self, documents: Documents, trace: list[float]) -> bool:
        """Tell whether the perplexity has come to rest, where it is looked at."""
        every = int(self.evaluate_every)
        if every <= 0 or self.learning_method == "online" or len(trace) <= every or (len(trace) - 1) % every:
            return False
        words = float(np.sum(documents.counts)) / documents.shape[0]
        last, now = (np.exp(-value / words) if words > 0 else 1.0 for value in (trace[-1 - every], trace[-1]))
        return bool(abs(last - now) < self.perp_tol)

    def _priors(self) -> tuple[float, float]:
        return self.doc_topic_prior_, self.topic_word_prior_

    def _store(
        self, documents: Documents, lam: Array, gamma: Array, trace: list[float], outcome: str, seen: Any
    ) -> None:
        """Keep topics and documents, and say where they stand and what one more update of both adds."""
        n, k = gamma.shape
        priors, beta = self._priors(), inference.expectation(lam)
        after = gamma.copy()
        found = self._infer(documents, beta, after, 1)
        value = inference.bound(found.likelihood, gamma, lam, priors) / n
        following = self.topic_word_prior_ + beta * documents.sums(found.ratios, found.theta)
        again = self._infer(documents, inference.expectation(following), after.copy(), 0)
        gain = inference.bound(again.likelihood, after, following, priors) / n - value
        words = float(np.sum(documents.counts))
        # every term rounds like the logarithms and sums that it is made of
        size = words * (1 + np.log(documents.shape[1] * k + 1)) + float(np.sum(lam)) + float(np.sum(gamma))
        rounding = 64 * UNIT * (size * (1 + np.log(size + 1)) / n + 1)
        self.components_, self.doc_topic_ = np.ascontiguousarray(lam.T), gamma
        self.exp_dirichlet_component_ = np.ascontiguousarray(beta.T)
        self.bound_ = float(np.exp(-n * value / words)) if words > 0 else 1.0
        self.certificate_ = AscentCertificate(
            what=BOUND,
            objective=value,
            rounding=rounding,
            trace=np.array([*trace, value]),
            gain=gain if abs(gain) > 16 * rounding else 0.0,
            displacement=float(np.max(np.abs(following - lam) / np.sum(lam, axis=0))),
            tol=TOLERANCE,
            outcome=outcome,
            fingerprint=seen,
        )

    # -- answers ---------------------------------------------------------------------------------------

    def _n_features_out(self) -> int:
        return len(self.components_)

    def _gamma(self, X: Any) -> tuple[Documents, Array, Any]:
        table = self._new_data(X)
        if (table.min() if table.shape[0] else 0) < 0:
            raise InvalidData("Negative values in data passed to LatentDirichletAllocation: X holds counts of words.")
        documents = Documents.of(table)
        return documents, self._settled(documents, self._beta()), table.dtype

    def _beta(self) -> Array:
        return np.ascontiguousarray(self.exp_dirichlet_component_.T)

    def transform(self, X: Any, *, normalize: bool = True) -> Any:
        """Return the expected shares of topics in documents.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Counts of words, one document a row.
        normalize : bool
            Whether shares add up to one; else the parameters of their distributions are returned.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        _, gamma, kind = self._gamma(X)
        return (gamma / np.sum(gamma, axis=1, keepdims=True) if normalize else gamma).astype(kind, copy=False)

    def fit_transform(self, X: Any, y: Any = None, *, normalize: bool = True) -> Any:  # type: ignore[override]
        """Learn topics, and return the shares of topics in the documents, as ``transform`` does.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Counts of words, one document a row.
        normalize : bool
            Whether shares add up to one.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        return self.fit(X, y).transform(X, normalize=normalize)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the evidence lower bound of documents.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Counts of words, one document a row.

        Returns
        -------
        float
            The bound, of all documents together.
        """
        documents, gamma, _ = self._gamma(X)
        found = self._infer(documents, self._beta(), gamma.copy(), 0)
        lam = np.ascontiguousarray(self.components_.T)
        return inference.bound(found.likelihood, gamma, lam, self._priors())

    def perplexity(self, X: Any, sub_sampling: bool = False) -> float:
        """Return the perplexity of documents: exp of minus the bound for each word, lower is better.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Counts of words, one document a row.
        sub_sampling : bool
            Whether the documents are a sample of ``total_samples``: then their terms count as often.

        Returns
        -------
        float
            The perplexity.
        """
        documents, gamma, _ = self._gamma(X)
        found = self._infer(documents, self._beta(), gamma.copy(), 0)
        lam = np.ascontiguousarray(self.components_.T)
        times = float(self.total_samples) / documents.shape[0] if sub_sampling else 1.0
        own = times * (
            float(np.sum(found.likelihood)) - float(np.sum(inference.divergences(gamma, self.doc_topic_prior_)))
        )
        value = own - float(np.sum(inference.divergences(lam.T, self.topic_word_prior_)))
        words = times * float(np.sum(documents.counts))
        return float(np.exp(-value / words)) if words > 0 else 1.0
