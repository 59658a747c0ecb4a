"""Rows and how their distances are measured: by a metric with a name, by a function, or by a table of all distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cluster import _kernels
from qed.core import InvalidData
from qed.core._memory import require_memory
from qed.core._once import cached_property
from qed.metrics import pairwise_distances
from qed.neighbors._index import pays
from qed.neighbors._metric import Metric, MetricName, named
from qed.neighbors._rows import require_magnitude

if TYPE_CHECKING:
    from qed.core import FitData
    from qed.core._params import Array

# Of 20000 rows without structure, rounds over boxes take 0.7 of the time of Prim's scans in 8 columns, and twice the time in 12.
COLUMNS_OF_ROUNDS = 10
AnyMetric = MetricName | str | Callable[..., Any]


class Space:
    """Rows of a fit.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Rows as the metric measures them; empty where distances are given.
    metric : Metric
        The metric.
    given : ndarray of shape (n, n), optional
        Distances of all pairs, where no kernel measures them.
    """

    def __init__(self, rows: Array, metric: Metric, given: Array | None = None) -> None:
        self.rows, self.metric, self.given = rows, metric, given
        self.n = len(rows) if given is None else len(given)

    @classmethod
    def of(
        cls, owner: str, data: FitData, metric: AnyMetric, params: dict[str, Any] | None = None, p: float = 2.0
    ) -> Space:
        """Read rows, and a metric as users write it."""
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X)
        table = np.ascontiguousarray(X, dtype=np.float64)
        if metric == "precomputed":
            return cls(np.empty((0, 0)), Metric("precomputed"), _square(owner, table))
        require_sizes(owner, table)
        if callable(metric):
            _require_square(len(table), "the distances of all pairs of rows")
            found = pairwise_distances(table, metric=metric, **(params or {}))
            return cls(np.empty((0, 0)), Metric("precomputed"), _square(owner, found))
        measured = named(owner, metric, p, params, table.shape[1])
        return cls(np.ascontiguousarray(measured.prepared(table)[0]), measured)

    @cached_property
    def flat(self) -> _kernels.Parts:
        """The rows in groups of eight, in their order."""
        return _kernels.arrange(self.rows, tree=False)

    @cached_property
    def index(self) -> _kernels.Parts:
        """The rows as they are searched: with boxes around near ones where these pay."""
        return _kernels.arrange(self.rows, tree=True) if pays(*self.rows.shape) else self.flat

    def nearest_others(self, k: int) -> tuple[Array, Array]:
        """Return distances and numbers of the k nearest other rows of each row, nearest first."""
        if self.given is None:
            distances, ids = _kernels.nearest_others(self.index, self.rows, k, self.metric.sums)
            return self.metric.finished(distances), ids
        away = self.given.copy()
        np.fill_diagonal(away, np.inf)
        order = np.argsort(away, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(away, order, axis=1), order

    def matrix(self) -> Array:
        """Return the distances of all pairs; a copy where they were given."""
        if self.given is not None:
            return self.given.copy()
        _require_square(self.n, "the distances of all pairs of rows")
        found = self.metric.finished(_kernels.measure(self.flat, self.rows, self.metric.sums))
        np.fill_diagonal(found, 0.0)
        return found

    def distances_of(self, rows: Array) -> Array:
        """Return the distances of some rows to all, (len(rows), n)."""
        if self.given is not None:
            return np.asarray(self.given[rows])
        return self.metric.finished(
            _kernels.measure(self.flat, np.ascontiguousarray(self.rows[rows]), self.metric.sums)
        )

    def span(
        self, source: Array | None = None, target: Array | None = None, limit: float = np.inf
    ) -> tuple[Array, Array, Array]:
        """Return rows in the order of Prim's algorithm, from which row each is reached, and how far it is."""
        if self.given is not None:
            return _span_table(self.given, source, target, limit)
        scale = 1.0 / self.metric.finished(np.ones(1))[0]
        ends = [None if end is None else np.ascontiguousarray(end * scale) for end in (source, target)]
        order, parent, away = _kernels.span(
            self.flat, self.rows, self.metric.sums, ends[0], ends[1], self.metric.length(limit)
        )
        return order, parent, self.metric.finished(away)

    def spanning_edges(self, core: Array | None = None) -> tuple[Array, Array, Array]:
        """Return the ends of the edges of a minimum spanning tree, and how long they are, shortest first.

        Two rows are as far apart as the largest of their distance and of ``core`` of both.
        """
        if self.given is None and pays(self.n, self.rows.shape[1], COLUMNS_OF_ROUNDS):
            scale = 1.0 / self.metric.finished(np.ones(1))[0]
            ends = None if core is None else np.ascontiguousarray(core * scale)
            first, second, away = _kernels.spanning_edges(self.index, self.rows, self.metric.sums, ends)
            away = self.metric.finished(away)
        else:
            _, parent, reached = self.span(core, core)
            first = np.flatnonzero(parent >= 0)
            second, away = parent[first], reached[first]
        order = np.argsort(away, kind="stable")
        return first[order], second[order], away[order]


def require_sizes(owner: str, table: Array) -> None:
    """Refuse values whose squares leave float64."""
    require_magnitude(float(np.max(np.abs(table), initial=0.0)), owner)


def _require_square(n: int, what: str) -> None:
    require_memory(
        8 * n * n, f"{what} ({n} x {n})", "Cluster a sample of the rows, or MiniBatchKMeans, DBSCAN or HDBSCAN."
    )


def _square(owner: str, table: Array) -> Array:
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise InvalidData(f"{owner} with given distances needs a square table, got shape {table.shape}.")
    if (table < 0).any():
        raise InvalidData(
            f"{owner}: distances must not be negative. Negative values in data passed to precomputed distances."
        )
    if not np.allclose(table, table.T, rtol=1e-9, atol=1e-12 * float(np.max(table, initial=0.0))):
        raise InvalidData(f"{owner}: distances must be the same in both directions. Symmetrise them: (D + D.T) / 2.")
    found = 0.5 * (table + table.T)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _span_table(D: Array, source: Array | None, target: Array | None, limit: float) -> tuple[Array, Array, Array]:
    """Run Prim's algorithm on a table."""
    n = len(D)
    order, parent, away = np.empty(n, np.int64), np.full(n, -1, np.int64), np.full(n, np.inf)
    left = np.ones(n, bool)
    row = 0
    for step in range(n):
        order[step] = row
        left[row] = False
        key = D[row].copy()
        if source is not None:
            key = np.maximum(key, source[row])
        if target is not None:
            key = np.maximum(key, target)
        nearer = left & (key <= limit) & (key < away)
        away[nearer], parent[nearer] = key[nearer], row
        if step < n - 1:
            row = int(np.argmin(np.where(left, away, np.inf)))
            if not left[row]:  # none is within reach: the next by number begins anew
                row = int(np.flatnonzero(left)[0])
    away[order[0]] = np.inf
    return order, parent, away
