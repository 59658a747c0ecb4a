"""Starts of k-means, and its relatives: in batches, by halves, with shares, in the space of a kernel."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn import cluster as theirs

import qed
from qed.cluster import (
    BisectingKMeans,
    KernelKMeans,
    KMeans,
    MiniBatchKMeans,
    SoftKMeans,
    farthest_first,
    kmeans_plusplus,
    seeding_probabilities,
)
from qed.core import InvalidData, InvalidParameter

rng = np.random.default_rng(5)
HOMES = 20.0 * np.vstack([np.zeros(3), np.eye(3)])
WHICH = rng.integers(0, 4, 300)
X = HOMES[WHICH] + rng.standard_normal((300, 3))
LINE = np.array([[0.0], [1.0], [3.0]])


def same_groups(a, b):
    """Tell whether two labellings are the same up to the numbers."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def rings(n=60):
    """Return two rings about one centre."""
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.vstack([ring, 5 * ring]), np.repeat([0, 1], n)


@pytest.mark.covers("CLU-06", "CLU-07")
def test_rows_are_drawn_by_squared_distances_or_by_distances():
    np.testing.assert_allclose(seeding_probabilities(LINE, [[0.0]]), [0, 0.1, 0.9])
    np.testing.assert_allclose(seeding_probabilities(LINE, [[0.0]], power=1), [0, 0.25, 0.75])
    np.testing.assert_allclose(seeding_probabilities(LINE, [[0.0]], sample_weight=[1, 9, 1]), [0, 0.5, 0.5])
    np.testing.assert_allclose(seeding_probabilities(LINE, LINE), [1 / 3] * 3)
    second = {2.0: [], 1.0: []}
    for power, found in second.items():
        for seed in range(600):
            rows = kmeans_plusplus(LINE, 2, random_state=seed, n_local_trials=1, power=power)[1]
            assert rows[0] != rows[1]
            if rows[0] == 0:
                found.append(rows[1] == 2)
    # about 200 draws each: four standard deviations
    assert abs(np.mean(second[2.0]) - 0.9) < 4 * np.sqrt(0.09 / len(second[2.0]))
    assert abs(np.mean(second[1.0]) - 0.75) < 4 * np.sqrt(0.1875 / len(second[1.0]))
    same = kmeans_plusplus(np.ones((5, 2)), 3, random_state=0)[0]
    assert np.all(same == 1)


