"""scikit-learn-intelex. Set QED_BENCH_INTELEX to a Python that has it when this one does not."""

from __future__ import annotations

from typing import Any

NAME = "intelex"
PACKAGE = "sklearnex"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"scikit-learn-intelex": version("scikit-learn-intelex")}


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    from sklearnex import linear_model

    if sparse or task in ("RidgeCV", "LassoCV", "QuantileRegressor", "HuberRegressor", "PoissonRegressor", "LinearSVC"):
        return None  # it hands these to scikit-learn, which races under its own name
    kind = getattr(linear_model, task, None)
    return None if kind is None else kind(**params)


def score(_: str) -> Any:
    return None  # scikit-learn's own scores race under its name
