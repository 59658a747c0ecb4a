"""Models that learn one row at a time: ten passes, and a share of mistakes that both must stay below."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.problems._problem import Data, Problem, gaussian
from benchmarks.problems.likelihood import labels, scattered

TEN = {"max_iter": 10, "tol": None, "random_state": 0}


def scaled(rng: np.random.Generator, n: int, p: int) -> Data:
    """Draw columns about zero, and a target that is linear in them."""
    data = gaussian(rng, n, p)
    return Data(data.X - 1.0, data.y)


def narrow(rng: np.random.Generator, n: int, p: int) -> Data:
    """Draw sparse rows with the indices of 32 bits that scikit-learn asks for."""
    data = scattered(rng, n, p)
    data.X.indptr, data.X.indices = data.X.indptr.astype(np.int32), data.X.indices.astype(np.int32)
    return data


PROBLEMS = (
    Problem(
        "small-perceptron",
        "Perceptron 100×5, 10 passes",
        (100, 5),
        labels,
        "Perceptron",
        TEN,
        judged_at=0.5,
        scales=(False, False),
    ),
    Problem(
        "tall-perceptron", "Perceptron 1e6×50, 10 passes", (1_000_000, 50), labels, "Perceptron", TEN, judged_at=0.3
    ),
    Problem(
        "tall-sgd", "SGDClassifier 1e6×50, 10 passes", (1_000_000, 50), labels, "SGDClassifier", TEN, judged_at=0.2
    ),
    Problem(
        "tall-sgd-log",
        "SGDClassifier 1e6×50, logistic, 10 passes",
        (1_000_000, 50),
        labels,
        "SGDClassifier",
        {**TEN, "loss": "log_loss"},
        judged_at=0.2,
    ),
    Problem(
        "classes-sgd",
        "SGDClassifier 100000×100, 10 classes, 10 passes",
        (100_000, 100),
        partial(labels, classes=10),
        "SGDClassifier",
        {**TEN, "loss": "log_loss"},
        judged_at=0.6,
    ),
    Problem(
        "sparse-sgd",
        "SGDClassifier 100000×50000, sparse, 1e7 entries, 10 passes",
        (100_000, 50_000),
        narrow,
        "SGDClassifier",
        {**TEN, "loss": "log_loss"},
        judged_at=0.5,
        is_sparse=True,
    ),
    Problem(
        "tall-sgd-regressor",
        "SGDRegressor 1e6×50, 10 passes",
        (1_000_000, 50),
        scaled,
        "SGDRegressor",
        TEN,
        judged_at=1.1,
    ),
    Problem(
        "small-sgd",
        "SGDClassifier 100×5",
        (100, 5),
        labels,
        "SGDClassifier",
        {"random_state": 0},
        judged_at=0.5,
        scales=(False, False),
    ),
)
