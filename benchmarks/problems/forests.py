"""Forests, extra trees and boosting, judged by their mean error on held-out rows against scikit-learn's of other seeds."""

from __future__ import annotations

import pickle
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, no_surprise

if TYPE_CHECKING:
    from collections.abc import Callable

HELD = 1 / 3  # of the rows


def scores(X: np.ndarray) -> np.ndarray:
    """What the labels follow: lines, a product, a wave and a kink."""
    kink = 0.7 * (X[:, 4] > 0.5) * X[:, 5] + 0.5 * np.abs(X[:, 6])
    return 1.2 * X[:, 0] + (X[:, 1] + 0.5) * (X[:, 2] - 0.5) + np.sin(2 * X[:, 3]) + kink - 0.15


def labels(rng: np.random.Generator, n: int, p: int) -> Data:
    """Two classes by the logistic model of the scores; values that float32 holds, as scikit-learn rounds to it."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    return Data(X, (scores(X) + 0.65 * rng.logistic(size=n) > 0).astype(np.int64))


def kinds(rng: np.random.Generator, n: int, p: int, *, classes: int) -> Data:
    """Several classes by the multinomial logistic model: the scores of each follow other columns."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    each = np.column_stack([scores(np.roll(X, 3 * k, axis=1)) for k in range(classes)])
    return Data(X, (each + rng.gumbel(size=each.shape)).argmax(axis=1))


# Histogram boosting of other libraries, at the rounds, leaves, bins and learning rate of scikit-learn's defaults.
LEAVES = {"n_estimators": 100, "learning_rate": 0.1, "max_bin": 255, "n_jobs": -1}
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBMClassifier", {**LEAVES, "num_leaves": 31, "verbose": -1}),
    "xgboost": ("XGBClassifier", {**LEAVES, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}),
}


def maker(task: str, library: str, params: dict[str, Any]) -> Callable[[], Any]:
    """A function that makes a model which uses all threads."""
    if library in PEERS:
        name, own = PEERS[library]
        return partial(getattr(import_module(library), name), random_state=0, **own)
    jobs = {"n_jobs": -1} if library != "qed" and "Hist" not in task else {}
    return partial(model_of(library, "ensemble", task), **{"random_state": 0, **params}, **jobs)


