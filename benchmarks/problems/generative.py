"""Classes by Bayes' rule: naive Bayes and discriminant analysis, fitted, and asked for probabilities."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, sample

if TYPE_CHECKING:
    from collections.abc import Callable


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


def answer(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, np.ndarray], Any]:
    """A function of table and labels: fits and answers a few rows; or, asked for probabilities, fits once and answers all."""
    name, _, ask = task.partition(".")
    kind = model_of(library, "naive_bayes" if name.endswith("NB") else "discriminant_analysis", name)
    if not ask:
        return lambda X, y: kind(**params).fit(X, y).predict_proba(X[sample(X.shape[0])])
    fitted: list[Any] = []

    def probabilities(X: Any, y: np.ndarray) -> Any:
        if not fitted:
            fitted.append(kind(**params).fit(X, y))
        return getattr(fitted[0], ask)(X)

    return probabilities


def _shares(joint: np.ndarray) -> np.ndarray:
    joint = joint - joint.max(axis=1, keepdims=True)
    return np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)


def _classes(data: Data) -> tuple[Any, np.ndarray, list[np.ndarray]]:
    labels, often = np.unique(data.y, return_counts=True)
    rows = data.X[sample(data.X.shape[0])]
    return rows, np.log(often / often.sum()), [np.flatnonzero(data.y == label) for label in labels]


def _naive(data: Data, _: dict[str, Any]) -> Any:
    rows, prior, own = _classes(data)
    smooth = 1e-9 * data.X.var(axis=0).max()
    joint = []
    for level, mine in zip(prior, own, strict=True):
        mean, variance = data.X[mine].mean(axis=0), data.X[mine].var(axis=0) + smooth
        joint.append(level - 0.5 * (np.log(variance) + (rows - mean) ** 2 / variance).sum(axis=1))
    return _shares(np.column_stack(joint))


def _normal(data: Data, *, shared: bool) -> Any:
    rows, prior, own = _classes(data)
    covariances = [np.cov(data.X[mine].T, bias=True) for mine in own]
    if shared:
        pooled = sum(len(mine) * one for mine, one in zip(own, covariances, strict=True)) / len(data.y)
        covariances = [pooled] * len(own)
    joint = []
    for level, mine, covariance in zip(prior, own, covariances, strict=True):
        z = rows - data.X[mine].mean(axis=0)
        square = (z * np.linalg.solve(covariance, z.T).T).sum(axis=1)
        joint.append(level - 0.5 * (np.linalg.slogdet(covariance)[1] + square))
    return _shares(np.column_stack(joint))


def _counted(data: Data, *, present: bool) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    rows, prior, own = _classes(data)
    table = data.X
    if present:
        table, rows = (table > 0).astype(np.float64), (rows > 0).astype(np.float64)
    total = np.vstack([np.asarray(table[mine].sum(axis=0)).ravel() for mine in own])
    return rows, prior, total, np.array([len(mine) for mine in own])


def _words(data: Data, _: dict[str, Any]) -> Any:
    rows, prior, total, _rows = _counted(data, present=False)
    smooth = total + 1
    return _shares(rows @ np.log(smooth / smooth.sum(axis=1, keepdims=True)).T + prior)


def _outside(data: Data, _: dict[str, Any]) -> Any:
    rows, _prior, total, _rows = _counted(data, present=False)
    smooth = total.sum(axis=0) - total + 1
    return _shares(-(rows @ np.log(smooth / smooth.sum(axis=1, keepdims=True)).T))


def _seen(data: Data, _: dict[str, Any]) -> Any:
    rows, prior, total, often = _counted(data, present=True)
    share = (total + 1) / (often[:, None] + 2)
    return _shares(rows @ (np.log(share) - np.log1p(-share)).T + np.log1p(-share).sum(axis=1) + prior)


def _values(data: Data, _: dict[str, Any]) -> Any:
    rows, joint, own = _classes(data)
    joint = np.tile(joint, (len(rows), 1))
    for j in range(data.X.shape[1]):
        values = int(data.X[:, j].max()) + 1
        for k, mine in enumerate(own):
            often = np.bincount(data.X[mine, j].astype(np.intp), minlength=values) + 1
            joint[:, k] += np.log(often / often.sum())[rows[:, j].astype(np.intp)]
    return _shares(joint)


MODELS: dict[str, Callable[[Data, dict[str, Any]], Any]] = {
    "GaussianNB": _naive,
    "LinearDiscriminantAnalysis": lambda data, _: _normal(data, shared=True),
    "QuadraticDiscriminantAnalysis": lambda data, _: _normal(data, shared=False),
    "MultinomialNB": _words,
    "ComplementNB": _outside,
    "BernoulliNB": _seen,
    "CategoricalNB": _values,
}


def rows(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **more: Any) -> tuple[Problem, Problem]:
    """A row for the fit, and one for the probabilities of all rows."""
    asked = f"{task}.predict_proba"
    more |= {"measure": "workflow", "expected": MODELS[task]}
    fit = Problem(f"bayes-{name}", title, shape, make, task, run=partial(answer, task), **more)
    ask = Problem(
        f"bayes-{name}-proba",
        f"{title}, predict_proba",
        shape,
        make,
        asked,
        run=partial(answer, asked),
        **more,
    )
    return fit, ask


SPARSE: dict[str, Any] = {"is_sparse": True}
few_words = partial(counts, classes=3)
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
    *rows("gauss-five", "GaussianNB 1e6×50, 5 classes", (1_000_000, 50), partial(clouds, classes=5), "GaussianNB"),
    *rows("lda-five", "LDA 500000×50, 5 classes", (500_000, 50), partial(clouds, classes=5), LDA),
    *rows("qda-five", "QDA 500000×50, 5 classes", (500_000, 50), partial(clouds, classes=5), QDA),
    *rows("words", "MultinomialNB 20000×50000 sparse, 20 classes", (20_000, 50_000), counts, "MultinomialNB", **SPARSE),
    *rows(
        "words-other", "ComplementNB 20000×50000 sparse, 20 classes", (20_000, 50_000), counts, "ComplementNB", **SPARSE
    ),
    *rows(
        "words-seen", "BernoulliNB 20000×50000 sparse, 20 classes", (20_000, 50_000), counts, "BernoulliNB", **SPARSE
    ),
    *rows("words-small", "MultinomialNB 500×1000 sparse", (500, 1000), few_words, "MultinomialNB", **SPARSE),
    *rows("words-other-small", "ComplementNB 500×1000 sparse", (500, 1000), few_words, "ComplementNB", **SPARSE),
    *rows("words-seen-small", "BernoulliNB 500×1000 sparse", (500, 1000), few_words, "BernoulliNB", **SPARSE),
    *rows("values-small", "CategoricalNB 500×10, 3 classes", (500, 10), categories, "CategoricalNB"),
    *rows("qda-small", "QDA 1000×20, 3 classes", (1000, 20), partial(clouds, classes=3), QDA),
    *rows("values", "CategoricalNB 1e5×30, 3 classes", (100_000, 30), categories, "CategoricalNB"),
)
