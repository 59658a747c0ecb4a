"""Gaussian processes: distributions of functions, which take up observations as Gaussians do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.core._once import cached_property
from qed.distributions._distribution import LOG_TWO_PI, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A function of which the values at any points are jointly Gaussian, with mean zero before any observation.

    Parameters
    ----------
    kernel : callable
        ``kernel(A, B)`` returns the covariances of values at points, shape (len(A), len(B)).
    points : ndarray of shape (n, d), optional
        Where the function was observed.
    values : ndarray of shape (n,), optional
        What was observed there.
    noise : ndarray of shape (n,), optional
        Variances of the observations about the function.
    """

    kernel: Callable[[Any, Any], Any]
    points: Any = None
    values: Any = None
    noise: Any = None

    def posterior(self, points: Any, values: Any, noise_variance: float = 0.0) -> GaussianProcess:
        """Return the process after more observations.

        Parameters
        ----------
        points : array-like of shape (n, d)
            Where the function was observed.
        values : array-like of shape (n,)
            What was observed.
        noise_variance : float
            Variance of an observation about the function.

        Returns
        -------
        GaussianProcess
            The posterior process; one batch after the other gives the same as all at once.
        """
        x, y = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if x.ndim != 2 or y.shape != x.shape[:1] or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InvalidData(
                f"Points (n, d) and values (n,) are needed, all finite, got shapes {x.shape} and {y.shape}."
            )
        v = np.full(len(y), number(noise_variance, "noise_variance", 0, np.inf, open_ends=False))
        if self.points is None:
            return GaussianProcess(self.kernel, x, y, v)
        old = (self.points, self.values, self.noise)
        return GaussianProcess(self.kernel, *(np.concatenate(pair) for pair in zip(old, (x, y, v), strict=True)))

    @cached_property
    def _factor(self) -> Array:
        try:
            return np.linalg.cholesky(np.asarray(self.kernel(self.points, self.points)) + np.diag(self.noise))
        except np.linalg.LinAlgError:
            raise InvalidData(
                "The observations have a singular covariance: points coincide and are observed without noise. Set noise_variance."
            ) from None

    def _white(self, x: Array) -> Array:
        return np.asarray(np.linalg.solve(self._factor, np.asarray(self.kernel(self.points, x))))

    def mean(self, points: Any) -> Array:
        """Return the expected values of the function.

        Parameters
        ----------
        points : array-like of shape (m, d)
            Where.

        Returns
        -------
        ndarray of shape (m,)
            Means.
        """
        x = np.asarray(points, dtype=np.float64)
        if self.points is None:
            return np.zeros(len(x))
        return np.asarray(self._white(x).T @ np.linalg.solve(self._factor, self.values))

    def covariance(self, points: Any) -> Array:
        """Return the covariances of the values of the function.

        Parameters
        ----------
        points : array-like of shape (m, d)
            Where.

        Returns
        -------
        ndarray of shape (m, m)
            Covariances; the diagonal holds the variances.
        """
        x = np.asarray(points, dtype=np.float64)
        prior = np.asarray(self.kernel(x, x))
        if self.points is None:
            return prior
        white = self._white(x)
        return np.asarray(prior - white.T @ white)

    def log_evidence(self) -> float:
        """Return the logarithm of the marginal likelihood of the observations.

        Returns
        -------
        float
            In nats; zero before any observation.
        """
        if self.points is None:
            return 0.0
        white = np.linalg.solve(self._factor, self.values)
        return float(-0.5 * white @ white - np.log(np.diagonal(self._factor)).sum() - 0.5 * len(white) * LOG_TWO_PI)
