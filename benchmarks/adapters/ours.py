"""qed itself, at its defaults: validation and certificate are part of the time."""

from __future__ import annotations

from typing import Any

NAME = "qed"


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    import qed

    try:
        return {"qed": version("qed")}
    except PackageNotFoundError:  # run from the source tree
        return {"qed": getattr(qed, "__version__", "source tree")}


def estimator(task: str, **params: Any) -> Any:
    from qed import linear_model, svm

    return getattr(svm if task == "LinearSVC" else linear_model, task)(**params)


def score(task: str) -> Any:
    from qed import metrics

    return getattr(metrics, task)
