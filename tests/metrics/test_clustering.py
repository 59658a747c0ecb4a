"""Scores of partitions, by definition and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as theirs

from qed import metrics
from qed.core import InvalidData

rng = np.random.default_rng(6)
X = rng.standard_normal((90, 3)) + np.repeat([[0, 0, 0], [4, 0, 0], [0, 5, 0]], 30, axis=0)
A, B = np.repeat([0, 1, 2], 30), rng.integers(0, 4, 90)
C = np.where(rng.random(90) < 0.2, B, A)
PAIRS = [
    (A, A),
    (A, B),
    (A, C),
    (C, B),
    (np.zeros(90, int), A),
    (np.arange(90), A),
    (np.zeros(90, int), np.zeros(90, int)),
]


@pytest.mark.parametrize(
    "name",
    [
        "rand_score", "adjusted_rand_score", "fowlkes_mallows_score", "mutual_info_score", "adjusted_mutual_info_score",
        "normalized_mutual_info_score", "homogeneity_score", "completeness_score", "v_measure_score",
        "homogeneity_completeness_v_measure", "pair_confusion_matrix",
    ],
)  # fmt: skip
def test_scores_of_two_partitions(name):
    for a, b in PAIRS:
        np.testing.assert_allclose(getattr(metrics, name)(a, b), getattr(theirs, name)(a, b), atol=1e-10, err_msg=name)
    words = np.array(["x", "y", "z"])[A]
    np.testing.assert_allclose(getattr(metrics, name)(words, C), getattr(metrics, name)(A, C))
    with pytest.raises(InvalidData, match="inconsistent"):
        getattr(metrics, name)(A, B[:5])


def test_contingency_and_means_of_entropies():
    table = metrics.contingency_matrix(A, C)
    assert table.tolist() == [[int(np.sum((i == A) & (j == C))) for j in np.unique(C)] for i in range(3)]
    np.testing.assert_array_equal(metrics.contingency_matrix(A, C, sparse=True).toarray(), table)
    for how in ("min", "max", "geometric", "arithmetic"):
        for name in ("adjusted_mutual_info_score", "normalized_mutual_info_score"):
            ours, other = getattr(metrics, name), getattr(theirs, name)
            assert ours(A, C, average_method=how) == pytest.approx(other(A, C, average_method=how))


@pytest.mark.covers("CLU-25")
def test_silhouettes():
    line = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert metrics.silhouette_score(line, [0, 0, 1, 1]) == pytest.approx(0.89975, abs=1e-5)
    values = metrics.silhouette_samples(X, C)
    assert np.all(np.abs(values) <= 1)
    np.testing.assert_allclose(values, theirs.silhouette_samples(X, C))
    np.testing.assert_allclose(
        metrics.silhouette_samples(X, C, metric="manhattan"), theirs.silhouette_samples(X, C, metric="manhattan")
    )
    D = metrics.pairwise_distances(X)
    np.testing.assert_allclose(metrics.silhouette_samples(D, C, metric="precomputed"), values)
    alone = np.where(np.arange(90) == 7, 9, A)
    assert metrics.silhouette_samples(X, alone)[7] == 0
    with pytest.raises(InvalidData, match="Number of labels is 1"):
        metrics.silhouette_score(X, np.zeros(90))
    assert -1 <= metrics.silhouette_score(X, A, sample_size=40, random_state=0) <= 1


def test_variance_ratio_and_davies_bouldin():
    for labels in (A, B, C):
        assert metrics.calinski_harabasz_score(X, labels) == pytest.approx(theirs.calinski_harabasz_score(X, labels))
        assert metrics.davies_bouldin_score(X, labels) == pytest.approx(theirs.davies_bouldin_score(X, labels))


@pytest.mark.covers("CLU-16")
def test_pairs_within_groups_are_distances_to_means_and_add_up_with_pairs_between():
    quality = metrics.partition_quality(X, C)
    want = 0.0
    for j in np.unique(C):
        own = X[j == C]
        want += 2 * len(own) * np.sum((own - own.mean(axis=0)) ** 2)
    assert quality.within == pytest.approx(want)
    assert quality.within + quality.between == pytest.approx(quality.total)
    assert quality.total == pytest.approx(metrics.partition_quality(X, B).total)
    assert quality.to_representative == pytest.approx(
        sum(np.sum((X[j == C] - X[j == C].mean(axis=0)) ** 2) for j in np.unique(C))
    )
    # less within is more between
    better = metrics.partition_quality(X, A)
    assert better.within < quality.within
    assert better.between > quality.between
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    alike = metrics.partition_quality(X, A, measure="cosine_similarity")
    assert alike.within == pytest.approx(sum(np.sum(unit[j == A] @ unit[j == A].T) for j in range(3)))


def test_consensus_of_biclusters():
    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    columns = np.array([[1, 0, 0], [0, 1, 1]], bool)
    assert metrics.consensus_score((rows, columns), (rows[::-1], columns[::-1])) == 1.0
    other = (rows[:, ::-1], columns)
    assert metrics.consensus_score((rows, columns), other) == pytest.approx(
        theirs.consensus_score((rows, columns), other)
    )
