"""Half the squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import centre
from qed.convex._loss import LossTraits, Vector
from qed.core._once import cached_property


@dataclass(frozen=True, eq=False)
class Squared:
    """Half the squared distance of the score from the target, ``(t - y)**2 / 2``; summed over several targets.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, k)
        Targets.
    """

    y: Vector

    @cached_property
    def traits(self) -> LossTraits:
        """Curvature one everywhere."""
        k = 1 if self.y.ndim == 1 else self.y.shape[1]
        return LossTraits(
            1.0, np.inf, has_curvature=True, is_quadratic=True, n_scores=k, native="squared", pieces=(1.0, 0.0)
        )

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return _rows(0.5 * (t - self.y) ** 2)

    def slope(self, t: Vector) -> Vector:
        """Return the residual."""
        return t - self.y

    def curvature(self, t: Vector) -> Vector:
        """Return one."""
        return np.ones_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return d."""
        return d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u**2 / 2 + u y``."""
        return _rows(u * (0.5 * u + self.y))

    def project(self, u: Vector) -> Vector:
        """Return u: any number will do."""
        return u

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u less its mean."""
        return centre(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``(t - y - u)**2 / 2``."""
        return _rows(0.5 * (t - self.y - u) ** 2)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the mean of v and the target, weighed by the step."""
        size = np.asarray(step)
        size = size[:, np.newaxis] if size.ndim < v.ndim and size.ndim == 1 else size
        return np.asarray((v + size * self.y) / (1.0 + size))

    def constant(self, c: Vector) -> Any:
        """Return the mean."""
        first = self.y[0]
        return first + c @ (self.y - first) / c.sum()

    def mean_of_constant(self, c: Vector, b: Any) -> float:
        """Return the mean loss of a constant score."""
        r = self.y - b
        return 0.5 * float((c @ (r * r)).sum())

    def take(self, rows: Any) -> Squared:
        """Return the loss of some rows."""
        return Squared(self.y[rows])


def _rows(values: Vector) -> Vector:
    return values if values.ndim == 1 else np.asarray(values.sum(axis=1))
