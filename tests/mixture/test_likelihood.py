"""The likelihood of mixtures, taken apart and climbed by its gradient."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qed.core import InvalidData
from qed.metrics import f1_score, operating_point
from qed.mixture import (
    GaussianMixture,
    MixtureLikelihood,
    decompose_likelihood,
    expected_log_likelihood,
    mixture_parameters,
)

seeds = st.integers(0, 2**32 - 1)


def rows(seed, n=60, p=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 3 * rng.integers(0, 2, (n, 1))


def fitted(X, steps, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianMixture(
            2, max_iter=steps, tol=0.0, reg_covar=0.0, random_state=0, init_params="k-means++", **options
        ).fit(X)


@pytest.mark.covers("MIX-18")
def test_expected_log_likelihood():
    X = rows(0)
    before, after = fitted(X, 2), fitted(X, 3)  # the same start, one step further
    shares = before.predict_proba(X)
    total = 0.0
    for j in range(2):
        apart = X - after.means_[j]
        logs = -0.5 * np.einsum("ij,jk,ik->i", apart, after.precisions_[j], apart)
        logs -= 0.5 * np.log(np.linalg.det(2 * np.pi * after.covariances_[j]))
        total += shares[:, j] @ (np.log(after.weights_[j]) + logs)
    best = expected_log_likelihood(after, X, shares)
    assert best == pytest.approx(total)
    found = mixture_parameters(after)
    for moved in (found._replace(means=found.means + 0.01), found._replace(covariances=1.01 * found.covariances)):
        assert expected_log_likelihood(moved, X, shares) < best  # the step maximised it
    model = MixtureLikelihood(X, 2)
    v, h = model.encode(after), 1e-5

    def slope(e):
        ends = (expected_log_likelihood(model.decode(v + t * e), X, shares) for t in (h, -h))
        return float(np.subtract(*ends)) / (2 * h)

    slopes = [slope(e) for e in np.eye(model.size)]
    np.testing.assert_allclose(slopes, 0, atol=1e-5 * len(X))
    with pytest.raises(InvalidData, match="sum to one"):
        expected_log_likelihood(after, X, 2 * shares)


@pytest.mark.covers("MIX-19")
@given(seeds)
def test_decomposition(seed):
    X = rows(seed)
    before, after = fitted(X, 1), fitted(X, 2)
    here, there = decompose_likelihood(before, X, before), decompose_likelihood(after, X, before)
    for one, model in ((here, before), (there, after)):
        assert one.log_likelihood == pytest.approx(one.expected - one.posterior, abs=1e-10 * len(X))
        assert one.log_likelihood == pytest.approx(len(X) * model.score(X), rel=1e-9)
    assert here.divergence == pytest.approx(0, abs=1e-12)
    assert there.divergence >= 0
    gain = there.log_likelihood - here.log_likelihood
    assert gain == pytest.approx((there.expected - here.expected) + there.divergence, abs=1e-9 * len(X))
    assert there.expected >= here.expected - 1e-9


@pytest.mark.covers("MIX-28")
@given(seeds)
def test_gradient_on_unconstrained_numbers(seed):
    X = rows(seed, n=30)
    model = MixtureLikelihood(X, 2)
    v = np.random.default_rng(seed).normal(size=model.size)
    h = 1e-6
    slopes = [(model.value(v + h * e) - model.value(v - h * e)) / (2 * h) for e in np.eye(model.size)]
    g = model.gradient(v)
    np.testing.assert_allclose(g, slopes, rtol=1e-4, atol=1e-6 * np.abs(g).max())
    # the gradient of Q at the same mixture, responsibilities held fixed
    at = model.decode(v)
    joint = np.column_stack([
        np.log(at.weights[j]) - 0.5 * np.log(np.linalg.det(2 * np.pi * at.covariances[j]))
        - 0.5 * np.einsum("ij,jk,ik->i", X - at.means[j], np.linalg.inv(at.covariances[j]), X - at.means[j])
        for j in range(2)
    ])  # fmt: skip
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])

    def slope(e):
        ends = (expected_log_likelihood(model.decode(v + t * e), X, shares) for t in (h, -h))
        return float(np.subtract(*ends)) / (2 * h)

    q_slopes = [slope(e) for e in np.eye(model.size)]
    np.testing.assert_allclose(g, np.array(q_slopes) / len(X), rtol=1e-3, atol=1e-5 * np.abs(g).max())
    step = 1e-3 / max(np.abs(g).max(), 1.0)
    for _ in range(3):  # small steps raise the likelihood, and every point is a mixture
        before = model.value(v)
        v = v + step * model.gradient(v) * (1e-2 / max(1.0, np.abs(model.gradient(v)).max()))
        assert model.value(v) >= before
        found = model.decode(v)
        assert found.weights.sum() == pytest.approx(1)
        assert np.all(np.linalg.eigvalsh(found.covariances) > 0)


@pytest.mark.covers("MIX-28")
def test_gradient_rests_where_em_rests():
    X = rows(3, n=200)
    model = MixtureLikelihood(X, 2)
    v = model.encode(fitted(X, 3000))
    np.testing.assert_allclose(model.gradient(v), 0, atol=1e-6)
    moved = v + 0.01 * model.gradient(v)
    np.testing.assert_allclose(model.decode(moved).means, model.decode(v).means, atol=1e-7)
    for kind in ("tied", "diag", "spherical"):
        other = fitted(X, 5, covariance_type=kind)
        assert model.value(model.encode(other)) == pytest.approx(other.score(X))
    with pytest.raises(InvalidData, match="numbers"):
        model.value(v[:-1])


@pytest.mark.covers("MIX-23")
def test_threshold_of_anomalies_is_the_best_of_all():
    X = rows(5, n=150)
    X[:10] += np.random.default_rng(0).normal(size=(10, 2)) * 6
    is_anomaly = np.arange(150) < 10
    score = -fitted(X[10:], 20).score_samples(X)
    chosen = operating_point(is_anomaly, score, maximize="f1")
    brute = [f1_score(is_anomaly, score >= threshold) for threshold in score]
    assert f1_score(is_anomaly, score >= chosen.threshold) == pytest.approx(max(brute))
    assert max(brute) > 0.5
