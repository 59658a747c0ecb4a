"""The hinge with its corner rounded off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import shrink_heavier_side
from qed.convex._loss import LossTraits, Vector, require_signs
from qed.core import InvalidParameter


@dataclass(frozen=True, eq=False)
class SmoothedHinge:
    """The hinge, quadratic over the first ``knee`` that the margin falls short of one.

    With d = 1 - y t and knee k, 0 for ``d <= 0``, ``d**2 / (2 k)`` up to ``d = k``, and ``d - k / 2`` beyond. It lies below
    the hinge by k / 2 at most.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels, -1 or +1.
    knee : float > 0
        Width of the quadratic part.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import SmoothedHinge
    >>> SmoothedHinge(np.ones(3), knee=0.5).value(np.array([0.0, 0.75, 1.0]))
    array([0.75  , 0.0625, 0.    ])
    """

    y: Vector
    knee: float = 1.0

    def __post_init__(self) -> None:
        """Refuse other labels, and a knee that is not positive."""
        require_signs("SmoothedHinge", self.y)
        if not self.knee > 0:
            raise InvalidParameter(
                f"SmoothedHinge.knee must be a number > 0, got {self.knee!r}. It is the width of the quadratic part; "
                "the loss without one is Hinge."
            )

    @property
    def traits(self) -> LossTraits:
        """Curvature one over the knee on the quadratic part, slopes up to one."""
        return LossTraits(
            1.0 / self.knee, 1.0, has_curvature=True, native="smoothed_hinge", pieces=(float(self.knee), 0.0)
        )

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        short = 1.0 - self.y * t
        h = self._share(short)
        return np.asarray(h * (short - 0.5 * self.knee * h))

    def slope(self, t: Vector) -> Vector:
        """Return ``-y`` times what the margin lacks as a share of the knee, at most one."""
        return np.asarray(-self.y * self._share(1.0 - self.y * t))

    def curvature(self, t: Vector) -> Vector:
        """Return one over the knee on the quadratic part."""
        short = 1.0 - self.y * t
        return np.where((short > 0) & (short < self.knee), 1.0 / self.knee, 0.0)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the curvature times d."""
        return self.curvature(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``knee q**2 / 2 - q`` for ``q = -y u`` between 0 and 1."""
        q = -self.y * u
        return np.where((q >= 0.0) & (q <= 1.0), q * (0.5 * self.knee * q - 1.0), np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u with ``-y u`` clipped to [0, 1]."""
        return np.asarray(-self.y * np.clip(-self.y * u, 0.0, 1.0))

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with its heavier side shrunk."""
        return shrink_heavier_side(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``knee (q - h)**2 / 2 + (h - q) (d - knee h)`` with h the slope's size, for u in the domain."""
        short, q = 1.0 - self.y * t, -self.y * u
        h = self._share(short)
        beyond = np.where((short > 0) & (short < self.knee), 0.0, short - self.knee * h)
        return np.asarray(0.5 * self.knee * (q - h) ** 2 + (h - q) * beyond)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v with its margin raised: a mean with one near it, by the whole step far from it."""
        short = 1.0 - self.y * v
        near = self.knee / (self.knee + step) * short
        left = np.where(short <= 0, short, np.where(short < self.knee + step, near, short - step))
        return np.asarray(self.y * (1.0 - left))

    def constant(self, c: Vector) -> Any:
        """Return where the slopes of the two labels balance."""
        plus, minus = float(c @ (self.y > 0)), float(c @ (self.y < 0))
        if plus == minus:
            return 0.0
        sign, many, few = (1.0, plus, minus) if plus > minus else (-1.0, minus, plus)
        both = (many - few) / (many + few)  # where both labels are on their quadratic parts
        return sign * (both if 1.0 + both <= self.knee else 1.0 - self.knee * few / many)

    def take(self, rows: Any) -> SmoothedHinge:
        """Return the loss of some rows."""
        return SmoothedHinge(self.y[rows], self.knee)

    def _share(self, short: Vector) -> Vector:
        return np.asarray(np.clip(short, 0.0, self.knee) / self.knee)
