"""Merges from the bottom up, splits from the top down, and the tree they make."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist
from sklearn import cluster as theirs
from sklearn.neighbors import kneighbors_graph

import qed
from qed.cluster import AgglomerativeClustering, Dendrogram, DivisiveClustering, FeatureAgglomeration, KMeans
from qed.core import InvalidData, InvalidParameter, MemoryLimit
from qed.metrics import pairwise_distances

mpl.use("Agg")
rng = np.random.default_rng(2)
X = rng.standard_normal((120, 4))
LINE = np.array([[0.0], [1.0], [3.0], [7.0]])
LINKAGES = ("single", "complete", "average", "weighted", "ward", "centroid", "median")
BY_PAIRS = LINKAGES[:4]


def same_groups(a, b):
    """Tell whether two labellings are the same up to the numbers."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.covers("CLU-17", "CLU-18")
@pytest.mark.parametrize(
    ("linkage", "heights"),
    [
        ("single", [1, 2, 4]),
        ("complete", [1, 3, 7]),
        ("average", [1, 2.5, 17 / 3]),
        ("centroid", [1, 2.5, 17 / 3]),
        ("median", [1, 2.5, 5.25]),  # the two closest points are replaced by their mean
        ("weighted", [1, 2.5, 5.25]),
        ("ward", [1, 2.5 * np.sqrt(4 / 3), 17 / 3 * np.sqrt(6 / 4)]),
    ],
)
def test_heights_by_hand(linkage, heights):
    model = AgglomerativeClustering(2, linkage=linkage).fit(LINE)
    np.testing.assert_allclose(model.distances_, heights)
    assert model.labels_.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("n", [2, 3, 9, 120])
def test_merges_are_those_of_scipy(linkage, n):
    model = AgglomerativeClustering(2, linkage=linkage).fit(X[:n])
    want = hierarchy.linkage(X[:n], linkage)
    np.testing.assert_allclose(model.distances_, want[:, 2], rtol=1e-12)
    np.testing.assert_array_equal(model.children_, want[:, :2])
    assert qed.verify(model, X[:n]).holds
    if n == 120:
        tree = model.dendrogram_
        for k in (1, 2, 7, 120):
            assert len(np.unique(tree.cut(k))) == k
        if linkage not in ("centroid", "median"):
            assert same_groups(tree.cut(7), hierarchy.fcluster(want, 7, "maxclust"))
            height = float(np.median(want[:, 2])) + 1e-9
            assert same_groups(tree.cut(height=height), hierarchy.fcluster(want, height, "distance"))
        assert tree.cophenetic_correlation(pairwise_distances(X)) == pytest.approx(
            hierarchy.cophenet(want, pdist(X))[0]
        )
        if linkage in (*BY_PAIRS, "ward") and linkage != "weighted":
            other = theirs.AgglomerativeClustering(5, linkage=linkage).fit(X)
            assert same_groups(tree.cut(5), other.labels_)


@pytest.mark.parametrize("linkage", ["ward", "centroid", "median"])
def test_merges_of_more_columns_than_rows_are_those_of_scipy(linkage):
    wide = 100 + np.random.default_rng(3).standard_normal((90, 200))
    wide[50] += 1e6
    model = AgglomerativeClustering(5, linkage=linkage).fit(wide)
    want = hierarchy.linkage(wide, linkage)
    np.testing.assert_allclose(model.distances_, want[:, 2], rtol=1e-10)
    np.testing.assert_array_equal(model.children_, want[:, :2])
    assert qed.verify(model, wide).holds
    turned = FeatureAgglomeration(5, linkage=linkage).fit(wide.T)
    np.testing.assert_array_equal(turned.children_, model.children_)
    assert qed.verify(turned, wide.T).holds
    wide[40:50] = wide[:10]  # rows that are given twice
    model = AgglomerativeClustering(5, linkage=linkage).fit(wide)
    assert (model.distances_[:10] == 0).all()
    assert (model.distances_[10:] > 1).all()
    assert qed.verify(model, wide).holds


@pytest.mark.parametrize("linkage", BY_PAIRS)
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "hamming", "precomputed", "function"])
def test_any_metric(linkage, metric):
    table = np.round(2 * X[:40]) if metric == "hamming" else X[:40]
    name = "cityblock" if metric in ("manhattan", "precomputed", "function") else metric
    given = pairwise_distances(table, metric="manhattan") if metric == "precomputed" else table
    function = lambda a, b: float(np.abs(a - b).sum())  # noqa: E731
    model = AgglomerativeClustering(4, linkage=linkage, metric=function if metric == "function" else metric).fit(given)
    want = hierarchy.linkage(pdist(table, name), linkage)
    if metric != "hamming":  # ties are merged in any order
        np.testing.assert_allclose(model.distances_, want[:, 2], rtol=1e-9, atol=1e-12)
    assert qed.verify(model, given).holds


