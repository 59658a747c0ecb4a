"""The bundled classical tables: the same numbers as where they come from, described, with their terms."""

from importlib.resources import files

import numpy as np
import pytest
import sklearn.datasets

from qed import datasets, study
from qed.core import InvalidParameter
from qed.model_selection import StratifiedKFold, cross_val_score
from qed.neighbors import KNeighborsClassifier

NAMES = ["breast_cancer", "diabetes", "digits", "iris", "wine"]


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_are_those_of_scikit_learn(name):
    ours, theirs = getattr(datasets, f"load_{name}")(), getattr(sklearn.datasets, f"load_{name}")()
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.target, theirs.target)
    assert list(ours.feature_names) == list(theirs.feature_names)
    if name != "diabetes":
        assert list(ours.target_names) == list(theirs.target_names)
    assert ours.target_name in ours.DESCR
    assert "Terms:" in ours.DESCR


def test_the_options_do_what_they_say():
    few = datasets.load_digits(n_class=3)
    assert set(few.target) == {0, 1, 2}
    np.testing.assert_array_equal(few.images[5].ravel(), few.data[5])
    raw = datasets.load_diabetes(scaled=False)
    np.testing.assert_allclose(raw.data, sklearn.datasets.load_diabetes(scaled=False).data)
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    assert list(X.columns) == list(datasets.load_iris().feature_names)
    assert y.name == "target"  # as in scikit-learn
    assert datasets.load_wine(as_frame=True).frame["target"].tolist() == datasets.load_wine().target.tolist()
    for mistake in (0, 11, 2.5):
        with pytest.raises(InvalidParameter, match="from 1 to 10"):
            datasets.load_digits(n_class=mistake)
    with pytest.raises(InvalidParameter, match="There are breast_cancer, diabetes"):
        datasets.load_table("titanic")


def test_the_weather_has_dates_numbers_and_rare_classes():
    weather = datasets.load_weather()
    assert weather.data.shape == (1461, 5)
    assert weather.data[-1, 0] == 1460
    words, counts = np.unique(weather.target, return_counts=True)
    assert dict(zip(words.tolist(), counts.tolist(), strict=True)) == {
        "drizzle": 54,
        "fog": 411,
        "rain": 259,
        "snow": 23,
        "sun": 714,
    }
    frame = datasets.load_weather(as_frame=True).frame
    assert frame["date"].dt.year.tolist()[::365] == [2012, 2012, 2013, 2014, 2015]
    assert "public domain" in weather.DESCR


def test_a_table_of_words_is_what_a_study_takes():
    found = study.fit(datasets.load_table("iris"), "species", budget=1)
    assert found.held_out.scores["accuracy"].value > 0.85
    assert [column.unit for column in found.schema.columns] == ["cm"] * 4


def test_every_table_has_its_terms():
    folder = files("qed.datasets").joinpath("_tables")
    terms = folder.joinpath("LICENSE.md").read_text(encoding="utf-8")
    for file in folder.iterdir():
        assert file.name == "LICENSE.md" or f"**{file.name}**" in terms


@pytest.mark.covers("DAT-20")
def test_handwritten_digits():
    digits = datasets.load_digits()
    assert digits.data.shape == (1797, 64)
    assert (digits.data.min(), digits.data.max()) == (0, 16)
    np.testing.assert_array_equal(digits.data, np.round(digits.data))
    assert sorted(np.unique(digits.target)) == list(range(10))
    np.testing.assert_array_equal(digits.images.reshape(1797, 64), digits.data)
    assert "Alpaydin" in digits.DESCR
    assert "CC BY 4.0" in digits.DESCR
    X, y = datasets.load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(KNeighborsClassifier(3), X, y, cv=folds).mean() > 0.98
