"""Where a layout begins: eigenvectors of the graph's Laplacian, component by component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.decomposition import PCA
from qed.manifold._eigenvectors import leading
from qed.manifold._kernels import Edges
from qed.manifold._neighborhoods import Space, components

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.core._params import Array

SIZE = 10.0  # of the largest coordinate
START_PRODUCTS = 30  # products: a start need not be exact


def normalised(graph: Any) -> tuple[Any, Array]:
    """Return the graph with every weight divided by the roots of the degrees of its ends, and those roots."""
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).reshape(-1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    if isinstance(graph, np.ndarray):
        return graph / roots / roots[:, None], roots
    made = graph.tocsr().astype(np.float64)
    tails = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr))
    made.data = made.data / (roots[tails] * roots[made.indices])
    return made, roots


def spectral_start(space: Space, graph: Any, k: int, rng: Generator, *, by_graph: bool) -> Array:
    """Return points of size ten, with a little noise: by the graph, or by principal components of the rows."""
    n = space.n_rows
    points = _by_graph(space, graph, k, rng) if by_graph else _by_components(space.rows, k, rng)
    size = float(np.abs(points).max(initial=0.0))
    points = points * (SIZE / size) if size > 0 else points
    return np.ascontiguousarray(points + 1e-4 * rng.standard_normal((n, k)))


def _by_components(rows: Array, k: int, rng: Generator) -> Array:
    points = rng.standard_normal((len(rows), k))
    if len(rows) > 1 and np.ptp(rows, axis=0).max(initial=0.0) > 0:
        many = min(k, *rows.shape)
        scores = PCA(many).set_output(transform="default").fit_transform(rows)
        points *= 1e-2 * float(np.abs(scores).max())
        points[:, :many] = scores
    return points


def _by_graph(space: Space, graph: Any, k: int, rng: Generator) -> Array:
    """Lay out each component by itself, about the place of its mean among those of the others."""
    label = components(Edges.of(graph))
    count = int(label.max(initial=0)) + 1
    if count == 1:
        return _of_connected(graph, k, rng)
    sizes = np.bincount(label)
    means = np.stack([np.bincount(label, column, count) / sizes for column in space.rows.T], axis=1)
    centres = _by_components(means, k, rng)
    away = np.linalg.norm(centres[:, None] - centres, axis=2)
    np.fill_diagonal(away, np.inf)
    room = 0.5 * np.where(np.isfinite(away.min(axis=1)), away.min(axis=1), 1.0)
    points = centres[label]
    for one in range(count):
        own = np.flatnonzero(label == one)
        part = _of_connected(graph[own][:, own].tocsr(), k, rng)
        size = float(np.abs(part).max(initial=0.0))
        points[own] += part * (room[one] / size if size > 0 else 1.0)
    return points


def _of_connected(graph: Any, k: int, rng: Generator) -> Array:
    n = graph.shape[0]
    if n <= k + 2:
        return rng.standard_normal((n, k))
    matrix, roots = normalised(graph)
    vectors = leading(matrix, k + 1, steps=START_PRODUCTS, tol=None).vectors[:, 1:] / roots[:, None]
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(k)]
    return np.asarray(vectors * np.where(largest < 0, -1.0, 1.0))
