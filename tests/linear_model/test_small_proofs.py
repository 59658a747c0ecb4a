"""The compiled proofs of small tables: never below the true distance, near it, and the same numbers as the general proof."""

import numpy as np
import pytest
import scipy.optimize

import qed
from qed.linear_model import SGDClassifier, SGDRegressor, _small_proofs
from qed.linear_model._online import LOSSES

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
SCORE = X @ [1.0, -0.1, 3.0] + RNG.normal(size=60)
Y = np.where(np.median(SCORE) < SCORE, 1, 0)
PENALTIES = ({"penalty": "l2"}, {"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.4}, {"penalty": None})
ALPHA = 0.01


def _losses(name, t, y, width=0.1):
    m, r = y * t, np.abs(t - y)
    over = np.maximum(r - width, 0.0)
    return {
        "perceptron": np.maximum(0.0, -m),
        "hinge": np.maximum(0.0, 1 - m),
        "squared_hinge": np.maximum(0.0, 1 - m) ** 2,
        "modified_huber": np.where(m >= -1, np.maximum(0.0, 1 - m) ** 2, -4 * m),
        "log_loss": np.logaddexp(0.0, -m),
        "squared_error": 0.5 * r**2,
        "huber": np.where(r <= width, 0.5 * r**2, width * (r - 0.5 * width)),
        "epsilon_insensitive": over,
        "squared_epsilon_insensitive": over**2,
    }[name]


def _objective(name, params, w, b, weight):
    ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": params.get("l1_ratio")}.get(params["penalty"], 0.0)
    strength = 0.0 if params["penalty"] is None else ALPHA
    penalty = strength * (ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * w @ w)
    return float(np.mean(weight * _losses(name, X @ w + b, 2.0 * Y - 1.0))) + penalty


@pytest.mark.parametrize("loss", LOSSES)
def test_the_distance_is_bounded_from_above_and_tightly(loss, monkeypatch):
    weight = RNG.uniform(0.5, 2.0, len(X))
    for params in PENALTIES:
        for intercept in (True, False):
            model = SGDClassifier(
                loss, alpha=ALPHA, random_state=0, max_iter=3, tol=None, fit_intercept=intercept, **params
            )
            proof = model.fit(X, Y, sample_weight=weight).certificate_
            w, b = model.coef_[0], float(model.intercept_[0])

            def value(v, params=params, intercept=intercept):
                return _objective(loss, params, v[:3], v[3] if intercept else 0.0, weight)

            starts = (np.append(w, b), np.zeros(4))
            best = min(scipy.optimize.minimize(value, start, method="Powell").fun for start in starts)
            assert proof.objective == pytest.approx(value(np.append(w, b)), rel=1e-12)
            assert proof.objective - best <= proof.gap * (1 + 1e-9)
            # within a few hundredths of the truth, and what a search without derivatives leaves open
            assert proof.gap <= 1.05 * (proof.objective - best) + 3e-3 * proof.null_objective
            assert qed.verify(model, X, Y, sample_weight=weight).holds
    monkeypatch.setattr(_small_proofs, "WORK", 0)
    general = model.fit(X, Y, sample_weight=weight).certificate_
    assert general.objective == pytest.approx(proof.objective, rel=1e-12)
    assert general.null_objective == pytest.approx(proof.null_objective, rel=1e-9, abs=1e-15)


def test_each_class_and_its_weights():
    labels = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.7]))
    model = SGDClassifier(random_state=0, class_weight={0: 2.0, 1: 0.5, 2: 1.0}, max_iter=4, tol=None).fit(X, labels)
    assert qed.verify(model, X, labels).holds
    for k, part in enumerate(model.certificate_.parts.values()):
        alone = SGDClassifier(random_state=0, class_weight={0: 1.0, 1: [2.0, 0.5, 1.0][k]}, max_iter=4, tol=None)
        own = alone.fit(X, (labels == k).astype(int)).certificate_
        assert part.null_objective == pytest.approx(own.null_objective, rel=1e-12)


def test_columns_far_from_zero_and_a_target_that_is_met():
    far = X + 1e8
    proof = SGDRegressor(random_state=0, eta0=1e-20).fit(far, SCORE).certificate_
    assert 0 < proof.gap <= proof.objective * (1 + 1e-6) + proof.rounding
    assert SGDRegressor(random_state=0).fit(X, np.full(len(X), 0.0)).certificate_.gap <= 1e-12


def test_means_of_classes_end_apart():
    labels = np.digitize(SCORE, np.quantile(SCORE, [0.2, 0.6]))
    for average in (True, 400):
        together = SGDClassifier(average=average, shuffle=False, random_state=0).fit(X, labels)
        for k in range(3):
            alone = SGDClassifier(average=average, shuffle=False, random_state=0).fit(X, labels == k)
            np.testing.assert_allclose(together.coef_[k], alone.coef_[0], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(together.intercept_[k], alone.intercept_[0], rtol=1e-9, atol=1e-9)
