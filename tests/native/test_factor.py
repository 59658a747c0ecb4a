"""Cholesky factors and triangular systems, judged by their residuals."""

import numpy as np
import pytest
from tests.native.layouts import laid_out

SIZES = [0, 1, 2, 5, 12, 13, 127, 128, 129, 300]
UNIT = 2.0**-53


def positive(n, seed=5):
    A = np.random.default_rng(seed).standard_normal((n, n + 3))
    return A @ A.T


@pytest.mark.parametrize("n", SIZES)
def test_cholesky(native, n, layout):
    A = laid_out(positive(n), layout)
    before = A.copy()
    L, bad = native.cholesky(A)
    assert bad == -1
    assert np.array_equal(A, before)
    assert L.flags.f_contiguous
    assert not np.triu(L, 1).any()
    # the classical bound: |A - L Lᵀ| <= (n + 1) u |L| |Lᵀ|
    assert np.all(np.abs(A - L @ L.T) <= (2 * n + 4) * UNIT * (np.abs(L) @ np.abs(L.T)))


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan])
def test_first_bad_pivot_is_named(native, value):
    for place in (0, 5, 127, 128, 290):
        A = np.eye(300)
        A[place, place] = value
        assert native.cholesky(A)[1] == place


def test_hilbert_matrix_fails_where_rounding_takes_over(native):
    n = 30
    A = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
    L, bad = native.cholesky(A)
    assert 10 <= bad < n
    assert np.isfinite(L[:bad, :bad]).all()


@pytest.mark.parametrize("n", SIZES)
def test_triangular_systems(native, n, layout):
    L = np.linalg.cholesky(positive(n)) if n else np.zeros((0, 0))
    spoilt = laid_out(L + np.triu(np.full((n, n), np.nan), 1), layout)  # what lies above is not read
    for m in (0, 1, 3, 13, 150):
        B = laid_out(np.random.default_rng(6).standard_normal((n, m)), layout)
        for factor, X in [(L, native.solve_lower(spoilt, B)), (L.T, native.solve_lower_t(spoilt, B))]:
            bound = (3 * n + 4) * UNIT * (np.abs(factor) @ np.abs(X) + np.abs(B))
            assert np.all(np.abs(B - factor @ X) <= bound)
