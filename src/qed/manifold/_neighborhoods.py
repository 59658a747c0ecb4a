"""Rows with a distance between them: nearest ones, graphs of those, and the components of a graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._memory import require_memory
from qed.core._once import cached_property
from qed.core._tables import csr, is_sparse
from qed.manifold._kernels import Edges
from qed.metrics import euclidean_distances, pairwise_distances
from qed.neighbors._index import Index, pays
from qed.neighbors._metric import Metric, MetricName, named

if TYPE_CHECKING:
    from qed.core._params import Array

AnyMetric = MetricName | Literal["precomputed"] | Callable[..., Any]


class Space:
    """Rows and how their distances are measured: by a metric with a name, by a function, or by a table of all distances.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Float64; distances themselves where there is neither metric nor function.
    metric : Metric or None
        How kernels measure rows.
    function : callable or None
        How two rows are measured where no kernel does it.
    """

    def __init__(
        self, rows: Array, metric: Metric | None, function: Callable[[Array, Array], Array] | None = None
    ) -> None:
        self.rows, self.metric, self._function = rows, metric, function

    @classmethod
    def of(cls, owner: str, X: Any, metric: AnyMetric, params: dict[str, Any] | None = None, p: float = 2.0) -> Space:
        """Read rows as users give them; refuse distances that are none."""
        rows = dense_rows(owner, X)
        if callable(metric):
            return cls(rows, None, partial(_by_function, owner, metric, params or {}))
        if metric != "precomputed":
            found = named(owner, metric, float(p), params, rows.shape[1])
            _require_squares(rows, found)
            return cls(rows, found)
        _require_lengths(owner, "metric='precomputed'", rows)
        return cls(rows, None)

    @cached_property
    def given(self) -> Array:
        """The distances of all pairs, where no kernel measures them."""
        return self.rows if self._function is None else self._function(self.rows, self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def between(self, chosen: Array) -> Array:
        """Return the distances of some rows to all, from differences."""
        if self.metric is None:
            return np.array(self.given[chosen])
        return Index(self.rows, self.metric, tree=False).to_all(self.rows[chosen])

    def square(self) -> Array:
        """Return the distances of all pairs, symmetric."""
        n = self.n_rows
        require_memory(24 * n * n, f"the {n} x {n} matrix of distances", "Embed a sample of the rows.")
        if self.metric is None:
            return self.given
        by_products = self.metric.name == "euclidean"
        found = euclidean_distances(self.rows) if by_products else self.between(np.arange(n))
        found = 0.5 * (found + found.T)
        np.fill_diagonal(found, 0.0)
        return found

    def nearest(self, k: int) -> tuple[Array, Array]:
        """Return distances and numbers of the k nearest other rows of each row, nearest first."""
        if self.metric is not None:
            index = Index(self.rows, self.metric, tree=pays(*self.rows.shape))
            return index.nearest(self.rows, k, others=True)
        away = np.array(self.given)
        np.fill_diagonal(away, np.inf)
        ids = np.argsort(away, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(away, ids, axis=1), ids

    def nearest_of(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Return distances and numbers of the k rows nearest to queries."""
        if self.metric is not None:
            return Index(self.rows, self.metric, tree=pays(*self.rows.shape)).nearest(queries, k, others=False)
        away = queries if self._function is None else self._function(queries, self.rows)
        ids = np.argsort(away, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(away, ids, axis=1), ids

    def within(self, radius: float) -> Edges:
        """Return the graph of other rows within a radius."""
        if self.metric is not None:
            index = Index(self.rows, self.metric, tree=pays(*self.rows.shape))
            found = index.within(self.rows, radius, others=True)
            return Edges(*(np.ascontiguousarray(part) for part in (found.starts, found.ids, found.distances)))
        near = self.given <= radius
        np.fill_diagonal(near, val=False)
        starts = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        return Edges(starts, np.nonzero(near)[1], self.given[near])


def dense_rows(owner: str, X: Any) -> Array:
    """Return rows as float64; sparse ones are filled in, if they fit."""
    if is_sparse(X):
        n, p = X.shape
        require_memory(
            16 * n * p,
            f"{n} sparse rows of {p} columns made dense ({owner})",
            "Reduce the columns first: TruncatedSVD.",
        )
        X = X.toarray()
    return np.ascontiguousarray(X, dtype=np.float64)


def _by_function(owner: str, metric: Callable[..., Any], params: dict[str, Any], queries: Array, rows: Array) -> Array:
    found = np.asarray(pairwise_distances(queries, rows, metric=metric, **params))
    _require_lengths(owner, "a function as metric", found)
    return found


def _require_lengths(owner: str, origin: str, distances: Array) -> None:
    if not (distances >= 0).all():
        raise InvalidData(f"{owner} was given negative distances ({origin}). Distances are at least zero.")


def _require_squares(rows: Array, metric: Metric) -> None:
    largest = float(np.abs(rows).max(initial=0.0))
    if metric.name in ("euclidean", "sqeuclidean", "minkowski") and largest > 1e150:
        raise InvalidData(
            f"Input X contains a value of size {largest:.3g}, whose square leaves float64. Divide the columns by their size"
            " first, as StandardScaler does."
        )


def require_neighbors(owner: str, wanted: int, n_rows: int) -> int:
    """Refuse more neighbours than there are other rows."""
    if wanted >= n_rows:
        raise InvalidParameter(
            f"Expected n_neighbors < n_samples, but n_neighbors = {wanted}, n_samples = {n_rows} ({owner}). Ask for fewer"
            " neighbours, or fit more rows."
        )
    return wanted


def neighbor_graph(distances: Array, ids: Array, n_columns: int) -> Any:
    """Return lists of neighbours as a CSR container."""
    n, k = ids.shape
    return csr(distances.reshape(-1), ids.reshape(-1), np.arange(0, n * k + 1, k), (n, n_columns))


def undirected(distances: Array, ids: Array) -> Edges:
    """Return the graph in which two rows are linked if either is a neighbour of the other."""
    n, k = ids.shape
    tails = np.repeat(np.arange(n), k)
    return symmetric_edges(n, tails, ids.reshape(-1), distances.reshape(-1))


def symmetric_edges(n: int, tails: Array, heads: Array, values: Array) -> Edges:
    """Return edges in both directions, each once; of several between two nodes the one with the largest number."""
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    order = np.lexsort((-values, high, low))
    low, high, values = low[order], high[order], values[order]
    first = np.ones(len(low), bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, values = low[first], high[first], values[first]
    tails, heads = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((heads, tails))
    starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))])
    return Edges(starts, heads[order], np.concatenate([values, values])[order])


