"""Boosting by exact splits: agreement with scikit-learn, laws, early stopping, certificates, and changed models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from scipy.sparse import csr_matrix

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.ensemble import GradientBoostingClassifier, GradientBoostingRegressor


def table(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32).astype(np.float64)  # scikit-learn reads float32
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.4 * rng.normal(size=n)


SAME = [
    {},
    {"loss": "huber", "alpha": 0.8},
    {"init": "zero", "max_leaf_nodes": 5},
    {"ccp_alpha": 0.001, "min_impurity_decrease": 1e-4},
    {"criterion": "squared_error", "max_depth": None, "min_samples_split": 0.3},
    {"min_weight_fraction_leaf": 0.1, "learning_rate": 0.5},
]


@pytest.mark.filterwarnings("ignore:The parameter `criterion`")
@pytest.mark.parametrize("params", SAME, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_those_of_scikit_learn(params: dict[str, Any], weighted: bool) -> None:
    X, y = table()
    s = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    if weighted and params.get("loss") == "huber":
        params = params | {"init": "zero"}  # its median of weighted rows is the lower one of two
    shared = {"n_estimators": 25, "min_samples_leaf": 15, "random_state": 0} | params  # larger leaves: no ties
    ours = GradientBoostingRegressor(**shared).fit(X, y, s)
    theirs = sklearn.ensemble.GradientBoostingRegressor(**shared).fit(X, y, s)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    for one, other in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert qed.verify(ours, X, y, s)


@pytest.mark.parametrize(("loss", "cuts"), [("log_loss", [0.0]), ("exponential", [0.0]), ("log_loss", [-0.5, 0.5])])
def test_probabilities_are_those_of_scikit_learn(loss: str, cuts: list[float]) -> None:
    X, y = table()
    y = np.digitize(y, cuts)
    shared: dict[str, Any] = {"loss": loss, "n_estimators": 20, "min_samples_leaf": 15, "random_state": 0}
    ours = GradientBoostingClassifier(**shared).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingClassifier(**shared).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    assert ours.apply(X).reshape(len(X), -1).shape == theirs.apply(X).reshape(len(X), -1).shape
    assert qed.verify(ours, X, y)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_targets_that_are_met_exactly_pull_as_in_scikit_learn(loss: str) -> None:
    X, y = table()
    y = np.rint(y)  # many residuals are exactly zero
    shared: dict[str, Any] = {"loss": loss, "n_estimators": 12, "max_depth": 2, "random_state": 0}
    ours = GradientBoostingRegressor(**shared).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingRegressor(**shared).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    assert qed.verify(ours, X, y)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_medians_and_quantiles_predict_as_well_as_scikit_learn(loss: str) -> None:
    level = 0.9 if loss == "quantile" else 0.5
    risks = []
    for kind in (GradientBoostingRegressor, sklearn.ensemble.GradientBoostingRegressor):
        found = []
        for seed in range(3):
            (X, y), (new, truth) = table(400, seed), table(2000, 100 + seed)
            r = truth - kind(loss=loss, random_state=0, n_estimators=40).fit(X, y).predict(new)
            found.append(np.maximum(level * r, (level - 1) * r).mean())
        risks.append(np.mean(found))
    assert risks[0] < 1.02 * risks[1]


def test_each_round_of_squares_fits_what_is_left() -> None:
    X, y = table(60)
    model = GradientBoostingRegressor(n_estimators=4, learning_rate=1.0, max_depth=1, init="zero").fit(X, y)
    left, before = y.copy(), np.zeros(len(y))
    for stage in model.staged_predict(X):
        step = stage - before
        best = np.inf
        for j in range(X.shape[1]):  # the least squared error of all stumps on the residuals
            for cut in np.unique(X[:, j])[:-1]:
                inside = X[:, j] <= cut
                fitted = np.where(inside, left[inside].mean(), left[~inside].mean())
                best = min(best, float(((left - fitted) ** 2).sum()))
        assert ((left - step) ** 2).sum() == pytest.approx(best)
        left, before = left - step, stage
    assert (np.diff(model.certificate_.losses) < 0).all()


def test_rows_out_of_a_round_judge_it() -> None:
    X, y = table(800)
    model = GradientBoostingRegressor(subsample=0.5, n_estimators=40, random_state=3).fit(X, y)
    assert len(model.oob_improvement_) == len(model.oob_scores_) == 40
    assert model.oob_improvement_[:10].sum() > 0
    assert model.oob_score_ == model.oob_scores_[-1]
    again = GradientBoostingRegressor(subsample=0.5, n_estimators=40, random_state=3).fit(X, y)
    assert np.array_equal(model.predict(X), again.predict(X))
    assert qed.verify(model, X, y)


def test_rows_that_no_tree_has_seen_stop_the_rounds() -> None:
    X, y = table(300)
    noise = np.random.default_rng(0).normal(size=300)
    model = GradientBoostingRegressor(n_iter_no_change=3, n_estimators=300, random_state=0).fit(X, noise)
    assert model.n_estimators_ < 100
    assert qed.verify(model, X, noise)
    given = GradientBoostingRegressor(n_iter_no_change=3, n_estimators=300).fit(
        X[:200], y[:200], X_val=X[200:], y_val=y[200:]
    )
    assert given.certificate_.rows == 200
    assert qed.verify(given, X[:200], y[:200])


def test_resumed_rounds_are_those_of_one_fit() -> None:
    X, y = table()
    y = np.digitize(y, [-0.5, 0.5])
    whole = GradientBoostingClassifier(n_estimators=8, subsample=0.7, random_state=1).fit(X, y)
    parts = GradientBoostingClassifier(n_estimators=3, subsample=0.7, random_state=1, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))
    np.testing.assert_allclose(whole.oob_improvement_, parts.oob_improvement_)
    assert qed.verify(parts, X, y)
    with pytest.raises(InvalidParameter, match="n_estimators=2 must be larger"):
        parts.set_params(n_estimators=2).fit(X, y)


def test_a_monitor_stops_the_fit() -> None:
    X, y = table(100)
    seen: list[int] = []

    def monitor(number: int, model: Any, _: Any) -> bool:
        seen.append(model.n_estimators_)
        return number == 4

    model = GradientBoostingRegressor().fit(X, y, monitor=monitor)
    assert model.n_estimators_ == 5
    assert seen == [1, 2, 3, 4, 5]


def test_sparse_tables_and_missing_values() -> None:
    X, y = table()
    X[np.abs(X) < 0.4] = 0
    dense, sparse = (GradientBoostingRegressor(n_estimators=10).fit(rows, y) for rows in (X, csr_matrix(X)))
    assert np.array_equal(dense.predict(X), sparse.predict(csr_matrix(X)))
    X[X == 0] = np.nan
    model = GradientBoostingRegressor(n_estimators=10).fit(X, y)
    assert qed.verify(model, X, y)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_constant_targets_and_columns(scale: float) -> None:
    X, y = np.ones((30, 2)), np.full(30, scale)
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), scale)
    assert qed.verify(model, X, y)


def test_unusable_arguments_are_refused_in_words() -> None:
    X, y = table(30)
    with pytest.raises(InvalidParameter, match="init must be None, 'zero' or an estimator with fit and predict"):
        GradientBoostingRegressor(init="mean").fit(X, y)
    with pytest.raises(InvalidParameter, match="two labels"):
        GradientBoostingClassifier(loss="exponential").fit(X, np.arange(30) % 3)
    with pytest.raises(InvalidData, match="1 class"):
        GradientBoostingClassifier().fit(X, np.ones(30))


@pytest.mark.parametrize("params", [{}, {"loss": "huber"}, {"loss": "quantile"}, {"subsample": 0.5}], ids=str)
def test_changed_models_are_refused(params: dict[str, Any]) -> None:
    X, y = table(120)
    for change in ("value", "threshold", "scale", "score", "level"):
        model = GradientBoostingRegressor(n_estimators=5, random_state=0, **params).fit(X, y)
        assert qed.verify(model, X, y)
        if change == "value":
            model.trees_.value[3] *= 1.001
        elif change == "threshold":
            model.trees_.threshold[2] += 1e-6
        elif change == "scale":
            model.baseline_ = model.baseline_ + 0.01
        elif change == "score":
            model.train_score_[1] *= 0.99
        else:
            model.loss_level_ += 0.01
        with pytest.raises(CertificateError):
            qed.verify(model, X, y)
