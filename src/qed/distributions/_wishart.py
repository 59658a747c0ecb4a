"""Distributions of a covariance, alone and together with a mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, generator
from qed.distributions._distribution import Distribution, definite, number, vector
from qed.distributions._multivariate import MultivariateGaussian
from qed.distributions._scalar import decreasing_root

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def log_det(matrices: Array) -> Array:
    """Return the logarithms of determinants, minus infinity of matrices that are not positive definite."""
    signs, logs = np.linalg.slogdet(matrices)
    return np.where(signs > 0, logs, -np.inf)


@dataclass(frozen=True, eq=False)
class InverseWishart(Distribution):
    """A covariance: the conjugate prior of that of a Gaussian.

    Parameters
    ----------
    degrees : float
        Degrees of freedom, more than d - 1.
    scale : array-like of shape (d, d)
        Scale matrix, positive definite.
    """

    degrees: float
    scale: Any
    event_ndim = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", definite(self.scale, None, "InverseWishart.scale"))
        object.__setattr__(self, "degrees", number(self.degrees, "InverseWishart.degrees", len(self.scale) - 1))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return (len(self.scale), len(self.scale))

    @property
    def mean(self) -> Array:
        """Expectation, where there is one."""
        free = self.degrees - len(self.scale) - 1
        if not free > 0:
            raise InvalidData(
                f"An inverse-Wishart distribution has a mean from more than d + 1 = {len(self.scale) + 1} degrees on."
            )
        return np.asarray(self.scale / free)

    @property
    def mode(self) -> Array:
        """The most probable value."""
        return np.asarray(self.scale / (self.degrees + len(self.scale) + 1))

    @property
    def variance(self) -> Array:
        """Variances of the entries, shape (d, d), where there are any."""
        d, v = len(self.scale), self.degrees
        if not v > d + 3:
            raise InvalidData(
                f"An inverse-Wishart distribution has variances from more than d + 3 = {d + 3} degrees on."
            )
        diagonal = np.diagonal(self.scale)
        top = (v - d + 1) * self.scale**2 + (v - d - 1) * np.outer(diagonal, diagonal)
        return np.asarray(top / ((v - d) * (v - d - 1) ** 2 * (v - d - 3)))

    def _log_density(self, x: Array) -> Array:
        from scipy.special import multigammaln  # noqa: PLC0415

        d, v = len(self.scale), self.degrees
        logs = log_det(x)
        inside = np.isfinite(logs) & np.all(np.linalg.eigvalsh(x) > 0, axis=-1)
        inverse = np.linalg.inv(np.where(inside[..., None, None], x, np.eye(d)))
        level = 0.5 * v * (log_det(self.scale) - d * np.log(2)) - multigammaln(v / 2, d)
        values = (
            level - 0.5 * (v + d + 1) * np.where(inside, logs, 0.0) - 0.5 * np.sum(self.scale * inverse, axis=(-2, -1))
        )
        return np.where(inside, values, -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        """Draw Wishart matrices by the decomposition of Bartlett, and invert them."""
        d = len(self.scale)
        lower = np.tril(rng.standard_normal((n, d, d)), -1)
        at = np.arange(d)
        lower[:, at, at] = np.sqrt(rng.chisquare(self.degrees - at, (n, d)))
        # W = F A A' F' with F F' the inverse of the scale; its inverse is G' G with G = A^-1 F^-1
        root = np.linalg.cholesky(np.linalg.inv(self.scale))
        inner = np.linalg.solve(lower, np.broadcast_to(np.linalg.inv(root), (n, d, d)))
        return np.asarray(np.swapaxes(inner, -1, -2) @ inner)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        from scipy.special import digamma  # noqa: PLC0415

        if not np.all(np.linalg.eigvalsh(x) > 0):
            raise InvalidData("InverseWishart.fit takes positive-definite matrices.")
        d, share = x.shape[1], s / s.sum()
        harmonic = np.linalg.inv(np.einsum("i,ijk->jk", share, np.linalg.inv(x)))
        apart = float(log_det(harmonic) - share @ log_det(x))

        def slope(extra: float) -> float:  # in the degrees, at the best scale for them
            v = extra + d - 1
            return float(apart + d * np.log(v / 2) - digamma((v - np.arange(d)) / 2).sum())

        degrees = d - 1 + decreasing_root(slope, "InverseWishart")
        return cls(degrees, degrees * harmonic)


class MeanAndCovariance(NamedTuple):
    """Parameters of a multivariate Gaussian, or arrays of them."""

    mean: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class NormalInverseWishart:
    """Mean and covariance of a Gaussian together: the conjugate prior of both.

    The covariance is inverse-Wishart distributed, and given it the mean is Gaussian with covariance / strength.

    Parameters
    ----------
    mean : array-like of shape (d,)
        Expected mean.
    strength : float
        How many observations the prior mean counts for, positive.
    degrees : float
        Degrees of freedom of the covariance, more than d - 1.
    scale : array-like of shape (d, d)
        Scale matrix of the covariance.
    """

    location: Any
    strength: float
    degrees: float
    scale: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", vector(self.location, "NormalInverseWishart.location"))
        object.__setattr__(self, "strength", number(self.strength, "NormalInverseWishart.strength", 0))
        wishart = InverseWishart(self.degrees, self.scale)
        if len(wishart.scale) != len(self.location):
            raise InvalidParameter(
                f"NormalInverseWishart.scale must have {len(self.location)} rows, got {len(wishart.scale)}."
            )
        object.__setattr__(self, "degrees", wishart.degrees)
        object.__setattr__(self, "scale", wishart.scale)

    @property
    def covariance(self) -> InverseWishart:
        """The marginal distribution of the covariance."""
        return InverseWishart(self.degrees, self.scale)

    @property
    def mean(self) -> MeanAndCovariance:
        """Expectations of both."""
        return MeanAndCovariance(np.array(self.location), self.covariance.mean)

    @property
    def mode(self) -> MeanAndCovariance:
        """The most probable pair."""
        return MeanAndCovariance(np.array(self.location), self.scale / (self.degrees + len(self.location) + 2))

    def log_density(self, mean: Any, covariance: Any) -> float:
        """Return the logarithm of the density at a pair.

        Parameters
        ----------
        mean : array-like of shape (d,)
            A mean.
        covariance : array-like of shape (d, d)
            A covariance.

        Returns
        -------
        float
            The logarithm.
        """
        given = MultivariateGaussian(self.location, np.asarray(covariance) / self.strength)
        return float(self.covariance.log_density(covariance) + given.log_density(mean))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> MeanAndCovariance:
        """Draw pairs.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : None, int, Generator or RandomState
            Seed.

        Returns
        -------
        MeanAndCovariance
            Arrays of shapes (n, d) and (n, d, d).
        """
        rng = generator(random_state)
        covariances = self.covariance.sample(n_samples, rng)
        z = rng.standard_normal((n_samples, len(self.location)))
        means = self.location + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances), z) / np.sqrt(self.strength)
        return MeanAndCovariance(means, covariances)
