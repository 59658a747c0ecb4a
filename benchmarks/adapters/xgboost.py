"""XGBoost, in rows that name it as a peer. Set QED_BENCH_XGBOOST to a Python that has it when this one does not."""

from __future__ import annotations

from typing import Any

NAME = "XGBoost"
PACKAGE = "xgboost"


def versions() -> dict[str, str]:

    import xgboost

    return {"xgboost": xgboost.__version__}  # its package has several names


def estimator(task: str, **params: Any) -> Any:  # noqa: ARG001
    return None  # it has no models of scikit-learn's names


def score(_: str) -> Any:
    return None
