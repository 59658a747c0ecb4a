"""Distributions of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._once import cached_property
from qed.distributions._distribution import LOG_TWO_PI, Distribution, definite, number, numbers, vector

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NEWTON_STEPS = 200  # far more than the dozen that Newton's method takes


@dataclass(frozen=True, eq=False)
class MultivariateGaussian(Distribution):
    """The normal distribution of a vector.

    Parameters
    ----------
    mean : array-like of shape (d,)
        Expectation.
    covariance : array-like of shape (d, d)
        Covariance, positive definite.
    """

    mean: Any
    covariance: Any
    event_ndim = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", vector(self.mean, "MultivariateGaussian.mean"))
        covariance = definite(self.covariance, len(self.mean), "MultivariateGaussian.covariance")
        object.__setattr__(self, "covariance", covariance)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return (len(self.mean),)

    @property
    def variance(self) -> Array:
        """Covariance, under the name that all distributions have."""
        return np.array(self.covariance)

    @property
    def mode(self) -> Array:
        """The mean."""
        return np.array(self.mean)

    @cached_property
    def factor(self) -> Array:
        """Lower Cholesky factor L of the covariance, L L' = covariance: ``mean + L z`` is a draw for standard normal z."""
        return np.linalg.cholesky(self.covariance)

    def transform(self, matrix: Any, shift: Any = 0.0) -> MultivariateGaussian:
        """Return the distribution of ``matrix @ x + shift``.

        Parameters
        ----------
        matrix : array-like of shape (m, d)
            Of full row rank.
        shift : float or array-like of shape (m,)
            What is added.

        Returns
        -------
        MultivariateGaussian
            Its mean and covariance follow from those of x.
        """
        A = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        if A.shape[1:] != self.mean.shape:
            raise InvalidData(f"The matrix must have {len(self.mean)} columns, got shape {A.shape}.")
        return MultivariateGaussian(A @ self.mean + shift, A @ self.covariance @ A.T)

    def __add__(self, other: MultivariateGaussian) -> MultivariateGaussian:
        """Return the distribution of the sum of independent vectors."""
        if not isinstance(other, MultivariateGaussian):
            return NotImplemented
        if other.event_shape != self.event_shape:
            raise InvalidData(f"Vectors of {len(self.mean)} and {len(other.mean)} numbers cannot be added.")
        return MultivariateGaussian(self.mean + other.mean, self.covariance + other.covariance)

    def marginal(self, keep: Any) -> MultivariateGaussian:
        """Return the distribution of some of the coordinates.

        Parameters
        ----------
        keep : int or list of int
            Their numbers, in the order wanted.

        Returns
        -------
        MultivariateGaussian
            The marginal distribution.
        """
        at = self._places(keep)
        return MultivariateGaussian(self.mean[at], self.covariance[np.ix_(at, at)])

    def condition(self, given: Any, values: Any) -> MultivariateGaussian:
        """Return the distribution of the other coordinates, given the values of some.

        Parameters
        ----------
        given : int or list of int
            Numbers of the coordinates that are known.
        values : float or array-like
            Their values.

        Returns
        -------
        MultivariateGaussian
            The conditional distribution of the others, in their order.
        """
        known = self._places(given)
        rest = np.setdiff1d(np.arange(len(self.mean)), known)
        if not len(rest):
            raise InvalidData("All coordinates are given: nothing is left that could have a distribution.")
        cross = self.covariance[np.ix_(rest, known)]
        gain = np.linalg.solve(self.covariance[np.ix_(known, known)], cross.T).T
        observed = numbers(values, "The values of given coordinates")
        if observed.shape not in ((), known.shape):
            raise InvalidData(
                f"{len(known)} coordinates are given, with values of shape {observed.shape}. Pass one for each."
            )
        apart = observed - self.mean[known]
        return MultivariateGaussian(
            self.mean[rest] + gain @ apart, self.covariance[np.ix_(rest, rest)] - gain @ cross.T
        )

    def _places(self, places: Any) -> Any:
        at = np.atleast_1d(np.asarray(places))
        if (
            at.dtype.kind not in "iu"
            or at.ndim != 1
            or len(np.unique(at)) != len(at)
            or np.any((at < 0) | (at >= len(self.mean)))
        ):
            raise InvalidParameter(
                f"Coordinates are distinct integers from 0 to {len(self.mean) - 1}, got {places!r:.100}."
            )
        return at

    def mahalanobis(self, x: Any) -> Array:
        """Return the squared Mahalanobis distance of values from the mean.

        Parameters
        ----------
        x : array-like of shape (..., d)
            Values.

        Returns
        -------
        ndarray of shape (...)
            Squared distances, chi-squared distributed with d degrees of freedom.
        """
        apart = np.asarray(x, dtype=np.float64) - self.mean
        white = np.linalg.solve(self.factor, apart.reshape(-1, len(self.mean)).T)
        return np.asarray(np.sum(white**2, axis=0).reshape(apart.shape[:-1]))

    def score(self, x: Any) -> Array:
        """Return the gradient of the log-density with respect to the value.

        Parameters
        ----------
        x : array-like of shape (..., d)
            Values.

        Returns
        -------
        ndarray of shape (..., d)
            Minus the precision times the distance from the mean.
        """
        apart = np.asarray(x, dtype=np.float64) - self.mean
        return -np.linalg.solve(self.covariance, apart.reshape(-1, len(self.mean)).T).T.reshape(apart.shape)

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant of the covariance."""
        return 2 * float(np.log(np.diagonal(self.factor)).sum())

    def _log_density(self, x: Array) -> Array:
        return -0.5 * (self.mahalanobis(x) + self.log_det + len(self.mean) * LOG_TWO_PI)

    def _sample(self, n: int, rng: Generator) -> Array:
        return np.asarray(self.mean + rng.standard_normal((n, len(self.mean))) @ self.factor.T)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        mean = x[0] + s @ (x - x[0]) / s.sum()
        apart = x - mean
        try:
            return cls(mean, (apart * s[:, None]).T @ apart / s.sum())
        except InvalidParameter:
            raise InvalidData(
                f"MultivariateGaussian.fit finds no maximum: the {len(x)} values lie in a hyperplane, and their covariance is"
                " singular. Pass more values, or use a prior (GaussianInverseWishart)."
            ) from None

    def _entropy(self) -> float:
        return 0.5 * (len(self.mean) * (1 + LOG_TWO_PI) + self.log_det)

    def _divergence(self, other: Any) -> float:
        white = np.linalg.solve(other.factor, self.factor)
        return 0.5 * float(
            np.sum(white**2) - len(self.mean) + other.mahalanobis(self.mean) + other.log_det - self.log_det
        )


@dataclass(frozen=True, eq=False)
class StudentT(Distribution):
    """Student's t distribution of a vector: a Gaussian whose covariance is not known for certain.

    Parameters
    ----------
    degrees : float
        Degrees of freedom, positive.
    location : array-like of shape (d,)
        Centre.
    scale : array-like of shape (d, d)
        Scale matrix, positive definite.
    """

    degrees: float
    location: Any
    scale: Any
    event_ndim = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", number(self.degrees, "StudentT.degrees", 0))
        object.__setattr__(self, "location", vector(self.location, "StudentT.location"))
        object.__setattr__(self, "scale", definite(self.scale, len(self.location), "StudentT.scale"))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return (len(self.location),)

    @property
    def mean(self) -> Array:
        """Expectation, where there is one."""
        if self.degrees <= 1:
            raise InvalidData("A t distribution with at most one degree of freedom has no mean.")
        return np.array(self.location)

    @property
    def variance(self) -> Array:
        """Covariance, where there is one."""
        if self.degrees <= 2:
            raise InvalidData("A t distribution with at most two degrees of freedom has no variance.")
        return np.asarray(self.scale * (self.degrees / (self.degrees - 2)))

    @property
    def mode(self) -> Array:
        """The location."""
        return np.array(self.location)

    def _log_density(self, x: Array) -> Array:
        from scipy.special import gammaln  # noqa: PLC0415

        d, v = len(self.location), self.degrees
        normal = MultivariateGaussian(self.location, self.scale)
        level = gammaln((v + d) / 2) - gammaln(v / 2) - 0.5 * (d * np.log(v * np.pi) + normal.log_det)
        return np.asarray(level - 0.5 * (v + d) * np.log1p(normal.mahalanobis(x) / v))

    def _sample(self, n: int, rng: Generator) -> Array:
        normal = MultivariateGaussian(np.zeros(len(self.location)), self.scale).sample(n, rng)
        return np.asarray(self.location + normal / np.sqrt(rng.chisquare(self.degrees, n) / self.degrees)[:, None])

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:  # noqa: ARG003
        raise InvalidData(
            "StudentT arises as a predictive distribution here and is not fitted. Fit GaussianInverseWishart instead."
        )


@dataclass(frozen=True, eq=False)
class Dirichlet(Distribution):
    """Probabilities of k categories: the conjugate prior of `Categorical`.

    Parameters
    ----------
    concentration : array-like of shape (k,)
        Pseudo-counts, positive.
    """

    concentration: Any
    event_ndim = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "concentration", vector(self.concentration, "Dirichlet.concentration", positive=True))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return (len(self.concentration),)

    @property
    def mean(self) -> Array:
        """Expectation."""
        return np.asarray(self.concentration / self.concentration.sum())

    @property
    def variance(self) -> Array:
        """Covariance."""
        return np.asarray((np.diag(self.mean) - np.outer(self.mean, self.mean)) / (self.concentration.sum() + 1))

    @property
    def mode(self) -> Array:
        """The most probable value."""
        if np.all(self.concentration == 1):
            return self.mean
        if np.any(self.concentration < 1):
            raise InvalidData(
                "A Dirichlet distribution with a concentration below one has no mode inside. Use the mean."
            )
        return np.asarray((self.concentration - 1) / (self.concentration.sum() - len(self.concentration)))

    @property
    def log_normaliser(self) -> float:
        """Logarithm of the integral that the density is divided by."""
        from scipy.special import gammaln  # noqa: PLC0415

        return float(gammaln(self.concentration).sum() - gammaln(self.concentration.sum()))

    def _log_density(self, x: Array) -> Array:
        from scipy.special import xlogy  # noqa: PLC0415

        inside = np.all(x >= 0, axis=-1) & (np.abs(x.sum(axis=-1) - 1) <= 1e-8)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = xlogy(self.concentration - 1, np.where(inside[..., None], x, 1.0)).sum(axis=-1)
        return np.where(inside, logs - self.log_normaliser, -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.dirichlet(self.concentration, n)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        """Maximise by Newton's method; the Hessian is diagonal plus a constant, so that a step costs O(k)."""
        from scipy.special import digamma, polygamma  # noqa: PLC0415

        if np.any(x <= 0) or not np.allclose(x.sum(axis=1), 1, atol=1e-8):
            raise InvalidData("Dirichlet.fit takes rows of positive numbers that sum to one.")
        share = s / s.sum()
        logs, mean = share @ np.log(x), share @ x
        spread = share @ (x - mean) ** 2
        if not np.any(spread > 0):
            raise InvalidData("Dirichlet.fit finds no maximum: the values are all equal.")
        total = np.median(mean * (1 - mean) / np.maximum(spread, 1e-300)) - 1
        a = mean * max(float(total), 1e-3)
        for _ in range(NEWTON_STEPS):
            gradient = digamma(a.sum()) - digamma(a) + logs
            curve, common = -polygamma(1, a), polygamma(1, a.sum())
            shift = np.sum(gradient / curve) / (1 / common + np.sum(1 / curve))
            step = (gradient - shift) / curve
            size = 1.0
            while np.any(a - size * step <= 0):
                size /= 2
            a = a - size * step
            if np.max(np.abs(step) / a) <= 1e-14:
                break
        return cls(a)

    def _entropy(self) -> float:
        from scipy.special import digamma  # noqa: PLC0415

        a = self.concentration
        return float(self.log_normaliser + (a.sum() - len(a)) * digamma(a.sum()) - (a - 1) @ digamma(a))

    def _divergence(self, other: Any) -> float:
        from scipy.special import digamma  # noqa: PLC0415

        a, b = self.concentration, other.concentration
        return float(other.log_normaliser - self.log_normaliser + (a - b) @ (digamma(a) - digamma(a.sum())))
