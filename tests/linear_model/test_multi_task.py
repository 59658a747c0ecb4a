"""Several targets that use the same columns."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import MultiTaskElasticNet as TheirNet
from sklearn.linear_model import MultiTaskLasso as TheirLasso

import qed
from qed.linear_model import Lasso, MultiTaskElasticNet, MultiTaskLasso

rng = np.random.default_rng(7)
X = rng.normal(size=(80, 30)) + 0.5
W = np.zeros((30, 3))
W[:5] = rng.normal(size=(5, 3))
Y = X @ W + np.array([1.0, -2.0, 3.0]) + 0.5 * rng.normal(size=(80, 3))
TIGHT = 1e-10


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.6])
@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_scikit_learn(alpha, intercept):
    ours = MultiTaskLasso(alpha, fit_intercept=intercept, tol=TIGHT).fit(X, Y)
    theirs = TheirLasso(alpha, fit_intercept=intercept, tol=1e-13, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert ours.certificate_.reached
    ours = MultiTaskElasticNet(alpha, l1_ratio=0.4, fit_intercept=intercept, tol=TIGHT).fit(X, Y)
    theirs = TheirNet(alpha, l1_ratio=0.4, fit_intercept=intercept, tol=1e-13, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.certificate_.reached


def test_columns_are_used_by_all_targets_or_by_none():
    model = MultiTaskLasso(0.2).fit(X, Y)
    used = model.coef_ != 0
    assert 0 < used.any(axis=0).sum() < 30
    np.testing.assert_array_equal(used.any(axis=0), used.all(axis=0))


def test_the_largest_strength():
    centred = X - X.mean(axis=0)
    largest = np.sqrt(((centred.T @ (Y - Y.mean(axis=0))) ** 2).sum(axis=1)).max() / 80
    assert not MultiTaskLasso(largest * (1 + 1e-12)).fit(X, Y).coef_.any()
    assert MultiTaskLasso(largest * 0.99, tol=1e-10).fit(X, Y).coef_.any()


def test_one_target_is_the_lasso():
    one = MultiTaskLasso(0.1, tol=TIGHT).fit(X, Y[:, :1])
    np.testing.assert_allclose(one.coef_[0], Lasso(0.1, tol=TIGHT).fit(X, Y[:, 0]).coef_, atol=1e-6)


def test_sparse_weights_and_threads():
    table = np.where(rng.random((80, 30)) < 0.3, X, 0.0)
    times = rng.integers(1, 4, size=80)
    dense = MultiTaskLasso(0.05, tol=TIGHT).fit(table, Y, sample_weight=times)
    sparse = MultiTaskLasso(0.05, tol=TIGHT).fit(scipy.sparse.csr_array(table), Y, sample_weight=times)
    repeated = MultiTaskLasso(0.05, tol=TIGHT).fit(np.repeat(table, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(repeated.coef_, dense.coef_, atol=1e-5)
    before = qed.get_num_threads()
    qed.set_num_threads(1)
    first = MultiTaskLasso(0.05).fit(table, Y).coef_.tobytes()
    qed.set_num_threads(4)
    assert MultiTaskLasso(0.05).fit(table, Y).coef_.tobytes() == first
    qed.set_num_threads(before)


def test_one_column_of_targets_is_refused():
    with pytest.raises(ValueError, match="MultiTaskLasso"):
        MultiTaskLasso().fit(X, Y[:, 0])
