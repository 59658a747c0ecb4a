"""The lasso of whole groups: its optimum by another solver, its groups by name, its proof."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import qed
from qed.core import CertificateError, InvalidParameter
from qed.linear_model import GroupLasso, Lasso, group_lasso_path

rng = np.random.default_rng(3)
N, P = 70, 24
X = rng.normal(size=(N, P)) * rng.uniform(0.5, 2.0, size=P) + 1.0
NUMBER = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 5] * 2)
Y = X[:, [3, 4, 5, 10]] @ [1.0, -2.0, 0.5, 1.5] + 0.3 * rng.normal(size=N) + 4.0
S = rng.integers(0, 4, size=N).astype(float)
TIGHT = 1e-11


def largest(weights=None):
    centred = X - X.mean(axis=0)
    pull = centred.T @ (Y - Y.mean()) / N
    lengths = np.sqrt(np.bincount(NUMBER, pull**2))
    return np.max(lengths / (np.sqrt(np.bincount(NUMBER)) if weights is None else weights))


def reference(alpha, weights, s, *, intercept):
    w, b = cp.Variable(P), cp.Variable()
    lengths = sum(weight * cp.norm(w[g == NUMBER]) for g, weight in enumerate(weights))
    error = cp.sum(cp.multiply(s, (Y - X @ w - (b if intercept else 0)) ** 2)) / (2 * s.sum())
    problem = cp.Problem(cp.Minimize(error + alpha * lengths))
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_the_optimum_is_that_of_another_solver(intercept, share):
    weights = np.arange(1.0, 7.0)
    model = GroupLasso(share * largest(), groups=NUMBER, weights=weights, fit_intercept=intercept, tol=TIGHT)
    model.fit(X, Y, S)
    best = reference(share * largest(), weights, S, intercept=intercept)
    assert model.certificate_.objective == pytest.approx(best, rel=1e-8)
    assert model.certificate_.reached
    assert qed.verify(model, X, Y, S).holds


def test_groups_are_zero_together_and_all_of_them_at_the_largest_strength():
    model = GroupLasso(0.3 * largest(), groups=NUMBER).fit(X, Y)
    used = np.bincount(NUMBER, model.coef_ != 0)
    assert set(used) <= {0, *np.bincount(NUMBER)}
    assert 0 < np.count_nonzero(used) < 6
    assert not GroupLasso(largest() * (1 + 1e-12), groups=NUMBER).fit(X, Y).coef_.any()
    assert GroupLasso(largest() * 0.99, groups=NUMBER, tol=1e-10).fit(X, Y).coef_.any()


def test_groups_of_one_column_are_the_lasso():
    one = GroupLasso(0.1, tol=TIGHT).fit(X, Y)
    np.testing.assert_allclose(one.coef_, Lasso(0.1, tol=TIGHT).fit(X, Y).coef_, atol=1e-6)
    assert GroupLasso(0.0, groups=4, tol=1e-9).fit(X, Y).certificate_.reached


def test_groups_by_lists_labels_names_and_size():
    lists = [np.flatnonzero(g == NUMBER).tolist() for g in range(6)]
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(P)])
    names = [[f"c{j}" for j in columns] for columns in lists]
    labels = np.array(list("abcdef"))[NUMBER]
    fits = [GroupLasso(0.2, groups=groups, tol=TIGHT).fit(frame, Y) for groups in (lists, names, labels, NUMBER)]
    for model in fits:
        np.testing.assert_array_equal(model.groups_, NUMBER)
        np.testing.assert_array_equal(model.coef_, fits[0].coef_)
        assert qed.verify(model, frame, Y).holds
    np.testing.assert_array_equal(GroupLasso(groups=5).fit(X, Y).groups_, np.arange(P) // 5)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([[0, 1], [1, 2]], r"column 1 is in group 0 and in group 1"),
        ([[0, 1]], r"column 2 is in no group"),
        ([[0, 99]], r"group 0 holds 99, and columns are numbers from 0 to 23"),
        ([[0], 3], r"entry 1 is no list of columns"),
        ([[]], r"group 0 is empty"),
        ([0, 1, 2], r"there are 3 labels for 24 columns"),
        (0, r"a size is at least 1"),
        ("abc", r"got str"),
    ],
)
def test_groups_that_are_none_are_refused(groups, words):
    with pytest.raises(InvalidParameter, match=words):
        GroupLasso(groups=groups).fit(X, Y)


def test_weights_that_are_none_are_refused():
    with pytest.raises(InvalidParameter, match=r"one finite number > 0 for each of the 6 groups"):
        GroupLasso(groups=NUMBER, weights=[1.0, 2.0]).fit(X, Y)


def test_sparse_float32_and_weights():
    table = np.where(rng.random((N, P)) < 0.3, X, 0.0)
    dense = GroupLasso(0.02, groups=NUMBER, tol=TIGHT).fit(table, Y, S)
    sparse = GroupLasso(0.02, groups=NUMBER, tol=TIGHT).fit(scipy.sparse.csr_array(table), Y, S)
    times = S.astype(int)
    repeated = GroupLasso(0.02, groups=NUMBER, tol=TIGHT).fit(np.repeat(table, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(repeated.coef_, dense.coef_, atol=1e-6)
    half = GroupLasso(0.02, groups=NUMBER).fit(table.astype(np.float32), Y)
    assert half.certificate_.reached
    assert half.predict(table.astype(np.float32)).dtype == np.float32
    assert qed.verify(half, table.astype(np.float32), Y).holds


def test_more_columns_than_rows_and_a_warm_start():
    wide = rng.normal(size=(40, 600))
    y = wide[:, :10].sum(axis=1) + 0.1 * rng.normal(size=40)
    model = GroupLasso(0.05, groups=10, tol=1e-9, warm_start=True).fit(wide, y)
    assert model.certificate_.reached
    assert qed.verify(model, wide, y).holds
    before = model.coef_
    model.fit(wide, y)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.coef_, before, atol=1e-6)


def test_columns_of_very_different_size_and_the_same_column_in_two_groups():
    for seed in range(12):
        random = np.random.default_rng(seed)
        table = random.normal(size=(25, 6)) * 10.0 ** random.uniform(-4, 4, size=6)
        table[:, 1] = table[:, 0]
        y = table @ (random.normal(size=6) / np.abs(table).max(axis=0)) + random.normal(size=25)
        model = GroupLasso(0.003, groups=[0, 1, 0, 0, 2, 2], tol=1e-8).fit(table, y)
        assert model.certificate_.reached
        assert qed.verify(model, table, y).holds


def test_a_changed_model_is_refused():
    model = GroupLasso(0.1, groups=NUMBER, tol=1e-8).fit(X, Y)
    model.coef_ = model.coef_ * 1.01
    with pytest.raises(CertificateError):
        qed.verify(model, X, Y)
    model = GroupLasso(0.1, groups=NUMBER, tol=1e-8).fit(X, Y)
    model.groups_ = model.groups_[::-1].copy()
    with pytest.raises(CertificateError, match="groups_ or weights_"):
        qed.verify(model, X, Y)
    model = GroupLasso(0.1, groups=NUMBER, tol=1e-8).fit(X, Y)
    model.weights, model.weights_ = np.ones(6), np.ones(6)
    with pytest.raises(CertificateError, match="objective"):
        qed.verify(model, X, Y)


def test_the_path_is_that_of_single_fits():
    alphas, coefs, gaps = group_lasso_path(X, Y, groups=NUMBER, alphas=8, eps=0.01, fit_intercept=True, tol=1e-9)
    assert alphas[0] == pytest.approx(largest())
    assert not coefs[:, 0].any()
    assert (gaps >= 0).all()
    for at in (3, 7):
        np.testing.assert_allclose(
            coefs[:, at], GroupLasso(alphas[at], groups=NUMBER, tol=1e-10).fit(X, Y).coef_, atol=1e-4
        )
    with pytest.raises(InvalidParameter, match="alphas must be a number of penalty strengths"):
        group_lasso_path(X, Y, alphas=[-1.0])
