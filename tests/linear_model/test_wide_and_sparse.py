"""Fewer rows than columns, and designs that are mostly zeros."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression as TheirLinear
from sklearn.linear_model import Ridge as TheirRidge

import qed
from qed.linear_model import LinearRegression, Ridge

rng = np.random.default_rng(4)


def tampered_is_rejected(model, X, y, s=None):
    model.coef_ = model.coef_ * 1.01
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y, s)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 10.0])
def test_wide_against_the_closed_form(alpha, intercept, offset):
    X = rng.normal(size=(40, 150)) + offset * (1 if intercept else 0)
    y = rng.normal(size=(40, 2))
    s = rng.integers(0, 3, 40).astype(float)
    model = Ridge(alpha, fit_intercept=intercept).fit(X, y, s)
    assert model.solver_used_ == "dual cholesky"
    used = s > 0
    root = np.sqrt(s[used])[:, None]
    mean = np.average(X, axis=0, weights=s) if intercept else 0
    Z, t = root * (X[used] - mean), root * (y[used] - (np.average(y, axis=0, weights=s) if intercept else 0))
    U, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    keep = sigma > 1e-7 * sigma[0]
    w = Vt[keep].T @ ((U[:, keep].T @ t) * (sigma[keep] / (sigma[keep] ** 2 + alpha))[:, None])
    np.testing.assert_allclose(model.coef_.T, w, rtol=1e-6, atol=1e-9 if not offset else 1e-8)
    assert model.certificate_.reached
    assert qed.verify(model, X, y, s).holds
    tampered_is_rejected(model, X, y, s)


def test_dependent_rows_are_fitted_by_the_shortest_solution():
    X = rng.normal(size=(30, 100))
    X[15:] = X[:15]
    y = rng.normal(size=30)
    model = LinearRegression().fit(X, y)
    assert model.solver_used_ == "dual svd"
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean()), atol=1e-12)
    assert model.rank_ == 14
    assert qed.verify(model, X, y).holds
    tampered_is_rejected(model, X, y)


def test_float32_rows_lose_no_digits_that_matter():
    X = rng.normal(size=(50, 400)).astype(np.float32)
    y = rng.normal(size=50)
    model = Ridge(1.0).fit(X, y)
    exact = Ridge(1.0).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-7)
    assert model.certificate_.relative_gap < 1e-12


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("wide_indices", [False, True])
def test_sparse_layouts_agree_with_dense(make, wide_indices):
    dense = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.3)
    X = make(dense)
    if wide_indices and hasattr(X, "indices"):
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    y = rng.normal(size=300)
    for model in (LinearRegression(), Ridge(2.0, fit_intercept=False)):
        a, b = qed.clone(model).fit(X, y), qed.clone(model).fit(dense, y)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
        np.testing.assert_allclose(a.predict(X), b.predict(dense), rtol=1e-9, atol=1e-12)
        assert qed.verify(a, X, y).holds


@pytest.mark.parametrize(("alpha", "intercept"), [(0.0, True), (0.0, False), (0.1, True), (1.0, False)])
@pytest.mark.parametrize("shape", [(150, 300), (500, 200)])
def test_products_alone_reach_the_optimum(alpha, intercept, shape, no_squares):
    X = sp.random_array(shape, density=0.05, random_state=np.random.default_rng(0), format="csr")
    y = X @ rng.normal(size=shape[1]) + 0.1 * rng.normal(size=shape[0])
    model = Ridge(alpha, fit_intercept=intercept, tol=1e-9, max_iter=5000).fit(X, y)
    assert model.solver_used_.endswith("conjugate gradients")
    assert model.certificate_.reached
    assert model.n_iter_ > 1
    theirs = (
        TheirRidge(alpha, fit_intercept=intercept, solver="svd") if alpha else TheirLinear(fit_intercept=intercept)
    ).fit(X.toarray(), y)

    def objective(w, b):
        return np.sum((y - X @ w - b) ** 2) + alpha * np.sum(w**2)

    ours = objective(model.coef_, model.intercept_)
    assert ours <= objective(theirs.coef_, theirs.intercept_) * (1 + 1e-13) + model.certificate_.gap
    tampered_is_rejected(model, X, y)


def big_sparse():
    X = sp.random_array((600, 400), density=0.05, random_state=np.random.default_rng(1), format="csr")
    return X, np.random.default_rng(2).normal(size=600)


def test_conjugate_gradients_stop_resume_and_start_warm(no_squares):
    X, y = big_sparse()
    full = Ridge(0.1, tol=1e-10).fit(X, y)
    assert full.solver_used_ == "conjugate gradients"
    with qed.listen(lambda event: qed.STOP if event.kind == "step" and event.step == 5 else None):
        model = Ridge(0.1, tol=1e-10, warm_start=True).fit(X, y)
    assert model.certificate_.outcome == "stopped"
    assert model.n_iter_ == 5
    assert not model.certificate_.reached
    assert qed.verify(model, X, y).holds
    gap = model.certificate_.gap
    model.fit(X, y)
    assert model.certificate_.gap < gap
    np.testing.assert_allclose(model.coef_, full.coef_, atol=1e-6)


def test_ctrl_c_in_conjugate_gradients_stores_the_model_first(no_squares):
    X, y = big_sparse()

    def interrupt(event):
        if event.kind == "step" and event.step == 3:
            raise KeyboardInterrupt

    model = Ridge(0.1)
    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.outcome == "interrupted"
    assert model.predict(X).shape == (600,)
    assert qed.verify(model, X, y).holds


def test_at_default_tolerance_the_objective_is_no_worse_than_scikit_learns(no_squares):
    X, y = big_sparse()
    for alpha in (0.01, 1.0, 100.0):
        ours, theirs = Ridge(alpha).fit(X, y), TheirRidge(alpha, solver="sparse_cg").fit(X, y)
        a, b = (np.sum((y - X @ m.coef_ - m.intercept_) ** 2) + alpha * np.sum(m.coef_**2) for m in (ours, theirs))
        assert a <= b * (1 + 1e-9)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    monkeypatch.setenv("QED_MEMORY_LIMIT", "1000")
    with pytest.raises(qed.MemoryLimit, match=r"40 x 40 matrix of products of rows needs .* GiB"):
        Ridge().fit(rng.normal(size=(40, 100)), rng.normal(size=40))
