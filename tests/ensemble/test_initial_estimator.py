"""Gradient boosting that starts from what another estimator predicts."""

import numpy as np
import pytest
import sklearn.ensemble as theirs
import sklearn.linear_model as their_models

import qed
from qed.core import CertificateError, InvalidParameter
from qed.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from qed.inspection import explain
from qed.linear_model import LinearRegression, LogisticRegression, Ridge
from qed.naive_bayes import GaussianNB
from qed.neighbors import KNeighborsRegressor


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)  # scikit-learn boosts in single precision
    return X, X @ [3.0, -1.0, 0.0, 0.5] + np.sin(3 * X[:, 2]) + 0.1 * rng.normal(size=n)


class Line(their_models.LinearRegression):
    """A start that computes in double precision, as ours do."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X.astype(np.float64), y, sample_weight)

    def predict(self, X):
        return super().predict(X.astype(np.float64))


class Odds(their_models.LogisticRegression):
    """The same for labels."""

    def fit(self, X, y):
        return super().fit(X.astype(np.float64), y)

    def predict_proba(self, X):
        return super().predict_proba(X.astype(np.float64))


def labels(y, k):
    return np.digitize(y, np.quantile(y, np.arange(1, k) / k))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_numbers_agree_with_scikit_learn(loss):
    X, y = table()
    # scikit-learn draws which of equally good columns it takes, and slopes of absolute errors are 1 or -1: with weights, and
    # without the small nodes that several columns part into the same signs, none are equally good
    s = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    params = {"n_estimators": 10, "loss": loss, "max_depth": 1 if loss == "absolute_error" else 3}
    ours = GradientBoostingRegressor(**params, init=LinearRegression()).fit(X, y, s)
    other = theirs.GradientBoostingRegressor(**params, init=Line()).fit(X, y, s)
    assert np.allclose(ours.predict(X), other.predict(X), rtol=0, atol=1e-6)
    assert np.allclose(ours.train_score_, other.train_score_, rtol=1e-6)


@pytest.mark.parametrize(("k", "loss"), [(2, "log_loss"), (2, "exponential"), (3, "log_loss")])
def test_labels_agree_with_scikit_learn(k, loss):
    X, y = table()
    target = labels(y, k)
    start = Odds(tol=1e-10, max_iter=10_000)
    other = theirs.GradientBoostingClassifier(n_estimators=8, loss=loss, init=start).fit(X, target)
    ours = GradientBoostingClassifier(n_estimators=8, loss=loss, init=LogisticRegression(tol=1e-12)).fit(X, target)
    assert np.allclose(ours.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-4)
    assert np.allclose(list(ours.staged_predict_proba(X))[-1], ours.predict_proba(X))


@pytest.mark.parametrize("early", [None, 2])
def test_certificates_are_verified_and_changes_are_refused(early, tmp_path):
    X, y = table()
    model = GradientBoostingRegressor(n_estimators=6, init=Ridge(), n_iter_no_change=early, random_state=0).fit(X, y)
    qed.verify(model, X, y)
    model.save(tmp_path / "model.qed")
    loaded = qed.load(tmp_path / "model.qed")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    qed.verify(loaded, X, y)
    loaded.init_.coef_[0] += 1e-3
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, y)
    loaded = qed.load(tmp_path / "model.qed")
    loaded.init_ = KNeighborsRegressor().fit(X, y)
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, y)
    loaded = qed.load(tmp_path / "model.qed")
    del loaded.init_
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, y)


@pytest.mark.parametrize("k", [2, 3])
def test_labels_weights_and_single_precision(k):
    X, y = table()
    X, target = X.astype(np.float32), np.array(["a", "b", "c"])[labels(y, k)]
    s = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    model = GradientBoostingClassifier(n_estimators=4, init=GaussianNB()).fit(X, target, s)
    qed.verify(model, X, target, s)
    assert model.predict_proba(X).dtype == np.float32
    assert model.score(X, target) > 0.8


def test_rounds_go_on_from_the_same_start():
    X, y = table()
    whole = GradientBoostingRegressor(n_estimators=8, init=Ridge()).fit(X, y)
    part = GradientBoostingRegressor(n_estimators=3, init=Ridge(), warm_start=True).fit(X, y)
    part.set_params(n_estimators=8).fit(X, y)
    assert np.allclose(part.predict(X), whole.predict(X))
    part.set_params(init=None, warm_start=False).fit(X, y)
    assert "init_" not in vars(part)


def test_explanations_include_the_start():
    X, y = table(60)
    model = GradientBoostingRegressor(n_estimators=5, max_depth=2, init=LinearRegression()).fit(X, y)
    found = explain(model, X[:3], background=X[:20])
    assert np.allclose(found.values.sum(axis=1) + found.base_value, model.predict(X[:3]))


def test_what_cannot_be_a_start_is_said():
    X, y = table(40)
    with pytest.raises(InvalidParameter, match="fit and predict_proba"):
        GradientBoostingClassifier(init=Ridge()).fit(X, labels(y, 2))
    with pytest.raises(InvalidParameter, match="does not support sample weights"):
        GradientBoostingRegressor(init=KNeighborsRegressor()).fit(X, y, np.arange(40.0))
