"""Encoders: laws, agreement with scikit-learn over options and types, frames, files, verification."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.preprocessing as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed import preprocessing as ours
from qed.core import CertificateError

RNG = np.random.default_rng(5)
WORDS = np.array([f"w{i:02d}" for i in range(12)])
N = 300
TABLES = {
    "words": WORDS[RNG.integers(0, 12, (N, 3))],
    "objects": WORDS[RNG.integers(0, 12, (N, 3))].astype(object),
    "integers": RNG.integers(0, 9, (N, 3)),
    "floats": np.where(RNG.random((N, 3)) < 0.1, np.nan, RNG.integers(0, 9, (N, 3)) * 1.5),
    "None": np.where(RNG.random((N, 3)) < 0.1, None, WORDS[RNG.integers(0, 12, (N, 3))].astype(object)),
    "bools": RNG.random((N, 3)) < 0.5,
}


def _same(a, b):
    return len(a) == len(b) and all(x == y or str(x) == str(y) == "nan" for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("kind", TABLES)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_one_hot_is_scikit_learns(kind, data):
    table = TABLES[kind]
    params = {
        "drop": data.draw(st.sampled_from([None, "first", "if_binary"])),
        "min_frequency": data.draw(st.sampled_from([None, 15, 0.05])),
        "max_categories": data.draw(st.sampled_from([None, 3, 5])),
        "handle_unknown": data.draw(st.sampled_from(["error", "ignore", "infrequent_if_exist"])),
        "sparse_output": data.draw(st.booleans()),
    }
    a, b = ours.OneHotEncoder(**params).fit(table), theirs.OneHotEncoder(**params).fit(table)
    for mine, other in zip(a.categories_, b.categories_, strict=True):
        assert _same(mine.tolist(), other.tolist())
        assert mine.dtype == other.dtype
    left, right = a.transform(table), b.transform(table)
    assert type(left) is type(right)
    assert left.dtype == right.dtype
    dense = [one.toarray() if params["sparse_output"] else one for one in (left, right, a.fit_transform(table))]
    np.testing.assert_array_equal(dense[0], dense[1])
    np.testing.assert_array_equal(dense[2], dense[1])
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_the_inverse_undoes(kind, drop):
    table = TABLES[kind]
    model = ours.OneHotEncoder(drop=drop).fit(table)
    back = model.inverse_transform(model.transform(table))
    assert all(_same(back[:, j].tolist(), table[:, j].tolist()) for j in range(3))
    ordinal = ours.OrdinalEncoder().fit(table)
    back = ordinal.inverse_transform(ordinal.transform(table))
    assert all(_same(back[:, j].tolist(), table[:, j].tolist()) for j in range(3))


def test_a_dropped_common_category_comes_back_as_itself():
    table = np.array([["rare"]] + [["b"]] * 9 + [["c"]] * 9, dtype=object)
    model = ours.OneHotEncoder(drop="first", min_frequency=5, handle_unknown="ignore").fit(table)
    assert model.inverse_transform(model.transform([["b"]]))[0, 0] == "b"


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("min_frequency", [None, 20])
def test_ordinal_is_scikit_learns(kind, min_frequency):
    table = TABLES[kind]
    params = {"handle_unknown": "use_encoded_value", "unknown_value": -1, "min_frequency": min_frequency}
    a, b = ours.OrdinalEncoder(**params).fit(table[:50]), theirs.OrdinalEncoder(**params).fit(table[:50])
    np.testing.assert_array_equal(a.transform(table), b.transform(table))


@pytest.mark.covers("DAT-02", "DAT-04")
def test_codes_keep_order_or_nothing_but_difference():
    ordinal = ours.OrdinalEncoder(categories=[["low", "middle", "high"]])
    assert ordinal.fit_transform([["low"], ["middle"], ["high"]]).ravel().tolist() == [0, 1, 2]
    words, model = [["a"], ["b"], ["c"]], ours.OneHotEncoder(sparse_output=False)
    one_hot = model.fit_transform(words)
    assert set(one_hot.ravel()) == {0.0, 1.0}
    assert model.inverse_transform(one_hot).tolist() == words
    assert model.inverse_transform(one_hot[[2, 0, 2]]).tolist() == [["c"], ["a"], ["c"]]
    assert np.array_equal(one_hot.sum(axis=1), np.ones(3))
    distances = np.linalg.norm(one_hot[:, None] - one_hot[None], axis=2)
    np.testing.assert_allclose(distances, np.sqrt(2) * (1 - np.eye(3)), rtol=1e-15)


@pytest.mark.covers("DAT-03")
@given(levels=st.lists(st.integers(0, 30), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_thermometers_measure_distance(levels):
    column = np.array(levels)[:, None]
    model = ours.ThermometerEncoder().fit(column)
    code = model.transform(column)
    rank = np.searchsorted(model.categories_[0], column[:, 0])
    assert np.array_equal(code.sum(axis=1), rank + 1)
    hamming = (code[:, None] != code[None]).sum(axis=2)
    assert np.array_equal(hamming, np.abs(rank[:, None] - rank[None]))
    assert np.array_equal(model.inverse_transform(code), column)


@pytest.mark.covers("DAT-05")
def test_factors_of_blood_types():
    model = ours.FactoredEncoder(factors={"A": "A", "B": "B", "rhesus": r"\+"})
    code = model.fit_transform([["AB+"], ["A-"], ["O+"]])
    assert np.array_equal(code, [[1, 1, 1], [1, 0, 0], [0, 0, 1]])
    assert model.get_feature_names_out(["blood"]).tolist() == ["blood_A", "blood_B", "blood_rhesus"]
    parts = ours.FactoredEncoder(separator="-").fit([["red-round"], ["blue-square"]])
    assert parts.transform([["blue-round"]]).tolist() == [[1, 0, 1, 0]]
    with pytest.raises(ValueError, match="unknown categories"):
        parts.transform([["green-round"]])


def test_frames_of_every_library():
    table = TABLES["words"]
    names = ["a", "b", "c"]
    expected = ours.OneHotEncoder(sparse_output=False).fit_transform(table)
    columns = {name: table[:, j].tolist() for j, name in enumerate(names)}
    frames = [
        pd.DataFrame(columns),
        pd.DataFrame(columns).astype("category"),
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.all().cast(pl.Categorical)),
        pa.table(columns),
    ]
    for frame in frames:
        model = ours.OneHotEncoder(sparse_output=False).fit(frame)
        np.testing.assert_array_equal(model.transform(frame), expected)
        assert model.get_feature_names_out()[0] == "a_w00"
    long = pl.DataFrame({"a": ["a long word, " + word for word in columns["a"]], "b": columns["b"], "c": columns["c"]})
    np.testing.assert_array_equal(ours.OneHotEncoder(sparse_output=False).fit_transform(long), expected)
    gaps = pl.DataFrame({"a": ["x", None, "y", "x"]})
    assert ours.OneHotEncoder().fit(gaps).categories_[0].tolist() == ["x", "y", None]
    shown = ours.OneHotEncoder(sparse_output=False).set_output(transform="pandas").fit_transform(frames[0])
    assert shown.columns[0] == "a_w00"


def test_unknown_and_odd_values():
    model = ours.OneHotEncoder().fit([["a"], ["b"]])
    with pytest.raises(ValueError, match=r"Found unknown categories \['z'\] in column 0 during transform"):
        model.transform([["z"]])
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        ours.OneHotEncoder().fit(np.array([["a"], [1]], dtype=object))
    with pytest.raises(ValueError, match="Expected 2D array"):
        ours.OneHotEncoder().fit(["a", "b"])
    with pytest.raises(ValueError, match="duplicate"):
        ours.OneHotEncoder(categories=[["a", "a"]]).fit([["a"]])
    assert ours.OrdinalEncoder().fit_transform([[1e300], [-1e300]]).ravel().tolist() == [1, 0]
    with pytest.raises(ValueError, match="infinity"):
        ours.OneHotEncoder().fit([[np.inf]])
    zeros = ours.OneHotEncoder().fit(np.array([[0.0], [-0.0]]))
    assert len(zeros.categories_[0]) == 1


@pytest.mark.parametrize("kind", TABLES)
def test_verify_and_files(kind, tmp_path):
    table = TABLES[kind]
    model = ours.OneHotEncoder(min_frequency=3).fit(table)
    assert qed.verify(model, table).holds
    model.save(tmp_path / "model.qed")
    back = qed.load(tmp_path / "model.qed")
    assert (back.transform(table) != model.transform(table)).nnz == 0
    model.categories_[0] = model.categories_[0][1:]
    with pytest.raises(CertificateError, match="categories"):
        qed.verify(model, table)


@pytest.mark.parametrize("labels", [["no", "yes", "no"], [3, 1, 2, 3], [1, 1], ["a", "b", "c"]])
def test_labels_are_scikit_learns(labels):
    a, b = ours.LabelEncoder(), theirs.LabelEncoder()
    np.testing.assert_array_equal(a.fit_transform(labels), b.fit_transform(labels))
    assert a.inverse_transform(a.transform(labels)).tolist() == list(labels)
    with pytest.raises(ValueError, match="previously unseen labels"):
        a.transform([99 if isinstance(labels[0], int) else "other"])
    for params in ({}, {"neg_label": -1, "pos_label": 2}, {"sparse_output": True}):
        a, b = ours.LabelBinarizer(**params), theirs.LabelBinarizer(**params)
        left, right = a.fit_transform(labels), b.fit_transform(labels)
        if params.get("sparse_output"):
            left, right = left.toarray(), right.toarray()
        np.testing.assert_array_equal(left, right)
        assert a.inverse_transform(left).tolist() == list(labels)
    assert qed.verify(ours.LabelEncoder().fit(labels), labels).holds
    np.testing.assert_array_equal(
        ours.label_binarize([1, 3], classes=[3, 1, 2]), theirs.label_binarize([1, 3], classes=[3, 1, 2])
    )


def test_sets_of_labels():
    rows = [{"a", "b"}, {"c"}, set()]
    a, b = ours.MultiLabelBinarizer(), theirs.MultiLabelBinarizer()
    np.testing.assert_array_equal(a.fit_transform(rows), b.fit_transform(rows))
    assert a.inverse_transform(a.transform(rows)) == [("a", "b"), ("c",), ()]
    with pytest.warns(UserWarning, match="unknown class"):
        a.transform([{"z"}])


def test_dates():
    dates = ["2024-02-29T13:45:10", "1969-12-31", None]
    moments = [None if one is None else dt.datetime.fromisoformat(one) for one in dates]
    parts = ["year", "quarter", "month", "day", "weekday", "dayofyear", "hour", "minute", "second"]
    truth = [
        [d.year, (d.month + 2) // 3, d.month, d.day, d.weekday(), d.timetuple().tm_yday, d.hour, d.minute, d.second]
        for d in moments[:2]
    ]
    for table in (
        np.array([dates], dtype=object).T,
        np.array([dates], dtype="datetime64[s]").T,
        pd.DataFrame({"t": pd.to_datetime(pd.Series(moments))}),
        pl.DataFrame({"t": moments}),
    ):
        found = ours.DateFeatures(parts).fit_transform(table)
        np.testing.assert_array_equal(found[:2], truth)
        assert np.isnan(found[2]).all()
    days = ours.DateFeatures(["days_since"], origin="2024-02-28").fit_transform([["2024-02-29T12:00"]])
    assert days[0, 0] == 1.5
    circle = ours.DateFeatures(["month"], cyclic=True).fit_transform([["2024-12-01"], ["2024-06-01"]])
    np.testing.assert_allclose(np.hypot(circle[:, 0], circle[:, 1]), 1)
    with pytest.raises(ValueError, match="no date"):
        ours.DateFeatures().fit([["yesterday"]])
