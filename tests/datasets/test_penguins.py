"""The bundled table: complete, documented, and the numbers its authors published."""

import csv
from importlib.resources import files

import numpy as np
import pytest

from qed.datasets import Dataset, load_penguins


def test_shape_names_and_values():
    penguins = load_penguins()
    assert isinstance(penguins, Dataset)
    assert penguins.data.shape == (333, 6)
    assert penguins.data.dtype == np.float64
    assert np.isfinite(penguins.data).all()
    assert np.isfinite(penguins.target).all()
    assert len(penguins.feature_names) == 6
    np.testing.assert_array_equal(penguins.data[0], [39.1, 18.7, 181, 1, 0, 0])
    assert penguins.target[0] == 3750


def test_counts_of_the_published_table():
    X, _ = load_penguins(return_X_y=True)
    male, chinstrap, gentoo = X[:, 3].sum(), X[:, 4].sum(), X[:, 5].sum()
    assert (male, chinstrap, gentoo) == (168, 68, 119)
    table = files("qed.datasets").joinpath("_tables/penguins.csv")
    with table.open(encoding="utf-8") as lines:
        assert sum(1 for _ in csv.DictReader(lines)) == 344


def test_every_column_is_described():
    penguins = load_penguins()
    for name in (*penguins.feature_names, penguins.target_name, "CC0", "Gorman"):
        assert name in penguins.DESCR


def test_terms_travel_with_the_table():
    text = files("qed.datasets").joinpath("_tables/LICENSE.md").read_text(encoding="utf-8")
    assert "CC0" in text
    assert "10.1371/journal.pone.0090081" in text


def test_frames():
    pandas = pytest.importorskip("pandas")
    X, y = load_penguins(return_X_y=True, as_frame=True)
    assert isinstance(X, pandas.DataFrame)
    assert isinstance(y, pandas.Series)
    whole = load_penguins(as_frame=True)
    assert list(whole.frame.columns) == [*whole.feature_names, whole.target_name]
    np.testing.assert_array_equal(whole.frame.to_numpy()[:, :-1], load_penguins().data)
    assert load_penguins().frame is None


def test_record_reads_like_a_bunch_and_does_not_change():
    penguins = load_penguins()
    assert penguins["data"] is penguins.data
    assert set(dict(**penguins)) == set(penguins.keys())
    with pytest.raises(KeyError, match="feature_names"):
        penguins["colour"]
    with pytest.raises(AttributeError):
        penguins.data = None
