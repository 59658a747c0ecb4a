"""PoissonRegressor: its equations, agreement with scikit-learn, and what can go wrong."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import PoissonRegressor as Theirs

import qed
from qed.core import CertificateError, InvalidData
from qed.linear_model import PoissonRegressor

rng = np.random.default_rng(31)
X = rng.standard_normal((200, 4))
y = rng.poisson(np.exp(X @ [0.5, -0.3, 0.0, 0.2] + 0.4)).astype(float)


def test_two_points_are_met_exactly():
    model = PoissonRegressor(alpha=0.0, tol=1e-14).fit([[0.0], [1.0]], [1.0, 2.0])
    np.testing.assert_allclose([model.intercept_, model.coef_[0]], [0.0, np.log(2.0)], atol=1e-8)


def test_the_gradient_vanishes():
    s = rng.random(200)
    model = PoissonRegressor(alpha=0.3, tol=1e-14).fit(X, y, sample_weight=s)
    mean = model.predict(X)
    bound = np.sqrt(2 * 0.3 * 1e-14 * model.certificate_.null_objective)  # the gap is at least |gradient|² / 2 alpha
    np.testing.assert_allclose(X.T @ (s * (y - mean)) / s.sum(), 0.3 * model.coef_, atol=bound)
    assert abs(s @ (y - mean)) / s.sum() < 1e-6


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_scikit_learn(alpha, intercept):
    s = rng.random(200) + 0.1
    ours = PoissonRegressor(alpha=alpha, fit_intercept=intercept, tol=1e-13).fit(X, y, sample_weight=s)
    theirs = Theirs(alpha=alpha, fit_intercept=intercept, solver="newton-cholesky", tol=1e-10).fit(
        X, y, sample_weight=s
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.score(X, y, s) == pytest.approx(theirs.score(X, y, s), abs=1e-9)


def test_no_worse_than_scikit_learn_at_its_defaults():
    def objective(model):
        t = X @ model.coef_ + model.intercept_
        deviance = np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0) - y * t - y + np.exp(t)
        return deviance.mean() + 0.5 * np.sum(model.coef_**2)

    ours, theirs = PoissonRegressor().fit(X, y), Theirs().fit(X, y)
    assert objective(ours) <= objective(theirs) * (1 + 1e-9)
    assert ours.certificate_.objective == pytest.approx(objective(ours), rel=1e-12)
    assert ours.certificate_.reached


def test_laws():
    count = rng.integers(0, 3, 200)
    weighted = PoissonRegressor(tol=1e-13).fit(X, y, sample_weight=count)
    repeated = PoissonRegressor(tol=1e-13).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    table = np.where(np.abs(X) > 0.5, X, 0)
    dense, sparse = (PoissonRegressor(tol=1e-12).fit(t, y) for t in (table, csr_array(table)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    single = PoissonRegressor(tol=1e-10).fit(X.astype(np.float32), y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.coef_, PoissonRegressor(tol=1e-10).fit(X, y).coef_, atol=1e-5)


def test_steep_data_come_to_an_end():
    steep = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = PoissonRegressor(alpha=0.0, tol=1e-13).fit(100 * steep, np.exp([0.0, 10.0, 20.0, 30.0]))
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(100 * model.coef_, 10.0, rtol=1e-4)
    assert model.certificate_.reached


def test_refusals():
    with pytest.raises(InvalidData, match="y >= 0"):
        PoissonRegressor().fit(X, y - 5)
    with pytest.raises(InvalidData, match="all 0"):
        PoissonRegressor().fit(X, 0 * y)
    with pytest.raises(InvalidData, match="overflow float64"):
        PoissonRegressor().fit(X * 1e300, y)


def test_warm_start():
    model = PoissonRegressor(warm_start=True, tol=1e-10).fit(X, y)
    assert model.fit(X, y).n_iter_ == 1


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_checker_confirms(alpha):
    model = PoissonRegressor(alpha=alpha).fit(X, y)
    assert qed.verify(model, X, y).holds
    model.coef_ = model.coef_ * 1.5
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


@pytest.mark.parametrize("count", [0.1, 1 / 3, 1.0, 3.0, 1e6])
def test_counts_that_are_all_alike_verify(count):
    # the terms of the deviance cancel, in any precision
    model = PoissonRegressor(alpha=0.0).fit(X[:37], np.full(37, count))
    assert qed.verify(model, X[:37], np.full(37, count)).holds
    model.intercept_ += 1e-4
    with pytest.raises(CertificateError):
        qed.verify(model, X[:37], np.full(37, count))
