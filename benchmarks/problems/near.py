"""Nearest rows and densities: fitted and asked, or fitted once and asked again."""

from __future__ import annotations

import numpy as np

from benchmarks.problems._problem import Data, Problem


def cloud(rng: np.random.Generator, n: int, p: int) -> Data:
    """Gaussian rows, and three labels that follow the first column."""
    X = rng.standard_normal((n, p))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), [-0.5, 0.5])
    y[-3:] = y[:3] = [0, 1, 2]
    return Data(X, y)


def near(
    name: str, title: str, shape: tuple[int, int], task: str = "KNeighborsClassifier", **params: object
) -> Problem:
    return Problem(name, f"{task} {title}", shape, cloud, task, params, measure="workflow")


PROBLEMS = (
    near("near-small", "100×5, fit and 50 queries", (150, 5), queries=50),
    near("near-1000", "1000×20, fit and 1000 queries", (2000, 20), queries=1000),
    near("near-fit", "1e5×10, fit and one query", (100_001, 10), queries=1),
    near("near-10", "1e5×10, 1000 queries", (101_000, 10), queries=1000, once=True),
    near("near-3", "1e5×3, 1e4 queries", (110_000, 3), "KNeighborsRegressor", queries=10_000, once=True),
    near("near-100", "1e4×100, 1000 queries", (11_000, 100), queries=1000, once=True),
    near("near-one", "1e4×100, one query", (10_001, 100), queries=1, once=True),
    near("density-small", "100×2, fit and 100 points", (200, 2), "KernelDensity", queries=100, bandwidth=0.5),
    near("density", "1e4×2, 500 points", (10_500, 2), "KernelDensity", queries=500, bandwidth=0.3, once=True),
    near(
        "density-tophat",
        "1e5×2, tophat, 500 points",
        (100_500, 2),
        "KernelDensity",
        queries=500,
        bandwidth=0.5,
        kernel="tophat",
        once=True,
    ),
)
