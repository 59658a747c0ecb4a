"""Scores of ten million rows, and of ten: truth in y, what is scored in the one column of X."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.problems._problem import Data, Problem

MANY, FEW = (10_000_000, 1), (10, 1)


def labels(rng: np.random.Generator, n: int, _: int, *, classes: int = 2) -> Data:
    y = rng.integers(0, classes, n)
    return Data(np.where(rng.random(n) < 0.8, y, rng.integers(0, classes, n))[:, np.newaxis], y)


def scores(rng: np.random.Generator, n: int, _: int, *, dtype: type = np.float64) -> Data:
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    return Data((rng.random(n) * 0.6 + 0.4 * y * rng.random(n)).astype(dtype)[:, np.newaxis], y)


def numbers(rng: np.random.Generator, n: int, _: int) -> Data:
    y = rng.standard_normal(n)
    return Data((y + rng.standard_normal(n))[:, np.newaxis], y)


def race(name: str, title: str, shape: tuple[int, int], make: object, task: str) -> Problem:
    return Problem(name, title, shape, make, task, measure="score")  # type: ignore[arg-type]


PROBLEMS = (
    race("score-auc", "roc_auc_score 1e7", MANY, scores, "roc_auc_score"),
    race("score-auc-f32", "roc_auc_score 1e7, float32", MANY, partial(scores, dtype=np.float32), "roc_auc_score"),
    race("score-accuracy", "accuracy_score 1e7", MANY, labels, "accuracy_score"),
    race("score-kappa", "cohen_kappa_score 1e7, 5 classes", MANY, partial(labels, classes=5), "cohen_kappa_score"),
    race("score-mse", "mean_squared_error 1e7", MANY, numbers, "mean_squared_error"),
    race("score-r2", "r2_score 1e7", MANY, numbers, "r2_score"),
    race("score-auc-few", "roc_auc_score 10", FEW, scores, "roc_auc_score"),
    race("score-mse-few", "mean_squared_error 10", FEW, numbers, "mean_squared_error"),
)
