"""The sum of absolute values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._penalty import PenaltyTraits, require_strength

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class L1:
    """``sum(alpha * |w|)``: makes coefficients zero.

    Parameters
    ----------
    alpha : float or ndarray of shape (p,)
        Strength, one for all coordinates or one each.
    """

    alpha: Any = 1.0

    def __post_init__(self) -> None:
        """Refuse strengths below zero."""
        require_strength("L1", self.alpha)

    @property
    def traits(self) -> PenaltyTraits:
        """Not differentiable at zero, and a conjugate that is a box."""
        bounding = bool(np.all(np.asarray(self.alpha) > 0))
        return PenaltyTraits(is_smooth=False, is_separable=True, convexity=0.0, is_bounding=bounding, native="kinks")

    def value(self, w: Vector) -> float:
        """Return the penalty."""
        return float(np.sum(self._strength(w) * np.abs(w)))

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v moved towards zero by ``step * alpha``, and no further."""
        return np.asarray(np.sign(v) * np.maximum(np.abs(v) - step * self._strength(v), 0.0))

    def conjugate(self, z: Vector) -> float:
        """Return zero inside the box ``|z| <= alpha``."""
        return 0.0 if np.all(np.abs(z) <= self._strength(z)) else np.inf

    def project(self, z: Vector) -> Vector:
        """Return z clipped to the box."""
        return np.clip(z, -self._strength(z), self._strength(z))

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return the factor that brings the largest entry to its bound."""
        size = np.abs(z) + rounding_error
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(size > 0, self._strength(z) / size, 1.0)
        return float(min(1.0, ratio.min(initial=1.0)))

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return ``sum(|w| (alpha - sign(w) z))`` for z in the box."""
        size = np.abs(w)
        value = np.sum(size * np.maximum(self._strength(w) - np.sign(w) * z, 0.0))
        return float(value), float(np.sum(size * rounding_error))

    def slope(self, w: Vector) -> Vector:
        """Return the signs times alpha; zero at zero."""
        return np.asarray(self._strength(w) * np.sign(w))

    def curvature(self, w: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(w)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:
        """Say which coordinates are not zero after a step."""
        moved = self.prox(w + _like(step, w) * z, _like(step, w)) != 0
        return moved if moved.ndim == 1 else np.asarray(moved.any(axis=1))

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return the slopes on both sides of zero, and no ridge."""
        high = np.full(p, self.alpha, dtype=np.float64)
        return -high, high, 0.0

    def take(self, columns: Any) -> L1:
        """Return the penalty of some coordinates."""
        return self if np.ndim(self.alpha) == 0 else L1(self.alpha[columns])

    def __rmul__(self, factor: float) -> L1:
        """Return the penalty times a factor."""
        return L1(factor * self.alpha)

    def _strength(self, w: Vector) -> Any:
        return _like(self.alpha, w)


def _like(row: Any, w: Vector) -> Any:
    """Give one number for each coordinate the shape of w."""
    return row[:, np.newaxis] if np.ndim(row) == 1 and w.ndim == 2 else row
