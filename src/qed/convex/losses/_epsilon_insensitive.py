"""Errors that count only beyond a width."""

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
class EpsilonInsensitive:
    """The distance of the score from a tube around the target, ``max(|t - y| - epsilon, 0)``.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets.
    epsilon : float >= 0
        Half the width of the tube, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import EpsilonInsensitive
    >>> EpsilonInsensitive(np.zeros(3), epsilon=0.5).value(np.array([0.25, 0.5, -2.0]))
    array([0. , 0. , 1.5])
    """

    y: Vector
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Refuse a negative width."""
        if not self.epsilon >= 0:
            raise InvalidParameter(
                f"EpsilonInsensitive.epsilon must be a number >= 0, got {self.epsilon!r}. Smaller errors cost nothing."
            )

    @cached_property
    def traits(self) -> LossTraits:
        """Not differentiable at both walls of the tube, slopes of one."""
        return LossTraits(
            np.inf, 1.0, has_curvature=False, native="epsilon_insensitive", pieces=(0.0, float(self.epsilon))
        )

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.maximum(np.abs(t - self.y) - self.epsilon, 0.0)

    def slope(self, t: Vector) -> Vector:
        """Return the sign of the residual outside the tube, zero inside and on its wall."""
        r = t - self.y
        return np.where(np.abs(r) > self.epsilon, np.sign(r), 0.0)

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u y + epsilon |u|`` for ``|u| <= 1``."""
        return np.where(np.abs(u) <= 1.0, u * self.y + self.epsilon * np.abs(u), np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u clipped to [-1, 1]."""
        return np.clip(u, -1.0, 1.0)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return what the side of the tube that u names, and the distance from its wall, leave open; u in the domain."""
        r = t - self.y
        size, beyond = np.abs(u), np.sign(u) * r - self.epsilon  # beyond the wall that u points at
        other = np.maximum(-np.sign(u) * r - self.epsilon, 0.0)  # beyond the other one, or either where u is zero
        other = np.where(u == 0, self.value(t), other)
        toward = np.where(u == 0, 0.0, np.where(beyond > 0, (1.0 - size) * beyond, -size * beyond))
        return np.asarray(toward + other)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v moved towards the tube by the step, and no further than its wall."""
        r = v - self.y
        size = np.abs(r)
        return np.asarray(self.y + np.sign(r) * np.minimum(size, np.maximum(size - step, self.epsilon)))

    def constant(self, c: Vector) -> Any:
        """Return the weighted median of all walls: the loss is half the sum of the distances from the two."""
        walls = np.concatenate([self.y - self.epsilon, self.y + self.epsilon])
        return weighted_quantile(walls, np.concatenate([c, c]))

    def take(self, rows: Any) -> EpsilonInsensitive:
        """Return the loss of some rows."""
        return EpsilonInsensitive(self.y[rows], self.epsilon)
