"""Ensembles over trees by exact or drawn splits, and copies of trees: judged by what half of the rows say of the other half."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, no_surprise
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
    kind = model_of(library, "ensemble", name)
    jobs = {"n_jobs": -1} if library != "qed" and "n_jobs" in kind.__init__.__code__.co_varnames else {}  # all threads
    make = partial(kind, **{"random_state": 0, **params}, **jobs)
    kept: list[Any] = []

    def run(X: Any, y: Any) -> float:
        half = len(y) // 2
        if not (only and kept):
            kept[:] = [make().fit(X[:half], y[:half])]
        return _error(kept[0], X[half:], y[half:])

    return run


SEEDS = 5


def theirs(task: str, data: Data, params: dict[str, Any]) -> Any:
    """The largest error that is no surprise after those of scikit-learn's models of other seeds, on the same rows."""
    changes = [{"random_state": seed} for seed in range(1, SEEDS + 1)]
    if "Hist" in task:  # which draws nothing of small tables: what varies is where its bins happen to end
        changes = [{"random_state": 0, "max_bins": 255 - seed} for seed in range(1, SEEDS + 1)]
    return no_surprise([learnt(task, "sklearn", params | change)(data.X, data.y) for change in changes])


def leaves(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """How many leaves of drawn trees rows fall into, on average."""
    model = model_of(library, "ensemble", "RandomTreesEmbedding")
    return lambda X, _: float(model(random_state=0, **params).fit_transform(X).sum() / len(X))


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **params: Any) -> Problem:
    run, want = partial(learnt, task), partial(theirs, task)
    return Problem(name, title, shape, make, task, params, "workflow", run=run, expected=want, is_ceiling=True)


def drawn_leaves(name: str, title: str, shape: tuple[int, int]) -> Problem:
    """A row falls into one leaf of each of a hundred trees."""
    return Problem(
        name, title, shape, numbers, "RandomTreesEmbedding", measure="workflow", run=leaves, expected=lambda *_: [100.0]
    )


SMALL, LARGE = (2000, 10), (40_000, 20)  # half of the rows are learnt from
PROBLEMS = (
    row("forest-numbers-small", "RandomForestRegressor 1000×10, defaults", SMALL, numbers, "RandomForestRegressor"),
    row("forest-numbers", "RandomForestRegressor 20000×20, defaults", LARGE, numbers, "RandomForestRegressor"),
    row("extra-numbers-small", "ExtraTreesRegressor 1000×10, defaults", SMALL, numbers, "ExtraTreesRegressor"),
    row("extra-numbers", "ExtraTreesRegressor 20000×20, defaults", LARGE, numbers, "ExtraTreesRegressor"),
    row(
        "boosting-numbers-small",
        "HistGradientBoostingRegressor 1000×10, defaults",
        SMALL,
        numbers,
        "HistGradientBoostingRegressor",
    ),
    row(
        "boosting-numbers",
        "HistGradientBoostingRegressor 20000×20, defaults",
        LARGE,
        numbers,
        "HistGradientBoostingRegressor",
    ),
    drawn_leaves("leaves-small", "RandomTreesEmbedding 1000×10, defaults", (1000, 10)),
    drawn_leaves("leaves-large", "RandomTreesEmbedding 20000×20, defaults", (20_000, 20)),
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
