"""Mistakes, counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._loss import LossTraits, Vector, require_signs


@dataclass(frozen=True, eq=False)
class ZeroOne:
    """One for a mistake and zero otherwise, ``[y t <= 0]`` for labels y of -1 and +1; a score of zero decides nothing.

    It is what classifiers are judged by and what none of them minimises: not convex, flat wherever it does not jump. Being
    bounded, it has no linear lower bound but zero, and only a dual point of zero.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels, -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import ZeroOne
    >>> ZeroOne(np.array([1.0, 1.0, -1.0])).value(np.array([0.5, -0.1, -3.0]))
    array([0., 1., 0.])
    """

    y: Vector

    def __post_init__(self) -> None:
        """Refuse other labels."""
        require_signs("ZeroOne", self.y)

    @property
    def traits(self) -> LossTraits:
        """Not convex; flat, with a jump."""
        return LossTraits(np.inf, 0.0, has_curvature=False, is_convex=False)

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.asarray((self.y * t <= 0.0).astype(np.float64))

    def slope(self, t: Vector) -> Vector:
        """Return zero, the slope on both sides of the jump."""
        return np.zeros_like(t)

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return zero at zero: a bounded loss lies above no other line."""
        return np.where(u == 0.0, 0.0, np.inf)

    def project(self, u: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(u)

    def balanced(self, u: Vector, c: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(u)

    def excess(self, t: Vector, u: Vector) -> Vector:  # noqa: ARG002
        """Return the loss, for the one dual point there is."""
        return self.value(t)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v, or the least score on the right side where getting there costs less than the mistake."""
        m = self.y * v
        right = np.finfo(np.float64).tiny
        return np.asarray(self.y * np.where((m <= 0) & (0.5 * m * m < step), right, m))

    def constant(self, c: Vector) -> Any:
        """Return the label that weighs more, +1 if they weigh the same."""
        return 1.0 if np.sum(c * self.y) >= 0 else -1.0

    def take(self, rows: Any) -> ZeroOne:
        """Return the loss of some rows."""
        return ZeroOne(self.y[rows])
