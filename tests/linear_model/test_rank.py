"""``rank_``: what the fit determines, the same number in the attribute and in the certificate."""

import numpy as np
import pytest
import scipy.sparse as sp

from qed.linear_model import LinearRegression, Ridge, RidgeCV

rng = np.random.default_rng(5)
BASE = rng.normal(size=(60, 4))
DESIGNS = {
    "full": BASE,
    "dependent": np.column_stack([BASE, BASE[:, 0] - BASE[:, 1]]),
    "constant column": np.column_stack([BASE, np.full(60, 7.0)]),
    "wide": rng.normal(size=(15, 100)),
    "wide, rows repeated": np.repeat(rng.normal(size=(5, 100)), 3, axis=0),
    "wide, low rank": rng.normal(size=(20, 3)) @ rng.normal(size=(3, 100)),
}


def stated(model):
    assert model.rank_ == model.certificate_.rank
    return model.rank_


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_penalty_it_is_the_rank_of_the_design(name, intercept):
    X = DESIGNS[name]
    y = rng.normal(size=len(X))
    seen = X - X.mean(axis=0) if intercept else X
    truth = np.linalg.matrix_rank(seen)
    assert stated(LinearRegression(fit_intercept=intercept).fit(X, y)) == truth
    assert stated(Ridge(0.0, fit_intercept=intercept).fit(X, y)) == truth
    if len(X) > X.shape[1]:
        assert stated(LinearRegression(fit_intercept=intercept).partial_fit(X, y)) == truth


@pytest.mark.parametrize("name", DESIGNS)
def test_a_penalty_determines_every_coefficient(name):
    X = DESIGNS[name]
    y = rng.normal(size=len(X))
    assert stated(Ridge(1.0).fit(X, y)) == X.shape[1]
    assert stated(RidgeCV().fit(X, y)) == X.shape[1]
    assert stated(Ridge([1.0, 0.0]).fit(X, np.column_stack([y, y]))) == np.linalg.matrix_rank(X - X.mean(axis=0))


def test_conjugate_gradients_give_a_bound():
    dense = sp.random_array((900, 300), density=0.02, rng=rng).toarray()
    dense[:, 7] = 0.0
    dense[:, 8] = dense[:, 9]
    X = sp.csr_array(dense)
    y = rng.normal(size=900)
    model = LinearRegression().fit(X, y)
    assert model.solver_used_ == "conjugate gradients"
    assert np.linalg.matrix_rank(dense - dense.mean(axis=0)) <= stated(model) == 299
    wide = LinearRegression().fit(X.T.tocsr(), rng.normal(size=300))
    assert wide.solver_used_ == "conjugate gradients"
    assert stated(wide) == 299  # one row less than there are: the intercept takes it
    assert stated(Ridge().fit(X, y)) == 300
    assert stated(Ridge().fit(X.T.tocsr(), rng.normal(size=300))) == 900
