"""Tables described by directions and by groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of

if TYPE_CHECKING:
    from collections.abc import Callable


def decaying(rng: np.random.Generator, n: int, p: int) -> Data:
    """Columns that a few directions explain well, turned so that no column is one of them."""
    strength = 1.0 / np.arange(1, p + 1)
    X = rng.standard_normal((n, p)) * strength
    for _ in range(2):  # two reflections are a turn that mixes all columns
        mirror = rng.standard_normal(p)
        mirror /= np.linalg.norm(mirror)
        X -= np.outer(2.0 * (X @ mirror), mirror)
    return Data(X + 3.0, np.zeros(n))


def blobs(rng: np.random.Generator, n: int, p: int, *, k: int) -> Data:
    """Overlapping groups; the first rows, where centres begin, are of any of them."""
    homes = 1.5 * rng.standard_normal((k, p))
    return Data(homes[rng.integers(0, k, n)] + rng.standard_normal((n, p)) + 3.0, np.zeros(n))


def directions(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """What directions leave out of the variance."""
    pca = model_of(library, "decomposition", "PCA")
    return lambda X, _: float(1 - pca(**params).fit(X).explained_variance_ratio_.sum())


def centres(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The inertia, from the first rows as centres."""
    kmeans = model_of(library, "cluster", "KMeans")
    return lambda X, _: float(kmeans(init=X[: params["n_clusters"]], n_init=1, **params).fit(X).inertia_)


def unexplained(data: Data, params: dict[str, Any]) -> Any:
    """The least share of the variance that so many directions can leave out: the other eigenvalues."""
    centred = data.X - data.X.mean(axis=0)
    square = centred.T @ centred if len(centred) >= centred.shape[1] else centred @ centred.T
    values = np.linalg.eigvalsh(square)
    return [np.sum(values[: -params["n_components"]]) / np.sum(values)]


def lloyd(data: Data, params: dict[str, Any]) -> Any:
    """The inertia where plain steps from the first rows come to rest, stopped as scikit-learn stops."""
    X, centres = data.X, data.X[: params["n_clusters"]].copy()
    labels, enough = np.full(len(X), -1), 1e-4 * np.mean(X.var(axis=0))
    for _ in range(300):
        before, shift = labels, 0.0
        labels = np.argmin(np.sum(centres**2, axis=1) - 2 * X @ centres.T, axis=1)
        if np.array_equal(before, labels):
            break
        for j in range(len(centres)):
            mean = X[labels == j].mean(axis=0)
            shift, centres[j] = shift + np.sum((mean - centres[j]) ** 2), mean
        if shift <= enough:
            break
    labels = np.argmin(np.sum(centres**2, axis=1) - 2 * X @ centres.T, axis=1)
    return [np.sum((X - centres[labels]) ** 2)]


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **more: Any) -> Problem:
    run, expected = (directions, unexplained) if task == "PCA" else (centres, lloyd)
    return Problem(name, title, shape, make, task, measure="workflow", run=run, expected=expected, **more)


PROBLEMS = (
    row("pca-tiny", "PCA 100×5", (100, 5), decaying, "PCA", params={"n_components": 2}),
    row("pca-small", "PCA 1000×20", (1_000, 20), decaying, "PCA", params={"n_components": 5}),
    row("pca-tall", "PCA 1e5×50", (100_000, 50), decaying, "PCA", params={"n_components": 10}),
    row("pca-long", "PCA 1e6×10", (1_000_000, 10), decaying, "PCA", params={"n_components": 3}),
    row("pca-wide", "PCA 300×3000", (300, 3_000), decaying, "PCA", params={"n_components": 10}, scales=(False, False)),
    row("pca-square", "PCA 2000×2000", (2_000, 2_000), decaying, "PCA",
        params={"n_components": 10, "random_state": 0}),
    row("kmeans-tiny", "KMeans 100×5, 3 clusters", (100, 5), partial(blobs, k=3), "KMeans", params={"n_clusters": 3}),
    row("kmeans-small", "KMeans 1000×20, 8 clusters", (1_000, 20), partial(blobs, k=8), "KMeans",
        params={"n_clusters": 8}),
    row("kmeans-tall", "KMeans 1e5×50, 8 clusters", (100_000, 50), partial(blobs, k=8), "KMeans",
        params={"n_clusters": 8}),
    row("kmeans-many", "KMeans 1e5×50, 100 clusters", (100_000, 50), partial(blobs, k=100), "KMeans",
        params={"n_clusters": 100}),
    row("kmeans-long", "KMeans 1e6×10, 8 clusters", (1_000_000, 10), partial(blobs, k=8), "KMeans",
        params={"n_clusters": 8}),
)  # fmt: skip
