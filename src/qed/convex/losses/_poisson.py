"""Half the Poisson deviance of counts whose mean is the exponential of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._divergence import divergence
from qed.convex._kernels import loss_excess
from qed.convex._loss import LossTraits, Vector
from qed.core import InvalidData

LOWEST = -700.0  # the constant score of counts that are all zero

TRAITS = LossTraits(np.inf, np.inf, has_curvature=True, native="poisson", self_concordance=1.0)


@dataclass(frozen=True, eq=False)
class Poisson:
    """``y log(y / m) - y + m`` with ``m = exp(t)``, for counts (or any numbers) y >= 0.

    With ``v = u + y >= 0`` a rate, the excess is the same divergence of v from m.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Counts, not negative.
    """

    y: Vector

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if float(self.y.min(initial=0.0)) < 0.0:
            raise InvalidData(f"Poisson takes numbers >= 0, got {float(self.y.min())}.")

    @property
    def traits(self) -> LossTraits:
        """Neither slope nor curvature is bounded."""
        return TRAITS

    def value(self, t: Vector) -> Vector:
        """Return half the deviance of each row."""
        return divergence(self.y, _exp(t), t)

    def slope(self, t: Vector) -> Vector:
        """Return the mean less the count."""
        return np.asarray(_exp(t) - self.y)

    def curvature(self, t: Vector) -> Vector:
        """Return the mean."""
        return _exp(t)

    def largest_curvature(self, t: Vector) -> float:
        """Return the largest of the means."""
        return float(_exp(np.max(t, initial=-np.inf, keepdims=True)).max())

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the mean times d."""
        return _exp(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``v log v - v - y log y + y`` with ``v = u + y``."""
        v = u + self.y
        with np.errstate(divide="ignore", invalid="ignore"):
            value = _entropy(np.maximum(v, 0.0)) - _entropy(self.y) - u
        return np.asarray(np.where(v >= 0, value, np.inf))

    def project(self, u: Vector) -> Vector:
        """Return u, at least -y."""
        return np.maximum(u, -self.y)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return the divergence of the rate ``u + y`` from the mean."""
        return loss_excess("poisson", t, self.y, u)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the minimiser by Newton steps from above, where they cannot overshoot."""
        # with t = x - log(step): exp(x) + x = log(step) + v + step y, increasing and convex in x
        step = np.broadcast_to(np.asarray(step, dtype=np.float64), np.shape(v))
        goal = np.log(step) + v + step * self.y
        x = np.where(goal > 1.0, np.log(np.maximum(goal, 1.0)), goal)
        for _ in range(100):
            e = np.exp(x)
            new = x - (e + x - goal) / (e + 1.0)
            done = np.all(np.abs(new - x) <= 1e-15 * np.maximum(1.0, np.abs(x)))
            x = new
            if done:
                break
        return np.asarray(x - np.log(step))

    def constant(self, c: Vector) -> Any:
        """Return the logarithm of the mean count."""
        mean = float(c @ self.y) / float(c.sum())
        return max(float(np.log(mean)), LOWEST) if mean > 0 else LOWEST

    def take(self, rows: Any) -> Poisson:
        """Return the loss of some rows."""
        return Poisson(self.y[rows])


def _exp(t: Vector) -> Vector:
    with np.errstate(over="ignore"):
        return np.exp(t)


def _entropy(v: Vector) -> Vector:
    return np.where(v > 0, v * np.log(v), 0.0)
