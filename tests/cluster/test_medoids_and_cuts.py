"""Medoids for any metric; cuts of graphs and the eigenvectors that find them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse
from sklearn import cluster as theirs
from sklearn.datasets import make_circles

import qed
from qed.cluster import (
    KMeans,
    KMedoids,
    SpectralBiclustering,
    SpectralClustering,
    SpectralCoclustering,
    cut_weight,
    graph_laplacian,
    normalized_cut,
    ratio_cut,
)
from qed.core import InvalidData
from qed.metrics import adjusted_rand_score, pairwise_distances

rng = np.random.default_rng(9)
X = rng.standard_normal((60, 3)) + np.repeat([[0, 0, 0], [7, 0, 0], [0, 7, 0]], 20, axis=0)


@pytest.mark.covers("CLU-11")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed"])
def test_medoids_are_rows_and_no_exchange_lowers_the_cost(metric):
    D = pairwise_distances(X, metric="manhattan" if metric == "precomputed" else metric)
    table = D if metric == "precomputed" else X
    model = KMedoids(3, metric=metric, random_state=0).fit(table)
    medoids = model.medoid_indices_
    assert model.inertia_ == pytest.approx(D[:, medoids].min(axis=1).sum())
    np.testing.assert_array_equal(D[:, medoids].argmin(axis=1), model.labels_)
    assert np.all(np.diff(model.certificate_.trace) < 0)
    assert model.certificate_.reached
    for j, row in product(range(3), range(60)):
        other = medoids.copy()
        other[j] = row
        assert D[:, other].min(axis=1).sum() >= model.inertia_ - 1e-9
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    assert qed.verify(model, table).holds


def test_a_single_medoid_is_the_row_nearest_to_all():
    model = KMedoids(1, random_state=0).fit(X)
    assert model.medoid_indices_.tolist() == [int(pairwise_distances(X).sum(axis=0).argmin())]
    assert qed.verify(model, X).holds


def test_the_bound_of_medoids_holds_for_all_of_them():
    few = rng.standard_normal((9, 2))
    D = pairwise_distances(few)
    best = min(D[:, list(some)].min(axis=1).sum() for some in combinations(range(9), 3))
    model = KMedoids(3, n_init=5, random_state=0).fit(few)
    assert 0 < model.certificate_.bound <= best <= model.inertia_ * (1 + 1e-12)
    assert model.inertia_ <= model.certificate_.ratio * best
    weight = rng.integers(1, 4, 9)
    repeated = np.repeat(few, weight, axis=0)
    one = KMedoids(3, n_init=20, random_state=0).fit(few, sample_weight=weight.astype(float))
    two = KMedoids(3, n_init=20, random_state=0).fit(repeated)
    assert one.inertia_ == pytest.approx(two.inertia_)
    model.medoid_indices_ = (model.medoid_indices_ + 1) % 9
    with pytest.raises(qed.CertificateError):
        qed.verify(model, few)
    with pytest.raises(InvalidData, match="n_samples=2"):
        KMedoids(3).fit(few[:2])


@pytest.mark.covers("CLU-30")
def test_components_of_a_graph_are_found_exactly():
    sizes = (7, 5, 9)
    graph = scipy.linalg.block_diag(*[np.ones((m, m)) - np.eye(m) for m in sizes])
    for normed in (False, True):
        values = np.linalg.eigvalsh(graph_laplacian(graph, normed=normed))
        assert np.sum(np.abs(values) < 1e-10) == 3
        sparse = graph_laplacian(scipy.sparse.csr_array(graph), normed=normed)
        np.testing.assert_allclose(sparse.toarray(), graph_laplacian(graph, normed=normed), atol=1e-12)
    truth = np.repeat([0, 1, 2], sizes)
    for assign in ("kmeans", "discretize", "cluster_qr"):
        model = SpectralClustering(3, affinity="precomputed", assign_labels=assign, random_state=0).fit(graph)
        assert adjusted_rand_score(model.labels_, truth) == 1.0
        assert model.certificate_.objective == pytest.approx(0, abs=1e-12)
        assert qed.verify(model, graph).holds
    rings, which = make_circles(200, factor=0.3, noise=0.03, random_state=0)
    for affinity in ({"affinity": "nearest_neighbors"}, {"gamma": 30.0}):
        model = SpectralClustering(2, random_state=0, **affinity).fit(rings)
        assert adjusted_rand_score(model.labels_, which) == 1.0
        assert qed.verify(model, rings).holds
    assert adjusted_rand_score(KMeans(2, random_state=0).fit(rings).labels_, which) < 0.1


@pytest.mark.covers("CLU-32")
def test_cuts_of_six_nodes_by_brute_force():
    W = np.zeros((6, 6))
    for i, j, weight in [(0, 1, 3), (0, 2, 3), (1, 2, 3), (3, 4, 3), (3, 5, 2), (4, 5, 3), (2, 3, 0.5), (1, 4, 0.2)]:
        W[i, j] = W[j, i] = weight
    every = [np.array([0, *rest]) for rest in product([0, 1], repeat=5) if any(rest)]
    by_hand = []
    for labels in every:
        own = labels == 0
        between = W[np.ix_(own, ~own)].sum()
        by_hand.append(between / W[own].sum() + between / W[~own].sum())
        assert normalized_cut(W, labels) == pytest.approx(by_hand[-1])
        assert cut_weight(W, labels) == pytest.approx(between)
        assert ratio_cut(W, labels) == pytest.approx(between / own.sum() + between / (~own).sum())
    best = every[int(np.argmin(by_hand))]
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(W)
    assert adjusted_rand_score(model.labels_, best) == 1.0
    certificate = model.certificate_
    assert certificate.objective == pytest.approx(min(by_hand))
    assert 0 < certificate.bound <= min(by_hand)
    with pytest.raises(InvalidData, match="square"):
        ratio_cut(W[:3], [0, 0, 1])
    with pytest.raises(InvalidData, match="not negative"):
        normalized_cut(-W, best)


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_spectral_clustering_agrees_with_scikit_learn_on_many_rows():
    truth = np.repeat([0, 1, 2], 400)
    many = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0]])[truth] + rng.standard_normal((1200, 3))
    ours = SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=30, random_state=0).fit(many)
    other = theirs.SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=30, random_state=0).fit(many)
    assert adjusted_rand_score(ours.labels_, other.labels_) > 0.95
    assert adjusted_rand_score(ours.labels_, truth) > 0.95
    dense = SpectralClustering(3, gamma=0.2, random_state=0).fit(many)
    assert adjusted_rand_score(dense.labels_, truth) > 0.95
    assert dense.certificate_.bound == 0  # none is stated for so many rows
    with pytest.raises(InvalidData, match="not negative"):
        SpectralClustering(2, affinity="linear").fit(X)


@pytest.mark.parametrize("size", [1e-300, 1e200])
@pytest.mark.parametrize(
    "model",
    [SpectralClustering(2), SpectralCoclustering(2), SpectralBiclustering(2)],
    ids=lambda model: type(model).__name__,
)
def test_values_whose_squares_leave_float64_are_refused(model, size):
    with pytest.raises(InvalidData, match="leave float64"):
        qed.clone(model).fit(size * X)


def test_the_order_in_memory_does_not_change_biclusters():
    for model in (SpectralCoclustering(3, random_state=0), SpectralBiclustering(2, random_state=0)):
        found = qed.clone(model).fit(np.asfortranarray(X)).row_labels_
        np.testing.assert_array_equal(found, model.fit(X).row_labels_)