@pytest.mark.covers("CLU-08")
def test_the_expected_inertia_of_the_seeding_is_within_its_bound():
    few = np.random.default_rng(1).standard_normal((9, 2)) * [1, 5]
    for k in (2, 3):
        best = min(KMeans(k, init=few[list(some)], tol=0).fit(few).inertia_ for some in combinations(range(9), k))
        costs = []
        for seed in range(200):
            centres = kmeans_plusplus(few, k, random_state=seed, n_local_trials=1)[0]
            costs.append(((few[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum())
        assert best <= min(costs)
        assert np.mean(costs) <= 8 * (np.log(k) + 2) * best


@pytest.mark.covers("CLU-09")
def test_farthest_rows_restarts_and_even_draws():
    assert farthest_first(LINE, 2, first=0)[1].tolist() == [0, 2]
    odd = np.vstack([X, [[500.0, 0, 0]]])
    assert 300 in farthest_first(odd, 2, first=7)[1]
    assert 300 not in farthest_first(odd, 2, first=7, sample_weight=np.r_[np.ones(300), 0])[1]
    radius = lambda rows: np.sqrt(((X[:, None] - rows) ** 2).sum(axis=2)).min(axis=1).max()  # noqa: E731
    best = min(radius(X[rng.choice(300, 4, replace=False)]) for _ in range(300))
    assert radius(farthest_first(X, 4, random_state=0)[0]) <= 2 * best
    one = [KMeans(4, init="random", n_init=1, random_state=seed).fit(X).inertia_ for seed in range(5)]
    assert KMeans(4, init="random", n_init=20, random_state=0).fit(X).inertia_ <= min(one) * (1 + 1e-9)
    for init in ("farthest", "distance", "k-means++"):
        model = KMeans(4, init=init, n_init=10, random_state=0).fit(X)
        assert same_groups(model.labels_, WHICH)
        assert qed.verify(model, X).holds
    with pytest.raises(InvalidParameter, match="first must be"):
        farthest_first(X, 2, first=300)
    with pytest.raises(InvalidParameter, match="power"):
        kmeans_plusplus(X, 2, power=0)


def test_batches_reach_the_inertia_of_scikit_learn_and_streams_merge():
    ours = MiniBatchKMeans(4, random_state=0, batch_size=64).fit(X)
    other = theirs.MiniBatchKMeans(4, random_state=0, batch_size=64, n_init=3).fit(X)
    assert ours.inertia_ <= 1.05 * other.inertia_
    assert same_groups(ours.labels_, WHICH)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    assert ours.certificate_.drift > 0
    assert qed.verify(ours, X).holds
    halves = [MiniBatchKMeans(4, random_state=0) for _ in range(2)]
    for i in range(0, 300, 50):
        halves[i >= 150].partial_fit(X[i : i + 50])
    assert halves[0].n_steps_ == 3
    assert halves[0].counts_.sum() == pytest.approx(150)
    with pytest.raises(qed.CertificateError, match="stream"):
        qed.verify(halves[0], X)
    joint = halves[0].merge(halves[1])
    assert joint.counts_.sum() == pytest.approx(300)
    assert same_groups(joint.predict(X), WHICH)
    with pytest.raises(InvalidData, match="columns"):
        joint.merge(MiniBatchKMeans(2, random_state=0).fit(X[:, :2]))


def test_halves_are_a_tree_that_rows_go_down():
    for strategy in ("biggest_inertia", "largest_cluster"):
        model = BisectingKMeans(4, n_init=3, random_state=0, bisecting_strategy=strategy).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.inertia_ == pytest.approx(-model.score(X))
        for label in range(4):
            np.testing.assert_allclose(model.cluster_centers_[label], X[model.labels_ == label].mean(axis=0), rtol=1e-8)
        assert qed.verify(model, X).holds
    inertias = [BisectingKMeans(k, n_init=3, random_state=0).fit(X).inertia_ for k in range(1, 8)]
    assert np.all(np.diff(inertias) < 0)
    assert inertias[0] == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2))
    same = BisectingKMeans(3, random_state=0).fit(np.ones((6, 2)))
    assert same.inertia_ == 0


@pytest.mark.covers("CLU-15")
def test_shares_sum_to_one_and_harden_with_beta():
    model = SoftKMeans(4, beta=0.2, random_state=0).fit(X)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    away = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    want = np.exp(-0.2 * (away - away.min(axis=1, keepdims=True)))
    np.testing.assert_allclose(shares, want / want.sum(axis=1, keepdims=True), atol=1e-10)
    np.testing.assert_allclose(model.cluster_centers_, shares.T @ X / shares.sum(axis=0)[:, None], rtol=1e-3)
    assert np.all(np.diff(model.certificate_.trace) >= -1e-12)
    assert model.certificate_.reached
    start = X[[int(np.flatnonzero(j == WHICH)[0]) for j in range(4)]]
    hard, soft = KMeans(4, init=start, tol=0).fit(X), SoftKMeans(4, beta=1e4, init=start).fit(X)
    np.testing.assert_allclose(soft.cluster_centers_, hard.cluster_centers_, rtol=1e-6)
    blurred = SoftKMeans(4, beta=1e-6, random_state=0).fit(X)  # no minimum but the mean is left
    np.testing.assert_allclose(blurred.predict_proba(X), 0.25, atol=0.01)
    # the shares minimise the objective with its entropy; without the entropy a hard choice would be as good or better
    objective = lambda z: float(np.sum(z * away + np.where(z > 0, z * np.log(np.maximum(z, 1e-300)), 0) / 0.2))  # noqa: E731
    for _ in range(10):
        other = shares + 0.05 * rng.random(shares.shape)
        assert objective(shares) <= objective(other / other.sum(axis=1, keepdims=True))
    assert np.sum(np.eye(4)[away.argmin(axis=1)] * away) <= np.sum(shares * away)


@pytest.mark.covers("CLU-29", "CLU-35")
def test_a_kernel_separates_rings_and_the_linear_one_is_k_means():
    table, truth = rings()
    plain = KMeans(2, n_init=10, random_state=0).fit(table)
    agreement = max(np.mean(plain.labels_ == truth), np.mean(plain.labels_ != truth))
    assert agreement < 0.75  # k-means cuts both rings
    model = KernelKMeans(2, gamma=0.5, n_init=20, random_state=0).fit(table)
    assert same_groups(model.labels_, truth)
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    assert 1 <= model.certificate_.ratio < np.inf
    linear = KernelKMeans(4, kernel="linear", n_init=5, random_state=0).fit(X)
    assert linear.inertia_ == pytest.approx(KMeans(4, n_init=5, random_state=0).fit(X).inertia_)
    assert same_groups(linear.labels_, WHICH)
    # k-means on all uncentred components of the kernel has the same inertia for the same labels
    K = np.exp(-0.5 * ((table[:, None] - table) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(K)
    scores = vectors * np.sqrt(np.maximum(values, 0))
    means = np.stack([scores[model.labels_ == j].mean(axis=0) for j in range(2)])
    from_means = KMeans(2, init=means, tol=0).fit(scores)
    assert same_groups(from_means.labels_, model.labels_)
    assert from_means.inertia_ == pytest.approx(model.inertia_)
    given = KernelKMeans(2, kernel="precomputed", n_init=20, random_state=0).fit(K)
    assert same_groups(given.labels_, truth)
    for fitted, rows in ((model, table), (linear, X), (given, K)):
        assert qed.verify(fitted, rows).holds
    with pytest.raises(InvalidData, match="n_samples=3"):
        KernelKMeans(4).fit(X[:3])


def test_a_kernel_that_is_not_symmetric_is_refused_and_rounding_is_not():
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    lower = np.tril(np.ones_like(K), -1)
    rounded = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K * (1 + 1e-14 * lower))
    assert qed.verify(rounded, K * (1 + 1e-14 * lower)).holds
    for off in (1e-9, 0.5):
        with pytest.raises(InvalidData, match=r"must be symmetric.* differ by up to .* Give a symmetric kernel"):
            KernelKMeans(4, kernel="precomputed").fit(K * (1 + off * lower))
    with pytest.raises(InvalidData, match="must be symmetric"):
        KernelKMeans(4, kernel=lambda a, b: float(a @ b + a[0])).fit(X)


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans, BisectingKMeans, SoftKMeans, KernelKMeans])
def test_changed_labels_and_too_few_rows_are_refused(kind):
    model = kind(3, random_state=0).fit(X)
    assert qed.verify(model, X).holds
    model.labels_ = np.where(np.arange(300) == 5, (model.labels_ + 1) % 3, model.labels_).astype(np.int32)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X)
    with pytest.raises(InvalidData, match="n_samples=2"):
        kind(3).fit(X[:2])