def held_out(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """A function of table and target: a model fitted on the first rows, and its mean error on the others."""
    make = maker(task, library, params)

    def work(X: Any, y: Any) -> float:
        at = len(X) - int(HELD * len(X))
        model = make().fit(X[:at], y[:at])
        return error_of(task, model.predict_proba(X[at:]), y[at:])

    return work


def one_by_one(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """A function that asks a model, fitted by the first call, about a hundred single rows."""
    kind, kept = model_of(library, "ensemble", task), []

    def work(X: Any, y: Any) -> float:
        at = len(X) - int(HELD * len(X))
        if not kept:
            kept.append(kind(**{"random_state": 0, **params}).fit(X[:at], y[:at]))
        found = [kept[0].predict_proba(X[i : i + 1])[0] for i in range(at, min(at + 100, len(X)))]
        return error_of(task, np.array(found), y[at : at + 100])

    return work


def file_size(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """A function that writes a model, fitted by the first call, to a file, and gives its size in MB."""
    make, kept = maker(task, library, params), []

    def work(X: Any, y: Any) -> float:
        if not kept:
            kept.append(make().fit(X, y))
        if library != "qed":
            return len(pickle.dumps(kept[0], protocol=5)) / 1e6
        with tempfile.TemporaryDirectory() as folder:
            kept[0].save(Path(folder) / "forest.qed")
            return (Path(folder) / "forest.qed").stat().st_size / 1e6

    return work


def eighth_of_a_pickle(task: str, data: Data, params: dict[str, Any]) -> Any:
    """An eighth of the size of scikit-learn's pickle, from a twentieth of the trees."""
    few = {**params, "n_estimators": 5, "random_state": 1}
    return [file_size(task, "sklearn", few)(data.X, data.y) * 20 / 8]


def error_of(task: str, p: np.ndarray, y: np.ndarray) -> float:
    """The log loss of boosting, the error rate of votes."""
    if "Hist" not in task:
        return float(np.mean(p.argmax(axis=1) != y))
    return float(-np.mean(np.log(np.clip(p[np.arange(len(y)), y], 1e-12, None))))


SEEDS = 5


def as_others_reach(task: str, data: Data, params: dict[str, Any]) -> Any:
    """The largest error that is no surprise after those of scikit-learn's models of other seeds, on the same rows."""
    seeds = [{**params, "random_state": seed} for seed in range(1, SEEDS + 1)]
    if "Hist" in task:  # which draws nothing of small tables: what varies is where its bins happen to end
        seeds = [{**own, "max_bins": 255 - own["random_state"]} for own in seeds]
    return no_surprise([held_out(task, "sklearn", own)(data.X, data.y) for own in seeds])


def single_rows_of_others(task: str, data: Data, params: dict[str, Any]) -> Any:
    """The same of a hundred rows, of which two wrong answers more are no surprise either."""
    seeds = [{**params, "random_state": seed} for seed in range(1, SEEDS + 1)]
    found = [one_by_one(task, "sklearn", own)(data.X, data.y) for own in seeds]
    return [max(no_surprise(found)[0], float(np.mean(found)) + 0.02)]


def row(name: str, title: str, shape: tuple[int, int], task: str, make: Any = labels, **params: Any) -> Problem:
    run, want = partial(held_out, task), partial(as_others_reach, task)
    peers = ("lightgbm", "xgboost") if task == BOOSTING else ("intelex",)
    return Problem(
        name, title, shape, make, task, params, "workflow", run=run, expected=want, peers=peers, is_ceiling=True
    )


def stored(name: str, title: str, shape: tuple[int, int], task: str, **params: Any) -> Problem:
    run, want = partial(file_size, task), partial(eighth_of_a_pickle, task)
    return Problem(name, title, shape, labels, task, params, "workflow", run=run, expected=want, is_ceiling=True)


def asked(name: str, title: str, shape: tuple[int, int], task: str, **params: Any) -> Problem:
    run, want = partial(one_by_one, task), partial(single_rows_of_others, task)
    return Problem(name, title, shape, labels, task, params, "workflow", run=run, expected=want, is_ceiling=True)


FOREST, EXTRA, BOOSTING = "RandomForestClassifier", "ExtraTreesClassifier", "HistGradientBoostingClassifier"
ROUNDS = {"early_stopping": False}
PROBLEMS = (
    row("forest-small", "RandomForestClassifier 1000×10, 500 rows asked", (1500, 10), FOREST),
    row("extra-small", "ExtraTreesClassifier 1000×10, 500 rows asked", (1500, 10), EXTRA),
    row("boosting-small", "HistGradientBoostingClassifier 1000×10, 500 rows asked", (1500, 10), BOOSTING),
    asked("forest-rows", "RandomForestClassifier asked about 100 single rows", (1500, 10), FOREST),
    asked("boosting-rows", "HistGradientBoostingClassifier asked about 100 single rows", (1500, 10), BOOSTING),
    row("forest-large", "RandomForestClassifier 1e5×30, 5e4 rows asked", (150_000, 30), FOREST),
    row("extra-large", "ExtraTreesClassifier 1e5×30, 5e4 rows asked", (150_000, 30), EXTRA),
    row(
        "boosting-large",
        "HistGradientBoostingClassifier 5e5×30, 2.5e5 rows asked",
        (750_000, 30),
        BOOSTING,
        **ROUNDS,
    ),
    row(
        "boosting-classes-small",
        "HistGradientBoostingClassifier 1000×10, 5 classes, 500 rows asked",
        (1500, 10),
        BOOSTING,
        partial(kinds, classes=5),
    ),
    row(
        "boosting-classes",
        "HistGradientBoostingClassifier 1e5×30, 5 classes, 5e4 rows asked",
        (150_000, 30),
        BOOSTING,
        partial(kinds, classes=5),
        **ROUNDS,
    ),
    stored("forest-file", "file of RandomForestClassifier on 1e5×30, written, in MB", (100_000, 30), FOREST),
)
