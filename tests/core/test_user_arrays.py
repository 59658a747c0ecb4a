"""Small functions of ``utils``: they say what scikit-learn's say."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.utils
from sklearn.utils import extmath
from sklearn.utils import multiclass as theirs_multiclass

import qed
from qed.cluster import KMeans
from qed.linear_model import Ridge
from qed.preprocessing import StandardScaler
from qed.utils import all_estimators, estimator_html_repr, gen_batches, gen_even_slices
from qed.utils.discovery import all_estimators as by_discovery
from qed.utils.extmath import row_norms, safe_sparse_dot, softmax, squared_norm
from qed.utils.multiclass import type_of_target, unique_labels


def test_products_norms_and_softmax_agree_with_scikit_learn():
    X = np.random.default_rng(3).normal(size=(7, 4)) * 100
    np.testing.assert_allclose(softmax(X), extmath.softmax(X), rtol=1e-14, atol=0)
    assert softmax(X.astype(np.float32)).dtype == np.float32
    for table in (X, sp.csr_matrix(X), sp.csc_array(X)):
        for squared in (True, False):
            np.testing.assert_allclose(row_norms(table, squared), extmath.row_norms(table, squared), rtol=1e-13)
    assert squared_norm(X) == pytest.approx(extmath.squared_norm(X), rel=1e-13)
    sparse = sp.csr_matrix(X)
    assert sp.issparse(safe_sparse_dot(sparse, sparse.T))
    np.testing.assert_allclose(safe_sparse_dot(sparse, sparse.T, dense_output=True), X @ X.T, rtol=1e-12)
    with pytest.raises(qed.InvalidData, match="two dimensions"):
        safe_sparse_dot(np.ones((2, 2, 2)), X)


def test_softmax_writes_where_it_may():
    X = np.array([[1.0, 2.0]])
    kept = X.copy()
    assert softmax(X) is not X
    assert np.array_equal(X, kept)
    assert softmax(X, copy=False) is X
    assert X.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 5, 10, 11])
@pytest.mark.parametrize("size", [1, 2, 4, 20])
def test_batches_are_those_of_scikit_learn(n, size):
    assert list(gen_even_slices(n, size)) == list(sklearn.utils.gen_even_slices(n, size))
    assert list(gen_batches(n, size)) == list(sklearn.utils.gen_batches(n, size))
    least = size // 2
    ours = list(gen_batches(n, size, min_batch_size=least))
    assert ours == list(sklearn.utils.gen_batches(n, size, min_batch_size=least))
    with pytest.raises(qed.InvalidParameter, match="whole number >= 1"):
        list(gen_batches(n, 0))


def test_labels_of_several_columns():
    columns = ([3, 1], [2, 3])
    assert unique_labels(*columns).tolist() == theirs_multiclass.unique_labels(*columns).tolist() == [1, 2, 3]
    with pytest.raises(qed.InvalidData, match="words and numbers"):
        unique_labels([1], ["a"])


def test_models_are_listed_by_kind():
    assert by_discovery() == all_estimators() == qed.all_estimators()
    assert ("KMeans", KMeans) in all_estimators("cluster")
    kinds = dict(all_estimators(["regressor", "transformer"]))
    assert kinds["Ridge"] is Ridge
    assert kinds["StandardScaler"] is StandardScaler
    assert "GaussianNB" not in kinds
    with pytest.raises(qed.InvalidParameter, match="type_filter"):
        all_estimators("forest")


def test_the_diagram_is_that_of_notebooks():
    assert estimator_html_repr(Ridge()) == Ridge()._repr_html_()
    with pytest.raises(qed.InvalidParameter, match="a model of qed"):
        estimator_html_repr(3)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1],
        [1, 1],
        [0, 1, 2],
        ["a", "b"],
        ["a", "b", "c"],
        [0.5, 1.5],
        [1.0, 2.0],
        [1.0, 2.0, 3.0],
        [[1], [2], [3]],
        [[1, 2], [3, 1]],
        [[0, 1], [1, 0]],
        [[0, 0], [1, 1]],
        [[1.5, 2.0], [3.0, 1.0]],
        [["a", "b"], ["c", "d"]],
        np.zeros((2, 2, 2)),
        [True, False],
        np.array([], dtype=int),
        np.array([["a"], ["b"]], dtype=object),
        pytest.param(
            np.array([object(), object()]), id="objects"
        ),  # their text is an address, which no two processes share
    ],
    ids=str,
)
def test_targets_have_scikit_learns_types(y):
    assert type_of_target(y) == theirs_multiclass.type_of_target(y)


def test_targets_that_are_none():
    with pytest.raises(qed.InvalidParameter, match="non-string"):
        type_of_target("abc")
    with pytest.raises(qed.InvalidData, match="NaN"):
        type_of_target([0.5, np.nan])
