"""The same battery in other circumstances: array API dispatch, metadata routing on.

What the circumstances change lives in core, which all models share: some models of each kind pass the whole battery again, and
every model passes the checks that ask about the circumstance.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sklearn
import toys
from battery import checks_for
from instances import instance, skip_if_it_lacks

import qed

HERE = Path(__file__).parent
WHOLE = (
    "LinearRegression",
    "Lasso",
    "LogisticRegression",
    "StandardScaler",
    "OneHotEncoder",
    "Pipeline",
    "GridSearchCV",
)
ROUTED = ("metadata", "routing", "sample_weight", "weights", "pipeline", "choices", "pickle")


def test_battery_with_array_api_dispatch() -> None:
    """SciPy reads SCIPY_ARRAY_API when it is imported, so this needs a process of its own."""
    environment = {
        **os.environ,
        "SCIPY_ARRAY_API": "1",
        "QED_PROTOCOL_WHOLE": " ".join([*(kind.__name__ for kind in toys.ALL), *WHOLE]),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    tests = str(HERE / "test_all_estimators.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    done = subprocess.run(  # noqa: S603
        command, env=environment, cwd=HERE.parents[1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout.splitlines()[-1], "nothing is skipped once array API dispatch is on"


@pytest.mark.parametrize("kind", [*toys.ALL, *(kind for _, kind in qed.all_estimators())])
def test_battery_with_routing_on(kind: type) -> None:
    skip_if_it_lacks(kind.__module__)
    with sklearn.config_context(enable_metadata_routing=True):
        whole = kind in toys.ALL or kind.__name__ in WHOLE
        for label, check in checks_for(_requesting(instance(kind))):
            if "pipeline_consistency" in label and not _weighs(kind):
                continue  # scikit-learn's pipeline hands a weight to every score, and fails with its own PCA alike
            if whole or any(word in label for word in ROUTED):
                check()


def _requesting(model: Any) -> Any:
    """Let the parts of a model ask for the weights that the checks pass to it."""
    for part in model.get_params(deep=True).values():
        for method in ("fit", "score"):
            request = getattr(part, f"set_{method}_request", None)
            if request is not None and "sample_weight" in inspect.signature(getattr(part, method)).parameters:
                request(sample_weight=True)
    scoring = model.get_params(deep=False).get("scoring")
    if isinstance(scoring, str) and scoring in qed.metrics.get_scorer_names():  # a scorer is a part too
        model.set_params(scoring=qed.metrics.get_scorer(scoring).set_score_request(sample_weight=True))
    return model


def _weighs(kind: type) -> bool:
    """Whether a score takes weights, or there is none."""
    score = getattr(kind, "score", None)
    return score is None or "sample_weight" in inspect.signature(score).parameters
