"""AdaBoost and bagging: agreement with scikit-learn, laws, certificates, and changed models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.linear_model
from scipy.sparse import csr_matrix

import qed
from qed.compose import make_pipeline
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.ensemble import AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from qed.linear_model import LogisticRegression, Ridge
from qed.neighbors import KNeighborsClassifier
from qed.preprocessing import StandardScaler
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor


def table(n: int = 200, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("cuts", [[0.0], [-0.5, 0.5]], ids=["two", "three"])
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_votes_are_those_of_scikit_learn(cuts: list[float], rate: float) -> None:
    X, y = table()
    y = np.digitize(y, cuts)
    ours = AdaBoostClassifier(n_estimators=30, learning_rate=rate, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=30, learning_rate=rate, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(theirs.staged_score(X, y)))
    assert qed.verify(ours, X, y)


@pytest.mark.parametrize("seed", range(5))
def test_the_training_error_is_below_its_bound(seed: int) -> None:
    X, y = table(150, seed)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=25, random_state=0).fit(X, y > 0)
    errors = model.estimator_errors_
    assert model.training_error_ == pytest.approx(1 - model.score(X, y > 0))
    assert model.training_error_ <= model.error_bound_
    if errors.min() > 0:
        assert model.error_bound_ == pytest.approx(np.prod(2 * np.sqrt(errors * (1 - errors))))


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_medians_predict_as_well_as_scikit_learn(loss: str) -> None:
    ours, theirs = [], []
    for seed in range(4):
        (X, y), (new, truth) = table(300, seed), table(1000, 100 + seed)
        ours.append(AdaBoostRegressor(loss=loss, n_estimators=30, random_state=seed).fit(X, y).score(new, truth))
        other = sklearn.ensemble.AdaBoostRegressor(loss=loss, n_estimators=30, random_state=seed)
        theirs.append(other.fit(X, y).score(new, truth))
    assert np.mean(ours) > np.mean(theirs) - 0.05


def test_whole_weights_are_repetitions_of_rows_that_are_drawn() -> None:
    X, y = table(40)
    s = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), s.astype(int))
    for seed in range(5):  # the same shares of the same number of draws
        weighted = AdaBoostRegressor(n_estimators=4, random_state=seed).fit(X, y, s)
        repeated = AdaBoostRegressor(n_estimators=4, random_state=seed).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)
    assert qed.verify(weighted, X, y, s)


def test_a_perfect_copy_ends_the_rounds_and_a_useless_one_is_refused() -> None:
    X, y = table(50)
    assert len(AdaBoostClassifier(DecisionTreeClassifier()).fit(X, y > 0).estimators_) == 1
    assert len(AdaBoostRegressor(DecisionTreeRegressor(), random_state=0).fit(X[:1], y[:1]).estimators_) == 1
    with pytest.raises(InvalidData, match="no better than chance"):
        AdaBoostClassifier().fit(np.ones((10, 1)), np.arange(10) % 2)
    with pytest.raises(InvalidParameter, match="doesn't support sample_weight"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y > 0)


def test_one_copy_of_all_rows_is_the_estimator() -> None:
    X, y = table()
    one = BaggingRegressor(Ridge(), n_estimators=1, bootstrap=False).fit(X, y)
    np.testing.assert_allclose(one.predict(X), Ridge().fit(X, y).predict(X))
    labels = BaggingClassifier(LogisticRegression(), n_estimators=1, bootstrap=False).fit(X, y > 0)
    np.testing.assert_allclose(labels.predict_proba(X), LogisticRegression().fit(X, y > 0).predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("replaced", [False, True])
def test_rows_are_drawn_by_their_weight(replaced: bool) -> None:
    X = np.arange(4.0)[:, None]
    s = np.array([1.0, 2.0, 5.0, 0.0])
    model = BaggingRegressor(
        DecisionTreeRegressor(), n_estimators=4000, max_samples=1, bootstrap=replaced, random_state=0
    )
    said = np.bincount([int(one.predict([[0.0]])[0]) for one in model.fit(X, X[:, 0], s).estimators_], minlength=4)
    share = s / s.sum()
    # six standard deviations: a false alarm in 1e9
    assert (np.abs(said / 4000 - share) <= 6.2 * np.sqrt(share * (1 - share) / 4000)).all()


def test_columns_are_drawn() -> None:
    X, y = table()
    model = BaggingRegressor(n_estimators=8, max_features=2, random_state=0).fit(X, y)
    assert model.estimators_features_.shape == (8, 2)
    assert len(np.unique(model.estimators_features_, axis=0)) > 1
    assert all(len(set(columns)) == 2 for columns in model.estimators_features_.tolist())
    again = BaggingRegressor(max_features=0.5, bootstrap_features=True, n_estimators=30, random_state=0).fit(X, y)
    assert any(len(set(columns)) == 1 for columns in again.estimators_features_.tolist())


@pytest.mark.parametrize("labels", [False, True])
def test_out_of_bag_scores_are_honest_and_have_an_interval(labels: bool) -> None:
    X, y = table(400)
    new, truth = table(4000, 1)
    y, truth = (y > 0, truth > 0) if labels else (y, truth)
    kind = BaggingClassifier if labels else BaggingRegressor
    model = kind(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    assert abs(model.oob_score_ - model.score(new, truth)) < 0.08
    assert model.oob_interval_[0] <= model.oob_error_ <= model.oob_interval_[1]
    assert qed.verify(model, X, y)
    with pytest.raises(InvalidParameter, match="bootstrap=True"):
        kind(oob_score=True, bootstrap=False).fit(X, y)


def test_copies_that_are_added_are_those_of_one_fit() -> None:
    X, y = table()
    whole = BaggingRegressor(n_estimators=6, random_state=1).fit(X, y)
    parts = BaggingRegressor(n_estimators=2, random_state=1, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=6).fit(X, y)
    assert np.array_equal(whole.predict(X), parts.predict(X))
    threads = BaggingRegressor(n_estimators=6, random_state=1, n_jobs=2).fit(X, y)
    assert np.array_equal(whole.predict(X), threads.predict(X))


def test_any_estimator_is_copied() -> None:
    X, y = table()
    for model in (
        BaggingClassifier(sklearn.linear_model.RidgeClassifier(), random_state=0),
        BaggingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0),
        AdaBoostClassifier(sklearn.linear_model.LogisticRegression(), random_state=0),
    ):
        assert model.fit(X, y > 0).score(X, y > 0) > 0.6
        assert (
            model.fit(csr_matrix(X), y > 0).score(csr_matrix(X), y > 0) > 0.6 if "Pipeline" not in repr(model) else True
        )
    other = BaggingClassifier(sklearn.linear_model.RidgeClassifier()).fit(X, y > 0)
    with pytest.raises(CertificateError, match="which the checker does not know"):
        qed.verify(other, X, y > 0)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [(AdaBoostClassifier, True), (AdaBoostRegressor, False), (BaggingClassifier, True), (BaggingRegressor, False)],
)
def test_changed_models_are_refused(kind: Any, labels: bool) -> None:
    X, y = table(80)
    y = y > 0 if labels else y
    options = {"oob_score": True} if "Bagging" in kind.__name__ else {}
    for change in ("seed", "member", "order", "number"):
        model = kind(n_estimators=5, random_state=0, **options).fit(X, y)
        assert qed.verify(model, X, y)
        if change == "seed" and kind is not AdaBoostClassifier:
            model.seed_ += 1
        elif change == "member":
            model.estimators_[1].tree_.threshold[0] += 1e-3
        elif change == "order":
            model.estimators_[0], model.estimators_[1] = model.estimators_[1], model.estimators_[0]
        elif options:
            model.oob_error_ *= 0.9
        else:
            model.estimator_weights_[0] *= 1.01
        with pytest.raises(CertificateError):
            qed.verify(model, X, y)
