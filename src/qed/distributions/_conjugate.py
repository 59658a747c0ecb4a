r"""Pairs of a likelihood and a prior whose posterior is of the kind of the prior.

Each pair says how a prior takes up data and what it predicts. The evidence needs no formula of its own: Bayes' rule, read from
right to left, holds at every parameter :math:`\theta`,

.. math:: \log p(D) = \log p(D \mid \theta) + \log p(\theta) - \log p(\theta \mid D).
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qed.core import InvalidData
from qed.core._targets import weights as read_weights
from qed.distributions._discrete import Bernoulli, Categorical, NegativeBinomial, Poisson
from qed.distributions._distribution import counts, definite, number, numbers
from qed.distributions._multivariate import Dirichlet, MultivariateGaussian, StudentT
from qed.distributions._scalar import Beta, Gamma, Gaussian
from qed.distributions._wishart import NormalInverseWishart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class ConjugatePair(abc.ABC):
    """A likelihood with its conjugate prior.

    Data in several batches give the posterior of all at once: pass the posterior of one batch as the prior of the next.
    """

    prior_type: ClassVar[type[Any]]
    likelihood_type: ClassVar[type[Any]]
    data_ndim: ClassVar[int] = 1

    @abc.abstractmethod
    def _update(self, prior: Any, x: Array, s: Array) -> Any:
        """Return the posterior of values that were read."""

    def _require_prior(self, prior: Any) -> None:
        if not isinstance(prior, self.prior_type):
            raise InvalidData(
                f"{type(self).__name__} takes a prior of type {self.prior_type.__name__}, got {type(prior).__name__}."
            )

    @abc.abstractmethod
    def predictive(self, prior: Any) -> Any:
        """Return the distribution of one new value, parameters integrated out.

        Parameters
        ----------
        prior : distribution
            A prior, or the posterior of data seen so far.

        Returns
        -------
        Distribution
            The predictive distribution.
        """

    @abc.abstractmethod
    def _likelihood(self, theta: Any) -> Any:
        """Return the distribution of a value at given parameters."""

    def _point(self, posterior: Any) -> Any:
        """Return parameters where densities are positive."""
        return posterior.mean

    def _log_prior(self, prior: Any, theta: Any) -> float:
        return float(prior.log_density(theta))

    def posterior(self, prior: Any, data: Any, sample_weight: Any = None) -> Any:
        """Return the posterior distribution of the parameters.

        Parameters
        ----------
        prior : distribution
            Of the type ``prior_type``.
        data : array-like of shape (n,) or (n, d)
            Independent values; none are allowed, and give the prior.
        sample_weight : array-like of shape (n,), optional
            How often each value counts.

        Returns
        -------
        distribution
            Of the same type as the prior. Its mode is the MAP estimate, its mean the Bayes estimate.
        """
        x, s = self._read(prior, data, sample_weight)
        return self._update(prior, x, s) if len(x) else prior

    def log_evidence(self, prior: Any, data: Any, sample_weight: Any = None) -> float:
        """Return the logarithm of the marginal likelihood of data, parameters integrated out.

        Parameters
        ----------
        prior : distribution
            Of the type ``prior_type``.
        data : array-like of shape (n,) or (n, d)
            Independent values.
        sample_weight : array-like of shape (n,), optional
            How often each value counts.

        Returns
        -------
        float
            In nats.
        """
        x, s = self._read(prior, data, sample_weight)
        if not len(x):
            return 0.0
        posterior = self._update(prior, x, s)
        theta = self._point(posterior)
        likelihood = self._likelihood(theta).log_likelihood(x, s)
        return float(likelihood + self._log_prior(prior, theta) - self._log_prior(posterior, theta))

    def _read(self, prior: Any, data: Any, sample_weight: Any) -> tuple[Array, Array]:
        self._require_prior(prior)
        x = numbers(data, f"{type(self).__name__}: data")
        if x.size == 0:
            return np.empty((0,) * self.data_ndim), np.empty(0)
        if x.ndim != self.data_ndim or not np.isfinite(x).all():
            raise InvalidData(
                f"{type(self).__name__} takes finite numbers in {self.data_ndim} axis(es), the first counts observations; got shape"
                f" {x.shape}{'' if np.isfinite(x).all() else ' with NaN or infinity'}."
            )
        s = read_weights(sample_weight, len(x))
        s = np.ones(len(x)) if s is None else s
        return x[s > 0], s[s > 0]


@dataclass(frozen=True)
class BetaBernoulli(ConjugatePair):
    """Coins: pseudo-counts of the prior and counts of ones and zeros add."""

    prior_type = Beta
    likelihood_type = Bernoulli

    def _update(self, prior: Any, x: Array, s: Array) -> Beta:
        if not np.isin(x, (0, 1)).all():
            raise InvalidData("BetaBernoulli takes zeros and ones.")
        return Beta(prior.a + s @ x, prior.b + s @ (1 - x))

    def predictive(self, prior: Any) -> Bernoulli:
        """Return the distribution of the next coin: its probability is the mean of the prior.

        Parameters
        ----------
        prior : Beta
            A prior, or the posterior of data seen so far.

        Returns
        -------
        Bernoulli
            The predictive distribution.
        """
        self._require_prior(prior)
        return Bernoulli(prior.mean)

    def _likelihood(self, theta: Any) -> Bernoulli:
        return Bernoulli(theta)


@dataclass(frozen=True)
class DirichletCategorical(ConjugatePair):
    """Categories: pseudo-counts of the prior and counts add."""

    prior_type = Dirichlet
    likelihood_type = Categorical

    def _update(self, prior: Any, x: Array, s: Array) -> Dirichlet:
        k = len(prior.concentration)
        if np.any(counts(x, "DirichletCategorical") >= k):
            raise InvalidData(f"The prior knows the categories 0 to {k - 1}, and the data have {int(x.max())}.")
        return Dirichlet(prior.concentration + np.bincount(x.astype(np.intp), s, k))

    def predictive(self, prior: Any) -> Categorical:
        """Return the distribution of the next category: its probabilities are the mean of the prior.

        Parameters
        ----------
        prior : Dirichlet
            A prior, or the posterior of data seen so far.

        Returns
        -------
        Categorical
            The predictive distribution.
        """
        self._require_prior(prior)
        return Categorical(prior.mean)

    def _likelihood(self, theta: Any) -> Categorical:
        return Categorical(theta)


@dataclass(frozen=True)
class GammaPoisson(ConjugatePair):
    """Counts of events: events and exposures add."""

    prior_type = Gamma
    likelihood_type = Poisson

    def _update(self, prior: Any, x: Array, s: Array) -> Gamma:
        return Gamma(prior.shape + s @ counts(x, "GammaPoisson"), prior.rate + s.sum())

    def predictive(self, prior: Any) -> NegativeBinomial:
        """Return the distribution of the next count.

        Parameters
        ----------
        prior : Gamma
            A prior, or the posterior of data seen so far.

        Returns
        -------
        NegativeBinomial
            The predictive distribution.
        """
        self._require_prior(prior)
        return NegativeBinomial(prior.shape, prior.rate)

    def _likelihood(self, theta: Any) -> Poisson:
        return Poisson(theta)


@dataclass(frozen=True)
class GaussianMean(ConjugatePair):
    """The mean of a Gaussian with a known variance: precisions add, and means are averaged by precision.

    Parameters
    ----------
    variance : float
        Of one value about the mean.
    """

    variance: float = 1.0
    prior_type = Gaussian
    likelihood_type = Gaussian

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", number(self.variance, "GaussianMean.variance", 0))

    def _update(self, prior: Any, x: Array, s: Array) -> Gaussian:
        precision = 1 / prior.variance + s.sum() / self.variance
        return Gaussian((prior.mean / prior.variance + s @ x / self.variance) / precision, 1 / precision)

    def predictive(self, prior: Any) -> Gaussian:
        """Return the distribution of the next value: what is not known of the mean adds to the variance.

        Parameters
        ----------
        prior : Gaussian
            A prior, or the posterior of data seen so far.

        Returns
        -------
        Gaussian
            The predictive distribution.
        """
        self._require_prior(prior)
        return Gaussian(prior.mean, prior.variance + self.variance)

    def _likelihood(self, theta: Any) -> Gaussian:
        return Gaussian(theta, self.variance)


@dataclass(frozen=True, eq=False)
class MultivariateGaussianMean(ConjugatePair):
    """The mean of a multivariate Gaussian with a known covariance.

    Parameters
    ----------
    covariance : array-like of shape (d, d)
        Of one value about the mean.
    """

    covariance: Any
    prior_type = MultivariateGaussian
    likelihood_type = MultivariateGaussian
    data_ndim = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "covariance", definite(self.covariance, None, "MultivariateGaussianMean.covariance"))

    def _require_prior(self, prior: Any) -> None:
        super()._require_prior(prior)
        if len(prior.mean) != len(self.covariance):
            raise InvalidData(
                f"The prior is about {len(prior.mean)} columns, and the covariance about {len(self.covariance)}."
            )

    def _update(self, prior: Any, x: Array, s: Array) -> MultivariateGaussian:
        if x.shape[1] != len(prior.mean):
            raise InvalidData(f"The prior is about {len(prior.mean)} columns, and the data have {x.shape[1]}.")
        # S = P (P + C/n)^-1 C/n, and the mean moves by the share P (P + C/n)^-1: no covariance is inverted alone
        noise, mean = self.covariance / s.sum(), s @ x / s.sum()
        share = np.linalg.solve(prior.covariance + noise, prior.covariance).T
        covariance = share @ noise
        return MultivariateGaussian(prior.mean + share @ (mean - prior.mean), (covariance + covariance.T) / 2)

    def predictive(self, prior: Any) -> MultivariateGaussian:
        """Return the distribution of the next value.

        Parameters
        ----------
        prior : MultivariateGaussian
            A prior, or the posterior of data seen so far.

        Returns
        -------
        MultivariateGaussian
            The predictive distribution.
        """
        self._require_prior(prior)
        return MultivariateGaussian(prior.mean, prior.covariance + self.covariance)

    def _likelihood(self, theta: Any) -> MultivariateGaussian:
        return MultivariateGaussian(theta, self.covariance)


@dataclass(frozen=True)
class GaussianInverseWishart(ConjugatePair):
    """Mean and covariance of a Gaussian, both unknown."""

    prior_type = NormalInverseWishart
    likelihood_type = MultivariateGaussian
    data_ndim = 2

    def _update(self, prior: Any, x: Array, s: Array) -> NormalInverseWishart:
        n, k = s.sum(), prior.strength
        if x.shape[1] != len(prior.location):
            raise InvalidData(f"The prior is about {len(prior.location)} columns, and the data have {x.shape[1]}.")
        mean = s @ x / n
        apart, step = x - mean, mean - prior.location
        scatter = (apart * s[:, None]).T @ apart + (k * n / (k + n)) * np.outer(step, step)
        return NormalInverseWishart(
            prior.location + (n / (k + n)) * step, k + n, prior.degrees + n, prior.scale + (scatter + scatter.T) / 2
        )

    def predictive(self, prior: Any) -> StudentT:
        """Return the distribution of the next value: it has heavier tails than a Gaussian, as its covariance is not known.

        Parameters
        ----------
        prior : NormalInverseWishart
            A prior, or the posterior of data seen so far.

        Returns
        -------
        StudentT
            The predictive distribution.
        """
        self._require_prior(prior)
        free = prior.degrees - len(prior.location) + 1
        return StudentT(free, prior.location, prior.scale * ((prior.strength + 1) / (prior.strength * free)))

    def _likelihood(self, theta: Any) -> MultivariateGaussian:
        return MultivariateGaussian(theta.mean, theta.covariance)

    def _point(self, posterior: Any) -> Any:
        return posterior.mode  # a mean of covariances may not exist

    def _log_prior(self, prior: Any, theta: Any) -> float:
        return float(prior.log_density(theta.mean, theta.covariance))


#: Every conjugate pair by its name, prior first: ``CONJUGATE_PAIRS["gamma-poisson"]`` is `GammaPoisson`.
CONJUGATE_PAIRS: dict[str, type[ConjugatePair]] = {
    "beta-bernoulli": BetaBernoulli,
    "dirichlet-categorical": DirichletCategorical,
    "gamma-poisson": GammaPoisson,
    "gaussian-gaussian": GaussianMean,
    "multivariate-gaussian": MultivariateGaussianMean,
    "gaussian-inverse-wishart": GaussianInverseWishart,
}
