"""Thresholds of two classes: those of scikit-learn, and what is refused."""

import numpy as np
import pytest
import sklearn.linear_model as their_models
import sklearn.model_selection as theirs
from sklearn.datasets import load_breast_cancer, make_classification

import qed
import qed.model_selection as ours
from qed.core import CertificateError, InvalidParameter, NotFitted
from qed.linear_model import LogisticRegression, Ridge
from qed.metrics import f1_score, fbeta_score, make_scorer
from qed.svm import LinearSVC

X, Y = make_classification(300, 6, weights=[0.8], class_sep=0.6, random_state=0)
WORDS = np.array(["no", "yes"])[Y]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.2},
        {"threshold": 0.7, "pos_label": 0},
        {"response_method": "decision_function"},
        {"response_method": "decision_function", "threshold": -1.0, "pos_label": 0},
    ],
)
def test_a_fixed_threshold_cuts_as_in_scikit_learn(options):
    mine = ours.FixedThresholdClassifier(LogisticRegression(), **options).fit(X, Y)
    his = theirs.FixedThresholdClassifier(their_models.LogisticRegression(tol=1e-10), **options).fit(X, Y)
    np.testing.assert_array_equal(mine.predict(X), his.predict(X))
    np.testing.assert_allclose(mine.predict_proba(X), his.predict_proba(X), atol=1e-4)
    qed.verify(mine, X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": "f1", "thresholds": 30},
        {"scoring": "recall", "thresholds": [0.3, 0.5, 0.7]},
        {"cv": 0.3, "random_state": 1},
        {"cv": 0.3, "random_state": 1, "refit": False},
        {"response_method": "decision_function", "cv": 3},
    ],
)
def test_a_tuned_threshold_is_that_of_scikit_learn(options):
    mine = ours.TunedThresholdClassifierCV(LogisticRegression(tol=1e-12), **options).fit(X, Y)
    his = theirs.TunedThresholdClassifierCV(
        their_models.LogisticRegression(tol=1e-12), store_cv_results=True, **options
    )
    his.fit(X, Y)
    assert mine.best_score_ == pytest.approx(
        his.best_score_, abs=2e-3
    )  # scores step where coefficients differ in the ninth digit
    np.testing.assert_allclose(mine.cv_results_["thresholds"], his.cv_results_["thresholds"], atol=1e-4)
    at = mine.cv_results_["scores"][np.argmin(np.abs(mine.cv_results_["thresholds"] - his.best_threshold_))]
    assert at == pytest.approx(mine.best_score_, abs=2e-3)


def test_the_best_threshold_by_hand():
    folds = theirs.StratifiedKFold(4)
    model = ours.TunedThresholdClassifierCV(
        LogisticRegression(), scoring="f1", thresholds=[0.1, 0.25, 0.4, 0.6], cv=folds
    )
    model.fit(X, Y)
    scores = []
    for at in (0.1, 0.25, 0.4, 0.6):
        each = []
        for train, test in folds.split(X, Y):
            chance = LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
            each.append(f1_score(Y[test], chance >= at))
        scores.append(np.mean(each))
    np.testing.assert_allclose(model.cv_results_["scores"], scores)
    assert model.best_threshold_ == (0.1, 0.25, 0.4, 0.6)[int(np.argmax(scores))]
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] >= model.best_threshold_)


def test_words_for_labels_and_scores_of_another_class():
    goal = make_scorer(fbeta_score, beta=2, pos_label="no")
    model = ours.TunedThresholdClassifierCV(LinearSVC(), scoring=goal, cv=3).fit(X, WORDS)
    assert set(model.predict(X)) <= {"no", "yes"}
    assert model.classes_.tolist() == ["no", "yes"]
    qed.verify(model, X, WORDS)
    assert f1_score(WORDS, model.predict(X), pos_label="no") > 0.8


def test_a_fitted_classifier_gets_a_threshold():
    half = X[:150], Y[:150]
    inner = LogisticRegression().fit(*half)
    model = ours.TunedThresholdClassifierCV(inner, cv="prefit", refit=False).fit(X[150:], Y[150:])
    assert model.estimator_ is inner
    with pytest.raises(InvalidParameter, match="refit cannot be True"):
        ours.TunedThresholdClassifierCV(inner, cv="prefit").fit(X, Y)


def test_a_changed_threshold_is_refused():
    rows, labels = load_breast_cancer(return_X_y=True)
    model = ours.TunedThresholdClassifierCV(LogisticRegression(), cv=2).fit(rows, labels)
    qed.verify(model, rows, labels)
    model.best_threshold_ = 0.9
    with pytest.raises(CertificateError, match="another threshold"):
        qed.verify(model, rows, labels)


def test_what_is_refused():
    with pytest.raises(InvalidParameter, match="must be a classifier"):
        ours.FixedThresholdClassifier(Ridge()).fit(X, Y)
    with pytest.raises(InvalidParameter, match="must score labels"):
        ours.TunedThresholdClassifierCV(LogisticRegression(), scoring="roc_auc").fit(X, Y)
    with pytest.raises(InvalidParameter, match="thresholds must be"):
        ours.TunedThresholdClassifierCV(LogisticRegression(), thresholds="many").fit(X, Y)
    with pytest.raises(InvalidParameter, match="several folds"):
        ours.TunedThresholdClassifierCV(LogisticRegression(), refit=False).fit(X, Y)
    with pytest.raises(ValueError, match="Only binary classification"):
        ours.FixedThresholdClassifier(LogisticRegression()).fit(X, np.arange(300) % 3)
    with pytest.raises(NotFitted):
        ours.FixedThresholdClassifier(LogisticRegression()).predict(X)
