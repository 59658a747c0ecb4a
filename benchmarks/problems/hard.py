"""Columns that repeat each other, exactly or nearly: where normal equations alone would fail."""

from __future__ import annotations

import numpy as np

from benchmarks.problems._problem import Data, Problem, gaussian


def deficient(rng: np.random.Generator, n: int, p: int) -> Data:
    """A fifth of the columns are sums of others."""
    data = gaussian(rng, n, p)
    free = p - p // 5
    data.X[:, free:] = data.X[:, : p - free] + data.X[:, 1 : p - free + 1]
    return Data(data.X, data.X @ rng.standard_normal(p) + rng.standard_normal(n))


def ill_conditioned(rng: np.random.Generator, n: int, p: int) -> Data:
    """Condition number near 1e8, and a target to which all directions contribute alike, the weak ones too."""
    G = rng.standard_normal((n, p))
    X = (G * np.geomspace(1.0, 1e-8, p)) @ np.linalg.qr(rng.standard_normal((p, p)))[0].T
    return Data(X, G @ rng.standard_normal(p) + 1e-3 * rng.standard_normal(n))


PROBLEMS = (
    Problem("deficient-ols", "LinearRegression 200000×50, rank 40", (200_000, 50), deficient, "LinearRegression"),
    Problem("ill-ols", "LinearRegression 200000×50, condition 1e8", (200_000, 50), ill_conditioned, "LinearRegression"),
)
