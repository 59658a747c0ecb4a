"""Labels and counts: smooth convex models, where a few passes over memory are the floor."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.problems._problem import Data, Problem

STRENGTHS = [float(C) for C in np.geomspace(1e-4, 1e4, 10)]


def labels(rng: np.random.Generator, n: int, p: int, *, classes: int = 2) -> Data:
    """Draw independent columns, and labels whose log-odds are linear in them."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    scores = X @ (2.0 * rng.standard_normal((p, classes)) / np.sqrt(p)) + rng.gumbel(size=(n, classes))
    return Data(X, scores.argmax(axis=1))


def counts(rng: np.random.Generator, n: int, p: int) -> Data:
    """Draw independent columns, and counts whose mean is the exponential of a score."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    return Data(X, rng.poisson(np.exp(X @ (rng.standard_normal(p) / np.sqrt(p)))).astype(np.float64))


def scattered(rng: np.random.Generator, n: int, p: int) -> Data:
    """Draw a hundred entries in each row, and labels whose log-odds are linear in them."""
    from scipy.sparse import csr_array

    row = min(100, p)
    indices = np.sort(rng.integers(0, p, size=(n, row), dtype=np.int32), axis=1)
    X = csr_array(
        (rng.standard_normal(n * row), indices.ravel(), np.arange(0, n * row + 1, row, dtype=np.int32)), shape=(n, p)
    )
    X.sum_duplicates()
    odds = X @ (rng.standard_normal(p) / np.sqrt(row))
    return Data(X, (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64))


PROBLEMS = (
    Problem(
        "small-logistic", "LogisticRegression 100×5", (100, 5), labels, "LogisticRegression", scales=(False, False)
    ),
    Problem(
        "medium-logistic", "LogisticRegression 569×30", (569, 30), labels, "LogisticRegression", scales=(False, False)
    ),
    Problem(
        "small-classes",
        "LogisticRegression 150×4, 3 classes",
        (150, 4),
        partial(labels, classes=3),
        "LogisticRegression",
        scales=(False, False),
    ),
    Problem(
        "medium-classes",
        "LogisticRegression 1797×64, 10 classes",
        (1797, 64),
        partial(labels, classes=10),
        "LogisticRegression",
        scales=(False, False),
    ),
    Problem("tall-logistic", "LogisticRegression 1e6×50", (1_000_000, 50), labels, "LogisticRegression"),
    Problem(
        "classes-logistic",
        "LogisticRegression 100000×100, 10 classes",
        (100_000, 100),
        partial(labels, classes=10),
        "LogisticRegression",
    ),
    Problem(
        "sparse-logistic",
        "LogisticRegression 100000×50000, sparse, 1e7 entries",
        (100_000, 50_000),
        scattered,
        "LogisticRegression",
        is_sparse=True,
        scales=(True, True),
    ),
    Problem(
        "sparse-l1-logistic",
        "LogisticRegression, l1, 20000×50000, sparse, 2e6 entries",
        (20_000, 50_000),
        scattered,
        "LogisticRegression",
        {"C": 1.0, "l1_ratio": 1.0, "solver": "liblinear", "tol": 1e-6},
        is_sparse=True,
        scales=(True, True),
    ),
    Problem(
        "classes-l1-logistic",
        "LogisticRegression, l1, 2000×50, 5 classes",
        (2000, 50),
        partial(labels, classes=5),
        "LogisticRegression",
        {"C": 0.1, "l1_ratio": 1.0, "solver": "saga", "tol": 1e-6},
    ),
    Problem(
        "logistic-cv",
        "LogisticRegressionCV 1000×20, 3 classes, 10 strengths, 5 folds",
        (1000, 20),
        partial(labels, classes=3),
        "LogisticRegressionCV",
        {"Cs": STRENGTHS, "cv": 5, "scoring": "neg_log_loss", "use_legacy_attributes": False},
        judged_at=STRENGTHS[4],  # scikit-learn's choice
    ),
    Problem("tall-poisson", "PoissonRegressor 100000×50", (100_000, 50), counts, "PoissonRegressor"),
)
