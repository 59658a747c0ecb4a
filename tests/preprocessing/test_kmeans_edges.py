"""Edges of bins by k-means: held to where Lloyd's iteration ends, not to a hundredth of a deviation (8 of attacks.md: V9)."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.preprocessing import KBinsDiscretizer

MADE = {
    "normal": lambda r, n: r.normal(size=(n, 3)),
    "whole": lambda r, n: r.integers(0, 12, (n, 3)).astype(float),
    "float32": lambda r, n: r.normal(size=(n, 3)).astype(np.float32),
    "far from zero": lambda r, n: r.normal(size=(n, 3)) + 1e6,
    "bins without rows": lambda r, n: np.exp(3 * r.normal(size=(n, 3))),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("weights", [None, "counts", "fourteen orders"])
@pytest.mark.filterwarnings("ignore:Bins whose width")
def test_honest_edges(kind, weights):
    for seed in (0, 17, 56, 200, 213, 278, 284, 296):  # models of such tables were rejected once
        r = np.random.default_rng(seed)
        n = int(r.integers(8, 300))
        X = MADE[kind](r, n)
        s = {None: None, "counts": r.integers(0, 4, n) + 0.0, "fourteen orders": 10.0 ** r.uniform(-7, 7, n)}[weights]
        model = KBinsDiscretizer(int(r.integers(2, 8)), strategy="kmeans", encode="ordinal").fit(X, sample_weight=s)
        assert qed.verify(model, X, sample_weight=s).holds


def test_a_moved_edge():
    X = np.random.default_rng(4).normal(size=(200, 2))
    for share in (9e-3, 1e-4, 1e-9):
        model = KBinsDiscretizer(4, strategy="kmeans", encode="ordinal").fit(X)
        model.bin_edges_[0][1] += share * X[:, 0].std()
        with pytest.raises(qed.CertificateError, match="stores edges"):
            qed.verify(model, X)


def test_light_rows_beside_heavy_ones():
    """Sums of bins were differences of running sums, which lose what is small."""
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(50, 51, 20)])[:, np.newaxis]
    s = np.repeat([1e12, 1e-4], 20)
    edges = KBinsDiscretizer(2, strategy="kmeans", encode="ordinal").fit(X, sample_weight=s).bin_edges_[0]
    np.testing.assert_allclose(edges, [0, (0.5 + 50.5) / 2, 51], rtol=1e-14)


@pytest.mark.parametrize("edge", range(5))
def test_every_edge_is_held_also_the_outer_ones(edge):
    """Outer edges put no row into another bin, but inverse_transform answers with the middles of bins."""
    X = np.random.default_rng(3).normal(size=(40, 2))
    model = KBinsDiscretizer(4, strategy="kmeans", encode="ordinal").fit(X)
    assert qed.verify(model, X).holds
    model.bin_edges_[0][edge] += 0.01
    with pytest.raises(qed.CertificateError, match="edges"):
        qed.verify(model, X)
