"""Coefficients between bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._penalty import PenaltyTraits
from qed.core import InvalidParameter

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class Box:
    """``lo <= w <= hi``: zero inside, infinite outside.

    Parameters
    ----------
    lo, hi : float or ndarray of shape (p,)
        Bounds with ``lo <= 0 <= hi``, one for all coordinates or one each; infinite ones do not bind.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Box
    >>> Box(-1.0, 2.0).prox(np.array([3.0, 0.5, -2.0]), 1.0)
    array([ 2. ,  0.5, -1. ])
    """

    lo: Any = -1.0
    hi: Any = 1.0

    def __post_init__(self) -> None:
        """Refuse a box without zero: the null model must be in it."""
        if not (np.all(np.asarray(self.lo) <= 0) and np.all(np.asarray(self.hi) >= 0)):
            raise InvalidParameter(
                f"Box needs lo <= 0 <= hi, got lo={self.lo!r} and hi={self.hi!r}: w = 0 must be allowed."
            )

    @property
    def traits(self) -> PenaltyTraits:
        """Walls; every dual point is feasible if all of them are finite."""
        bounding = bool(np.all(np.isfinite(self.lo)) and np.all(np.isfinite(self.hi)))
        return PenaltyTraits(is_smooth=False, is_separable=True, convexity=0.0, is_bounding=bounding)

    def value(self, w: Vector) -> float:
        """Return zero inside the box."""
        lo, hi = self._walls(w)
        return 0.0 if np.all((w >= lo) & (w <= hi)) else np.inf

    def prox(self, v: Vector, step: float | Vector) -> Vector:  # noqa: ARG002
        """Return v clipped to the box."""
        return np.clip(v, *self._walls(v))

    def conjugate(self, z: Vector) -> float:
        """Return ``sum(max(lo z, hi z))``."""
        lo, hi = self._walls(z)
        return float(np.sum(_times(hi, np.maximum(z, 0.0)) + _times(-lo, np.maximum(-z, 0.0))))

    def project(self, z: Vector) -> Vector:
        """Return z, or zero where it points at a wall that is infinitely far."""
        lo, hi = self._walls(z)
        return np.where(((z > 0) & (hi == np.inf)) | ((z < 0) & (lo == -np.inf)), 0.0, z)

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return one, or zero where z may point at a wall that is infinitely far."""
        lo, hi = self._walls(z)
        out = ((z + rounding_error > 0) & (hi == np.inf)) | ((z - rounding_error < 0) & (lo == -np.inf))
        return 0.0 if np.any(out) else 1.0

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return ``sum((hi - w) max(z, 0) + (w - lo) max(-z, 0))``."""
        if self.value(w) > 0:
            return np.inf, 0.0
        lo, hi = self._walls(w)
        value = _times(hi - w, np.maximum(z, 0.0)) + _times(w - lo, np.maximum(-z, 0.0))
        # z moves within its domain, where a wall that is infinitely far is never pointed at
        reach = np.maximum(np.where(np.isfinite(hi), hi - w, 0.0), np.where(np.isfinite(lo), w - lo, 0.0))
        return float(np.sum(value)), float(np.sum(reach * rounding_error))

    def slope(self, w: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(w)

    def curvature(self, w: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(w)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:
        """Say which coordinates are strictly inside after a step."""
        moved = w + (step if w.ndim == 1 else step[:, np.newaxis]) * z
        lo, hi = self._walls(w)
        inside = (moved > lo) & (moved < hi)
        return np.asarray(inside if inside.ndim == 1 else inside.any(axis=1))

    def numbers(self, p: int) -> tuple[Any, ...]:  # noqa: ARG002
        """Return nothing: no compiled loop asks."""
        return ()

    def take(self, columns: Any) -> Box:
        """Return the box of some coordinates."""
        lo, hi = (wall if np.ndim(wall) == 0 else wall[columns] for wall in (self.lo, self.hi))
        return Box(lo, hi)

    def __rmul__(self, factor: float) -> Box:
        """Return the same box: any factor times zero or infinity."""
        return self

    def _walls(self, w: Vector) -> tuple[Any, Any]:
        lo, hi = (np.asarray(wall, dtype=np.float64) for wall in (self.lo, self.hi))
        if w.ndim == 2:
            lo, hi = (wall[:, np.newaxis] if wall.ndim == 1 else wall for wall in (lo, hi))
        return lo, hi


def _times(size: Any, z: Vector) -> Vector:
    """Return the product, zero where z is zero however large the size."""
    return np.asarray(np.where(z == 0, 0.0, size) * z)
