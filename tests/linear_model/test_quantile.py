"""QuantileRegressor: the optimum of scikit-learn's linear program, with a proof and at a corner."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.linear_model import QuantileRegressor as Theirs

import qed
from qed import CertificateError, ToleranceNotReached
from qed.core._events import STOP, listen
from qed.linear_model import QuantileRegressor


def table(n=80, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1
    return X, X @ np.where(np.arange(p) % 2, 0.0, 1.5) + rng.standard_t(3, n)


def objective(model, X, y, s=None):
    r = y - (X @ model.coef_ + model.intercept_)
    loss = np.maximum(model.quantile * r, (model.quantile - 1) * r)
    return np.average(loss, weights=s) + model.alpha * np.abs(model.coef_).sum()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 0.3, 5.0])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.85])
def test_agrees_with_scikit_learn(quantile, alpha, intercept):
    X, y = table()
    ours = QuantileRegressor(quantile=quantile, alpha=alpha, fit_intercept=intercept).fit(X, y)
    theirs = Theirs(quantile=quantile, alpha=alpha, fit_intercept=intercept, solver="highs").fit(X, y)
    assert abs(objective(ours, X, y) - objective(theirs, X, y)) <= 1e-9
    assert ours.certificate_.reached
    assert ours.certificate_.objective == pytest.approx(objective(ours, X, y), rel=1e-12)
    assert ours.certificate_.relative_gap <= 1e-9
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-10)


def test_the_proof_is_true_and_a_changed_model_is_caught():
    X, y = table()
    model = QuantileRegressor(alpha=0.05).fit(X, y)
    assert model.certificate_.dual.shape == (80,)
    assert qed.verify(model, X, y).holds
    model.coef_ = 1.05 * model.coef_
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


def test_a_weight_is_a_repetition():
    X, y = table()
    s = np.random.default_rng(1).integers(0, 4, len(y))
    weighed = QuantileRegressor(quantile=0.3, alpha=0.02).fit(X, y, s)
    repeated = QuantileRegressor(quantile=0.3, alpha=0.02).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-9)
    assert weighed.intercept_ == pytest.approx(repeated.intercept_, abs=1e-9)


@pytest.mark.parametrize("container", [csr_array, csc_array])
@pytest.mark.parametrize("n", [60, 4000])
def test_sparse_is_dense(container, n):
    X, y = table(n=n)
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    dense, sparse = (QuantileRegressor(alpha=0.02).fit(given, y) for given in (X, container(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(sparse.predict(container(X)), dense.predict(X), atol=1e-8)


@pytest.mark.parametrize("n", [90, 5000])
def test_the_order_of_rows_and_columns_does_not_matter(n):
    X, y = table(n=n, p=6)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(n), rng.permutation(6)
    plain = QuantileRegressor(quantile=0.7, alpha=0.01).fit(X, y)
    mixed = QuantileRegressor(quantile=0.7, alpha=0.01).fit(X[rows][:, columns], y[rows])
    np.testing.assert_allclose(mixed.coef_, plain.coef_[columns], atol=1e-8)


def test_units_follow():
    X, y = table()
    plain = QuantileRegressor(alpha=0.0).fit(X, y)
    scaled = QuantileRegressor(alpha=0.0).fit(1e3 * X, 1e-3 * y + 7)
    np.testing.assert_allclose(1e6 * scaled.coef_, plain.coef_, rtol=1e-8)


@pytest.mark.parametrize(("n", "p"), [(1, 3), (2, 2), (10, 30), (30, 450)])
def test_few_rows(n, p):
    X, y = table(n=n, p=p)
    model = QuantileRegressor(alpha=0.05).fit(X, y)
    assert model.certificate_.reached
    assert abs(objective(model, X, y) - objective(Theirs(alpha=0.05).fit(X, y), X, y)) <= 1e-7


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_a_constant_target_is_met(alpha):
    X, _ = table()
    model = QuantileRegressor(alpha=alpha).fit(X, np.full(80, 2.5))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == pytest.approx(2.5, abs=1e-12)
    assert model.certificate_.gap <= 1e-12


def test_rows_that_lie_on_the_plane_are_met():
    X, _ = table(n=300)
    model = QuantileRegressor(alpha=0.0).fit(X, X @ np.arange(5.0) - 2)
    np.testing.assert_allclose(model.coef_, np.arange(5.0), atol=1e-9)
    assert model.certificate_.reached


def test_many_ties_are_no_trouble():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (4000, 4)).astype(float), rng.integers(0, 4, 4000).astype(float)
    model = QuantileRegressor(quantile=0.4, alpha=0.001).fit(X, y)
    assert model.certificate_.reached
    assert abs(objective(model, X, y) - objective(Theirs(quantile=0.4, alpha=0.001).fit(X, y), X, y)) <= 1e-8


def test_least_absolute_deviations_is_the_median_and_resists_an_outlier():
    y = np.array([3.0, 1.0, 10.0, 2.0, 4.0])
    assert QuantileRegressor(alpha=0.0).fit(np.zeros((5, 1)), y).intercept_ == pytest.approx(3.0)
    x = np.arange(9.0)[:, np.newaxis]
    spoilt = 2 * x[:, 0] + 1
    spoilt[4] = 1e6
    line = QuantileRegressor(alpha=0.0).fit(x, spoilt)
    assert line.coef_[0] == pytest.approx(2.0, abs=1e-8)


def test_early_stops_are_told_and_resumed():
    X, y = table(n=300)
    with pytest.raises(ToleranceNotReached, match="relative gap"):
        QuantileRegressor(alpha=0.01, max_iter=2, strict=True).fit(X, y)
    model = QuantileRegressor(alpha=0.01, warm_start=True)
    with listen(lambda event: STOP if event.step >= 3 else None):
        model.fit(X, y)
    assert model.certificate_.outcome == "stopped"
    assert qed.verify(model, X, y).holds
    assert model.fit(X, y).certificate_.reached


def test_ctrl_c_leaves_the_model_so_far():
    X, y = table(n=300)
    model = QuantileRegressor(alpha=0.01)

    def interrupt(event):
        if event.kind == "step" and event.step == 2:
            raise KeyboardInterrupt

    with listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.outcome == "interrupted"
    assert model.predict(X).shape == (300,)


def test_hints_change_nothing():
    X, y = table()
    plain = QuantileRegressor(alpha=0.02).fit(X, y)
    hinted = QuantileRegressor(alpha=0.02, solver="highs-ds", solver_options={"presolve": False}).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, hinted.coef_)
    assert hinted.solver_used_ == "interior point"