@pytest.mark.covers("CLU-10")
def test_centres_begin_at_the_means_of_agglomerated_groups():
    labels = AgglomerativeClustering(5).fit(X).labels_
    means = np.stack([X[labels == j].mean(axis=0) for j in range(5)])
    from_means = KMeans(5, init=means, max_iter=4, tol=0).fit(X)
    model = KMeans(5, init="bottom-up", max_iter=4, tol=0, random_state=0).fit(X)
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0), np.sort(from_means.cluster_centers_, axis=0), rtol=1e-9
    )
    assert model.certificate_.trace[0] <= np.sum((X - means[labels]) ** 2) * (1 + 1e-12)
    few = np.arange(120) % 40 < 3
    weighted = KMeans(5, init="bottom-up", random_state=0).fit(X, sample_weight=few.astype(float))
    assert qed.verify(weighted, X, sample_weight=few.astype(float)).holds


@pytest.mark.covers("CLU-19", "CLU-36")
def test_a_tree_is_cut_at_a_height_a_count_or_the_largest_gap_and_drawn_at_its_heights():
    table = np.array([[0.0], [1.0], [3.0], [23.0]])
    tree = AgglomerativeClustering(2, linkage="single").fit(table).dendrogram_
    assert tree.heights.tolist() == [1, 2, 20]
    assert tree.children.shape == (3, 2)
    assert tree.largest_gap() == 2
    assert tree.cut().tolist() == [0, 0, 0, 1]
    assert tree.cut(height=1.5).tolist() == [0, 0, 1, 2]
    assert tree.cut(height=100).tolist() == [0, 0, 0, 0]
    places, heights = tree.coordinates()
    np.testing.assert_array_equal(heights.max(axis=1), tree.heights)
    assert np.all(places[:, 0] < places[:, 3])
    ax = tree.plot(labels=list("abcd"), n_clusters=2)
    drawn = sorted(float(max(line.get_ydata())) for line in ax.get_lines())
    assert drawn == tree.heights.tolist()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [list("abcd")[i] for i in tree.leaves()]
    by_height = AgglomerativeClustering(None, distance_threshold=2.0, linkage="single").fit(table)
    assert by_height.n_clusters_ == 3
    with pytest.raises(InvalidParameter, match="not both"):
        tree.cut(2, height=1.0)
    with pytest.raises(InvalidParameter, match="between 1 and the 4"):
        tree.cut(5)
    assert Dendrogram(np.array([[0, 1]]), np.array([2.0])).largest_gap() == 1


@pytest.mark.covers("CLU-20")
def test_centroids_may_invert_and_others_never_do():
    corner = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    model = AgglomerativeClustering(2, linkage="centroid").fit(corner)
    np.testing.assert_allclose(model.distances_, [1, 0.9])
    assert model.dendrogram_.inversions.tolist() == [1]
    assert model.dendrogram_.cut(height=0.95).tolist() == [0, 1, 2]  # a merge inside is higher
    assert qed.verify(model, corner).holds
    model.dendrogram_.plot()
    for linkage in ("single", "complete", "average", "weighted", "ward"):
        tree = AgglomerativeClustering(2, linkage=linkage).fit(X).dendrogram_
        assert len(tree.inversions) == 0
        assert np.all(np.diff(tree.heights) >= 0)


@pytest.mark.covers("CLU-21")
def test_single_linkage_follows_a_chain_and_complete_linkage_cuts_it():
    chain = np.column_stack([np.arange(30) * 1.0, np.zeros(30)])
    blob = np.column_stack([rng.normal(15, 0.3, 20), rng.normal(12, 0.3, 20)])
    table, truth = np.vstack([chain, blob]), np.repeat([0, 1], [30, 20])
    assert same_groups(AgglomerativeClustering(2, linkage="single").fit_predict(table), truth)
    complete = AgglomerativeClustering(2, linkage="complete").fit_predict(table)
    assert len(set(complete[:30].tolist())) == 2


@pytest.mark.covers("CLU-22")
@pytest.mark.parametrize("linkage", LINKAGES)
def test_merges_do_not_depend_on_the_order_of_rows(linkage):
    order = rng.permutation(120)
    first = AgglomerativeClustering(6, linkage=linkage).fit(X)
    second = AgglomerativeClustering(6, linkage=linkage).fit(X[order])
    np.testing.assert_allclose(first.distances_, second.distances_, rtol=1e-10)
    assert same_groups(first.labels_[order], second.labels_)


