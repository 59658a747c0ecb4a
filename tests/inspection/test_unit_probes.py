"""Units of networks: rows that excite them, inputs that do, and gradients against differences."""

import numpy as np
import pytest

from qed.core import InvalidParameter
from qed.inspection import maximise_activation, saliency, top_activations, unit_activations
from qed.linear_model import LinearRegression
from qed.neural_network import MLPRegressor

pytest.importorskip("torch")


@pytest.fixture(scope="module", params=["tanh", "relu", "logistic", "identity"])
def network(request):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    model = MLPRegressor(
        hidden_layer_sizes=(6, 5), activation=request.param, solver="lbfgs", max_iter=30, random_state=0
    )
    return model.fit(X, X[:, 0] * X[:, 1] + X[:, 2]), X


@pytest.mark.covers("INT-01")
def test_rows_that_excite_a_unit(network):
    model, X = network
    outputs = unit_activations(model, X, -1)
    assert np.allclose(outputs[:, 0], model.predict(X))
    for layer in (0, 1, 2):
        own = unit_activations(model, X, layer)
        order = sorted(range(60), key=lambda row, own=own: (-own[row, 0], row))
        assert top_activations(model, X, layer, 0, k=7).tolist() == order[:7]


@pytest.mark.covers("INT-02")
def test_input_that_excites_a_unit(network):
    model, _ = network
    x, trace = maximise_activation(model, 1, 2, radius=2.0, random_state=0)
    assert (np.diff(trace) >= 0).all()
    assert np.linalg.norm(x) <= 2.0 * (1 + 1e-12)
    assert np.isclose(unit_activations(model, x[None], 1)[0, 2], trace[-1])
    if model.activation == "identity":
        w = model.coefs_[0][:, 3]
        x, _ = maximise_activation(model, 0, 3, radius=1.0, random_state=1)
        assert np.allclose(x, w / np.linalg.norm(w), atol=1e-5)


@pytest.mark.covers("INT-03", "INT-04")
def test_gradients_are_differences(network):
    model, X = network
    found, step = saliency(model, X[:10]), 1e-6
    for j in range(4):
        move = np.zeros(4)
        move[j] = step
        difference = (model.predict(X[:10] + move) - model.predict(X[:10] - move)) / (2 * step)
        assert np.allclose(found[:, j], np.abs(difference), atol=1e-5)
    linear = LinearRegression().fit(X, X @ [1.0, -2.0, 0.0, 3.0])
    assert np.allclose(saliency(linear, X[:3]), [[1, 2, 0, 3]] * 3, atol=1e-12)


def test_what_is_no_network_or_no_layer(network):
    model, X = network
    for call in (
        lambda: unit_activations(LinearRegression().fit(X, X[:, 0]), X, 0),
        lambda: unit_activations(model, X, 3),
        lambda: top_activations(model, X, 0, 99),
        lambda: maximise_activation(model, 0, 0, radius=0.0),
    ):
        with pytest.raises(InvalidParameter):
            call()
