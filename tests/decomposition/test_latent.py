"""Hidden normal variables: likelihoods, agreement with scikit-learn, posteriors and samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import decomposition as theirs

import qed
from qed.core import InvalidData, InvalidParameter
from qed.decomposition import PCA, FactorAnalysis, ProbabilisticPCA

rng = np.random.default_rng(5)
X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 8)) + rng.standard_normal((300, 8)) * rng.uniform(0.5, 2, 8)


def log_density(x, mean, covariance):
    away = x - mean
    size = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return -0.5 * (size + np.einsum("ij,ij->i", away, np.linalg.solve(covariance, away.T).T))


@pytest.mark.parametrize(
    "model", [FactorAnalysis(3), ProbabilisticPCA(3), ProbabilisticPCA(8), FactorAnalysis(0)], ids=str
)
def test_densities_and_posteriors_are_those_of_the_joint_normal_distribution(model):
    model.fit(X)
    covariance = model.get_covariance()
    np.testing.assert_allclose(model.score_samples(X), log_density(X, X.mean(axis=0), covariance), rtol=1e-9)
    np.testing.assert_allclose(model.get_precision() @ covariance, np.eye(8), atol=1e-6)
    L = model.components_
    gain = np.linalg.solve(covariance, L.T)
    found = model.posterior(X)
    np.testing.assert_allclose(found.mean, (X - X.mean(axis=0)) @ gain, atol=1e-7)
    np.testing.assert_allclose(found.covariance, np.eye(len(L)) - L @ gain, atol=1e-7)
    np.testing.assert_array_equal(found.mean, model.transform(X))
    assert qed.verify(model, X).holds


@pytest.mark.parametrize("rotation", [None, "varimax", "quartimax"])
def test_factors_are_those_of_scikit_learn(rotation):
    other = theirs.FactorAnalysis(3, tol=1e-10, max_iter=5000, svd_method="lapack", rotation=rotation).fit(X)
    ours = FactorAnalysis(3, tol=1e-10, max_iter=5000, rotation=rotation).fit(X)
    assert ours.score(X) >= other.score(X) - 1e-9
    np.testing.assert_allclose(ours.get_covariance(), other.get_covariance(), atol=1e-4)
    np.testing.assert_allclose(np.abs(ours.components_ @ other.components_.T).max(axis=1),
                               np.sum(ours.components_**2, axis=1), rtol=1e-3)  # fmt: skip
    assert np.all(np.diff(ours.loglike_) >= -1e-7)
    assert qed.verify(ours, X).holds


def test_loadings_do_not_depend_on_units():
    units = np.array([1e-3, 1, 10, 1, 1e4, 1, 1, 1])
    one, other = FactorAnalysis(2, tol=1e-8).fit(X), FactorAnalysis(2, tol=1e-8).fit(X * units)
    np.testing.assert_allclose(other.components_ / units, one.components_, atol=1e-8)


@pytest.mark.parametrize("k", [0, 1, 3, 7])
def test_no_parameters_are_more_likely_than_the_closed_form(k):
    model = ProbabilisticPCA(k).fit(X)
    pca = PCA().fit(X)
    values = pca.eigenvalues_
    assert model.noise_variance_ == pytest.approx(values[k:].mean())
    best = model.score(X)
    assert best == pytest.approx(model.certificate_.log_likelihood, rel=1e-10)
    for _ in range(20):
        L = model.components_ + 0.02 * rng.standard_normal(model.components_.shape)
        sigma = model.noise_variance_ * np.exp(0.05 * rng.standard_normal())
        assert log_density(X, X.mean(axis=0), L.T @ L + sigma * np.eye(8)).mean() < best + 1e-12
    if k:
        span = model.components_ / np.linalg.norm(model.components_, axis=1)[:, None]
        np.testing.assert_allclose(np.abs(np.sum(span * pca.components_[:k], axis=1)), 1, atol=1e-9)


@pytest.mark.parametrize("kind", [FactorAnalysis, ProbabilisticPCA])
def test_samples_have_the_covariance_of_the_model_and_wide_tables_are_fitted(kind):
    model = kind(2).fit(X)
    drawn = model.sample(60_000, random_state=0)
    np.testing.assert_allclose(
        np.cov(drawn.T), model.get_covariance(), atol=0.15 * np.abs(model.get_covariance()).max()
    )
    np.testing.assert_array_equal(drawn[:3], model.sample(60_000, random_state=0)[:3])
    wide = kind(2).fit(X[:6])
    assert qed.verify(wide, X[:6]).holds
    flat = kind(1).fit(np.column_stack([X[:, 0], np.ones(300)]))
    assert np.isfinite(flat.score(np.column_stack([X[:, 0], np.ones(300)])))
    with pytest.raises(InvalidParameter, match="n_components"):
        kind(9).fit(X)
    with pytest.raises(InvalidData, match="hidden"):
        model.inverse_transform(np.ones((2, 5)))
    with pytest.raises(InvalidData, match="n_samples"):
        model.sample(0)
