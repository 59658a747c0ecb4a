"""Mixtures of independent columns: laws of every kind, the formulas by hand, chunks, sparse rows, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import bernoulli, poisson

import qed
from qed.core import CertificateError
from qed.data import ArraySource
from qed.mixture import BernoulliMixture, CategoricalMixture, PoissonMixture
from qed.model_selection import cross_val_score

KINDS = (BernoulliMixture, CategoricalMixture, PoissonMixture)


def rows(kind, seed=0, n=120, p=5, k=3):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, k, n)
    if kind is PoissonMixture:
        return rng.poisson(rng.gamma(1.0, 5.0, (k, p))[z]).astype(float)
    if kind is BernoulliMixture:
        return (rng.random((n, p)) < rng.random((k, p))[z]).astype(float)
    chances = rng.dirichlet(np.full(4, 0.5), (k, p))
    return np.array([[rng.choice(4, p=chances[c, j]) for j in range(p)] for c in z], float)


def log_density(model, X):
    """The logarithm of the density by scipy's distributions, component by component, (n, k)."""
    parts = []
    for k, weight in enumerate(model.weights_):
        if isinstance(model, PoissonMixture):
            logs = poisson.logpmf(X, model.rates_[k])
        elif isinstance(model, BernoulliMixture):
            logs = bernoulli.logpmf(X, model.probabilities_[k])
        else:
            logs = np.log([[table[k, int(x)] for x, table in zip(row, model.probabilities_, strict=True)] for row in X])
        parts.append(np.log(weight) + logs.sum(axis=1))
    return np.column_stack(parts)


@pytest.mark.covers("MIX-25", "MIX-06")
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4), alpha=st.sampled_from([1e-8, 0.1, 3.0]))
def test_no_step_lowers_the_objective_and_verify_agrees(kind, seed, k, alpha):
    X = rows(kind, seed, n=50)
    model = kind(k, alpha=alpha, tol=0, max_iter=15, init_params="random", random_state=0).fit(X)
    certificate = model.certificate_
    assert np.all(np.diff(certificate.trace) >= -2 * certificate.rounding)
    qed.verify(model, X)


@pytest.mark.covers("MIX-25")
@pytest.mark.parametrize("kind", KINDS)
def test_densities_responsibilities_and_the_fixed_point(kind):
    X, alpha = rows(kind), 0.5
    model = kind(3, alpha=alpha, tol=0, max_iter=3000, random_state=0).fit(X)
    joint = log_density(model, X)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-9)
    n = shares.sum(axis=0)
    np.testing.assert_allclose(model.weights_, n / len(X), rtol=1e-5)
    if kind is PoissonMixture:
        mean = (X.sum(axis=0) + 1) / (len(X) + 1)
        np.testing.assert_allclose(model.rates_, (shares.T @ X + alpha * mean) / (n + alpha)[:, None], rtol=1e-4)
    elif kind is BernoulliMixture:
        np.testing.assert_allclose(model.probabilities_, (shares.T @ X + alpha) / (n + 2 * alpha)[:, None], rtol=1e-4)
    else:
        for j, table in enumerate(model.probabilities_):
            ones = X[:, j, None] == np.arange(table.shape[1])
            found = (shares.T @ ones + alpha) / (n + alpha * table.shape[1])[:, None]
            np.testing.assert_allclose(table, found, rtol=1e-4)


@pytest.mark.covers("MIX-25")
def test_two_coins_by_hand():
    """Rows 11 and 00, probabilities 3/4 and 1/4: the responsibility of the first for 11 is 9/10."""
    X = np.array([[1.0, 1.0], [0.0, 0.0]])
    model = BernoulliMixture(2, random_state=0).fit(X)
    model.weights_, model.probabilities_ = np.array([0.5, 0.5]), np.array([[0.75, 0.75], [0.25, 0.25]])
    np.testing.assert_allclose(model.predict_proba(X), [[0.9, 0.1], [0.1, 0.9]], rtol=1e-12)
    assert model.score_samples([[1, 0]])[0] == pytest.approx(np.log(3 / 16))


