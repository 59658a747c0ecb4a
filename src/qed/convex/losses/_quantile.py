"""The loss whose minimiser is a quantile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._centres import weighted_quantile
from qed.convex._loss import LossTraits, Vector
from qed.core import InvalidParameter
from qed.core._once import cached_property


@dataclass(frozen=True, eq=False)
class Quantile:
    r"""A cost of tau for each unit too low and 1 - tau for each unit too high (the pinball loss).

    With r = t - y, ``tau * max(-r, 0) + (1 - tau) * max(r, 0)``.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets.
    tau : float
        Level between 0 and 1: the share of targets below the best constant.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Quantile
    >>> loss = Quantile(np.arange(11.0), tau=0.9)
    >>> loss.constant(np.ones(11))
    9.0
    """

    y: Vector
    tau: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a level that is none."""
        if not 0.0 <= self.tau <= 1.0:
            raise InvalidParameter(
                f"Quantile.tau must be between 0 and 1, got {self.tau!r}. It is the level of the quantile."
            )

    @cached_property
    def traits(self) -> LossTraits:
        """Not differentiable at the target."""
        return LossTraits(
            np.inf, max(self.tau, 1.0 - self.tau), has_curvature=False, native="quantile", pieces=(0.0, 0.0)
        )

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        r = t - self.y
        return np.where(r > 0, (1.0 - self.tau) * r, -self.tau * r)

    def slope(self, t: Vector) -> Vector:
        """Return ``1 - tau`` above the target, ``-tau`` below, zero on it."""
        r = t - self.y
        return np.where(r > 0, 1.0 - self.tau, np.where(r < 0, -self.tau, 0.0))

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u y`` for u from ``-tau`` to ``1 - tau``."""
        return np.where((u >= -self.tau) & (u <= 1.0 - self.tau), u * self.y, np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u clipped to the slopes there are."""
        return np.clip(u, -self.tau, 1.0 - self.tau)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``(1 - tau - u) max(r, 0) + (u + tau) max(-r, 0)``, for u in the domain."""
        r = t - self.y
        return np.where(r > 0, (1.0 - self.tau - u) * r, -(u + self.tau) * r)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v moved towards the target by ``step`` times the slope, and no further."""
        r = v - self.y
        down, up = step * (1.0 - self.tau), step * self.tau
        return np.asarray(self.y + np.where(r > down, r - down, np.where(r < -up, r + up, 0.0)))

    def constant(self, c: Vector) -> Any:
        """Return the weighted quantile."""
        return weighted_quantile(self.y, c, self.tau)

    def take(self, rows: Any) -> Quantile:
        """Return the loss of some rows."""
        return Quantile(self.y[rows], self.tau)
