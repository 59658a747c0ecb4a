"""The logistic loss: minus the log-likelihood of a label under a probability that is linear on the log-odds scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._kernels import loss_excess, loss_slope, loss_value
from qed.convex._loss import LossTraits, Vector, require_signs

FURTHEST = 36.0  # a constant score beyond which the loss of the likelier label is below the rounding of one

TRAITS = LossTraits(0.25, 1.0, has_curvature=True, native="logistic", self_concordance=1.0)


@dataclass(frozen=True, eq=False)
class Logistic:
    """``log(1 + exp(-y t))`` for labels y of -1 and +1.

    With ``q = -y u`` a probability, the conjugate is minus the entropy of the coin q, and the excess is the divergence of q
    from the probability that the score gives to the other label.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels, -1 or +1.
    """

    y: Vector

    def __post_init__(self) -> None:
        """Refuse other labels."""
        require_signs("Logistic", self.y)

    @property
    def traits(self) -> LossTraits:
        """Curvature at most a quarter, slope at most one."""
        return TRAITS

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return loss_value("logistic", t, self.y)

    def slope(self, t: Vector) -> Vector:
        """Return minus y times the probability of the other label."""
        return loss_slope("logistic", t, self.y)

    def curvature(self, t: Vector) -> Vector:
        """Return the variance of the label."""
        p = sigmoid(-np.abs(t))
        return np.asarray(p * (1.0 - p))

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the variance of the label times d."""
        return self.curvature(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return minus the entropy of the coin ``-y u``."""
        q = -self.y * u
        inside = (q >= 0) & (q <= 1)
        q = np.where(inside, q, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(q > 0, q * np.log(q), 0.0) + np.where(q < 1, (1 - q) * np.log1p(-q), 0.0)
        return np.asarray(np.where(inside, entropy, np.inf))

    def project(self, u: Vector) -> Vector:
        """Return u with ``-y u`` clipped to [0, 1]."""
        return np.asarray(-self.y * np.clip(-self.y * u, 0.0, 1.0))

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return the divergence of the coin ``-y u`` from the one that the score gives."""
        return loss_excess("logistic", t, self.y, u)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the minimiser by Newton steps from zero, where the curvature turns, so that they never overshoot."""
        at = self.y * v
        m = np.zeros_like(at)
        for _ in range(200):
            p = sigmoid(-m)
            move = (m - at - step * p) / (1.0 + step * p * (1.0 - p))
            m = m - move
            if np.all(np.abs(move) <= 1e-15 * np.abs(m)):
                break
        return np.asarray(self.y * m)

    def constant(self, c: Vector) -> Any:
        """Return the log-odds of the labels; where there is one label alone, a score that leaves next to no loss."""
        up, down = self._shares(c)
        if up <= 0 or down <= 0:
            return FURTHEST if up > 0 else -FURTHEST
        return float(np.clip(np.log(up) - np.log(down), -700.0, 700.0))

    def mean_of_constant(self, c: Vector, b: float) -> float:
        """Return the weighted mean loss where all rows have the same score."""
        up, down = self._shares(c)
        return float(up * np.logaddexp(0.0, -b) + down * np.logaddexp(0.0, b))

    def _shares(self, c: Vector) -> tuple[float, float]:
        """Return the weights of both labels."""
        both, rest = float(c.sum()), float(c @ self.y)
        if abs(rest) <= 0.9 * both:
            return 0.5 * (both + rest), 0.5 * (both - rest)
        # a difference would cancel
        return float(c @ np.maximum(self.y, 0.0)), float(c @ np.maximum(-self.y, 0.0))

    def take(self, rows: Any) -> Logistic:
        """Return the loss of some rows."""
        return Logistic(self.y[rows])


def sigmoid(x: Vector) -> Vector:
    """Return ``1 / (1 + exp(-x))``, to full relative accuracy at both ends."""
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, e) / (1.0 + e))
