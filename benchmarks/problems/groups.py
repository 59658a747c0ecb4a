"""Groups without centres: merges from the bottom up, dense rows, and cuts of a graph.

Merges and core rows are compared with SciPy's; groups of every density and cuts by how many pairs of rows they put together or
apart otherwise than the groups that were drawn, which must not be more than for scikit-learn.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of
from benchmarks.problems.groundwork import blobs

if TYPE_CHECKING:
    from collections.abc import Callable


def merges(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The sum of the heights of all merges."""
    if library == "fastcluster":
        import fastcluster

        kept = fastcluster.linkage_vector if params["linkage"] in ("ward", "single") else fastcluster.linkage
        return lambda X, _: float(kept(X, params["linkage"])[:, 2].sum())
    if library == "quitefastmst":
        import quitefastmst

        return lambda X, _: float(quitefastmst.mst_euclid(X)[0].sum())
    model = model_of(library, "cluster", "AgglomerativeClustering")
    return lambda X, _: float(model(compute_distances=True, **params).fit(X).distances_.sum())


def heights(data: Data, params: dict[str, Any]) -> Any:
    """The same by SciPy."""
    from scipy.cluster.hierarchy import linkage

    return [linkage(data.X, params["linkage"])[:, 2].sum()]


def dense(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """How many rows are no core rows."""
    model = model_of(library, "cluster", "DBSCAN")
    return lambda X, _: float(len(X) - len(model(**params).fit(X).core_sample_indices_))


def sparse_rows(data: Data, params: dict[str, Any]) -> Any:
    """The same by counting neighbours in SciPy's tree."""
    from scipy.spatial import cKDTree

    counts = cKDTree(data.X).query_ball_point(data.X, params["eps"], return_length=True)
    return [float(np.sum(counts < params["min_samples"]))]


def apart(rng: np.random.Generator, n: int, p: int) -> Data:
    """Twenty groups that do not overlap, so that no tie decides, and which rows belong to which."""
    homes, group = 12.0 * rng.standard_normal((20, p)), rng.integers(0, 20, n)
    return Data(homes[group] + rng.standard_normal((n, p)), group)


def grouped(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """One less the adjusted Rand index of the groups found."""
    if library == "hdbscan":
        import hdbscan

        return lambda X, y: _disagreement(y, hdbscan.HDBSCAN(core_dist_n_jobs=-1).fit(X).labels_)
    model = model_of(library, "cluster", task)
    given = (
        {**params, "copy": True} if library == "sklearn" and task == "HDBSCAN" else params
    )  # its default is announced to change

    def run(X: Any, y: Any) -> float:
        return _disagreement(y, model(**given).fit(X).labels_)

    return run


def elected(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """What exemplars leave: squared distances of rows to theirs, and the preference for each of them."""
    model = model_of(library, "cluster", "AffinityPropagation")

    def run(X: Any, _: Any) -> float:
        own = model(**params).fit(X).cluster_centers_indices_
        squares = np.sum(X**2, axis=1)
        away = squares[:, None] + squares - 2 * X @ X.T
        served = np.setdiff1d(np.arange(len(X)), own)
        return float(away[np.ix_(served, own)].min(axis=1).sum() + len(own) * np.median(away))

    return run


def by_exemplars(name: str, n: int) -> Problem:
    """Judged by what scikit-learn leaves."""
    return Problem(
        name, f"AffinityPropagation {n}×5", (n, 5), apart, "AffinityPropagation", {"random_state": 0}, "workflow",
        run=elected, reference="scikit_learn", same_seed=True, is_ceiling=True,
    )  # fmt: skip


def _disagreement(truth: Any, found: Any) -> float:
    counts = np.unique(np.stack([truth, found]), axis=1, return_counts=True)[1]
    pairs, rows, columns, whole = (
        float(np.sum(c * (c - 1.0)))
        for c in (
            counts,
            np.unique(truth, return_counts=True)[1],
            np.unique(found, return_counts=True)[1],
            np.array([len(truth)]),
        )
    )
    chance = rows * columns / whole
    return 1.0 - (pairs - chance) / (0.5 * (rows + columns) - chance)


def theirs(task: str, data: Data, params: dict[str, Any]) -> Any:
    """The same in scikit-learn."""
    return [grouped(task, "sklearn", params)(data.X, data.y)]


def by_groups(name: str, title: str, shape: tuple[int, int], task: str, **params: Any) -> Problem:
    return Problem(
        name, title, shape, apart, task, params, "workflow", run=partial(grouped, task), expected=partial(theirs, task),
        is_ceiling=True, peers=("hdbscan",) if task == "HDBSCAN" else (),
    )  # fmt: skip


def board(rng: np.random.Generator, n: int, p: int) -> Data:
    """Three groups of rows and of columns, each pair of groups with a level of its own."""
    rows, columns = rng.integers(0, 3, n), rng.integers(0, 3, p)
    levels = np.array([[9.0, 2, 1], [1, 7, 3], [2, 1, 8]])
    return Data(levels[rows][:, columns] + rng.random((n, p)), rows)


def both_sides(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """One less the adjusted Rand index of the groups of rows that are found together with groups of columns."""
    model = model_of(library, "cluster", task)
    return lambda X, y: _disagreement(y, model(**params).fit(X).row_labels_)


def joined(task: str, library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The squares that means of grouped columns leave."""
    model = model_of(library, "cluster", task)

    def run(X: Any, _: Any) -> float:
        fitted = model(**params).fit(X)
        return float(np.mean((X - fitted.inverse_transform(fitted.transform(X))) ** 2))

    return run


def by_columns(name: str, title: str, shape: tuple[int, int], run: Any, **params: Any) -> Problem:
    task = title.partition(" ")[0]
    return Problem(
        name, title, shape, board, task, params, "workflow", run=partial(run, task), is_ceiling=True,
        expected=lambda data, given: [run(task, "sklearn", given)(data.X, data.y)],
    )  # fmt: skip


def row(name: str, title: str, shape: tuple[int, int], k: int, task: str, **params: Any) -> Problem:
    run, expected = (dense, sparse_rows) if task == "DBSCAN" else (merges, heights)
    peers = ("intelex",) if task == "DBSCAN" else ("fastcluster",)
    return Problem(
        name, title, shape, partial(blobs, k=k), task, params=params, measure="workflow", run=run, expected=expected,
        peers=(*peers, "quitefastmst") if params.get("linkage") == "single" else peers,
    )  # fmt: skip


PROBLEMS = (
    row("ward-small", "AgglomerativeClustering 1000×10, ward", (1_000, 10), 5, "AgglomerativeClustering", linkage="ward"),
    *(
        row(name, f"AgglomerativeClustering 15000×10, {name}", (15_000, 10), 20, "AgglomerativeClustering", linkage=name)
        for name in ("ward", "average", "complete", "single")
    ),
    row("dbscan-small", "DBSCAN 1000×3", (1_000, 3), 5, "DBSCAN", eps=0.5, min_samples=5),
    row("dbscan", "DBSCAN 200000×3", (200_000, 3), 10, "DBSCAN", eps=0.1, min_samples=10),
    by_groups("hdbscan-small", "HDBSCAN 1000×5", (1_000, 5), "HDBSCAN"),
    by_groups("hdbscan", "HDBSCAN 30000×5", (30_000, 5), "HDBSCAN"),
    *(
        by_groups(f"{task.lower()}-{size}", f"{task} {n}×{p}", (n, p), task)
        for task, shapes in {
            "OPTICS": ((1_000, 5), (10_000, 5)),
            "MeanShift": ((500, 2), (5_000, 2)),
            "Birch": ((1_000, 10), (5_000, 10)),
        }.items()
        for size, (n, p) in zip(("small", "large"), shapes, strict=True)
    ),
    by_exemplars("affinity-small", 300),
    by_exemplars("affinity-large", 2_000),
    *(
        by_columns(f"{kind}clusters-{size}", f"Spectral{kind.title()}clustering {n}×{p}", (n, p), both_sides, random_state=0)
        for kind in ("co", "bi")
        for size, n, p in (("small", 300, 50), ("large", 5_000, 500))
    ),
    by_columns("joined-columns-small", "FeatureAgglomeration 300×50", (300, 50), joined),
    by_columns("joined-columns", "FeatureAgglomeration 5000×500", (5_000, 500), joined),
    by_groups("cuts-small", "SpectralClustering 500×10", (500, 10), "SpectralClustering", n_clusters=20, random_state=0),
    by_groups(
        "cuts", "SpectralClustering 5000×10", (5_000, 10), "SpectralClustering", n_clusters=20, affinity="nearest_neighbors",
        random_state=0,
    ),
)  # fmt: skip
