"""The loss of support vector machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._loss import LossTraits, Vector, require_signs
from qed.core._once import cached_property


@dataclass(frozen=True, eq=False)
class Hinge:
    """How much the margin falls short of one, ``max(1 - y t, 0)`` for labels y of -1 and +1.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels, -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Hinge
    >>> Hinge(np.ones(4)).value(np.array([0.0, 0.5, 1.0, 2.0]))
    array([1. , 0.5, 0. , 0. ])
    """

    y: Vector

    def __post_init__(self) -> None:
        """Refuse other labels."""
        require_signs("Hinge", self.y)

    @cached_property
    def traits(self) -> LossTraits:
        """Not differentiable at margin one, slopes of one."""
        return LossTraits(np.inf, 1.0, has_curvature=False, native="hinge", pieces=(0.0, 0.0))

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.maximum(1.0 - self.y * t, 0.0)

    def slope(self, t: Vector) -> Vector:
        """Return ``-y`` where the margin is below one."""
        return np.where(self.y * t < 1.0, -self.y, 0.0)

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return ``-q`` for ``q = -y u`` between 0 and 1."""
        q = -self.y * u
        return np.where((q >= 0.0) & (q <= 1.0), -q, np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u with ``-y u`` clipped to [0, 1]."""
        return np.asarray(-self.y * np.clip(-self.y * u, 0.0, 1.0))

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``(1 - q) max(1 - m, 0) + q max(m - 1, 0)`` with margin m, for u in the domain."""
        short, q = 1.0 - self.y * t, -self.y * u
        return np.where(short > 0, (1.0 - q) * short, -q * short)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v with its margin raised by the step, and no further than one."""
        m = self.y * v
        return np.asarray(self.y * np.where(m < 1.0, np.minimum(m + step, 1.0), m))

    def constant(self, c: Vector) -> Any:
        """Return the label that weighs more; zero if they weigh the same."""
        return float(np.sign(np.sum(c * self.y)))

    def mean_of_constant(self, c: Vector, b: float) -> float:
        """Return the weighted mean loss of one score for all rows, from the weights of the two labels."""
        minus, plus = np.bincount(self.y > 0, c, minlength=2).tolist()
        return float(plus * max(1.0 - b, 0.0) + minus * max(1.0 + b, 0.0))

    def take(self, rows: Any) -> Hinge:
        """Return the loss of some rows."""
        return Hinge(self.y[rows])
