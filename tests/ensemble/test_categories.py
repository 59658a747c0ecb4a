"""Columns of categories in boosting: words, types of frames, and values that the fit has not met."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor as Theirs

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

LEVELS = {"ant": 1.0, "bee": -2.0, "cat": 3.0, "dog": 0.0, "eel": 5.0}


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    words, z = rng.choice(list(LEVELS), n), rng.normal(size=n)
    return words, z, np.array([LEVELS[one] for one in words]) + z + 0.1 * rng.normal(size=n)


def frames(words, z):
    categorical = pd.DataFrame({"kind": pd.Categorical(words), "z": z})
    return {
        "pandas categories": categorical,
        "pandas words": pd.DataFrame({"kind": list(words), "z": z}),
        "polars words": pl.DataFrame({"kind": list(words), "z": z}),
        "polars categories": pl.DataFrame({"kind": list(words), "z": z}).cast({"kind": pl.Categorical}),
        "arrow": pa.table({"kind": list(words), "z": z}),
        "arrow dictionary": pa.table({"kind": pa.array(list(words)).dictionary_encode(), "z": z}),
    }


@pytest.mark.parametrize("kind", list(frames(["ant"], [0.0])))
def test_frames_of_words_give_the_model_of_their_numbers(kind):
    words, z, y = rows()
    X = frames(words, z)[kind]
    model = HistGradientBoostingRegressor(max_iter=15).fit(X, y)
    codes = np.column_stack([np.searchsorted(list(LEVELS), words), z])
    plain = HistGradientBoostingRegressor(max_iter=15, categorical_features=[0]).fit(codes, y)
    assert np.array_equal(model.predict(X), plain.predict(codes))
    assert model.is_categorical_.tolist() == [True, False]
    assert model.categories_[0].tolist() == list(LEVELS)
    assert not len(model.categories_[1])
    qed.verify(model, X, y)


def test_boosting_agrees_with_scikit_learn():
    words, z, y = rows()
    X = frames(words, z)["pandas categories"]
    ours = HistGradientBoostingRegressor(max_iter=15).fit(X, y)
    theirs = Theirs(max_iter=15).fit(X, y)
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-5)  # its gradients are of single precision


def test_unknown_and_missing_categories_go_the_same_way():
    words, z, y = rows()
    model = HistGradientBoostingRegressor(max_iter=10).fit(pd.DataFrame({"kind": words, "z": z}), y)
    strange = pd.DataFrame({"kind": ["yak", None, np.nan], "z": [0.5] * 3})
    assert len(set(model.predict(strange).tolist())) == 1


@pytest.mark.parametrize("given", [["kind"], [0], [True, False]])
def test_named_columns_of_objects_and_numbers_of_any_kind(given):
    words, z, y = rows()
    X = pd.DataFrame({"kind": words, "z": z})
    by_type = HistGradientBoostingRegressor(max_iter=10).fit(X, y).predict(X)
    assert np.array_equal(
        HistGradientBoostingRegressor(max_iter=10, categorical_features=given).fit(X, y).predict(X), by_type
    )
    numbers = -1000.0 * np.searchsorted(list(LEVELS), words)[::-1] + 0.5  # no whole numbers
    table = np.column_stack([numbers[::-1], z])
    model = HistGradientBoostingRegressor(max_iter=10, categorical_features=[0]).fit(table, y)
    assert np.allclose(model.predict(table), by_type, rtol=1e-9)
    qed.verify(model, table, y)
    objects = np.array(list(zip(words, z, strict=True)), dtype=object)
    model = HistGradientBoostingRegressor(max_iter=10, categorical_features=[0]).fit(objects, y)
    assert np.array_equal(model.predict(objects), by_type)


def test_model_files_hold_the_categories_and_changes_are_refused(tmp_path):
    words, z, y = rows()
    X = pd.DataFrame({"kind": words, "z": z})
    y = np.where(y > 1, "high", "low")
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    model.save(tmp_path / "model.qed")
    loaded = qed.load(tmp_path / "model.qed")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    qed.verify(loaded, X, y)
    for change in (lambda m: m.categories_[0].__setitem__(0, "axe"), lambda m: m.__dict__.pop("categories_")):
        other = qed.load(tmp_path / "model.qed")
        change(other)
        with pytest.raises((CertificateError, InvalidData)):
            qed.verify(other, X, y)
    other = qed.load(tmp_path / "model.qed")
    other.categories_[0] = other.categories_[0][::-1].copy()
    with pytest.raises(CertificateError):
        qed.verify(other, X, y)


def test_too_many_categories_and_names_that_are_not_there():
    words, z, y = rows()
    X = pd.DataFrame({"kind": words, "z": z})
    with pytest.raises(InvalidData, match="5 categories, more than max_bins=4"):
        HistGradientBoostingRegressor(max_bins=4).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"\['colour'\], which X does not have"):
        HistGradientBoostingRegressor(categorical_features=["colour"]).fit(X, y)
    with pytest.raises(InvalidData, match="String"):
        HistGradientBoostingRegressor(categorical_features=None).fit(X, y)


def test_a_refit_on_numbers_forgets_the_categories():
    words, z, y = rows()
    model = HistGradientBoostingRegressor(max_iter=5).fit(pd.DataFrame({"kind": words, "z": z}), y)
    model.fit(pd.DataFrame({"kind": z, "z": z}), y)
    assert "categories_" not in vars(model)
    assert model.is_categorical_ is None


def test_a_column_without_any_category_is_missing_throughout():
    _, z, y = rows()
    X = pl.DataFrame({"kind": pl.Series([None] * len(z), dtype=pl.String), "z": z})
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    qed.verify(model, X, y)
    assert np.isfinite(model.predict(X.with_columns(kind=pl.lit("ant")))).all()
