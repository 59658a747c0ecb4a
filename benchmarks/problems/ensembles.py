"""Ensembles over trees by exact or drawn splits, and copies of trees: judged by what half of the rows say of the other half."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem
from benchmarks.problems.trees import numbers, pairs

if TYPE_CHECKING:
    from collections.abc import Callable


def outliers(rng: np.random.Generator, n: int, p: int) -> Data:
    """Normal rows, a hundredth of them spread five times as far."""
    far = rng.random(n) < 0.01
    return Data(rng.standard_normal((n, p)) * np.where(far, 5.0, 1.0)[:, None], far.astype(np.int64))


def _error(model: Any, X: Any, y: Any) -> float:
    """Squared error, share of mistakes, or share of the farthest rows that are not outliers."""
    if hasattr(model, "score_samples"):
        return float(1 - y[np.argsort(model.score_samples(X))[: int(y.sum())]].mean())
    said = model.predict(X)
    return float(np.mean((said - y) ** 2) if y.dtype.kind == "f" else np.mean(said != y))


def learnt(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """A function of table and target: fit on the first half, and the error on the other; or predictions alone, after one fit."""
    name, _, only = task.partition(" ")
    make = partial(getattr(import_module(f"{library}.ensemble"), name), random_state=0, **params)
    kept: list[Any] = []

    def run(X: Any, y: Any) -> float:
        half = len(y) // 2
        if not (only and kept):
            kept[:] = [make().fit(X[:half], y[:half])]
        return _error(kept[0], X[half:], y[half:])

    return run


def constant(data: Data, params: dict[str, Any]) -> Any:  # noqa: ARG001
    """What a constant leaves."""
    if data.y.dtype.kind == "f":
        return [float(np.var(data.y))]
    return [1.0]


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **params: Any) -> Problem:
    run = partial(learnt, task)
    return Problem(name, title, shape, make, task, params, "workflow", run=run, expected=constant, is_ceiling=True)


SMALL, LARGE = (2000, 10), (40_000, 20)  # half of the rows are learnt from
PROBLEMS = (
    row(
        "gradient-boosting-small",
        "GradientBoostingRegressor 1000×10, defaults",
        SMALL,
        numbers,
        "GradientBoostingRegressor",
    ),
    row(
        "gradient-boosting-labels",
        "GradientBoostingClassifier 1000×10, defaults",
        SMALL,
        pairs,
        "GradientBoostingClassifier",
    ),
    row(
        "gradient-boosting-large",
        "GradientBoostingRegressor 20000×20, defaults",
        LARGE,
        numbers,
        "GradientBoostingRegressor",
    ),
    row(
        "gradient-boosting-predict",
        "predict of boosted trees, 20000×20",
        LARGE,
        numbers,
        "GradientBoostingRegressor predict",
    ),
    row("adaboost-small", "AdaBoostClassifier 1000×10, defaults", SMALL, pairs, "AdaBoostClassifier"),
    row("adaboost-large", "AdaBoostClassifier 20000×20, defaults", LARGE, pairs, "AdaBoostClassifier"),
    row("adaboost-numbers", "AdaBoostRegressor 1000×10, defaults", SMALL, numbers, "AdaBoostRegressor"),
    row("bagging-small", "BaggingClassifier 1000×10, defaults", SMALL, pairs, "BaggingClassifier"),
    row("bagging-large", "BaggingRegressor 20000×20, defaults", LARGE, numbers, "BaggingRegressor"),
    row("isolation-small", "IsolationForest 1000×10, defaults", SMALL, outliers, "IsolationForest"),
    row("isolation-large", "IsolationForest 20000×20, defaults", LARGE, outliers, "IsolationForest"),
    row(
        "isolation-scores", "score_samples of an isolation forest, 20000×20", LARGE, outliers, "IsolationForest predict"
    ),
)
