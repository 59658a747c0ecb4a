"""Rows that are dicts: agreement with scikit-learn over options, small cases by hand, and errors in words."""

from collections import OrderedDict

import numpy as np
import pytest
import sklearn.feature_extraction as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed.core import CertificateError
from qed.feature_extraction import DictVectorizer, FeatureHasher

ROWS = [
    {"a": 1, "b": "x", "c": ["p", "q"], "z": None},
    {"a": 0, "b": "y", "c": ("p", "p")},
    {"q": True, "c": {"p"}, "a": np.float32(2.5), "n": np.int64(3)},
    {},
]
NEW = [{"a": 7, "b": "unseen", "new": 1.0}, {"c": ["q", "r"], "z": 2}]


def dense(table):
    return table.toarray() if hasattr(table, "toarray") else table


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sparse": False},
        {"sort": False},
        {"separator": " ~ ", "dtype": np.float32},
        {"sort": False, "sparse": False},
    ],
)
def test_columns_of_names_are_scikit_learns(options):
    a, b = DictVectorizer(**options), theirs.DictVectorizer(**options)
    left, right = a.fit_transform(ROWS), b.fit_transform(ROWS)
    assert type(left) is type(right)
    assert left.dtype == right.dtype
    np.testing.assert_array_equal(dense(left), dense(right))
    assert a.vocabulary_ == b.vocabulary_
    assert a.feature_names_ == b.feature_names_
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    np.testing.assert_array_equal(dense(a.transform(NEW)), dense(b.transform(NEW)))
    np.testing.assert_array_equal(dense(a.transform(NEW[0])), dense(b.transform(NEW[0])))
    assert qed.verify(a, ROWS).holds
    assert a.inverse_transform(a.transform(NEW)) == b.inverse_transform(b.transform(NEW))
    made = a.inverse_transform(dense(a.transform(NEW)), dict_type=OrderedDict)
    assert made == b.inverse_transform(dense(b.transform(NEW)), dict_type=OrderedDict)
    assert type(made[0]) is OrderedDict


