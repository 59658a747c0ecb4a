"""Tables described by directions and by groups."""

from __future__ import annotations

from functools import partial
from importlib import import_module
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
    if library == "faiss":
        return _in_float32(params["n_clusters"], params["max_iter"])
    kmeans = model_of(library, "cluster", "KMeans")
    return lambda X, _: float(kmeans(init=X[: params["n_clusters"]], n_init=1, **params).fit(X).inertia_)


def _in_float32(k: int, steps: int) -> Callable[[Any, Any], float]:
    """The same in faiss, which has no other precision."""
    import faiss

    def run(X: Any, _: Any) -> float:
        rows = X.astype(np.float32)
        found = faiss.Kmeans(X.shape[1], k, niter=steps, max_points_per_centroid=len(X), min_points_per_centroid=1)
        found.train(rows, init_centroids=rows[:k])
        return float(found.index.search(rows, 1)[0].sum(dtype=np.float64))

    return run


def drawn(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float] | None:
    """The inertia, or sum of distances, of centres that begin by chance."""
    if task == "KMedoids" and library == "sklearn":
        return None
    kind = model_of(library, "cluster", task) if library != "kmedoids" else import_module("kmedoids").KMedoids
    own = {"metric": "euclidean"} if library == "kmedoids" else {}
    return lambda X, _: float(kind(**{"random_state": 0, **params}, **own).fit(X).inertia_)


def unexplained(data: Data, params: dict[str, Any]) -> Any:
    """The least share of the variance that so many directions can leave out: the other eigenvalues."""
    centred = data.X - data.X.mean(axis=0)
    square = centred.T @ centred if len(centred) >= centred.shape[1] else centred @ centred.T
    values = np.linalg.eigvalsh(square)
    return [np.sum(values[: -params["n_components"]]) / np.sum(values)]


def lloyd(data: Data, params: dict[str, Any]) -> Any:
    """The inertia where plain steps from the first rows come to rest, stopped as scikit-learn stops."""
    X, centres = data.X, data.X[: params["n_clusters"]].copy()
    labels, enough = np.full(len(X), -1), params.get("tol", 1e-4) * np.mean(X.var(axis=0))
    for _ in range(params.get("max_iter", 300)):
        before = labels
        labels = np.argmin(np.sum(centres**2, axis=1) - 2 * X @ centres.T, axis=1)
        if np.array_equal(before, labels):
            break
        sums = np.column_stack([np.bincount(labels, column, len(centres)) for column in X.T])
        means = sums / np.bincount(labels, minlength=len(centres))[:, None]
        shift, centres = np.sum((means - centres) ** 2), means
        if shift <= enough:
            break
    labels = np.argmin(np.sum(centres**2, axis=1) - 2 * X @ centres.T, axis=1)
    return [np.sum((X - centres[labels]) ** 2)]


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **more: Any) -> Problem:
    run, expected = (directions, unexplained) if task == "PCA" else (centres, lloyd)
    return Problem(name, title, shape, make, task, measure="workflow", run=run, expected=expected, **more)


def by_chance(name: str, task: str, shape: tuple[int, int], k: int, reference: str = "scikit_learn") -> Problem:
    """Judged by what other seeds of the reference reach."""
    return Problem(
        name, f"{task} {shape[0]}×{shape[1]}, {k} clusters", shape, partial(blobs, k=k), task, {"n_clusters": k}, "workflow",
        run=partial(drawn, task), reference=reference, is_ceiling=True,
        peers=() if reference == "scikit_learn" else (reference,),
    )  # fmt: skip


def flat(rng: np.random.Generator, n: int, p: int) -> Data:
    """Columns whose variance falls slowly, so that no few directions explain much."""
    return Data(rng.standard_normal((n, p)) * np.linspace(3, 1, p) + 3.0, np.zeros(n))


TWENTY = {"max_iter": 20, "tol": 0.0}
PROBLEMS = (
    row("pca-tiny", "PCA 100×5", (100, 5), decaying, "PCA", params={"n_components": 2}),
    row("pca-small", "PCA 1000×20", (1_000, 20), decaying, "PCA", params={"n_components": 5}),
    row("pca-tall", "PCA 1e5×50", (100_000, 50), decaying, "PCA", params={"n_components": 10}),
    row("pca-long", "PCA 1e6×10", (1_000_000, 10), decaying, "PCA", params={"n_components": 3}),
    row("pca-wide", "PCA 300×3000", (300, 3_000), decaying, "PCA", params={"n_components": 10}, scales=(False, False)),
    row("pca-square", "PCA 2000×2000", (2_000, 2_000), decaying, "PCA",
        params={"n_components": 10, "random_state": 0}),
    row("pca-ten", "PCA 500000×100, 10 components", (500_000, 100), decaying, "PCA", params={"n_components": 10},
        peers=("intelex",)),
    row("pca-fifty", "PCA 5000×5000, 50 components", (5_000, 5_000), flat, "PCA",
        params={"n_components": 50, "random_state": 0}, peers=("arpack",), scales=(True, True)),
    row("kmeans-fifty", "KMeans 500000×30, 50 clusters, 20 steps", (500_000, 30), partial(blobs, k=50), "KMeans",
        params={"n_clusters": 50, **TWENTY}, peers=("intelex", "faiss")),
    row("kmeans-hundreds", "KMeans 100000×100, 500 clusters, 20 steps", (100_000, 100), partial(blobs, k=500), "KMeans",
        params={"n_clusters": 500, **TWENTY}, peers=("intelex", "faiss")),
    by_chance("mini-batch-small", "MiniBatchKMeans", (1_000, 20), 8),
    by_chance("mini-batch", "MiniBatchKMeans", (500_000, 30), 100),
    by_chance("bisecting-small", "BisectingKMeans", (1_000, 20), 8),
    by_chance("bisecting", "BisectingKMeans", (100_000, 20), 20),
    by_chance("medoids-small", "KMedoids", (500, 10), 8, "kmedoids"),
    by_chance("medoids", "KMedoids", (5_000, 20), 20, "kmedoids"),
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
