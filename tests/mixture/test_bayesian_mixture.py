"""Variational mixtures: the bound rises, the evidence is above it, scikit-learn's updates, changed models, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import multigammaln
from sklearn import mixture as theirs

import qed
from qed.core import CertificateError
from qed.datasets import load_iris
from qed.mixture import BayesianGaussianMixture

KINDS = ("full", "tied", "diag", "spherical")
WEIGHTS = ("dirichlet_process", "dirichlet_distribution")


def _blobs(seed=0, n=90, p=2, k=3, apart=4.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + apart * rng.standard_normal((k, p))[rng.integers(0, k, n)]


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), weights=st.sampled_from(WEIGHTS), k=st.integers(1, 5)
)
def test_no_step_lowers_the_bound_and_verify_agrees(seed, kind, weights, k):
    X = _blobs(seed, n=40)
    model = BayesianGaussianMixture(
        k, covariance_type=kind, weight_concentration_prior_type=weights, tol=0, max_iter=15, random_state=0
    ).fit(X)
    certificate = model.certificate_
    assert np.all(np.diff(certificate.trace) >= -2 * certificate.rounding)
    assert abs(model.weights_.sum() - 1) < 1e-12
    qed.verify(model, X)


def test_the_bound_of_one_component_is_the_evidence():
    """With one component and a Dirichlet prior nothing is approximated but the blur, which is switched off."""
    X = _blobs(1, n=30, k=1)
    n, p = X.shape
    scale, degrees, precision = np.array([[2.0, 0.3], [0.3, 1.0]]), 3.5, 0.7
    model = BayesianGaussianMixture(
        1, weight_concentration_prior_type="dirichlet_distribution", covariance_prior=scale, reg_covar=0.0,
        degrees_of_freedom_prior=degrees, mean_precision_prior=precision, mean_prior=[0.5, -0.5],
    ).fit(X)  # fmt: skip
    mean, away = X.mean(axis=0), X.mean(axis=0) - [0.5, -0.5]
    after = scale + (X - mean).T @ (X - mean) + precision * n / (precision + n) * np.outer(away, away)
    evidence = (
        -0.5 * n * p * np.log(np.pi)
        + multigammaln(0.5 * (degrees + n), p) - multigammaln(0.5 * degrees, p)
        + 0.5 * degrees * np.linalg.slogdet(scale)[1] - 0.5 * (degrees + n) * np.linalg.slogdet(after)[1]
        + 0.5 * p * np.log(precision / (precision + n))
    )  # fmt: skip
    np.testing.assert_allclose(model.lower_bound_ * n, evidence, rtol=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_a_step_is_that_of_scikit_learn(kind, weights):
    X = _blobs(2)
    options = {"covariance_type": kind, "weight_concentration_prior_type": weights, "reg_covar": 0.0, "tol": 1e-12}
    other = theirs.BayesianGaussianMixture(n_components=3, max_iter=1, random_state=0, warm_start=True, **options)
    with pytest.warns(match="did not converge"):
        other.fit(X)
    own = BayesianGaussianMixture(3, max_iter=1, random_state=0, warm_start=True, **options).fit(X)
    for name in ("weights_", "means_", "covariances_", "mean_precision_", "degrees_of_freedom_"):
        setattr(own, name, np.array(getattr(other, name)) if np.ndim(getattr(other, name)) else getattr(other, name))
    own.weight_concentration_ = np.array(other.weight_concentration_)
    own.fit(X)
    with pytest.warns(match="did not converge"):
        other.fit(X)
    for name in ("weights_", "means_", "covariances_", "mean_precision_", "weight_concentration_"):
        np.testing.assert_allclose(getattr(own, name), np.array(getattr(other, name)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), atol=1e-9)


def test_components_that_are_not_needed_fall_away():
    X = _blobs(3, n=300, apart=8.0)
    model = BayesianGaussianMixture(8, weight_concentration_prior=1e-3, max_iter=1000, tol=1e-6, random_state=0).fit(X)
    assert model.n_effective_components_ <= 4
    rows, labels = model.sample(500)
    assert rows.shape == (500, 2)
    assert np.bincount(labels, minlength=8)[model.weights_ < 1e-4].sum() <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetition(kind):
    X, counts = _blobs(4, n=40), np.random.default_rng(0).integers(1, 4, 40)
    options = {"covariance_type": kind, "max_iter": 5, "tol": 0.0, "mean_prior": [0.0, 0.0], "init_params": "kmeans"}
    weighted = BayesianGaussianMixture(1, **options).fit(X, sample_weight=counts)
    repeated = BayesianGaussianMixture(1, **options).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-10)
    np.testing.assert_allclose(weighted.lower_bound_, repeated.lower_bound_, rtol=1e-10)


@pytest.mark.parametrize(
    "name", ["means_", "covariances_", "mean_precision_", "degrees_of_freedom_", "weight_concentration_", "mean_prior_"]
)
def test_a_changed_posterior_is_refused(name):
    X = load_iris(return_X_y=True)[0]
    model = BayesianGaussianMixture(3, random_state=0).fit(X)
    qed.verify(model, X)
    setattr(model, name, getattr(model, name) * (1 + 1e-5))
    with pytest.raises(CertificateError):
        qed.verify(model, X)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"degrees_of_freedom_prior": 0.5}, "greater than 1"),
        ({"mean_prior": [0.0]}, "one number a column"),
        ({"covariance_prior": np.zeros((2, 2))}, "positive-definite"),
        ({"covariance_prior": [1.0, 2.0]}, "should have the shape"),
        ({"covariance_type": "diag", "covariance_prior": [1.0, -1.0]}, "positive"),
        ({"n_components": 100}, "Ask for fewer"),
        ({"weight_concentration_prior": -1.0}, "weight_concentration_prior"),
    ],
)
def test_improper_priors_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        BayesianGaussianMixture(**{"n_components": 2, **given}).fit(_blobs())


def test_constant_columns():
    X = np.column_stack([_blobs(), np.ones(90)])
    assert np.isfinite(BayesianGaussianMixture(2, random_state=0).fit(X).score_samples(X)).all()
    with pytest.raises(ValueError, match="singular"):
        BayesianGaussianMixture(2, reg_covar=0.0).fit(X)
