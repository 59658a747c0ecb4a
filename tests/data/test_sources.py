from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from qed.core._errors import InvalidData, InvalidParameter
from qed.data import ArraySource, Chunk, Moments, Schema, Source, fold
from qed.data._sources import Positive


def test_one_chunk_by_default_and_no_copy():
    X, y, s = np.zeros((5, 2)), np.zeros(5), np.ones(5)
    source = ArraySource(X, y, s, names=["a", "b"])
    (chunk,) = source.chunks()
    assert chunk.X is X
    assert np.shares_memory(chunk.y, y)
    assert chunk.s is s
    assert (chunk.n_rows, chunk.n_features, chunk.n_targets) == (5, 2, 1)
    assert source.schema == Schema(("a", "b"), 2, 1, np.dtype(np.float64), weighted=True)
    assert source.n_rows == 5
    assert source.in_memory
    assert isinstance(source, Source)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_chunks_cover_the_rows_once_in_order_and_again(make):
    X = make(np.arange(14.0, dtype=np.float32).reshape(7, 2))
    source = ArraySource(X, np.arange(7.0), np.arange(7.0), chunk_rows=3)
    for _ in range(2):
        chunks = list(source.chunks())
        assert [chunk.n_rows for chunk in chunks] == [3, 3, 1]
        dense = [chunk.X if make in (np.asarray, np.asfortranarray) else chunk.X.toarray() for chunk in chunks]
        assert np.array_equal(np.concatenate(dense)[:, 0], np.arange(0.0, 14, 2))
        assert np.concatenate([chunk.s for chunk in chunks]).tolist() == list(range(7))
    assert source.schema.dtype == np.float32


def test_no_rows_are_still_a_chunk():
    (chunk,) = ArraySource(np.zeros((0, 3)), chunk_rows=2).chunks()
    assert (chunk.n_rows, chunk.n_features) == (0, 3)


def test_sources_and_chunks_survive_pickling():
    source = ArraySource(np.arange(6.0).reshape(3, 2), np.arange(3.0), np.ones(3), names=["a", "b"], chunk_rows=2)
    copy = pickle.loads(pickle.dumps(source))
    assert copy.schema == source.schema
    for chunk, other in zip(copy.chunks(), source.chunks(), strict=True):
        assert np.array_equal(chunk.X, other.X)


def test_weights_are_checked():
    X = np.zeros((3, 1))
    with pytest.raises(InvalidData, match=r"finite and >= 0, got -1\.0 in row 2"):
        ArraySource(X, None, np.array([0.0, 1.0, -1.0]))
    with pytest.raises(InvalidData, match=r"got nan in row 1"):
        ArraySource(X, None, np.array([0.0, np.nan, -1.0]))
    with pytest.raises(InvalidData, match=r"got inf in row 0"):
        ArraySource(X, None, np.array([np.inf, 0.0, 1.0]))


def test_shapes_and_types_are_checked():
    X = np.zeros((3, 2))
    with pytest.raises(InvalidData, match=r"Chunk.X must be .* got int64 of shape"):
        Chunk(X.astype(np.int64))
    with pytest.raises(InvalidData, match=r"got float64 of shape \(3,\)"):
        Chunk(X[:, 0])
    with pytest.raises(InvalidData, match=r"Chunk.y must be .* of shape \(3, m\), got float64 of shape \(2, 1\)"):
        Chunk(X, np.zeros((2, 1)))
    with pytest.raises(InvalidData, match=r"Chunk.s must be float64 of shape \(3,\), got float32"):
        Chunk(X, None, np.ones(3, np.float32))
    with pytest.raises(InvalidData, match=r"got 1 names for the columns of X"):
        ArraySource(X, names=["a"])
    with pytest.raises(InvalidParameter, match=r"chunk_rows must be a number of rows >= 1 or None, got 0"):
        ArraySource(X, chunk_rows=0)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_value_that_is_not_finite_is_named_by_its_row_in_the_table(named, weighted):
    X, s = np.ones((50, 3)), np.ones(50)
    X[37, 2], s[:35:2] = np.nan, 0
    source = ArraySource(X, np.ones(50), s if weighted else None, names=list("abc") if named else None, chunk_rows=20)
    where = f"row 37, column {repr('c') if named else 2}"
    with pytest.raises(InvalidData, match=rf"contains NaN: {where}\."):
        fold(Positive(source, s) if weighted else source, Moments.of)


def test_classes_that_are_whole_numbers_become_floats():
    (chunk,) = ArraySource(np.ones((3, 1)), np.array([2, 0, 1])).chunks()
    assert chunk.y.dtype == np.float64
    assert chunk.y[:, 0].tolist() == [2.0, 0.0, 1.0]
