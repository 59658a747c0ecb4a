"""Minimum spanning trees by rounds over an index with boxes, against Prim's algorithm and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster import hierarchy

import qed
from qed.cluster import HDBSCAN, AgglomerativeClustering
from qed.cluster._space import Space
from qed.neighbors._index import pays
from qed.neighbors._metric import Metric

rng = np.random.default_rng(5)
SPREAD = rng.standard_normal((1500, 3))
GRID = rng.integers(0, 12, (1500, 2)).astype(np.float64)  # rows that coincide, and distances that tie


def space_of(rows: np.ndarray) -> Space:
    space = Space(rows, Metric("euclidean"))
    assert pays(*rows.shape)
    assert space.index is not space.flat
    return space


@pytest.mark.parametrize("rows", [SPREAD, GRID, np.zeros((1500, 2)), SPREAD[:, :1].copy()])
@pytest.mark.parametrize("with_core", [False, True])
def test_lengths_are_those_of_prim(rows, with_core):
    space = space_of(rows)
    core = np.sort(rng.random(len(rows))) * 0.5 if with_core else None
    first, second, away = space.spanning_edges(core)
    _, parent, reached = space.span(core, core)
    np.testing.assert_array_equal(away, np.sort(reached[parent >= 0]))
    lengths = np.sqrt(((rows[first] - rows[second]) ** 2).sum(axis=1))
    if core is not None:
        lengths = np.maximum(lengths, np.maximum(core[first], core[second]))
    np.testing.assert_allclose(away, lengths, rtol=1e-14, atol=0)


@pytest.mark.parametrize("rows", [SPREAD, GRID])
def test_single_linkage_is_that_of_scipy(rows):
    model = AgglomerativeClustering(4, linkage="single").fit(rows)
    np.testing.assert_allclose(model.distances_, hierarchy.linkage(rows, "single")[:, 2], rtol=1e-12)
    qed.verify(model, rows)


def test_threads_change_nothing():
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8):
            qed.set_num_threads(threads)
            found.append([part.tobytes() for part in space_of(GRID).spanning_edges(np.ones(len(GRID)))])
    finally:
        qed.set_num_threads(before)
    assert all(one == found[0] for one in found)


def test_groups_on_a_grid_verify():
    model = HDBSCAN(min_cluster_size=20).fit(GRID)
    qed.verify(model, GRID)