def components(edges: Edges) -> Array:
    """Return the number of the connected component of each node, counted from 0 in the order of their first nodes."""
    n = len(edges.starts) - 1
    label = np.arange(n)
    tails = np.repeat(np.arange(n), np.diff(edges.starts))
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, tails, label[edges.ends])
        np.minimum.at(lowest, edges.ends, label[tails])
        lowest = lowest[lowest]  # along the labels found so far
        if np.array_equal(lowest, label):
            return np.unique(label, return_inverse=True)[1]
        label = lowest


def joined(owner: str, space: Space, edges: Edges) -> Edges:
    """Link the components of a graph: every two by the shortest distance between them. Says so."""
    label = components(edges)
    count = int(label.max()) + 1
    if count == 1:
        return edges
    warnings.warn(
        f"The number of connected components of the neighbors graph is {count} > 1 ({owner}). Each two of them are linked by their"
        " nearest rows. Increase n_neighbors or radius to avoid this.",
        UserWarning,
        stacklevel=4,
    )
    tails, heads, lengths = [], [], []
    for first in range(count):
        own = np.flatnonzero(label == first)
        away = space.between(own)
        for other in range(first + 1, count):
            others = np.flatnonzero(label == other)
            i, j = np.divmod(int(np.argmin(away[:, others])), len(others))
            tails.append(own[i])
            heads.append(others[j])
            lengths.append(away[i, others[j]])
    n = len(label)
    known = np.repeat(np.arange(n), np.diff(edges.starts))
    return symmetric_edges(
        n,
        np.concatenate([known, np.array(tails, dtype=known.dtype)]),
        np.concatenate([edges.ends, np.array(heads, dtype=edges.ends.dtype)]),
        np.concatenate([edges.values, np.array(lengths)]),
    )


def require_symmetric(owner: str, D: Array) -> Array:
    """Refuse distances that differ in the two directions."""
    size = float(np.abs(D).max(initial=0.0))
    if not np.abs(D - D.T).max(initial=0.0) <= 1e-8 * size:
        raise InvalidData(
            f"Array must be symmetric: {owner} was given distances that differ in the two directions. Average X and X.T first."
        )
    return D
