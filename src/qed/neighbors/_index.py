"""Rows that can be searched: arranged once, asked often."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qed.core import InvalidData
from qed.core._once import cached_property
from qed.neighbors import _kernels

if TYPE_CHECKING:
    from qed.core._params import Array
    from qed.neighbors._metric import Metric


FEW_COLUMNS = 12  # in more, boxes around near rows overlap too much to be passed by
MANY_ROWS = 1500  # fewer are looked at one by one before a tree has been climbed


def pays(n_rows: int, n_columns: int, few: int = FEW_COLUMNS) -> bool:
    """Tell whether boxes around rows are worth making."""
    return n_columns <= few and n_rows >= MANY_ROWS


class Lists(NamedTuple):
    """Rows near queries, list after list.

    Attributes
    ----------
    starts : ndarray of shape (n + 1,)
        Where the list of each query begins.
    distances, ids : ndarray
        The lists, nearest first.
    """

    starts: Array
    distances: Array
    ids: Array


class Index:
    """Rows arranged for one metric.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Float64, contiguous.
    metric : Metric
        How distances are measured.
    tree : bool
        Whether to put boxes around rows that lie close together. Answers are the same.
    """

    def __init__(self, rows: Array, metric: Metric, *, tree: bool) -> None:
        self.rows, self.metric, self.tree = rows, metric, tree
        self.n_rows = len(rows)

    @cached_property
    def parts(self) -> _kernels.Parts:
        """The rows in the order of the search, made when first asked for."""
        prepared, _ = self.metric.prepared(self.rows)
        return _kernels.arrange(_kernels.plain(prepared), tree=self.tree)

    def nearest(self, queries: Array, k: int, *, others: bool) -> tuple[Array, Array]:
        """Return distances and numbers of the k nearest rows: nearest first, equal distances by number.

        With ``others`` query i is row i, and is not among its own neighbours.
        """
        prepared, blank = self.metric.prepared(queries)
        distances, ids, _ = _kernels.nearest(self.parts, _kernels.plain(prepared), k, self.metric.sums, others=others)
        _require_lengths(distances[:, -1])
        distances = self.metric.finished(distances)
        for query in blank:  # as far from each row as from any other
            first = np.arange(min(k + 1, self.n_rows))
            ids[query] = (first[first != query] if others else first)[:k]
            distances[query] = 1.0
        return distances, ids

    def within(self, queries: Array, radius: float, *, others: bool) -> Lists:
        """Return all rows within a radius of each query, nearest first."""
        prepared, blank = self.metric.prepared(queries)
        length = self.metric.length(radius)
        found = Lists(*_kernels.within(self.parts, _kernels.plain(prepared), length, self.metric.sums, others=others))
        found = found._replace(distances=self.metric.finished(found.distances))
        if not len(blank):
            return found
        parts = [
            (found.distances[a:b], found.ids[a:b]) for a, b in zip(found.starts[:-1], found.starts[1:], strict=True)
        ]
        for query in blank:
            every = np.arange(self.n_rows) if radius >= 1 else np.arange(0)
            every = every[every != query] if others else every
            parts[query] = (np.ones(len(every)), every)
        starts = np.concatenate([[0], np.cumsum([len(ids) for _, ids in parts])])
        return Lists(starts, np.concatenate([d for d, _ in parts]), np.concatenate([ids for _, ids in parts]))

    def to_all(self, queries: Array) -> Array:
        """Return the distances of queries to all rows, (len(queries), n); only without a tree."""
        prepared, _ = self.metric.prepared(queries)
        return self.metric.finished(_kernels.to_all(self.parts, _kernels.plain(prepared), self.metric.sums))


def _require_lengths(farthest: Array) -> None:
    if not np.isfinite(farthest).all():
        raise InvalidData(
            "Input X contains values too large for distances from the rows of the fit: their squares leave float64. Divide the"
            " columns by their size first, as StandardScaler does."
        )
