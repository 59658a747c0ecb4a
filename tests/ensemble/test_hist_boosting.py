"""Histogram boosting: agreement with scikit-learn and slow references, laws, certificates, and changed models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import qed
from qed.compose import make_pipeline as qed_pipeline
from qed.core import CertificateError, InvalidData, InvalidParameter, ModelFileError, clone
from qed.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.ensemble._boost_losses import BoostLoss
from qed.preprocessing import StandardScaler


def table(n: int = 500, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 3] = np.round(X[:, 3], 1)
    X[:, 5] = rng.integers(0, 12, n)
    X[rng.random(X.shape) < 0.05] = np.nan
    f = np.nan_to_num(X)
    return X, f[:, 0] + f[:, 1] * f[:, 2] + f[:, 5] % 3 + 0.5 * rng.normal(size=n)


LOSSES = [
    "squared_error",
    "absolute_error",
    "quantile",
    "huber",
    "poisson",
    "gamma",
    "log_loss",
    "exponential",
    "softmax",
]


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_and_curvatures_are_derivatives(name: str) -> None:
    rng = np.random.default_rng(0)
    k = 3 if name == "softmax" else 1
    t = rng.normal(size=(40, k))
    y = {
        "softmax": rng.integers(0, 3, 40),
        "log_loss": rng.choice([-1, 1], 40),
        "exponential": rng.choice([-1, 1], 40),
    }.get(name, np.abs(rng.normal(size=40)) + 0.1)
    y = np.ascontiguousarray(y, dtype=np.float64)
    loss = BoostLoss(name, 0.5 if name == "absolute_error" else 0.3)
    _, slope, curvature = loss.curve(t, y)
    step = 1e-6
    for c in range(k):
        move = np.zeros((1, k))
        move[0, c] = step
        up, down = loss.curve(np.ascontiguousarray(t + move), y), loss.curve(np.ascontiguousarray(t - move), y)
        np.testing.assert_allclose((up[0] - down[0]) / (2 * step), slope[:, c], atol=1e-6)
        if name not in ("absolute_error", "quantile", "huber"):  # there the curvature is that of a bound
            np.testing.assert_allclose((up[1][:, c] - down[1][:, c]) / (2 * step), curvature[:, c], atol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_constants_are_the_best(name: str) -> None:
    rng = np.random.default_rng(1)
    s = rng.random(50)
    k = 3 if name == "softmax" else 1
    y = {
        "softmax": rng.integers(0, 3, 50),
        "log_loss": rng.choice([-1, 1], 50),
        "exponential": rng.choice([-1, 1], 50),
    }.get(name, np.abs(rng.normal(size=50)) + 0.1)
    y = np.ascontiguousarray(y, dtype=np.float64)
    loss = BoostLoss(name, 0.3 if name != "absolute_error" else 0.5)
    best = loss.constant(y, s, k)

    def risk(constant: Any) -> float:
        return float(s @ loss.curve(np.tile(constant, (50, 1)), y)[0])

    for c in range(k):
        for step in (-0.01, 0.01):
            assert risk(best) <= risk(best + step * np.eye(k)[c]) + 1e-12


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "absolute_error"},
        {"loss": "quantile", "quantile": 0.7},
        {"loss": "poisson"},
        {"loss": "gamma"},
        {"monotonic_cst": [1, 0, 0, 0, 0, 0]},
        {"interaction_cst": "no_interactions"},
        {"categorical_features": [5]},
        {"l2_regularization": 3.0, "max_features": 0.5},
    ],
    ids=str,
)
def test_held_out_scores_are_those_of_scikit_learn(params: dict[str, Any]) -> None:
    ours, theirs = [], []
    for seed in range(3):
        (X, y), (new, truth) = table(600, seed), table(2000, 100 + seed)
        if params.get("loss") in ("poisson", "gamma"):
            y, truth = np.exp(y / 3), np.exp(truth / 3)
        ours.append(HistGradientBoostingRegressor(max_iter=40, random_state=seed, **params).fit(X, y).score(new, truth))
        other = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=40, random_state=seed, **params)
        with threadpool_limits(1):  # several threads wait for one another on a busy machine
            theirs.append(other.fit(X, y).score(new, truth))
    assert np.mean(ours) > np.mean(theirs) - 0.015


@pytest.mark.parametrize("cuts", [[1.0], [0.0, 2.0]], ids=["two", "three"])
def test_held_out_accuracy_is_that_of_scikit_learn(cuts: list[float]) -> None:
    ours, theirs = [], []
    for seed in range(3):
        (X, y), (new, truth) = table(600, seed), table(2000, 100 + seed)
        y, truth = np.digitize(y, cuts), np.digitize(truth, cuts)
        ours.append(HistGradientBoostingClassifier(max_iter=30).fit(X, y).score(new, truth))
        with threadpool_limits(1):
            theirs.append(sklearn.ensemble.HistGradientBoostingClassifier(max_iter=30).fit(X, y).score(new, truth))
    assert np.mean(ours) > np.mean(theirs) - 0.01


def test_one_round_of_a_stump_is_the_best_split() -> None:
    X, y = np.array([[1.0], [2.0], [3.0], [10.0], [11.0]]), np.array([0.0, 0.0, 1.0, 5.0, 6.0])
    model = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, max_leaf_nodes=2, min_samples_leaf=1).fit(X, y)
    assert model.trees_.threshold.tolist() == [6.5]
    np.testing.assert_allclose(model.predict(X), [1 / 3] * 3 + [5.5] * 2)


def test_directions_hold_everywhere() -> None:
    X, y = table()
    up = HistGradientBoostingRegressor(max_iter=30, monotonic_cst=[1, 0, 0, 0, 0, -1]).fit(X, y)
    base = np.nan_to_num(X[:50])
    for column, way in ((0, 1), (5, -1)):
        grid = []
        for value in np.linspace(-4, 14, 60):
            moved = base.copy()
            moved[:, column] = value
            grid.append(up.predict(moved))
        assert (way * np.diff(np.array(grid), axis=0) >= -1e-12).all()


def test_columns_that_may_not_meet_do_not() -> None:
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=10, interaction_cst=[{0, 1}, {2}]).fit(X, y)
    trees, right = model.trees_, model.trees_.children_right
    groups = [{0, 1}, {2}, {3, 4, 5}]
    for first in trees.starts[:-1]:
        stack = [(int(first), frozenset())]
        while stack:
            node, above = stack.pop()
            if trees.feature[node] >= 0:
                own = above | {int(trees.feature[node])}
                assert any(own <= group for group in groups)
                stack += [(node + 1, own), (int(right[node]), own)]


def test_whole_weights_are_repetitions() -> None:
    X, y = table(300)
    s = np.random.default_rng(0).integers(0, 4, 300)
    rows = np.repeat(np.arange(300), s)
    for model, labels in (
        (HistGradientBoostingRegressor(), y),
        (HistGradientBoostingClassifier(), np.digitize(y, [0, 2])),
    ):
        weighted = clone(model).set_params(max_iter=15).fit(X, labels, s)
        repeated = clone(model).set_params(max_iter=15).fit(X[rows], labels[rows])
        np.testing.assert_array_equal(weighted.trees_.threshold, repeated.trees_.threshold)
        np.testing.assert_allclose(weighted.trees_.numbers, repeated.trees_.numbers, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, HistGradientBoostingClassifier])
def test_threads_change_nothing(kind: Any) -> None:
    X, y = table(20_000)
    if kind is HistGradientBoostingClassifier:
        y = np.digitize(y, [0.0, 1.0, 2.0])
    before, found = qed.get_num_threads(), []
    for threads in (1, 2, 3, 8, 64):
        qed.set_num_threads(threads)
        try:
            model = kind(max_iter=5, random_state=0).fit(X, y)
            found.append((model.trees_, model.certificate_, model.predict(X).tobytes()))
        finally:
            qed.set_num_threads(before)
    assert all(other == found[0] for other in found[1:])


def test_early_stopping_keeps_its_rows_from_the_trees() -> None:
    X, y = table(400)
    model = HistGradientBoostingRegressor(max_iter=300, early_stopping=True, random_state=0).fit(X, y)
    assert model.n_iter_ < 300
    assert model.certificate_.rows == 360
    assert model.do_early_stopping_
    assert qed.verify(model, X, y).holds
    own = HistGradientBoostingRegressor(max_iter=300, early_stopping=True).fit(X, y, X_val=X[:50], y_val=y[:50])
    assert own.certificate_.rows == 400
    pipe = make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=50, early_stopping=True))
    for fold in cross_validate(pipe, X, y, cv=4, return_estimator=True)["estimator"]:
        assert fold[-1].certificate_.rows == 270  # of the 300 rows of the fold's training part


def test_transformers_of_a_pipeline_do_not_learn_from_rows_that_stop_it() -> None:
    X, y = table(400)
    train, held = slice(0, 300), slice(300, 400)
    params = {"max_iter": 300, "early_stopping": True, "random_state": 0}
    pipe = qed_pipeline(StandardScaler(), HistGradientBoostingRegressor(**params), transform_input=["X_val"])
    own = {"histgradientboostingregressor__X_val": X[held], "histgradientboostingregressor__y_val": y[held]}
    pipe.fit(X[train], y[train], **own)
    scaler = StandardScaler().fit(X[train])
    np.testing.assert_array_equal(pipe[0].mean_, scaler.mean_)
    alone = HistGradientBoostingRegressor(**params)
    alone.fit(scaler.transform(X[train]), y[train], X_val=scaler.transform(X[held]), y_val=y[held])
    np.testing.assert_array_equal(pipe[-1].validation_score_, alone.validation_score_)
    assert pipe[-1].n_iter_ == alone.n_iter_ < 300
    raw = qed_pipeline(StandardScaler(), HistGradientBoostingRegressor(**params)).fit(X[train], y[train], **own)
    assert not np.array_equal(raw[-1].validation_score_, alone.validation_score_)  # rows that nobody transformed
    assert pipe[:1].transform_input == ["X_val"]
    with pytest.raises(InvalidParameter, match="transform_input must be a list of names"):
        pipe.set_params(transform_input="X_val").fit(X, y)


@pytest.mark.parametrize("early_stopping", ["auto", False, True])
def test_rounds_are_judged_by_the_loss_alone(early_stopping: Any) -> None:
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=2, early_stopping=early_stopping, scoring="r2")
    with pytest.raises(InvalidParameter, match="scoring must be 'loss' or None"):
        model.fit(X, y)
    for accepted in ("loss", None):
        model.set_params(scoring=accepted).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
def test_another_level_of_the_loss_or_count_of_rises_is_refused(loss: str) -> None:
    X, y = table()
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.7, max_iter=3).fit(X, y)
    claim = model.certificate_
    model.certificate_ = replace(claim, rises=claim.rises + 1)
    with pytest.raises(CertificateError, match="rises"):
        qed.verify(model, X, y)
    model.certificate_ = claim
    assert qed.verify(model, X, y).holds
    model.loss_level_ *= 1.01
    with pytest.raises(CertificateError, match="level of its loss"):
        qed.verify(model, X, y)


def test_warm_start_goes_on() -> None:
    X, y = table()
    whole = HistGradientBoostingClassifier(max_iter=12).fit(X, y > 1)
    part = HistGradientBoostingClassifier(max_iter=5, warm_start=True).fit(X, y > 1)
    part.set_params(max_iter=12).fit(X, y > 1)
    np.testing.assert_allclose(part.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert qed.verify(part, X, y > 1).holds
    with pytest.raises(InvalidParameter, match="max_iter"):
        part.set_params(max_iter=3).fit(X, y > 1)


def test_stages_end_at_the_model() -> None:
    X, y = table()
    model = HistGradientBoostingClassifier(max_iter=7).fit(X, np.digitize(y, [0, 2]))
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 7
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), rtol=1e-12)
    numbers = HistGradientBoostingRegressor(max_iter=7).fit(X, y)
    np.testing.assert_allclose(list(numbers.staged_predict(X))[-1], numbers.predict(X), rtol=1e-12)


R, C = HistGradientBoostingRegressor, HistGradientBoostingClassifier
CASES: list[tuple[Any, str, str | None]] = [
    (R(), "number", None),
    (R(loss="absolute_error"), "number", "whole"),
    (R(loss="quantile", quantile=0.3), "number", "any"),
    (R(loss="huber"), "number", None),
    (R(loss="poisson", monotonic_cst=[1, 0, 0, 0, -1, 0]), "count", "whole"),
    (R(loss="gamma", l2_regularization=2.0), "positive", "any"),
    (R(loss="absolute_error", monotonic_cst=[1, 0, 0, 0, 0, 0]), "number", None),
    (R(categorical_features=[5], monotonic_cst=[1, 0, 0, 0, 0, 0]), "number", "any"),
    (R(max_depth=2, max_leaf_nodes=None, max_features=0.5), "number", None),
    (C(), "two", None),
    (C(class_weight="balanced"), "three", "whole"),
    (C(loss="exponential"), "two", "any"),
    (C(categorical_features=[5]), "three", None),
]


def labels(kind: str, y: Any) -> Any:
    return {
        "number": y,
        "count": np.abs(np.round(y)),
        "positive": np.abs(y) + 0.1,
        "two": y > 1,
        "three": np.digitize(y, [0, 2]),
    }[kind]


@pytest.mark.parametrize(("model", "kind", "weighted"), CASES, ids=[f"{model!r}-{w}" for model, _, w in CASES])
def test_certificates_are_verified_and_changes_are_refused(model: Any, kind: str, weighted: str | None) -> None:
    X, y = table()
    rng = np.random.default_rng(5)
    s = {None: None, "whole": rng.integers(0, 4, 500).astype(float), "any": 3 * rng.random(500)}[weighted]
    target = labels(kind, y)
    model = clone(model).set_params(max_iter=6, random_state=1).fit(X, target, s)
    assert qed.verify(model, X, target, s).holds
    assert (np.diff(model.certificate_.losses) <= 0).all() == (model.certificate_.rises == 0)
    trees = model.trees_
    number = int(np.flatnonzero(np.isfinite(trees.threshold))[0])
    moved = trees.threshold.copy()
    moved[number] += 1e-9
    steps = trees.value.copy()
    steps[0] *= 1.001
    changes = [
        ("trees_", replace(trees, value=steps)),
        ("trees_", replace(trees, missing_left=~trees.missing_left)),
        ("baseline_", model.baseline_ + 0.01),
        ("certificate_", replace(model.certificate_, losses=model.certificate_.losses * 0.99)),
    ]
    if number not in trees.by_set:
        changes.append(("trees_", replace(trees, threshold=moved)))
    for name, value in changes:
        before = getattr(model, name)
        setattr(model, name, value)
        with pytest.raises(CertificateError):
            qed.verify(model, X, target, s)
        setattr(model, name, before)


def test_model_files(tmp_path: Any) -> None:
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[5]).fit(X, y)
    model.save(tmp_path / "model.qed")
    again = qed.load(tmp_path / "model.qed")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert qed.verify(again, X, y).holds
    with pytest.raises(ModelFileError):
        replace(model.trees_, feature=model.trees_.feature + 20).check()


def test_bad_input_is_explained() -> None:
    X, y = table(60)
    with pytest.raises(InvalidData, match="strictly positive"):
        HistGradientBoostingRegressor(loss="gamma").fit(X, y)
    with pytest.raises(InvalidParameter, match="two labels"):
        HistGradientBoostingClassifier(loss="exponential").fit(X, np.arange(60) % 3)
    with pytest.raises(InvalidParameter, match="monotonic_cst"):
        HistGradientBoostingRegressor(monotonic_cst=[2, 0]).fit(X, y)
    with pytest.raises(InvalidParameter, match="multiclass"):
        HistGradientBoostingClassifier(monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(X, np.arange(60) % 3)
    with pytest.raises(InvalidData, match="more than max_bins=10"):
        HistGradientBoostingRegressor(categorical_features=[0], max_bins=10).fit(X, y)
    with pytest.raises(InvalidParameter, match="early_stopping"):
        HistGradientBoostingRegressor(early_stopping="yes").fit(X, y)
    one = HistGradientBoostingClassifier().fit(X, np.ones(60))
    assert one.predict_proba(X).tolist() == [[1.0]] * 60
    unseen = HistGradientBoostingRegressor(categorical_features=[5], min_samples_leaf=2).fit(X, y)
    strange = X[:3].copy()
    strange[:, 5] = 99
    assert np.isfinite(unseen.predict(strange)).all()
