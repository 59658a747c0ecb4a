"""Covariances: sparse inverses, and rows that lie closest together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, sample

if TYPE_CHECKING:
    from collections.abc import Callable


def chain(rng: np.random.Generator, n: int, p: int) -> Data:
    """Columns that depend on the one before, in units of their deviations."""
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] += 0.5 * X[:, j - 1]
    return Data(X / X.std(axis=0), np.zeros(n))


def contaminated(rng: np.random.Generator, n: int, p: int) -> Data:
    """A tenth of the rows is far away."""
    X = rng.standard_normal((n, p)) * np.linspace(1, 2, p)
    X[: n // 10] += 10.0
    return Data(X, np.zeros(n))


def sparse(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """The objective of the precision that is found."""
    kind = model_of(library, "covariance", "GraphicalLasso")

    def run(X: Any, _: Any) -> Any:
        T = kind(**params).fit(X).precision_
        S = np.cov(X.T, bias=True)
        return np.sum(S * T) - np.linalg.slogdet(T)[1] + params["alpha"] * (np.abs(T).sum() - np.abs(np.diag(T)).sum())

    return run


def least(data: Data, params: dict[str, Any]) -> Any:
    """The same by proximal gradient steps, until they rest."""
    S, alpha, step = np.cov(data.X.T, bias=True), params["alpha"], 1.0
    off = ~np.eye(len(S), dtype=bool)
    T = np.diag(1 / np.diag(S))
    value = np.sum(S * T) - np.linalg.slogdet(T)[1]
    for _ in range(3000):
        W, before = np.linalg.inv(T), value
        while True:
            Z = T - step * (S - W)
            N = np.where(off, np.sign(Z) * np.maximum(np.abs(Z) - step * alpha, 0), Z)
            sign, log_det = np.linalg.slogdet(N)
            smooth = np.sum(S * N) - log_det
            D = N - T
            if (
                sign > 0
                and np.linalg.eigvalsh(N)[0] > 0
                and smooth <= value + np.sum(D * (S - W)) + np.sum(D**2) / (2 * step) + 1e-12
            ):
                break
            step /= 2
        T, value, step = N, smooth, step * 1.5
        if np.abs(D).max() < 1e-9 and abs(before - value) < 1e-10:
            break
    return np.atleast_1d(value + alpha * (np.abs(T).sum() - np.abs(np.diag(T)).sum()))


def robust(name: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """Whether the location is off by one, as the rows far away would move it."""
    kind = model_of(library, "covariance", name)
    return lambda X, _: float(np.abs(kind(**params).fit(X).location_).max() >= 1)


def middle(*_: Any) -> Any:
    return [0.0]


def shrunk(name: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """The covariance itself."""
    kind = model_of(library, "covariance", name)
    return lambda X, _: kind(**params).fit(X).covariance_


def by_formula(data: Data, params: dict[str, Any], *, name: str) -> Any:
    """The covariance of the rows, drawn to a multiple of the identity as each method says."""
    X = data.X - data.X.mean(axis=0)
    n, p = X.shape
    S = X.T @ X / n
    level, squares = np.trace(S) / p, np.sum(S**2)
    if name == "LedoitWolf":
        apart = squares / p - level**2
        beta = (np.sum((X**2).T @ (X**2)) / n - squares) / (n * p)
        share = min(beta, apart) / apart
    elif name == "OAS":
        share = min(1.0, (squares / p**2 + level**2) / ((n + 1) * (squares / p**2 - level**2 / p)))
    else:
        share = params.get("shrinkage", 0.1 if name == "ShrunkCovariance" else 0.0)
    return ((1 - share) * S + share * level * np.eye(p))[sample(p)]


def chosen(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The likelihood of the rows under the precision that cross-validation chose, as a mean deviation of columns."""
    kind = model_of(library, "covariance", "GraphicalLassoCV")
    return lambda X, _: float(np.exp(-kind(**params).fit(X).score(X) / X.shape[1]))


def as_scikit_learn(data: Data, params: dict[str, Any]) -> Any:
    return [chosen("sklearn", params)(data.X, data.y)]


SHRUNK = ("EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS")
PROBLEMS = (
    *(
        Problem(f"{name.lower()}-{size}", f"{name} {n}×{p}", (n, p), chain, name, measure="workflow", run=partial(shrunk, name),
                expected=partial(by_formula, name=name))
        for name in SHRUNK
        for size, n, p in (("small", 500, 20), ("tall", 200_000, 50))
    ),
    Problem("graphical-lasso-small", "GraphicalLasso 500×20, alpha 0.1", (500, 20), chain, "GraphicalLasso", params={"alpha": 0.1},
            measure="workflow", run=sparse, expected=least, is_ceiling=True),
    *(
        Problem(name, f"GraphicalLassoCV {n}×{p}", (n, p), chain, "GraphicalLassoCV", measure="workflow", run=chosen,
                expected=as_scikit_learn, is_ceiling=True)
        for name, n, p in (("graphical-lasso-cv", 500, 20), ("graphical-lasso-cv-large", 1_000, 100))
    ),
    *(
        Problem(f"{name.lower()}-small", f"{name} 500×5", (500, 5), contaminated, name, params={"random_state": 0},
                measure="workflow", run=partial(robust, name), expected=middle)
        for name in ("MinCovDet", "EllipticEnvelope")
    ),
    Problem("graphical-lasso", "GraphicalLasso 1000×200, alpha 0.1", (1_000, 200), chain, "GraphicalLasso", params={"alpha": 0.1},
            measure="workflow", run=sparse, expected=least, is_ceiling=True),
    *(
        Problem(label, f"{name} 5000×50", (5_000, 50), contaminated, name, params={"random_state": 0}, measure="workflow",
                run=partial(robust, name), expected=middle)
        for label, name in (("min-cov-det", "MinCovDet"), ("elliptic-envelope", "EllipticEnvelope"))
    ),
)  # fmt: skip
