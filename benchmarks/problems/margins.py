"""Planes with a margin: squared hinges and hinges, under squares and under absolute values."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.problems._problem import Data, Problem
from benchmarks.problems.likelihood import labels, scattered
from benchmarks.problems.robust import heavy

SQUARES = {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}
HINGE = {"loss": "hinge", "max_iter": 100_000}
FIXED = (False, False)


def narrow(rng: np.random.Generator, n: int, p: int) -> Data:
    """Return the same with indices of 32 bits: liblinear takes no others."""
    from scipy.sparse import csr_array

    data = scattered(rng, n, p)
    parts = (data.X.data, data.X.indices.astype(np.int32), data.X.indptr.astype(np.int32))
    return Data(csr_array(parts, shape=data.X.shape), data.y)


def thin(rng: np.random.Generator, n: int, p: int, *, has_sides: bool) -> Data:
    """Return a small sparse table, one entry in a hundred, and scores of it or their signs."""
    from scipy.sparse import csr_array

    each = max(1, p // 100)
    indices = np.sort(rng.integers(0, p, size=(n, each), dtype=np.int32), axis=1)
    starts = np.arange(0, n * each + 1, each, dtype=np.int32)
    X = csr_array((rng.standard_normal(n * each), indices.ravel(), starts), shape=(n, p))
    X.sum_duplicates()
    score = X @ rng.standard_normal(p) / np.sqrt(each) + 0.3 * rng.standard_normal(n)
    return Data(X, (score > 0).astype(np.int64) if has_sides else score)


SIDES, SCORES = partial(thin, has_sides=True), partial(thin, has_sides=False)
THIN = {"is_sparse": True, "scales": FIXED}

PROBLEMS = (
    Problem("small-svc", "LinearSVC 100×5", (100, 5), labels, "LinearSVC", scales=FIXED),
    Problem(
        "classes-svc", "LinearSVC 150×4, 3 classes", (150, 4), partial(labels, classes=3), "LinearSVC", scales=FIXED
    ),
    Problem("tall-svc", "LinearSVC 200000×50", (200_000, 50), labels, "LinearSVC"),
    # liblinear takes minutes for 2e5 rows, and stops before its tolerance
    Problem("tall-hinge", "LinearSVC 10000×50, hinge", (10_000, 50), labels, "LinearSVC", {"loss": "hinge"}),
    Problem("tall-svc-l1", "LinearSVC 200000×50, l1", (200_000, 50), labels, "LinearSVC", {"penalty": "l1"}),
    Problem(
        "sparse-svc-l1",
        "LinearSVC 20000×20000, l1, C=0.02, sparse, 2e6 entries",
        (20_000, 20_000),
        narrow,
        "LinearSVC",
        {"penalty": "l1", "C": 0.02},
        is_sparse=True,
        scales=(True, True),
    ),
    Problem("small-hinge", "LinearSVC 500×20, hinge", (500, 20), labels, "LinearSVC", HINGE, scales=FIXED),
    Problem("small-svc-l1", "LinearSVC 500×20, l1", (500, 20), labels, "LinearSVC", {"penalty": "l1"}, scales=FIXED),
    Problem("small-svr", "LinearSVR 500×20", (500, 20), heavy, "LinearSVR", {"epsilon": 0.1}, scales=FIXED),
    Problem("small-svr-squares", "LinearSVR 500×20, squares", (500, 20), heavy, "LinearSVR", SQUARES, scales=FIXED),
    # liblinear takes more than a minute for 1e5 rows, and stops before its tolerance
    Problem("tall-svr", "LinearSVR 5000×20", (5000, 20), heavy, "LinearSVR", {"epsilon": 0.1}),
    Problem("tall-svr-squares", "LinearSVR 1e5×50, squares", (100_000, 50), heavy, "LinearSVR", SQUARES),
    Problem(
        "thin-hinge",
        "LinearSVC 2000×2000, hinge, C=0.01, sparse 1 %",
        (2000, 2000),
        SIDES,
        "LinearSVC",
        {**HINGE, "C": 0.01},
        **THIN,
    ),
    Problem("thin-svc", "LinearSVC 2000×2000, sparse 1 %", (2000, 2000), SIDES, "LinearSVC", **THIN),
    Problem(
        "thin-svc-l1",
        "LinearSVC 2000×2000, l1, C=10, sparse 1 %",
        (2000, 2000),
        SIDES,
        "LinearSVC",
        {"penalty": "l1", "C": 10.0, "max_iter": 10_000},
        **THIN,
    ),
    Problem(
        "thin-svr",
        "LinearSVR 2000×2000, C=0.1, sparse 1 %",
        (2000, 2000),
        SCORES,
        "LinearSVR",
        {"C": 0.1},
        **THIN,
    ),
    Problem(
        "thin-svr-squares",
        "LinearSVR 2000×2000, squares, C=0.1, sparse 1 %",
        (2000, 2000),
        SCORES,
        "LinearSVR",
        {**SQUARES, "C": 0.1},
        **THIN,
    ),
)
