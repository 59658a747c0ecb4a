"""Cross-validation: what is judged is what scikit-learn would judge, with work shared where the model can."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn.linear_model as their_models
import sklearn.model_selection as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes

import qed.model_selection as ours
from qed.core import FitFailedWarning, InvalidData, InvalidParameter
from qed.linear_model import LinearRegression, Ridge

X, Y = load_diabetes(return_X_y=True)


class Failing(LinearRegression):
    """Fails on rows whose first target is the largest of all."""

    def fit(self, X, y, sample_weight=None):
        if np.max(y) < Y.max():
            raise ValueError("no")
        return super().fit(X, y, sample_weight)


@pytest.mark.covers("SEL-03")
@pytest.mark.parametrize("model", [Ridge(0.3), LinearRegression(), their_models.Ridge(0.3)])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "r2"])
def test_scores_are_those_of_scikit_learn(model, scoring):
    cv = ours.KFold(4, shuffle=True, random_state=0)
    mine = ours.cross_val_score(model, X, Y, cv=cv, scoring=scoring)
    other = theirs.cross_val_score(model, X, Y, cv=cv, scoring=scoring)
    np.testing.assert_allclose(mine, other, rtol=1e-9)


@pytest.mark.covers("SEL-02")
def test_hold_out_is_the_score_of_the_held_rows():
    X_train, X_held, y_train, y_held = ours.train_test_split(X, Y, random_state=0)
    model = Ridge().fit(X_train, y_train)
    train, held = next(ours.ShuffleSplit(1, test_size=0.25, random_state=0).split(X))
    score = ours.cross_val_score(Ridge(), X, Y, cv=[(train, held)], scoring="neg_mean_squared_error")
    np.testing.assert_allclose(score, [-np.mean((model.predict(X_held) - y_held) ** 2)], rtol=1e-10)


@pytest.mark.covers("SEL-04")
def test_leaving_one_out_needs_no_refit():
    model = LinearRegression().fit(X, Y)
    A = np.column_stack([np.ones(len(X)), X])
    lever = np.einsum("ij,jk,ik->i", A, np.linalg.inv(A.T @ A), A)
    short = (Y - model.predict(X)) / (1 - lever)
    rows = slice(0, 60)
    cv = [(np.delete(np.arange(len(X)), i), np.array([i])) for i in range(60)]
    scores = ours.cross_val_score(LinearRegression(), X, Y, cv=cv, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(-scores, short[rows] ** 2, rtol=1e-8)
    constant = np.zeros((12, 1))
    y = np.arange(12.0)
    scores = ours.cross_val_score(
        LinearRegression(), constant, y, cv=ours.LeaveOneOut(), scoring="neg_mean_squared_error"
    )
    np.testing.assert_allclose(-scores.mean(), (12 / 11) ** 2 * y.var(), rtol=1e-12)


@pytest.mark.covers("SEL-09")
def test_folds_at_the_same_time_give_the_same_bits():
    one = ours.cross_validate(LinearRegression(), X, Y, cv=5, n_jobs=1)["test_score"]
    np.testing.assert_array_equal(one, ours.cross_validate(LinearRegression(), X, Y, cv=5, n_jobs=3)["test_score"])
    np.testing.assert_array_equal(one, ours.cross_validate(LinearRegression(), X, Y, cv=5, n_jobs=-1)["test_score"])


@pytest.mark.covers("SEL-12")
def test_the_score_asked_for_is_the_score_returned():
    def minus_largest(model, X, y):
        return -np.max(np.abs(model.predict(X) - y))

    results = ours.cross_validate(
        Ridge(), X, Y, cv=3, scoring={"worst": minus_largest, "mse": "neg_mean_squared_error"}, return_train_score=True
    )
    expected = theirs.cross_validate(
        Ridge(), X, Y, cv=3, scoring={"worst": minus_largest, "mse": "neg_mean_squared_error"}, return_train_score=True
    )
    assert set(results) == set(expected)
    for name in ("test_worst", "test_mse", "train_worst", "train_mse"):
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-9)


def test_estimators_and_indices_come_back():
    results = ours.cross_validate(Ridge(), X, Y, cv=3, return_estimator=True, return_indices=True)
    for model, train in zip(results["estimator"], results["indices"]["train"], strict=True):
        np.testing.assert_array_equal(model.coef_, Ridge().fit(X[train], Y[train]).coef_)


def test_weights_are_cut_like_rows():
    weight = np.random.default_rng(0).integers(1, 4, size=len(X)).astype(float)
    for model in (Ridge(), LinearRegression()):
        mine = ours.cross_val_score(model, X, Y, params={"sample_weight": weight})
        other = theirs.cross_val_score(model, X, Y, params={"sample_weight": weight})
        np.testing.assert_allclose(mine, other, rtol=1e-9)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_of_unseen_rows(method):
    A, y = load_breast_cancer(return_X_y=True)
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    model = their_models.LogisticRegression()
    mine = ours.cross_val_predict(model, A, y, cv=3, method=method)
    np.testing.assert_array_equal(mine, theirs.cross_val_predict(model, A, y, cv=3, method=method))


def test_predictions_need_every_row_once():
    with pytest.raises(InvalidData, match="partitions"):
        ours.cross_val_predict(Ridge(), X, Y, cv=ours.ShuffleSplit(3))


def test_failing_fits_are_reported_not_hidden():
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        scores = ours.cross_val_score(Failing(), X, Y, cv=4)
    assert np.isnan(scores).sum() == 1
    with pytest.raises(ValueError, match="no"):
        ours.cross_val_score(Failing(), X, Y, cv=4, error_score="raise")
    worst = int(np.argmax(Y))
    with pytest.raises(ValueError, match="All the 1 fits failed"):
        ours.cross_val_score(Failing(), X, Y, cv=[(np.delete(np.arange(len(X)), worst), [worst])])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": 3}, "scoring must be"),
        ({"scoring": ["r2", "r2"]}, "twice"),
        ({"cv": []}, "no folds"),
        ({"error_score": "nan"}, "error_score"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_bad_settings_are_refused_in_words(options, words):
    with pytest.raises(InvalidParameter, match=words):
        ours.cross_validate(LinearRegression(), X, Y, **options)


@pytest.mark.covers("SEL-08")
def test_the_mean_predictor_has_the_error_that_theory_says():
    n, k, trials = 20, 5, 400
    rng = np.random.default_rng(0)
    nothing = np.zeros((n, 1))
    errors = []
    for _ in range(trials):
        y = rng.normal(size=n)
        errors.append(-ours.cross_val_score(Ridge(), nothing, y, cv=k, scoring="neg_mean_squared_error").mean())
    expected = 1 + k / ((k - 1) * n)
    # the error of one trial has a standard deviation near sqrt(2 / n) * expected; seven of the mean's are one in 1e11
    assert abs(np.mean(errors) - expected) < 7 * np.sqrt(2 / n) * expected / np.sqrt(trials)


def test_what_is_a_classifier_does_not_depend_on_scikit_learn_being_loaded():
    code = (
        "import sys\n"
        "from qed.base import BaseEstimator, ClassifierMixin\n"
        "from qed.linear_model import Ridge\n"
        "from qed.model_selection import GridSearchCV\n"
        "from qed.model_selection._judge import is_classifier\n"
        "from qed.svm import LinearSVC\n"
        "class Own(ClassifierMixin, BaseEstimator): pass\n"
        "assert is_classifier(Own())\n"
        "assert is_classifier(GridSearchCV(LinearSVC(), {'C': [1.0]}))\n"
        "assert not is_classifier(GridSearchCV(Ridge(), {'alpha': [1.0]}))\n"
        "assert 'sklearn' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
