from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.tables import LAYOUTS, laid_out, make_table

from qed import _native
from qed.core._errors import ForgetError, InvalidData, ModelFileError
from qed.data import Chunk, Moments, Origin


def test_moments_by_hand():
    X, y, s = np.array([[1.0, 2.0], [3.0, 2.0], [8.0, 5.0]]), np.array([[1.0], [0.0], [9.0]]), np.array([1.0, 3.0, 0.0])
    m = Moments.of(Chunk(X, y, s))
    assert (m.rows, m.weight, m.n_features, m.n_targets) == (2, 4.0, 2, 1)
    assert m.mean_x.tolist() == [2.5, 2.0]
    assert m.mean_y.tolist() == [0.25]
    assert m.XX.tolist() == [[3.0, 0.0], [0.0, 0.0]]
    assert m.XY.tolist() == [[-1.5], [0.0]]
    assert m.YY.tolist() == [[0.75]]
    assert m.about_origin().XX.tolist() == [[28.0, 20.0], [20.0, 16.0]]
    assert m.about_origin().mean.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [*LAYOUTS, "unaligned"])
def test_layouts_give_the_same_bits(layout, dtype):
    table = make_table(3, 700, 5, 2, weighted=True, dtype=dtype)
    plain = Moments.of(Chunk(*table))
    other = Moments.of(Chunk(laid_out(table.X, layout), laid_out(table.y, layout), table.s))
    assert np.array_equal(plain.scatter, other.scatter)
    assert np.array_equal(plain.mean, other.mean)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_and_dense_agree(form, index, dtype):
    random = np.random.default_rng(5)
    X = np.where(random.random((300, 6)) < 0.3, random.normal(size=(300, 6)), 0).astype(dtype)
    y, s = random.normal(size=(300, 2)), random.uniform(0, 2, 300)
    made = form(X)
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    a, b = Moments.of(Chunk(made, y, s)), Moments.of(Chunk(X, y, s))
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=0, atol=1e-12 * b.scatter.max())
    np.testing.assert_allclose(a.mean, b.mean, rtol=0, atol=1e-14)
    assert a.rows == b.rows


def test_constant_columns_have_no_scatter_at_all():
    X = np.column_stack([np.full(1000, 0.1), np.arange(1000.0)])
    m = Moments.of(Chunk(X)).merge(Moments.of(Chunk(X[:77])))
    assert m.scatter[0].tolist() == [0.0, 0.0]
    assert m.peak[0] == 0.0


def test_sorted_rows_and_offsets_cost_no_accuracy():
    X = (np.arange(100_000.0) + 1e8)[:, np.newaxis]
    m = Moments.of(Chunk(X))
    n = 100_000
    assert m.scatter[0, 0] == pytest.approx(n * (n * n - 1) / 12, rel=1e-14)
    assert m.peak[0] <= 1.001 * m.scatter[0, 0]


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("row", [0, 3, 900])
def test_values_that_are_not_finite_are_named(value, word, row):
    X, y = np.ones((1000, 3)), np.ones((1000, 2))
    X[row, 1] = value
    with pytest.raises(InvalidData, match=rf"Input X contains {word}: row {row}, column 1"):
        Moments.of(Chunk(X, y))
    with pytest.raises(InvalidData, match=rf"Input X contains {word}: row {row}, column 1"):
        Moments.of(Chunk(sp.csr_array(X), y))
    with pytest.raises(InvalidData, match=rf"Input y contains {word}: row {row}, column 1"):
        Moments.of(Chunk(np.ones((1000, 3)), X))
    origin = Origin(((0, "a.parquet", 50), (3, "b.parquet", 0)), ("one", "two", "three"))
    place = f"row {row + 50} of a" if row < 3 else f"row {row - 3} of b"
    with pytest.raises(InvalidData, match=rf"{place}.parquet, column 'two'"):
        Moments.of(Chunk(X, y, None, origin))


def test_overflow_is_told_apart_from_infinity():
    with pytest.raises(
        InvalidData, match=r"overflow float64: the largest magnitude among values and weights is 1e\+200"
    ):
        Moments.of(Chunk(np.array([[1e200], [-1e200]])))


def test_forgetting_more_than_there_is():
    a, b = Moments.of(Chunk(np.arange(6.0)[:, np.newaxis])), Moments.of(Chunk(np.arange(7.0)[:, np.newaxis]))
    with pytest.raises(ForgetError, match=r"Cannot forget 7 rows: only 6 were learnt"):
        a.subtract(b)


def test_forgetting_more_weight_than_there_is():
    X, s = np.arange(6.0)[:, np.newaxis], np.ones(6)
    a = Moments.of(Chunk(X, None, s))
    with pytest.raises(ForgetError, match=r"Cannot forget a weight of 50\.0 out of 6\.0: 1 rows would remain"):
        a.subtract(Moments.of(Chunk(X[:5], None, 10 * s[:5])))
    with pytest.raises(
        ForgetError, match=r"Cannot forget all 6 rows: their weights add up to 6.0, those to forget to 12.0"
    ):
        a.subtract(Moments.of(Chunk(X, None, 2 * s)))


def test_forgetting_rows_that_were_never_there():
    a = Moments.of(Chunk(np.arange(6.0)[:, np.newaxis]))
    with pytest.raises(ForgetError, match=r"sum of squares of column 0 would become -.*, below zero"):
        a.subtract(Moments.of(Chunk(np.array([[0.0], [100.0]]))))
    with pytest.raises(ForgetError, match=r"target 0"):
        Moments.of(Chunk(np.arange(6.0)[:, np.newaxis] ** 2, np.arange(6.0)[:, np.newaxis])).subtract(
            Moments.of(Chunk(np.zeros((2, 1)), np.array([[0.0], [100.0]])))
        )


def test_forgetting_everything_and_all_but_one():
    X, s = np.random.default_rng(0).normal(size=(9, 2)) + 1e8, np.random.default_rng(1).uniform(1, 2, 9)
    a = Moments.of(Chunk(X, None, s))
    assert a.subtract(a) == Moments.empty(2)
    one = a.subtract(Moments.of(Chunk(X[:8], None, s[:8])))
    assert one.scatter.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(one.mean, X[8], rtol=0, atol=1e-7)


def test_files_with_impossible_moments_are_refused():
    good = Moments.of(Chunk(np.arange(6.0).reshape(3, 2)))
    good.check()
    fields = {name: getattr(good, name) for name in good.__dataclass_fields__}
    for wrong in (
        {"rows": -1},
        {"rows": 0},
        {"weight": -1.0},
        {"weight": np.inf},
        {"weight_low": np.nan},
        {"n_targets": 3},
        {"mean": np.array([np.nan, 0.0])},
        {"peak": np.array([-1.0, 0.0])},
        {"scatter": np.array([[1.0, 2.0], [3.0, 4.0]])},
        {"scatter": np.array([[-1.0, 2.0], [2.0, 4.0]])},
        {"scatter_low": np.zeros((3, 3))},
        {"mean_error": -1.0},
    ):
        with pytest.raises(ModelFileError):
            Moments(**{**fields, **wrong}).check()


@pytest.mark.parametrize("columns", [3, 400])
def test_the_number_of_threads_changes_no_bit(columns):
    X = np.random.default_rng(0).normal(size=(9000, columns)) + 100.0
    s = np.random.default_rng(1).uniform(0, 2, 9000)
    before, found = _native.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8):
            _native.set_num_threads(threads)
            found.append(Moments.of(Chunk(X, None, s)))
    finally:
        _native.set_num_threads(before)
    assert all(moments == found[0] for moments in found)
