"""Conjugate pairs: laws over the registry, then the examples of the textbooks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from qed.core import InvalidData, InvalidParameter
from qed.distributions import (
    CONJUGATE_PAIRS,
    Beta,
    BetaBernoulli,
    Dirichlet,
    DirichletCategorical,
    Gamma,
    GammaPoisson,
    Gaussian,
    GaussianInverseWishart,
    GaussianMean,
    GaussianProcess,
    InverseWishart,
    MultivariateGaussian,
    MultivariateGaussianMean,
    NormalInverseWishart,
    occam_factor,
)

RNG = np.random.default_rng(0)
CASES = {
    "beta-bernoulli": (BetaBernoulli(), Beta(2, 3), [1.0, 0, 1, 1, 0]),
    "dirichlet-categorical": (DirichletCategorical(), Dirichlet([1.0, 2, 0.5]), [0.0, 2, 2, 1, 2]),
    "gamma-poisson": (GammaPoisson(), Gamma(2, 0.5), [3.0, 0, 4, 2]),
    "gaussian-gaussian": (GaussianMean(1.5), Gaussian(1, 4), [0.3, 2.0, -1.1]),
    "multivariate-gaussian": (
        MultivariateGaussianMean([[1.0, 0.3], [0.3, 2.0]]),
        MultivariateGaussian([0, 1], [[2.0, -0.5], [-0.5, 1.0]]),
        RNG.normal(size=(6, 2)),
    ),
    "gaussian-inverse-wishart": (
        GaussianInverseWishart(),
        NormalInverseWishart([0, 1], 0.7, 3.0, [[2.0, -0.5], [-0.5, 1.0]]),
        RNG.normal(size=(6, 2)),
    ),
}


def flat(law):
    return np.concatenate([np.ravel(getattr(law, name)) for name in law.__dataclass_fields__])


@pytest.mark.covers("BAY-18", "BAY-13")
@pytest.mark.parametrize("name", CONJUGATE_PAIRS)
def test_laws_of_every_pair(name):
    pair, prior, data = CASES[name]
    assert type(pair) is CONJUGATE_PAIRS[name]
    data = np.asarray(data)
    after = pair.posterior(prior, data)
    assert type(after) is type(prior) is pair.prior_type
    assert pair.posterior(prior, data[:0]) is prior
    step, total = prior, 0.0
    for row in data:  # one at a time: posteriors agree, and the evidence is the product of the predictives
        total += float(np.squeeze(pair.predictive(step).log_density(row)))
        step = pair.posterior(step, row[None])
    np.testing.assert_allclose(flat(step), flat(after), rtol=1e-9, atol=1e-12)
    assert pair.log_evidence(prior, data) == pytest.approx(total, rel=1e-9)
    s = np.arange(len(data)) % 3
    repeated = pair.posterior(prior, np.repeat(data, s, axis=0))
    np.testing.assert_allclose(flat(pair.posterior(prior, data, s)), flat(repeated), rtol=1e-9, atol=1e-12)
    assert pair.log_evidence(prior, data, s) == pytest.approx(pair.log_evidence(prior, np.repeat(data, s, axis=0)))
    for wrong in (
        pair.predictive,
        lambda other: pair.posterior(other, data),
        lambda other: pair.log_evidence(other, data),
    ):
        with pytest.raises(InvalidData, match="takes a prior of type"):
            wrong(object())
    with pytest.raises(InvalidParameter, match="array of numbers"):
        pair.posterior(prior, "abc")
    with pytest.raises(InvalidData, match="finite numbers"):
        pair.posterior(prior, np.where(np.arange(data.size).reshape(data.shape) == 1, np.nan, data))
    if pair.data_ndim == 2:
        with pytest.raises(InvalidData, match="2 columns, and the data have 3"):
            pair.posterior(prior, np.zeros((4, 3)))


@pytest.mark.covers("BAY-09", "BAY-11")
def test_grid_posterior_is_the_conjugate_one():
    data = np.array([1.0, 1, 0, 1])
    prior = Beta(2, 3)
    theta = (np.arange(2000) + 0.5) / 2000
    joint = prior.density(theta) * theta**3 * (1 - theta)
    grid = joint / joint.sum()
    assert grid.sum() == pytest.approx(1)
    exact = BetaBernoulli().posterior(prior, data)
    assert (exact.a, exact.b) == (5, 4)
    np.testing.assert_allclose(grid * 2000, exact.density(theta), atol=1e-4)
    assert np.log(joint.mean()) == pytest.approx(BetaBernoulli().log_evidence(prior, data), abs=1e-6)
    assert quad(exact.density, 0, 1)[0] == pytest.approx(1)
    assert prior.density(0.3) == pytest.approx(12 * 0.3 * 0.7**2)  # Gamma(5) / (Gamma(2) Gamma(3)) = 12


@pytest.mark.covers("BAY-10", "BAY-12")
def test_point_estimates():
    law = Beta(2, 5)
    assert law.mode == pytest.approx(0.2)
    assert law.mean == pytest.approx(2 / 7)
    assert BetaBernoulli().predictive(law).density(1) == pytest.approx(law.mean)
    pair = BetaBernoulli()
    assert pair.posterior(Beta(1, 1), [1.0]).mode == 1.0  # maximum likelihood
    assert pair.posterior(Beta(2, 2), [1.0]).mode == pytest.approx(2 / 3)
    data = [1.0, 0, 0, 1, 0]
    assert pair.posterior(Beta(1, 1), data).mode == pytest.approx(np.mean(data))


@pytest.mark.covers("BAY-14")
def test_dirichlet_categorical():
    after = DirichletCategorical().posterior(Dirichlet([1, 2, 3]), [0.0, 0, 2])
    np.testing.assert_allclose(after.concentration, [3, 2, 4])
    np.testing.assert_allclose(after.mean, np.array([3, 2, 4]) / 9)
    two = DirichletCategorical().posterior(Dirichlet([3, 2]), [1.0, 1, 0])
    one = BetaBernoulli().posterior(Beta(2, 3), [1.0, 1, 0])
    np.testing.assert_allclose(two.concentration, [one.b, one.a])
    with pytest.raises(InvalidData, match="knows the categories"):
        DirichletCategorical().posterior(Dirichlet([1, 1]), [2.0])


@pytest.mark.covers("BAY-15", "BAY-39")
def test_gaussian_mean():
    x = np.array([1.0, 3.0, 2.5])
    prior, noise = Gaussian(0, 4), 2.0
    after = GaussianMean(noise).posterior(prior, x)
    assert 1 / after.variance == pytest.approx(1 / 4 + 3 / noise)
    assert after.mean == pytest.approx(after.variance * (0 / 4 + x.sum() / noise))
    sharp, vague = Gaussian(1, 0.1), Gaussian(1, 3.0)  # the same mode, hence the same MAP estimate
    assert sharp.mode == vague.mode
    pair = GaussianMean(noise)
    assert pair.predictive(sharp).variance < pair.predictive(vague).variance


@pytest.mark.covers("BAY-16")
def test_gaussian_inverse_wishart():
    x = RNG.normal(size=(5, 2))
    prior = NormalInverseWishart([1, 2], 3.0, 4.0, np.eye(2))
    after = GaussianInverseWishart().posterior(prior, x)
    mean, step = x.mean(axis=0), x.mean(axis=0) - [1, 2]
    scatter = (x - mean).T @ (x - mean)
    assert (after.strength, after.degrees) == (8.0, 9.0)
    np.testing.assert_allclose(after.scale, np.eye(2) + scatter + (3 * 5 / 8) * np.outer(step, step))
    np.testing.assert_allclose(after.location, (3 * np.array([1, 2]) + 5 * mean) / 8)
    # one column: the variance is inverse-gamma distributed, its inverse gamma
    v, psi = 5.0, 3.0
    at = np.array([0.4, 1.3])
    jacobian = -2 * np.log(at)
    expected = Gamma(v / 2, psi / 2).log_density(1 / at) + jacobian
    np.testing.assert_allclose(InverseWishart(v, [[psi]]).log_density(at[:, None, None]), expected)


@pytest.mark.covers("BAY-17")
def test_gaussian_process():
    def kernel(a, b):
        return np.exp(-0.5 * np.sum((a[:, None] - b[None]) ** 2, axis=-1))

    x, y = RNG.uniform(-2, 2, (7, 1)), RNG.normal(size=7)
    new = np.linspace(-3, 3, 5)[:, None]
    prior = GaussianProcess(kernel)
    after = prior.posterior(x, y, 0.3)
    assert type(after) is type(prior)
    ridge = kernel(new, x) @ np.linalg.solve(kernel(x, x) + 0.3 * np.eye(7), y)  # kernel ridge, penalty sigma^2
    np.testing.assert_allclose(after.mean(new), ridge)
    np.testing.assert_allclose(prior.posterior(x, y, 1e-10).mean(x), y, atol=1e-4)
    far = np.array([[100.0]])
    assert after.covariance(far) == pytest.approx(1.0)
    assert prior.covariance(far) == pytest.approx(1.0)
    assert after.covariance(x).diagonal().max() < 0.3
    two = prior.posterior(x[:3], y[:3], 0.3).posterior(x[3:], y[3:], 0.3)
    np.testing.assert_allclose(two.mean(new), after.mean(new))
    joint = MultivariateGaussian(np.zeros(7), kernel(x, x) + 0.3 * np.eye(7))
    assert after.log_evidence() == pytest.approx(float(joint.log_density(y)))
    with pytest.raises(InvalidData, match="singular"):
        prior.posterior(np.zeros((2, 1)), [1.0, 2.0]).mean(new)


@pytest.mark.covers("BAY-33")
def test_occam_factor():
    # a likelihood that is a box of height h and width 0.2 inside a uniform prior of width 5
    height, width, prior = 3.0, 0.2, 5.0
    evidence, _ = quad(
        lambda t: (height if 1.0 <= t <= 1.0 + width else 0.0) / prior, 0, prior, points=[1.0, 1.0 + width]
    )
    assert height * occam_factor(width, prior) == pytest.approx(evidence, rel=1e-9)
    with pytest.raises(ValueError, match="at most as wide"):
        occam_factor(2.0, 1.0)
