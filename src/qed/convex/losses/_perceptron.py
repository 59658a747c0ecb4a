"""The loss of the perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._loss import LossTraits, Vector, require_signs


@dataclass(frozen=True, eq=False)
class Perceptron:
    """How far the score lies on the wrong side, ``max(-y t, 0)`` for labels y of -1 and +1.

    All scores zero have no loss although they separate nothing: the least loss says little here, the mistakes made on the
    way to it do.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels, -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Perceptron
    >>> Perceptron(np.ones(3)).value(np.array([-2.0, 0.0, 1.0]))
    array([2., 0., 0.])
    """

    y: Vector

    def __post_init__(self) -> None:
        """Refuse other labels."""
        require_signs("Perceptron", self.y)

    @property
    def traits(self) -> LossTraits:
        """Not differentiable at zero, slopes of one."""
        return LossTraits(np.inf, 1.0, has_curvature=False, native="perceptron")

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.maximum(-self.y * t, 0.0)

    def slope(self, t: Vector) -> Vector:
        """Return ``-y`` on the wrong side."""
        return np.where(self.y * t < 0.0, -self.y, 0.0)

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return zero for ``-y u`` between 0 and 1."""
        q = -self.y * u
        return np.where((q >= 0.0) & (q <= 1.0), 0.0, np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u with ``-y u`` clipped to [0, 1]."""
        return np.asarray(-self.y * np.clip(-self.y * u, 0.0, 1.0))

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``(1 - q) max(-m, 0) + q max(m, 0)`` with margin m and ``q = -y u``, for u in the domain."""
        m, q = self.y * t, -self.y * u
        return np.where(m < 0, -(1.0 - q) * m, q * m)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v with its margin raised by the step, and no further than zero."""
        m = self.y * v
        return np.asarray(self.y * np.where(m < 0.0, np.minimum(m + step, 0.0), m))

    def constant(self, c: Vector) -> Any:  # noqa: ARG002
        """Return zero, which has no loss."""
        return 0.0

    def take(self, rows: Any) -> Perceptron:
        """Return the loss of some rows."""
        return Perceptron(self.y[rows])
