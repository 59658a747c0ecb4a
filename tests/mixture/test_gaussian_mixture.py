"""Gaussian mixtures: laws of expectation-maximisation, worked examples, scikit-learn at equal settings, real rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import mixture as theirs

import qed
from qed.cluster import KMeans
from qed.core import InvalidData
from qed.datasets import load_iris
from qed.mixture import GaussianMixture, decompose_likelihood
from qed.model_selection import cross_val_score
from qed.naive_bayes import GaussianNB

KINDS = ("full", "tied", "diag", "spherical")


def _blobs(seed=0, n=60, p=2, k=3, apart=4.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + apart * rng.standard_normal((k, p))[rng.integers(0, k, n)]


def _whole(model):
    """Covariances of all components as matrices."""
    k, p = model.means_.shape
    of = model.covariances_
    return {
        "full": lambda: of,
        "tied": lambda: np.broadcast_to(of, (k, p, p)),
        "diag": lambda: of[:, :, None] * np.eye(p),
        "spherical": lambda: of[:, None, None] * np.eye(p),
    }[model.covariance_type]()


def _naive(model, X):
    """Densities of components times weights, one by one, from the definition."""
    p = X.shape[1]
    out = []
    for weight, mean, covariance in zip(model.weights_, model.means_, _whole(model), strict=True):
        away = X - mean
        squares = np.sum(away @ np.linalg.inv(covariance) * away, axis=1)
        out.append(weight * np.exp(-0.5 * squares) / np.sqrt((2 * np.pi) ** p * np.linalg.det(covariance)))
    return np.stack(out, axis=1)


def _one_step(X, weights, means, precisions, kind="full", **more):
    """Parameters after one step from given ones, without a blur."""
    return GaussianMixture(
        len(weights), covariance_type=kind, reg_covar=0.0, tol=0.0, max_iter=1,
        weights_init=weights, means_init=means, precisions_init=precisions, **more,
    ).fit(X)  # fmt: skip


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), k=st.integers(1, 4), hard=st.booleans())
@pytest.mark.covers("MIX-06", "MIX-08")
def test_no_step_lowers_the_objective(seed, kind, k, hard):
    X = _blobs(seed, n=30)
    model = GaussianMixture(
        k, covariance_type=kind, algorithm="hard" if hard else "soft", random_state=seed % 1000, tol=0.0, reg_covar=1e-3,
        init_params="random",
    ).fit(X)  # fmt: skip
    certificate = model.certificate_
    assert np.all(np.diff(certificate.trace) >= -2 * certificate.rounding)
    assert certificate.gain >= -2 * certificate.rounding
    assert qed.verify(model, X).holds
    if hard:  # finitely many assignments: the ascent comes to rest
        assert certificate.outcome == "solved"
        assert certificate.displacement <= 1e-6


@pytest.mark.covers("MIX-01")
def test_weights_sum_to_one_and_the_density_integrates_to_one():
    X = _blobs(p=1)
    model = GaussianMixture(3, random_state=0).fit(X)
    assert np.all(model.weights_ >= 0)
    assert model.weights_.sum() == pytest.approx(1.0, abs=1e-12)
    grid = np.linspace(-40, 40, 400_001)
    assert np.trapezoid(np.exp(model.score_samples(grid[:, None])), grid) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.covers("MIX-02")
def test_samples_come_by_component_with_its_moments():
    model = GaussianMixture(2, random_state=0).fit(_blobs(k=2, n=80))
    n = 200_000
    X, labels = model.sample(n)
    for k, weight in enumerate(model.weights_):
        own = X[labels == k]
        assert abs(len(own) / n - weight) < 7 * np.sqrt(weight * (1 - weight) / n)  # seven standard errors
        error = np.sqrt(np.diag(model.covariances_[k]) / len(own))
        assert np.all(np.abs(own.mean(axis=0) - model.means_[k]) < 7 * error)
        assert np.allclose(
            np.cov(own.T), model.covariances_[k], atol=7 * np.abs(model.covariances_[k]).max() * np.sqrt(2 / len(own))
        )


@pytest.mark.covers("MIX-03")
@pytest.mark.parametrize("kind", KINDS)
def test_log_densities_equal_the_naive_sum_and_stay_finite_far_away(kind):
    X = _blobs()
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X), np.log(_naive(model, X).sum(axis=1)), rtol=1e-10)
    far = model.score_samples([[1e5, -1e5]])
    assert np.isfinite(far).all()
    assert far[0] < -1e6
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


@pytest.mark.covers("MIX-04")
def test_responsibilities_of_two_unit_gaussians_are_a_sigmoid():
    x = np.linspace(-3, 3, 41)[:, None]
    model = GaussianMixture(2).fit(x)
    model.weights_, model.means_, model.covariances_ = (
        np.array([0.5, 0.5]),
        np.array([[-1.0], [1.0]]),
        np.ones((2, 1, 1)),
    )
    shares = model.predict_proba(x)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(shares[:, 1], 1 / (1 + np.exp(-2 * x[:, 0])), rtol=1e-12)
    assert shares[20].tolist() == pytest.approx([0.5, 0.5])
    assert np.array_equal(model.predict(x), np.argmax(shares, axis=1))


@pytest.mark.covers("MIX-05")
def test_one_step_by_hand():
    model = _one_step([[-1.0], [0.0], [1.0]], [0.5, 0.5], [[-1.0], [1.0]], np.ones((2, 1, 1)))
    np.testing.assert_allclose(model.means_[:, 0], [-np.tanh(1) / 1.5, np.tanh(1) / 1.5], rtol=1e-12)
    np.testing.assert_allclose(model.means_[1, 0], 0.507729, atol=1e-6)
    np.testing.assert_allclose(model.covariances_.ravel(), 0.408877, atol=1e-6)
    np.testing.assert_allclose(model.weights_, 0.5, rtol=1e-12)
    X = _blobs(p=3)
    single = GaussianMixture(1, reg_covar=0.0).fit(X)
    np.testing.assert_allclose(single.means_[0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(single.covariances_[0], np.cov(X.T, bias=True), rtol=1e-10)


@pytest.mark.covers("MIX-07")
def test_a_fit_at_rest_satisfies_the_three_equations():
    X = _blobs()
    model = GaussianMixture(3, tol=1e-14, max_iter=5000, reg_covar=0.0, random_state=0).fit(X)
    shares = model.predict_proba(X)
    weights = shares.sum(axis=0)
    means = shares.T @ X / weights[:, None]
    np.testing.assert_allclose(model.weights_, weights / len(X), atol=1e-5)
    np.testing.assert_allclose(model.means_, means, atol=1e-4)
    for k in range(3):
        away = X - means[k]
        np.testing.assert_allclose(model.covariances_[k], (shares[:, k, None] * away).T @ away / weights[k], atol=1e-3)
    assert model.certificate_.displacement < 1e-4


@pytest.mark.covers("MIX-09")
def test_hard_steps_with_equal_round_components_are_lloyds_steps():
    X, k = _blobs(), 3
    means = X[:k]
    for _ in range(6):
        model = _one_step(X, np.full(k, 1 / k), means, np.full(k, 0.7), "spherical", algorithm="hard")
        lloyd = KMeans(k, init=means, max_iter=1, tol=0.0).fit(X)
        np.testing.assert_allclose(model.means_, lloyd.cluster_centers_, rtol=1e-12)
        means = model.means_


@pytest.mark.covers("MIX-10")
def test_soft_steps_with_small_variances_are_lloyds_steps():
    X, k = _blobs(), 3
    means = X[:k]
    for _ in range(6):
        model = _one_step(X, np.full(k, 1 / k), means, np.full(k, 1e6), "spherical")
        np.testing.assert_allclose(
            model.means_, KMeans(k, init=means, max_iter=1, tol=0.0).fit(X).cluster_centers_, rtol=1e-9
        )
        means = model.means_
    sharp = GaussianMixture(3, covariance_type="spherical").fit(X)
    sharp.covariances_ = np.full(3, 1e-6)
    assert set(np.unique(sharp.predict_proba(X))) == {0.0, 1.0}


@pytest.mark.covers("MIX-11")
def test_structures_have_their_number_of_parameters_and_less_freedom_fits_less():
    X, k, p = _blobs(n=200, p=3), 2, 3
    free = {"full": k * p * (p + 1) // 2, "tied": p * (p + 1) // 2, "diag": k * p, "spherical": k}
    best = {}
    for kind, of_covariances in free.items():
        model = GaussianMixture(k, covariance_type=kind, n_init=5, tol=1e-9, max_iter=500, random_state=0).fit(X)
        parameters = (model.bic(X) - model.aic(X)) / (np.log(len(X)) - 2)
        assert parameters == pytest.approx(of_covariances + k * p + k - 1)
        best[kind] = model.score(X)
    assert best["full"] >= max(best["tied"], best["diag"], best["spherical"]) - 1e-6
    assert best["diag"] >= best["spherical"] - 1e-6


@pytest.mark.covers("MIX-12")
def test_a_component_on_one_row_has_a_density_without_bound():
    x = np.array([[0.0], [5.0], [6.0], [7.0]])
    model = GaussianMixture(2).fit(x)
    for variance in (1.0, 1e-4, 1e-8):
        model.weights_, model.means_ = np.array([1.0, 0.0]), np.array([[0.0], [6.0]])
        model.covariances_ = np.full((2, 1, 1), variance)
        assert -model.score_samples([[0.0]])[0] == pytest.approx(0.5 * np.log(2 * np.pi * variance))


@pytest.mark.covers("MIX-13")
def test_variances_have_a_floor_and_a_prior_divides_otherwise():
    X = np.vstack([np.zeros((1, 2)), _blobs(k=1) + 50])
    model = GaussianMixture(2, reg_covar=0.3**2, random_state=0).fit(X)
    assert np.linalg.eigvalsh(model.covariances_).min() >= 0.3**2 * (1 - 1e-12)
    assert len(model.degenerate_components_) == 1
    with pytest.raises(qed.InvalidData, match="reg_covar"):
        GaussianMixture(2, reg_covar=0.0, random_state=0).fit(X)
    n, p, scale, degrees = len(X), 2, 0.7, 5.0
    prior = GaussianMixture(1, reg_covar=0.0, covariance_prior=scale, degrees_of_freedom_prior=degrees).fit(X)
    expected = (n * np.cov(X.T, bias=True) + scale * np.eye(p)) / (n + degrees + p + 1)
    np.testing.assert_allclose(prior.covariances_[0], expected, rtol=1e-10)
    train, held = np.split(_blobs(1, n=400), [12])
    score = {v: GaussianMixture(3, reg_covar=v, random_state=0).fit(train).score(held) for v in (1e-6, 1.0, 300.0)}
    assert max(score, key=score.get) == 1.0


@pytest.mark.covers("MIX-14")
@pytest.mark.parametrize("start", ["k-means++", "random_from_data"])
def test_starts_are_rows_with_equal_weights_and_the_covariance_of_all_rows(start):
    X = _blobs(n=8)
    pooled = np.cov(X.T, bias=True)
    found = GaussianMixture(
        2, init_params=start, reg_covar=0.0, covariance_prior=None, random_state=3, max_iter=1, tol=1e9
    ).fit(X)
    possible = []
    for pair in itertools.permutations(range(8), 2):
        begin = GaussianMixture(2).fit(X)
        begin.weights_, begin.means_, begin.covariances_ = np.full(2, 0.5), X[list(pair)], np.stack([pooled, pooled])
        possible.append(begin.score(X))
    assert np.min(np.abs(np.array(possible) - found.lower_bounds_[0])) < 1e-10


@pytest.mark.covers("MIX-15")
def test_more_starts_never_end_lower_and_tol_stops():
    X = _blobs(5, n=90, k=6, apart=2.0)
    bounds = [
        GaussianMixture(6, n_init=r, init_params="random", random_state=0).fit(X).lower_bound_ for r in (1, 2, 4, 8)
    ]
    assert bounds == sorted(bounds)
    model = GaussianMixture(3, tol=1e-4, random_state=0).fit(X)
    steps = np.diff(model.lower_bounds_)
    assert np.all(steps[:-1] > 1e-4)
    assert steps[-1] <= 1e-4


@pytest.mark.covers("MIX-16")
def test_two_components_on_one_gaussian():
    half = np.random.default_rng(0).standard_normal(5000)
    x = np.concatenate([half, -half])[:, None]  # symmetric, so that steps keep the symmetry
    soft = hard = 0.8
    for _ in range(300):
        given = {"weights": [0.5, 0.5], "precisions": np.ones(2), "kind": "spherical"}
        soft = _one_step(x, means=[[-soft], [soft]], **given).means_[1, 0]
    hard = _one_step(x, means=[[-hard], [hard]], **given, algorithm="hard").means_[1, 0]
    assert hard == pytest.approx(np.abs(x).mean(), rel=1e-12)
    limit = np.mean(x**2) - 1
    assert soft == pytest.approx(np.sqrt(limit) if limit > 0 else 0.0, abs=0.1)
    hard_fit = GaussianMixture(2, algorithm="hard", random_state=0).fit(x)
    on = GaussianMixture(
        2, weights_init=hard_fit.weights_, means_init=hard_fit.means_, precisions_init=hard_fit.precisions_
    ).fit(x)
    assert on.score(x) >= hard_fit.score(x)


@pytest.mark.covers("MIX-20", "MIX-22")
def test_a_step_is_weighted_training_of_a_gaussian_bayes_classifier():
    X, k = _blobs(), 3
    before = _one_step(X, np.full(k, 1 / k), X[:k], np.ones((k, 2)), "diag")
    shares = before.predict_proba(X)
    after = _one_step(X, before.weights_, before.means_, before.precisions_, "diag")
    bayes = GaussianNB(var_smoothing=0.0).fit(
        np.repeat(X, k, axis=0), np.tile(np.arange(k), len(X)), sample_weight=shares.ravel()
    )
    np.testing.assert_allclose(after.means_, bayes.theta_, rtol=1e-10)
    np.testing.assert_allclose(after.covariances_, bayes.var_, rtol=1e-9)
    np.testing.assert_allclose(after.weights_, bayes.class_prior_, rtol=1e-12)
    np.testing.assert_allclose(
        after.predict_proba(X), bayes.predict_proba(X), rtol=1e-8, atol=1e-12
    )  # the same joint density


@pytest.mark.covers("MIX-21")
def test_held_out_likelihood_chooses_the_true_number_of_components():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) + np.array([[0, 0], [8, 0], [0, 8]])[rng.integers(0, 3, 300)]
    held = {k: cross_val_score(GaussianMixture(k, n_init=3, random_state=0), X, cv=5).mean() for k in (1, 2, 3, 4, 6)}
    assert max(held, key=held.get) == 3
    train = [GaussianMixture(k, n_init=5, random_state=0).fit(X).score(X) for k in (1, 2, 3, 6)]
    assert train == sorted(train)


@pytest.mark.covers("MIX-26")
def test_the_order_of_components_does_not_matter():
    X = _blobs()
    model = GaussianMixture(3, random_state=0).fit(X)
    before = model.score_samples(X)
    order = [2, 0, 1]
    model.weights_, model.means_, model.covariances_ = (
        model.weights_[order],
        model.means_[order],
        model.covariances_[order],
    )
    np.testing.assert_allclose(model.score_samples(X), before, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_at_equal_settings(kind):
    X = load_iris(return_X_y=True)[0]
    given = {"covariance_type": kind, "tol": 1e-10, "max_iter": 2000, "random_state": 0}
    ours, other = GaussianMixture(3, **given).fit(X), theirs.GaussianMixture(3, **given).fit(X)
    assert ours.score(X) == pytest.approx(other.score(X), abs=1e-6)
    order, their_order = np.argsort(ours.means_[:, 0]), np.argsort(other.means_[:, 0])
    np.testing.assert_allclose(ours.means_[order], other.means_[their_order], atol=1e-3)
    assert ours.bic(X) == pytest.approx(other.bic(X), rel=1e-6)
    assert ours.precisions_cholesky_.shape == other.precisions_cholesky_.shape
    np.testing.assert_allclose(
        np.sort(ours.precisions_, axis=0), np.sort(other.precisions_, axis=0), rtol=0.05, atol=1e-2
    )


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetition(kind):
    X = _blobs(n=40)
    times = np.random.default_rng(1).integers(0, 4, 40)
    given = {"covariance_type": kind, "means_init": X[:2], "weights_init": [0.5, 0.5]}
    precisions = {
        "full": np.stack([np.eye(2)] * 2),
        "tied": np.eye(2),
        "diag": np.ones((2, 2)),
        "spherical": np.ones(2),
    }[kind]
    weighted = GaussianMixture(2, **given, precisions_init=precisions).fit(X, sample_weight=times)
    repeated = GaussianMixture(2, **given, precisions_init=precisions).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-10)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-8)
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-12)


def test_the_number_of_threads_changes_no_bit():
    X = _blobs(n=9000, p=5)
    before = qed.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 8):
            qed.set_num_threads(threads)
            model = GaussianMixture(3, random_state=0, max_iter=5).fit(X)
            results.append((model.means_.tobytes(), model.covariances_.tobytes(), model.predict_proba(X).tobytes()))
    finally:
        qed.set_num_threads(before)
    assert len(set(results)) == 1


def test_going_on_from_an_earlier_fit():
    X = _blobs()
    model = GaussianMixture(3, max_iter=2, warm_start=True, random_state=0).fit(X)
    first = model.lower_bound_
    model.fit(X)
    assert model.lower_bound_ >= first
    assert model.lower_bounds_[0] == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_components": 99}, "n_components"),
        ({"weights_init": [0.5, 0.6]}, "sum to one"),
        ({"means_init": [[0.0, 0.0]]}, "means_init"),
        ({"precisions_init": np.ones(3)}, "precisions_init"),
        ({"precisions_init": -np.stack([np.eye(2)] * 2)}, "positive"),
        ({"covariance_prior": [1.0, 2.0, 3.0]}, "covariance_prior"),
        ({"covariance_prior": 1.0, "degrees_of_freedom_prior": 0.5}, "degrees_of_freedom_prior"),
        ({"degrees_of_freedom_prior": 3.0}, "covariance_prior"),
    ],
)
def test_what_cannot_be_fitted_is_refused(given, words):
    with pytest.raises(qed.InvalidData, match=words):
        GaussianMixture(**{"n_components": 2, **given}).fit(_blobs(n=20))


def test_equal_rows_and_far_offsets():
    same = GaussianMixture(2, random_state=0).fit(np.ones((6, 2)))
    assert np.isfinite(same.score_samples(np.ones((1, 2)))).all()
    X = _blobs()
    near, far = (GaussianMixture(3, random_state=0).fit(X + shift) for shift in (0.0, 1e6))
    assert near.lower_bound_ == pytest.approx(far.lower_bound_, rel=1e-7)
    assert qed.verify(far, X + 1e6).holds


@pytest.mark.parametrize("unit", [1.0, 1e5, 1e9])
def test_a_moved_mean_is_refused_whatever_the_units_of_columns(unit):
    X = _blobs() * [1.0, unit]
    model = GaussianMixture(2, random_state=0, reg_covar=0.0).fit(X)
    assert qed.verify(model, X).holds
    model.means_[0, 1] += 1e-5 * unit
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X)


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("distance", [1e6, 1e9, 1e12])
def test_narrow_components_far_apart_are_verified(structure, distance):
    """Rows round where the mean of all is taken off: the certificate says so, and is neither false nor refused."""
    rng = np.random.default_rng(3)
    rows = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + distance * rng.normal(size=2)])
    model = GaussianMixture(2, covariance_type=structure, random_state=0).fit(rows)
    qed.verify(model, rows)
    assert model.certificate_.rounding >= 2.0**-53 * distance / 10


def test_components_below_the_resolution_of_float64_are_refused():
    rows = 1e76 * np.random.default_rng(0).integers(-2, 3, (8, 2)).astype(float)
    rows[:4] = rows[0]
    with pytest.raises(InvalidData, match="cannot tell its rows apart"):
        GaussianMixture(2, covariance_type="spherical", random_state=0).fit(rows)


@pytest.mark.covers("MIX-19")
def test_the_gain_of_the_certificate_taken_apart():
    """What the certificate says one more step adds is the gain of Q plus a divergence, and neither is negative."""
    rng = np.random.default_rng(8)
    rows = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(2, 1, (50, 2))])
    options = {"init_params": "random_from_data", "random_state": 0, "reg_covar": 0.0, "tol": 0.0}
    before = GaussianMixture(2, max_iter=4, **options).fit(rows)
    after = GaussianMixture(2, max_iter=5, **options).fit(rows)
    then, now = decompose_likelihood(before, rows, before), decompose_likelihood(after, rows, before)
    gained = now.log_likelihood - then.log_likelihood
    assert gained == pytest.approx(len(rows) * before.certificate_.gain, rel=1e-6)
    assert gained == pytest.approx(now.expected - then.expected + now.divergence, rel=1e-6)
    assert now.expected > then.expected
    assert now.divergence > 0
