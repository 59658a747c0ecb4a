"""Compressed rows against the dense twins."""

import numpy as np
import pytest
import scipy.sparse
from tests.native.test_dense import close
from tests.reference import kernels as twins


def table(n, p, density, dtype, index):
    X = scipy.sparse.random_array((n, p), density=density, format="csr", dtype=dtype, rng=np.random.default_rng(2))
    return X.indptr.astype(index), X.indices.astype(index), X.data, X.toarray()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(0, 3, 1), (5, 4, 0), (40, 0, 1), (1000, 60, 1), (2000, 450, 3)], ids=str)
def test_kernels(native, dtype, index, shape):
    n, p, m = shape
    indptr, indices, data, dense = table(n, p, 0.05, dtype, index)
    X = (indptr, indices, data, (n, p))
    rng = np.random.default_rng(3)
    W, b, Y, s = rng.standard_normal((p, m)), rng.standard_normal(m), rng.standard_normal((n, m)), rng.random(n)
    product = native.csr_matmul(*X, W, b)
    assert product.dtype == dtype
    close(product, twins.matmul(dense, W, b))
    close(native.csr_matmul(*X, W, None), twins.matmul(dense, W, None))
    close(native.csr_rmatmul(*X, Y), twins.rmatmul(dense, Y))
    for how, read in [("absolute", np.abs(dense)), ("squared", dense.astype(np.float64) ** 2)]:
        got = native.csr_matmul(*X, W, b, **{how: True})
        close(got, twins.matmul(read, W, b).astype(dtype))
        close(native.csr_rmatmul(*X, Y, **{how: True}), twins.rmatmul(read, Y))
    V = rng.standard_normal((p, 9))
    for weights, offset, parts in ((None, None, 1), (s, rng.standard_normal(9), 3), (s, None, 8)):
        scores = dense.astype(np.float64) @ V - (0.0 if offset is None else offset)
        scores = scores if weights is None else scores * weights[:, None]
        got, sums = native.csr_gram_matmul(X[:3], (n, p), V, offset, weights, parts)
        close(got, twins.rmatmul(dense, scores))
        close(sums, scores.sum(axis=0))
    for weights in (None, s):
        wants = twins.moments(dense, Y, weights, np.zeros(p + m))
        for got, want in zip(native.csr_moments(*X, Y, weights), wants, strict=True):
            close(got, want)


def test_columns_out_of_order_and_repeated(native):
    indptr, indices = np.array([0, 3, 3, 5]), np.array([2, 0, 2, 1, 0])
    data = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    dense = np.array([[2.0, 0.0, 5.0], [0.0, 0.0, 0.0], [16.0, 8.0, 0.0]])
    X, Y = (indptr, indices, data, (3, 3)), np.array([[1.0], [2.0], [3.0]])
    close(native.csr_matmul(*X, np.eye(3), None), dense)
    close(native.csr_rmatmul(*X, np.eye(3)), dense.T)
    close(native.csr_gram_matmul(X[:3], (3, 3), np.eye(3), None, None, 2)[0], dense.T @ dense)
    for got, want in zip(native.csr_moments(*X, Y, None), twins.moments(dense, Y, None, np.zeros(4)), strict=True):
        close(got, want)


def test_mixed_index_types_are_refused(native):
    with pytest.raises(TypeError, match="both be int32 or both be int64"):
        native.csr_matmul(np.zeros(2, np.int32), np.zeros(0, np.int64), np.zeros(0), (1, 1), np.zeros((1, 1)), None)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_within(native, index):
    indices = np.random.default_rng(4).integers(0, 1000, 300_000).astype(index)
    indices[7] = 999
    assert native.indices_within(indices, 1000)
    assert not native.indices_within(indices, 999)
    assert native.indices_within(indices[:0], 0)
    for place in (0, 140_000, 299_999):
        spoilt = indices.copy()
        spoilt[place] = -1
        assert not native.indices_within(spoilt, 1000)
    with pytest.raises(TypeError, match="int32 or int64"):
        native.indices_within(indices.astype(np.int16), 1000)
    with pytest.raises(ValueError, match="contiguous"):
        native.indices_within(indices[::2], 1000)
