"""How a prediction moves: what is set to what, on a model that says exactly what it knows of a moment."""

import numpy as np

from qed.study._effects import effects
from qed.study._schema import ColumnSchema, TargetSchema, words_array


class Calendar:
    """Six classes: one is likelier on weekends, one in the evening, one over the years, two never."""

    classes_ = np.arange(6)

    def predict_proba(self, X):
        raw = np.zeros((len(X), 6))
        raw[:, 0] = 2
        raw[:, 3] = 1 + (X[:, 0] - 19_000) / 400
        raw[:, 4] = X[:, 0] % 1 >= 0.75
        raw[:, 5] = np.floor(X[:, 0] + 3) % 7 >= 5
        return raw / raw.sum(axis=1, keepdims=True)


def dated(moments):
    column = ColumnSchema("when", "date", "", "", words_array([]), 0.0, 300, "")
    target = TargetSchema("t", "multiclass", "", "", words_array(list("abcdef")), False)
    return effects(Calendar(), moments[:, np.newaxis], [column], target, ["when"], 0)


def test_dates_come_apart_into_time_days_of_the_week_and_hours():
    found = dated(np.random.default_rng(0).uniform(19_000, 19_400, 500))
    assert [one.part for one in found] == ["time", "weekday", "hour"]
    assert all(one.classes == (0, 3, 4, 5) for one in found)  # the other two are never predicted
    time, weekday, hour = (one.answers for one in found)
    assert found[1].labels[5:] == ("Saturday", "Sunday")
    assert np.all(weekday[5:, 3] > 0.1)
    assert np.all(weekday[:5, 3] == 0)
    assert np.all(hour[18:, 2] > 0.1)
    assert np.all(hour[:18, 2] == 0)
    assert np.all(
        np.diff(time[:, 1]) >= 0
    )  # moved by whole weeks, days of the week and hours stay: the trend alone is left
    assert time[-1, 1] > time[0, 1] + 0.1


def test_dates_without_hours_have_no_figure_of_hours_and_gaps_are_filled():
    days = np.floor(np.random.default_rng(1).uniform(19_000, 19_400, 500))
    days[::7] = np.nan
    found = dated(days)
    assert [one.part for one in found] == ["time", "weekday"]
    assert all(np.isfinite(one.answers).all() for one in found)
