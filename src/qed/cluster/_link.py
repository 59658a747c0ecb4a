"""Merges from the bottom up: how clusters are measured, and which are joined."""

from __future__ import annotations

import heapq
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.cluster import _kernels
from qed.cluster._dendrogram import Dendrogram
from qed.core import InvalidData, InvalidParameter
from qed.core._memory import require_memory

if TYPE_CHECKING:
    from qed.cluster._space import Space
    from qed.core._params import Array

Linkage = Literal["ward", "complete", "average", "single", "weighted", "centroid", "median"]
CENTROIDS = ("ward", "centroid", "median")


def link(space: Space, linkage: str) -> Dendrogram:
    """Merge the two nearest clusters, again and again."""
    n = space.n
    if n == 1:
        return Dendrogram(np.empty((0, 2), np.int64), np.empty(0))
    if linkage == "single":
        return from_spanning_tree(space)
    if space.given is not None or (linkage in CENTROIDS and n <= space.rows.shape[1]):
        # all distances take no more room than the rows, and are updated in O(n) where centroids are measured in O(n p)
        away = space.matrix()
        merges = _kernels.link_matrix(away * away if linkage in CENTROIDS else away, linkage)
        return Dendrogram(np.stack([merges.first, merges.second], axis=1), merges.heights)
    away, near = space.nearest_others(1)
    scale = 1.0 if linkage in CENTROIDS else float(space.metric.finished(np.ones(1))[0])
    nearest = np.ascontiguousarray(near[:, 0]), np.ascontiguousarray(away[:, 0]) / scale
    if linkage in CENTROIDS:
        merges = _kernels.link_centroids(_shifted(space.rows), linkage, nearest)
    else:
        require_memory(
            4 * n * n,
            f"distances between the clusters of {n} rows",
            "Linkage 'single', 'ward', 'centroid' and 'median' need none; or cluster a sample.",
        )
        merges = _kernels.link_rows(space.flat, space.rows, space.metric.sums, linkage, nearest)
    return Dendrogram(np.stack([merges.first, merges.second], axis=1), scale * merges.heights)


def _shifted(rows: Array) -> Array:
    """Return rows about their medians: means of rows far from zero would round by more than rows are apart."""
    return np.asarray(rows - np.median(rows, axis=0))


def from_spanning_tree(space: Space, core: Array | None = None) -> Dendrogram:
    """Return the merges of single linkage: the edges of a minimum spanning tree, shortest first."""
    first, second, away = space.spanning_edges(core)
    return Dendrogram(_kernels.join_edges(first, second), away)


# -- merges along a graph ------------------------------------------------------------------------------------


def link_graph(space: Space, rows: Array, graph: Any, linkage: str) -> tuple[Dendrogram, int]:
    """Merge clusters that a graph connects, the nearest first; components are connected by their nearest rows.

    Returns
    -------
    tree : Dendrogram
        The merges.
    components : int
        Into how many parts the graph fell.
    """
    if linkage not in ("ward", "complete", "average", "single"):
        raise InvalidParameter(
            f"linkage={linkage!r} takes no connectivity. Linkages that do: 'ward', 'complete', 'average', 'single'."
        )
    n = space.n
    edges, components = _edges(space, graph)
    state = _GraphState(_shifted(rows), linkage, n)
    heap: list[tuple[float, int, int]] = []
    row, away = -1, np.empty(0)
    for i, j in edges:  # sorted: a row is measured once
        if i != row and linkage != "ward":
            row, away = i, space.distances_of(np.array([i]))[0]
        value = float(away[j]) if linkage != "ward" else state.ward(i, j)
        state.near[i][j] = state.near[j][i] = value
        heap.append((value, min(i, j), max(i, j)))
    heapq.heapify(heap)
    children, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    for t in range(n - 1):
        value, a, b = heapq.heappop(heap)
        while a not in state.near or b not in state.near or state.near[a].get(b) != value:
            value, a, b = heapq.heappop(heap)
        children[t], heights[t] = (a, b), value
        for other, far in state.merge(a, b, n + t).items():
            heapq.heappush(heap, (far, other, n + t))
    return Dendrogram(children, heights), components


class _GraphState:
    """Clusters, their neighbours with distances, and their moments."""

    def __init__(self, rows: Array, linkage: str, n: int) -> None:
        self.linkage = linkage
        self.near: dict[int, dict[int, float]] = {i: {} for i in range(n)}
        self.size: dict[int, int] = dict.fromkeys(range(n), 1)
        self.mean: dict[int, Array] = {i: rows[i] for i in range(n)} if linkage == "ward" else {}

    def ward(self, a: int, b: int) -> float:
        """Return the distance of two clusters by ward linkage."""
        na, nb, step = self.size[a], self.size[b], self.mean[a] - self.mean[b]
        return float(np.sqrt(2.0 * na * nb / (na + nb) * np.sum(step * step)))

    def merge(self, a: int, b: int, new: int) -> dict[int, float]:
        """Join two clusters; return the distances of the new one to its neighbours."""
        na, nb = self.size.pop(a), self.size.pop(b)
        first, second = self.near.pop(a), self.near.pop(b)
        self.size[new] = na + nb
        if self.linkage == "ward":
            self.mean[new] = (na * self.mean.pop(a) + nb * self.mean.pop(b)) / (na + nb)
        found: dict[int, float] = {}
        for other in sorted((first.keys() | second.keys()) - {a, b}):
            one, two = first.get(other), second.get(other)
            if self.linkage == "ward":
                found[other] = self.ward(other, new)
            elif one is None or two is None:
                found[other] = one if one is not None else two  # type: ignore[assignment]
            elif self.linkage == "average":
                found[other] = (na * one + nb * two) / (na + nb)
            else:
                found[other] = max(one, two) if self.linkage == "complete" else min(one, two)
            mine = self.near[other]
            mine.pop(a, None)
            mine.pop(b, None)
            mine[new] = found[other]
        self.near[new] = dict(found)
        return found


def _edges(space: Space, graph: Any) -> tuple[list[tuple[int, int]], int]:
    """Return the edges of a graph, with some more where it falls into parts."""
    from scipy.sparse import coo_array, csgraph  # noqa: PLC0415

    n = space.n
    shape = np.shape(graph)
    if shape != (n, n):
        raise InvalidData(
            f"Wrong shape for connectivity matrix: {shape} when X is {(n, n)}: one row for each row of X."
        )
    table = coo_array(graph)
    pairs = {(min(i, j), max(i, j)) for i, j in zip(table.row.tolist(), table.col.tolist(), strict=True) if i != j}
    count, label = csgraph.connected_components(table, directed=False)
    if count > 1:
        warnings.warn(
            f"the number of connected components of the connectivity matrix is {count} > 1. Completing it to avoid stopping the"
            " tree early.",
            UserWarning,
            stacklevel=4,
        )
    # the nearest rows of any two components are connected, as in scikit-learn
    members = [np.flatnonzero(label == c) for c in range(count)]
    for c in range(count):
        away = space.distances_of(members[c])
        for other in range(c):
            part = away[:, members[other]]
            i, j = np.unravel_index(int(np.argmin(part)), part.shape)
            pairs.add(tuple(sorted((int(members[c][i]), int(members[other][j])))))  # type: ignore[arg-type]
    return sorted(pairs), int(count)
