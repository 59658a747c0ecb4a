"""Searches leave nothing out, whichever way they go."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.near_rows import METRICS, distances, nearest
from sklearn.neighbors import NearestNeighbors as Theirs

import qed
from qed.datasets import load_iris
from qed.neighbors import NearestNeighbors, _kernels

rng = np.random.default_rng(0)


def both(X, **params):
    """Return the same search by boxes and by a scan; boxes also where they would not pay."""
    models = [NearestNeighbors(algorithm=way, **params).fit(X) for way in ("kd_tree", "brute")]
    for model, tree in zip(models, (True, False), strict=True):
        model._index.__dict__["tree"] = tree
        model._index.__dict__.pop("parts", None)
    return models


@pytest.mark.covers("KNN-15", "KNN-18")
@pytest.mark.parametrize("name", METRICS)
def test_every_metric_finds_what_the_definition_finds(name):
    for n, m, k in ((1, 2, 1), (9, 5, 9), (300, 40, 7), (300, 40, 60)):
        X, Q = rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
        true = distances(name, Q, X)
        found = [model.kneighbors(Q, k) for model in both(X, **METRICS[name])]
        for told, ids in found:
            np.testing.assert_allclose(told, np.sort(true, axis=1)[:, :k], rtol=1e-13, atol=1e-14)
            np.testing.assert_allclose(np.take_along_axis(true, ids, axis=1), told, rtol=1e-13, atol=1e-14)
        assert np.array_equal(found[0][0], found[1][0]), "boxes and scans see the same bits"
        assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.covers("KNN-18")
@pytest.mark.parametrize("name", ["euclidean", "manhattan", "chebyshev", "hamming", "squares"])
def test_equal_distances_go_by_the_order_of_the_rows(name):
    X, Q = rng.integers(0, 3, (500, 3)) * 1.0, rng.integers(0, 3, (50, 3)) * 1.0  # most distances are tied, and exact
    squares = distances("squares", Q, X) if name == "euclidean" else distances(name, Q, X)
    for model in both(X, **METRICS[name]):
        for k in (1, 5, 40, 500):
            assert np.array_equal(model.kneighbors(Q, k, return_distance=False), nearest(squares, k))


def test_distances_that_are_rounded_to_the_same_number_are_equal_distances():
    X = load_iris().data  # in tenths: many squares differ in the last place and have one root
    for model in both(X):
        told, ids = model.kneighbors(X[::5], 150)
        for lengths, rows in zip(told, ids, strict=True):
            assert np.array_equal(np.lexsort((rows, lengths)), np.arange(150))
        for k in (5, 40):
            assert np.array_equal(model.kneighbors(X[::5], k)[1], ids[:, :k])


def test_rows_are_not_their_own_neighbours():
    X = np.repeat(rng.standard_normal((100, 2)), 2, axis=0)
    for model in both(X, n_neighbors=1):
        told, ids = model.kneighbors()
        assert np.array_equal(ids[:, 0], np.arange(200) ^ 1)
        assert np.all(told == 0)
        with pytest.raises(qed.InvalidData, match="Expected n_neighbors < n_samples_fit"):
            model.kneighbors(n_neighbors=200)


def test_near_rows_far_away_keep_their_digits():
    X = 1e8 + rng.standard_normal((50, 4))
    query = 1e8 + rng.standard_normal((1, 4))
    told, ids = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(query)
    for stated, row in zip(told[0], ids[0], strict=True):
        true = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(X[row].tolist(), query[0].tolist(), strict=True))
        assert abs(Fraction(stated) ** 2 - true) <= true * Fraction(1, 2**48)
    # one minus a cosine, of directions that differ in the ninth digit
    near, _ = NearestNeighbors(n_neighbors=1, metric="cosine").fit([[1.0, 0.0]]).kneighbors([[1.0, 1e-9]])
    assert near[0, 0] == pytest.approx(5e-19, rel=1e-9)


@pytest.mark.covers("KNN-04")
def test_lengths_of_three_and_four():
    lengths = {
        name: NearestNeighbors(n_neighbors=1, **params).fit([[0.0, 0.0]]).kneighbors([[-3.0, 4.0]])[0][0, 0]
        for name, params in METRICS.items()
        if name != "weighted"
    }
    assert (lengths["manhattan"], lengths["euclidean"], lengths["chebyshev"], 2 * lengths["hamming"]) == (7, 5, 4, 2)
    assert lengths["cubes"] == pytest.approx((27 + 64) ** (1 / 3))  # absolute values, or 64 - 27


@pytest.mark.covers("KNN-05")
def test_angles_do_not_know_lengths():
    X, Q = rng.standard_normal((40, 5)), rng.standard_normal((10, 5))
    sizes = np.exp(rng.standard_normal((40, 1)))
    cosine = NearestNeighbors(n_neighbors=40, metric="cosine")
    similarity = 1 - cosine.fit(X).kneighbors(Q)[0]
    assert similarity.min() >= -1
    assert similarity.max() <= 1
    np.testing.assert_allclose(1 - cosine.fit(X * sizes).kneighbors(3 * Q)[0], similarity, atol=1e-15)
    centred = cosine.fit(X - X.mean(axis=1, keepdims=True)).kneighbors(Q - Q.mean(axis=1, keepdims=True))[0]
    pearson = NearestNeighbors(n_neighbors=40, metric="correlation").fit(X).kneighbors(Q)
    np.testing.assert_allclose(pearson[0], centred, atol=1e-15)
    np.testing.assert_allclose(1 - pearson[0][0], np.corrcoef(Q[0], X)[0, 1:][pearson[1][0]], atol=1e-14)


def test_rows_without_direction_are_at_right_angles_to_all():
    model = NearestNeighbors(n_neighbors=3, metric="cosine").fit([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    told, ids = model.kneighbors([[0.0, 0.0], [2.0, 0.0]])
    assert told.tolist() == [[1, 1, 1], [0, 1, 1]]
    assert ids.tolist() == [[0, 1, 2], [0, 1, 3]]
    assert model.kneighbors()[1][1].tolist() == [0, 2, 3]
    assert [len(one) for one in model.radius_neighbors([[0.0, 0.0], [2.0, 0.0]], 1.5)[1]] == [4, 3]


@pytest.mark.covers("KNN-09", "KNN-33")
def test_weights_of_columns():
    X, Q = rng.standard_normal((60, 3)), rng.standard_normal((20, 3))
    plain = NearestNeighbors().fit(X).kneighbors(Q)
    same = NearestNeighbors(metric_params={"w": np.ones(3)}).fit(X).kneighbors(Q)
    assert np.array_equal(same[1], plain[1])
    np.testing.assert_allclose(same[0], plain[0], rtol=1e-15)
    without = NearestNeighbors(metric_params={"w": [1.0, 0.0, 1.0]}).fit(X).kneighbors(Q)
    assert np.array_equal(without[1], NearestNeighbors().fit(X[:, ::2]).kneighbors(Q[:, ::2])[1])
    # a column twice is a column of weight two in the squared distance
    twice = NearestNeighbors().fit(X[:, [0, 1, 1, 2]]).kneighbors(Q[:, [0, 1, 1, 2]])
    double = NearestNeighbors(metric_params={"w": [1.0, 2.0, 1.0]}).fit(X).kneighbors(Q)
    assert np.array_equal(twice[1], double[1])
    np.testing.assert_allclose(twice[0], double[0], rtol=1e-14)
    assert not np.array_equal(twice[1], plain[1])


def halvings(parts, node=0):
    """Return how often the rows are halved on the longest way down; every node stands for three."""
    below = [child for child in parts[3][node].tolist() if child >= 0]
    return 3 + max((halvings(parts, child) for child in below), default=0)


@pytest.mark.covers("KNN-17")
def test_boxes_partition_the_rows_at_medians_of_the_widest_column():
    X = rng.standard_normal((4001, 2)) * [9.0, 1.0]
    parts = NearestNeighbors().fit(X)._index.parts
    octets, ids, boxes, children, n_rows = parts
    assert n_rows == 4001
    assert sorted(ids[ids >= 0].tolist()) == list(range(4001))
    leaves = [~child for child in children.ravel().tolist() if -(1 << 61) < child < 0]
    assert sorted(leaves) == list(range(len(octets)))
    assert halvings(parts) <= np.ceil(np.log2(len(octets))) + 3
    # the first of three halvings is of the wide column, at its median
    low, high = boxes[0].reshape(2, 2, 8)
    assert high[0, :4].max() <= low[0, 4:].min()
    assert abs(np.sum(X[:, 0] <= high[0, :4].max()) - 2000) <= 8
    for node, ends in enumerate(boxes.reshape(-1, 2, 2, 8)):
        for child, low, high in zip(children[node].tolist(), ends[0].T, ends[1].T, strict=True):
            if -(1 << 61) < child < 0:
                rows = X[ids[~child][ids[~child] >= 0]]
                assert np.array_equal(rows.min(axis=0), low)
                assert np.array_equal(rows.max(axis=0), high)


@pytest.mark.covers("KNN-18", "KNN-32")
def test_boxes_help_in_few_columns_and_not_in_many():
    looked, spreads = {}, {}
    for p in (2, 12, 100):
        X, Q = rng.random((2000, p)), rng.random((30, p))
        tree, scan = both(X, n_neighbors=3)
        assert np.array_equal(tree.kneighbors(Q)[1], scan.kneighbors(Q)[1])
        _, _, groups = _kernels.nearest(tree._index.parts, Q, 3, (0, 2.0, None), others=False)
        looked[p] = groups / (len(Q) * len(tree._index.parts[0]))
        every = scan.kneighbors(Q, 2000)[0]
        spreads[p] = np.std(every) / np.mean(every) * np.sqrt(p)
    assert looked[2] < 0.03
    assert looked[100] == 1.0
    assert max(spreads.values()) < 1.6 * min(spreads.values())  # distances spread by one over the root of p


@pytest.mark.covers("KNN-14")
def test_no_row_is_near_to_too_many_others():
    for d, bound in ((1, 2), (2, (1 + 2 / np.sqrt(2 - np.sqrt(3))) ** 2 - 1)):
        ids = NearestNeighbors(n_neighbors=4).fit(rng.standard_normal((1000, d))).kneighbors(return_distance=False)
        assert np.bincount(ids.ravel()).max() <= 4 * bound


def test_radius_finds_all_rows_within_it():
    X, Q = rng.standard_normal((400, 3)), rng.standard_normal((60, 3))
    their_ids = Theirs(radius=0.8).fit(X).radius_neighbors(Q, sort_results=True)[1]
    for model in both(X, radius=0.8):
        told, ids = model.radius_neighbors(Q)
        assert all(np.array_equal(a, b) for a, b in zip(ids, their_ids, strict=True))
        assert all(np.all(np.diff(one) >= 0) and one.max(initial=0) <= 0.8 for one in told)
        graph = model.radius_neighbors_graph(Q, mode="distance")
        assert graph.shape == (60, 400)
        assert graph.nnz == sum(map(len, ids))
        assert all(i not in one for i, one in enumerate(model.radius_neighbors(return_distance=False)))
    edge = NearestNeighbors().fit([[0.0], [1.0]])
    assert edge.radius_neighbors([[0.0]], 1.0)[1][0].tolist() == [0, 1]  # the rim counts
    with pytest.raises(qed.InvalidParameter, match="radius must be"):
        edge.radius_neighbors([[0.0]], -1.0)


def test_graphs_are_those_of_scikit_learn():
    X, Q = rng.standard_normal((80, 3)), rng.standard_normal((9, 3))
    ours, theirs = NearestNeighbors().fit(X), Theirs().fit(X)
    for mode in ("connectivity", "distance"):
        np.testing.assert_allclose(
            ours.kneighbors_graph(Q, mode=mode).toarray(), theirs.kneighbors_graph(Q, mode=mode).toarray(), rtol=1e-13
        )
    assert (ours.kneighbors_graph() != theirs.kneighbors_graph()).nnz == 0
    with pytest.raises(qed.InvalidParameter, match="Unsupported mode"):
        ours.kneighbors_graph(Q, mode="other")


def test_threads_do_not_change_a_bit():
    before = qed.get_num_threads()
    X, Q = rng.standard_normal((3000, 4)), rng.standard_normal((300, 4))
    try:
        answers = []
        for threads in (1, 2, 3, 8):
            qed.set_num_threads(threads)
            answers.append([model.kneighbors(Q, 20) for model in both(X)])
    finally:
        qed.set_num_threads(before)
    for answer in answers[1:]:
        assert all(
            np.array_equal(a, b)
            for one, two in zip(answers[0], answer, strict=True)
            for a, b in zip(one, two, strict=True)
        )


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"metric": "haversine"}, "metric must be one of 'minkowski', 'euclidean'"),
        ({"metric": lambda a, b: 0.0}, "metric must be one of"),
        ({"metric": "precomputed"}, "metric must be one of"),
        ({"metric": "cosine", "metric_params": {"V": 1}}, "has no parameters"),
        ({"metric_params": {"V": 1}}, "it takes p and w"),
        ({"metric_params": {"w": [1.0, -1.0]}}, "weights >= 0"),
        ({"metric_params": {"w": [1.0]}}, "one weight for each"),
        ({"metric_params": {"p": 0}}, "must be a real number > 0"),
        ({"p": 0}, "p must be a real number > 0"),
    ],
)
def test_what_is_no_distance_is_refused_in_words(params, words):
    with pytest.raises((qed.InvalidParameter, qed.InvalidData), match=words):
        NearestNeighbors(**params).fit([[0.0, 1.0]])


def test_rows_that_have_no_squares_are_refused_in_words():
    for size in (1e300, 1e-200):
        with pytest.raises(qed.InvalidData, match="squares of others leave float64"):
            NearestNeighbors().fit([[size], [0.0]])
    model = NearestNeighbors(n_neighbors=1).fit([[1.0], [2.0]])
    with pytest.raises(qed.InvalidData, match="too large for distances"):
        model.kneighbors([[1e300]])
    with pytest.raises(qed.InvalidData, match="n_neighbors = 3, n_samples_fit = 2"):
        model.kneighbors([[0.0]], 3)
    for rows in ([[np.nan], [1.0]], [[np.inf], [1.0]]):
        with pytest.raises(qed.InvalidData, match="row 0"):
            NearestNeighbors().fit(rows)
