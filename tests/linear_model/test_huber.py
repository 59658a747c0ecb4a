"""HuberRegressor: the joint optimum of coefficients and scale, proved, and scikit-learn's where it converges."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import HuberRegressor as Theirs

import qed
from qed import CertificateError, ModelFileError
from qed.core._events import STOP, listen
from qed.core._persistence import dumps, loads
from qed.linear_model import HuberRegressor


def table(n=120, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1
    y = X @ rng.standard_normal(p) + 0.5 * rng.standard_normal(n)
    y[: n // 10] += 20.0
    return X, y


def objective(X, y, w, b, scale, *, epsilon=1.35, alpha=1e-4, s=None):
    s = np.ones(len(y)) if s is None else s
    z = np.abs(y - X @ w - b) / scale
    loss = np.where(z <= epsilon, z**2, 2 * epsilon * z - epsilon**2)
    return np.sum(s * (scale + scale * loss)) + alpha * np.sum(w**2)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("epsilon", "alpha"), [(1.35, 1e-4), (1.5, 1.0), (3.0, 0.0), (1.1, 50.0)])
def test_agrees_with_scikit_learn(epsilon, alpha, intercept):
    X, y = table()
    ours = HuberRegressor(epsilon=epsilon, alpha=alpha, fit_intercept=intercept, tol=1e-12).fit(X, y)
    theirs = Theirs(epsilon=epsilon, alpha=alpha, fit_intercept=intercept, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=2e-4)
    np.testing.assert_array_equal(ours.outliers_, theirs.outliers_)
    values = [
        objective(X, y, model.coef_, model.intercept_, model.scale_, epsilon=epsilon, alpha=alpha)
        for model in (ours, theirs)
    ]
    assert values[0] <= values[1] + 1e-9
    assert ours.certificate_.objective == pytest.approx(values[0], rel=1e-10)
    assert values[1] - values[0] >= -ours.certificate_.gap
    assert ours.certificate_.relative_gap <= 1e-10


@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_at_epsilon_one_it_is_least_absolute_deviations(alpha):
    X, y = table()
    ours = HuberRegressor(epsilon=1.0, alpha=alpha, tol=1e-9).fit(X, y)
    assert ours.certificate_.reached
    assert qed.verify(ours, X, y).holds
    absolute = 2 * np.abs(y - ours.predict(X)).sum() + alpha * np.sum(ours.coef_**2)
    assert ours.certificate_.objective == pytest.approx(absolute, rel=1e-9)
    theirs = Theirs(epsilon=1.0, alpha=alpha, max_iter=10_000).fit(X, y)
    reached = objective(X, y, theirs.coef_, theirs.intercept_, theirs.scale_, epsilon=1.0, alpha=alpha)
    assert ours.certificate_.objective <= reached + 1e-9


def test_no_scale_is_better_than_the_one_reported():
    X, y = table()
    model = HuberRegressor(tol=1e-12).fit(X, y)
    best = objective(X, y, model.coef_, model.intercept_, model.scale_)
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert objective(X, y, model.coef_, model.intercept_, factor * model.scale_) > best


def test_the_proof_is_true_and_a_changed_model_is_caught():
    X, y = table()
    model = HuberRegressor(tol=1e-9).fit(X, y)
    assert model.certificate_.dual.shape == (120,)
    assert qed.verify(model, X, y).holds
    model.coef_ = model.coef_ + 0.05
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


def test_a_weight_is_a_repetition():
    X, y = table()
    s = np.random.default_rng(1).integers(0, 4, len(y))
    weighed = HuberRegressor(tol=1e-12).fit(X, y, s)
    repeated = HuberRegressor(tol=1e-12).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-7)
    assert weighed.scale_ == pytest.approx(repeated.scale_, rel=1e-7)
    assert weighed.outliers_.shape == (120,)
    assert not weighed.outliers_[s == 0].any()


def test_sparse_is_dense():
    X, y = table()
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    dense, sparse = (HuberRegressor(tol=1e-12).fit(given, y) for given in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
    assert sparse.scale_ == pytest.approx(dense.scale_, rel=1e-7)


def test_the_order_of_rows_does_not_matter():
    X, y = table()
    rows = np.random.default_rng(2).permutation(len(y))
    plain, mixed = HuberRegressor(tol=1e-12).fit(X, y), HuberRegressor(tol=1e-12).fit(X[rows], y[rows])
    np.testing.assert_allclose(mixed.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_array_equal(mixed.outliers_, plain.outliers_[rows])


def test_outliers_hardly_count():
    X, y = table(n=400)
    worse = y.copy()
    worse[: 400 // 10] += 1e6
    plain, spoilt = HuberRegressor(tol=1e-12).fit(X, y), HuberRegressor(tol=1e-12).fit(X, worse)
    np.testing.assert_allclose(spoilt.coef_, plain.coef_, atol=1e-3)
    np.testing.assert_array_equal(spoilt.outliers_[:40], True)


def test_units_follow():
    X, y = table()
    plain = HuberRegressor(alpha=0.0, tol=1e-12).fit(X, y)
    scaled = HuberRegressor(alpha=0.0, tol=1e-12).fit(X, 1e4 * y + 1e5)
    np.testing.assert_allclose(scaled.coef_, 1e4 * plain.coef_, rtol=1e-5, atol=1e-2)
    assert scaled.scale_ == pytest.approx(1e4 * plain.scale_, rel=1e-6)


def test_a_constant_target_has_no_scale():
    X, _ = table()
    model = HuberRegressor().fit(X, np.full(120, -3.0))
    assert model.scale_ == 0.0
    assert model.intercept_ == pytest.approx(-3.0)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert not model.outliers_.any()
    assert model.certificate_.reached


def test_rows_on_a_plane_leave_no_scale():
    X, _ = table()
    model = HuberRegressor(alpha=0.0).fit(X, X @ [1.0, 2.0, 3.0, 4.0] + 5)
    np.testing.assert_allclose(model.coef_, [1, 2, 3, 4], atol=1e-7)
    assert model.scale_ <= 1e-6
    assert model.certificate_.reached


@pytest.mark.parametrize(("n", "p"), [(1, 3), (2, 1), (10, 30)])
@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_few_rows(n, p, alpha):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    model = HuberRegressor(alpha=alpha).fit(X, y)
    assert model.certificate_.reached
    assert qed.verify(model, X, y).holds


def test_early_stops_are_told_and_resumed():
    X, y = table()
    model = HuberRegressor(warm_start=True, tol=1e-12)
    with listen(lambda event: STOP if event.step >= 2 else None):
        model.fit(X, y)
    assert model.certificate_.outcome == "stopped"
    assert qed.verify(model, X, y).holds
    again = model.fit(X, y)
    assert again.certificate_.reached
    assert again.n_iter_ <= HuberRegressor(tol=1e-12).fit(X, y).n_iter_


def test_ctrl_c_leaves_the_model_so_far():
    X, y = table()
    model = HuberRegressor(tol=1e-12)

    def interrupt(event):
        if event.kind == "step" and event.step == 2:
            raise KeyboardInterrupt

    with listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.outcome == "interrupted"
    assert model.outliers_.shape == (120,)


def test_files_keep_scale_and_outliers_and_refuse_nonsense():
    X, y = table()
    model = HuberRegressor().fit(X, y)
    again = loads(dumps(model))
    assert again.scale_ == model.scale_
    np.testing.assert_array_equal(again.outliers_, model.outliers_)
    for name, value in (("scale_", -1.0), ("scale_", np.nan), ("outliers_", np.ones(3))):
        spoilt = HuberRegressor().fit(X, y)
        setattr(spoilt, name, value)
        with pytest.raises(ModelFileError):
            loads(dumps(spoilt))


@pytest.mark.parametrize("n", [25, 31, 40, 55])
def test_about_as_many_rows_as_columns_are_met_where_they_can_be(n):
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 30))
    y = X @ random.normal(size=30) + random.standard_t(2, size=n)
    model = HuberRegressor(alpha=0.0).fit(X, y)
    assert model.certificate_.reached
    assert qed.verify(model, X, y).holds
    if n <= 31:
        np.testing.assert_allclose(model.predict(X), y, atol=1e-9 * np.abs(y).max())
        assert model.scale_ <= 1e-9
