"""Distributions: densities, draws, moments and most likely parameters, against their definitions and SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from qed.core import InvalidData, InvalidParameter
from qed.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    InverseWishart,
    Laplace,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    NormalInverseWishart,
    Poisson,
    StudentT,
    density_error_exponent,
    expectation,
    gaussian_integral,
    variance,
)

S = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.5]])
EVERY = {
    "bernoulli": (Bernoulli(0.3), stats.bernoulli(0.3).logpmf),
    "categorical": (Categorical([0.2, 0.5, 0.3]), None),
    "multinomial": (Multinomial(4, [0.2, 0.5, 0.3]), stats.multinomial(4, [0.2, 0.5, 0.3]).logpmf),
    "poisson": (Poisson(3.4), stats.poisson(3.4).logpmf),
    "negative-binomial": (NegativeBinomial(2.5, 0.7), stats.nbinom(2.5, 0.7 / 1.7).logpmf),
    "gaussian": (Gaussian(1.0, 2.5), stats.norm(1.0, np.sqrt(2.5)).logpdf),
    "laplace": (Laplace(-0.5, 1.7), stats.laplace(-0.5, 1.7).logpdf),
    "beta": (Beta(2.0, 5.0), stats.beta(2, 5).logpdf),
    "gamma": (Gamma(3.0, 2.0), stats.gamma(3, scale=0.5).logpdf),
    "multivariate": (MultivariateGaussian([1, 2, 3], S), stats.multivariate_normal([1, 2, 3], S).logpdf),
    "student": (StudentT(7, [1, 2, 3], S), stats.multivariate_t([1, 2, 3], S, 7).logpdf),
    "dirichlet": (Dirichlet([1.5, 2.0, 4.0]), lambda x: np.array([stats.dirichlet([1.5, 2, 4]).logpdf(r) for r in x])),
    "inverse-wishart": (InverseWishart(9.0, S), lambda x: np.array([stats.invwishart(9, S).logpdf(r) for r in x])),
}


@pytest.mark.parametrize("name", EVERY)
def test_densities_and_moments(name):
    ours, theirs = EVERY[name]
    x = ours.sample(20_000, random_state=3)
    if theirs is not None:
        np.testing.assert_allclose(ours.log_density(x[:50]), theirs(x[:50]), rtol=1e-9, atol=1e-9)
    values = np.eye(3)[x.astype(int)] if name == "categorical" else x
    spread = np.sqrt(np.var(values, axis=0) / len(x))
    assert np.all(np.abs(values.mean(axis=0) - ours.mean) <= 5 * spread)
    found = np.cov(values.T, bias=True) if ours.event_ndim < 2 else values.var(axis=0)
    np.testing.assert_allclose(found, ours.variance, rtol=0.25, atol=0.05)


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"negative-binomial", "student"}))
def test_fit_is_a_maximum(name):
    ours, _ = EVERY[name]
    x = ours.sample(300, random_state=5)
    s = np.random.default_rng(1).integers(0, 3, len(x)).astype(float)
    best = type(ours).fit(x, s)
    repeated = type(ours).fit(np.repeat(x, s.astype(int), axis=0))
    level = best.log_likelihood(x, s)
    assert level == pytest.approx(repeated.log_likelihood(x, s), rel=1e-12)
    assert level >= ours.log_likelihood(x, s)
    for step in (0.98, 1.02):  # no parameter moved a little does better
        for field in vars(ours):
            if field in ("trials",) or not hasattr(best, field) or field in ("factor",):
                continue
            moved = np.asarray(getattr(best, field)) * step
            if field == "probabilities":
                moved = moved ** (1 / step) / np.sum(moved ** (1 / step))
            other = type(ours)(**{**{f: getattr(best, f) for f in ours.__dataclass_fields__}, field: moved})
            assert other.log_likelihood(x, s) <= level + 1e-9 * abs(level)


@pytest.mark.covers("BAY-01", "BAY-02")
def test_gaussian_heights():
    heights = [60.0, 62.0, 53.0, 58.0]
    best = Gaussian.fit(heights)
    assert (best.mean, best.variance) == (58.25, 11.1875)
    x = np.random.default_rng(0).normal(size=10_000)
    assert np.prod(Gaussian().density(x)) == 0.0  # the product underflows, the sum of logarithms does not
    assert Gaussian().log_likelihood(x) == pytest.approx(np.sum(stats.norm.logpdf(x)))
    h = 1e-5
    for up, down in (
        (Gaussian(58.25 + h, 11.1875), Gaussian(58.25 - h, 11.1875)),
        (Gaussian(58.25, 11.1875 + h), Gaussian(58.25, 11.1875 - h)),
    ):
        assert abs(up.log_likelihood(heights) - down.log_likelihood(heights)) / (2 * h) < 1e-8


@pytest.mark.covers("BAY-03")
def test_variance_is_biased():
    n = 4  # all samples of n values of a fair coin on {-1, 1}: the expectation is exact
    grids = np.stack(np.meshgrid(*[[-1.0, 1.0]] * n), -1).reshape(-1, n)
    variances = [((row - row.mean()) ** 2).mean() for row in grids]
    assert np.mean(variances) == pytest.approx((n - 1) / n)
    mixed = [row for row in grids if row.std() > 0]
    total = sum(Gaussian.fit(row).variance for row in mixed)
    assert total / len(grids) == pytest.approx((n - 1) / n)


@pytest.mark.covers("BAY-04")
def test_multivariate_density():
    normal = MultivariateGaussian([0, 0], np.eye(2))
    assert normal.density([0, 0]) == pytest.approx(1 / (2 * np.pi))
    x = np.random.default_rng(2).normal(size=(5, 2))
    diagonal = MultivariateGaussian([1, -1], np.diag([4.0, 0.25]))
    product = Gaussian(1, 4.0).density(x[:, 0]) * Gaussian(-1, 0.25).density(x[:, 1])
    np.testing.assert_allclose(diagonal.density(x), product)
    best = MultivariateGaussian.fit(x)
    np.testing.assert_allclose(best.covariance, np.cov(x.T, bias=True))
    with pytest.raises(InvalidParameter, match="positive definite"):
        MultivariateGaussian([0, 0], [[1, 1], [1, 1]])
    with pytest.raises(InvalidData, match="hyperplane"):
        MultivariateGaussian.fit(x[:2])


@pytest.mark.covers("BAY-05", "BAY-06", "BAY-07")
def test_discrete_estimates():
    assert Bernoulli.fit([1] * 7 + [0] * 3).probability == pytest.approx(0.7)
    assert Bernoulli(0.7).density([0, 1, 2]).tolist() == pytest.approx([0.3, 0.7, 0])
    best = Categorical.fit([0, 2, 2, 1])
    np.testing.assert_allclose(best.probabilities, [0.25, 0.25, 0.5])
    assert best.density([0, 1, 2]).sum() == pytest.approx(1)
    np.testing.assert_allclose(Multinomial.fit([[1, 1, 2]]).probabilities, best.probabilities)
    np.testing.assert_allclose(Multinomial(1, best.probabilities).density(np.eye(3)), best.probabilities)
    assert Poisson.fit([1, 2, 6]).rate == 3
    assert Poisson(3).density(np.arange(60)).sum() == pytest.approx(1)


@pytest.mark.covers("BAY-08")
def test_laplace():
    law = Laplace(0.0, 1.5)
    assert law.density(2.0) == pytest.approx(np.exp(-2 / 1.5) / 3)
    assert law.variance == pytest.approx(2 * 1.5**2)
    assert law.density(0.0) > Gaussian(0, law.variance).density(0.0)
    assert Laplace.fit([1.0, 2.0, 9.0]).location == 2.0


@pytest.mark.covers("BAY-34")
def test_linear_maps_and_sums():
    u = MultivariateGaussian([1, 2, 3], S)
    A = np.array([[1.0, 2, 0], [0, 1, -1]])
    v = u.transform(A, [5.0, 6.0])
    np.testing.assert_allclose(v.mean, A @ [1, 2, 3] + [5, 6])
    np.testing.assert_allclose(v.covariance, A @ S @ A.T)
    total = u + MultivariateGaussian(np.zeros(3), np.eye(3))
    np.testing.assert_allclose(total.covariance, S + np.eye(3))
    assert (Gaussian(1, 2) + Gaussian(3, 4)).variance == 6
    assert Gaussian(1, 2).transform(3, 1).mean == 4
    x = u.sample(50_000, random_state=0) @ A.T
    np.testing.assert_allclose(np.cov(x.T), v.covariance, rtol=0.05, atol=0.02)


def test_marginal_and_conditional():
    u = MultivariateGaussian([1, 2, 3], S)
    x = np.array([0.3, 1.1, 2.5])
    joint = u.log_density(x)
    parts = u.marginal([1]).log_density(x[[1]]) + u.condition([1], x[1]).log_density(x[[0, 2]])
    assert joint == pytest.approx(float(parts))
    with pytest.raises(InvalidParameter, match="Coordinates"):
        u.marginal([3])
    with pytest.raises(InvalidData, match="nothing is left"):
        u.condition([0, 1, 2], x)


@pytest.mark.covers("BAY-38")
def test_sampling_by_cholesky():
    u = MultivariateGaussian([1, 2, 3], S)
    np.testing.assert_allclose(u.factor @ u.factor.T, S, atol=1e-15)
    assert np.allclose(u.factor, np.tril(u.factor))
    z = np.random.default_rng(0).normal(size=(40, 3))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / 40)).T  # whitened noise
    np.testing.assert_allclose(np.cov((u.mean + z @ u.factor.T).T, bias=True), S, atol=1e-12)


@pytest.mark.covers("BAY-35")
def test_gaussian_integrals():
    for a, b, c in ((0.5, 0.0, 0.0), (2.0, 1.5, -0.3)):
        found, _ = quad(lambda x, a=a, b=b, c=c: np.exp(-a * x**2 + b * x + c), -np.inf, np.inf)
        assert gaussian_integral(a, b, c) == pytest.approx(found, rel=1e-9)
    assert gaussian_integral(3.0, -2 * 3.0 * 0.7, -3.0 * 0.49) == pytest.approx(
        np.sqrt(np.pi / 3)
    )  # a square completed
    with pytest.raises(InvalidParameter):
        gaussian_integral(0.0)


@pytest.mark.covers("BAY-36")
def test_moments_of_finite_distributions():
    joint = np.array([[0.3, 0.1], [0.05, 0.55]])  # two dependent coins
    x, y = np.meshgrid([0.0, 1.0], [0.0, 2.0], indexing="ij")
    assert expectation(x + y, joint) == pytest.approx(expectation(x, joint) + expectation(y, joint))
    assert variance(x, joint) == pytest.approx(expectation(x**2, joint) - expectation(x, joint) ** 2)
    assert expectation(np.exp(x), joint) == pytest.approx(0.4 + 0.6 * np.e)
    assert variance(x + y, joint) != pytest.approx(variance(x, joint) + variance(y, joint))
    with pytest.raises(InvalidParameter, match="sum to one"):
        expectation([1, 2], [0.5, 0.6])


@pytest.mark.covers("BAY-37")
def test_asymptotics_of_the_estimate():
    theta = 0.3
    for n in (5, 50):
        k = np.arange(n + 1)
        weights = np.exp(Multinomial(n, [theta, 1 - theta]).log_density(np.column_stack([k, n - k])))
        estimates = np.array([Bernoulli.fit([1.0] * i + [0.0] * (n - i)).probability for i in k])
        assert variance(np.sqrt(n) * (estimates - theta), weights) == pytest.approx(theta * (1 - theta))
        assert expectation(estimates, weights) == pytest.approx(theta)
    assert 1 / Bernoulli(theta).fisher_information == pytest.approx(theta * (1 - theta))
    z = (estimates - theta) / np.sqrt(theta * (1 - theta) / 50)
    assert expectation(np.abs(z) <= 1.96, weights) == pytest.approx(0.95, abs=0.04)  # normal in the limit


@pytest.mark.covers("BAY-40")
def test_rate_of_density_estimates():
    assert density_error_exponent(1) == pytest.approx(-2 / 3)
    for d in (1, 4, 10):
        rows = 2 ** ((2 + d) / 2)
        assert rows ** density_error_exponent(d) == pytest.approx(0.5)


def test_entropies_are_expected_logarithms():
    for name, (law, _) in EVERY.items():
        if name in ("negative-binomial", "student", "multinomial", "inverse-wishart"):
            with pytest.raises(InvalidData, match="no formula"):
                law.entropy()
            continue
        logs = -law.log_density(law.sample(40_000, random_state=1))
        assert law.entropy() == pytest.approx(logs.mean(), abs=5 * logs.std() / 200)
        assert law.entropy("bits") == pytest.approx(law.entropy() / np.log(2))
        assert law.divergence(law) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (Poisson(3.0), Poisson(2.0)),
        (Gaussian(1, 2), Gaussian(0, 3)),
        (Laplace(0, 1), Laplace(1, 2)),
        (Beta(2, 3), Beta(3, 2)),
        (Gamma(2, 1), Gamma(3, 2)),
        (MultivariateGaussian([1, 2, 3], S), MultivariateGaussian([0, 2, 3], np.eye(3))),
        (Dirichlet([2, 3, 4]), Dirichlet([3, 3, 3])),
        (Bernoulli(0.2), Bernoulli(0.5)),
    ],
)
def test_divergences_are_expected_ratios(p, q):
    x = p.sample(40_000, random_state=2)
    ratios = p.log_density(x) - q.log_density(x)
    assert p.divergence(q) == pytest.approx(ratios.mean(), abs=5 * ratios.std() / 200)


def test_normal_inverse_wishart_draws():
    law = NormalInverseWishart([1, 2, 3], 4.0, 9.0, S)
    drawn = law.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.covariance.mean(axis=0), law.mean.covariance, atol=0.03)
    np.testing.assert_allclose(np.cov(drawn.mean.T), law.mean.covariance / 4, atol=0.03)
    at = law.mode
    assert law.log_density(*at) > law.log_density(at.mean, 1.1 * at.covariance)
    assert law.log_density(*at) > law.log_density(at.mean + 0.1, at.covariance)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Bernoulli(1.2),
        lambda: Categorical([0.5, 0.6]),
        lambda: Categorical([-0.5, 1.5]),
        lambda: Poisson(-1),
        lambda: Gaussian(0, 0),
        lambda: Gaussian("a", 1),
        lambda: Beta(0, 1),
        lambda: Dirichlet([1, 0]),
        lambda: InverseWishart(1.5, S),
        lambda: Gaussian().sample(-1),
        lambda: Gaussian().sample(2.5),
        lambda: Gaussian().sample("three"),
        lambda: Gaussian().entropy("bytes"),
        lambda: Gaussian.fit([]),
        lambda: Gaussian.fit([1.0, np.nan]),
        lambda: Gaussian.fit([2.0, 2.0]),
        lambda: Poisson.fit([1.5]),
        lambda: Poisson.fit([-1.0]),
        lambda: Bernoulli.fit([2.0]),
        lambda: Beta.fit([0.0, 0.5]),
        lambda: Gamma.fit([1.0, 1.0]),
        lambda: Gaussian.fit([1.0], sample_weight=[0.0]),
        lambda: Gaussian().log_density(np.nan),
        lambda: MultivariateGaussian([0, 0], np.eye(2)).log_density([1.0]),
        lambda: Gaussian().divergence(Laplace()),
        lambda: Beta(0.5, 0.5).mode,
        lambda: Gaussian().log_density("a"),
        lambda: Gaussian().log_density([[1.0], [2.0, 3.0]]),
        lambda: Gaussian.fit(["a", "b"]),
        lambda: Gaussian.fit([1e200, -1e200]),
        lambda: Categorical("abc"),
        lambda: MultivariateGaussian("a", [[1]]),
        lambda: MultivariateGaussian([0], [[1 + 1j]]),
        lambda: MultivariateGaussian([0, 0], np.eye(2)).condition(0, [1, 2]),
        lambda: MultivariateGaussian([0, 0], np.eye(2)).transform([[1, 1], [2, 2]]),
        lambda: Multinomial(2.5, [0.5, 0.5]),
        lambda: Poisson(1e20).sample(3),
        lambda: expectation(["a"], [1.0]),
    ],
)
def test_bad_input(wrong):
    with pytest.raises((InvalidParameter, InvalidData)):
        wrong()
