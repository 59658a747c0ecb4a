"""Several classes by planes: each against each other, each against the rest, and least squares on their signs."""

from __future__ import annotations

from functools import partial

from benchmarks.problems._problem import Problem
from benchmarks.problems.likelihood import labels

FIXED = (False, False)
TWENTY = partial(labels, classes=20)


def coded(name: str, title: str, shape: tuple[int, int], task: str, inner: str) -> Problem:
    return Problem(name, title, shape, TWENTY, task, {"estimator": inner}, scales=FIXED)


# codes drawn at random differ from library to library, and with them what is learnt: no row for them; voted planes have no peer
PROBLEMS = (
    coded("pairs-svc", "OneVsOne LinearSVC 10000×20, 20 classes", (10_000, 20), "OneVsOneClassifier", "LinearSVC"),
    coded("small-pairs-svc", "OneVsOne LinearSVC 2000×10, 20 classes", (2000, 10), "OneVsOneClassifier", "LinearSVC"),
    coded("rest-svc", "OneVsRest LinearSVC 10000×20, 20 classes", (10_000, 20), "OneVsRestClassifier", "LinearSVC"),
    coded(
        "rest-logistic",
        "OneVsRest LogisticRegression 10000×20, 20 classes",
        (10_000, 20),
        "OneVsRestClassifier",
        "LogisticRegression",
    ),
    Problem(
        "classes-ridge",
        "RidgeClassifier 100000×50, 10 classes",
        (100_000, 50),
        partial(labels, classes=10),
        "RidgeClassifier",
        {"alpha": 1.0},
    ),
)
