"""Latent Dirichlet allocation: the bound by its definition, monotone steps, scikit-learn's answers for the same topics."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln, psi

import qed
from qed.decomposition import LatentDirichletAllocation
from qed.decomposition import _latent_dirichlet_allocation as topic_model


def corpus(n: int = 80, words: int = 30, topics: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(words, 0.1), topics)
    shares = rng.dirichlet(np.full(topics, 0.2), n)
    return np.array([rng.multinomial(60, share @ beta) for share in shares], dtype=float), beta


def bound(X: np.ndarray, gamma: np.ndarray, lam: np.ndarray, alpha: float, eta: float) -> float:
    """The evidence lower bound with assignments of words written out."""
    logs = lambda a: psi(a) - psi(a.sum(axis=1, keepdims=True))  # noqa: E731
    theta, beta = logs(gamma), logs(lam)
    total = 0.0
    for d, w in zip(*np.nonzero(X), strict=True):
        phi = np.exp(theta[d] + beta[:, w])
        phi /= phi.sum()
        total += X[d, w] * np.sum(phi * (theta[d] + beta[:, w] - np.log(phi)))
    for a, own, prior in ((gamma, theta, alpha), (lam, beta, eta)):
        k = a.shape[1]
        total += np.sum((prior - a) * own) + np.sum(gammaln(a) - gammaln(prior))
        total += np.sum(gammaln(k * prior) - gammaln(a.sum(axis=1)))
    return float(total)


def test_the_bound_is_that_of_the_definition_and_never_falls() -> None:
    """The certificate states the bound of what the model stores, and every step raised it."""
    X, _ = corpus()
    model = LatentDirichletAllocation(3, max_iter=20, random_state=0).fit(X)
    claim = model.certificate_
    own = bound(X, model.doc_topic_, model.components_, 1 / 3, 1 / 3) / len(X)
    assert claim.objective == pytest.approx(own, abs=1e-9 * abs(own))
    assert len(claim.trace) == 13  # of twenty steps eight look for a place
    assert np.all(np.diff(claim.trace) >= -claim.rounding)
    assert qed.verify(model, X).holds


def test_steps_that_look_for_a_place_find_better_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over four corpora and eight seeds, at the default number of steps."""
    found = []
    for most in (0, topic_model.EXPLORING):
        monkeypatch.setattr(topic_model, "EXPLORING", most)
        total = 0.0
        for seed in range(4):
            draw = np.random.default_rng(seed)
            topics = draw.dirichlet(np.full(50, 0.1), 5)
            X = np.array([draw.multinomial(80, draw.dirichlet(np.full(5, 0.3)) @ topics) for _ in range(200)])
            total += sum(LatentDirichletAllocation(5, random_state=start).fit(X).bound_ for start in range(8))
        found.append(total)
    assert found[1] < 0.995 * found[0]


def test_planted_topics_are_found() -> None:
    """Each topic puts its weight where one of the planted ones does."""
    X, beta = corpus(300)
    model = LatentDirichletAllocation(3, max_iter=60, random_state=0).fit(X)
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    apart = np.abs(found[:, None] - beta).sum(axis=2) / 2  # total variation
    assert apart.min(axis=0).max() < 0.15


def test_answers_for_the_same_topics_are_those_of_scikit_learn() -> None:
    """Shares, score and perplexity; it adds 2e-16 to every share."""
    theirs = pytest.importorskip("sklearn.decomposition")
    X, _ = corpus()
    model = LatentDirichletAllocation(4, random_state=0).fit(X)
    other = theirs.LatentDirichletAllocation(4, max_iter=1).fit(X)
    other.components_, other.exp_dirichlet_component_ = model.components_, model.exp_dirichlet_component_
    np.testing.assert_allclose(model.transform(X), other.transform(X), atol=1e-6)
    np.testing.assert_allclose(model.transform(X, normalize=False), other.transform(X, normalize=False), rtol=1e-5)
    assert model.score(X) == pytest.approx(other.score(X), rel=1e-7)
    assert model.perplexity(X) == pytest.approx(other.perplexity(X), rel=1e-7)
    assert model.perplexity(X, sub_sampling=True) == pytest.approx(other.perplexity(X, sub_sampling=True), rel=1e-7)


