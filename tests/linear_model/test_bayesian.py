"""Bayesian regression: laws of posterior and evidence, identities of MAP estimates, agreement with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as sk
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

import qed
from qed.core import InvalidData, InvalidParameter
from qed.datasets import load_diabetes
from qed.distributions import Gaussian, Laplace, MultivariateGaussian
from qed.linear_model import (
    ARDRegression,
    BayesianLinearRegression,
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    laplace_approximation,
)
from qed.linear_model._laplace import Group, curvature_at_mode

seeds = st.integers(0, 2**32 - 1)


def problem(seed, n=30, p=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + 0.5 * rng.normal(size=n) + 1.0


@pytest.mark.parametrize(("ours", "theirs"), [(BayesianRidge, sk.BayesianRidge), (ARDRegression, sk.ARDRegression)])
def test_agrees_with_sklearn(ours, theirs):
    X, y = load_diabetes(return_X_y=True)
    options = {"compute_score": True, "tol": 1e-9, "max_iter": 3000}
    a, b = ours(**options).fit(X, y), theirs(**options).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-4, atol=1e-3)
    assert a.alpha_ == pytest.approx(b.alpha_, rel=1e-5)
    for mine, other in zip(a.predict(X[:5], return_std=True), b.predict(X[:5], return_std=True), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5)
    if ours is BayesianRidge:
        assert a.scores_[-1] == pytest.approx(b.scores_[-1], rel=1e-9)
        assert len(a.scores_) == a.n_iter_ + 1
    default = ours(compute_score=True).fit(X, y)
    assert np.all(np.diff(default.certificate_.trace) >= 0)
    qed.verify(default, X, y)


def evidence(alpha, beta, X, y):
    """Return the evidence by its definition: the density of the targets."""
    return float(MultivariateGaussian(np.zeros(len(y)), X @ X.T / alpha + np.eye(len(y)) / beta).log_density(y))


@pytest.mark.covers("BAY-31")
@given(seeds)
def test_evidence_in_all_its_forms(seed):
    X, y = problem(seed, n=8, p=3)
    alpha, beta = 0.7, 2.3
    model = BayesianLinearRegression(1 / alpha, noise_variance=1 / beta, fit_intercept=False).fit(X, y)
    direct = evidence(alpha, beta, X, y)
    assert model.log_evidence_ == pytest.approx(direct, rel=1e-9)
    total, step = 0.0, None
    for row, target in zip(X, y, strict=True):  # the product of sequential predictives
        if step is None:
            mean, variance = 0.0, row @ row / alpha + 1 / beta
            step = BayesianLinearRegression(1 / alpha, noise_variance=1 / beta, fit_intercept=False)
        else:
            means, deviations = step.predict(row[None], return_std=True)
            mean, variance = means[0], deviations[0] ** 2
        total += float(Gaussian(mean, variance).log_density(target))
        step.partial_fit(row[None], [target])
    assert total == pytest.approx(direct, rel=1e-9)
    assert step.log_evidence_ == pytest.approx(direct, rel=1e-9)


@pytest.mark.covers("BAY-23", "BAY-29", "BAY-31")
def test_smallest_example():
    model = BayesianLinearRegression(fit_intercept=False).fit([[1.0]], [2.0])
    assert (model.coef_[0], model.covariance_[0, 0]) == pytest.approx((1.0, 0.5))
    assert model.predict([[1.0]], return_std=True)[1][0] ** 2 == pytest.approx(1.5)
    assert model.log_evidence_ == pytest.approx(-0.5 * np.log(4 * np.pi) - 1)


@pytest.mark.covers("BAY-22")
def test_any_gaussian_prior():
    X, y = problem(1)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    m0, S0, beta = rng.normal(size=5), A @ A.T + np.eye(5), 3.0
    model = BayesianLinearRegression(S0, prior_mean=m0, noise_variance=1 / beta).fit(X, y)
    F = np.column_stack([X, np.ones(len(X))])
    S = np.linalg.inv(np.linalg.inv(S0) + beta * F.T @ F)
    m = S @ (np.linalg.solve(S0, m0) + beta * F.T @ y)
    w = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(w, m, rtol=1e-9)
    np.testing.assert_allclose(model.covariance_, S, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(beta * F.T @ (y - F @ w), np.linalg.solve(S0, w - m0), atol=1e-8)  # stationarity
    np.testing.assert_allclose(model.posterior().mean, w)
    qed.verify(model, X, y)


@pytest.mark.covers("BAY-28")
@given(seeds)
def test_sequential_equals_batch(seed):
    X, y = problem(seed, n=9)
    whole = BayesianLinearRegression(0.5, noise_variance=0.3).fit(X, y)
    parts = BayesianLinearRegression(0.5, noise_variance=0.3)
    for i in range(len(X)):
        parts.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(parts.covariance_, whole.covariance_, rtol=1e-7, atol=1e-12)
    nothing = BayesianLinearRegression(0.5, noise_variance=0.3).fit(np.zeros((1, 2)), [0.0], sample_weight=[1e-12])
    np.testing.assert_allclose(nothing.covariance_[:2, :2], 0.5 * np.eye(2))  # no data: the prior comes back
    np.testing.assert_allclose(nothing.coef_, 0)


@pytest.mark.covers("BAY-29", "BAY-30")
def test_predictive_variance():
    X, y = problem(3, n=40)
    new = np.random.default_rng(5).normal(size=(6, 4))
    beta = 4.0
    last = np.inf
    for n in (5, 10, 20, 40):
        model = BayesianLinearRegression(noise_variance=1 / beta, fit_intercept=False).fit(X[:n], y[:n])
        variance = model.predict(new, return_std=True)[1] ** 2
        assert np.all(variance >= 1 / beta)
        assert np.all(variance <= last + 1e-12)  # more data never widen it
        last = variance
        plug_in = 1 / beta  # around the most likely coefficients, which are taken for certain
        np.testing.assert_allclose(variance - plug_in, np.einsum("ij,jk,ik->i", new, model.covariance_, new), rtol=1e-9)
    X4, y4 = X[:4], y[:4]
    exact = LinearRegression(fit_intercept=False).fit(X4, y4)
    assert exact.squared_residuals_ / 4 == pytest.approx(
        0, abs=1e-20
    )  # as many rows as coefficients: certain, and wrong


@pytest.mark.covers("BAY-20", "BAY-21")
def test_noise_precision():
    X, y = problem(4)
    model = LinearRegression().fit(X, y)
    residual = y - model.predict(X)
    n = len(y)

    def log_likelihood(beta):
        return -n / 2 * np.log(2 * np.pi) + n / 2 * np.log(beta) - beta / 2 * residual @ residual

    beta = n / model.squared_residuals_
    assert 1 / beta == pytest.approx(np.mean(residual**2))
    assert Gaussian(0, 1 / beta).log_likelihood(residual) == pytest.approx(log_likelihood(beta))
    assert Gaussian.fit(residual).variance == pytest.approx(1 / beta)
    h = 1e-6 * beta
    assert (log_likelihood(beta + h) - log_likelihood(beta - h)) / (2 * h) == pytest.approx(0, abs=1e-6)


@pytest.mark.covers("BAY-32")
@pytest.mark.parametrize("method", ["fixed-point", "em"])
def test_maximum_of_the_evidence(method):
    X, y = problem(6, n=25)
    y = y - y.mean()
    X = X - X.mean(axis=0)
    flat = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0}
    model = BayesianRidge(fit_intercept=False, tol=1e-12, max_iter=10_000, method=method, **flat).fit(X, y)
    best = evidence(model.lambda_, model.alpha_, X, y)
    assert model.certificate_.objective * len(y) == pytest.approx(best, rel=1e-9)
    grid = [
        evidence(model.lambda_ * a, model.alpha_ * b, X, y)
        for a in (0.8, 0.99, 1.01, 1.3)
        for b in (0.8, 0.99, 1.01, 1.3)
    ]
    assert best >= max(grid)
    total = model.lambda_ * (model.coef_ @ model.coef_ + np.trace(model.sigma_))
    assert total == pytest.approx(X.shape[1], rel=1e-4)


@pytest.mark.covers("BAY-33")
def test_occam_factor_of_regression():
    X, y = problem(7)
    model = BayesianLinearRegression(2.0, noise_variance=0.25, fit_intercept=False).fit(X, y)
    at_mean = Gaussian(0, 0.25).log_likelihood(y - X @ model.coef_)
    prior = MultivariateGaussian(np.zeros(4), 2.0 * np.eye(4)).log_density(model.coef_)
    width = 0.5 * (4 * np.log(2 * np.pi) + np.linalg.slogdet(model.covariance_)[1])
    assert model.log_occam_factor_ == pytest.approx(float(prior + width))
    assert model.log_evidence_ == pytest.approx(at_mean + model.log_occam_factor_)
    # a column of noise fits a little better, and costs more than it gains
    more = BayesianLinearRegression(2.0, noise_variance=0.25, fit_intercept=False).fit(
        np.column_stack([X, np.random.default_rng(1).normal(size=len(X))]), y
    )
    assert more.log_occam_factor_ < model.log_occam_factor_


@pytest.mark.covers("BAY-24")
@given(seeds)
def test_ridge_is_map(seed):
    X, y = problem(seed)
    noise, prior = 0.3, 1.7
    model = BayesianLinearRegression(prior, noise_variance=noise, fit_intercept=False).fit(X, y)
    ridge = Ridge(alpha=noise / prior, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.posterior().mode, model.coef_)


@pytest.mark.covers("BAY-25", "BAY-26")
def test_lasso_is_the_mode_of_a_laplace_prior():
    X, y = problem(9, n=12, p=1)
    y = y - 1.0
    noise, scale = 0.8, 0.25
    strength = 2 * noise / scale  # of the sum of squares; scikit-learn's objective is divided by 2n
    model = Lasso(alpha=strength / (2 * len(y)), fit_intercept=False, tol=1e-10).fit(X, y)
    grid = np.linspace(-3, 3, 60_001)
    log_posterior = Laplace(0, scale).log_density(grid) - 0.5 * np.sum((y[:, None] - X * grid) ** 2, axis=0) / noise
    assert model.coef_[0] == pytest.approx(grid[np.argmax(log_posterior)], abs=2e-4)
    ridge = Ridge(alpha=noise / 0.5, fit_intercept=False).fit(X, y)
    log_posterior = Gaussian(0, 0.5).log_density(grid) - 0.5 * np.sum((y[:, None] - X * grid) ** 2, axis=0) / noise
    assert ridge.coef_[0] == pytest.approx(grid[np.argmax(log_posterior)], abs=2e-4)


@pytest.mark.covers("BAY-26")
@pytest.mark.parametrize(
    ("model", "log_likelihood", "log_prior"),
    [
        pytest.param(
            lambda n: ElasticNet(0.3, l1_ratio=0.4, fit_intercept=False, tol=1e-12),
            lambda r, n: -(r**2) / (2 * n),
            lambda w: -0.3 * (0.4 * np.abs(w) + 0.3 * w**2),
            id="elastic net: Gaussian noise, product of a Gaussian and a Laplace prior",
        ),
        pytest.param(
            lambda n: HuberRegressor(epsilon=1.35, alpha=0.0, fit_intercept=False, tol=1e-12),
            None,
            None,
            id="Huber: the joint density of residuals and their scale",
        ),
        pytest.param(
            lambda n: QuantileRegressor(quantile=0.3, alpha=0.05, fit_intercept=False),
            lambda r, n: -np.where(r > 0, 0.3 * r, -0.7 * r) / n,  # an asymmetric Laplace density
            lambda w: -0.05 * np.abs(w),
            id="quantiles: asymmetric Laplace noise, Laplace prior",
        ),
        pytest.param(
            lambda n: Ridge(2.5, fit_intercept=False),
            lambda r, n: -(r**2),
            lambda w: -2.5 * w**2,
            id="ridge: Gaussian noise and prior",
        ),
    ],
)
def test_penalised_risk_is_a_posterior(model, log_likelihood, log_prior):
    """The optimum of loss and penalty is the mode of likelihood times prior on a grid of two coefficients."""
    rng = np.random.default_rng(21)
    X = rng.normal(size=(15, 2))
    y = X @ [0.8, -0.3] + rng.laplace(size=15)
    fitted = model(len(y)).fit(X, y)
    found = np.ravel(fitted.coef_)
    step = 2e-3
    a, b = np.meshgrid(*(np.arange(centre - 0.4, centre + 0.4 + step / 2, step) for centre in found), indexing="ij")
    r = y[:, None, None] - X[:, 0, None, None] * a - X[:, 1, None, None] * b
    if log_likelihood is None:  # residuals in units of the fitted scale: sum of sigma + H(r / sigma) sigma
        z = np.abs(r) / fitted.scale_
        logs = -np.where(z <= 1.35, z**2, 2 * 1.35 * z - 1.35**2).sum(axis=0)
    else:
        logs = log_likelihood(r, len(y)).sum(axis=0) + log_prior(a) + log_prior(b)
    posterior = np.exp(logs - logs.max())
    posterior /= posterior.sum()
    top = np.unravel_index(posterior.argmax(), posterior.shape)
    np.testing.assert_allclose([a[top], b[top]], found, atol=1.01 * step)


@pytest.mark.covers("BAY-27")
def test_regularised_logistic_is_map():
    X, y = problem(10, n=20, p=1)
    label = np.where(y > np.median(y), 1, -1)
    grid = np.linspace(-6, 6, 120_001)
    losses = np.sum(np.logaddexp(0, -label[:, None] * X * grid), axis=0)
    for strength in (0.5, 3.0):
        model = LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-10).fit(X, label)
        posterior = -losses + Gaussian(0, 1 / strength).log_density(grid)  # (strength / 2) w^2: variance 1 / strength
        assert model.coef_[0, 0] == pytest.approx(grid[np.argmax(posterior)], abs=3e-4)
        doubled = -losses + Gaussian(0, 1 / (2 * strength)).log_density(grid)  # strength w^2
        twice = LogisticRegression(C=1 / (2 * strength), fit_intercept=False, tol=1e-10).fit(X, label)
        assert twice.coef_[0, 0] == pytest.approx(grid[np.argmax(doubled)], abs=3e-4)
        sparse = LogisticRegression(C=1 / strength, l1_ratio=1.0, fit_intercept=False, tol=1e-10).fit(X, label)
        posterior = -losses + Laplace(0, 1 / strength).log_density(grid)
        assert sparse.coef_[0, 0] == pytest.approx(grid[np.argmax(posterior)], abs=3e-4)


def test_laplace_approximation():
    X, y = problem(11, n=60, p=1)
    label = (y > 1).astype(int)
    model = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(X, label)
    found = laplace_approximation(model, X, label)
    grid = np.linspace(-8, 12, 40_001)
    sign = 2 * label - 1
    logs = Gaussian(0, 2.0).log_density(grid) - np.sum(np.logaddexp(0, -sign[:, None] * X * grid), axis=0)
    density = np.exp(logs - logs.max())
    step = grid[1] - grid[0]
    evidence = np.log(density.sum() * step) + logs.max()
    assert found.log_evidence == pytest.approx(evidence, abs=0.05)
    density /= density.sum()
    spread = density @ grid**2 - (density @ grid) ** 2
    assert found.posterior.covariance[0, 0] == pytest.approx(spread, rel=0.2)
    new = np.array([[0.2], [3.0]])
    exact = (density / (1 + np.exp(-new * grid))).sum(axis=1)
    np.testing.assert_allclose(found.predict_proba(new)[:, 1], exact, atol=0.02)
    plain = model.predict_proba(new)[:, 1]
    assert np.all(np.abs(found.predict_proba(new)[:, 1] - 0.5) < np.abs(plain - 0.5))  # MAP alone is too sure
    with_intercept = laplace_approximation(LogisticRegression().fit(X, label), X, label)
    assert with_intercept.log_evidence == -np.inf
    with pytest.raises(InvalidData, match="fitted"):
        laplace_approximation(LogisticRegression(), X, label)
    with pytest.raises(ValueError, match="l2 penalty"):
        laplace_approximation(LogisticRegression(l1_ratio=1.0).fit(X, label), X, label)


@given(seeds)
def test_laplace_approximation_is_mode_and_curvature(seed):
    """Against its definition: the gradient of the log-posterior vanishes at the mean, and differences of it give the precision."""
    X, y = problem(seed, n=30, p=3)
    label, s = (y > np.median(y)).astype(int), np.random.default_rng(seed).integers(0, 4, 30).astype(float)
    s[:2] = 1
    found = laplace_approximation(
        LogisticRegression(C=0.7, fit_intercept=False, tol=1e-12).fit(X, label, s), X, label, s
    )
    sign = 2 * label - 1

    def gradient(w):
        return X.T @ (s * sign / (1 + np.exp(sign * (X @ w)))) - w / 0.7

    w, h = found.posterior.mean, 1e-5
    np.testing.assert_allclose(gradient(w), 0, atol=1e-5)
    curve = np.stack([(gradient(w - h * e) - gradient(w + h * e)) / (2 * h) for e in np.eye(3)])
    np.testing.assert_allclose(np.linalg.inv(found.posterior.covariance), curve, rtol=1e-5, atol=1e-6)
    joint = -s @ np.logaddexp(0, -sign * (X @ w)) + MultivariateGaussian(np.zeros(3), 0.7 * np.eye(3)).log_density(w)
    width = 0.5 * (3 * np.log(2 * np.pi) - np.linalg.slogdet(curve)[1])
    assert found.log_evidence == pytest.approx(float(joint + width), rel=1e-6)


def three_classes(seed, n=60, p=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    scores = X @ rng.normal(size=(p, 3)) + rng.gumbel(size=(n, 3))
    return X, np.array(["a", "b", "c"])[np.argmax(scores, axis=1)], rng.integers(1, 4, n).astype(float)


@given(seeds)
def test_laplace_approximation_of_three_classes_is_mode_and_curvature(seed):
    X, label, s = three_classes(seed)
    label[:3] = ["a", "b", "c"]
    observed = (label[:, None] == np.array(["a", "b", "c"])).astype(float)
    model = LogisticRegression(C=0.7, fit_intercept=False, tol=1e-12).fit(X, label, s)
    found = laplace_approximation(model, X, label, s)

    def log_joint(w):
        scores = X @ w.reshape(3, 2).T
        likelihood = s @ np.sum(observed * log_softmax(scores, axis=1), axis=1)
        return likelihood + MultivariateGaussian(np.zeros(6), 0.7 * np.eye(6)).log_density(w)

    def gradient(w):
        return ((s[:, None] * (observed - softmax(X @ w.reshape(3, 2).T, axis=1))).T @ X).ravel() - w / 0.7

    w, h = found.posterior.mean, 1e-5
    np.testing.assert_array_equal(w, model.coef_.ravel())
    np.testing.assert_allclose(gradient(w), 0, atol=1e-4)
    curve = np.stack([(gradient(w - h * e) - gradient(w + h * e)) / (2 * h) for e in np.eye(6)])
    np.testing.assert_allclose(np.linalg.inv(found.posterior.covariance), curve, rtol=1e-5, atol=1e-5)
    width = 0.5 * (6 * np.log(2 * np.pi) - np.linalg.slogdet(curve)[1])
    assert found.log_evidence == pytest.approx(float(log_joint(w) + width), rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_probabilities_of_three_classes_integrate_coefficients_out(intercept):
    X, label, s = three_classes(5, n=40)
    X = X + 0.7
    model = LogisticRegression(C=3.0, fit_intercept=intercept, tol=1e-10).fit(X, label, s)
    found = laplace_approximation(model, X, label, s)
    assert np.isfinite(found.log_evidence) == (not intercept)
    new = np.random.default_rng(6).normal(size=(20, 2)) * 3
    drawn = np.random.default_rng(7).multivariate_normal(found.posterior.mean, found.posterior.covariance, 20_000)
    scores = new @ np.swapaxes(drawn[:, :6].reshape(-1, 3, 2), 1, 2)
    if intercept:  # relative to the first class
        scores = scores + np.column_stack([np.zeros(len(drawn)), drawn[:, 6:]])[:, None]
        np.testing.assert_allclose(found.posterior.mean[6:], model.intercept_[1:] - model.intercept_[0], atol=1e-9)
    exact = softmax(scores, axis=2).mean(axis=0)
    mine = found.predict_proba(new)
    np.testing.assert_allclose(mine.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(mine, exact, atol=0.03)
    plain = model.predict_proba(new)
    assert np.abs(plain - exact).max() > 2 * np.abs(mine - exact).max()  # the mode alone is too sure
    assert np.all(mine.max(axis=1) < plain.max(axis=1))


@given(seeds)
def test_two_classes_with_coefficients_of_their_own_are_the_two_class_form(seed):
    """A softmax of two classes, prior variance C each, is a logistic model of their difference with prior variance 2 C."""
    X, y = problem(seed, n=30, p=3)
    label = (y > np.median(y)).astype(int)
    model = LogisticRegression(C=1.4, fit_intercept=False, tol=1e-12).fit(X, label)
    found = laplace_approximation(model, X, label)
    w = model.coef_[0]
    groups = [Group(0, X, slice(0, 3)), Group(1, X, slice(3, 6))]
    posterior, evidence = curvature_at_mode(
        np.concatenate([-w / 2, w / 2]), np.full(6, 1 / 0.7), groups, label[:, None] == [0, 1], np.ones(30)
    )
    assert evidence == pytest.approx(found.log_evidence, rel=1e-9)
    apart = np.hstack([-np.eye(3), np.eye(3)])
    np.testing.assert_allclose(
        apart @ posterior.covariance @ apart.T, found.posterior.covariance, rtol=1e-9, atol=1e-12
    )


def test_laplace_approximation_is_kind():
    X, y = problem(11, n=60, p=2)
    label = (y > 1).astype(int)
    model = LogisticRegression().fit(X, label)
    for wrong, match in (
        (lambda: laplace_approximation(model, X[:, :1], label), "2 columns"),
        (lambda: laplace_approximation(model, X, label[:-1]), "one of the labels"),
        (lambda: laplace_approximation(model, X, label + 5), "one of the labels"),
        (lambda: laplace_approximation(model, X, label, -np.ones(60)), "Negative values"),
        (lambda: laplace_approximation(model, X, 1 - label), "not at the mode"),
        (lambda: laplace_approximation(model, 50 * X, label), "not at the mode"),
        (lambda: laplace_approximation(Ridge().fit(X, y), X, label), "LogisticRegression"),
        (
            lambda: laplace_approximation(LogisticRegression(class_weight="balanced").fit(X, label), X, label),
            "class_weight",
        ),
        (lambda: laplace_approximation(model, X, label).predict_proba(X[:, :1]), "2 columns"),
    ):
        with pytest.raises((InvalidData, InvalidParameter), match=match):
            wrong()
    far = laplace_approximation(model, X, label).predict_proba([[1e6, 1e6], [-1e6, -1e6]])
    assert np.isfinite(far).all()
    np.testing.assert_allclose(far.sum(axis=1), 1)


@pytest.mark.covers("BAY-39")
def test_map_loses_uncertainty():
    X, y = problem(12)
    few = BayesianLinearRegression(1.0, noise_variance=0.25, fit_intercept=False).fit(X, y)
    many = BayesianLinearRegression(0.1, noise_variance=0.025, fit_intercept=False).fit(
        X, y
    )  # the same ratio: the same mode
    np.testing.assert_allclose(few.coef_, many.coef_, rtol=1e-9)
    np.testing.assert_allclose(few.predict(X), many.predict(X))
    assert np.all(few.predict(X, return_std=True)[1] > many.predict(X, return_std=True)[1])


@given(seeds)
def test_learnt_noise(seed):
    """A t distribution by its definition: the mean over noise precisions of the evidence at each."""
    X, y = problem(seed, n=6, p=2)
    model = BayesianLinearRegression(
        1.5, noise_variance=None, noise_shape=2.0, noise_rate=1.0, fit_intercept=False
    ).fit(X, y)
    t = np.exp(np.linspace(-8, 6, 4001))
    prior = t**1.0 * np.exp(-t)  # gamma of shape 2 and rate 1
    K = 1.5 * X @ X.T + np.eye(6)
    logs = 3 * np.log(t / (2 * np.pi)) - 0.5 * np.linalg.slogdet(K)[1] - 0.5 * t * (y @ np.linalg.solve(K, y))
    total = np.trapezoid(prior * np.exp(logs), t)
    assert model.log_evidence_ == pytest.approx(np.log(total), rel=1e-4, abs=1e-4)
    assert model.posterior().degrees == pytest.approx(2 * 2 + 6)
    qed.verify(model, X, y)


@pytest.mark.parametrize("kind", [BayesianRidge, ARDRegression])
def test_unusual_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    for y in (np.full(20, 3.0), X[:, 0], 1e8 + X[:, 0]):
        model = kind().fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-3)
        qed.verify(model, X, y)
    X[:, 1] = 5.0
    qed.verify(kind().fit(X[:2], X[:2, 0]), X[:2], X[:2, 0])
    s = rng.integers(0, 4, 20)
    y = X[:, 0] + rng.normal(size=20)
    a, b = kind().fit(X, y, s), kind().fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6, atol=1e-9)
    with pytest.raises(InvalidData, match="without limit"):
        BayesianRidge(alpha_2=0, lambda_2=0, lambda_1=0).fit(np.zeros((5, 2)), np.zeros(5))


def test_pruning_is_final():
    X, y = problem(13, n=100, p=6)
    y = y + 20 * X[:, 0]
    model = ARDRegression(threshold_lambda=0.5).fit(X, y)
    dropped = model.lambda_ >= 0.5
    assert dropped.any()
    assert not model.coef_[dropped].any()
    assert model.sigma_.shape == ((~dropped).sum(),) * 2
    assert model.predict(X, return_std=True)[1].shape == (100,)
    qed.verify(model, X, y)
    none = ARDRegression(threshold_lambda=1e-9).fit(X, y)
    assert not none.coef_.any()
    assert none.predict(X[:2]) == pytest.approx(y.mean())
    qed.verify(none, X, y)
