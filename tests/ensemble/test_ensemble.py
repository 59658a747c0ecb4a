"""Votes and stacks: agreement with scikit-learn's, and what members prove."""

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import qed
from qed import linear_model
from qed.compose import ColumnTransformer
from qed.core import CertificateError, InvalidParameter
from qed.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from qed.linear_model import LinearRegression, Ridge
from qed.preprocessing import StandardScaler

RNG = np.random.default_rng(6)
X = RNG.normal(size=(90, 3))
Y = X @ [1.0, -1.0, 2.0] + RNG.normal(size=90)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-1, 1])]
REGRESSORS = [("ridge", Ridge(10.0)), ("plain", LinearRegression())]
CLASSIFIERS = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]


@pytest.mark.parametrize("weights", [None, [1, 3]])
def test_regressors_are_averaged(weights):
    a, b = (
        VotingRegressor(REGRESSORS, weights=weights).fit(X, Y),
        theirs.VotingRegressor(REGRESSORS, weights=weights).fit(X, Y),
    )
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-12)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-12)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    assert qed.verify(a, X, Y).holds
    assert a.named_estimators_["ridge"].alpha == 10.0


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [2, 1]])
def test_classifiers_vote(voting, weights):
    params = {"voting": voting, "weights": weights}
    a, b = (
        VotingClassifier(CLASSIFIERS, **params).fit(X, LABELS),
        theirs.VotingClassifier(CLASSIFIERS, **params).fit(X, LABELS),
    )
    assert np.array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.transform(X), b.transform(X))
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    assert hasattr(a, "predict_proba") == (voting == "soft")
    if voting == "soft":
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X))


def test_dropped_members_and_words():
    model = VotingRegressor([("ridge", Ridge()), ("gone", "drop")], weights=[1, 5]).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Ridge().fit(X, Y).predict(X))
    assert model.set_params(ridge__alpha=3.0).get_params()["ridge__alpha"] == 3.0
    with pytest.raises(ValueError, match="non-empty list"):
        VotingRegressor([]).fit(X, Y)
    with pytest.raises(ValueError, match="weights must be equal"):
        VotingRegressor(REGRESSORS, weights=[1]).fit(X, Y)
    with pytest.raises(ValueError, match="all estimators are dropped"):
        VotingRegressor([("a", "drop")]).fit(X, Y)


@pytest.mark.parametrize("passthrough", [False, True])
def test_stacks_are_scikit_learns(passthrough, tmp_path):
    params = {"final_estimator": Ridge(), "cv": 3, "passthrough": passthrough}
    a, b = StackingRegressor(REGRESSORS, **params).fit(X, Y), theirs.StackingRegressor(REGRESSORS, **params).fit(X, Y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-9)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    a.save(tmp_path / "model.qed")
    np.testing.assert_array_equal(qed.load(tmp_path / "model.qed").predict(X), a.predict(X))
    assert list(a.certificate_.parts) == ["ridge", "plain", "final_estimator"]


@pytest.mark.parametrize("method", ["auto", "predict_proba", "predict"])
def test_stacked_classifiers(method):
    params = {"final_estimator": LogisticRegression(), "cv": 3, "stack_method": method}
    a, b = (
        StackingClassifier(CLASSIFIERS, **params).fit(X, LABELS),
        theirs.StackingClassifier(CLASSIFIERS, **params).fit(X, LABELS),
    )
    assert np.array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="must be a model"):
        StackingClassifier(CLASSIFIERS, final_estimator=3).fit(X, LABELS)


def test_stacking_without_a_final_model_takes_scikit_learns():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    members = [("a", linear_model.LogisticRegression()), ("b", linear_model.LogisticRegression(C=0.1))]
    stack = StackingClassifier(members, cv=3).fit(X, y)
    assert type(stack.final_estimator_) is linear_model.LogisticRegression
    assert stack.predict_proba(X).shape == (60, 3)
    assert qed.verify(stack, X, y).holds
    numbers = StackingRegressor([("a", Ridge()), ("b", Ridge(10.0))], cv=3).fit(X, X[:, 0])
    assert type(numbers.final_estimator_) is linear_model.RidgeCV
    assert qed.verify(numbers, X, X[:, 0]).holds
    numbers.final_estimator_ = Ridge().fit(numbers.transform(X), X[:, 0])
    with pytest.raises(CertificateError):
        qed.verify(numbers, X, X[:, 0])


def test_parameters_of_the_final_model_and_of_the_remainder_are_reached():
    stack = StackingRegressor([("ridge", Ridge())], final_estimator=Ridge())
    stack.set_params(final_estimator__alpha=3.0, ridge__alpha=2.0)
    assert stack.final_estimator.alpha == 3.0
    assert stack.get_params()["ridge__alpha"] == 2.0
    columns = ColumnTransformer([], remainder=StandardScaler())
    assert not columns.set_params(remainder__with_mean=False).remainder.with_mean
    assert columns.get_params()["remainder__with_mean"] is False
    with pytest.raises(InvalidParameter, match="nobody"):
        columns.set_params(nobody__alpha=1)
