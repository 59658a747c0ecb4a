"""Few useful columns among many. The tolerance is one at which every rival's objective is equal to a millionth."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.problems._problem import Data, Problem, gaussian

USEFUL = 100
TOL = 1e-6
STRENGTHS = [float(alpha) for alpha in np.geomspace(3.0, 0.003, 100)]


def hidden(rng: np.random.Generator, n: int, p: int) -> Data:
    """Independent columns, a hundred of them useful, a third as much noise as signal."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    w = np.zeros(p)
    some = rng.choice(p, min(USEFUL, max(1, p // 10)), replace=False)
    w[some] = rng.standard_normal(len(some))
    signal = X @ w
    return Data(X, signal + 2.0 + signal.std() / 3 * rng.standard_normal(n))


def scattered(rng: np.random.Generator, n: int, p: int) -> Data:
    """The same, with a hundred entries a row."""
    from scipy.sparse import csr_array

    row = max(1, p // 500)
    indices = np.sort(rng.integers(0, p, size=(n, row), dtype=np.int32), axis=1)
    X = csr_array(
        (rng.standard_normal(n * row), indices.ravel(), np.arange(0, n * row + 1, row, dtype=np.int32)), shape=(n, p)
    )
    X.sum_duplicates()
    w = np.zeros(p)
    some = rng.choice(p, min(2 * USEFUL, p), replace=False)
    w[some] = 3 * rng.standard_normal(len(some))
    signal = X @ w
    return Data(X, signal + signal.std() / 3 * rng.standard_normal(n))


PROBLEMS = (
    Problem("lasso-small", "Lasso 100×10", (100, 10), hidden, "Lasso", {"alpha": 0.1}),
    Problem(
        "lasso-wide",
        "Lasso 5000×20000",
        (5000, 20_000),
        hidden,
        "Lasso",
        {"alpha": 0.15, "tol": TOL},
        scales=(True, True),
    ),
    Problem("lasso-tall", "Lasso 20000×1000", (20_000, 1000), hidden, "Lasso", {"alpha": 0.15, "tol": TOL}),
    Problem(
        "lasso-sparse",
        "Lasso 20000×50000, 2e6 entries",
        (20_000, 50_000),
        scattered,
        "Lasso",
        {"alpha": 2e-3, "tol": TOL},
        is_sparse=True,
        scales=(True, True),
    ),
    Problem(
        "elastic-net",
        "ElasticNet 5000×10000",
        (5000, 10_000),
        hidden,
        "ElasticNet",
        {"alpha": 0.3, "l1_ratio": 0.5, "tol": TOL},
        scales=(True, True),
    ),
    Problem(
        "lasso-cv",
        "LassoCV 1000×5000, 100 strengths, 5 folds",
        (1000, 5000),
        hidden,
        "LassoCV",
        {"cv": 5, "alphas": STRENGTHS},  # at the tolerance above scikit-learn takes ten minutes
        scales=(True, True),
        judged_at=STRENGTHS[41],  # scikit-learn's choice
    ),
    Problem(
        "elastic-net-cv",
        "ElasticNetCV 2000×500, 100 strengths, 5 folds",
        (2000, 500),
        hidden,
        "ElasticNetCV",
        {"cv": 5, "alphas": STRENGTHS, "l1_ratio": 0.5},
        judged_at=STRENGTHS[55],  # scikit-learn's choice
    ),
    Problem(
        "small-multi-task",
        "MultiTaskLasso 1000×20, 2 targets",
        (1000, 20),
        partial(gaussian, targets=2),
        "MultiTaskLasso",
        {"alpha": 0.1},
    ),
    Problem(
        "multi-task",
        "MultiTaskLasso 2000×1000, 5 targets",
        (2000, 1000),
        partial(gaussian, targets=5),
        "MultiTaskLasso",
        {"alpha": 0.3, "tol": TOL},
    ),
)