NAMES = st.text("abé=", min_size=0, max_size=3)
VALUES = st.one_of(st.integers(-9, 9), st.floats(-5, 5), NAMES, st.lists(NAMES, max_size=3), st.none())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=6), st.booleans())
def test_names_of_any_rows_are_scikit_learns(rows, sort):
    a, b = DictVectorizer(sort=sort).fit(rows), theirs.DictVectorizer(sort=sort).fit(rows)
    assert a.vocabulary_ == b.vocabulary_
    np.testing.assert_array_equal(dense(a.transform(rows)), dense(b.transform(rows)))
    assert qed.verify(a, rows).holds


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.dictionaries(NAMES, st.one_of(st.integers(-9, 9), NAMES), max_size=4), min_size=1, max_size=6),
    st.sampled_from([1, 5, 64, 2**20]),
    st.booleans(),
)
def test_hashed_names_are_scikit_learns(rows, width, signs):
    a, b = (kind(width, alternate_sign=signs).transform(rows) for kind in (FeatureHasher, theirs.FeatureHasher))
    assert type(a) is type(b)
    assert a.shape == b.shape
    for part in ("data", "indices", "indptr"):  # whole numbers: sums are exact
        np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("pair", [[("a", 2), (b"b", 1.5), ("a", 1)], [("c", "word")], []]),
        ("string", [["dog", "cat", "snake"], ("snake", "dog"), {"cat"}, iter(["bird", "bird"])]),
        ("dict", [{"a": 1.5, "b": "x", "é": 2}, {b"a": 3, "z": 0}]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_hashed_rows_of_each_kind_are_scikit_learns(kind, rows, dtype):
    options = {"n_features": 13, "input_type": kind, "dtype": dtype}
    rows = [list(row) if hasattr(row, "__next__") else row for row in rows]
    left, right = (
        FeatureHasher(**options).fit(rows).transform(iter(rows)),
        theirs.FeatureHasher(**options).transform(rows),
    )
    assert left.dtype == right.dtype
    np.testing.assert_array_equal(left.toarray(), right.toarray())


def test_restricting_keeps_columns_and_says_that_nothing_is_claimed():
    a, b = DictVectorizer().fit(ROWS), theirs.DictVectorizer().fit(ROWS)
    keep = np.arange(len(a.vocabulary_)) % 2 == 0
    assert a.restrict(keep).vocabulary_ == b.restrict(keep).vocabulary_
    np.testing.assert_array_equal(dense(a.transform(ROWS)), dense(b.transform(ROWS)))
    assert a.restrict([1, 0], indices=True).vocabulary_ == b.restrict([1, 0], indices=True).vocabulary_
    with pytest.raises(CertificateError, match="columns were chosen after the fit"):
        qed.verify(a, ROWS)
    with pytest.raises(ValueError, match="outside of 0 to 1"):
        a.restrict([2], indices=True)
    with pytest.raises(ValueError, match="2 times True or False"):
        a.restrict([True])


def test_other_names_are_refused():
    model = DictVectorizer().fit(ROWS)
    with pytest.raises(CertificateError, match="differ in"):
        qed.verify(model, [*ROWS[:3], {"other": 1}])
    names = model.feature_names_
    model.vocabulary_[names[0]], model.vocabulary_[names[1]] = 1, 0
    with pytest.raises(CertificateError, match="other columns"):
        qed.verify(model, ROWS)


def test_files_and_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    model = DictVectorizer(sparse=False).fit(ROWS)
    model.save(tmp_path / "model.qed")
    np.testing.assert_array_equal(qed.load(tmp_path / "model.qed").transform(ROWS), model.transform(ROWS))
    shown = model.set_output(transform="pandas").transform(ROWS)
    assert isinstance(shown, pandas.DataFrame)
    assert shown.columns.tolist() == model.feature_names_
    frame = pandas.DataFrame({"city": ["Oslo", "Rome"], "degrees": [4.0, 15.0]})
    with pytest.raises(TypeError, match=r"to_dict\('records'\)"):
        DictVectorizer().fit(frame)
    assert DictVectorizer().fit(frame.to_dict("records")).feature_names_ == ["city=Oslo", "city=Rome", "degrees"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("text", "iterable of rows"),
        (3, "iterable of rows"),
        ([], "empty"),
        ([["a"]], "A row of DictVectorizer is a dict"),
        ([{1: 2}], "feature names must be strings"),
        ([{"a": {"b": 1}}], "Unsupported value type"),
        ([{"a": object()}], "Unsupported value type"),
        ([{"a": ["b", 1]}], "Only iterables of string"),
        ([{"a": [None]}], "Only iterables of string"),
        ([{"a": 1j}], "no number that float64 can hold"),
    ],
)
def test_rows_that_are_no_dicts_are_refused_in_words(rows, words):
    with pytest.raises((TypeError, ValueError), match=words):
        DictVectorizer().fit(rows)


@pytest.mark.parametrize(
    ("kind", "rows", "words"),
    [
        ("string", ["a text"], "single string"),
        ("string", "a text", "iterable of rows"),
        ("pair", [3], "pairs of a name"),
        ("dict", [["a"]], "is a dict"),
        ("dict", [{1: 2}], "feature names must be strings"),
        ("dict", [{None: 2}], "feature names must be strings"),
        ("dict", [{"a": None}], "finite numbers"),
        ("dict", [{"a": np.inf}], "finite numbers"),
        ("dict", [{"a": [1, 2]}], "several parts"),
        ("dict", [], "is empty"),
    ],
)
def test_rows_that_cannot_be_hashed_are_refused_in_words(kind, rows, words):
    with pytest.raises((TypeError, ValueError), match=words):
        FeatureHasher(8, input_type=kind).transform(rows)
    with pytest.raises(ValueError, match="n_features"):
        FeatureHasher(2**31).fit()
