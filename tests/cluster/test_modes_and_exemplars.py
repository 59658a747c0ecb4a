"""Mean shift, affinity propagation, BIRCH and biclusters: by definition, and as scikit-learn finds them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import cluster as theirs
from sklearn.datasets import make_biclusters, make_blobs, make_checkerboard

import qed
from qed.cluster import (
    AffinityPropagation,
    Birch,
    KMeans,
    MeanShift,
    SpectralBiclustering,
    SpectralCoclustering,
    affinity_propagation,
    estimate_bandwidth,
    get_bin_seeds,
    mean_shift,
)
from qed.core import CertificateError, InvalidData, InvalidParameter, MemoryLimit
from qed.metrics import adjusted_rand_score, consensus_score

BLOBS = make_blobs(400, centers=4, n_features=3, random_state=0)[0]


@pytest.mark.parametrize(
    "options",
    [{}, {"bandwidth": 2.0}, {"bandwidth": 2.0, "bin_seeding": True}, {"bandwidth": 1.5, "cluster_all": False}],
    ids=str,
)
def test_modes_are_those_of_scikit_learn_and_rest(options):
    ours, other = MeanShift(**options).fit(BLOBS), theirs.MeanShift(**options).fit(BLOBS)
    np.testing.assert_allclose(ours.cluster_centers_, other.cluster_centers_, atol=2e-3 * ours.bandwidth_)
    np.testing.assert_array_equal(ours.labels_, other.labels_)
    for centre in ours.cluster_centers_:
        near = np.sqrt(((BLOBS - centre) ** 2).sum(axis=1)) <= ours.bandwidth_
        np.testing.assert_allclose(BLOBS[near].mean(axis=0), centre, atol=1e-9)
    assert qed.verify(ours, BLOBS).holds
    np.testing.assert_array_equal(ours.predict(BLOBS[:9]), other.predict(BLOBS[:9]))


def test_bandwidths_bins_and_seeds():
    for quantile in (0.0, 0.3, 1.0):
        assert estimate_bandwidth(BLOBS, quantile=quantile) == pytest.approx(
            theirs.estimate_bandwidth(BLOBS, quantile=quantile)
        )
    np.testing.assert_allclose(
        get_bin_seeds(BLOBS, 2.0, 3),
        theirs.get_bin_seeds(BLOBS, 2.0, 3)[np.lexsort(theirs.get_bin_seeds(BLOBS, 2.0, 3).T[::-1])],
    )
    centres, labels = mean_shift(BLOBS, bandwidth=2.0)
    assert len(centres) == labels.max() + 1
    with pytest.raises(InvalidData, match="increase the bandwidth"):
        MeanShift(bandwidth=0.1, seeds=[[900.0, 0, 0]]).fit(BLOBS)
    with pytest.raises(InvalidParameter, match="columns of X"):
        MeanShift(bandwidth=0.1, seeds=[[900.0]]).fit(BLOBS)
    same = np.ones((5, 2))
    assert MeanShift().fit(same).labels_.tolist() == [0] * 5


def test_a_centre_less_or_moved_is_refused():
    for change in (lambda m: m.cluster_centers_[0].__iadd__(0.01), lambda m: setattr(m, "bandwidth_", 2.1)):
        model = MeanShift(bandwidth=2.0).fit(BLOBS)
        change(model)
        with pytest.raises(CertificateError):
            qed.verify(model, BLOBS)


@pytest.mark.parametrize("options", [{}, {"preference": -60.0, "damping": 0.8}], ids=str)
def test_exemplars_are_those_of_scikit_learn_with_a_bound(options):
    rows = BLOBS[:200]
    ours, other = (
        AffinityPropagation(random_state=0, **options).fit(rows),
        theirs.AffinityPropagation(random_state=0, **options).fit(rows),
    )
    np.testing.assert_array_equal(ours.cluster_centers_indices_, other.cluster_centers_indices_)
    np.testing.assert_array_equal(ours.labels_, other.labels_)
    assert 1 <= ours.certificate_.ratio < 1.5
    assert qed.verify(ours, rows).holds
    ours.prices_ *= 1.01
    with pytest.raises(CertificateError, match="prices"):
        qed.verify(ours, rows)


def test_exemplars_are_never_worse_than_those_of_scikit_learn():
    """Neither where messages settle nor where they do not; there no exchange of one exemplar is left that would help."""
    rng, settled = np.random.default_rng(5), 0
    for seed, damping, rounds in [(s, d, r) for s in range(8) for d, r in ((0.5, 30), (0.5, 200), (0.9, 200))]:
        rows = 8.0 * rng.standard_normal((8, 3))[rng.integers(0, 8, 60)] + rng.standard_normal((60, 3))
        S = -((rows[:, None] - rows) ** 2).sum(axis=2)
        S[np.diag_indices(60)] = np.median(S)

        def net(chosen, S=S):
            own = np.zeros(60, bool)
            own[chosen] = True
            return float(np.where(own, S.diagonal(), S[:, own].max(axis=1)).sum()) if len(chosen) else -np.inf

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, other = (
                one(damping=damping, max_iter=rounds, preference=float(S[0, 0]), random_state=seed).fit(rows)
                for one in (AffinityPropagation, theirs.AffinityPropagation)
            )
        found = set(ours.cluster_centers_indices_.tolist())
        best = net(sorted(found))
        assert best >= net(other.cluster_centers_indices_) - 1e-9 * abs(best)
        settled += ours.certificate_.outcome == "solved"
        if ours.certificate_.outcome != "solved":
            near = [found ^ {i} for i in range(60)] + [found - {k} | {i} for k in found for i in range(60)]
            assert max(net(sorted(one)) for one in near) <= best + 1e-9 * abs(best)
        assert qed.verify(ours, rows).holds
    assert 0 < settled < 24


def test_the_bound_of_exemplars_is_below_the_best_choice():
    rng = np.random.default_rng(3)
    for _ in range(5):
        rows = rng.standard_normal((9, 2))
        model = AffinityPropagation(preference=-1.5, damping=0.9, max_iter=1000, random_state=0).fit(rows)
        S = model.affinity_matrix_.copy()
        np.fill_diagonal(S, -1.5)
        best = np.inf
        for code in range(1, 2**9):
            chosen = np.array([code >> i & 1 for i in range(9)], bool)
            worth = np.where(chosen, -1.5, S[:, chosen].max(axis=1))
            best = min(best, float(np.sum(S.max(axis=1) - worth)))
        assert model.certificate_.bound <= best + 1e-9
        assert model.certificate_.objective >= best - 1e-9


def test_equal_similarities_and_few_rounds():
    with pytest.warns(UserWarning, match="mutually equal"):
        centres, labels = affinity_propagation(np.zeros((4, 4)), preference=-1.0)
    assert centres.tolist() == [0]
    assert labels.tolist() == [0] * 4
    with pytest.warns(UserWarning, match="did not converge"):
        model = AffinityPropagation(max_iter=2, random_state=0).fit(BLOBS[:60])
    assert qed.verify(model, BLOBS[:60]).holds


def test_messages_beyond_memory_are_refused_first(monkeypatch):
    monkeypatch.setenv("QED_MEMORY_LIMIT", "100000")
    with pytest.raises(MemoryLimit, match="sample"):
        AffinityPropagation().fit(BLOBS)


@pytest.mark.parametrize("options", [{}, {"threshold": 0.3, "branching_factor": 5}, {"n_clusters": None}], ids=str)
def test_subclusters_are_those_of_scikit_learn(options):
    ours, other = Birch(**options).fit(BLOBS), theirs.Birch(**options).fit(BLOBS)
    assert len(ours.subcluster_centers_) == len(other.subcluster_centers_)
    order = [np.lexsort(one.T) for one in (ours.subcluster_centers_, other.subcluster_centers_)]
    np.testing.assert_allclose(ours.subcluster_centers_[order[0]], other.subcluster_centers_[order[1]], atol=1e-10)
    assert adjusted_rand_score(ours.labels_, other.labels_) == pytest.approx(1)
    parts = Birch(**options).partial_fit(BLOBS[:150]).partial_fit(BLOBS[150:])
    np.testing.assert_allclose(parts.subcluster_centers_, ours.subcluster_centers_)
    assert qed.verify(ours, BLOBS).holds
    assert qed.verify(parts, BLOBS).holds
    ours.subcluster_squares_[3] += 0.1
    with pytest.raises(CertificateError):
        qed.verify(ours, BLOBS)


def test_birch_takes_models_and_warns_of_too_few_subclusters():
    model = Birch(n_clusters=KMeans(2, random_state=0)).fit(BLOBS)
    assert set(model.labels_.tolist()) == {0, 1}
    with pytest.warns(UserWarning, match="Decrease the threshold"):
        Birch(threshold=1e3).fit(BLOBS)
    with pytest.raises(InvalidParameter, match="n_clusters"):
        Birch(n_clusters="three").fit(BLOBS)
    quiet = Birch(compute_labels=False).fit(BLOBS)
    assert not hasattr(quiet, "labels_")
    assert qed.verify(quiet, BLOBS).holds


def test_biclusters_are_found_with_a_bound():
    table, rows, columns = make_biclusters((80, 60), 4, noise=2, random_state=0)
    model = SpectralCoclustering(4, random_state=0).fit(table)
    assert consensus_score(model.biclusters_, (rows, columns)) == pytest.approx(1)
    assert qed.verify(model, table).holds
    assert model.get_submatrix(0, table).shape == model.get_shape(0)
    model.row_labels_[0] = (model.row_labels_[0] + 1) % 4
    with pytest.raises(CertificateError):
        qed.verify(model, table)
    table, rows, columns = make_checkerboard((80, 60), (4, 3), noise=2, random_state=0)
    for method in ("bistochastic", "scale", "log"):
        model = SpectralBiclustering((4, 3), method=method, random_state=0).fit(table)
        assert consensus_score(model.biclusters_, (rows, columns)) == pytest.approx(1)
        assert qed.verify(model, table).holds
    with pytest.raises(InvalidParameter, match="n_best"):
        SpectralBiclustering(2, n_best=9).fit(table)
    with pytest.raises(InvalidData, match="n_clusters"):
        SpectralCoclustering(99).fit(table)


def test_modes_of_rows_that_are_given_several_times():
    rows = np.repeat(np.random.default_rng(0).standard_normal((3, 3)), 4, axis=0)
    model = MeanShift().fit(rows)
    assert model.bandwidth_ == 0
    assert len(model.cluster_centers_) == 3
    assert qed.verify(model, rows).holds
