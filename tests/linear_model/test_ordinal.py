"""OrdinalRegressor: proportional odds, convex, proved; two classes are logistic regression."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import qed
from qed import CertificateError, NotReached
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


def test_weights_layouts_and_early_ends():
    weighed = OrdinalRegressor().fit(X, y, weights)
    repeated = OrdinalRegressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-8)
    np.testing.assert_allclose(weighed.thresholds_, repeated.thresholds_, atol=1e-8)
    np.testing.assert_allclose(weighed.coef_, OrdinalRegressor().fit(csr_array(X), y, weights).coef_, atol=1e-8)
    assert qed.verify(weighed, X, y, weights).holds
    with pytest.raises(NotReached):
        OrdinalRegressor(max_iter=1, tol=1e-12, strict=True).fit(X, y)
    early = OrdinalRegressor(max_iter=2, tol=1e-14).fit(X, y)
    assert not early.certificate_.reached
    assert qed.verify(early, X, y).holds
