"""Groups by density: DBSCAN, OPTICS and HDBSCAN, by definition and as scikit-learn finds them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import cluster as theirs
from sklearn.datasets import make_blobs, make_moons

import qed
from qed.cluster import DBSCAN, HDBSCAN, OPTICS, cluster_optics_dbscan, cluster_optics_xi, dbscan
from qed.core import InvalidData
from qed.metrics import adjusted_rand_score, pairwise_distances

rng = np.random.default_rng(4)
MOONS, WHICH = make_moons(300, noise=0.06, random_state=1)
BLOBS = make_blobs(300, random_state=2)[0]


def same_groups(a, b):
    """Tell whether two labellings are the same up to the numbers."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.covers("CLU-31")
def test_core_border_and_noise_by_definition():
    # a row of five at distance one, one beside its end, and one far away
    grid = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [20, 20]])
    model = DBSCAN(eps=1.0, min_samples=3).fit(grid)
    assert model.core_sample_indices_.tolist() == [1, 2, 3, 4]
    assert model.labels_.tolist() == [0, 0, 0, 0, 0, 0, -1]
    table = rng.standard_normal((80, 2))
    D = np.sqrt(((table[:, None] - table) ** 2).sum(axis=2))
    model = DBSCAN(0.35, min_samples=4).fit(table)
    core = (D <= 0.35).sum(axis=1) >= 4
    np.testing.assert_array_equal(np.flatnonzero(core), model.core_sample_indices_)
    for i in range(80):
        near = np.flatnonzero((D[i] <= 0.35) & core)
        if core[i]:
            assert set(model.labels_[near]) == {model.labels_[i]}
        else:
            assert model.labels_[i] == (model.labels_[near].min() if len(near) else -1)
    order = rng.permutation(80)
    other = DBSCAN(0.35, min_samples=4).fit(table[order])
    np.testing.assert_array_equal(np.sort(order[other.core_sample_indices_]), model.core_sample_indices_)
    assert same_groups(other.labels_[core[order]], model.labels_[order][core[order]])


@pytest.mark.parametrize("eps", [0.05, 0.15, 0.5])
@pytest.mark.parametrize("columns", [2, 15])
def test_dbscan_is_that_of_scikit_learn(eps, columns):
    many = np.vstack([MOONS] * 8) + 0.02 * rng.standard_normal((2400, 2))
    table = many if columns == 2 else np.hstack([many, np.zeros((2400, 13))])
    weight = rng.integers(0, 3, 2400).astype(float)
    for s in (None, weight):
        ours, other = DBSCAN(eps).fit(table, sample_weight=s), theirs.DBSCAN(eps=eps).fit(table, sample_weight=s)
        np.testing.assert_array_equal(ours.labels_, other.labels_)
        np.testing.assert_array_equal(ours.core_sample_indices_, other.core_sample_indices_)
        assert qed.verify(ours, table, sample_weight=s).holds
    core, labels = dbscan(table[:200], eps, metric="manhattan")
    want = theirs.DBSCAN(eps=eps, metric="manhattan").fit(table[:200])
    np.testing.assert_array_equal(labels, want.labels_)
    np.testing.assert_array_equal(core, want.core_sample_indices_)


def test_dbscan_finds_moons_and_takes_distances():
    ours = DBSCAN(0.2, min_samples=4).fit(MOONS)
    assert same_groups(ours.labels_, WHICH)
    D = pairwise_distances(MOONS)
    np.testing.assert_array_equal(DBSCAN(0.2, min_samples=4, metric="precomputed").fit_predict(D), ours.labels_)
    assert DBSCAN(0.1, metric=lambda a, b: float(np.abs(a - b).max())).fit(MOONS[:60]).labels_.tolist() == (
        theirs.DBSCAN(eps=0.1, metric="chebyshev").fit(MOONS[:60]).labels_.tolist()
    )
    none = DBSCAN(1e-9).fit(MOONS)
    assert none.components_.shape == (0, 2)
    assert set(none.labels_.tolist()) == {-1}
    assert qed.verify(none, MOONS).holds
    assert set(DBSCAN(1.0).fit(np.ones((6, 2))).labels_.tolist()) == {0}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_samples": 8},
        {"cluster_method": "dbscan", "eps": 0.3},
        {"max_eps": 0.5},
        {"predecessor_correction": False},
        {"min_cluster_size": 0.1, "xi": 0.1},
    ],
    ids=str,
)
@pytest.mark.parametrize("table", [MOONS, BLOBS], ids=["moons", "blobs"])
@pytest.mark.filterwarnings("ignore:All reachability values are inf")
def test_the_order_of_optics_is_that_of_scikit_learn(table, options):
    ours, other = OPTICS(**options).fit(table), theirs.OPTICS(**options).fit(table)
    np.testing.assert_array_equal(ours.ordering_, other.ordering_)
    np.testing.assert_allclose(ours.reachability_, other.reachability_)
    np.testing.assert_allclose(ours.core_distances_, other.core_distances_)
    np.testing.assert_array_equal(ours.labels_, other.labels_)
    assert qed.verify(ours, table).holds
    if options == {}:
        labels, _ = cluster_optics_xi(
            reachability=ours.reachability_, predecessor=ours.predecessor_, ordering=ours.ordering_, min_samples=5
        )
        np.testing.assert_array_equal(labels, ours.labels_)
        cut = cluster_optics_dbscan(
            reachability=ours.reachability_, core_distances=ours.core_distances_, ordering=ours.ordering_, eps=0.2
        )
        core = DBSCAN(0.2).fit(table).core_sample_indices_
        assert same_groups(cut[core], DBSCAN(0.2).fit(table).labels_[core])


