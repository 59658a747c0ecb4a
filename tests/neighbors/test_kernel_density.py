"""Densities as sums of windows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.neighbors import KernelDensity as Theirs

import qed
from qed.neighbors import KernelDensity

rng = np.random.default_rng(2)
KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


@pytest.mark.parametrize("kernel", KERNELS)
def test_log_densities_are_those_of_scikit_learn(kernel):
    # in an even number of columns scikit-learn's cosine density does not integrate to one; ours does, below
    for n, p, h in ((700, 1, 0.3), (50, 3, "scott"), (600, 5, 2.0), (40, 3, "silverman")):
        X, Q = rng.standard_normal((n, p)), rng.standard_normal((31, p))
        ours = KernelDensity(kernel=kernel, bandwidth=h).fit(X)
        theirs = Theirs(kernel=kernel, bandwidth=h).fit(X)
        assert ours.bandwidth_ == pytest.approx(theirs.bandwidth_, rel=1e-14)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(ours.score_samples(Q), theirs.score_samples(Q), rtol=1e-12, atol=1e-12)
        assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-12)


@pytest.mark.covers("KNN-29")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_densities_integrate_to_one(kernel, metric):
    line = np.linspace(-25, 25, 20_001)
    one = KernelDensity(kernel=kernel, bandwidth=0.7, metric=metric).fit([[0.0], [1.3]])
    assert np.trapezoid(np.exp(one.score_samples(line[:, None])), line) == pytest.approx(1, abs=4e-3)
    side = np.linspace(-3, 3, 403) if kernel not in ("gaussian", "exponential") else np.linspace(-15, 15, 201)
    off = 1.5e-2 if kernel == "tophat" else 2e-3  # cells on a rim are in or out as a whole
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    two = KernelDensity(kernel=kernel, bandwidth=1.1, metric=metric).fit([[0.0, 0.3], [1.0, -1.0]])
    assert np.exp(two.score_samples(grid)).sum() * (side[1] - side[0]) ** 2 == pytest.approx(1, abs=off)
    # a single row gives back the window; twice the bandwidth divides by 2^p
    at = [
        np.exp(
            KernelDensity(kernel=kernel, bandwidth=h, metric=metric)
            .fit([[0.0, 0.0]])
            .score_samples([[0.3 * h, 0.0]])[0]
        )
        for h in (1, 2)
    ]
    assert at[0] == pytest.approx(4 * at[1], rel=1e-13)


@pytest.mark.covers("KNN-29")
def test_one_row_is_its_window():
    u = np.array([[0.0], [0.3], [0.999], [1.0], [2.0]])
    r = u[:, 0]
    windows = {
        "gaussian": np.exp(-(r**2) / 2) / math.sqrt(2 * math.pi),
        "tophat": (r < 1) / 2,
        "epanechnikov": np.maximum(1 - r**2, 0) * 0.75,
        "exponential": np.exp(-r) / 2,
        "linear": np.maximum(1 - r, 0),
        "cosine": np.cos(np.pi * np.minimum(r, 1) / 2) * np.pi / 4,
    }
    for kernel, window in windows.items():
        density = np.exp(KernelDensity(kernel=kernel).fit([[0.0]]).score_samples(u))
        np.testing.assert_allclose(density, window, rtol=1e-12, atol=1e-16)


def test_many_dimensions_keep_their_constant():
    # cos(πr/2) r^59 lies between two lines near the rim: its integral is π/2 times about ∫ (1 - r) r^59 dr
    model = KernelDensity(kernel="cosine", bandwidth=1.0).fit(np.zeros((1, 60)))
    linear = KernelDensity(kernel="linear", bandwidth=1.0).fit(np.zeros((1, 60)))
    gap = model.score_samples(np.zeros((1, 60)))[0] - linear.score_samples(np.zeros((1, 60)))[0]
    assert gap == pytest.approx(-math.log(math.pi / 2), abs=2e-3)
    assert qed.verify(model, np.zeros((1, 60))).holds


def test_far_points_have_logarithms():
    model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    log = model.score_samples([[1001.0], [-1e160]])
    assert log[0] == pytest.approx(-(2000.0**2) / 2 - math.log(2 * 0.5 * math.sqrt(2 * math.pi)), rel=1e-14)
    assert log[1] == -np.inf
    assert KernelDensity(kernel="tophat").fit([[0.0]]).score_samples([[1.0]]) == -np.inf


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_are_repetition(kernel):
    X, Q = rng.standard_normal((90, 2)), rng.standard_normal((20, 2))
    s = rng.integers(0, 4, 90)
    for h in (0.8, "scott"):
        weighted = KernelDensity(kernel=kernel, bandwidth=h).fit(X, sample_weight=s)
        repeated = KernelDensity(kernel=kernel, bandwidth=h).fit(np.repeat(X, s, axis=0))
        assert weighted.bandwidth_ == repeated.bandwidth_
        np.testing.assert_allclose(weighted.score_samples(Q), repeated.score_samples(Q), rtol=1e-12)
    assert qed.verify(weighted, X, sample_weight=s).holds
    assert weighted.score(Q, sample_weight=np.full(20, 2.0)) == pytest.approx(2 * weighted.score(Q))
    with pytest.raises(qed.CertificateError):
        qed.verify(weighted, X)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_narrow_windows_among_many_rows_leave_nothing_out(kernel, metric):
    X, Q = rng.standard_normal((4000, 2)), rng.standard_normal((60, 2)) * 1.5
    s = np.exp(3 * rng.standard_normal(4000))
    for h in (0.02, 0.3):
        boxes = KernelDensity(kernel=kernel, metric=metric, bandwidth=h).fit(X, sample_weight=s)
        assert boxes._index.tree
        scan = KernelDensity(kernel=kernel, metric=metric, bandwidth=h).fit(X, sample_weight=s)
        scan._index.__dict__.update(tree=False)
        scan._index.__dict__.pop("parts", None)
        np.testing.assert_allclose(boxes.score_samples(Q), scan.score_samples(Q), rtol=1e-13, atol=1e-13)
        assert qed.verify(boxes, X, sample_weight=s).holds


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
def test_points_drawn_are_of_the_density(kernel):
    X, s = np.array([[0.0, 0.0], [10.0, 0.0]]), np.array([1.0, 3.0])
    model = KernelDensity(kernel=kernel, bandwidth=0.5).fit(X, sample_weight=s)
    drawn = model.sample(20_000, random_state=0)
    right = drawn[:, 0] > 5
    assert right.mean() == pytest.approx(0.75, abs=0.02)
    spread = {"gaussian": 0.25, "tophat": 0.25 / 4}[kernel]  # a disc has a quarter of its squared radius in each column
    np.testing.assert_allclose(np.cov(drawn[right].T), spread * np.eye(2), atol=0.02)
    assert np.array_equal(drawn[:5], model.sample(20_000, random_state=0)[:5])
    if kernel == "tophat":
        assert np.sqrt(((drawn - np.where(right[:, None], X[1], X[0])) ** 2).sum(axis=1)).max() <= 0.5
    with pytest.raises(qed.InvalidParameter, match="n_samples"):
        model.sample(0)
    with pytest.raises(qed.NotSupported, match="'linear' windows"):
        model.set_params(kernel="linear").sample()


def test_hints_and_threads_do_not_change_a_bit():
    X, Q = rng.standard_normal((2000, 3)), rng.standard_normal((70, 3))
    plain = KernelDensity(bandwidth=0.4).fit(X).score_samples(Q)
    hinted = KernelDensity(bandwidth=0.4, atol=1e-2, rtol=1e-2, algorithm="ball_tree", breadth_first=False, leaf_size=3)
    assert np.array_equal(hinted.fit(X).score_samples(Q), plain)
    before = qed.get_num_threads()
    try:
        for threads in (1, 3):
            qed.set_num_threads(threads)
            assert np.array_equal(KernelDensity(bandwidth=0.4).fit(X).score_samples(Q), plain)
    finally:
        qed.set_num_threads(before)
    one_by_one = [KernelDensity(bandwidth=0.4).fit(X).score_samples(Q[i : i + 1])[0] for i in range(5)]
    assert np.array_equal(one_by_one, plain[:5])


def test_what_is_no_density_is_refused_in_words():
    for params, words in (
        ({"bandwidth": 0}, "bandwidth must be"),
        ({"bandwidth": "wide"}, "'scott', 'silverman'"),
        ({"kernel": "box"}, "kernel must be one of"),
        ({"metric": "haversine"}, "metric must be one of"),
        ({"metric": "minkowski", "metric_params": {"w": [1.0]}}, "w.* is not in qed"),
    ):
        with pytest.raises((qed.InvalidParameter, qed.NotSupported), match=words):
            KernelDensity(**params).fit([[0.0]])
    with pytest.raises(qed.InvalidData, match="row 1"):
        KernelDensity().fit([[0.0], [np.nan]], sample_weight=[1.0, 0.0])
