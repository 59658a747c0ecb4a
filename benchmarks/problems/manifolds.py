"""Rows on a rolled sheet, laid out in two dimensions. Methods by eigenvectors are judged by the points of some rows, those that
descend by what they leave, which must not be more than scikit-learn leaves.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, sample
from benchmarks.problems.groundwork import blobs

if TYPE_CHECKING:
    from collections.abc import Callable


def sheet(rng: np.random.Generator, n: int, p: int) -> Data:
    """A sheet rolled up in three dimensions, turned into p, with a little noise."""
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    rolled = np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])
    return Data(rolled @ rng.standard_normal((3, p)) / np.sqrt(3) + 0.05 * rng.standard_normal((n, p)), t)


def placed(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """The points of some rows, but for the signs of the axes."""
    model = model_of(library, "manifold", task)
    return lambda X, _: np.abs(model(**params).fit_transform(X)[sample(len(X))])


def geodesic(data: Data, params: dict[str, Any]) -> Any:
    """Points of Isomap by SciPy: shortest paths, and all eigenvectors of the products that they imply."""
    from scipy.linalg import eigh
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    X, k, n = data.X, params.get("n_neighbors", 5), len(data.X)
    lengths, ids = near(X, k)
    graph = csr_array((lengths.ravel(), ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    S = -0.5 * shortest_path(graph, directed=False) ** 2
    S -= S.mean(axis=0)
    S -= S.mean(axis=1)[:, None]
    values, vectors = eigh(S, subset_by_index=[n - 2, n - 1])
    return np.abs(vectors[:, ::-1] * np.sqrt(values[::-1]))[sample(n)]


def near(X: Any, k: int) -> tuple[Any, Any]:
    """Distances and numbers of the k nearest other rows."""
    lengths, ids = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int64)
    for i, row in enumerate(X):
        away = np.linalg.norm(X - row, axis=1)
        away[i] = np.inf
        ids[i] = np.argsort(away)[:k]
        lengths[i] = away[ids[i]]
    return lengths, ids


def smooth(data: Data, params: dict[str, Any]) -> Any:  # noqa: ARG001
    """Points of SpectralEmbedding by SciPy: eigenvectors of the normalised Laplacian, by all of them."""
    from scipy.linalg import eigh

    X, n = data.X, len(data.X)
    links = np.eye(n)
    np.put_along_axis(links, near(X, n // 10 - 1)[1], 1.0, axis=1)
    links = 0.5 * (links + links.T)
    np.fill_diagonal(links, 0.0)
    roots = np.sqrt(links.sum(axis=1))
    vectors = eigh(links / roots / roots[:, None], subset_by_index=[n - 3, n - 2])[1]
    return np.abs(vectors[:, ::-1] / roots[:, None])[sample(n)]


def lowered(task: str, left: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """What a descent leaves."""
    model = model_of(library, "manifold", task)
    return lambda X, _: float(getattr(model(**params).fit(X), left))


def by_seed(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The stress from a random start."""
    model = model_of(library, "manifold", "MDS")
    return lambda X, _: float(model(**{"random_state": 0, **params}).fit(X).stress_)


