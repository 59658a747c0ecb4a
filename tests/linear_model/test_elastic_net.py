"""The elastic net: a row of the curriculum, agreement with scikit-learn, and paths."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import ElasticNet as Theirs
from sklearn.linear_model import enet_path as their_path

from qed.core import InvalidData, InvalidParameter
from qed.linear_model import ElasticNet, Lasso, Ridge, enet_path, lasso_path

rng = np.random.default_rng(6)
X = rng.normal(size=(70, 9)) + 1.0
y = X[:, :3] @ np.array([2.0, -1.0, 0.5]) + 1.0 + rng.normal(size=70)
TIGHT = 1e-11


@pytest.mark.covers("LIN-29")
def test_one_column_limits_and_equal_columns():
    def net(first, second):  # |xw - y|^2 + first |w| + second w^2, in the units of the mean
        strength, ridge = first / 4, second / 2
        alpha = strength + ridge
        model = ElasticNet(alpha, l1_ratio=strength / alpha, fit_intercept=False, tol=1e-13)
        return model.fit([[1.0], [2.0]], [1.0, 2.0]).coef_

    assert net(2.0, 3.0) == pytest.approx([0.5], abs=1e-10)
    assert net(0.0, 5.0) == pytest.approx([0.5], abs=1e-10)  # ridge: 5 / (5 + 5)
    assert net(2.0, 0.0) == pytest.approx([0.8], abs=1e-10)  # lasso
    Q = np.linalg.qr(rng.normal(size=(40, 5)))[0]
    target = 3 * rng.normal(size=40)
    first, second = 1.0, 0.7
    strength, ridge = first / 80, second / 40
    model = ElasticNet(strength + ridge, l1_ratio=strength / (strength + ridge), fit_intercept=False, tol=1e-14)
    pull = Q.T @ target
    want = np.sign(pull) * np.maximum(np.abs(pull) - first / 2, 0) / (1 + second)
    np.testing.assert_allclose(model.fit(Q, target).coef_, want, atol=1e-8)
    twins = np.column_stack([X, X[:, 0]])
    coef = ElasticNet(0.1, l1_ratio=0.5, tol=1e-13).fit(twins, y).coef_
    assert coef[0] == pytest.approx(coef[9], abs=1e-6)
    assert coef[0] != 0


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("positive", [False, True])
def test_agrees_with_scikit_learn(ratio, positive):
    wide = rng.normal(size=(30, 80))
    for table, target in ((X, y), (wide, wide[:, 0] - wide[:, 1])):
        ours = ElasticNet(0.1, l1_ratio=ratio, positive=positive, tol=TIGHT).fit(table, target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it advises against l1_ratio=0
            theirs = Theirs(0.1, l1_ratio=ratio, positive=positive, tol=1e-14, max_iter=200_000).fit(table, target)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert ours.certificate_.reached


def test_ends_are_lasso_and_ridge():
    np.testing.assert_allclose(
        ElasticNet(0.1, l1_ratio=1.0, tol=TIGHT).fit(X, y).coef_, Lasso(0.1, tol=TIGHT).fit(X, y).coef_, atol=1e-9
    )
    ridge = Ridge(0.1 * 70).fit(X, y)
    np.testing.assert_allclose(ElasticNet(0.1, l1_ratio=0.0, tol=TIGHT).fit(X, y).coef_, ridge.coef_, atol=1e-5)


@pytest.mark.parametrize("ratio", [0.2, 0.8])
def test_sparse_is_dense_and_weights_are_repetitions(ratio):
    table = np.where(rng.random((90, 30)) < 0.2, rng.normal(size=(90, 30)), 0.0)
    target = table[:, 0] + rng.normal(size=90)
    times = rng.integers(1, 4, size=90)
    dense = ElasticNet(0.01, l1_ratio=ratio, tol=TIGHT).fit(table, target, sample_weight=times)
    sparse = ElasticNet(0.01, l1_ratio=ratio, tol=TIGHT).fit(scipy.sparse.csc_array(table), target, sample_weight=times)
    repeated = ElasticNet(0.01, l1_ratio=ratio, tol=TIGHT).fit(
        np.repeat(table, times, axis=0), np.repeat(target, times)
    )
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(repeated.coef_, dense.coef_, atol=1e-5)


def test_a_weak_ridge_is_certified():
    wide = rng.normal(size=(40, 200))
    target = wide[:, :4].sum(axis=1) + 0.1 * rng.normal(size=40)
    model = ElasticNet(0.02, l1_ratio=1 - 1e-7, tol=1e-6).fit(wide, target)
    assert model.certificate_.reached
    np.testing.assert_allclose(model.coef_, Lasso(0.02, tol=1e-9).fit(wide, target).coef_, atol=1e-2)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("several", [False, True])
def test_paths_agree_with_scikit_learn(ratio, several):
    target = np.column_stack([y, y[::-1]]) if several else y
    alphas, coefs, gaps, rounds = enet_path(X, target, l1_ratio=ratio, alphas=15, tol=TIGHT, return_n_iter=True)
    want, their_coefs, _ = their_path(X, target, l1_ratio=ratio, alphas=15, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(alphas, want, rtol=1e-12)
    np.testing.assert_allclose(coefs, their_coefs, atol=1e-5)
    assert coefs.shape == ((2, 9, 15) if several else (9, 15))
    assert np.all(gaps <= 1e-9)
    assert len(rounds) == 15
    assert not coefs[..., 0].any()


def test_the_lasso_path_is_piecewise_linear():
    fine = np.linspace(0.5, 0.45, 9)
    coefs = lasso_path(X - X.mean(axis=0), y - y.mean(), alphas=fine, tol=1e-13)[1]
    signs = np.sign(coefs)
    assert np.all(signs == signs[:, :1])  # no knot inside
    np.testing.assert_allclose(np.diff(coefs, 2, axis=1), 0, atol=1e-6)


def test_paths_start_and_refuse():
    start = Lasso(0.1, fit_intercept=False, tol=TIGHT).fit(X, y).coef_
    again = lasso_path(X, y, alphas=[0.1], coef_init=start, tol=1e-9)[1][:, 0]
    np.testing.assert_allclose(again, start, atol=1e-7)
    nonnegative = lasso_path(X, y, alphas=5, positive=True)[1]
    assert np.all(nonnegative >= 0)
    with pytest.raises(InvalidParameter, match="one target"):
        enet_path(X, np.column_stack([y, y]), positive=True)
    with pytest.raises(InvalidParameter, match="l1_ratio=0"):
        enet_path(X, y, l1_ratio=0.0)
    with pytest.raises(InvalidData, match="coef_init"):
        lasso_path(X, y, coef_init=np.zeros(3))