@pytest.mark.parametrize("kind", KINDS)
def test_one_component_is_the_estimate_of_its_distribution(kind):
    X = rows(kind, k=1)
    model = kind(1, alpha=1e-9).fit(X)
    if kind is CategoricalMixture:
        np.testing.assert_allclose(model.probabilities_[0][0], np.bincount(X[:, 0].astype(int)) / len(X), atol=1e-9)
    else:
        found = model.rates_ if kind is PoissonMixture else model.probabilities_
        np.testing.assert_allclose(found[0], X.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetition_and_chunks_are_the_whole(kind):
    X = rows(kind, 3)
    s = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    start = {"max_iter": 4, "tol": 0.0, "warm_start": True}
    whole, again = kind(2, random_state=0).fit(X), kind(2, random_state=0).fit(X)
    whole.set_params(**start).fit(X, sample_weight=s)
    again.set_params(**start).fit(np.repeat(X, s.astype(int), axis=0))
    np.testing.assert_allclose(whole.predict_proba(X), again.predict_proba(X), atol=1e-10)
    source = ArraySource(X, None, s, chunk_rows=17)
    chunked, table = kind(2, random_state=0).fit(source), kind(2, random_state=0).fit(X, sample_weight=s)
    np.testing.assert_allclose(chunked.score_samples(X), table.score_samples(X), rtol=1e-9)
    qed.verify(chunked, source)
    qed.verify(table, X, None, s)


@pytest.mark.parametrize("kind", [BernoulliMixture, PoissonMixture])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_rows_give_the_same(kind, form):
    X = rows(kind, 2)
    dense, sparse = kind(2, random_state=0).fit(X), kind(2, random_state=0).fit(form(X))
    np.testing.assert_allclose(sparse.predict_proba(form(X)), dense.predict_proba(X), atol=1e-10)
    qed.verify(sparse, form(X))


@pytest.mark.parametrize("kind", KINDS)
def test_held_out_likelihood_and_criteria_choose_the_number_of_components(kind):
    X = rows(kind, 4, n=400, p=16)
    held = {k: cross_val_score(kind(k, n_init=3, random_state=0), X, cv=5).mean() for k in (1, 2, 3)}
    assert max(held, key=held.get) == 3
    bic = {k: kind(k, n_init=3, random_state=0).fit(X).bic(X) for k in (1, 2, 3, 6)}
    assert min(bic, key=bic.get) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_density(kind):
    model = kind(2, random_state=0).fit(rows(kind, 5, k=2))
    X, labels = model.sample(20_000)
    np.testing.assert_allclose(np.bincount(labels) / len(X), model.weights_, atol=0.02)
    for k in range(2):
        if kind is CategoricalMixture:
            share = np.bincount(X[labels == k, 0].astype(int), minlength=model.n_categories_[0]) / np.sum(labels == k)
            np.testing.assert_allclose(share, model.probabilities_[0][k], atol=0.03)
        else:
            mean = model.rates_[k] if kind is PoissonMixture else model.probabilities_[k]
            np.testing.assert_allclose(X[labels == k].mean(axis=0), mean, rtol=0.05, atol=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_models_are_refused(kind):
    X = rows(kind, 6)
    model = kind(2, random_state=0).fit(X)
    qed.verify(model, X)
    table = model.rates_ if kind is PoissonMixture else model.probabilities_
    table = table[0] if kind is CategoricalMixture else table
    table[0, 0] *= 0.99
    if kind is CategoricalMixture:
        table[0] /= table[0].sum()
    with pytest.raises(CertificateError):
        qed.verify(model, X)


def test_bad_rows_are_refused_in_words():
    with pytest.raises(qed.InvalidData, match="Negative values"):
        PoissonMixture(1).fit([[1.0], [-2.0]])
    with pytest.raises(qed.InvalidData, match="Negative values"):
        CategoricalMixture(1).fit([[1.0], [-2.0]])
    chunks = ArraySource(np.array([[1.0], [-2.0]]))
    with pytest.raises(qed.InvalidData, match="Counts are zero or more"):
        PoissonMixture(1).fit(chunks)
    with pytest.raises(qed.InvalidData, match="Values are numbered from 0"):
        CategoricalMixture(1).fit(chunks)
    with pytest.raises(qed.InvalidData, match="zeros and ones"):
        BernoulliMixture(1, binarize=None).fit([[0.0], [0.5]])
    model = CategoricalMixture(1).fit([[0, 1], [1, 0]])
    with pytest.raises(qed.InvalidData, match="min_categories"):
        model.predict([[2, 0]])
    with pytest.raises(qed.InvalidData, match="n_components = 3, n_samples = 2"):
        BernoulliMixture(3).fit([[0], [1]])
    with pytest.raises(qed.InvalidParameter, match="rounds to 0 or 1"):
        BernoulliMixture(1, alpha=1e-30).fit([[1.0], [1.0]])
    with pytest.raises(qed.InvalidParameter, match="min_categories"):
        CategoricalMixture(1, min_categories=[1, 2, 3]).fit([[0, 1]])
    for kind in KINDS:
        with pytest.raises(qed.InvalidData, match="NaN"):
            kind(1).fit([[np.nan], [1.0]])
        constant = kind(1).fit([[1.0, 0.0]] * 4)
        assert np.isfinite(constant.score_samples([[1.0, 0.0]])).all()
