"""Random projections: unbiased lengths, the bound of Johnson and Lindenstrauss, and directions of a seed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import random_projection as theirs

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.random_projection import (
    GaussianRandomProjection,
    HadamardProjection,
    SparseRandomProjection,
    distortion,
    johnson_lindenstrauss_min_dim,
)

KINDS = [GaussianRandomProjection, SparseRandomProjection, HadamardProjection]
rng = np.random.default_rng(6)
X = rng.standard_normal((40, 300))


@pytest.mark.covers("DIM-28")
@pytest.mark.parametrize("kind", KINDS)
def test_squared_lengths_are_unbiased_and_distances_stay_within_the_bound(kind):
    x = X[:1]
    lengths = [np.sum(kind(20, random_state=seed).fit_transform(x) ** 2) for seed in range(400)]
    spread = np.std(lengths) / np.sqrt(400)
    assert abs(np.mean(lengths) - np.sum(x**2)) < 5 * spread
    eps = 0.5
    k = int(johnson_lindenstrauss_min_dim(40, eps=eps))
    model = kind(eps=eps, random_state=0).fit(X)
    assert model.n_components_ == k
    found = distortion(X, model.transform(X))
    assert found.pairs == 40 * 39 // 2
    assert 1 - eps <= found.lowest < 1 < found.highest <= 1 + eps


def test_the_number_of_directions_is_that_of_scikit_learn():
    for n, eps in ((10, 0.3), (1e6, 0.1), (50, 0.9)):
        assert johnson_lindenstrauss_min_dim(n, eps=eps) == theirs.johnson_lindenstrauss_min_dim(n, eps=eps)
    assert johnson_lindenstrauss_min_dim([10, 100], eps=[0.5, 0.1]).shape == (2,)
    for n, eps in ((0, 0.5), (10, 0.0), (10, 1.0)):
        with pytest.raises(InvalidParameter):
            johnson_lindenstrauss_min_dim(n, eps=eps)


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_are_products_with_the_directions_of_the_seed(kind):
    model = kind(12, random_state=3).fit(X)
    directions = model.components_
    directions = directions.toarray() if sp.issparse(directions) else directions
    np.testing.assert_allclose(model.transform(X), X @ directions.T, atol=1e-9)
    sparse = model.transform(sp.csr_array(X))
    np.testing.assert_allclose(sparse.toarray() if sp.issparse(sparse) else sparse, X @ directions.T, atol=1e-9)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(model.transform(back), model.transform(X), atol=1e-8)
    assert qed.verify(model, X).holds
    model.seed_ += 1
    with pytest.raises(CertificateError):
        qed.verify(model, X)
    with pytest.raises(InvalidData, match="n_features"):
        kind(eps=0.1).fit(X)


def test_sparse_directions_have_the_density_asked_for():
    model = SparseRandomProjection(50, density=0.2, random_state=0).fit(X)
    assert model.components_.nnz / (50 * 300) == pytest.approx(0.2, abs=0.02)
    assert SparseRandomProjection(5).fit(X).density_ == pytest.approx(1 / np.sqrt(300))
    assert isinstance(SparseRandomProjection(5, dense_output=True).fit(X).transform(sp.csr_array(X)), np.ndarray)


def test_distortion_of_many_pairs_is_sampled_and_of_equal_rows_refused():
    assert distortion(X, X, n_pairs=100).pairs == 100
    with pytest.raises(InvalidData, match="equal"):
        distortion(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(InvalidData, match="same rows"):
        distortion(X, X[:5])
