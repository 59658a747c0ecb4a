"""Products, splines, functions, bins and filled gaps: laws and agreement with scikit-learn."""

import itertools
from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.impute
import sklearn.preprocessing as theirs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import qed
from qed import preprocessing as ours
from qed.core import CertificateError
from qed.datasets import PartlyLabelled
from qed.linear_model import LinearRegression

RNG = np.random.default_rng(8)
X = RNG.normal(size=(60, 3))
NEW = 2 * RNG.normal(size=(40, 3))
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
WEIGHT = RNG.integers(0, 3, 60).astype(float)


def _every(*options):
    return list(itertools.product(*options))


DEGREES = [0, 1, 2, 3, (2, 3), (1, 2), (2, 2)]


@pytest.mark.parametrize(("degree", "interaction_only", "include_bias"), _every(DEGREES, [False, True], [False, True]))
def test_monomials_are_scikit_learns(degree, interaction_only, include_bias):
    params = {"degree": degree, "interaction_only": interaction_only, "include_bias": include_bias}
    a, b = ours.PolynomialFeatures(**params), theirs.PolynomialFeatures(**params)
    if degree == 0 and not include_bias:
        with pytest.raises(ValueError, match="empty output"):
            a.fit(X)
        return
    np.testing.assert_allclose(a.fit_transform(X), b.fit_transform(X), rtol=1e-14)
    np.testing.assert_array_equal(a.powers_, b.powers_)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    for table in (
        sp.random(30, 4, 0.4, format="csr", random_state=1),
        sp.random(30, 4, 0.4, format="csc", random_state=1),
    ):
        left, right = a.fit_transform(table), b.fit_transform(table)
        assert left.format == right.format
        np.testing.assert_allclose(left.toarray(), right.toarray(), rtol=1e-14)


@pytest.mark.covers("DAT-07", "DAT-08")
@pytest.mark.parametrize(("d", "k"), _every(range(1, 5), range(4)))
def test_the_number_of_monomials(d, k):
    assert ours.PolynomialFeatures(k).fit(np.ones((1, d))).n_output_features_ == comb(d + k, k)
    if k == 2:
        assert comb(d + k, k) == (d + 1) * (d + 2) // 2
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    products = ours.PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(corners)
    assert np.array_equal(products[:, 2], corners[:, 0] * corners[:, 1])  # exclusive or is linear in (a, b, ab)


def test_float32_and_order_are_kept():
    out = ours.PolynomialFeatures(2, order="F").fit_transform(X.astype(np.float32))
    assert out.dtype == np.float32
    assert out.flags.f_contiguous
    frame = (
        ours.PolynomialFeatures(2).set_output(transform="pandas").fit_transform(pd.DataFrame(X, columns=list("abc")))
    )
    assert "a b" in frame.columns


@pytest.mark.parametrize(
    ("knots", "extrapolation", "include_bias", "degree"),
    _every(["uniform", "quantile"], ["constant", "linear", "continue", "periodic"], [True, False], [2, 3]),
)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_splines_are_scikit_learns(knots, extrapolation, include_bias, degree, weight):
    params = {"knots": knots, "extrapolation": extrapolation, "include_bias": include_bias, "degree": degree}
    a = ours.SplineTransformer(**params).fit(X, sample_weight=weight)
    b = theirs.SplineTransformer(**params).fit(X, sample_weight=weight)
    np.testing.assert_allclose(a.transform(NEW), b.transform(NEW), atol=1e-10)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())


def test_splines_add_up_to_one_and_go_on_straight():
    np.testing.assert_allclose(ours.SplineTransformer().fit_transform(X).sum(axis=1), 3, rtol=1e-12)
    model = ours.SplineTransformer(n_knots=3, degree=1, extrapolation="linear").fit([[0.0, 0.0], [1.0, 1.0]])
    steps = np.diff(model.transform([[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]), axis=0)
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-12)
    np.testing.assert_allclose(model.transform([[5.0, 5.0]]).sum(), 2, rtol=1e-12)
    with pytest.raises(ValueError, match="beyond the limits"):
        ours.SplineTransformer(extrapolation="error").fit(X).transform(100 * X)


@pytest.mark.covers("DAT-09")
def test_given_functions_keep_their_names():
    model = ours.BasisFunctions({"one": "1", "wave": np.sin, "square": "x^2"}).fit(X[:, :1])
    np.testing.assert_allclose(model.transform(X[:, :1]), np.column_stack([np.ones(60), np.sin(X[:, 0]), X[:, 0] ** 2]))
    assert model.get_feature_names_out(["t"]).tolist() == ["one(t)", "wave(t)", "square(t)"]
    bumps = ours.RadialBasis(centers=X[:5], width=0.7).fit_transform(X)
    distance = np.linalg.norm(X[:, None] - X[None, :5], axis=2)
    np.testing.assert_allclose(bumps, np.exp(-(distance**2) / (2 * 0.49)), rtol=1e-12)
    with pytest.raises(ValueError, match="must be functions or words"):
        ours.BasisFunctions(["tan"]).fit(X)


