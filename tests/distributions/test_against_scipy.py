"""Densities, moments, entropies, divergences, draws and fits against SciPy, quadrature and sums: exact where the others are not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from qed.distributions import (
    Bernoulli,
    Beta,
    BetaBernoulli,
    Categorical,
    Dirichlet,
    DirichletCategorical,
    Gamma,
    GammaPoisson,
    Gaussian,
    GaussianInverseWishart,
    GaussianMean,
    InverseWishart,
    Laplace,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    NormalInverseWishart,
    Poisson,
    StudentT,
    kl_divergence,
)

CONTINUOUS = {
    "gaussian": (Gaussian(-1.3, 0.49), stats.norm(-1.3, 0.7)),
    "laplace": (Laplace(2.0, 0.3), stats.laplace(2.0, 0.3)),
    "beta": (Beta(2.5, 0.8), stats.beta(2.5, 0.8)),
    "beta of coins": (Beta(0.5, 0.5), stats.beta(0.5, 0.5)),
    "gamma": (Gamma(0.7, 3.0), stats.gamma(0.7, scale=1 / 3.0)),
    "wide gamma": (Gamma(40.0, 1e-3), stats.gamma(40.0, scale=1e3)),
}
COUNTS = {
    "bernoulli": (Bernoulli(0.23), stats.bernoulli(0.23), 2),
    "poisson": (Poisson(7.4), stats.poisson(7.4), 80),
    "poisson of zero": (Poisson(0.0), stats.poisson(0.0), 5),
    "negative binomial": (NegativeBinomial(2.3, 0.6), stats.nbinom(2.3, 0.6 / 1.6), 200),
}
S = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.5]])
N = 20_000
SEVEN = 7  # standard deviations


@pytest.mark.parametrize("name", CONTINUOUS)
def test_scalar_densities(name):
    ours, theirs = CONTINUOUS[name]
    x = theirs.ppf(np.linspace(1e-9, 1 - 1e-9, 501))
    np.testing.assert_allclose(ours.log_density(x), theirs.logpdf(x), rtol=1e-10, atol=1e-10)
    assert ours.mean == pytest.approx(theirs.mean(), rel=1e-12)
    assert ours.variance == pytest.approx(theirs.var(), rel=1e-12)
    assert ours.entropy() == pytest.approx(float(theirs.entropy()), rel=1e-9, abs=1e-12)
    outside = [theirs.support()[0] - 1.0, theirs.support()[1] + 1.0]
    for at in outside:
        if np.isfinite(at):
            assert ours.log_density(at) == -np.inf
    for at in (-np.inf, np.inf):
        assert ours.density(at) == 0
    grid = theirs.ppf(np.linspace(1e-4, 1 - 1e-4, 4001))
    if name != "beta of coins" and not (name == "gamma" and ours.shape < 1) and ours.mean and name != "beta":
        top = grid[np.argmax(theirs.pdf(grid))]
        assert ours.mode == pytest.approx(top, abs=np.diff(grid).max() + 1e-12)
    # draws: the largest distance of distribution functions exceeds 7 / sqrt(n) once in 1e42
    assert stats.ks_1samp(ours.sample(N, random_state=1), theirs.cdf).statistic < SEVEN / (2 * np.sqrt(N))


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    ours, theirs, most = COUNTS[name]
    k = np.arange(most)
    np.testing.assert_allclose(ours.log_density(k), theirs.logpmf(k), rtol=1e-10, atol=1e-9)
    assert ours.density([-1, 0.5, np.inf, -np.inf]).tolist() == [0, 0, 0, 0]
    p = ours.density(k)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert ours.mean == pytest.approx(p @ k, rel=1e-10, abs=1e-12)
    assert ours.variance == pytest.approx(p @ (k - p @ k) ** 2, rel=1e-8, abs=1e-12)
    if name != "negative binomial":
        assert ours.entropy() == pytest.approx(float(theirs.entropy()), rel=1e-9, abs=1e-12)
        assert p[int(ours.mode)] == p.max()
    x = ours.sample(N, random_state=2)
    seen = np.bincount(x.astype(int), minlength=most)[:most] / N
    assert np.all(np.abs(seen - p) <= SEVEN * np.sqrt(p * (1 - p) / N) + 1e-12 + (p < 10 / N) * 30 / N)


@pytest.mark.parametrize("rate", [1e-3, 0.5, 30.0, 999.0, 1001.0, 20_000.0])
def test_entropy_of_counts_of_any_size(rate):
    k = np.arange(max(0, int(rate - 12 * np.sqrt(rate))), int(rate + 12 * np.sqrt(rate)) + 40)
    logs = stats.poisson(rate).logpmf(k)
    assert Poisson(rate).entropy() == pytest.approx(float(-np.exp(logs) @ logs), rel=1e-9)
    assert Poisson(1e300).entropy() == pytest.approx(0.5 * np.log(2 * np.pi * np.e) + 150 * np.log(10))


def test_categories_and_words():
    p = np.array([0.2, 0.5, 0.0, 0.3])
    law = Categorical(p)
    np.testing.assert_array_equal(law.density([0, 1, 2, 3]), p)
    assert law.entropy("bits") == pytest.approx(stats.entropy(p, base=2))
    words = Multinomial(5, p)
    every = np.array([c for c in itertools.product(range(6), repeat=4) if sum(c) == 5], dtype=float)
    q = words.density(every)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(q, stats.multinomial(5, p).pmf(every), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(words.mean, q @ every, rtol=1e-12)
    centred = every - words.mean
    np.testing.assert_allclose(words.variance, (q * centred.T) @ centred, atol=1e-12)
    assert words.density([np.inf, 0, 0, 0]) == 0
    np.testing.assert_array_equal(MultivariateGaussian([0, 0, 0], S).density([[np.inf, 0, 0], [0, -np.inf, np.inf]]), 0)
    assert StudentT(3, [0, 0, 0], S).log_density([0, np.inf, 0]) == -np.inf


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_vectors(scale):
    mean, x = np.array([1.0, -2.0, 0.5]) * scale, np.random.default_rng(0).normal(size=(40, 3)) * 3 * scale
    covariance = S * scale**2
    normal = MultivariateGaussian(mean, covariance)
    theirs = stats.multivariate_normal(mean, covariance)
    np.testing.assert_allclose(normal.log_density(x), theirs.logpdf(x), rtol=1e-10)
    assert normal.entropy() == pytest.approx(float(theirs.entropy()), rel=1e-10)
    student = StudentT(4.5, mean, covariance)
    np.testing.assert_allclose(
        student.log_density(x), stats.multivariate_t(mean, covariance, 4.5).logpdf(x), rtol=1e-10
    )
    np.testing.assert_allclose(student.variance, covariance * 4.5 / 2.5)
    white = np.linalg.solve(normal.factor, (normal.sample(N, random_state=3) - mean).T).T
    products = white[:, :, None] * white[:, None, :]
    assert np.all(np.abs(products.mean(axis=0) - np.eye(3)) <= SEVEN * products.std(axis=0) / np.sqrt(N))
    assert stats.ks_1samp(normal.mahalanobis(normal.sample(N, random_state=4)), stats.chi2(3).cdf).statistic < (
        SEVEN / (2 * np.sqrt(N))
    )
    # squared distances of a t distribution, over d, are F distributed
    far = MultivariateGaussian(mean, covariance).mahalanobis(student.sample(N, random_state=5)) / 3
    assert stats.ks_1samp(far, stats.f(3, 4.5).cdf).statistic < SEVEN / (2 * np.sqrt(N))


def test_simplices_and_covariances():
    a = np.array([0.7, 2.0, 4.0])
    law, theirs = Dirichlet(a), stats.dirichlet(a)
    x = law.sample(50, random_state=0)
    np.testing.assert_allclose(law.log_density(x), [theirs.logpdf(one) for one in x], rtol=1e-9)
    np.testing.assert_allclose(law.mean, theirs.mean())
    np.testing.assert_allclose(np.diag(law.variance), theirs.var())
    np.testing.assert_allclose(law.variance, theirs.cov())
    assert law.entropy() == pytest.approx(float(theirs.entropy()))
    wide = Dirichlet([2.0, 3.0, 5.0])
    np.testing.assert_allclose(wide.mode, np.array([1.0, 2.0, 4.0]) / 7)
    drawn = law.sample(N, random_state=1)
    for j in range(3):  # every coordinate is Beta distributed
        marginal = stats.beta(a[j], a.sum() - a[j])
        assert stats.ks_1samp(drawn[:, j], marginal.cdf).statistic < SEVEN / (2 * np.sqrt(N))
    inverse, reference = InverseWishart(7.5, S), stats.invwishart(7.5, S)
    draws = inverse.sample(60, random_state=2)
    np.testing.assert_allclose(inverse.log_density(draws), [reference.logpdf(one) for one in draws], rtol=1e-9)
    np.testing.assert_allclose(inverse.mean, reference.mean())
    np.testing.assert_allclose(inverse.mode, reference.mode())
    np.testing.assert_allclose(inverse.variance, reference.var())
    # a diagonal entry is inverse-gamma distributed with (degrees - p + 1) / 2
    first = inverse.sample(N, random_state=3)[:, 0, 0]
    marginal = stats.invgamma((7.5 - 2) / 2, scale=S[0, 0] / 2)
    assert stats.ks_1samp(first, marginal.cdf).statistic < SEVEN / (2 * np.sqrt(N))


def test_joint_of_mean_and_covariance():
    law = NormalInverseWishart([1.0, 2.0, 3.0], 1.7, 6.0, S)
    covariance = InverseWishart(6.0, S).sample(1, random_state=0)[0]
    mean = np.array([0.4, 2.2, 2.9])
    joint = stats.invwishart(6.0, S).logpdf(covariance) + stats.multivariate_normal([1, 2, 3], covariance / 1.7).logpdf(
        mean
    )
    assert law.log_density(mean, covariance) == pytest.approx(float(joint))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (Gaussian(1.0, 2.0), Gaussian(-0.5, 0.7)),
        (Laplace(0.3, 1.0), Laplace(-1.0, 2.5)),
        (Laplace(0.3, 2.5), Laplace(0.3, 1.0)),
        (Beta(2.0, 3.5), Beta(1.5, 1.2)),
        (Gamma(2.0, 1.5), Gamma(3.3, 0.4)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_divergences_by_quadrature(p, q):
    low, high = {"Beta": (0, 1), "Gamma": (0, np.inf)}.get(type(p).__name__, (-np.inf, np.inf))

    def integrand(x):
        return float(p.density(x) * (p.log_density(x) - q.log_density(x)))

    ends = [low, p.mean, high] if np.isfinite(p.mean) else [low, high]
    if type(p).__name__ == "Laplace":
        ends = [-60.0, *sorted({p.location, q.location}), 60.0]
    total = sum(integrate.quad(integrand, a, b, limit=400)[0] for a, b in itertools.pairwise(ends))
    assert p.divergence(q) == pytest.approx(total, rel=1e-6)
    assert kl_divergence(p, q, "bits") == pytest.approx(total / np.log(2), rel=1e-6)


def test_divergences_by_sums():
    p, q = Poisson(3.0), Poisson(4.5)
    k = np.arange(120)
    assert p.divergence(q) == pytest.approx(p.density(k) @ (p.log_density(k) - q.log_density(k)), rel=1e-9)
    a, b = Categorical([0.2, 0.5, 0.3]), Categorical([0.4, 0.4, 0.2])
    assert a.divergence(b) == pytest.approx(stats.entropy([0.2, 0.5, 0.3], [0.4, 0.4, 0.2]))
    assert Bernoulli(0.2).divergence(Bernoulli(0.7)) == pytest.approx(stats.entropy([0.8, 0.2], [0.3, 0.7]))
    assert Poisson(1.0).divergence(Poisson(0.0)) == np.inf
    one, two = MultivariateGaussian([0, 0, 0], S), MultivariateGaussian([1, 0, -1], np.eye(3))
    mean = np.array([1.0, 0, -1])
    assert one.divergence(two) == pytest.approx(0.5 * (np.trace(S) + mean @ mean - 3 - np.linalg.slogdet(S)[1]))
    f, g = Dirichlet([2.0, 3.0]), Dirichlet([1.5, 4.0])
    assert f.divergence(g) == pytest.approx(Beta(2.0, 3.0).divergence(Beta(1.5, 4.0)))


@pytest.mark.parametrize("seed", range(4))
def test_maximum_likelihood_against_scipy(seed):
    rng = np.random.default_rng(seed)
    x = rng.gamma(10.0 ** rng.uniform(-0.5, 2), 1.7, 400)
    found = Gamma.fit(x)
    shape, _, scale = stats.gamma.fit(x, floc=0)
    assert (found.shape, 1 / found.rate) == pytest.approx((shape, scale), rel=1e-4)
    z = rng.beta(10.0 ** rng.uniform(-0.5, 1.5), 2.2, 400)
    z = np.clip(z, 1e-9, 1 - 1e-9)
    ours = Beta.fit(z)
    a, b, _, _ = stats.beta.fit(z, floc=0, fscale=1)
    assert ours.log_likelihood(z) >= stats.beta(a, b).logpdf(z).sum() - 1e-7
    assert (ours.a, ours.b) == pytest.approx((a, b), rel=1e-3)
    place, scale = stats.laplace.fit(x)
    assert (Laplace.fit(x).location, Laplace.fit(x).scale) == pytest.approx((place, scale), rel=1e-9)


@pytest.mark.parametrize("concentration", [[1e-2, 1e-2, 1e-2], [0.3, 5.0, 900.0], [1e4, 2e4, 5e3, 1e4], [1.0, 1.0]])
def test_dirichlet_is_fitted_wherever_it_lies(concentration):
    """At the maximum the expected logarithms are the observed ones, from almost certain to almost equal shares."""
    from scipy.special import digamma  # noqa: PLC0415

    x = np.maximum(np.random.default_rng(1).dirichlet(concentration, 500), 1e-300)
    x /= x.sum(axis=1, keepdims=True)
    found = Dirichlet.fit(x).concentration
    np.testing.assert_allclose(digamma(found) - digamma(found.sum()), np.log(x).mean(axis=0), rtol=1e-8, atol=1e-9)


def test_evidence_by_integration():
    """The marginal likelihood of every pair of one parameter is the integral of likelihood times prior."""
    for pair, prior, data, ends in (
        (BetaBernoulli(), Beta(0.7, 2.0), [1.0, 0, 1, 1], (0, 1)),
        (GammaPoisson(), Gamma(2.0, 0.5), [3.0, 0, 4], (0, np.inf)),
        (GaussianMean(1.5), Gaussian(1.0, 4.0), [0.3, 2.0, -1.1], (-np.inf, np.inf)),
    ):
        likelihood = {
            "BetaBernoulli": lambda t, data=data: np.prod(Bernoulli(t).density(data)),
            "GammaPoisson": lambda t, data=data: np.prod(Poisson(t).density(data)),
            "GaussianMean": lambda t, data=data: np.prod(Gaussian(t, 1.5).density(data)),
        }[type(pair).__name__]
        total, _ = integrate.quad(lambda t, prior=prior, f=likelihood: float(f(t) * prior.density(t)), *ends)
        assert pair.log_evidence(prior, data) == pytest.approx(np.log(total), rel=1e-6)
    # compound distributions in closed form
    counts = [0.0, 2, 2, 1, 2]
    a = np.array([1.0, 2.0, 0.5])
    exact = stats.dirichlet_multinomial(a, 5).logpmf([1, 1, 3]) - np.log(
        20
    )  # in their order: 5! / (1! 1! 3!) ways fewer
    assert DirichletCategorical().log_evidence(Dirichlet(a), counts) == pytest.approx(float(exact))
    exact = stats.betabinom(4, 0.7, 2.0).logpmf(3) - np.log(4)
    assert BetaBernoulli().log_evidence(Beta(0.7, 2.0), [1.0, 0, 1, 1]) == pytest.approx(float(exact))
    after = GaussianInverseWishart().posterior(NormalInverseWishart([0.0], 1.3, 2.5, [[0.8]]), [[0.5], [1.5], [-0.2]])
    predictive = GaussianInverseWishart().predictive(after)
    t = stats.t(
        after.degrees,
        after.location[0],
        np.sqrt(after.scale[0, 0] * (after.strength + 1) / (after.strength * after.degrees)),
    )
    np.testing.assert_allclose(predictive.log_density([[0.1], [3.0]]), t.logpdf([0.1, 3.0]), rtol=1e-10)
