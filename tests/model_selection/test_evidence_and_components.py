"""Choosing a parameter without a second table: by evidence, and by held-out likelihood where held-out inertia does not choose."""

import numpy as np
import pytest

from qed.cluster import KMeans
from qed.linear_model import BayesianRidge, RidgeCV
from qed.mixture import GaussianMixture, choose_components

FLAT = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0}


@pytest.mark.covers("SEL-16")
@pytest.mark.parametrize("seed", range(8))
def test_evidence_chooses_the_penalty_that_cross_validation_chooses(seed):
    """The ratio of precisions with the most evidence is a ridge penalty; folds choose its neighbour on a grid of powers of ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 20))
    y = X @ rng.normal(scale=0.5, size=20) + 2 * rng.normal(size=80)
    model = BayesianRidge(fit_intercept=False, **FLAT).fit(X, y)
    by_folds = RidgeCV(alphas=10.0 ** np.arange(-2, 5), fit_intercept=False, cv=5).fit(X, y)
    assert abs(np.log10(model.lambda_ / model.alpha_) - np.log10(by_folds.alpha_)) <= 1
    # the coefficients, unlike the penalty, are parameters: given it, they are those of ridge regression
    rotated = np.linalg.solve(X.T @ X + model.lambda_ / model.alpha_ * np.eye(20), X.T @ y)
    np.testing.assert_allclose(model.coef_, rotated, rtol=1e-6)


@pytest.mark.covers("SEL-24")
@pytest.mark.parametrize("seed", range(3))
def test_held_out_rows_choose_components_and_not_clusters(seed):
    """Beyond the three groups the density of new rows falls, while their distance from the nearest centre goes on falling."""
    rng = np.random.default_rng(seed)
    centres = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 100, axis=0)
    X, new = centres + rng.normal(size=(300, 2)), centres + rng.normal(size=(300, 2))
    inertia = [-KMeans(k, n_init=5, random_state=0).fit(X).score(new) for k in range(1, 9)]
    assert int(np.argmin(inertia)) + 1 > 3
    assert inertia[5] < inertia[2]
    choice = choose_components(GaussianMixture(n_init=3, random_state=0), rng.permutation(X), range(1, 6))
    assert choice.votes["held_out"] == choice.best == 3
    assert int(np.argmax(choice.held_out)) == 2