@pytest.mark.covers("DAT-11")
def test_between_is_linear_in_x_and_its_square():
    x, y = np.array([[-2.0], [-1.5], [0.0], [0.3], [1.6], [2.2]]), np.array([1, 1, -1, -1, 1, 1.0])
    curved = ours.BasisFunctions(["x", "x^2"]).fit_transform(x)
    assert (np.sign(LinearRegression().fit(curved, y).predict(curved)) == y).all()
    assert not (np.sign(LinearRegression().fit(x, y).predict(x)) == y).all()


def test_pieces():
    steps = ours.PiecewiseBasis().fit(X)
    assert np.array_equal(steps.transform(NEW).sum(axis=1), np.full(40, 3.0))
    hinges = ours.PiecewiseBasis(knots=[[0.0]], degree=1).fit_transform([[-1.0], [2.0]])
    assert np.array_equal(hinges, [[-1.0, 0.0], [2.0, 2.0]])


@pytest.mark.parametrize(
    ("strategy", "encode"), _every(["uniform", "quantile", "kmeans"], ["onehot", "onehot-dense", "ordinal"])
)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_bins_are_scikit_learns(strategy, encode, weight):
    params = {"strategy": strategy, "encode": encode}
    a = ours.KBinsDiscretizer(**params).fit(X, sample_weight=weight)
    b = theirs.KBinsDiscretizer(**params).fit(X, sample_weight=weight)
    for mine, other in zip(a.bin_edges_, b.bin_edges_, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    left, right = a.transform(NEW), b.transform(NEW)
    if encode == "onehot":
        left, right = left.toarray(), right.toarray()
    np.testing.assert_array_equal(left, right)
    np.testing.assert_allclose(a.inverse_transform(left), b.inverse_transform(right))
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())


def test_constant_columns_have_one_bin():
    with pytest.warns(UserWarning, match="constant"):
        model = ours.KBinsDiscretizer(encode="ordinal").fit([[1.0], [1.0]])
    assert model.transform([[5.0]]).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("strategy", "add_indicator", "keep"),
    _every(["mean", "median", "most_frequent", "constant"], [False, True], [False, True]),
)
def test_filled_gaps_are_scikit_learns(strategy, add_indicator, keep):
    params = {"strategy": strategy, "add_indicator": add_indicator, "keep_empty_features": keep}
    for table in (GAPS, GAPS.astype(np.float32), np.round(GAPS)):
        a, b = ours.SimpleImputer(**params).fit(table), sklearn.impute.SimpleImputer(**params).fit(table)
        np.testing.assert_allclose(
            a.transform(table), b.transform(table), rtol=1e-6, atol=1e-6 if table.dtype == np.float32 else 0
        )
        assert a.transform(table).dtype == b.transform(table).dtype
        assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    sparse = sp.csr_matrix(np.where(np.abs(GAPS) < 0.3, 0, GAPS))
    a, b = ours.SimpleImputer(**params).fit(sparse), sklearn.impute.SimpleImputer(**params).fit(sparse)
    np.testing.assert_allclose(a.transform(sparse).toarray(), b.transform(sparse).toarray(), rtol=1e-12)


def test_whole_numbers_stay_whole():
    table = np.array([[1, -1], [2, 3], [2, 2**60 + 1]])
    for options in ({"strategy": "most_frequent"}, {"strategy": "constant", "fill_value": 7}):
        ours_, theirs_ = (
            kind(missing_values=-1, **options) for kind in (ours.SimpleImputer, sklearn.impute.SimpleImputer)
        )
        left, right = ours_.fit_transform(table), theirs_.fit_transform(table)
        assert left.dtype == right.dtype == np.int64
        np.testing.assert_array_equal(left, right)
        frame = pd.DataFrame(table, columns=["a", "b"])
        assert ours_.set_output(transform="pandas").fit_transform(frame).dtypes.tolist() == [np.int64, np.int64]
    assert ours.SimpleImputer(missing_values=-1).fit_transform(table).dtype == np.float64
    with pytest.raises(ValueError, match="cannot be cast"):
        ours.SimpleImputer(missing_values=-1, strategy="constant", fill_value=7.5).fit(table)


