"""What a tree leaves, read from its nodes; and what greedy trees leave by definition, in plain NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


TASKS = ("DecisionTreeClassifier", "DecisionTreeRegressor", "tree predictions")


def left_by(tree: Any) -> float:
    """The mean impurity of the leaves, by weight."""
    leaf = tree.children_left < 0
    weight = tree.weighted_n_node_samples
    return float(weight[leaf] @ tree.impurity[leaf] / weight[0])


def grown(library: str, task: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
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
