"""The one interface of `qed.manifold` to native code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qed import _native

if TYPE_CHECKING:
    from qed.core._params import Array


class Edges(NamedTuple):
    """A weighted graph in compressed rows.

    Attributes
    ----------
    starts : ndarray of int64 of shape (n + 1,)
        Where the edges of each node begin.
    ends : ndarray of int64
        Where they lead.
    values : ndarray of float64
        Their numbers.
    """

    starts: Array
    ends: Array
    values: Array

    @classmethod
    def of(cls, graph: object) -> Edges:
        """Read a CSR container."""
        return cls(
            np.ascontiguousarray(graph.indptr, np.int64),  # type: ignore[attr-defined]
            np.ascontiguousarray(graph.indices, np.int64),  # type: ignore[attr-defined]
            np.ascontiguousarray(graph.data, np.float64),  # type: ignore[attr-defined]
        )


class Curve(NamedTuple):
    """Membership of points at distance r: 1 / (1 + a r^(2b))."""

    a: float
    b: float


class Sampling(NamedTuple):
    """How a layout draws: strength of repulsion, points that push for each that pulls, rate, epochs in all, and seed."""

    repulsion: float
    negatives: int
    rate: float
    epochs: int
    seed: int


def _plain(a: Array) -> Array:
    return np.require(a, dtype=np.float64, requirements=["C", "A"])


def shortest_paths(edges: Edges, sources: Array) -> Array:
    """Return the lengths of shortest paths from some nodes to all; infinity where there is none."""
    return _native.shortest_paths(edges, np.ascontiguousarray(sources, np.int64))


def guttman_step(D: Array, columns: Array) -> tuple[Array, float, float]:
    """Return the points that one step of majorisation leads to, and the stress and squared distances of those given."""
    return _native.guttman_step(D, columns)


def pair_distances(columns: Array) -> Array:
    """Return the distances of all pairs i < j of points."""
    return _native.pair_distances(_plain(columns))


def places_beyond(reference: Array, other: Array, own: Array, k: int) -> int:
    """Return how far beyond place k those stand in one space that are the k nearest in the other, summed over rows."""
    return _native.places_beyond(_plain(reference), _plain(other), np.ascontiguousarray(own, np.int64), k)


def squared_product(D: Array, v: Array) -> Array:
    """Return the squares of D times v, without storing them."""
    return _native.squared_product(_plain(D), _plain(v))


def perplexity_similarities(distances: Array, perplexity: float) -> Array:
    """Return similarities of rows to their neighbours whose entropy is the logarithm of the perplexity."""
    return _native.perplexity_similarities(_plain(distances), perplexity)[0]


def membership_similarities(distances: Array, wanted: float, connected: float) -> tuple[Array, Array, Array]:
    """Return memberships that add up to `wanted` in every row, the distances they begin at, and their spreads."""
    return _native.membership_similarities(_plain(distances), wanted, connected)


class Descent:
    """Points on their way down, with what gradient descent keeps beside them."""

    def __init__(self, p: Edges, points: Array, learning_rate: float, angle: float, *, by_grid: bool = False) -> None:
        self.p, self.points = p, np.array(points, dtype=np.float64, order="C")
        self.learning_rate, self.angle, self.by_grid = learning_rate, angle, by_grid
        self.rest()

    def rest(self) -> None:
        """Forget velocities and gains."""
        self._velocity, self._gains = np.zeros_like(self.points), np.ones_like(self.points)

    def steps(self, count: int, exaggeration: float, momentum: float) -> tuple[float, float]:
        """Go so many steps; return the divergence and the norm of the gradient before the last."""
        rate, angle = self.learning_rate, self.angle
        return _native.tsne_steps(
            self.p, self.points, self._velocity, self._gains, exaggeration, momentum, rate, angle, self.by_grid, count
        )


def tsne_gradient(p: Edges, points: Array, angle: float = 0.0, *, by_grid: bool = False) -> tuple[float, Array]:
    """Return the divergence at points, and its gradient."""
    return _native.tsne_gradient(p, _plain(points), angle, by_grid)


def student_sum(points: Array, rows: Array) -> float:
    """Return the sum of similarities of some points with all others."""
    return _native.student_sum(_plain(points), np.ascontiguousarray(rows, np.int64))


def umap_epochs(
    edges: Edges, points: Array, fixed: Array | None, curve: Curve, sampling: Sampling, first: int, last: int
) -> None:
    """Move points in place, through epochs first to last - 1."""
    _native.umap_epochs(edges, points, None if fixed is None else _plain(fixed), curve, sampling, first, last)


def umap_cross_entropy(edges: Edges, points: Array, curve: Curve, repulsion: float, rows: Array) -> float:
    """Return what a layout lowers, over some rows."""
    return _native.umap_cross_entropy(edges, _plain(points), curve, repulsion, np.ascontiguousarray(rows, np.int64))
