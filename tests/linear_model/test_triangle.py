"""Nearly dependent columns, factorised without squaring: all ways to the same factor, in every range of numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

import qed
from qed.data import ArraySource
from qed.linear_model import LinearRegression, Ridge


def ill(n=9000, p=30, *, condition=1e9, seed=4):
    """Columns whose products a Cholesky factorisation cannot use, and a target that needs them all."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n, p))
    X = (G * np.geomspace(1.0, 1 / condition, p)) @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    return X, G @ rng.normal(size=p) + 1e-3 * rng.normal(size=n)


def predictions(model, X):
    return X @ model.coef_.T + model.intercept_


def test_agrees_with_the_singular_values():
    X, y = ill()
    model = LinearRegression().fit(X, y)
    Z, t = X - X.mean(axis=0), y - y.mean()
    best = np.linalg.lstsq(Z, t, rcond=None)[0]
    assert model.solver_used_ == "qr"
    assert model.rank_ == 30
    # both solutions are those of a table that differs by its rounding, and coefficients are large
    rounding = np.finfo(float).eps * np.linalg.norm(Z, 2) * np.linalg.norm(best)
    assert np.linalg.norm(Z @ (model.coef_ - best)) <= rounding
    assert rounding <= 1e-7 * np.linalg.norm(t)
    assert qed.verify(model, X, y).holds


def test_threads_do_not_change_a_bit():
    X, y = ill()
    before = qed.get_num_threads()
    try:
        fits = set()
        for threads in (1, 2, 5):
            qed.set_num_threads(threads)
            fits.add(LinearRegression().fit(X, y).coef_.tobytes())
    finally:
        qed.set_num_threads(before)
    assert len(fits) == 1


def test_sparse_rows_are_written_out_in_pieces():
    X, y = ill(condition=1e8)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    X[:, -1] = X[:, 0] + X[:, 1]  # dependent, so that products of columns do not do
    dense, sparse = LinearRegression().fit(X, y), LinearRegression().fit(sp.csr_array(X), y)
    assert dense.solver_used_ == sparse.solver_used_ == "qr"
    assert dense.rank_ == sparse.rank_ == 29
    assert np.allclose(predictions(dense, X), predictions(sparse, X), rtol=0, atol=1e-9 * np.abs(y).max())


def test_chunks_merge_to_the_same_fit():
    X, y = ill()
    s = np.random.default_rng(2).random(len(X))
    whole = LinearRegression().fit(X, y, s)
    parts = LinearRegression().fit(ArraySource(X, y, s, chunk_rows=700))
    assert whole.solver_used_ == parts.solver_used_ == "qr"
    scale = np.abs(y).max()
    assert np.allclose(predictions(whole, X), predictions(parts, X), rtol=0, atol=1e-7 * scale)


def test_one_factor_serves_all_strengths():
    X, y = ill()
    Y = np.column_stack([y, y[::-1], y**2])
    alphas = np.array([0.0, 1e-14, 1e-15])
    together = Ridge(alpha=alphas).fit(X, Y)
    assert together.solver_used_ == "qr"
    for t, alpha in enumerate(alphas):
        alone = Ridge(alpha=alpha).fit(X, Y[:, t])
        distance = np.linalg.norm((X - X.mean(axis=0)) @ (together.coef_[t] - alone.coef_))
        assert distance <= 1e-8 * np.linalg.norm(Y[:, t])


@pytest.mark.parametrize("size", [2.0**-430, 2.0**430])
@pytest.mark.parametrize("what", ["columns", "target"])
def test_units_do_not_matter(size, what):
    X, y = ill(condition=1e8)
    plain = LinearRegression().fit(X, y)
    if what == "columns":
        scaled = LinearRegression().fit(size * X, y)
        ratio = scaled.coef_ / (plain.coef_ / size)
    else:
        scaled = LinearRegression().fit(X, size * y)
        ratio = scaled.coef_ / (plain.coef_ * size)
    assert plain.solver_used_ == scaled.solver_used_ == "qr"
    assert scaled.rank_ == plain.rank_
    assert np.allclose(ratio, 1.0, rtol=0, atol=1e-6)
