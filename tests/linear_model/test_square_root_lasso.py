"""SquareRootLasso: a lasso of strength alpha times its own scale, free of the units of y."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso

import qed
from qed import CertificateError, InvalidParameter
from qed.core._events import STOP, listen
from qed.linear_model import SquareRootLasso


def table(n=60, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1
    return X, X[:, 0] - 2 * X[:, 1] + rng.standard_normal(n)


def objective(X, y, w, b, alpha, s=None):
    return np.sqrt(np.average((y - X @ w - b) ** 2, weights=s)) + alpha * np.abs(w).sum()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2, 0.6])
def test_it_is_the_lasso_at_its_own_scale(alpha, intercept):
    X, y = table()
    model = SquareRootLasso(alpha, fit_intercept=intercept, tol=1e-10).fit(X, y)
    assert model.certificate_.reached
    lasso = Lasso(alpha * model.scale_, fit_intercept=intercept, tol=1e-14, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-7)
    assert model.scale_ == pytest.approx(np.sqrt(np.mean((y - model.predict(X)) ** 2)), rel=1e-10)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_a_general_solver_finds_nothing_better(alpha):
    X, y = table(n=30, p=3)

    def split(z):
        return objective(X, y, z[:3] - z[3:6], z[6], 0.0) + alpha * z[:6].sum()

    bounds = [(0, None)] * 6 + [(None, None)]
    theirs = minimize(split, np.full(7, 0.1), method="SLSQP", bounds=bounds, options={"ftol": 1e-14, "maxiter": 1000})
    model = SquareRootLasso(alpha, tol=1e-10).fit(X, y)
    ours = objective(X, y, model.coef_, model.intercept_, alpha)
    assert ours == pytest.approx(theirs.fun, abs=1e-7)
    assert model.certificate_.objective == pytest.approx(ours, rel=1e-12)


@pytest.mark.covers("LIN-30")
def test_strength_scale_and_robustness():
    X, y = table()
    X = X - X.mean(axis=0)
    y = y - y.mean()
    n = len(y)
    largest = np.abs(X.T @ y).max() / np.linalg.norm(y) / np.sqrt(n)  # lengths are root mean squares here
    assert not SquareRootLasso(largest * 1.0001, fit_intercept=False).fit(X, y).coef_.any()
    assert SquareRootLasso(largest * 0.99, fit_intercept=False).fit(X, y).coef_.any()
    model = SquareRootLasso(0.1, fit_intercept=False, tol=1e-10).fit(X, y)
    scaled = SquareRootLasso(0.1, fit_intercept=False, tol=1e-10).fit(X, 1e5 * y)
    np.testing.assert_allclose(scaled.coef_, 1e5 * model.coef_, rtol=1e-6, atol=1e-4)
    # the optimum: the slope of the length is alpha where a column is used, and no more elsewhere
    r = y - X @ model.coef_
    slope = X.T @ r / np.linalg.norm(r) / np.sqrt(n)
    used = model.coef_ != 0
    assert 0 < used.sum() < 6
    np.testing.assert_allclose(slope[used], 0.1 * np.sign(model.coef_[used]), atol=1e-6)
    assert np.abs(slope).max() <= 0.1 + 1e-6
    assert model.certificate_.objective == pytest.approx(objective(X, y, model.coef_, 0.0, 0.1), rel=1e-9)
    # the worst change of columns, each by at most 0.1 sqrt(n) in length, costs what the penalty says
    worst = np.outer(r / np.linalg.norm(r), -0.1 * np.sqrt(n) * np.sign(model.coef_))
    changed = np.linalg.norm(y - (X + worst) @ model.coef_) / np.sqrt(n)
    assert changed == pytest.approx(model.certificate_.objective, rel=1e-9)


def test_the_proof_is_true_and_a_changed_model_is_caught():
    X, y = table()
    model = SquareRootLasso(0.1).fit(X, y)
    assert model.certificate_.dual.shape == (60,)
    assert qed.verify(model, X, y).holds
    model.coef_ = 1.02 * model.coef_
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


def test_a_weight_is_a_repetition():
    X, y = table()
    s = np.random.default_rng(1).integers(0, 4, len(y))
    weighed = SquareRootLasso(0.1, tol=1e-10).fit(X, y, s)
    repeated = SquareRootLasso(0.1, tol=1e-10).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-8)


def test_sparse_is_dense():
    X, y = table()
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    dense, sparse = (SquareRootLasso(0.1, tol=1e-10).fit(given, y) for given in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)


def test_the_order_of_rows_and_columns_does_not_matter():
    X, y = table()
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(60), rng.permutation(6)
    plain = SquareRootLasso(0.1, tol=1e-10).fit(X, y)
    mixed = SquareRootLasso(0.1, tol=1e-10).fit(X[rows][:, columns], y[rows])
    np.testing.assert_allclose(mixed.coef_, plain.coef_[columns], atol=1e-8)


def test_more_columns_than_can_be_multiplied_at_once(monkeypatch):
    X, y = table(n=40, p=80)
    plain = SquareRootLasso(0.25, tol=1e-10).fit(X, y)
    monkeypatch.setattr("qed.convex.solvers._scaled_lasso.GRAM", 10)
    by_passes = SquareRootLasso(0.25, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(by_passes.coef_, plain.coef_, atol=1e-8)


def test_a_strength_of_nothing_is_refused():
    with pytest.raises(InvalidParameter, match="must be a real number > 0"):
        SquareRootLasso(0.0).fit(*table())


@pytest.mark.parametrize("alpha", [0.001, 0.05])
def test_interpolation_is_the_shortest_in_l1(alpha):
    X, y = table(n=15, p=40)
    model = SquareRootLasso(alpha).fit(X, y)
    assert model.certificate_.reached
    assert model.scale_ <= 1e-6
    assert qed.verify(model, X, y).holds


@pytest.mark.parametrize("p", [1, 5])
def test_one_row_and_constant_targets(p):
    X, y = table(n=12, p=p) if p > 1 else (np.ones((1, 1)), np.array([4.0]))
    model = SquareRootLasso(0.1).fit(X, np.full(len(y), 4.0))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == pytest.approx(4.0)
    assert model.scale_ == pytest.approx(0.0, abs=1e-15)
    assert model.certificate_.reached


def test_early_stops_are_told_and_resumed():
    X, y = table(n=40, p=60)
    model = SquareRootLasso(0.1, warm_start=True)
    with listen(lambda event: STOP if event.step >= 2 else None):
        model.fit(X, y)
    assert model.certificate_.outcome == "stopped"
    assert qed.verify(model, X, y).holds
    assert model.fit(X, y).certificate_.reached


@pytest.mark.parametrize("alpha", [0.3, 0.05, 0.005])
def test_many_more_columns_than_rows_are_solved(alpha):
    random = np.random.default_rng(4)
    wide = random.normal(size=(60, 1500))
    target = wide[:, :5].sum(axis=1) + random.normal(size=60)
    model = SquareRootLasso(alpha).fit(wide, target)
    assert model.certificate_.outcome == "solved"
    assert model.certificate_.reached
    left = np.sqrt(np.mean((target - model.predict(wide)) ** 2))
    assert left < 1e-5 * target.std() or alpha == 0.3  # weak penalties leave nothing, at the least penalty there is
    assert np.count_nonzero(model.coef_) < 60
