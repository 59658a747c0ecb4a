"""Decision trees, shallow and fully grown, judged by the impurity that they leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems._problem import Data, Problem


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


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **params: Any) -> Problem:
    return Problem(name, title, shape, make, task, params, measure="workflow")


CLASSES, NUMBERS = "DecisionTreeClassifier", "DecisionTreeRegressor"
PROBLEMS = (
    row("tree-tiny", "DecisionTreeClassifier 150×4, three classes, depth 3", (150, 4), flowers, CLASSES, max_depth=3),
    row("tree-small", "DecisionTreeClassifier 1000×20", (1000, 20), pairs, CLASSES, max_depth=None),
    row("tree-small-numbers", "DecisionTreeRegressor 1000×20, depth 6", (1000, 20), numbers, NUMBERS, max_depth=6),
    row("tree-shallow", "DecisionTreeClassifier 1e5×50, depth 10", (100_000, 50), pairs, CLASSES, max_depth=10),
    row("tree-full", "DecisionTreeClassifier 1e5×50, pure leaves", (100_000, 50), pairs, CLASSES, max_depth=None),
    row("tree-numbers", "DecisionTreeRegressor 1e5×50, depth 10", (100_000, 50), numbers, NUMBERS, max_depth=10),
    row("tree-predict", "predict of a tree of depth 10, 1e5×50", (100_000, 50), numbers, "tree predictions"),
)
