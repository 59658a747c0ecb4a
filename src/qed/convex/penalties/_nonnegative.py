"""Coefficients that may not be negative."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._penalty import Penalty, PenaltyTraits
from qed.convex.penalties._zero import Zero
from qed.core import InvalidParameter

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class Nonnegative:
    """``w >= 0``, and another penalty of what is allowed: with `L1` the nonnegative lasso, with `L2` the nonnegative ridge.

    The other penalty must be a sum over coordinates that is least at zero. Then a proximal step is the other's, cut off at
    zero, and the conjugate at z is the other's at ``max(z, 0)``.

    Parameters
    ----------
    other : Penalty
        What nonnegative coefficients cost; nothing by default.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import L1, Nonnegative
    >>> Nonnegative(L1(1.0)).prox(np.array([3.0, 0.5, -2.0]), 1.0)
    array([2., 0., 0.])
    """

    other: Penalty = field(default_factory=Zero)

    def __post_init__(self) -> None:
        """Refuse what cannot be cut off coordinate by coordinate."""
        if not self.other.traits.is_separable:
            raise InvalidParameter(
                f"Nonnegative needs a penalty that is a sum over coordinates; {type(self.other).__name__} is none."
            )
        if np.any(self.other.slope(np.zeros(_length(self.other)))):
            raise InvalidParameter(
                "Nonnegative needs a penalty that is least at zero; this one has its least elsewhere."
            )

    @property
    def traits(self) -> PenaltyTraits:
        """A wall at zero; otherwise those of the other penalty."""
        inner = self.other.traits
        return PenaltyTraits(
            is_smooth=False,
            is_separable=True,
            convexity=inner.convexity,
            is_bounding=inner.is_bounding,
            native="kinks" if inner.native == "kinks" else None,
        )

    def value(self, w: Vector) -> float:
        """Return the other penalty, ``inf`` if a coefficient is negative."""
        return np.inf if np.any(w < 0) else self.other.value(w)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the step of the other penalty, cut off at zero."""
        return np.maximum(self.other.prox(v, step), 0.0)

    def conjugate(self, z: Vector) -> float:
        """Return the other conjugate at the positive part of z."""
        return self.other.conjugate(np.maximum(z, 0.0))

    def project(self, z: Vector) -> Vector:
        """Return z, the positive entries of it projected by the other penalty."""
        return np.where(z > 0, self.other.project(np.maximum(z, 0.0)), z)

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return the other factor for the positive part of z, whatever it may be within its rounding."""
        return self.other.shrink(np.maximum(z + rounding_error, 0.0), np.zeros_like(z))

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return the other excess at the positive part of z, plus ``w max(-z, 0)``."""
        if np.any(w < 0):
            return np.inf, 0.0
        value, more = self.other.excess(w, np.maximum(z, 0.0), rounding_error)
        return value + float(np.sum(w * np.maximum(-z, 0.0))), more + float(np.sum(w * rounding_error))

    def slope(self, w: Vector) -> Vector:
        """Return the gradient of the other penalty, zero on the wall."""
        return np.where(w > 0, self.other.slope(w), 0.0)

    def curvature(self, w: Vector) -> Vector:
        """Return that of the other penalty."""
        return self.other.curvature(w)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:
        """Say which coordinates are away from the wall after a step, where the other penalty is smooth too."""
        size = step if w.ndim == 1 else step[:, np.newaxis]
        away = self.prox(w + size * z, size) > 0
        return np.logical_and(away if away.ndim == 1 else np.any(away, axis=1), self.other.free(w, z, step))

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return the slopes on both sides of zero, infinite below, and the ridge, where the other penalty has them."""
        if self.other.traits.native != "kinks":
            return ()
        _, high, ridge = self.other.numbers(p)
        return np.full(p, -np.inf), high, ridge

    def take(self, columns: Any) -> Nonnegative:
        """Return the penalty of some coordinates."""
        return Nonnegative(self.other.take(columns))

    def __rmul__(self, factor: float) -> Nonnegative:
        """Return the other penalty times a factor, and the same wall."""
        return Nonnegative(factor * self.other)


def _length(penalty: Penalty) -> int:
    """Return how many coordinates a penalty was given numbers for; one if it takes any."""
    sizes = [len(number) for number in vars(penalty).values() if np.ndim(number) > 0]
    return max(sizes, default=1)
