"""Changes that were once overlooked."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.compose import OneVsRestClassifier
from qed.linear_model import Lasso, LogisticRegression, OrdinalRegressor, Perceptron, SGDClassifier, VotedPerceptron

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 3))
TWO = (X[:, 0] > 0.1).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.5])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (Perceptron(), TWO),
        (Perceptron(), THREE),
        (VotedPerceptron(), TWO),
        (LogisticRegression(), TWO),
        (OneVsRestClassifier(LogisticRegression()), THREE),
        (OrdinalRegressor(), THREE),
    ],
    ids=lambda one: type(one).__name__,
)
def test_labels_in_another_order_are_refused(model, y):
    model.fit(X, y)
    assert qed.verify(model, X, y).holds
    model.classes_ = model.classes_[::-1].copy()
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)


@pytest.mark.parametrize("change", [1.001, 0.5, 0.0])
def test_an_objective_other_than_the_stated_one_is_refused(change):
    for model, y in ((SGDClassifier(random_state=0), TWO), (Lasso(0.05), X[:, 0] + X[:, 1])):
        model.fit(X, y)
        assert qed.verify(model, X, y).holds
        model.coef_ = model.coef_ * change
        with pytest.raises(qed.CertificateError, match="objective"):
            qed.verify(model, X, y)
