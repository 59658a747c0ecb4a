"""CSR data with one entry in a hundred."""

from __future__ import annotations

import numpy as np

from benchmarks.problems._problem import Data, Problem


def scattered(rng: np.random.Generator, n: int, p: int) -> Data:
    from scipy.sparse import csr_array

    row = max(1, p // 100)
    indices = np.sort(rng.integers(0, p, size=(n, row), dtype=np.int32), axis=1)
    X = csr_array((rng.standard_normal(n * row), indices.ravel(), np.arange(0, n * row + 1, row)), shape=(n, p))
    X.sum_duplicates()
    return Data(X, X @ rng.standard_normal(p) + rng.standard_normal(n))


PROBLEMS = (
    Problem(
        "sparse-ols",
        "LinearRegression 200000×1000, sparse 1 %",
        (200_000, 1000),
        scattered,
        "LinearRegression",
        is_sparse=True,
    ),
    Problem(
        "sparse-ridge",
        "Ridge 200000×1000, sparse 1 %",
        (200_000, 1000),
        scattered,
        "Ridge",
        {"alpha": 1.0},
        is_sparse=True,
    ),
)
