"""SciPy, for models that no other library has: what a careful person writes by hand with its optimisers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

NAME = "scipy by hand"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"scipy": version("scipy")}


class ByHand:
    """Least squares or a power of the errors, on centred data where that is exact."""

    def __init__(self, task: str, params: dict[str, Any]) -> None:
        self.task, self.params = task, params

    def fit(self, X: Any, y: Any) -> ByHand:
        if self.task == "PowerRegressor":
            self.coef_, self.intercept_ = power(X, y, self.params["p"])
            return self
        mean_x, mean_y = X.mean(axis=0), y.mean()
        A, r = X - mean_x, y - mean_y
        solve: Any = {"ConstrainedRidge": ball, "ConstrainedLasso": diamond, "BestSubsetRegressor": subset}[self.task]
        self.coef_ = solve(A.T @ A, A.T @ r, **self.params)
        self.intercept_ = float(mean_y - mean_x @ self.coef_)
        return self

    def predict(self, X: Any) -> Any:
        return X @ self.coef_ + self.intercept_


def ball(Q: np.ndarray, q: np.ndarray, radius: float) -> np.ndarray:
    """Least squares within a radius: the strength of a ridge is the root of its length."""
    from scipy.linalg import eigh
    from scipy.optimize import brentq

    values, V = eigh(Q)
    along = V.T @ q
    if np.linalg.norm(along / values) <= radius:
        return np.asarray(V @ (along / values))
    alpha = brentq(
        lambda one: float(np.linalg.norm(along / (values + one))) - radius,
        0.0,
        np.linalg.norm(q) / radius,
        xtol=1e-14,
        rtol=1e-14,
    )
    return np.asarray(V @ (along / (values + alpha)))


def diamond(Q: np.ndarray, q: np.ndarray, radius: float) -> np.ndarray:
    """Least squares with a limited sum of absolute values: positive and negative parts under one linear inequality."""
    from scipy.optimize import minimize

    k, scale = len(q), float(np.trace(Q))

    def value(v: np.ndarray) -> float:
        w = v[:k] - v[k:]
        return float(0.5 * w @ Q @ w - q @ w) / scale

    def slope(v: np.ndarray) -> np.ndarray:
        g = (Q @ (v[:k] - v[k:]) - q) / scale
        return np.concatenate([g, -g])

    limit = {"type": "ineq", "fun": lambda v: radius - v.sum(), "jac": lambda v: -np.ones_like(v)}
    bounds = [(0.0, None)] * (2 * k)
    options = {"ftol": 1e-15, "maxiter": 1000}
    v = minimize(
        value, np.zeros(2 * k), jac=slope, method="SLSQP", bounds=bounds, constraints=[limit], options=options
    ).x
    w: np.ndarray = v[:k] - v[k:]
    return w * min(1.0, radius / float(np.abs(w).sum()))


def subset(Q: np.ndarray, q: np.ndarray, size: int) -> np.ndarray:
    """Try every set of columns."""
    from scipy.linalg import solve

    best, w = 0.0, np.zeros(len(q))
    for columns in combinations(range(len(q)), size):
        own = solve(Q[np.ix_(columns, columns)], q[list(columns)], assume_a="pos")
        if (gain := float(own @ q[list(columns)])) > best:
            best, w = gain, np.zeros(len(q))
            w[list(columns)] = own
    return w


def power(X: np.ndarray, y: np.ndarray, p: float) -> tuple[np.ndarray, float]:
    """Powers of the errors by a method of second order that learns the curvature."""
    from scipy.optimize import minimize

    A = np.column_stack([X, np.ones(len(X))])
    start = np.linalg.lstsq(A, y, rcond=None)[0]
    unit = float(np.std(y - A @ start))

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        r = (A @ v - y) / unit
        size = np.abs(r)
        return float(np.mean(size**p)) / p, A.T @ (np.sign(r) * size ** (p - 1)) / (unit * len(y))

    v = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x
    return v[:-1], float(v[-1])


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    known = ("ConstrainedRidge", "ConstrainedLasso", "PowerRegressor", "BestSubsetRegressor")
    return ByHand(task, params) if task in known and not sparse else None


def score(_: str) -> Any:
    return None  # it fits, and scores nothing
