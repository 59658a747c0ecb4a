"""No penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._penalty import PenaltyTraits

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class Zero:
    """No penalty at all: zero for every w, with a conjugate that is finite at zero alone.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Zero
    >>> Zero().prox(np.array([3.0, -4.0]), 1.0)
    array([ 3., -4.])
    """

    @property
    def traits(self) -> PenaltyTraits:
        """Smooth, and bounds nothing."""
        return PenaltyTraits(is_smooth=True, is_separable=True, convexity=0.0, is_bounding=False, native="kinks")

    def value(self, w: Vector) -> float:  # noqa: ARG002
        """Return zero."""
        return 0.0

    def prox(self, v: Vector, step: float | Vector) -> Vector:  # noqa: ARG002
        """Return v."""
        return v

    def conjugate(self, z: Vector) -> float:
        """Return zero at zero."""
        return np.inf if np.any(z) else 0.0

    def project(self, z: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(z)

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return zero, unless there is nothing to shrink."""
        return 0.0 if np.any(z) or np.any(rounding_error) else 1.0

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:  # noqa: ARG002
        """Return zero for z = 0; rounding of any other z is charged where it is projected."""
        return self.conjugate(z), 0.0

    def slope(self, w: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(w)

    def curvature(self, w: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(w)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:  # noqa: ARG002
        """Say that all coordinates are free."""
        return np.ones(w.shape[0], dtype=bool)

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return no slopes and no ridge."""
        return np.zeros(p), np.zeros(p), 0.0

    def take(self, columns: Any) -> Zero:  # noqa: ARG002
        """Return the penalty of some coordinates."""
        return self

    def __rmul__(self, factor: float) -> Zero:
        """Return no penalty: any factor times zero."""
        return self
