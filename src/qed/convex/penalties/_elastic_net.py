"""The sum of absolute values and of squares, with or without a sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._penalty import PenaltyTraits, require_strength
from qed.core._once import cached_property

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """``sum(alpha * |w|) + ridge / 2 * sum(w**2)``, of coefficients that may be kept nonnegative.

    Parameters
    ----------
    alpha : float or ndarray of shape (p,)
        Strength of the absolute values, one for all coordinates or one each.
    ridge : float
        Strength of the squares.
    nonnegative : bool
        Whether negative coefficients are forbidden.
    """

    alpha: Any = 1.0
    ridge: float = 0.0
    nonnegative: bool = False

    def __post_init__(self) -> None:
        """Refuse strengths below zero."""
        require_strength("ElasticNet", self.alpha)
        require_strength("ElasticNet", self.ridge)

    @cached_property
    def traits(self) -> PenaltyTraits:
        """Not differentiable at zero; a conjugate that is a box without the ridge, and finite everywhere with it."""
        least, most = (self.alpha, self.alpha) if np.ndim(self.alpha) == 0 else (np.min(self.alpha), np.max(self.alpha))
        strong, smooth = bool(least > 0), not self.nonnegative and not most > 0
        bounding = strong or self.ridge > 0
        return PenaltyTraits(
            is_smooth=smooth, is_separable=True, convexity=float(self.ridge), is_bounding=bounding, native="kinks"
        )

    def value(self, w: Vector) -> float:
        """Return the penalty."""
        if self.nonnegative and np.any(w < 0):
            return np.inf
        squares = 0.5 * self.ridge * float((w * w).sum()) if self.ridge else 0.0
        return float((self._strength(w) * np.abs(w)).sum()) + squares

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v moved towards zero by ``step * alpha``, and no further, then divided by ``1 + step * ridge``."""
        step = _like(step, v)
        size = v if self.nonnegative else np.abs(v)
        kept = np.maximum(size - step * self._strength(v), 0.0)
        return np.asarray((kept if self.nonnegative else np.sign(v) * kept) / (1.0 + step * self.ridge))

    def conjugate(self, z: Vector) -> float:
        """Return what sticks out of the box, squared and divided by twice the ridge; ``inf`` if there is no ridge."""
        out = z - self._inside(z)
        if self.ridge == 0:
            return np.inf if np.any(out != 0) else 0.0
        return float(np.sum(out * out)) / (2 * self.ridge)

    def project(self, z: Vector) -> Vector:
        """Return z clipped to the box, or z itself with a ridge."""
        return z if self.ridge > 0 else self._inside(z)

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return the factor that brings the largest entry to its bound; one with a ridge."""
        if self.ridge > 0:
            return 1.0
        size = (z if self.nonnegative else np.abs(z)) + rounding_error
        if isinstance(self.alpha, float) or np.ndim(self.alpha) == 0:
            largest = float(size.max(initial=0.0))
            return 1.0 if largest <= self.alpha else float(self.alpha) / largest
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(size > 0, self._strength(z) / size, 1.0)
        return float(min(1.0, ratio.min(initial=1.0)))

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return the form of l1 for the part of z in the box, plus ``(ridge w - rest)**2 / (2 ridge)`` for the rest."""
        if self.nonnegative and np.any(w < 0):
            return np.inf, 0.0
        alpha, inside = self._strength(w), self._inside(z)
        size = np.abs(w)
        value = float((size * np.maximum(alpha - np.sign(w) * inside, 0.0)).sum())
        if self.ridge == 0:
            return value, float((size * rounding_error).sum())
        out = z - inside
        apart = self.ridge * w - out
        value += float(np.sum(apart * apart)) / (2 * self.ridge)
        # the conjugate's slope is out / ridge, and changes by rounding_error / ridge at most where z may leave the box
        reach = (z if self.nonnegative else np.abs(z)) + rounding_error > alpha
        more = np.abs(w - out / self.ridge) * rounding_error + np.where(
            reach, rounding_error * rounding_error / (2 * self.ridge), 0.0
        )
        return value, float(np.sum(more))

    def slope(self, w: Vector) -> Vector:
        """Return the gradient, where w is zero the subgradient nearest to zero."""
        return np.asarray(self._strength(w) * np.sign(w) + self.ridge * w)

    def curvature(self, w: Vector) -> Vector:
        """Return the ridge."""
        return np.full_like(w, self.ridge)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:
        """Say which coordinates are not zero after a step."""
        moved = self.prox(w + _like(step, w) * z, step) != 0
        return moved if moved.ndim == 1 else np.asarray(moved.any(axis=1))

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return the slopes on both sides of zero, and the ridge."""
        high = np.full(p, self.alpha, dtype=np.float64)
        return np.full(p, -np.inf) if self.nonnegative else -high, high, float(self.ridge)

    def take(self, columns: Any) -> ElasticNet:
        """Return the penalty of some coordinates."""
        alpha = self.alpha if np.ndim(self.alpha) == 0 else self.alpha[columns]
        return ElasticNet(alpha, self.ridge, self.nonnegative)

    def __rmul__(self, factor: float) -> ElasticNet:
        """Return the penalty times a factor."""
        return ElasticNet(factor * self.alpha, factor * self.ridge, self.nonnegative)

    def _strength(self, w: Vector) -> Any:
        return _like(self.alpha, w)

    def _inside(self, z: Vector) -> Vector:
        alpha = self._strength(z)
        return np.asarray(np.minimum(z, alpha) if self.nonnegative else np.minimum(np.maximum(z, -alpha), alpha))


def _like(row: Any, w: Vector) -> Any:
    """Give one number for each coordinate the shape of w."""
    return row[:, np.newaxis] if w.ndim == 2 and np.ndim(row) == 1 else row
