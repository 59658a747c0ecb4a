"""Half the square of the hinge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._loss import LossTraits, Vector, require_signs
from qed.core._once import cached_property


@dataclass(frozen=True, eq=False)
class SquaredHinge:
    """Half the square of what the margin lacks to one, ``max(1 - y t, 0)**2 / 2`` for labels y of -1 and +1.

    With several columns of labels, the sum over them: one hyperplane for each.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, k)
        Labels, -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import SquaredHinge
    >>> SquaredHinge(np.ones(3)).value(np.array([-1.0, 0.0, 2.0]))
    array([2. , 0.5, 0. ])
    """

    y: Vector

    def __post_init__(self) -> None:
        """Refuse other labels."""
        require_signs("SquaredHinge", self.y)

    @cached_property
    def traits(self) -> LossTraits:
        """Curvature one, then zero."""
        k = 1 if self.y.ndim == 1 else self.y.shape[1]
        return LossTraits(1.0, np.inf, has_curvature=True, n_scores=k, native="squared_hinge", pieces=(1.0, 0.0))

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return _rows(0.5 * np.maximum(1.0 - self.y * t, 0.0) ** 2)

    def slope(self, t: Vector) -> Vector:
        """Return ``-y`` times what the margin lacks."""
        return np.asarray(-self.y * np.maximum(1.0 - self.y * t, 0.0))

    def curvature(self, t: Vector) -> Vector:
        """Return one below margin one, zero above."""
        return np.asarray((self.y * t < 1.0).astype(np.float64))

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the curvature times d."""
        return self.curvature(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``q**2 / 2 - q`` for ``q = -y u >= 0``."""
        q = -self.y * u
        return _rows(np.where(q >= 0.0, q * (0.5 * q - 1.0), np.inf))

    def project(self, u: Vector) -> Vector:
        """Return u, or zero where it has the sign of y."""
        return np.where(self.y * u > 0.0, 0.0, u)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``(max(1 - m, 0) - q)**2 / 2 + q max(m - 1, 0)`` with margin m, for u in the domain."""
        short, q = 1.0 - self.y * t, -self.y * u
        return _rows(0.5 * (np.maximum(short, 0.0) - q) ** 2 + q * np.maximum(-short, 0.0))

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return a mean of v and margin one, where the margin is below it."""
        m, size = self.y * v, np.asarray(step)
        size = size[:, np.newaxis] if size.ndim < v.ndim and size.ndim == 1 else size
        return np.asarray(self.y * np.where(m < 1.0, (m + size) / (1.0 + size), m))

    def constant(self, c: Vector) -> Any:
        """Return the weighted mean of the labels."""
        mean = c @ self.y / np.sum(c)
        return float(mean) if self.y.ndim == 1 else mean

    def take(self, rows: Any) -> SquaredHinge:
        """Return the loss of some rows."""
        return SquaredHinge(self.y[rows])


def _rows(values: Vector) -> Vector:
    return values if values.ndim == 1 else np.asarray(values.sum(axis=1))
