"""Groups without centres: merges from the bottom up, and dense rows."""

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


def row(name: str, title: str, shape: tuple[int, int], k: int, task: str, **params: Any) -> Problem:
    run, expected = (dense, sparse_rows) if task == "DBSCAN" else (merges, heights)
    return Problem(
        name, title, shape, partial(blobs, k=k), task, params=params, measure="workflow", run=run, expected=expected
    )


PROBLEMS = (
    row("ward-small", "AgglomerativeClustering 1000×10, ward", (1_000, 10), 5, "AgglomerativeClustering", linkage="ward"),
    row("ward", "AgglomerativeClustering 5000×10, ward", (5_000, 10), 5, "AgglomerativeClustering", linkage="ward"),
    row("average", "AgglomerativeClustering 5000×10, average", (5_000, 10), 5, "AgglomerativeClustering", linkage="average"),
    row("single", "AgglomerativeClustering 5000×10, single", (5_000, 10), 5, "AgglomerativeClustering", linkage="single"),
    row("dbscan-small", "DBSCAN 1000×3", (1_000, 3), 5, "DBSCAN", eps=0.5, min_samples=5),
    row("dbscan", "DBSCAN 200000×3", (200_000, 3), 10, "DBSCAN", eps=0.1, min_samples=10),
)  # fmt: skip
