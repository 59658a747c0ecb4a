"""Chains of models for several targets, against scikit-learn's with the same models inside."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import multioutput as theirs

import qed
from qed import multioutput as ours
from qed.core import CertificateError, InvalidParameter
from qed.linear_model import LogisticRegression, Ridge


def _targets(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    Y = np.column_stack([X[:, 0], X[:, 1] + X[:, 0], X[:, 2]]) + 0.3 * rng.normal(size=(80, 3))
    return X, Y


@pytest.mark.parametrize("options", [{}, {"order": [2, 0, 1]}, {"cv": 3}])
def test_regressors_as_scikit_learn(options):
    X, Y = _targets()
    found, known = (kind.RegressorChain(Ridge(), **options).fit(X, Y) for kind in (ours, theirs))
    np.testing.assert_allclose(found.predict(X), known.predict(X), rtol=1e-9)
    if "cv" not in options:
        assert qed.verify(found, X, Y).holds
    else:
        with pytest.raises(CertificateError, match="folds"):
            qed.verify(found, X, Y)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_classifiers_as_scikit_learn(method):
    X, Y = _targets()
    labels = (Y > 0).astype(int)
    found, known = (
        kind.ClassifierChain(LogisticRegression(), chain_method=method).fit(X, labels) for kind in (ours, theirs)
    )
    np.testing.assert_array_equal(found.predict(X), known.predict(X))
    np.testing.assert_allclose(found.predict_proba(X), known.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(found.decision_function(X), known.decision_function(X), atol=1e-6)
    assert qed.verify(found, X, labels).holds


def test_a_random_order_follows_from_the_seed_and_a_wrong_one_is_an_error():
    X, Y = _targets()
    a, b = (ours.RegressorChain(Ridge(), order="random", random_state=3).fit(X, Y) for _ in range(2))
    assert a.order_.tolist() == b.order_.tolist()
    with pytest.raises(InvalidParameter, match="order"):
        ours.RegressorChain(Ridge(), order=[0, 0, 1]).fit(X, Y)


def test_weights_reach_every_model():
    X, Y = _targets()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = ours.RegressorChain(Ridge()).fit(X, Y, sample_weight=weight)
    assert qed.verify(model, X, Y, weight).holds
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    np.testing.assert_allclose(
        model.predict(X), ours.RegressorChain(Ridge()).fit(X[twice], Y[twice]).predict(X), rtol=1e-8
    )
