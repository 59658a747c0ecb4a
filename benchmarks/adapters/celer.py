"""celer. Set QED_BENCH_CELER to a Python that has it when this one does not."""

from __future__ import annotations

from typing import Any

NAME = "celer"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"celer": version("celer")}


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    import celer

    del sparse  # it takes both kinds of designs
    kind = getattr(celer, task, None) if task in ("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV") else None
    return None if kind is None else kind(**params)


def score(_: str) -> Any:
    return None  # it has no scores
