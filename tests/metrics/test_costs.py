"""Costs of errors, sizes of vectors, and what a model takes."""

import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter
from qed.linear_model import LinearRegression, LogisticRegression
from qed.metrics import ModelMeasures, cost_sensitive_error, measure_model, norm, zero_one_loss

RNG = np.random.default_rng(0)


@pytest.mark.covers("MET-05")
def test_one_free_cost_parameter():
    y = RNG.integers(0, 2, 200)
    scores = y + RNG.normal(size=200)
    thresholds = np.sort(scores)
    guesses = [(scores >= t).astype(int) for t in thresholds]
    assert cost_sensitive_error(y, guesses[50]) == pytest.approx(zero_one_loss(y, guesses[50]))
    for plus, minus in ((5.0, 2.0), (0.3, 7.0)):
        both = np.array([cost_sensitive_error(y, g, cost_positive=plus, cost_negative=minus) for g in guesses])
        one = np.array([cost_sensitive_error(y, g, cost_positive=plus / minus) for g in guesses])
        np.testing.assert_allclose(both, minus * one, rtol=1e-12)  # the factor is that of the negative class
        assert np.argmin(both) == np.argmin(one)
    by_hand = np.mean([(5.0 if t else 2.0) * (t != g) for t, g in zip(y, guesses[50], strict=True)])
    assert cost_sensitive_error(y, guesses[50], cost_positive=5.0, cost_negative=2.0) == pytest.approx(by_hand)
    # the same holds of a fitted model: costs times two, and half the weight of the losses, is the same minimiser
    X = RNG.normal(size=(200, 3))
    first = LogisticRegression(class_weight={0: 1.0, 1: 4.0}, C=1.0, tol=1e-12).fit(X, y)
    again = LogisticRegression(class_weight={0: 2.0, 1: 8.0}, C=0.5, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(first.coef_, again.coef_, atol=1e-7)
    with pytest.raises(InvalidParameter, match="cost_positive"):
        cost_sensitive_error(y, y, cost_positive=-1.0)
    with pytest.raises(InvalidData, match="shapes"):
        cost_sensitive_error(y, y[:3])


@pytest.mark.covers("DAT-19")
def test_sizes_of_vectors():
    assert [norm([0, 3, -4], order) for order in (0, 1, 2, np.inf)] == [2, 7, 5, 4]
    w = RNG.normal(size=50)
    for order in (1, 1.5, 2, 3, np.inf):
        assert norm(w, order) == pytest.approx(np.linalg.norm(w, order), rel=1e-12)
    assert norm([3e200, 4e200]) == pytest.approx(5e200)
    assert norm(np.zeros(3)) == 0
    with pytest.raises(InvalidParameter, match="order"):
        norm(w, 0.5)


@pytest.mark.covers("MET-20")
def test_what_a_model_takes():
    X, y = RNG.normal(size=(50, 7)), RNG.normal(size=50)
    found = measure_model(LinearRegression(), X, y, repeats=2)
    assert isinstance(found, ModelMeasures)
    assert found.fit_seconds > 0
    assert found.predict_seconds > 0
    assert found.predictions_per_second > 0
    model = LinearRegression().fit(X, y)
    arrays = [np.asarray(v) for k, v in vars(model).items() if k.endswith("_") and isinstance(v, np.ndarray | float)]
    assert found.parameters == sum(a.size for a in arrays if a.dtype.kind == "f") >= 8
    assert found.parameter_bytes == found.parameters * 8
    assert found.predictions == 2 * 50
    assert measure_model(LinearRegression(), X, y, repeats=4).predictions == 2 * found.predictions
    with pytest.raises(InvalidParameter, match="repeats"):
        measure_model(LinearRegression(), X, y, repeats=0)