def test_perplexity_is_about_that_of_scikit_learn() -> None:
    """On average over corpora and starts, at defaults: where a start ends is a matter of chance."""
    theirs = pytest.importorskip("sklearn.decomposition")
    own, others = [], []
    for seed in range(6):
        X, _ = corpus(60, 40, 3, seed=seed)
        own.append(np.log(LatentDirichletAllocation(3, random_state=seed).fit(X).perplexity(X)))
        others.append(np.log(theirs.LatentDirichletAllocation(3, random_state=seed).fit(X).perplexity(X)))
    assert np.mean(own) <= np.mean(others) + 0.05


def test_dense_and_sparse_are_one() -> None:
    """Stored zeros and entries that come twice included."""
    X, _ = corpus()
    dense = LatentDirichletAllocation(3, random_state=0).fit(X)
    rows, columns = np.nonzero(X)
    twice = sp.coo_array(
        (np.repeat(X[rows, columns] / 2, 2), (np.repeat(rows, 2), np.repeat(columns, 2))), shape=X.shape
    )
    sparse = LatentDirichletAllocation(3, random_state=0).fit(twice.tocsr())
    np.testing.assert_allclose(sparse.components_, dense.components_, rtol=1e-9)
    assert qed.verify(sparse, sp.csc_array(X)).holds


def test_online_learning_and_partial_fit() -> None:
    """Batches find topics as well; partial_fit takes more documents in."""
    X, _ = corpus(200)
    online = LatentDirichletAllocation(3, learning_method="online", batch_size=50, max_iter=20, random_state=0).fit(X)
    batch = LatentDirichletAllocation(3, max_iter=40, random_state=0).fit(X)
    assert online.perplexity(X) < 1.1 * batch.perplexity(X)
    assert qed.verify(online, X).holds
    more = LatentDirichletAllocation(3, total_samples=200, batch_size=50, random_state=0)
    for _ in range(20):
        more.partial_fit(X[:100]).partial_fit(X[100:])
    assert more.perplexity(X) < 1.1 * batch.perplexity(X)
    assert more.n_batch_iter_ == 81
    assert qed.verify(more, X[100:]).holds


def test_perplexity_stops_the_fit() -> None:
    """Where it is looked at."""
    X, _ = corpus()
    model = LatentDirichletAllocation(3, max_iter=200, evaluate_every=1, perp_tol=0.05, random_state=0).fit(X)
    assert model.n_iter_ < 200
    assert model.certificate_.outcome == "solved"


def test_documents_without_words() -> None:
    """Their topics are the prior."""
    X, _ = corpus(20)
    X[3] = 0
    model = LatentDirichletAllocation(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X)[3], 1 / 3)
    assert qed.verify(model, X).holds
    assert LatentDirichletAllocation(2, random_state=0).fit(np.zeros((3, 4))).bound_ == 1.0


def test_negative_counts() -> None:
    """They are refused, at the fit and after."""
    X, _ = corpus(10)
    model = LatentDirichletAllocation(2, random_state=0).fit(X)
    for call in (model.fit, model.transform):
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            call(-X)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_same_bits_on_any_number_of_threads(threads: int) -> None:
    """Documents are independent, and sums are merged in order."""
    X, _ = corpus(200)
    before = qed.get_num_threads()
    expected = LatentDirichletAllocation(3, random_state=0).fit(X).components_
    try:
        qed.set_num_threads(threads)
        np.testing.assert_array_equal(LatentDirichletAllocation(3, random_state=0).fit(X).components_, expected)
    finally:
        qed.set_num_threads(before)