@pytest.mark.covers("CLU-23")
def test_divisions_go_from_one_cluster_to_single_rows():
    model = DivisiveClustering(3).fit(X[:50])
    tree = model.dendrogram_
    assert len(np.unique(tree.cut(1))) == 1
    assert len(np.unique(tree.cut(50))) == 50
    for k in range(1, 50):  # each split parts one cluster and leaves the others
        before, after = tree.cut(k), tree.cut(k + 1)
        assert len(set(zip(before.tolist(), after.tolist(), strict=True))) == k + 1
    D = pairwise_distances(X[:50])
    assert tree.heights[-1] == D.max()
    assert qed.verify(model, X[:50]).holds
    given = DivisiveClustering(3, metric="precomputed").fit(D)
    np.testing.assert_array_equal(given.labels_, model.labels_)
    blobs = np.vstack([X[:20], X[20:40] + 30, X[40:60] - 30])
    assert same_groups(DivisiveClustering(3).fit_predict(blobs), np.repeat([0, 1, 2], 20))


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
def test_merges_along_a_graph_are_those_of_scikit_learn(linkage):
    graph = kneighbors_graph(X, 8, include_self=False)
    ours = AgglomerativeClustering(5, linkage=linkage, connectivity=graph).fit(X)
    other = theirs.AgglomerativeClustering(
        5, linkage=linkage, connectivity=graph, compute_full_tree=True, compute_distances=True
    ).fit(X)
    assert same_groups(ours.labels_, other.labels_)
    np.testing.assert_allclose(np.sort(ours.distances_), np.sort(other.distances_), rtol=1e-10)
    assert qed.verify(ours, X).holds
    apart = kneighbors_graph(np.vstack([X[:30], X[30:60] + 90]), 3)
    with pytest.warns(UserWarning, match="connected components"):
        parts = AgglomerativeClustering(2, linkage=linkage, connectivity=apart).fit(np.vstack([X[:30], X[30:60] + 90]))
    assert same_groups(parts.labels_, np.repeat([0, 1], 30))
    with pytest.raises(InvalidData, match="connectivity"):
        AgglomerativeClustering(2, connectivity=graph[:5, :5]).fit(X)


def test_columns_that_are_alike_become_one():
    table = np.column_stack([X[:, 0], X[:, 0] + 0.01, X[:, 1], X[:, 1] - 0.02, X[:, 2]])
    model = FeatureAgglomeration(3).fit(table)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2]
    np.testing.assert_allclose(model.transform(table)[:, 0], table[:, :2].mean(axis=1))
    np.testing.assert_allclose(model.inverse_transform(model.transform(table))[:, 4], table[:, 4])
    other = theirs.FeatureAgglomeration(3).fit(table)
    assert same_groups(model.labels_, other.labels_)
    median = FeatureAgglomeration(3, pooling_func=np.median).fit_transform(table)
    np.testing.assert_allclose(median, FeatureAgglomeration(3, pooling_func="median").fit_transform(table))
    assert qed.verify(model, table).holds


@pytest.mark.parametrize("linkage", ["single", "average", "ward", "median"])
def test_large_trees_are_checked_in_samples(linkage):
    many = rng.standard_normal((900, 3))
    model = AgglomerativeClustering(4, linkage=linkage).fit(many)
    assert qed.verify(model, many).holds
    for name, change in (("distances_", 1.0 + 1e-6), ("labels_", None)):
        changed = AgglomerativeClustering(4, linkage=linkage).fit(many)
        value = getattr(changed, name)
        setattr(changed, name, value[::-1].copy() if change is None else value * change)
        with pytest.raises(qed.CertificateError):
            qed.verify(changed, many)


def test_what_is_refused(monkeypatch):
    with pytest.raises(InvalidParameter, match="Exactly one"):
        AgglomerativeClustering(2, distance_threshold=1.0).fit(X)
    with pytest.raises(InvalidParameter, match="euclidean"):
        AgglomerativeClustering(2, metric="manhattan").fit(X)
    with pytest.raises(InvalidData, match="more clusters than samples"):
        AgglomerativeClustering(9).fit(X[:5])
    with pytest.raises(InvalidData, match="both directions"):
        AgglomerativeClustering(2, metric="precomputed", linkage="single").fit(np.triu(np.ones((4, 4))))
    with pytest.raises(InvalidData, match="Negative"):
        AgglomerativeClustering(2, metric="precomputed", linkage="single").fit(-np.ones((4, 4)))
    with pytest.raises(InvalidData, match="between"):
        AgglomerativeClustering(2).fit(X * 1e200)
    monkeypatch.setenv("QED_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryLimit, match="need none"):
        AgglomerativeClustering(2, linkage="average").fit(X)
    same = AgglomerativeClustering(2, linkage="ward").fit(np.ones((5, 2)))
    assert same.distances_.tolist() == [0.0] * 4


@pytest.mark.parametrize("n", [60, 1500])
@pytest.mark.parametrize("linkage", ["ward", "centroid", "median"])
def test_merges_of_rows_far_from_zero_are_those_of_their_differences(linkage, n):
    rows = np.random.default_rng(4).standard_normal((n, 3)) + 1e9
    model = AgglomerativeClustering(linkage=linkage, compute_distances=True).fit(rows)
    np.testing.assert_allclose(model.distances_, hierarchy.linkage(rows - 1e9, linkage)[:, 2], rtol=1e-9)
    assert qed.verify(model, rows).holds
    if linkage == "ward":
        along = AgglomerativeClustering(connectivity=kneighbors_graph(rows - 1e9, 10)).fit(rows)
        assert qed.verify(along, rows).holds
