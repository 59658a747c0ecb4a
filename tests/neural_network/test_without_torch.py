"""What works without PyTorch: everything but learning."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qed
from qed.neural_network import MLPClassifier, MLPRegressor

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("model", [MLPClassifier(), MLPRegressor(), MLPRegressor(solver="lbfgs")], ids=str)
def test_a_fit_says_what_to_install(model: Any) -> None:
    with pytest.raises(ImportError, match=r'PyTorch, which is not installed: pip install "qed\[neural\]"'):
        model.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(qed.NotFitted):
        model.predict([[0.0]])
    assert model.set_params(alpha=0.5).get_params()["alpha"] == 0.5
    with pytest.raises(qed.InvalidParameter, match="alpha must be"):
        model.set_params(alpha=-1.0).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
def test_a_file_is_read_and_predicts(name: str) -> None:
    model = qed.load(GOLDEN / f"0.1.0-{name}.qed")
    answer = json.loads((GOLDEN / f"0.1.0-{name}.json").read_text())
    predicted = model.predict(np.array(answer["X"]))
    if name == "MLPClassifier":
        assert predicted.tolist() == answer["predictions"]
        np.testing.assert_allclose(model.predict_proba(np.array(answer["X"])).sum(axis=1), 1.0)
    else:
        np.testing.assert_allclose(predicted, answer["predictions"], rtol=1e-12)


def test_importing_loads_no_torch() -> None:
    code = "import sys; from qed.neural_network import MLPClassifier; MLPClassifier(); print('torch' in sys.modules)"
    path = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
