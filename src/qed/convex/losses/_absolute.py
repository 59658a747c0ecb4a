"""The absolute error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._centres import weighted_quantile
from qed.convex._loss import LossTraits, Vector
from qed.core._once import cached_property


@dataclass(frozen=True, eq=False)
class Absolute:
    """The distance of the score from the target, ``|t - y|``; its best constant is the median.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Absolute
    >>> loss = Absolute(np.array([0.0, 1.0, 50.0]))
    >>> loss.constant(np.ones(3))
    1.0
    """

    y: Vector

    @cached_property
    def traits(self) -> LossTraits:
        """Not differentiable at the target, slopes of one."""
        return LossTraits(np.inf, 1.0, has_curvature=False, native="absolute", pieces=(0.0, 0.0))

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.abs(t - self.y)

    def slope(self, t: Vector) -> Vector:
        """Return the sign of the residual."""
        return np.sign(t - self.y)

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u y`` for ``|u| <= 1``."""
        return np.where(np.abs(u) <= 1.0, u * self.y, np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u clipped to [-1, 1]."""
        return np.clip(u, -1.0, 1.0)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``|r| (1 - sign(r) u)``, for u in the domain."""
        r = t - self.y
        return np.asarray(np.abs(r) * (1.0 - np.sign(r) * u))

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v moved towards the target by the step, and no further."""
        r = v - self.y
        return np.asarray(self.y + np.sign(r) * np.maximum(np.abs(r) - step, 0.0))

    def constant(self, c: Vector) -> Any:
        """Return the weighted median."""
        return weighted_quantile(self.y, c)

    def take(self, rows: Any) -> Absolute:
        """Return the loss of some rows."""
        return Absolute(self.y[rows])
