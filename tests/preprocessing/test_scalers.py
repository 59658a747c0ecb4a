"""Scalers: laws first, then agreement with scikit-learn, then odd data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.preprocessing as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import qed
from qed import preprocessing as ours
from qed.core import CertificateError

SCALERS = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"]
MERGING = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler"]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 4)) * [1, 10, 0.1, 1] + [0, 100, -3, 1e3]
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
LAYOUTS = {
    "C": X,
    "F": np.asfortranarray(X),
    "sliced": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": X[::-1, ::-1],
}
tables = arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(1, 5)), elements=st.floats(-1e6, 1e6))


@pytest.mark.parametrize("name", MERGING)
@given(table=tables, cut=st.integers(1, 19))
@settings(max_examples=25, deadline=None)
def test_parts_merge_to_the_whole(name, table, cut):
    cut = min(cut, len(table) - 1)
    whole = getattr(ours, name)().fit(table)
    parts = getattr(ours, name)().partial_fit(table[:cut]).partial_fit(table[cut:])
    scale = np.abs(table).max() + 1
    np.testing.assert_allclose(parts.statistics_.mean, whole.statistics_.mean, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(parts.statistics_.scatter, whole.statistics_.scatter, rtol=1e-9, atol=1e-12 * scale**2)
    assert np.array_equal(parts.statistics_.low, whole.statistics_.low)
    assert np.array_equal(parts.statistics_.high, whole.statistics_.high)


@pytest.mark.parametrize("name", SCALERS)
@given(table=tables)
@settings(max_examples=25, deadline=None)
def test_the_inverse_undoes(name, table):
    model = getattr(ours, name)().fit(table)
    back = model.inverse_transform(model.transform(table))
    np.testing.assert_allclose(back, table, rtol=1e-9, atol=1e-9 * (1 + np.abs(table).max()))


@pytest.mark.covers("DAT-06")
def test_mean_zero_and_variance_one_with_divisor_n():
    z = ours.StandardScaler().fit_transform(X)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.var(axis=0), 1, rtol=1e-12)
    scaler = ours.StandardScaler().fit(X[:100])
    np.testing.assert_allclose(
        scaler.transform(X[100:]), (X[100:] - X[:100].mean(axis=0)) / X[:100].std(axis=0), rtol=1e-9
    )
    flat = ours.StandardScaler().fit_transform(np.column_stack([np.full(5, 7.3), np.arange(5.0)]))
    assert np.array_equal(flat[:, 0], np.zeros(5))


def test_weight_two_is_a_row_twice():
    weight = RNG.integers(0, 3, 200).astype(float)
    a = ours.StandardScaler().fit(X, sample_weight=weight)
    b = ours.StandardScaler().fit(np.repeat(X, weight.astype(int), axis=0))
    np.testing.assert_allclose(a.mean_, b.mean_, rtol=1e-12)
    np.testing.assert_allclose(a.var_, b.var_, rtol=1e-10)
    assert a.n_samples_seen_ == b.n_samples_seen_


@pytest.mark.parametrize("name", SCALERS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts_and_scikit_learn_agree(name, layout, dtype):
    table = LAYOUTS[layout].astype(dtype)
    a, b = getattr(ours, name)().fit(table), getattr(theirs, name)().fit(table)
    loose = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(a.transform(table), b.transform(table), rtol=loose, atol=loose)
    assert a.transform(table).dtype == dtype


@pytest.mark.parametrize("name", SCALERS)
def test_gaps_pass_through(name):
    a, b = getattr(ours, name)().fit(GAPS), getattr(theirs, name)().fit(GAPS)
    np.testing.assert_allclose(a.transform(GAPS), b.transform(GAPS), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "params"),
    [("StandardScaler", {"with_mean": False}), ("MaxAbsScaler", {}), ("RobustScaler", {"with_centering": False})],
)
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse(name, params, layout):
    table = sp.random(60, 5, 0.4, format=layout, random_state=0)
    a, b = getattr(ours, name)(**params).fit(table), getattr(theirs, name)(**params).fit(table)
    np.testing.assert_allclose(a.transform(table).toarray(), b.transform(table).toarray(), rtol=1e-12)
    np.testing.assert_allclose(a.inverse_transform(a.transform(table)).toarray(), table.toarray(), rtol=1e-12)
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        ours.StandardScaler().fit(table)


def test_frames_are_arrays():
    frame = pd.DataFrame(X, columns=list("abcd"), index=range(5, 205))
    scaled = ours.StandardScaler().set_output(transform="pandas").fit_transform(frame)
    assert list(scaled.columns) == list("abcd")
    assert scaled.index.equals(frame.index)
    np.testing.assert_allclose(scaled.to_numpy(), ours.StandardScaler().fit_transform(X), rtol=1e-12, atol=1e-12)
    other = ours.StandardScaler().set_output(transform="polars").fit_transform(pl.DataFrame(frame))
    np.testing.assert_allclose(other.to_numpy(), scaled.to_numpy(), rtol=1e-12, atol=1e-12)


def test_threads_do_not_change_bits():
    table = RNG.normal(size=(100_000, 7)) + 50
    before = qed.get_num_threads()
    results = []
    for threads in (1, 2):
        qed.set_num_threads(threads)
        results.append(ours.StandardScaler().fit(table))
    qed.set_num_threads(before)
    assert np.array_equal(results[0].mean_, results[1].mean_)
    assert np.array_equal(results[0].var_, results[1].var_)


def test_far_means_keep_their_variances():
    table = RNG.normal(size=(20_000, 2)) + np.array([1e6, 1e9])
    exact = table.astype(np.longdouble)
    model = ours.StandardScaler().fit(table)
    np.testing.assert_allclose(model.var_, exact.var(axis=0).astype(float), rtol=1e-9)


def test_odd_data():
    with pytest.raises(ValueError, match="infinity"):
        ours.StandardScaler().fit([[1.0], [np.inf]])
    with pytest.raises(ValueError, match=r"strings|convert"):
        ours.StandardScaler().fit([["a"], ["b"]])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        ours.MinMaxScaler().fit(np.empty((0, 2)))
    assert np.array_equal(ours.StandardScaler().fit_transform([[4.0, 5.0]]), [[0.0, 0.0]])
    huge = ours.MaxAbsScaler().fit_transform([[1e300], [-1e300]])
    assert np.array_equal(huge, [[1.0], [-1.0]])
    with pytest.raises(ValueError, match="smaller than maximum"):
        ours.MinMaxScaler((1, 0)).fit(X)
    z = ours.MinMaxScaler(clip=True).fit(X[:50]).transform(X * 3)
    assert z.min() >= 0
    assert z.max() <= 1


@pytest.mark.parametrize("name", SCALERS)
def test_verify_confirms_and_rejects(name):
    model = getattr(ours, name)().fit(GAPS)
    assert qed.verify(model, GAPS).holds
    attribute = {
        "StandardScaler": "mean_",
        "MinMaxScaler": "data_max_",
        "MaxAbsScaler": "max_abs_",
        "RobustScaler": "center_",
    }[name]
    setattr(model, attribute, getattr(model, attribute) + 1e-6 * np.abs(X).max(axis=0))
    with pytest.raises(CertificateError, match="changed after the fit, or the data are others"):
        qed.verify(model, GAPS)


@pytest.mark.parametrize("name", SCALERS)
def test_files_give_the_model_back(name, tmp_path):
    model = getattr(ours, name)().fit(GAPS)
    model.save(tmp_path / "model.qed")
    back = qed.load(tmp_path / "model.qed")
    np.testing.assert_array_equal(back.transform(GAPS), model.transform(GAPS))
    assert back.certificate_ == model.certificate_


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_rows_of_length_one(norm):
    rows = np.vstack([X, np.zeros(4)])
    np.testing.assert_allclose(ours.Normalizer(norm).fit_transform(rows), theirs.normalize(rows, norm), rtol=1e-12)
    table = sp.csr_matrix(rows)
    np.testing.assert_allclose(
        ours.normalize(table, norm).toarray(), theirs.normalize(table, norm).toarray(), rtol=1e-12
    )


@pytest.mark.covers("DAT-01")
def test_homogeneous_coordinates():
    theta = np.array([0.5, 2.0, -1.0, 3.0, 0.25])
    longer = ours.add_dummy_feature(X)
    assert longer.shape == (200, 5)
    np.testing.assert_allclose(longer @ theta, X @ theta[1:] + theta[0], rtol=1e-12)


def test_functions_are_the_models():
    np.testing.assert_array_equal(ours.scale(X), ours.StandardScaler().fit_transform(X))
    np.testing.assert_allclose(ours.minmax_scale(X, axis=1), theirs.minmax_scale(X, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.maxabs_scale(X), theirs.maxabs_scale(X))
    np.testing.assert_allclose(ours.robust_scale(X), theirs.robust_scale(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.binarize(X, threshold=1.0), theirs.binarize(X, threshold=1.0))