@pytest.mark.parametrize("options", [{}, {"min_cluster_size": 15}, {"min_samples": 3}], ids=str)
@pytest.mark.parametrize("table", [MOONS, BLOBS], ids=["moons", "blobs"])
def test_hdbscan_is_that_of_scikit_learn_but_for_ties(table, options):
    # many pairs have the same mutual reachability: there are several spanning trees, which may part a few rows differently
    ours, other = HDBSCAN(**options).fit(table), theirs.HDBSCAN(copy=True, **options).fit(table)
    assert ours.labels_.max() == other.labels_.max()
    assert adjusted_rand_score(ours.labels_, other.labels_) > 0.95
    assert np.mean(np.abs(ours.probabilities_ - other.probabilities_) > 1e-9) < 0.2
    assert qed.verify(ours, table).holds


def test_hdbscan_splits_no_groups_below_epsilon_and_may_find_one_group():
    wide = HDBSCAN(5, cluster_selection_epsilon=0.5, cluster_selection_method="leaf").fit(MOONS)
    leaves = HDBSCAN(5, cluster_selection_method="leaf").fit(MOONS)
    assert wide.labels_.max() < leaves.labels_.max()
    one = rng.standard_normal((60, 2))
    single = HDBSCAN(20, allow_single_cluster=True).fit(one)
    assert single.labels_.max() == 0
    small = HDBSCAN(5, max_cluster_size=40).fit(BLOBS)
    assert max(np.bincount(small.labels_[small.labels_ >= 0]), default=0) <= 40
    for model, table in ((wide, MOONS), (leaves, MOONS), (single, one), (small, BLOBS)):
        assert qed.verify(model, table).holds


def test_hdbscan_builds_a_minimum_spanning_tree_of_mutual_reachability():
    table = BLOBS[:80]
    model = HDBSCAN(5, min_samples=4, store_centers="both").fit(table)
    D = pairwise_distances(table)
    core = np.sort(D, axis=1)[:, 3]
    np.testing.assert_allclose(model.core_distances_, core)
    from scipy.sparse.csgraph import minimum_spanning_tree  # noqa: PLC0415

    mutual = np.maximum(D, np.maximum(core[:, None], core))
    np.testing.assert_allclose(np.sort(minimum_spanning_tree(np.triu(mutual, 1)).data), model.tree_distances_)
    for k, centre in enumerate(model.medoids_):
        assert np.any(np.all(table[model.labels_ == k] == centre, axis=1))
    given = HDBSCAN(5, min_samples=4, metric="precomputed").fit(D)
    np.testing.assert_array_equal(given.labels_, model.labels_)
    leaves = HDBSCAN(5, min_samples=4, cluster_selection_method="leaf").fit(table)
    assert leaves.labels_.max() >= model.labels_.max()
    assert qed.verify(leaves, table).holds
    with pytest.raises(InvalidData, match="min_samples"):
        HDBSCAN(5).fit(table[:3])


@pytest.mark.parametrize("model", [DBSCAN(0.2), OPTICS(min_samples=4), HDBSCAN(6)], ids=str)
def test_changed_groups_are_refused_and_threads_change_nothing(model):
    model.fit(MOONS)
    assert qed.verify(model, MOONS).holds
    before = qed.get_num_threads() if hasattr(qed, "get_num_threads") else None
    if before is not None:
        for threads in (1, 3):
            qed.set_num_threads(threads)
            np.testing.assert_array_equal(type(model)(**model.get_params()).fit(MOONS).labels_, model.labels_)
        qed.set_num_threads(before)
    row = int(np.flatnonzero(model.labels_ >= 0)[3])
    model.labels_ = np.where(np.arange(300) == row, -1, model.labels_)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, MOONS)


@pytest.mark.parametrize("cut", [0.0, 0.05, 0.1, 0.3, 10.0])
def test_one_tree_of_hdbscan_gives_the_clusters_of_every_distance(cut):
    ours, other = HDBSCAN(5).fit(MOONS), theirs.HDBSCAN(5, copy=True).fit(MOONS)
    for least in (1, 5, 40):
        found, want = ours.dbscan_clustering(cut, least), other.dbscan_clustering(cut, least)
        np.testing.assert_array_equal(found < 0, want < 0)
        pairs = set(zip(found.tolist(), want.tolist(), strict=True))
        assert len(pairs) == len(set(found.tolist())) == len(set(want.tolist()))
    assert (ours.dbscan_clustering(np.inf) == 0).all()
    for odd in (-1.0, np.nan, "a", None, True, [0.1], 1j):
        with pytest.raises(
            qed.InvalidParameter, match=r"cut_distance must be a real number >= 0, got .* distance to cut"
        ):
            ours.dbscan_clustering(odd)
    for few in (0, "3", 2.5, True, None):
        with pytest.raises(qed.InvalidParameter, match=r"min_cluster_size must be an integer >= 1, got .* rows"):
            ours.dbscan_clustering(0.1, few)
