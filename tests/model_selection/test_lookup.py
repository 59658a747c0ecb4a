"""The learner that only remembers."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.model_selection import LookupClassifier


@pytest.mark.covers("FND-40")
def test_no_training_error_and_nothing_learnt():
    rng = np.random.default_rng(0)
    gaps = []
    for n in (10, 100, 1000):
        X, y = rng.normal(size=(n, 1)), rng.choice([-1, 1], n)
        model = LookupClassifier(default=1).fit(X, y)
        assert model.score(X, y) == 1.0
        new, truth = rng.normal(size=(20000, 1)), rng.choice([-1, 1], 20000)
        assert abs(model.score(new, truth) - 0.5) < 0.025  # seven standard deviations
        # a predictor that was fixed before: its training error does tend to a half
        gaps.append(abs(np.mean(np.where(X[:, 0] > 0, 1, -1) != y) - 0.5))
    assert gaps[-1] < 0.11

    def gap(n):
        X, y = rng.integers(0, 3, (n, 1)), rng.choice([-1, 1], n)
        return LookupClassifier().fit(X, y).score(X, y) - 0.5

    assert gap(100_000) < 0.015  # a finite domain: training error tends to the true one
    assert gap(100_000) < gap(5)


def test_the_most_frequent_label_of_each_row():
    model = LookupClassifier().fit([[0.0], [-0.0], [0.0], [1.0]], ["a", "b", "b", "a"], [1, 1, 1, 5])
    assert model.predict([[0.0], [1.0], [2.0]]).tolist() == ["b", "a", "a"]
    assert model.mistakes_ == 1.0


def test_a_changed_table_is_refused():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 3, (30, 2)).astype(float), rng.integers(0, 2, 30)
    model = LookupClassifier().fit(X, y)
    assert qed.verify(model, X, y).holds
    model.row_labels_ = 1 - model.row_labels_
    with pytest.raises(qed.CertificateError, match="mistakes"):
        qed.verify(model, X, y)
    with pytest.raises(qed.InvalidParameter, match="one of the labels"):
        LookupClassifier(default="z").fit(X, y)
