"""Networks that were changed after the fit, and data that are others, are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from instances import skip_if_it_lacks

import qed
from qed.neural_network import MLPClassifier, MLPRegressor

rng = np.random.default_rng(1)
X = rng.standard_normal((40, 3))
LABELS = np.digitize(X[:, 0], [-0.4, 0.4])
NUMBERS = np.abs(X[:, 0]) + X[:, 1]


@pytest.fixture(autouse=True)
def _torch() -> None:
    skip_if_it_lacks("qed.neural_network")


def fitted(kind: Any, **settings: Any) -> tuple[Any, Any]:
    y = LABELS if kind is MLPClassifier else NUMBERS
    model = kind(**{"hidden_layer_sizes": (4, 3), "max_iter": 30, "random_state": 0, "alpha": 0.1, **settings})
    return model.fit(X, y), y


def scaled(factor: float) -> Any:
    def change(model: Any) -> None:
        model.coefs_ = [model.coefs_[0] * factor, *model.coefs_[1:]]

    return change


def shifted(model: Any) -> None:
    last = model.intercepts_[-1].copy()
    last[0] += 1e-4  # all of them together would leave a softmax as it is
    model.intercepts_ = [*model.intercepts_[:-1], last]


def narrower(model: Any) -> None:
    model.coefs_, model.intercepts_ = model.coefs_[1:], model.intercepts_[1:]


def broken(model: Any) -> None:
    model.coefs_[0][0, 0] = np.nan


def stronger(model: Any) -> None:
    model.alpha = 0.2


def other_units(model: Any) -> None:
    model.activation = "identity"


@pytest.mark.parametrize(
    "change", [scaled(1.0001), scaled(0.9), scaled(0.0), shifted, narrower, broken, stronger, other_units]
)
@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_changed_networks(kind: Any, solver: str, change: Any) -> None:
    model, y = fitted(kind, solver=solver)
    verdict = qed.verify(model, X, y)
    assert verdict.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    assert "Verified" in str(verdict)
    change(model)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)


@pytest.mark.parametrize("claim", ["objective", "gradient", "largest", "null_objective", "difference", "rounding"])
def test_changed_claims(claim: str) -> None:
    model, y = fitted(MLPRegressor)
    value = {"difference": 1.0, "rounding": 1.0}.get(claim, 0.99 * getattr(model.certificate_, claim))
    model.certificate_ = replace(model.certificate_, **{claim: value})
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)


def test_other_data() -> None:
    model, y = fitted(MLPClassifier)
    assert qed.verify(model, X[::-1], y[::-1]).holds, "the order of rows does not matter"
    for table, target in ((X + 1e-3, y), (X[:-1], y[:-1]), (X, 2 - y)):
        with pytest.raises(qed.CertificateError):
            qed.verify(model, table, target)
    model.classes_ = np.array([0, 1, 3])
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)


def test_certificates_print_and_refuse_nonsense() -> None:
    proof = fitted(MLPRegressor, solver="lbfgs", activation="tanh", max_iter=2000, tol=1e-5)[0].certificate_
    assert proof.reached
    assert proof.outcome == "solved"
    assert "differences of objectives confirm" in str(proof)
    assert "do not confirm" in replace(proof, difference=1.0).statement
    assert not replace(proof, difference=1.0).reached
    for bad in ({"gradient": -1.0}, {"objective": np.nan}, {"passes": -1}):
        with pytest.raises(qed.ModelFileError):
            replace(proof, **bad).check()
