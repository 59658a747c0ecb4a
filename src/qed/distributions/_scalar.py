"""Distributions of one real number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidData
from qed.distributions._distribution import LOG_TWO_PI, Distribution, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def decreasing_root(function: Callable[[float], float], owner: str) -> float:
    """Return the positive root of a decreasing function, by bisection of its logarithm, to the last bits."""
    low, high = -60.0, 60.0
    if not function(float(np.exp(low))) > 0 > function(float(np.exp(high))):
        raise InvalidData(
            f"{owner}.fit finds no maximum: the likelihood grows without limit. The values are all (nearly) equal."
        )
    for _ in range(80):
        middle = (low + high) / 2
        if function(float(np.exp(middle))) > 0:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


@dataclass(frozen=True, eq=False)
class Gaussian(Distribution):
    """The normal distribution of one number.

    Parameters
    ----------
    mean : float
        Expectation.
    variance : float
        Variance, positive.
    """

    mean: float = 0.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", number(self.mean, "Gaussian.mean"))
        object.__setattr__(self, "variance", number(self.variance, "Gaussian.variance", 0))

    @property
    def mode(self) -> float:
        """The mean."""
        return self.mean

    @property
    def fisher_information(self) -> Array:
        """Information of one value about mean and variance, shape (2, 2)."""
        return np.diag([1 / self.variance, 0.5 / self.variance**2])

    def transform(self, scale: float, shift: float = 0.0) -> Gaussian:
        """Return the distribution of ``scale * x + shift``.

        Parameters
        ----------
        scale, shift : float
            The linear map; scale is not zero.

        Returns
        -------
        Gaussian
            Its mean and variance follow from those of x.
        """
        return Gaussian(scale * self.mean + shift, scale**2 * self.variance)

    def __add__(self, other: Gaussian) -> Gaussian:
        """Return the distribution of the sum of independent variables."""
        if not isinstance(other, Gaussian):
            return NotImplemented
        return Gaussian(self.mean + other.mean, self.variance + other.variance)

    def _log_density(self, x: Array) -> Array:
        return np.asarray(-0.5 * ((x - self.mean) ** 2 / self.variance + np.log(self.variance) + LOG_TWO_PI))

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.normal(self.mean, np.sqrt(self.variance), n)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        mean = x[0] + s @ (x - x[0]) / s.sum()
        with np.errstate(over="ignore"):  # an infinite variance is refused in words
            variance = float(s @ (x - mean) ** 2 / s.sum())
        if not variance > 0:
            raise InvalidData(
                "Gaussian.fit finds no maximum: the values are all equal, and the variance would be zero."
            )
        return cls(float(mean), variance)

    def _entropy(self) -> float:
        return 0.5 * (1 + LOG_TWO_PI + float(np.log(self.variance)))

    def _divergence(self, other: Any) -> float:
        ratio = self.variance / other.variance
        return float(0.5 * (ratio - 1 - np.log(ratio) + (self.mean - other.mean) ** 2 / other.variance))


@dataclass(frozen=True, eq=False)
class Laplace(Distribution):
    """Two exponential distributions back to back.

    Parameters
    ----------
    location : float
        Median and mean.
    scale : float
        Expected distance from it, positive.
    """

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", number(self.location, "Laplace.location"))
        object.__setattr__(self, "scale", number(self.scale, "Laplace.scale", 0))

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.location

    @property
    def variance(self) -> float:
        """Variance."""
        return 2 * self.scale**2

    @property
    def mode(self) -> float:
        """The location."""
        return self.location

    def _log_density(self, x: Array) -> Array:
        return np.asarray(-np.abs(x - self.location) / self.scale - np.log(2 * self.scale))

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.laplace(self.location, self.scale, n)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        order = np.argsort(x, kind="stable")
        below = np.cumsum(s[order])
        at = int(np.searchsorted(below, below[-1] / 2))
        median = x[order[at]]
        if below[at] == below[-1] / 2 and at + 1 < len(x):
            median = (median + x[order[at + 1]]) / 2
        scale = float(s @ np.abs(x - median) / s.sum())
        if not scale > 0:
            raise InvalidData("Laplace.fit finds no maximum: the values are all equal, and the scale would be zero.")
        return cls(float(median), scale)

    def _entropy(self) -> float:
        return 1 + float(np.log(2 * self.scale))

    def _divergence(self, other: Any) -> float:
        apart = abs(self.location - other.location)
        ratio = self.scale / other.scale
        return float(ratio * np.exp(-apart / self.scale) + apart / other.scale - 1 - np.log(ratio))


@dataclass(frozen=True, eq=False)
class Beta(Distribution):
    """A probability: the conjugate prior of `Bernoulli`.

    Parameters
    ----------
    a, b : float
        Pseudo-counts of ones and of zeros, positive.
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", number(self.a, "Beta.a", 0))
        object.__setattr__(self, "b", number(self.b, "Beta.b", 0))

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> float:
        """Variance."""
        return self.mean * (1 - self.mean) / (self.a + self.b + 1)

    @property
    def mode(self) -> float:
        """The most probable value; the mean of Beta(1, 1), which has none."""
        if self.a <= 1 and self.b <= 1:
            if self.a == self.b == 1:
                return 0.5
            raise InvalidData(
                f"Beta({self.a:g}, {self.b:g}) has no single mode: its density is highest at an end. Use the mean."
            )
        return min(max((self.a - 1) / (self.a + self.b - 2), 0.0), 1.0)

    def _log_density(self, x: Array) -> Array:
        from scipy.special import betaln, xlog1py, xlogy  # noqa: PLC0415

        inside = (x >= 0) & (x <= 1)
        x = np.where(inside, x, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = xlogy(self.a - 1, x) + xlog1py(self.b - 1, -x) - betaln(self.a, self.b)
        return np.where(inside, logs, -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.beta(self.a, self.b, n)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        from qed.distributions._multivariate import Dirichlet  # noqa: PLC0415  (a Beta is a Dirichlet of two categories)

        if np.any(x <= 0) or np.any(x >= 1):
            raise InvalidData("Beta.fit takes numbers strictly between 0 and 1.")
        a, b = Dirichlet.fit(np.column_stack([x, 1 - x]), s).concentration
        return cls(float(a), float(b))

    def as_dirichlet(self) -> Any:
        """Return the same distribution of the probabilities of a one and of a zero.

        Returns
        -------
        Dirichlet
            Of two categories.
        """
        from qed.distributions._multivariate import Dirichlet  # noqa: PLC0415

        return Dirichlet([self.a, self.b])

    def _entropy(self) -> float:
        return float(self.as_dirichlet().entropy())

    def _divergence(self, other: Any) -> float:
        return float(self.as_dirichlet().divergence(other.as_dirichlet()))


@dataclass(frozen=True, eq=False)
class Gamma(Distribution):
    """A positive number: the conjugate prior of a `Poisson` rate and of a precision.

    Parameters
    ----------
    shape, rate : float
        The density is proportional to ``x**(shape - 1) * exp(-rate * x)``.
    """

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", number(self.shape, "Gamma.shape", 0))
        object.__setattr__(self, "rate", number(self.rate, "Gamma.rate", 0))

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.shape / self.rate

    @property
    def variance(self) -> float:
        """Variance."""
        return self.shape / self.rate**2

    @property
    def mode(self) -> float:
        """The most probable value, zero where the density falls everywhere."""
        return max(self.shape - 1, 0.0) / self.rate

    def _log_density(self, x: Array) -> Array:
        from scipy.special import gammaln, xlogy  # noqa: PLC0415

        inside = x >= 0
        x = np.where(inside, x, 1.0)
        with np.errstate(divide="ignore"):
            logs = xlogy(self.shape - 1, x) - self.rate * x + self.shape * np.log(self.rate) - gammaln(self.shape)
        return np.where(inside, logs, -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.gamma(self.shape, 1 / self.rate, n)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        from scipy.special import digamma  # noqa: PLC0415

        if np.any(x <= 0):
            raise InvalidData("Gamma.fit takes positive numbers.")
        mean = float(s @ x / s.sum())
        spread = float(s @ (np.log(x) - np.log(mean)) / s.sum())
        shape = decreasing_root(lambda k: np.log(k) - digamma(k) + spread, "Gamma")
        return cls(shape, shape / mean)

    def _entropy(self) -> float:
        from scipy.special import digamma, gammaln  # noqa: PLC0415

        return float(self.shape - np.log(self.rate) + gammaln(self.shape) + (1 - self.shape) * digamma(self.shape))

    def _divergence(self, other: Any) -> float:
        from scipy.special import digamma, gammaln  # noqa: PLC0415

        a, b, c, d = self.shape, self.rate, other.shape, other.rate
        return float((a - c) * digamma(a) - gammaln(a) + gammaln(c) + c * np.log(b / d) + a * (d - b) / b)
