"""Decision trees, shallow and fully grown, judged by the impurity that they leave against that of greedy trees by definition."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem

if TYPE_CHECKING:
    from collections.abc import Callable


def pairs(rng: np.random.Generator, n: int, p: int) -> Data:
    """Two classes that depend on a column and a product of columns; values that float32 holds, as scikit-learn rounds to it."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    return Data(X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(n) > 0).astype(np.int64))


def numbers(rng: np.random.Generator, n: int, p: int) -> Data:
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    return Data(X, X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(n))


def flowers(rng: np.random.Generator, n: int, p: int) -> Data:
    """Three classes in lengths to a tenth, as iris has them."""
    y = np.arange(n) % 3
    return Data(np.round(rng.normal(y[:, None] * np.linspace(0.2, 1.5, p), 0.5, (n, p)), 1), y)


def columns(rng: np.random.Generator, n: int, p: int) -> Data:
    """Three columns of two, three and five classes."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    scores = (X[:, j] + X[:, j + 1] * X[:, j + 2] + rng.standard_normal(n) for j in range(3))
    cuts = ([0.0], [-0.7, 0.7], [-1.5, -0.5, 0.5, 1.5])
    return Data(X, np.column_stack([np.digitize(score, cut) for score, cut in zip(scores, cuts, strict=True)]))


def left_by(tree: Any) -> float:
    """The mean impurity of the leaves, by weight."""
    leaf = tree.children_left < 0
    weight = tree.weighted_n_node_samples
    return float(weight[leaf] @ tree.impurity[leaf] / weight[0])


def grown(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """A function of table and target: a tree grown and what it leaves; or, after the first call, what its predictions leave."""
    trees = import_module(f"{library}.tree")
    params = {"random_state": 0} | params
    if task != "tree predictions":
        return lambda X, y: left_by(getattr(trees, task)(**params).fit(X, y).tree_)
    kept: list[Any] = []

    def predict(X: Any, y: Any) -> float:
        if not kept:
            kept.append(trees.DecisionTreeRegressor(max_depth=10, **params).fit(X, y))
        return float(((kept[0].predict(X) - y) ** 2).mean())

    return predict


def _squares(y: np.ndarray) -> np.ndarray:
    """Squares about the mean, summed over all columns of y, left and right of every cut of rows in order."""
    y = y - y.mean(axis=0)
    count = np.arange(1, len(y))[:, None]
    left, right = np.cumsum(y, axis=0)[:-1], np.cumsum(y[::-1], axis=0)[-2::-1]
    return np.sum(y**2) - np.sum(left**2 / count + right**2 / (len(y) - count), axis=1)


def greedy(X: np.ndarray, y: np.ndarray, depth: int) -> float:
    """What a greedy tree of some depth leaves, summed: squares; of indicators of classes this is the Gini impurity."""
    own = float(np.sum((y - y.mean(axis=0)) ** 2))
    if depth == 0 or len(y) < 2 or own <= 1e-12:
        return own
    best = np.inf, 0, 0.0
    for j, column in enumerate(X.T):
        order = np.argsort(column, kind="stable")
        values = column[order]
        left = np.where(values[1:] > values[:-1], _squares(y[order]), np.inf)
        cut = int(left.argmin())
        if left[cut] < best[0] - 1e-9 * own:
            best = float(left[cut]), j, float(values[cut])
    if not np.isfinite(best[0]):
        return own
    low = X[:, best[1]] <= best[2]
    return greedy(X[low], y[low], depth - 1) + greedy(X[~low], y[~low], depth - 1)


def least_left(data: Data, params: dict[str, Any]) -> Any:
    """What a greedy tree leaves; nothing if it grows freely on rows that differ."""
    depth = params.get("max_depth", 10)
    if depth is None:
        return [0.0]
    if data.y.dtype.kind == "f":
        return [greedy(data.X, data.y.astype(np.float64)[:, None], depth) / len(data.y)]
    labels = data.y.reshape(len(data.y), -1)
    target = np.eye(int(labels.max()) + 1)[labels].reshape(len(labels), -1)  # the indicators of all columns of labels
    return [greedy(data.X, target, depth) / labels.size]


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **params: Any) -> Problem:
    run = partial(grown, task)
    return Problem(name, title, shape, make, task, params, "workflow", run=run, expected=least_left, is_ceiling=True)


CLASSES, NUMBERS = "DecisionTreeClassifier", "DecisionTreeRegressor"
PROBLEMS = (
    row("tree-tiny", "DecisionTreeClassifier 150×4, three classes, depth 3", (150, 4), flowers, CLASSES, max_depth=3),
    row("tree-small", "DecisionTreeClassifier 1000×20", (1000, 20), pairs, CLASSES, max_depth=None),
    row("tree-small-numbers", "DecisionTreeRegressor 1000×20, depth 6", (1000, 20), numbers, NUMBERS, max_depth=6),
    row("tree-drawn-small", "ExtraTreeClassifier 1000×20", (1000, 20), pairs, "ExtraTreeClassifier", max_depth=None),
    row(
        "tree-drawn-numbers", "ExtraTreeRegressor 1e5×50", (100_000, 50), numbers, "ExtraTreeRegressor", max_depth=None
    ),
    row(
        "tree-label-columns", "DecisionTreeClassifier 20000×20, 3 columns", (20_000, 20), columns, CLASSES, max_depth=10
    ),
    row(
        "tree-label-columns-small",
        "DecisionTreeClassifier 1000×10, 3 columns",
        (1000, 10),
        columns,
        CLASSES,
        max_depth=None,
    ),
    row("tree-shallow", "DecisionTreeClassifier 1e5×50, depth 10", (100_000, 50), pairs, CLASSES, max_depth=10),
    row("tree-full", "DecisionTreeClassifier 1e5×50, pure leaves", (100_000, 50), pairs, CLASSES, max_depth=None),
    row("tree-numbers", "DecisionTreeRegressor 1e5×50, depth 10", (100_000, 50), numbers, NUMBERS, max_depth=10),
    row("tree-predict", "predict of a tree of depth 10, 1e5×50", (100_000, 50), numbers, "tree predictions"),
)
