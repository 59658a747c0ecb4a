from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qed.core._errors import InvalidData
from qed.data import Chunk, Moments
from qed.designs import Dense, Sparse


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_entries_stored_twice_are_added_up(form):
    X = form(sp.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2)))
    twice = form((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    before = twice.nnz
    made = Sparse(twice)
    assert made.column_norms().tolist() == [3.0, 5.0]
    assert made.gram().tolist() == (X.T @ X).toarray().tolist()
    assert twice.nnz == before, "what was given is left as it was"


def test_nothing_is_copied():
    X = sp.csr_array(np.eye(3))
    assert Sparse(X)._X is X


def test_other_formats_are_refused():
    with pytest.raises(InvalidData, match=r"in CSR or CSC, got float64 in coo"):
        Sparse(sp.coo_array(np.eye(2)))
    with pytest.raises(InvalidData, match=r"got int64 in csr"):
        Sparse(sp.csr_array(np.eye(2, dtype=np.int64)))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_results_of_float32_are_summed_in_float64(form):
    X = np.full((2, 100_000), 0.1, dtype=np.float32)
    exact = 100_000 * float(np.float32(0.1))
    assert (Sparse(form(X)) @ np.ones(100_000)).tolist() == pytest.approx([exact] * 2, rel=1e-12)
    assert (Sparse(form(X.T.copy())).T @ np.ones(100_000)).tolist() == pytest.approx([exact] * 2, rel=1e-12)


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("value", [-1, 99])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_damaged_indices_are_refused_before_anybody_follows_them(form, part, value):
    X = form(np.eye(3))
    getattr(X, part)[1] = value
    with pytest.raises(InvalidData, match=r"sparse matrix of shape \(3, 3\) is damaged"):
        Sparse(X)
    with pytest.raises(InvalidData, match=r"damaged"):
        Moments.of(Chunk(X))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, np.asarray])
def test_products_of_absolute_values(form):
    rng = np.random.default_rng(5)
    table = np.where(rng.random((300, 40)) < 0.2, rng.normal(size=(300, 40)), 0.0)
    X, w = form(table), rng.normal(size=(40, 2))
    made = Dense(X) if isinstance(X, np.ndarray) else Sparse(X)
    assert np.allclose(made.absolute_product(w), np.abs(table) @ w, rtol=0, atol=1e-13)
    assert np.allclose(made.absolute_product(w[:, 0]), np.abs(table) @ w[:, 0], rtol=0, atol=1e-13)
    centre = rng.normal(size=40)
    assert np.allclose(made.product(w, centre), (table - centre) @ w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("weighted", [False, True])
def test_product_with_the_gram_matrix_that_is_not_formed(form, weighted):
    rng = np.random.default_rng(6)
    X = sp.random_array((60, 30), density=0.2, format=form, rng=rng)
    c, V = rng.random(60) if weighted else None, rng.standard_normal((30, 11))
    for centre in (None, np.asarray(X.mean(axis=0)).ravel()):
        want = Sparse(X).gram(c, centre) @ V
        np.testing.assert_allclose(Sparse(X).gram_product(V, c, centre), want, rtol=0, atol=1e-12)