def majorised(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The stress after steps of majorisation from given points: from other starts they reach other minima, by chance."""
    smacof = import_module(f"{library}.manifold").smacof

    def run(X: Any, _: Any) -> float:
        squares = np.sum(X**2, axis=1)
        D = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0))
        np.fill_diagonal(D, 0.0)
        start = np.random.default_rng(0).uniform(size=(len(X), 2))
        return float(smacof(np.maximum(D, D.T), init=start, n_init=1, **params)[1])

    return run


def distances(data: Data, params: dict[str, Any]) -> Any:  # noqa: ARG001  the form of an expectation
    """Points of classical scaling: the largest eigenvectors of all products."""
    X = data.X - data.X.mean(axis=0)
    values, vectors = np.linalg.eigh(X @ X.T)
    return np.abs(vectors[:, :-3:-1] * np.sqrt(values[:-3:-1]))[sample(len(X))]


def trusted(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float] | None:
    """One less the trustworthiness for 15 neighbours, of some rows; what does not depend on the points is worked out once."""
    if library == "sklearn":
        return None
    kind = import_module("umap").UMAP if library == "umap" else model_of(library, "manifold", "UMAP")
    ranks: list[Any] = []

    def run(X: Any, _: Any) -> float:
        Z, rows, k = kind(**params).fit_transform(X), sample(len(X)), 15
        if not ranks:
            ranks.append([np.argsort(np.argsort(np.sum((X - X[i]) ** 2, axis=1), kind="stable")) for i in rows])
        lost = 0
        for i, rank in zip(rows, ranks[0], strict=True):
            near = np.argpartition(np.sum((Z - Z[i]) ** 2, axis=1), k + 1)[: k + 1]  # with the row itself, of rank zero
            lost += int(np.maximum(rank[near] - k, 0).sum())
        return lost * 2 / (len(rows) * k * (2 * len(X) - 3 * k - 1))

    return run


def by_trust(name: str, title: str, shape: tuple[int, int]) -> Problem:
    return Problem(
        name, title, shape, partial(blobs, k=20), "UMAP", measure="workflow", run=trusted, reference="umap_learn",
        is_ceiling=True, peers=("umap_learn",),
    )  # fmt: skip


def by_vectors(name: str, title: str, shape: tuple[int, int], task: str, want: Any, **params: Any) -> Problem:
    return Problem(name, title, shape, sheet, task, params, "workflow", run=partial(placed, task), expected=want)


def by_descent(
    name: str, title: str, shape: tuple[int, int], task: str, left: str, make: Any = sheet, **params: Any
) -> Problem:
    return Problem(
        name, title, shape, make, task, params, "workflow", run=partial(lowered, task, left), reference="scikit_learn",
        same_seed=True, is_ceiling=True, peers=("intelex",) if task == "TSNE" else (),
    )  # fmt: skip


PROBLEMS = (
    by_vectors("isomap-small", "Isomap 300×20, 12 neighbours", (300, 20), "Isomap", geodesic, n_neighbors=12),
    by_vectors("isomap", "Isomap 5000×20, 12 neighbours", (5_000, 20), "Isomap", geodesic, n_neighbors=12),
    by_vectors("eigenmaps-small", "SpectralEmbedding 300×20", (300, 20), "SpectralEmbedding", smooth, random_state=0),
    by_vectors("eigenmaps", "SpectralEmbedding 5000×20", (5_000, 20), "SpectralEmbedding", smooth, random_state=0),
    by_descent(
        "lle-small", "LocallyLinearEmbedding 300×20", (300, 20), "LocallyLinearEmbedding", "reconstruction_error_"
    ),
    by_descent("lle", "LocallyLinearEmbedding 5000×20", (5_000, 20), "LocallyLinearEmbedding", "reconstruction_error_"),
    # which minimum a random start leads to is chance, in both libraries: of four the best counts, and other seeds of
    # scikit-learn say what is to be expected
    Problem(
        "mds-random",
        "MDS 1500×20, 100 steps, best of 4 starts",
        (1_500, 20),
        sheet,
        "MDS",
        {"n_init": 4, "max_iter": 100, "init": "random"},
        "workflow",
        run=by_seed,
        reference="scikit_learn",
        is_ceiling=True,
    ),
    Problem(
        "mds",
        "MDS 1500×20, 100 steps from given points",
        (1_500, 20),
        sheet,
        "MDS",
        {"max_iter": 100},
        "workflow",
        run=majorised,
        reference="scikit_learn",
        same_seed=True,
        is_ceiling=True,
    ),
    by_descent("tsne-small", "TSNE 500×20, 1000 steps", (500, 20), "TSNE", "kl_divergence_", random_state=0),
    by_descent("tsne", "TSNE 3000×20, 1000 steps", (3_000, 20), "TSNE", "kl_divergence_", random_state=0),
    by_descent(
        "tsne-large",
        "TSNE 20000×50, 1000 steps",
        (20_000, 50),
        "TSNE",
        "kl_divergence_",
        partial(blobs, k=20),
        random_state=0,
    ),
    by_descent(
        "mds-small", "MDS 200×20, defaults", (200, 20), "MDS", "stress_", n_init=1, init="classical_mds", random_state=0
    ),
    by_vectors("classical-mds-small", "ClassicalMDS 200×20", (200, 20), "ClassicalMDS", distances),
    by_vectors("classical-mds", "ClassicalMDS 2000×20", (2_000, 20), "ClassicalMDS", distances),
    by_trust("umap-small", "UMAP 1000×20, defaults", (1_000, 20)),
    by_trust("umap-large", "UMAP 20000×50, defaults", (20_000, 50)),
)
