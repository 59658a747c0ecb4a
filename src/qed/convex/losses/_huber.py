"""Squared for small errors, linear for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._centres import root
from qed.convex._loss import LossTraits, Vector
from qed.core import InvalidParameter


@dataclass(frozen=True, eq=False)
class Huber:
    r"""Squared for errors up to the knee, linear beyond it, with a slope that never exceeds the knee.

    With r = t - y and knee k, ``r**2 / 2`` if ``|r| <= k``, else ``k |r| - k**2 / 2``. It is the least of
    ``(s - r)**2 / 2 + k |s|`` over s: what is left of a squared loss when part s of the error is an outlier that costs k each.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets.
    knee : float > 0
        Where the slope stops growing, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Huber
    >>> Huber(np.zeros(3), knee=1.0).value(np.array([0.5, 1.0, 3.0]))
    array([0.125, 0.5  , 2.5  ])
    """

    y: Vector
    knee: float = 1.35

    def __post_init__(self) -> None:
        """Refuse a knee that is not positive."""
        if not self.knee > 0:
            raise InvalidParameter(f"Huber.knee must be a number > 0, got {self.knee!r}. Beyond it the loss is linear.")

    @property
    def traits(self) -> LossTraits:
        """Curvature one, then zero; slopes up to the knee."""
        return LossTraits(1.0, self.knee, has_curvature=True, native="huber", pieces=(1.0, 0.0))

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        r = t - self.y
        h = self.project(r)
        return np.asarray(h * (r - 0.5 * h))

    def slope(self, t: Vector) -> Vector:
        """Return the residual, clipped at the knee."""
        return self.project(t - self.y)

    def curvature(self, t: Vector) -> Vector:
        """Return one up to the knee, zero beyond."""
        return np.asarray((np.abs(t - self.y) <= self.knee).astype(np.float64))

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the curvature times d."""
        return self.curvature(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u**2 / 2 + u y`` for ``|u| <= knee``."""
        return np.where(np.abs(u) <= self.knee, u * (0.5 * u + self.y), np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u clipped at the knee."""
        return np.clip(u, -self.knee, self.knee)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``(u - h)**2 / 2 + (h - u) (r - h)`` with h the clipped residual, for u in the domain."""
        r = t - self.y
        h = self.project(r)
        return np.asarray(0.5 * (u - h) ** 2 + (h - u) * (r - h))

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the target plus the residual, divided by ``1 + step`` if small, less ``step * knee`` if large."""
        r = v - self.y
        far = np.abs(r) > self.knee * (1.0 + step)
        return np.asarray(self.y + np.where(far, r - step * self.knee * np.sign(r), r / (1.0 + step)))

    def constant(self, c: Vector) -> Any:
        """Return where the clipped residuals balance."""
        return root(
            lambda b: float(c @ self.slope(np.asarray(b))),
            lambda b: float(c @ self.curvature(np.asarray(b))),
            float(self.y.min()),
            float(self.y.max()),
        )

    def take(self, rows: Any) -> Huber:
        """Return the loss of some rows."""
        return Huber(self.y[rows], self.knee)
