from __future__ import annotations

import numpy as np
import pytest

from qed.core._errors import InvalidDataType
from qed.data import ArraySource, Serial, Threads, scan
from qed.designs import Chunked, Dense, Sparse, Standardised, design

random = np.random.default_rng(0)
X = random.normal(size=(500, 4))
w, u, c = random.normal(size=(4, 2)), random.normal(size=(500, 2)), random.uniform(0, 1, 500)


class Unknown(ArraySource):
    """A source that does not know how many rows it has."""

    n_rows = None


@pytest.mark.parametrize("where", [Serial(), Threads(2)], ids=repr)
def test_the_executor_changes_no_bit(where):
    one, other = Chunked(ArraySource(X, chunk_rows=33)), Chunked(ArraySource(X, chunk_rows=33), where)
    assert np.array_equal(one @ w, other @ w)
    assert np.array_equal(one.T @ u, other.T @ u)
    assert np.array_equal(one.gram(c), other.gram(c))


def test_rows_are_counted_when_the_source_does_not_know():
    made = Chunked(Unknown(X, chunk_rows=70))
    assert made.shape == (500, 4)
    np.testing.assert_allclose(made.T @ u, X.T @ u, atol=1e-12)


def test_targets_and_weights_of_the_source_play_no_part():
    made = Chunked(ArraySource(X, np.ones(500), np.zeros(500), chunk_rows=70))
    np.testing.assert_allclose(made.gram(), X.T @ X, atol=1e-11)


def test_files_are_designs(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), tmp_path / "a.parquet", row_group_size=90)
    made = design(scan(tmp_path, batch_rows=64))
    assert isinstance(made, Chunked)
    np.testing.assert_allclose(made @ w, X @ w, atol=1e-13)
    np.testing.assert_allclose(made.T @ u, X.T @ u, atol=1e-12)
    np.testing.assert_allclose(made.column_norms(c), np.sqrt(c @ X**2), rtol=1e-13)


def test_a_design_is_chosen_by_what_is_given():
    sp = pytest.importorskip("scipy.sparse")
    assert isinstance(design(X), Dense)
    assert isinstance(design(sp.csr_array(X)), Sparse)
    assert isinstance(design(ArraySource(X)), Chunked)
    wrapped = Standardised(Dense(X))
    assert design(wrapped) is wrapped
    with pytest.raises(InvalidDataType, match=r"A design is made of a NumPy array.*got list"):
        design([[1.0]])
