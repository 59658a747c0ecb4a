"""OrdinalRegressor: proportional odds, convex, proved; two classes are logistic regression."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import qed
from qed import CertificateError, InvalidParameter, ToleranceNotReached
from qed.core._persistence import dumps, loads
from qed.linear_model import LogisticRegression, OrdinalRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3)) + 1
y = np.digitize(X @ [1.0, -0.5, 0.0] + 0.7 * rng.logistic(size=90), [-0.5, 0.5, 1.5]) + 10
weights = rng.integers(0, 3, 90)


def objective(w, cuts, C, s=None):
    s = np.ones(len(y)) if s is None else s
    t = X @ w
    below = 1 / (1 + np.exp(-(cuts[None, :] - t[:, None])))
    chances = np.diff(np.hstack([np.zeros((len(t), 1)), below, np.ones((len(t), 1))]), axis=1)
    return 0.5 * w @ w - C * s @ np.log(chances[np.arange(len(t)), y - y.min()])


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_the_optimum_is_that_of_a_general_method(C):
    model = OrdinalRegressor(C).fit(X, y)
    assert model.certificate_.reached
    assert model.certificate_.objective == pytest.approx(objective(model.coef_, model.thresholds_, C), rel=1e-10)

    def spread(z):
        return objective(z[:3], z[3] + np.concatenate([[0.0], np.cumsum(np.exp(z[4:]))]), C)

    start = np.array([0.1, 0.0, 0.0, -1.0, 0.0, 0.0])
    best = minimize(spread, start, method="BFGS", options={"gtol": 1e-7}).fun
    assert model.certificate_.objective == pytest.approx(best, rel=1e-7)
    assert qed.verify(model, X, y).holds
    for change in (
        lambda: setattr(model, "coef_", 1.02 * model.coef_),
        lambda: setattr(model, "thresholds_", model.thresholds_ + 0.02),
    ):
        change()
        with pytest.raises(CertificateError):
            qed.verify(model, X, y)


@pytest.mark.covers("LIN-33")
def test_classes_rise_with_the_score_and_two_are_logistic():
    model = OrdinalRegressor().fit(X, y)
    assert np.all(np.diff(model.thresholds_) > 0)
    order = np.argsort(model.latent(X))
    assert np.all(np.diff(model.predict(X)[order]) >= 0)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    below = 1 / (1 + np.exp(-(model.thresholds_ - model.latent(X)[:, None])))
    np.testing.assert_allclose(np.cumsum(chances, axis=1)[:, :-1], below, atol=1e-12)
    two = y > 11
    pair, logistic = OrdinalRegressor(0.7).fit(X, two), LogisticRegression(C=0.7, tol=1e-13).fit(X, two)
    np.testing.assert_allclose(pair.coef_, logistic.coef_[0], atol=1e-7)
    np.testing.assert_allclose(-pair.thresholds_, logistic.intercept_, atol=1e-7)
    np.testing.assert_allclose(pair.predict_proba(X), logistic.predict_proba(X), atol=1e-7)


@pytest.mark.filterwarnings("ignore::qed.core.ConvergenceWarning")  # it stops early on purpose
def test_weights_layouts_and_early_ends():
    weighed = OrdinalRegressor().fit(X, y, weights)
    repeated = OrdinalRegressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-8)
    np.testing.assert_allclose(weighed.thresholds_, repeated.thresholds_, atol=1e-8)
    np.testing.assert_allclose(weighed.coef_, OrdinalRegressor().fit(csr_array(X), y, weights).coef_, atol=1e-8)
    assert qed.verify(weighed, X, y, weights).holds
    with pytest.raises(ToleranceNotReached):
        OrdinalRegressor(max_iter=1, tol=1e-12, strict=True).fit(X, y)
    early = OrdinalRegressor(max_iter=2, tol=1e-14).fit(X, y)
    assert not early.certificate_.reached
    assert qed.verify(early, X, y).holds


def test_the_order_of_words_is_told_or_taken_from_categories_or_warned_about():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    code = np.digitize(X[:, 0] + 0.3 * random.normal(size=80), [-0.5, 0.5])
    words = np.array(["low", "mid", "high"])
    by_numbers = OrdinalRegressor().fit(X, code)
    told = OrdinalRegressor(order=words).fit(X, words[code])
    kind = pd.CategoricalDtype(words, ordered=True)
    taken = OrdinalRegressor().fit(X, pd.Series(words[code], dtype=kind))
    enum = OrdinalRegressor().fit(X, pl.Series(words[code], dtype=pl.Enum(words)))
    for model in (told, taken, enum):
        assert model.order_.tolist() == words.tolist()
        assert model.classes_.tolist() == sorted(words)
        np.testing.assert_allclose(model.coef_, by_numbers.coef_)
        np.testing.assert_array_equal(model.predict(X), words[by_numbers.predict(X)])
        where = [model.classes_.tolist().index(word) for word in words]
        np.testing.assert_allclose(model.predict_proba(X)[:, where], by_numbers.predict_proba(X))
        assert qed.verify(model, X, words[code]).holds
    np.testing.assert_array_equal(loads(dumps(told)).predict(X), told.predict(X))
    with pytest.warns(UserWarning, match="from the alphabet"):
        OrdinalRegressor().fit(X, words[code])
    with pytest.raises(InvalidParameter, match="must name every label once"):
        OrdinalRegressor(order=["low", "high"]).fit(X, words[code])
    told.order_ = told.order_[::-1]
    with pytest.raises(CertificateError):
        qed.verify(told, X, words[code])


@pytest.mark.parametrize(("scale", "C"), [(1.0, 1e6), (100.0, 1.0), (1e5, 1.0), (1e8, 1.0)])
def test_classes_that_a_score_separates(scale, C):
    X = scale * np.random.default_rng(1).normal(size=(100, 2))
    y = np.digitize(X[:, 0] / scale, [-0.5, 0.5])
    model = OrdinalRegressor(C=C).fit(X, y)
    assert model.certificate_.relative_gap < 1e-6
    assert model.score(X, y) == 1.0
    assert qed.verify(model, X, y).holds
