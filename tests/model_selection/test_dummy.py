"""Baselines that do not look at the columns."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.dummy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import qed
from qed.core import InvalidData, InvalidParameter
from qed.metrics import accuracy_score, zero_one_loss
from qed.model_selection import DummyClassifier, DummyRegressor

LABELS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


def some_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(40, 2)), rng.integers(0, 3, 40), rng.normal(size=40), rng.integers(0, 4, 40).astype(float)


@pytest.mark.covers("FND-27")
@given(truth=LABELS, seed=st.integers(0, 99))
def test_accuracy_is_the_mean_indicator_and_the_error_the_rest(truth, seed):
    told = np.random.default_rng(seed).integers(0, 4, len(truth))
    accuracy = accuracy_score(truth, told)
    assert accuracy == pytest.approx(np.mean([a == b for a, b in zip(truth, told, strict=True)]), abs=1e-15)
    assert zero_one_loss(truth, told) == pytest.approx(1 - accuracy, abs=1e-15)


@pytest.mark.covers("FND-28")
def test_a_constant_does_not_depend_on_the_rows():
    X, y, _, _ = some_data()
    model = DummyClassifier(strategy="constant", constant=2).fit(X, y)
    for rows in (X, X * 1e300, np.zeros((3, 2))):
        assert_array_equal(model.predict(rows), np.full(len(rows), 2))
    assert_array_equal(model.predict_proba(X[:1]), [[0.0, 0.0, 1.0]])


@pytest.mark.covers("FND-30")
@given(labels=LABELS)
def test_the_majority_is_right_as_often_as_it_occurs(labels):
    model = DummyClassifier(strategy="most_frequent").fit(np.zeros((len(labels), 1)), labels)
    counts = np.bincount(labels)
    assert model.score(None, labels) == pytest.approx(counts.max() / len(labels), abs=1e-15)
    assert model.predict(np.zeros((1, 1)))[0] == counts.argmax()  # of equally frequent ones the first


@pytest.mark.parametrize("strategy", ["most_frequent", "prior", "uniform", "stratified"])
def test_shares_agree_with_scikit_learn(strategy):
    X, y, _, s = some_data()
    ours = DummyClassifier(strategy=strategy, random_state=0).fit(X, y, s)
    theirs = sklearn.dummy.DummyClassifier(strategy=strategy, random_state=0).fit(X, y, s)
    assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-14)
    if strategy != "stratified":  # draws differ
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-14)
    assert_array_equal(ours.predict(X), ours.predict(X))


def test_draws_follow_the_shares():
    y = np.repeat([0, 1], [1000, 9000])
    told = (
        DummyClassifier(strategy="stratified", random_state=1)
        .fit(np.zeros((10000, 1)), y)
        .predict(np.zeros((10000, 1)))
    )
    assert abs(np.mean(told) - 0.9) < 0.02  # over six standard deviations
    even = (
        DummyClassifier(strategy="uniform", random_state=1).fit(np.zeros((10000, 1)), y).predict(np.zeros((10000, 1)))
    )
    assert abs(np.mean(even) - 0.5) < 0.04


@pytest.mark.parametrize(
    "options",
    [{}, {"strategy": "median"}, {"strategy": "quantile", "quantile": 0.3}, {"strategy": "constant", "constant": 2.0}],
)
def test_constants_agree_with_scikit_learn(options):
    X, _, y, s = some_data()
    ours, theirs = DummyRegressor(**options).fit(X, y, s), sklearn.dummy.DummyRegressor(**options).fit(X, y, s)
    assert_allclose(ours.constant_, theirs.constant_, rtol=1e-14)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-14)


@given(
    values=st.lists(st.integers(-5, 5), min_size=1, max_size=9), level=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0])
)
def test_no_number_has_a_smaller_pinball_loss(values, level):
    y = np.array(values, dtype=float)
    found = DummyRegressor(strategy="quantile", quantile=level).fit(np.zeros((len(y), 1)), y).constant_[0, 0]

    def loss(c):
        return np.mean(np.maximum(level * (y - c), (level - 1) * (y - c)))

    assert loss(found) <= min(loss(c) for c in y) + 1e-12


def test_weights_are_repetitions():
    X, y, z, s = some_data()
    again = np.repeat(np.arange(len(y)), s.astype(int))
    for options in ({}, {"strategy": "median"}, {"strategy": "quantile", "quantile": 0.25}):
        assert_allclose(
            DummyRegressor(**options).fit(X, z, s).constant_,
            DummyRegressor(**options).fit(X[again], z[again]).constant_,
        )
    assert_allclose(DummyClassifier().fit(X, y, s).class_prior_, DummyClassifier().fit(X[again], y[again]).class_prior_)


def test_rows_may_be_anything():
    rows = [["a", None], ["b", 3], ["c", np.nan]]
    assert DummyClassifier().fit(rows, ["x", "y", "y"]).predict(rows).tolist() == ["y"] * 3
    assert DummyRegressor().fit(rows, [1.0, 2.0, 3.0]).predict(rows).tolist() == [2.0] * 3


def test_several_targets():
    X, _, y, _ = some_data()
    model = DummyRegressor().fit(X, np.column_stack([y, 2 * y]))
    assert_allclose(model.predict(X[:2]), [[y.mean(), 2 * y.mean()]] * 2)


def test_a_changed_model_is_refused():
    X, y, z, s = some_data()
    model = DummyClassifier().fit(X, y, s)
    assert qed.verify(model, X, y, s).holds
    model.class_prior_ = model.class_prior_[::-1].copy()
    with pytest.raises(qed.CertificateError, match="share"):
        qed.verify(model, X, y, s)
    for options in ({}, {"strategy": "median"}, {"strategy": "quantile", "quantile": 0.8}):
        regressor = DummyRegressor(**options).fit(X, z, s)
        assert qed.verify(regressor, X, z, s).holds
        regressor.constant_ = regressor.constant_ + 0.2
        with pytest.raises(qed.CertificateError):
            qed.verify(regressor, X, z, s)


def test_what_is_refused():
    X, y, z, _ = some_data()
    with pytest.raises(qed.InvalidParameter, match="constant must be one of the labels"):
        DummyClassifier(strategy="constant", constant=7).fit(X, y)
    with pytest.raises(qed.InvalidParameter, match="constant must be a number"):
        DummyRegressor(strategy="constant").fit(X, z)
    with pytest.raises(qed.InvalidParameter, match="quantile must be"):
        DummyRegressor(strategy="quantile").fit(X, z)
    with pytest.raises(qed.InvalidData, match="inconsistent"):
        DummyClassifier().fit(X[:5], y)
    with pytest.raises(qed.InvalidData, match="0 sample"):
        DummyRegressor().fit(X[:0], z[:0])


def test_shares_of_a_stream_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    labels, weights = np.array(["a", "b", "c"])[rng.integers(0, 3, 50)], rng.integers(1, 3, 50)
    rows = np.zeros((50, 2))
    stream = DummyClassifier()
    for part in np.array_split(np.arange(50), 9):
        stream.partial_fit(rows[part], labels[part], classes=["a", "b", "c"], sample_weight=weights[part])
    whole = DummyClassifier().fit(rows, labels, weights)
    np.testing.assert_array_equal(stream.class_prior_, whole.class_prior_)
    assert qed.verify(stream, rows, labels, weights).holds
    assert stream.certificate_.rows == 50
    np.testing.assert_array_equal(
        whole.partial_fit(rows, labels, sample_weight=weights).class_prior_, stream.class_prior_
    )
    with pytest.raises(InvalidData, match="was not among the classes"):
        stream.partial_fit(rows[:1], ["d"])
    with pytest.raises(InvalidParameter, match="not the same"):
        stream.partial_fit(rows[:1], ["a"], classes=["a", "b"])
    with pytest.raises(InvalidParameter, match="must be passed"):
        DummyClassifier().partial_fit(rows, labels)
