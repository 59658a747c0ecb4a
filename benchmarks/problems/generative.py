"""Classes by Bayes' rule: naive Bayes and discriminant analysis, fitted, and asked for probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.problems._problem import Data, Problem


def clouds(rng: np.random.Generator, n: int, p: int, *, classes: int = 2) -> Data:
    """Normal classes, each with a mean and a size of its own."""
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, p))
    X *= (1 + 0.1 * np.arange(classes))[y, None]
    X += rng.standard_normal((classes, p))[y] * 0.5
    return Data(X, y)


def counts(rng: np.random.Generator, n: int, p: int, *, classes: int = 20) -> Data:
    """Texts of a hundred words, as unequally frequent as in a language, counted in a sparse table."""
    from scipy.sparse import csr_array

    y = rng.integers(0, classes, n)
    words = (np.minimum(rng.zipf(1.3, (n, 100)), p) - 1 + y[:, None] * 7) % p
    table = csr_array((np.ones(words.size), (np.repeat(np.arange(n), 100), words.ravel())), shape=(n, p))
    table.sum_duplicates()
    return Data(table, y)


def categories(rng: np.random.Generator, n: int, p: int, *, classes: int = 3) -> Data:
    y = rng.integers(0, classes, n)
    return Data((rng.integers(0, 6, (n, p)) + (rng.random((n, p)) < 0.2) * y[:, None]).astype(np.float64), y)


def rows(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **more: Any) -> tuple[Problem, Problem]:
    """A row for the fit, and one for the probabilities of all rows."""
    fit = Problem(f"bayes-{name}", title, shape, make, task, measure="workflow", **more)
    ask = Problem(
        f"bayes-{name}-proba",
        f"{title}, predict_proba",
        shape,
        make,
        f"{task}.predict_proba",
        measure="workflow",
        **more,
    )
    return fit, ask


SPARSE: dict[str, Any] = {"is_sparse": True}
LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
PROBLEMS = (
    *rows("gauss-tiny", "GaussianNB 100×5", (100, 5), clouds, "GaussianNB"),
    *rows("gauss-small", "GaussianNB 1000×20", (1000, 20), clouds, "GaussianNB"),
    *rows("gauss", "GaussianNB 1e6×50", (1_000_000, 50), clouds, "GaussianNB"),
    *rows("lda-tiny", "LDA 100×5", (100, 5), clouds, LDA),
    *rows("lda-small", "LDA 1000×20, 3 classes", (1000, 20), partial(clouds, classes=3), LDA),
    *rows("lda", "LDA 1e5×50, 10 classes", (100_000, 50), partial(clouds, classes=10), LDA),
    *rows("qda-tiny", "QDA 100×5", (100, 5), clouds, QDA),
    *rows("qda", "QDA 1e5×50, 3 classes", (100_000, 50), partial(clouds, classes=3), QDA),
    *rows("words", "MultinomialNB 20000×50000 sparse, 20 classes", (20_000, 50_000), counts, "MultinomialNB", **SPARSE),
    *rows(
        "words-other", "ComplementNB 20000×50000 sparse, 20 classes", (20_000, 50_000), counts, "ComplementNB", **SPARSE
    ),
    *rows(
        "words-seen", "BernoulliNB 20000×50000 sparse, 20 classes", (20_000, 50_000), counts, "BernoulliNB", **SPARSE
    ),
    *rows("values", "CategoricalNB 1e5×30, 3 classes", (100_000, 30), categories, "CategoricalNB"),
)
