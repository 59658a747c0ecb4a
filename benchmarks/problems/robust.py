"""Heavy tails: medians, quantiles, and a scale that outliers do not move."""

from __future__ import annotations

import numpy as np

from benchmarks.problems._problem import Data, Problem


def heavy(rng: np.random.Generator, n: int, p: int) -> Data:
    """Independent columns, a third of them useful, noise with three degrees of freedom."""
    X = rng.standard_normal((n, p)) + 1.0
    w = np.where(np.arange(p) % 3 == 0, rng.standard_normal(p), 0.0)
    return Data(X, X @ w + rng.standard_t(3, size=n))


PROBLEMS = (
    Problem("small-quantile", "QuantileRegressor 100×5", (100, 5), heavy, "QuantileRegressor", {"alpha": 0.01}),
    # scikit-learn takes minutes for 1e5 rows: its linear program grows faster than the rows do
    Problem("tall-quantile", "QuantileRegressor 5000×50", (5000, 50), heavy, "QuantileRegressor", {"alpha": 0.001}),
    Problem("small-huber", "HuberRegressor 1000×20", (1000, 20), heavy, "HuberRegressor"),
    Problem("tall-huber", "HuberRegressor 1e5×50", (100_000, 50), heavy, "HuberRegressor"),
)
