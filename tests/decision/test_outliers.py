"""Outliers by density: the rate of false alarms is kept, thresholds are the best, labels are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.decision import OutlierRule
from qed.discriminant_analysis import QuadraticDiscriminantAnalysis
from qed.linear_model import LogisticRegression
from qed.metrics import f1_score
from qed.mixture import GaussianMixture, GaussianMixtureClassifier
from qed.naive_bayes import GaussianNB


@pytest.mark.covers("GEN-23")
@pytest.mark.parametrize("kind", [GaussianNB, QuadraticDiscriminantAnalysis, GaussianMixtureClassifier])
def test_a_row_is_an_outlier_where_its_density_is_low(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 2)) + 3 * y[:, None]
    model = kind().fit(X[:1000], y[:1000])
    rule = OutlierRule.at_false_alarm_rate(model, X[1000:], 0.05)
    np.testing.assert_array_equal(rule.is_outlier(X), model.score_samples(X) < rule.threshold)
    assert rule.is_outlier([[30.0, 30.0]])[0]
    assert not rule.is_outlier([[0.0, 0.0]])[0]


@pytest.mark.covers("GEN-23")
@pytest.mark.parametrize(("n", "rate"), [(19, 0.05), (40, 0.1), (9, 0.3)])
def test_the_false_alarm_rate_is_at_most_what_was_chosen(n, rate):
    """Over many held-out samples a new row is flagged with the probability floor(rate (n + 1)) / (n + 1)."""
    rng = np.random.default_rng(1)
    model = GaussianMixture(random_state=0).fit(rng.normal(size=(30, 1)))
    flagged = 0
    for _ in range(3000):
        rows = rng.normal(size=(n + 1, 1))
        flagged += int(OutlierRule.at_false_alarm_rate(model, rows[:n], rate).is_outlier(rows[n:])[0])
    expected = np.floor(rate * (n + 1)) / (n + 1)
    assert expected <= rate
    assert abs(flagged / 3000 - expected) < 4 * np.sqrt(expected * (1 - expected) / 3000)


@pytest.mark.covers("MIX-23")
def test_the_best_threshold_is_that_of_brute_force():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(80, 2)), 3 * rng.normal(size=(20, 2))])
    bad = np.arange(100) >= 80
    model = GaussianMixture(random_state=0).fit(X[:60])
    rule = OutlierRule.at_best(model, X, bad)
    scores = model.score_samples(X)
    brute = max(f1_score(bad, scores <= one) for one in scores)
    assert f1_score(bad, rule.is_outlier(X)) == pytest.approx(brute)


@pytest.mark.covers("MIX-24")
def test_labels_of_a_discriminative_model_are_unchanged_and_outliers_are_flagged_beside_them():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + 4 * y[:, None]
    classifier, density = LogisticRegression().fit(X, y), GaussianMixture(2, random_state=0).fit(X[:100])
    rule = OutlierRule.at_false_alarm_rate(density, X[100:], 0.02)
    fresh = np.vstack([X, [[60.0, -60.0]]])
    labels, outliers = rule.label(classifier, fresh)
    np.testing.assert_array_equal(labels, classifier.predict(fresh))
    np.testing.assert_array_equal(outliers, density.score_samples(fresh) < rule.threshold)
    assert outliers[-1]
    assert outliers[:200].mean() < 0.1


def test_bad_input_is_refused_in_words():
    X = np.zeros((5, 1)) + np.arange(5)[:, None]
    model = GaussianMixture().fit(X)
    with pytest.raises(qed.InvalidParameter, match="between 0 and 1"):
        OutlierRule.at_false_alarm_rate(model, X, 1.5)
    with pytest.raises(qed.InvalidParameter, match="score_samples"):
        OutlierRule(LogisticRegression(), 0.0)
    with pytest.raises(qed.InvalidData, match="true and false"):
        OutlierRule.at_best(model, X, np.zeros(5, bool))
    assert not OutlierRule.at_false_alarm_rate(model, X, 0.01).is_outlier([[1e6]])[
        0
    ]  # five rows cannot tell one in a hundred
