"""Histogram boosting on sources: the trees of the same rows in memory, wherever the parts are, and whatever is lost on the way."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed.core import clone
from qed.core._errors import CertificateError, InvalidData, InvalidParameter
from qed.data import _resident
from qed.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, _boost_source
from qed.verify import _boosting

N = 1500
NAMES = list("abcd")


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, 7, n)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n)
    X[rng.random((n, 4)) < 0.05] = np.nan
    X[:, 1] = np.where(np.isnan(X[:, 1]), 3.0, X[:, 1])
    frame = pd.DataFrame(X, columns=NAMES).assign(
        y=y, positive=np.exp(y), label=pd.cut(y, [-99, -0.5, 0.5, 99], labels=False), side=(y > 0).astype(int)
    )
    return frame.assign(whole=rng.integers(0, 3, n), weight=np.where(rng.random(n) < 0.1, 0.0, rng.random(n)))


FRAME = table()


def source(target, cuts=(400, 400, 401, 900), weight=None, frame=FRAME, **kwargs):
    edges = [0, *sorted(cuts), len(frame)]
    return qed.scan([frame[a:b] for a, b in pairwise(edges)], target=target, features=NAMES, weight=weight, **kwargs)


def assert_same_trees(one, other):
    """Splits are those of whole numbers, equal to the bit; values are sums of floats, cut in other places."""
    for name in ("sizes", "feature", "threshold", "missing_left", "weight", "by_set", "sets"):
        np.testing.assert_array_equal(getattr(one.trees_, name), getattr(other.trees_, name))
    np.testing.assert_allclose(one.trees_.value, other.trees_.value, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(one.certificate_.losses, other.certificate_.losses, rtol=1e-12)
    np.testing.assert_allclose(one.validation_score_, other.validation_score_, rtol=1e-10)


MODELS = {
    "squares": (HistGradientBoostingRegressor(), "y", None),
    "early stopping": (HistGradientBoostingRegressor(early_stopping=True, n_iter_no_change=3), "y", None),
    "medians": (HistGradientBoostingRegressor(loss="absolute_error"), "y", None),
    "quantile": (HistGradientBoostingRegressor(loss="quantile", quantile=0.8), "y", None),
    "huber": (HistGradientBoostingRegressor(loss="huber"), "y", None),
    "gamma": (HistGradientBoostingRegressor(loss="gamma"), "positive", None),
    "poisson": (HistGradientBoostingRegressor(loss="poisson"), "positive", "weight"),
    "repetitions": (HistGradientBoostingRegressor(), "y", "whole"),
    "weights": (HistGradientBoostingRegressor(max_bins=31), "y", "weight"),
    "directions": (HistGradientBoostingRegressor(monotonic_cst=[1, 0, -1, 0]), "y", None),
    "interactions": (HistGradientBoostingRegressor(interaction_cst="no_interactions"), "y", None),
    "categories": (HistGradientBoostingRegressor(categorical_features=[1]), "y", None),
    "drawn columns": (HistGradientBoostingRegressor(max_features=0.5, max_leaf_nodes=None, max_depth=4), "y", None),
    "two labels": (HistGradientBoostingClassifier(), "side", "weight"),
    "three labels": (HistGradientBoostingClassifier(class_weight="balanced", early_stopping=True), "label", None),
    "exponential": (HistGradientBoostingClassifier(loss="exponential"), "side", None),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_trees_are_those_of_rows_in_memory(name):
    model, target, weight = MODELS[name]
    model = model.set_params(random_state=0, max_iter=8)
    rows = source(target, weight=weight)
    folded = type(model)(**model.get_params()).fit(rows)
    s = None if weight is None else FRAME[weight]
    assert_same_trees(folded, model.fit(FRAME[NAMES], FRAME[target], s))
    assert qed.verify(folded, rows)


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=5), batch_rows=st.sampled_from([None, 1, 7, 100]))
def test_one_chunk_is_many_chunks(cuts, batch_rows):
    frame = table(1, 300)
    model = HistGradientBoostingRegressor(max_iter=3, random_state=1)
    one = HistGradientBoostingRegressor(max_iter=3, random_state=1).fit(frame[NAMES], frame["y"])
    assert_same_trees(model.fit(source("y", cuts, frame=frame, batch_rows=batch_rows)), one)


def test_files_are_deleted_after_a_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def watch(event):
        seen.append(len(list(tmp_path.rglob("*.arrays"))))

    with qed.listen(watch):
        HistGradientBoostingRegressor(max_iter=2).fit(source("y"))
    assert max(seen) == 4  # a partition of no rows is no part
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidData, match="no longer finite"):
        HistGradientBoostingRegressor(max_iter=50, learning_rate=1e300).fit(source("y"))
    assert not list(tmp_path.iterdir())


class Forgetful:
    """An executor whose process loses the states of parts now and then, as when a worker dies."""

    def __init__(self):
        self.calls = 0

    def map(self, function, items):
        self.calls += 1
        if self.calls % 7 == 0:
            for fit in _resident._fits.values():
                for number in list(fit.states)[self.calls % 2 :: 2]:
                    del fit.states[number]
        return [function(item) for item in items]


def test_states_that_are_lost_are_computed_again():
    rows = source("label", weight="weight")
    model = HistGradientBoostingClassifier(max_iter=4, random_state=0, early_stopping=True)
    whole = HistGradientBoostingClassifier(max_iter=4, random_state=0, early_stopping=True).fit(rows)
    forgetful = Forgetful()
    with qed.executor(forgetful):
        model.fit(rows)
    assert forgetful.calls > 50
    np.testing.assert_array_equal(model.trees_.value, whole.trees_.value)
    np.testing.assert_array_equal(model.certificate_.losses, whole.certificate_.losses)


def test_many_rows_are_cut_by_a_sample(monkeypatch):
    monkeypatch.setattr(_boost_source, "SAMPLE_BYTES", 0)
    monkeypatch.setattr(_boost_source, "SAMPLE_ROWS", 700)
    monkeypatch.setattr(_boosting, "BYTES_OF_CUTS", 0)
    monkeypatch.setattr(_boosting, "LEAST_ROWS_OF_CUTS", 700)
    rows = source("y")
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0, early_stopping=False).fit(rows)
    whole = HistGradientBoostingRegressor(max_iter=20, random_state=0, early_stopping=False).fit(FRAME[NAMES], FRAME.y)
    assert not np.array_equal(model.trees_.threshold, whole.trees_.threshold)
    assert "not compared" in str(qed.verify(model, rows))  # but thresholds lie between neighbours of all rows
    assert model.certificate_.losses[-1] < 1.1 * whole.certificate_.losses[-1]


def test_rows_for_early_stopping_come_from_elsewhere():
    one = HistGradientBoostingRegressor(max_iter=8, random_state=0, early_stopping=True)
    other = HistGradientBoostingRegressor(max_iter=8, random_state=0, early_stopping=True)
    held = table(5, 200)
    one.fit(source("y"), X_val=held[NAMES], y_val=held["y"])
    other.fit(FRAME[NAMES], FRAME["y"], X_val=held[NAMES], y_val=held["y"])
    assert_same_trees(one, other)


def test_answers_of_a_source_are_those_of_its_rows():
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(source("label"))
    np.testing.assert_array_equal(model.predict_proba(source("label")), model.predict_proba(FRAME[NAMES]))
    assert model.score(source("label")) == model.score(FRAME[NAMES], FRAME["label"])


def test_threads_change_nothing():
    before, found = qed.get_num_threads(), []
    for threads in (1, 2, 3, 8, 64):
        qed.set_num_threads(threads)
        try:
            found.append(HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(source("y", weight="weight")))
        finally:
            qed.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].trees_.value, other.trees_.value)
        np.testing.assert_array_equal(found[0].trees_.threshold, other.trees_.threshold)


def test_a_changed_model_is_refused():
    rows = source("y")
    model = HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(rows)
    value = model.trees_.value.copy()
    value[5] *= 1 + 1e-5
    object.__setattr__(model.trees_, "value", value)
    with pytest.raises(CertificateError, match="leaf"):
        qed.verify(model, rows)


def test_wrong_input_is_named():
    frame = FRAME.copy()
    frame.loc[3, "b"] = np.inf
    with pytest.raises(InvalidData, match=r"'b'"):
        HistGradientBoostingRegressor(max_iter=2).fit(source("y", frame=frame))
    frame.loc[3, "b"] = 2.5
    with pytest.raises(InvalidData, match=r"Categorical column 'b' holds 2.5.*OrdinalEncoder"):
        HistGradientBoostingRegressor(max_iter=2, categorical_features=[1]).fit(source("y", frame=frame))
    frame.loc[3, "y"] = np.nan
    with pytest.raises(InvalidData, match=r"NaN|no value"):
        HistGradientBoostingRegressor(max_iter=2).fit(source("y", frame=frame))
    model = HistGradientBoostingRegressor(max_iter=3, warm_start=True, random_state=0).fit(source("y"))
    with pytest.raises(InvalidParameter, match="max_iter=2 must be larger than or equal to n_iter_=3"):
        model.set_params(max_iter=2).fit(source("y"))


@pytest.mark.parametrize("name", ["squares", "early stopping", "medians", "weights", "categories", "three labels"])
@pytest.mark.parametrize("where", ["memory", "source"])
def test_a_fit_goes_on_from_an_earlier_one(name, where):
    kind, target, weight = MODELS[name]
    rows = source(target, weight=weight)
    begun, whole = clone(kind), clone(kind).set_params(max_iter=7, random_state=0).fit(rows)
    begun.set_params(max_iter=4, random_state=0, warm_start=True)
    if where == "memory":
        begun.fit(FRAME[NAMES], FRAME[target], sample_weight=None if weight is None else FRAME[weight])
    else:
        begun.fit(rows)
    assert begun.n_iter_ == 4
    begun.set_params(max_iter=7).fit(rows)
    assert_same_trees(begun, whole)
    assert qed.verify(begun, rows).holds


def test_an_earlier_fit_goes_on_when_states_are_lost():
    rows = source("label")
    plain, lost = (
        HistGradientBoostingClassifier(max_iter=3, random_state=0, warm_start=True, early_stopping=True).fit(rows)
        for _ in range(2)
    )
    plain.set_params(max_iter=5).fit(rows)
    with qed.executor(Forgetful()):
        lost.set_params(max_iter=5).fit(rows)
    np.testing.assert_array_equal(plain.trees_.value, lost.trees_.value)
    np.testing.assert_array_equal(plain.certificate_.losses, lost.certificate_.losses)


def test_arrays_of_a_file_keep_what_is_written(tmp_path):
    file = _resident.ArrayFile(
        Path(tmp_path), {"a": ((3,), np.uint8), "b": ((2, 2), np.float64), "none": ((0,), np.int64)}
    )
    with file.mapped() as held:
        held["a"][:], held["b"][:] = 7, [[1, 2], [3, 4]]
        assert held["b"].ctypes.data % _resident.ALIGNED == 0
    with file.mapped() as held:
        assert held["a"].tolist() == [7, 7, 7]
        assert held["b"].tolist() == [[1, 2], [3, 4]]
        assert held["none"].size == 0
