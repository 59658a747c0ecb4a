"""Decomposition of a covariance: directions in which columns vary independently, and the variances along them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed.core import InvalidData

Array = np.ndarray[Any, np.dtype[np.float64]]
CIRCLE = float(np.log(2 * np.pi))


class Axes(NamedTuple):
    """Orthogonal directions of a covariance whose columns were divided by their deviations.

    Attributes
    ----------
    deviation : ndarray of shape (p,)
        Deviation of each column; one where there is none.
    variance : ndarray of shape (r,)
        Variances along the directions, the largest first; those that cannot be told from zero are left out.
    direction : ndarray of shape (p, r)
        The directions, in scaled columns.
    """

    deviation: Array
    variance: Array
    direction: Array

    @classmethod
    def of(cls, covariance: Array, least: float) -> Axes:
        """Take a covariance apart, without directions along which scaled columns vary by ``least`` or less."""
        deviation = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        deviation = np.where(deviation > 0, deviation, 1.0)
        scaled = covariance / deviation / deviation[:, np.newaxis]
        try:
            variance, direction = np.linalg.eigh(scaled)
        except np.linalg.LinAlgError as failure:
            raise InvalidData("A covariance holds numbers too large to solve with. Scale the columns.") from failure
        kept = int(np.count_nonzero(variance > least * least))
        order = np.arange(len(variance) - 1, len(variance) - 1 - kept, -1)
        return cls(deviation, variance[order], np.ascontiguousarray(direction[:, order]))

    @property
    def whitening(self) -> Array:
        """Directions in plain columns that make variances one, (p, r)."""
        return self.direction / np.sqrt(self.variance) / self.deviation[:, np.newaxis]

    def solve(self, B: Array) -> Array:
        """Return the covariance's inverse, on the directions there are, times the rows of ``B``, (k, p)."""
        along = (B / self.deviation) @ self.direction
        return np.asarray((along / self.variance) @ self.direction.T / self.deviation)

    def backward_error(self, covariance: Array, B: Array, W: Array) -> float:
        """Return the relative size of what ``covariance @ W.T`` misses of ``B.T``, along the directions there are."""
        scaled = covariance / self.deviation / self.deviation[:, np.newaxis]
        w, b = W * self.deviation, B / self.deviation
        missed = (w @ scaled - b) @ self.direction
        size = np.linalg.norm(w, axis=1) * self.variance.max(initial=0.0) + np.linalg.norm(b, axis=1)
        lengths = np.linalg.norm(missed, axis=1)
        return float(np.max(np.divide(lengths, size, out=np.zeros_like(size), where=size > 0), initial=0.0))

    def mean_log_density(self, observed: Array) -> float:
        """Return the mean logarithm of the density of rows that have the covariance ``observed`` about the same mean.

        Where directions are left out it is the density of the others, in scaled columns.
        """
        scaled = observed / self.deviation / self.deviation[:, np.newaxis]
        along = np.einsum("jr,jr->r", scaled @ self.direction, self.direction)
        unit = float(np.log(self.deviation).sum()) if len(self.variance) == len(self.deviation) else 0.0
        return float(-0.5 * (CIRCLE + np.log(self.variance) + along / self.variance).sum() - unit)
