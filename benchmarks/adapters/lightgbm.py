"""LightGBM, in rows that name it as a peer. Set QED_BENCH_LIGHTGBM to a Python that has it when this one does not."""

from __future__ import annotations

from typing import Any

NAME = "LightGBM"
PACKAGE = "lightgbm"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"lightgbm": version("lightgbm")}


def estimator(task: str, **params: Any) -> Any:  # noqa: ARG001
    return None  # it has no models of scikit-learn's names


def score(_: str) -> Any:
    return None
