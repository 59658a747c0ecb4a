"""Trees whose predictions may only rise or fall in some columns: those of scikit-learn, and never against the direction."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sklearn.tree as theirs

import qed
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

rng = np.random.default_rng(8)
X = rng.standard_normal((300, 4)).astype(np.float32).astype(np.float64)
SCORE = X[:, 0] - X[:, 1] + np.sin(3 * X[:, 2]) + 0.7 * rng.standard_normal(300)
WEIGHTS = rng.integers(2**19, 2**21, 300) / 2**20
DIRECTIONS = [1, -1, 0, 1]

CASES = [
    (DecisionTreeRegressor, theirs.DecisionTreeRegressor, {}, SCORE),
    (DecisionTreeRegressor, theirs.DecisionTreeRegressor, {"criterion": "poisson"}, np.exp(SCORE)),
    (DecisionTreeClassifier, theirs.DecisionTreeClassifier, {}, SCORE > 0),
    (DecisionTreeClassifier, theirs.DecisionTreeClassifier, {"criterion": "entropy"}, SCORE > 0),
]


def assert_monotone(model, directions):
    def predict(rows):
        return model.predict_proba(rows)[:, 1] if isinstance(model, DecisionTreeClassifier) else model.predict(rows)

    for j, direction in enumerate(directions):
        rows = rng.standard_normal((50, 1, 4)).repeat(40, axis=1)
        rows[:, :, j] = np.linspace(-3, 3, 40)
        steps = np.diff(predict(rows.reshape(-1, 4)).reshape(50, 40), axis=1)
        if direction:
            assert (steps * direction >= -1e-12).all()


@pytest.mark.parametrize(("ours", "other", "params", "y"), CASES)
def test_trees_are_those_of_scikit_learn(ours, other, params, y):
    params = {"min_samples_leaf": 5, "monotonic_cst": DIRECTIONS, **params}
    model = ours(**params).fit(X, y, WEIGHTS)
    reference = other(random_state=0, **params).fit(X, y, WEIGHTS)
    for name in ("children_left", "feature", "threshold", "impurity", "n_node_samples"):
        np.testing.assert_allclose(getattr(model.tree_, name), getattr(reference.tree_, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.tree_.value, reference.tree_.value, rtol=1e-9, atol=1e-12)
    free = ours(**{**params, "monotonic_cst": None}).fit(X, y, WEIGHTS)
    assert free.certificate_.objective < model.certificate_.objective  # limits cost something
    assert qed.verify(model, X, y, WEIGHTS).holds


def kinds():
    for more in ({}, {"max_depth": 1}, {"max_depth": 2}, {"max_leaf_nodes": 9}, {"ccp_alpha": 0.005}):
        yield DecisionTreeRegressor(monotonic_cst=DIRECTIONS, **more), SCORE
        yield DecisionTreeClassifier(monotonic_cst=DIRECTIONS, **more), SCORE > 0.5
    yield DecisionTreeClassifier(criterion="misclassification", monotonic_cst=DIRECTIONS), SCORE > 0
    yield ExtraTreeRegressor(monotonic_cst=DIRECTIONS, random_state=0), SCORE
    yield ExtraTreeClassifier(monotonic_cst=DIRECTIONS, random_state=0), SCORE > 0
    yield DecisionTreeRegressor(monotonic_cst=DIRECTIONS, max_features=2, random_state=0), SCORE


def test_predictions_never_move_against_a_direction():
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan
    for table in (X, gaps):
        for model, y in kinds():
            for s in (None, 10.0 ** rng.uniform(-4, 4, 300)):
                model.fit(table, y, s)
                assert_monotone(model, DIRECTIONS)
                assert qed.verify(model, table, y, s).holds


def test_noise_against_the_direction_is_one_leaf():
    falling = -np.arange(20.0)
    model = DecisionTreeRegressor(monotonic_cst=[1]).fit(np.arange(20.0)[:, None], falling)
    assert model.get_n_leaves() == 1
    assert DecisionTreeRegressor(monotonic_cst=[-1]).fit(np.arange(20.0)[:, None], falling).get_n_leaves() == 20


def test_changed_models_are_refused():
    model = DecisionTreeRegressor(monotonic_cst=DIRECTIONS, max_depth=4).fit(X, SCORE)
    free = DecisionTreeRegressor(max_depth=4).fit(X, SCORE)
    tree, certificate = model.tree_, model.certificate_
    model.tree_, model.certificate_ = free.tree_, free.certificate_
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, SCORE)
    model.tree_, model.certificate_ = tree, dataclasses.replace(certificate, lower=certificate.objective, depth=1)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, SCORE)
    model.certificate_ = certificate
    model.monotonic_cst = None
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, SCORE)
    model.monotonic_cst = [-direction for direction in DIRECTIONS]
    with pytest.raises(qed.CertificateError, match="against the direction"):
        qed.verify(model, X, SCORE)


def test_what_is_not_supported_says_so():
    pandas = pytest.importorskip("pandas")
    for model, y, words in (
        (DecisionTreeClassifier(monotonic_cst=DIRECTIONS), np.digitize(SCORE, [-1, 1]), "multiclass"),
        (DecisionTreeRegressor(monotonic_cst=DIRECTIONS), np.column_stack([SCORE, SCORE]), "several targets"),
        (DecisionTreeRegressor(monotonic_cst=DIRECTIONS, criterion="absolute_error"), SCORE, "absolute_error"),
        (DecisionTreeRegressor(monotonic_cst=[1]), SCORE, "for each of the 4 columns"),
        (DecisionTreeRegressor(monotonic_cst=[1, 2, 0, 0]), SCORE, "-1, 0 or 1"),
        (DecisionTreeRegressor(monotonic_cst={"a": 1}), SCORE, "has no names"),
    ):
        with pytest.raises(qed.InvalidParameter, match=words):
            model.fit(X, y)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    named = DecisionTreeRegressor(max_depth=3, monotonic_cst={"a": 1, "b": -1, "d": 1}).fit(frame, SCORE)
    listed = DecisionTreeRegressor(max_depth=3, monotonic_cst=DIRECTIONS).fit(frame, SCORE)
    np.testing.assert_array_equal(named.tree_.threshold, listed.tree_.threshold)
    assert qed.verify(named, frame, SCORE).holds
