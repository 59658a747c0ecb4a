"""Covariances: agreement with scikit-learn and with their definitions, gaps that hold, rows that are unusual."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.covariance as sk
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.precision import precision_descent

import qed
from qed import covariance as q
from qed.core import CertificateError, InvalidData
from qed.covariance._kernels import newton_direction
from qed.datasets import load_iris
from qed.distributions import MultivariateGaussian

seeds = st.integers(0, 2**32 - 1)
CLOSED = ["EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS"]


def rows(seed, n=60, p=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_agree(name, centered):
    X = rows(0)
    ours, theirs = (getattr(m, name)(assume_centered=centered).fit(X) for m in (q, sk))
    for attribute in ("location_", "covariance_", "precision_", "shrinkage_"):
        if hasattr(theirs, attribute):
            np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-8, atol=1e-12)
    new = rows(1)
    assert ours.score(new) == pytest.approx(theirs.score(new))
    np.testing.assert_allclose(ours.mahalanobis(new), theirs.mahalanobis(new))
    for norm in ("frobenius", "spectral"):
        assert ours.error_norm(np.eye(4), norm) == pytest.approx(theirs.error_norm(np.eye(4), norm))
        assert ours.error_norm(np.eye(4), norm, False, False) == pytest.approx(
            theirs.error_norm(np.eye(4), norm, False, False)
        )
    qed.verify(ours, X)


def test_functions_agree():
    X = rows(2)
    S = np.cov(X.T, bias=True)
    np.testing.assert_allclose(q.empirical_covariance(X), S)
    np.testing.assert_allclose(q.shrunk_covariance(S, 0.3), sk.shrunk_covariance(S, 0.3))
    for name in ("ledoit_wolf", "oas"):
        for mine, other in zip(getattr(q, name)(X), getattr(sk, name)(X), strict=True):
            np.testing.assert_allclose(mine, other)
    assert q.ledoit_wolf_shrinkage(X) == pytest.approx(sk.ledoit_wolf_shrinkage(X))
    T = np.linalg.inv(S)
    assert q.log_likelihood(S, T) == pytest.approx(sk.log_likelihood(S, T))
    best = MultivariateGaussian.fit(X)
    assert q.log_likelihood(S, T) == pytest.approx(best.log_likelihood(X) / len(X))


@given(seeds)
def test_weights_repeat_rows(seed):
    X = rows(seed, n=20, p=3)
    s = np.random.default_rng(seed).integers(0, 4, 20)
    s[0] = 2
    for name in CLOSED:
        a = getattr(q, name)().fit(X, sample_weight=s)
        b = getattr(q, name)().fit(np.repeat(X, s, axis=0))
        np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-9, atol=1e-12)
        qed.verify(a, X, sample_weight=s)


@pytest.mark.parametrize("shape", [(1, 3), (3, 5), (10, 1)])
def test_singular_covariances(shape):
    X = rows(3, *shape)
    for name in CLOSED:
        ours = getattr(q, name)().fit(X)
        qed.verify(ours, X)
    np.testing.assert_allclose(
        q.EmpiricalCovariance().fit(X).precision_,
        np.linalg.pinv(np.cov(X.T, bias=True).reshape(shape[1], -1), rcond=1e-12),
        atol=1e-6,
    )


@pytest.mark.filterwarnings("ignore")
@given(seeds)
def test_direction_is_that_of_its_definition(seed):
    S = np.cov(rows(seed, p=5).T, bias=True)
    T = q.GraphicalLasso(0.1, max_iter=3, tol=1e-12).fit(rows(seed + 1, p=5)).precision_
    W = np.linalg.inv(T)
    for sweeps in (1, 4):
        np.testing.assert_allclose(
            newton_direction(S, T, W, 0.1, sweeps),
            precision_descent(S, T, W, 0.1, sweeps),
            rtol=1e-7,
            atol=1e-9 * np.abs(T).max(),
        )


def objective(S, T, alpha):
    return np.sum(S * T) - np.linalg.slogdet(T)[1] + alpha * (np.abs(T).sum() - np.abs(np.diag(T)).sum())


@pytest.mark.filterwarnings("ignore")
@given(seeds, st.sampled_from([0.02, 0.1, 0.5]))
def test_gap_bounds_the_truth(seed, alpha):
    X = rows(seed, n=40, p=5)
    X = X / X.std(axis=0)
    S = np.cov(X.T, bias=True)
    best = q.GraphicalLasso(alpha, tol=1e-9, max_iter=500).fit(X)
    low = objective(S, best.precision_, alpha)
    for steps in (0, 1, 3):
        early = q.GraphicalLasso(alpha, tol=1e-9, max_iter=steps).fit(X)
        assert objective(S, early.precision_, alpha) - low <= early.certificate_.gap + 1e-9
        qed.verify(early, X)
    assert best.certificate_.gap <= 1e-8
    # the optimality conditions themselves
    G = S - np.linalg.inv(best.precision_)
    off = ~np.eye(5, dtype=bool)
    zero = (best.precision_ == 0) & off
    assert np.all(np.abs(G[zero]) <= alpha + 1e-3)
    there = (best.precision_ != 0) & off
    np.testing.assert_allclose(G[there], -alpha * np.sign(best.precision_[there]), atol=1e-3)


@pytest.mark.filterwarnings("ignore")  # scikit-learn's, which does not converge at every strength
def test_graphical_lasso_agrees_with_sklearn():
    X, _ = load_iris(return_X_y=True)
    X = X / X.std(axis=0)
    ours, theirs = (m.GraphicalLasso(0.1, tol=1e-6).fit(X) for m in (q, sk))
    np.testing.assert_allclose(ours.precision_, theirs.precision_, atol=1e-2)  # theirs stopped before its tolerance
    S = np.cov(X.T, bias=True)
    assert objective(S, ours.precision_, 0.1) <= objective(S, theirs.precision_, 0.1) + 1e-6
    given_ = q.GraphicalLasso(0.1, covariance="precomputed", tol=1e-6).fit(S)
    np.testing.assert_allclose(given_.precision_, ours.precision_, atol=1e-6)
    qed.verify(given_, S)
    covariance, precision, costs, steps = q.graphical_lasso(S, 0.1, return_costs=True, return_n_iter=True)
    np.testing.assert_allclose(covariance @ precision, np.eye(4), atol=1e-8)
    assert len(costs) == steps + 1
    diagonal = q.GraphicalLasso(10.0).fit(X)
    np.testing.assert_allclose(diagonal.precision_, np.diag(1 / np.diag(S)))
    plain = q.GraphicalLasso(0.0, tol=1e-10).fit(X)
    np.testing.assert_allclose(plain.precision_, np.linalg.inv(S), rtol=1e-3, atol=1e-3)
    chosen = q.GraphicalLassoCV(cv=4).fit(X)
    qed.verify(chosen, X)
    assert (
        chosen.cv_results_["mean_test_score"].max()
        >= sk.GraphicalLassoCV(cv=4).fit(X).cv_results_["mean_test_score"].max() - 1e-3
    )
    assert q.GraphicalLassoCV(alphas=[0.5, 0.05], cv=3).fit(X).alpha_ == 0.05


def test_a_changed_precision_is_refused():
    X = rows(4) / rows(4).std(axis=0)
    model = q.GraphicalLasso(0.1).fit(X)
    model.precision_ = model.precision_ * 1.05
    model.covariance_ = np.linalg.inv(model.precision_)
    with pytest.raises(CertificateError):
        qed.verify(model, X)


def test_bad_covariances():
    with pytest.raises(InvalidData, match="constant"):
        q.GraphicalLasso().fit(np.column_stack([np.arange(5.0), np.ones(5)]))
    with pytest.raises(InvalidData, match="ill-conditioned"):
        q.GraphicalLasso(0.0).fit(rows(5, n=3, p=5))
    with pytest.raises(InvalidData, match="symmetric"):
        q.GraphicalLasso(covariance="precomputed").fit([[1.0, 0.5], [0.1, 1.0]])
    with pytest.raises(InvalidData, match="leaves none"):
        q.MinCovDet(support_fraction=0.01).fit(rows(5, n=20))
    with pytest.raises(InvalidData, match="maximum likelihood"):
        q.fast_mcd(rows(5), cov_computation_method=np.cov)


@pytest.mark.parametrize("n", [80, 900])
def test_outliers_do_not_enter(n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3)) @ np.diag([1.0, 2.0, 0.5])
    out = n // 5
    X[:out] += 40
    model = q.MinCovDet(random_state=0).fit(X)
    assert not model.support_[:out].any()
    clean = np.cov(X[out:].T, bias=True)
    np.testing.assert_allclose(model.covariance_, clean, atol=0.35 * np.abs(clean).max())
    theirs = sk.MinCovDet(random_state=0).fit(X)
    ours_raw, their_raw = (np.linalg.slogdet(m.raw_covariance_)[1] for m in (model, theirs))
    assert ours_raw <= their_raw + 0.05  # as deep a minimum
    qed.verify(model, X)
    location, _, support, _ = q.fast_mcd(X, random_state=0)
    np.testing.assert_allclose(location, model.raw_location_)
    assert support.sum() == model.raw_support_.sum() == int(np.ceil(0.5 * (n + 4)))
    envelope = q.EllipticEnvelope(contamination=0.2, random_state=0).fit(X)
    assert np.all(envelope.predict(X)[:out] == -1)
    assert (envelope.predict(X) == -1).mean() == pytest.approx(0.2, abs=0.02)
    assert envelope.score(X, np.where(np.arange(n) < out, -1, 1)) > 0.98
    np.testing.assert_allclose(envelope.decision_function(X), envelope.score_samples(X) - envelope.offset_)
    qed.verify(envelope, X)
    envelope.offset_ *= 1.2
    with pytest.raises(CertificateError):
        qed.verify(envelope, X)
