"""Columns that are kept or left: in groups, one after the other; and classes by least squares with a chosen strength."""

from __future__ import annotations

import numpy as np

from benchmarks.problems._problem import Data, Problem

MEMBERS = 10  # columns of a group


def grouped(rng: np.random.Generator, n: int, p: int) -> Data:
    """Correlated columns, of which every twentieth group is useful."""
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.3 * X[:, :-1]
    group = np.arange(p) // MEMBERS
    w = np.where(group % 20 == 0, rng.standard_normal(p), 0.0)
    return Data(X, X @ w + np.std(X @ w) * rng.standard_normal(n))


def classes(rng: np.random.Generator, n: int, p: int) -> Data:
    """Ten classes around centres that overlap."""
    labels = rng.integers(0, 10, n)
    return Data(rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((10, p))[labels], labels)


def some_useful(rng: np.random.Generator, n: int, p: int) -> Data:
    """A quarter of the columns are useful."""
    X = rng.standard_normal((n, p))
    return Data(X, X @ np.where(np.arange(p) % 4 == 0, 1.0, 0.0) + rng.standard_normal(n))


STRENGTHS = np.logspace(-2, 4, 13).tolist()
PROBLEMS = (
    Problem("group-lasso", "GroupLasso 1000×5000, groups of 10", (1000, 5000), grouped, "GroupLasso",
            {"alpha": 1.2, "groups": MEMBERS, "tol": 1e-6}, scales=(True, True)),
    Problem("group-lasso-weak", "GroupLasso 1000×5000, a weak penalty", (1000, 5000), grouped, "GroupLasso",
            {"alpha": 0.2, "groups": MEMBERS, "tol": 1e-6}, scales=(True, True)),
    Problem("group-lasso-dense", "GroupLasso 500×2000, nearly no penalty", (500, 2000), grouped, "GroupLasso",
            {"alpha": 0.02, "groups": MEMBERS, "tol": 1e-6}, scales=(True, True)),
    Problem("ridge-classes-cv", "RidgeClassifierCV 20000×50, 10 classes, 13 strengths", (20_000, 50), classes,
            "RidgeClassifierCV", {"alphas": STRENGTHS}),
    Problem("few-classes-cv", "RidgeClassifierCV 500×20, 10 classes, 13 strengths", (500, 20), classes,
            "RidgeClassifierCV", {"alphas": STRENGTHS}),
    Problem("greedy-ols", "SequentialFeatureSelector least squares, 10 of 20 columns, 2000 rows", (2000, 20), some_useful,
            "SequentialFeatureSelector", {"n_features_to_select": 10}, measure="workflow"),
)  # fmt: skip
