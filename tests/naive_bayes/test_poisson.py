"""Naive Bayes for rates of events."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import poisson

import qed
from qed.core import CertificateError
from qed.data import ArraySource
from qed.naive_bayes import PoissonNB

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 120)
X = rng.poisson(rng.gamma(2.0, 2.0, (3, 5))[Y]).astype(float)
S = rng.integers(0, 4, 120).astype(float)


def test_rates_are_means_and_probabilities_those_of_poisson():
    model = PoissonNB(alpha=0.0).fit(X, Y, S)
    for k in range(3):
        np.testing.assert_allclose(model.rates_[k], np.average(X[k == Y], axis=0, weights=S[k == Y]), rtol=1e-12)
    model = PoissonNB(alpha=2.0).fit(X, Y)
    n = np.bincount(Y)
    mean = (X.sum(axis=0) + 1) / (len(X) + 1)
    totals = np.stack([X[k == Y].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.rates_, (totals + 2 * mean) / (n + 2)[:, None], rtol=1e-12)
    joint = np.column_stack([np.log(n[k] / 120) + poisson.logpmf(X, model.rates_[k]).sum(axis=1) for k in range(3)])
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-11)
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-11)
    np.testing.assert_array_equal(model.predict(X), joint.argmax(axis=1))


def test_scores_are_linear_and_layouts_streams_and_forgetting_agree():
    two = np.minimum(Y, 1)
    model = PoissonNB().fit(X, two)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], rtol=1e-9)
    whole = PoissonNB().fit(X, Y, S)
    for table in (scipy.sparse.csr_array(X), scipy.sparse.csc_array(X)):
        sparse = PoissonNB().fit(table, Y, S)
        np.testing.assert_allclose(sparse.predict_joint_log_proba(table), whole.predict_joint_log_proba(X), rtol=1e-11)
    chunked = PoissonNB().fit(ArraySource(X, Y, S, chunk_rows=13))
    np.testing.assert_array_equal(chunked.feature_log_prob_, whole.feature_log_prob_)
    stream = (
        PoissonNB().partial_fit(X[:50], Y[:50], [0, 1, 2], S[:50]).partial_fit(X[50:], Y[50:], sample_weight=S[50:])
    )
    np.testing.assert_array_equal(stream.feature_log_prob_, whole.feature_log_prob_)
    stream.partial_fit(X[:9] + 1, Y[:9]).forget(X[:9] + 1, Y[:9])
    np.testing.assert_array_equal(stream.feature_log_prob_, whole.feature_log_prob_)
    qed.verify(whole, X, Y, S)
    whole.feature_log_prob_[0, 0] += 1e-6
    with pytest.raises(CertificateError):
        qed.verify(whole, X, Y, S)


def test_draws_have_the_rates_and_counts_are_not_negative():
    model = PoissonNB().fit(X, Y)
    drawn, labels = model.sample(20_000, random_state=0)
    for k in range(3):
        np.testing.assert_allclose(drawn[labels == k].mean(axis=0), model.rates_[k], rtol=0.06, atol=0.05)
    with pytest.raises(qed.InvalidData, match="Negative values"):
        PoissonNB().fit(X - 5, Y)
    never = PoissonNB(alpha=0.0).fit([[1, 0], [2, 0], [0, 1], [0, 2]], [0, 0, 1, 1])
    np.testing.assert_allclose(
        never.predict_proba([[1, 0], [1, 1]]), [[1, 0], [0.5, 0.5]]
    )  # the second: no class can have it
