"""Squared errors that count only beyond a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import centre
from qed.convex._centres import root
from qed.convex._loss import LossTraits, Vector
from qed.core import InvalidParameter
from qed.core._once import cached_property


@dataclass(frozen=True, eq=False)
class SquaredEpsilonInsensitive:
    """Half the squared distance of the score from a tube around the target, ``max(|t - y| - epsilon, 0)**2 / 2``.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets.
    epsilon : float >= 0
        Half the width of the tube, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(np.zeros(3), epsilon=0.5).value(np.array([0.25, 0.5, -2.5]))
    array([0., 0., 2.])
    """

    y: Vector
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Refuse a negative width."""
        if not self.epsilon >= 0:
            raise InvalidParameter(
                f"SquaredEpsilonInsensitive.epsilon must be a number >= 0, got {self.epsilon!r}. "
                "Smaller errors cost nothing."
            )

    @cached_property
    def traits(self) -> LossTraits:
        """Curvature zero in the tube and one outside."""
        return LossTraits(
            1.0, np.inf, has_curvature=True, native="squared_epsilon_insensitive", pieces=(1.0, float(self.epsilon))
        )

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.asarray(0.5 * self.slope(t) ** 2)

    def slope(self, t: Vector) -> Vector:
        """Return the distance from the tube, signed."""
        r = t - self.y
        return np.asarray(np.sign(r) * np.maximum(np.abs(r) - self.epsilon, 0.0))

    def curvature(self, t: Vector) -> Vector:
        """Return one outside the tube."""
        return np.asarray((np.abs(t - self.y) > self.epsilon).astype(np.float64))

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the curvature times d."""
        return self.curvature(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u**2 / 2 + u y + epsilon |u|``."""
        return np.asarray(u * (0.5 * u + self.y + self.epsilon * np.sign(u)))

    def project(self, u: Vector) -> Vector:
        """Return u: any number will do."""
        return u

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u less its mean."""
        return centre(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return half the squared difference from the slope, plus what u costs inside the tube or on the other side."""
        r = t - self.y
        size, along = np.abs(u), np.where(u == 0, np.abs(r), np.sign(u) * r)
        h = np.maximum(along - self.epsilon, 0.0)  # beyond the wall that u points at
        other = np.maximum(-along - self.epsilon, 0.0)
        short = np.maximum(self.epsilon - along, 0.0)
        return np.asarray(0.5 * (h - size) ** 2 + 0.5 * other**2 + size * short)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v in the tube, and a mean of v and the wall outside it."""
        r = v - self.y
        size = np.abs(r)
        out = np.where(size > self.epsilon, (size + step * self.epsilon) / (1.0 + step), size)
        return np.asarray(self.y + np.sign(r) * out)

    def constant(self, c: Vector) -> Any:
        """Return where the distances from the tubes balance."""
        return root(
            lambda b: float(c @ self.slope(np.asarray(b))),
            lambda b: float(c @ self.curvature(np.asarray(b))),
            float(self.y.min()),
            float(self.y.max()),
        )

    def take(self, rows: Any) -> SquaredEpsilonInsensitive:
        """Return the loss of some rows."""
        return SquaredEpsilonInsensitive(self.y[rows], self.epsilon)
