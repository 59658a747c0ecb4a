"""Clusters that no other library here finds: soft k-means, k-means by kernels, and splits from the top down.

The rival is the textbook's method in NumPy, all rows at once, as a careful person writes it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of
from benchmarks.problems.groundwork import blobs

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray


def squares(X: Array, Y: Array) -> Array:
    found: Array = np.maximum(np.sum(X**2, axis=1)[:, None] - 2 * X @ Y.T + np.sum(Y**2, axis=1), 0.0)
    return found


def soft(X: Array, centres: Array, beta: float) -> tuple[float, Array]:
    """The objective of soft k-means at centres, and the means of all rows by their shares."""
    powers = -beta * squares(X, centres)
    top = powers.max(axis=1, keepdims=True)
    shares = np.exp(powers - top)
    sums = shares.sum(axis=1, keepdims=True)
    shares /= sums
    return -float(np.sum(top + np.log(sums))) / beta, (shares.T @ X) / shares.sum(axis=0)[:, None]


def by_shares(X: Array, k: int, beta: float) -> Array:
    """Steps from the first rows, until one gains less than 1e-9 of the variance a row."""
    centres, before = X[:k], np.inf
    unit = float(np.sum(X.var(axis=0))) * len(X)
    for _ in range(300):
        value, means = soft(X, centres, beta)
        if before - value <= 1e-9 * unit:
            break
        before, centres = value, means
    return centres


def softened(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float] | None:
    """The objective, from the first rows as centres."""
    k, beta = params["n_clusters"], params["beta"]
    if library == "sklearn":
        return None
    if library == "numpy":
        return lambda X, _: soft(X, by_shares(X, k, beta), beta)[0]
    model = model_of(library, "cluster", "SoftKMeans")
    return lambda X, _: soft(X, model(init=X[:k], **params).fit(X).cluster_centers_, beta)[0]


def by_kernel(X: Array, k: int, gamma: float, rng: np.random.Generator) -> float:
    """The inertia of k-means in the feature space, from k-means++."""
    K = np.exp(-gamma * squares(X, X))
    away = 2.0 - 2.0 * K[:, [rng.integers(len(X))]]
    while away.shape[1] < k:
        chance = np.maximum(away.min(axis=1), 0.0)
        away = np.column_stack([away, 2.0 - 2.0 * K[:, rng.choice(len(X), p=chance / chance.sum())]])
    labels = np.argmin(away, axis=1)
    for _ in range(300):
        Z = np.eye(k)[labels]
        Z /= np.maximum(Z.sum(axis=0), 1.0)
        products = K @ Z
        away = 1.0 - 2.0 * products + np.einsum("ij,ij->j", Z, products)
        after = np.argmin(away, axis=1)
        if np.array_equal(after, labels):
            break
        labels = after
    return float(away.min(axis=1).sum())


def in_feature_space(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float] | None:
    """The inertia of centres that begin by chance."""
    given = {"random_state": 0, **params}
    if library == "sklearn":
        return None
    if library == "numpy":
        rng = np.random.default_rng(given["random_state"])
        return lambda X, _: by_kernel(X, given["n_clusters"], given["gamma"], rng)
    model = model_of(library, "cluster", "KernelKMeans")
    return lambda X, _: float(model(**given).fit(X).inertia_)


def splits(X: Array) -> float:
    """The sum of the diameters of all clusters that are split (DIANA)."""
    D, waiting, total = np.sqrt(squares(X, X)), [np.arange(len(X))], 0.0
    while waiting:
        rows = waiting.pop()
        if len(rows) < 2:
            continue
        part = D[np.ix_(rows, rows)]
        total += float(part.max())
        gone = np.zeros(len(rows), bool)
        gone[np.argmax(part.sum(axis=1))] = True
        while np.sum(~gone) > 1:
            inside = part[:, ~gone].sum(axis=1) / (np.sum(~gone) - 1)
            eager = np.where(gone, -np.inf, inside - part[:, gone].mean(axis=1))
            if eager.max() <= 0:
                break
            gone[np.argmax(eager)] = True
        waiting += [rows[gone], rows[~gone]]
    return total


def split(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float] | None:
    """The same by a model."""
    if library == "sklearn":
        return None
    if library == "numpy":
        return lambda X, _: splits(X)
    model = model_of(library, "cluster", "DivisiveClustering")
    return lambda X, _: float(model(**params).fit(X).distances_.sum())


def row(name: str, task: str, shape: tuple[int, int], run: Any, note: str = "", **more: Any) -> Problem:
    k = 8
    return Problem(
        name, f"{task} {shape[0]}×{shape[1]}{note}", shape, partial(blobs, k=k), task, measure="workflow", run=run,
        peers=("numpy_by_hand",), **more,
    )  # fmt: skip


def soft_row(name: str, n: int, p: int) -> Problem:
    def want(data: Data, params: dict[str, Any]) -> Any:
        return [soft(data.X, by_shares(data.X, params["n_clusters"], params["beta"]), params["beta"])[0]]

    return row(
        name, "SoftKMeans", (n, p), softened, ", 8 clusters", params={"n_clusters": 8, "beta": 0.2}, expected=want,
        is_ceiling=True,
    )  # fmt: skip


def kernel_row(name: str, n: int, p: int) -> Problem:
    return row(
        name, "KernelKMeans", (n, p), in_feature_space, ", 8 clusters", params={"n_clusters": 8, "gamma": 0.05},
        reference="numpy_by_hand", is_ceiling=True,
    )  # fmt: skip


def split_row(name: str, n: int, p: int) -> Problem:
    return row(name, "DivisiveClustering", (n, p), split, expected=lambda data, _: [splits(data.X)])


PROBLEMS = (
    soft_row("soft-small", 500, 5),
    soft_row("soft", 50_000, 20),
    kernel_row("kernel-kmeans-small", 300, 10),
    kernel_row("kernel-kmeans", 3_000, 10),
    split_row("divisive-small", 200, 5),
    split_row("divisive", 2_000, 10),
)
