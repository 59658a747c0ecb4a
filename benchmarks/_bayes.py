"""The judge of Bayes' rule: probabilities of a sample of the rows, from the definition of each model, in plain NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.problems import Data

SAMPLED = 50


def answer(kind: Any, ask: str) -> Callable[[Any, np.ndarray], Any]:
    """A function of table and labels: fits and answers a few rows; or, asked for probabilities, fits once and answers all."""
    if not ask:
        return lambda X, y: kind().fit(X, y).predict_proba(X[_sample(X.shape[0])])
    fitted: list[Any] = []

    def probabilities(X: Any, y: np.ndarray) -> Any:
        if not fitted:
            fitted.append(kind().fit(X, y))
        return getattr(fitted[0], ask)(X)

    return probabilities


def _sample(n: int) -> np.ndarray:
    return np.linspace(0, n - 1, SAMPLED).astype(np.intp)


def _shares(joint: np.ndarray) -> np.ndarray:
    joint = joint - joint.max(axis=1, keepdims=True)
    return np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)


def _classes(data: Data) -> tuple[Any, np.ndarray, list[np.ndarray]]:
    labels, often = np.unique(data.y, return_counts=True)
    rows = data.X[_sample(data.X.shape[0])]
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
EXPECTED = {name + ask: expected for name, expected in MODELS.items() for ask in ("", ".predict_proba")}
