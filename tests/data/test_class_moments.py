from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from qed.core._errors import InvalidData
from qed.data import ArraySource, Chunk, ClassMoments, Moments, fold


def test_classes_are_summarised_apart():
    X = np.array([[0.0, 1.0], [2.0, 1.0], [10.0, 0.0], [10.0, 6.0]])
    y = np.array([[0.0], [0.0], [2.0], [2.0]])
    c = ClassMoments.of(Chunk(X, y, np.array([1.0, 1.0, 2.0, 1.0])), 3)
    assert (c.n_classes, c.n_features) == (3, 2)
    assert c.rows.tolist() == [2, 0, 2]
    assert c.weight.tolist() == [2.0, 0.0, 3.0]
    np.testing.assert_allclose(c.mean, [[1.0, 1.0], [0.0, 0.0], [10.0, 2.0]], rtol=1e-15)
    assert c.scatter(0).tolist() == [[2.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(c.pooled(), [[2.0, 0.0], [0.0, 24.0]], rtol=1e-14)
    assert c.total().rows == 4


def test_fold_and_sparse_give_the_same():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 3)), random.integers(0, 3, 90).astype(float)
    of = partial(ClassMoments.of, n_classes=3)
    whole = fold(ArraySource(X, y), of)
    np.testing.assert_allclose(fold(ArraySource(X, y, chunk_rows=11), of, 2).pooled(), whole.pooled(), rtol=1e-13)
    np.testing.assert_allclose(fold(ArraySource(sp.csc_array(X), y), of).pooled(), whole.pooled(), rtol=1e-12)
    assert isinstance(whole.parts[0], Moments)


@pytest.mark.parametrize("kind", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_listed_rows_are_the_rows(kind):
    """Rows picked by their numbers give the moments of a copy of them, whatever the layout."""
    random = np.random.default_rng(3)
    X, y, s = random.normal(size=(700, 5)), random.integers(0, 4, 700), random.integers(0, 3, 700).astype(float)
    whole = ClassMoments.of(Chunk(kind(X), y[:, None].astype(float), s), 4)
    for k in range(4):
        own = Moments.of(Chunk(kind(X[y == k]), None, s[y == k]))
        assert own.rows == whole.parts[k].rows
        assert np.array_equal(own.scatter, whole.parts[k].scatter)
        assert np.array_equal(own.mean, whole.parts[k].mean)
        assert own.rounding == whole.parts[k].rounding


def test_class_numbers_are_checked():
    X = np.zeros((3, 1))
    with pytest.raises(InvalidData, match=r"integers from 0 to 1, got 2\.0 in row 1"):
        ClassMoments.of(Chunk(X, np.array([[0.0], [2.0], [1.0]])), 2)
    with pytest.raises(InvalidData, match=r"got nan in row 2"):
        ClassMoments.of(Chunk(X, np.array([[0.0], [1.0], [np.nan]])), 2)
    with pytest.raises(InvalidData, match=r"one column of class numbers in y, got 0"):
        ClassMoments.of(Chunk(X), 2)


def test_the_row_of_a_bad_value_is_that_of_the_chunk():
    X = np.zeros((6, 2))
    X[4, 1] = np.nan
    with pytest.raises(InvalidData, match=r"row 4, column 1"):
        ClassMoments.of(Chunk(X, np.array([[0.0], [1.0]] * 3)), 2)