@pytest.mark.covers("DAT-16")
@given(
    table=arrays(
        np.float64, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=st.sampled_from([1.0, 2.0, np.nan])
    ),
    hidden=st.integers(0, 2**6 - 1),
)
def test_masks_of_columns_and_labels_go_round(table, hidden):
    mask = np.isnan(table)
    marks = ours.MissingIndicator(features="all").fit_transform(table)
    assert marks.dtype == bool
    np.testing.assert_array_equal(marks, mask)
    np.testing.assert_array_equal(np.where(marks, np.nan, np.nan_to_num(table, nan=7.0)), table)
    here = ~mask.all(axis=0)
    if here.all():
        model = ours.SimpleImputer(add_indicator=True).fit(table)
        filled = model.transform(table)
        np.testing.assert_array_equal(filled[:, : table.shape[1]][~mask], table[~mask])
        np.testing.assert_array_equal(filled[:, table.shape[1] :], mask[:, mask.any(axis=0)])
        np.testing.assert_array_equal(model.inverse_transform(filled), table)
    labels = np.arange(len(table)) % 2
    is_hidden = (hidden >> np.arange(len(table))) & 1 == 1
    told = PartlyLabelled.of(table, np.where(is_hidden, -1, labels))
    np.testing.assert_array_equal(told.is_labelled, ~is_hidden)
    assert (told.n_labelled, told.n_unlabelled) == ((~is_hidden).sum(), is_hidden.sum())
    np.testing.assert_array_equal(told.labelled[0], table[~is_hidden])
    np.testing.assert_array_equal(told.labelled[1], labels[~is_hidden])
    np.testing.assert_array_equal(told.unlabelled, table[is_hidden])
    again = PartlyLabelled(table, labels, told.is_labelled).masked_target()
    np.testing.assert_array_equal(again, np.where(is_hidden, -1, labels))


def test_gaps_are_marked_and_put_back():
    marks = ours.MissingIndicator(features="all").fit_transform(GAPS)
    assert np.array_equal(marks, np.isnan(GAPS))
    some = np.column_stack([GAPS, X[:, :1]])  # a column without gaps gets no mark
    np.testing.assert_array_equal(ours.MissingIndicator().fit_transform(some), np.isnan(GAPS))
    model = ours.SimpleImputer(add_indicator=True).fit(GAPS)
    np.testing.assert_array_equal(model.inverse_transform(model.transform(GAPS)), GAPS)
    with pytest.raises(ValueError, match="have missing values in transform"):
        ours.MissingIndicator().fit(X).transform(GAPS)


def test_words_and_frames_are_filled():
    words = np.array([["a", None], ["b", "x"], ["a", "x"], [None, "y"]], dtype=object)
    filled = ours.SimpleImputer(missing_values=None, strategy="most_frequent").fit_transform(words)
    assert filled.tolist() == [["a", "x"], ["b", "x"], ["a", "x"], ["a", "y"]]
    frame = pd.DataFrame({"age": [1.0, np.nan, 5.0], "size": [1, 2, 3]})
    shown = ours.SimpleImputer().set_output(transform="pandas").fit_transform(frame)
    assert shown["age"].tolist() == [1.0, 3.0, 5.0]
    with pytest.raises(ValueError, match="Cannot use mean strategy with non-numeric data"):
        ours.SimpleImputer().fit(words)
    with pytest.warns(UserWarning, match="Skipping features without any observed values"):
        assert ours.SimpleImputer().fit([[np.nan, 1.0], [np.nan, 2.0]]).transform([[np.nan, 1.0]]).shape == (1, 1)


def test_verify_rejects_other_fillings():
    model = ours.SimpleImputer().fit(GAPS)
    assert qed.verify(model, GAPS).holds
    model.statistics_[0] += 1e-6
    with pytest.raises(CertificateError):
        qed.verify(model, GAPS)


def test_functions_of_the_user():
    model = ours.FunctionTransformer(np.log1p, np.expm1).fit(np.abs(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(np.abs(X))), np.abs(X))
    with pytest.warns(UserWarning, match="not strictly inverse"):
        ours.FunctionTransformer(np.log1p, np.exp).fit(np.abs(X))
    with pytest.raises(CertificateError, match="claims nothing"):
        qed.verify(model, X)
    assert ours.FunctionTransformer(lambda table: table * 2).transform([1, 2]) == [1, 2, 1, 2]


@pytest.mark.parametrize(
    "model",
    [
        ours.SplineTransformer(),
        ours.KBinsDiscretizer(),
        ours.PolynomialFeatures(),
        ours.SimpleImputer(add_indicator=True),
        ours.RadialBasis(),
        ours.PiecewiseBasis(),
        ours.BasisFunctions(),
        ours.FunctionTransformer(np.exp),
    ],
)
def test_files(model, tmp_path):
    model.fit(X)
    model.save(tmp_path / "model.qed")
    left, right = qed.load(tmp_path / "model.qed").transform(NEW), model.transform(NEW)
    np.testing.assert_array_equal(*[one.toarray() if sp.issparse(one) else one for one in (left, right)])
