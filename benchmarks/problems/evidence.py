"""Bayesian regression by evidence: the posterior mean and its deviations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, sample

if TYPE_CHECKING:
    from collections.abc import Callable


def lines(rng: np.random.Generator, n: int, p: int) -> Data:
    """A fifth of the columns matters."""
    X = rng.standard_normal((n, p))
    w = np.where(np.arange(p) < max(p // 5, 1), rng.standard_normal(p), 0.0)
    return Data(X, X @ w + rng.standard_normal(n))


def answer(task: str) -> Callable[[str, dict[str, Any]], Callable[[Any, Any], Any]]:
    """Return how a library is asked: means and deviations of some rows."""

    def asked(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
        kind = model_of(library, "linear_model", task)
        return lambda X, y: np.column_stack(kind(**params).fit(X, y).predict(X[sample(len(X))], return_std=True))

    return asked


def expected(data: Data, _: dict[str, Any], *, shared: bool) -> Any:
    """The same by the definition of the fixed point, with columns above a precision of ten thousand left out."""
    n, p = data.X.shape
    mean, level = data.X.mean(axis=0), data.y.mean()
    X, y = data.X - mean, data.y - level
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    alpha, precision, kept = n / yy, np.ones(p), np.arange(p)
    for _ in range(200):
        S = np.linalg.inv(np.diag(precision[kept]) + alpha * G[np.ix_(kept, kept)])
        m = alpha * S @ c[kept]
        known = 1 - precision[kept] * np.diag(S)
        squares = yy - 2 * m @ c[kept] + m @ G[np.ix_(kept, kept)] @ m
        tops, lengths = (np.full(len(m), known.sum()), np.full(len(m), m @ m)) if shared else (known, m**2)
        precision[kept] = (tops + 2e-6) / (lengths + 2e-6)
        alpha = (n - known.sum() + 2e-6) / (squares + 2e-6)
        if not shared:
            kept = kept[precision[kept] < 1e4]
    S = np.linalg.inv(np.diag(precision[kept]) + alpha * G[np.ix_(kept, kept)])
    rows = (data.X[sample(n)] - mean)[:, kept]
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", rows, S, rows) + 1 / alpha)
    return np.column_stack([rows @ (alpha * S @ c[kept]) + level, deviations])


def row(task: str, title: str, shape: tuple[int, int]) -> Problem:
    shared = task == "BayesianRidge"
    name = f"{'bayesian-ridge' if shared else 'ard'}-{'small' if shape[0] < 10_000 else 'tall'}"
    params = {"tol": 1e-6}
    return Problem(
        name, title, shape, lines, task, params=params, measure="workflow", run=answer(task),
        expected=partial(expected, shared=shared),
    )  # fmt: skip


PROBLEMS = (
    row("BayesianRidge", "BayesianRidge 1000×20", (1_000, 20)),
    row("BayesianRidge", "BayesianRidge 100000×100", (100_000, 100)),
    row("ARDRegression", "ARDRegression 1000×20", (1_000, 20)),
    row("ARDRegression", "ARDRegression 100000×100", (100_000, 100)),
)
