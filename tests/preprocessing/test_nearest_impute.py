"""Gaps filled from the nearest rows: agreement with scikit-learn, a slow definition, and cases by hand."""

import numpy as np
import pytest
import sklearn.impute as theirs

import qed
from qed.core import CertificateError
from qed.impute import KNNImputer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 6)) * [1, 2, 3, 1, 5, 1] + 10
X[RNG.random(X.shape) < 0.2] = np.nan
HOLES = X.copy()
HOLES[:, 2] = HOLES[5] = np.nan  # a column and a row without a value
NEW = X[:40] + 0.1
OPTIONS = [
    {},
    {"weights": "distance"},
    {"weights": None},
    {"n_neighbors": 1},
    {"n_neighbors": 400},
    {"weights": lambda d: np.exp(-d)},
    {"add_indicator": True},
    {"add_indicator": True, "keep_empty_features": True, "weights": "distance"},
]


def by_definition(known, row, j, k):
    """Return the mean of the k nearest rows that have column j, with loops."""
    found = []
    for other in known:
        both = ~np.isnan(row) & ~np.isnan(other)
        if not np.isnan(other[j]) and both.any():
            found.append((len(row) / both.sum() * np.sum((row[both] - other[both]) ** 2), other[j]))
    return np.mean([value for _, value in sorted(found)[:k]])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("table", [X, HOLES], ids=["gaps", "holes"])
def test_filled_tables_are_scikit_learns(options, table):
    a, b = KNNImputer(**options).fit(table), theirs.KNNImputer(**options).fit(table)
    for rows in (table, NEW, NEW[:1], np.nan_to_num(NEW)):
        left, right = a.transform(rows), b.transform(rows)
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=1e-9)
    names = a.get_feature_names_out().tolist()
    assert len(names) == left.shape[1]
    if not a.keep_empty_features:  # scikit-learn does not name the empty columns that it keeps
        assert names == b.get_feature_names_out().tolist()
    assert qed.verify(a, table).holds
    single = KNNImputer(**options).fit(table.astype(np.float32)).transform(NEW.astype(np.float32))
    assert single.dtype == np.float32
    wide = theirs.KNNImputer(**options).fit(
        table.astype(np.float32).astype(float)
    )  # its distances of float32 are coarse
    np.testing.assert_allclose(single, wide.transform(NEW.astype(np.float32).astype(float)), rtol=1e-6)


def test_gaps_become_means_of_the_nearest_rows():
    filled = KNNImputer(n_neighbors=3).fit_transform(X)
    for i, j in np.argwhere(np.isnan(X)):
        np.testing.assert_allclose(filled[i, j], by_definition(X, X[i], j, 3), rtol=1e-12)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_a_number_may_stand_for_gaps():
    marked = np.where(np.isnan(X), -1.0, X)
    np.testing.assert_array_equal(KNNImputer(missing_values=-1).fit_transform(marked), KNNImputer().fit_transform(X))
    whole = np.array([[1, 2, -1], [3, 4, 3], [-1, 6, 5], [8, 8, 7]])
    expected = theirs.KNNImputer(missing_values=-1, n_neighbors=2).fit_transform(whole)
    np.testing.assert_array_equal(KNNImputer(missing_values=-1, n_neighbors=2).fit_transform(whole), expected)
    with pytest.raises(ValueError, match="NaN"):
        KNNImputer(missing_values=-1).fit(X)
    with pytest.raises(ValueError, match="must be NaN or a number"):
        KNNImputer(missing_values="gap").fit(X)


def test_distances_are_a_function_of_two_rows():
    def largest(a, b, *, missing_values):
        assert np.isnan(missing_values)
        apart = np.abs(a - b)
        return np.nan if np.isnan(apart).all() else np.nanmax(apart)

    options = {"metric": largest, "weights": "distance", "n_neighbors": 4}
    left, right = KNNImputer(**options).fit(HOLES[:40]), theirs.KNNImputer(**options).fit(HOLES[:40])
    np.testing.assert_allclose(left.transform(NEW[:15]), right.transform(NEW[:15]), rtol=1e-9)


def test_equal_rows_count_alone_by_distance():
    rows = np.array([[0.1, 0.7, 5.0], [0.1, 0.7, 7.0], [0.4, 0.2, 100.0], [0.1, 0.7, np.nan]])
    assert KNNImputer(weights="distance", n_neighbors=3).fit_transform(rows)[3, 2] == 6.0


@pytest.mark.parametrize(("scale", "shift"), [(1e300, 0.0), (1e-200, 0.0), (1.0, 1e8)])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_scale_and_shift_change_nothing(scale, shift, weights):
    plain = RNG.integers(-8, 9, size=(60, 4)).astype(float) + np.arange(60)[:, np.newaxis] / 1024
    plain[::3, 1] = plain[1::5, 2] = np.nan
    expected = KNNImputer(weights=weights).fit_transform(plain)
    filled = KNNImputer(weights=weights).fit_transform(plain * scale + shift)
    assert np.isfinite(filled).all()
    np.testing.assert_allclose((filled - shift) / scale, expected, atol=1e-6)


def test_copies_and_files_and_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    own = X.copy()
    model = KNNImputer().fit(own)
    expected = model.transform(own)
    np.testing.assert_array_equal(own, X)
    in_place = KNNImputer(copy=False).fit(own)
    assert in_place.transform(own) is own
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(in_place.rows_, X)
    locked = X.copy()
    locked.flags.writeable = False
    np.testing.assert_array_equal(KNNImputer(copy=False).fit(locked).transform(locked), expected)
    np.testing.assert_array_equal(model.transform(np.asfortranarray(X)), expected)
    model.save(tmp_path / "model.qed")
    np.testing.assert_array_equal(qed.load(tmp_path / "model.qed").transform(X), expected)
    frame = pandas.DataFrame(HOLES, columns=list("abcdef"))
    shown = KNNImputer(add_indicator=True).set_output(transform="pandas").fit_transform(frame)
    assert shown.columns.tolist()[:6] == ["a", "b", "d", "e", "f", "missingindicator_a"]


def test_other_rows_are_refused():
    model = KNNImputer().fit(X)
    other = X.copy()
    other[3, 3] = 1.0 if np.isnan(X[3, 3]) else np.nan
    with pytest.raises(CertificateError):
        qed.verify(model, other)
    model.rows_ = model.rows_ + 1e-9
    with pytest.raises(CertificateError):
        qed.verify(model, X)


@pytest.mark.parametrize(
    "weights", [lambda d: d[:, :1], lambda d: -d, np.zeros_like, lambda d: np.full_like(d, np.inf)]
)
def test_functions_that_give_no_weights_are_refused_in_words(weights):
    with pytest.raises(ValueError, match="weights is a function"):
        KNNImputer(weights=weights).fit_transform(X)
