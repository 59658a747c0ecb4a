"""Rows as a fuzzy graph: how far each belongs to the neighbourhoods of others, and the curve that points are to follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.manifold import _kernels
from qed.manifold._kernels import Curve
from qed.manifold._neighborhoods import Space, neighbor_graph

if TYPE_CHECKING:
    from qed.core._params import Array

UNKNOWN = 1.0  # distance of a row whose class is not known


def fitted_curve(spread: float, min_dist: float) -> Curve:
    """Return a and b of 1 / (1 + a r^(2b)) nearest to 1 up to `min_dist` and exp(-(r - min_dist) / spread) beyond.

    Nearest in squares at 300 distances up to three times the spread, by Gauss and Newton's steps in log a and log b, halved
    until the squares fall.
    """
    r = np.linspace(0.0, 3.0 * spread, 300)[1:]
    wanted = np.where(r < min_dist, 1.0, np.exp(-(r - min_dist) / spread))
    log_r2 = 2.0 * np.log(r)

    def residual(t: Array) -> tuple[Array, Array]:
        power = np.exp(t[0] + np.exp(t[1]) * log_r2)
        value = 1.0 / (1.0 + power)
        slope = -value * value * power
        return value - wanted, np.stack([slope, slope * np.exp(t[1]) * log_r2], axis=1)

    t = np.zeros(2)
    off, jacobian = residual(t)
    for _ in range(100):
        step = np.linalg.lstsq(jacobian, -off, rcond=None)[0]
        size = 1.0
        while size > 1e-10:
            tried, other = residual(t + size * step)
            if tried @ tried < off @ off:
                break
            size /= 2
        else:
            break
        t, off, jacobian = t + size * step, tried, other
    return Curve(math.exp(t[0]), math.exp(t[1]))


def fuzzy_graph(distances: Array, ids: Array, *, connected: float, mix: float) -> Any:
    """Return the graph of memberships: of a row in the neighbourhood of another, or of the other in its own.

    Parameters
    ----------
    distances, ids : ndarray of shape (n, k)
        Nearest other rows.
    connected : float
        How many neighbours count fully.
    mix : float
        1 for the union a + b - ab of the memberships in both directions, 0 for their product, between for a mixture.
    """
    n, k = ids.shape
    values, _, _ = _kernels.membership_similarities(distances, math.log2(k + 1), connected)
    directed = neighbor_graph(values, ids, n)
    product = directed.multiply(directed.T).tocsr()
    both = (mix * (directed + directed.T - product) + (1.0 - mix) * product).tocsr()
    both.eliminate_zeros()
    both.sort_indices()
    return both


def with_classes(graph: Any, codes: Array, weight: float) -> Any:
    """Weaken links between rows of different class; -1 stands for a class that is not known."""
    far = 2.5 / (1.0 - weight) if weight < 1.0 else 1e12
    tails = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    a, b = codes[tails], codes[graph.indices]
    factor = np.where((a < 0) | (b < 0), math.exp(-UNKNOWN), np.where(a == b, 1.0, math.exp(-far)))
    made = graph.copy()
    made.data = made.data * factor
    return locally_connected(made)


def with_targets(graph: Any, targets: Array, weight: float, n_neighbors: int) -> Any:
    """Combine the graph of rows with that of their targets, numbers: geometric means of memberships, `weight` of the targets."""
    space = Space.of("UMAP", targets, "euclidean")
    distances, ids = space.nearest(min(n_neighbors, space.n_rows - 1))
    other = fuzzy_graph(distances, ids, connected=1.0, mix=1.0)
    low_rows, low_targets = graph.data.min() / 2, other.data.min() / 2
    both = (graph + other).tocsr()
    both.sort_indices()
    mine = _values_at(graph, both, low_rows)
    theirs = _values_at(other, both, low_targets)
    both.data = mine ** (1.0 - weight) * theirs**weight
    return locally_connected(both)


def _values_at(graph: Any, pattern: Any, otherwise: float) -> Array:
    """Return the entries of a graph at those of a pattern that holds them all; `otherwise` where it has none."""
    n = graph.shape[0]
    keys = np.repeat(np.arange(n), np.diff(graph.indptr)) * n + graph.indices
    wanted = np.repeat(np.arange(n), np.diff(pattern.indptr)) * n + pattern.indices
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, graph.data[at], otherwise)


def locally_connected(graph: Any) -> Any:
    """Return memberships relative to the largest of their row, as a union of both directions."""
    largest = np.asarray(abs(graph).max(axis=1).todense()).reshape(-1)
    rows = graph.copy()
    rows.data = rows.data / np.repeat(np.where(largest > 0, largest, 1.0), np.diff(graph.indptr))
    product = rows.multiply(rows.T).tocsr()
    both = (rows + rows.T - product).tocsr()
    both.eliminate_zeros()
    both.sort_indices()
    return both


def relative_weights(graph: Any, epochs: int) -> Array:
    """Return weights relative to the heaviest; those that would be met in no epoch are zero."""
    weights = graph.data / max(float(graph.data.max(initial=0.0)), 1e-300)
    return np.where(weights * epochs < 1.0, 0.0, weights)
