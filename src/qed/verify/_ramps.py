"""Losses that turn straight at a knee, by definition, and losses of numbers that are told labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.verify._losses import HALF, ONE, Array, shrunk_sides
from qed.verify._rows import EXTENDED


@dataclass(frozen=True)
class Ramp:
    """``f h(d)`` with ``h = d²/(2k)`` up to the knee k and ``d - k/2`` beyond; zero for d < 0.

    One-sided, d is what the margin lacks to ``start``; two-sided, the size of the error.
    """

    factor: float
    knee: float
    start: float | None = None
    self_concordance: float = float("inf")

    @property
    def has_curvature(self) -> bool:
        """Unless the knee is at zero."""
        return self.knee > 0

    def _far(self, t: Array, y: Array) -> tuple[Array, Array]:
        """Return d, and the sign that it grows with as t does."""
        if self.start is None:
            return np.abs(t - y), np.sign(t - y)
        sign = np.where(y > 0, ONE, -ONE)
        return EXTENDED(self.start) - sign * t, -sign

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the loss."""
        d = np.maximum(self._far(t, y)[0], 0)[:, 0]
        near = np.minimum(d, EXTENDED(self.knee))
        curve = near**2 / (2 * EXTENDED(self.knee)) if self.knee else np.zeros_like(d)
        return np.asarray(EXTENDED(self.factor) * (curve + (d - near)))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the derivative, half of it at a non-differentiable point."""
        d, sign = self._far(t, y)
        if self.knee:
            return np.asarray(sign * EXTENDED(self.factor) * np.clip(d / EXTENDED(self.knee), 0, 1))
        return np.asarray(sign * EXTENDED(self.factor) * np.where(d == 0, HALF, (d > 0).astype(EXTENDED)))

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the second derivative up to the knee."""
        d, _ = self._far(t, y)
        inside = (d > 0) & (d < self.knee)
        return np.asarray((self.factor / self.knee if self.knee else 0.0) * inside.astype(np.float64))[:, :, None]

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``f h(d) + k u²/(2 f) - |u| d``, with u on its side."""
        d, sign = self._far(t, y)
        whole = self.value(t, y, scale)
        along = u[:, 0] * sign[:, 0] * d[:, 0] if self.start is not None else u[:, 0] * (t - y)[:, 0]
        curve = EXTENDED(self.knee) * u[:, 0] ** 2 / (2 * EXTENDED(self.factor))
        size = whole + curve + np.abs(u[:, 0]) * (np.abs(d[:, 0]) + 2 * abs(self.start or 0))
        return whole + curve - along, size

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return u within the slopes, the heavier sign shrunk."""
        f = EXTENDED(self.factor)
        u = np.clip(u, -f, f) if self.start is None else np.where(y > 0, np.clip(u, -f, 0), np.clip(u, 0, f))
        return shrunk_sides(u, q) if balance else u

    def constant(self, q: Array, y: Array) -> Array | None:  # noqa: ARG002
        """Return nothing: the best constant has no closed form."""
        return None


@dataclass(frozen=True)
class Signs:
    """A loss of numbers, of labels 0 and 1 that stand for -1 and 1."""

    inner: Any

    @property
    def has_curvature(self) -> bool:
        """As the loss has."""
        return bool(self.inner.has_curvature)

    @property
    def self_concordance(self) -> float:
        """As the loss does."""
        return float(self.inner.self_concordance)

    def value(self, t: Array, y: Array, scale: Any) -> Array:
        """Return the loss."""
        return np.asarray(self.inner.value(t, 2 * y - 1, scale))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:
        """Return its slope."""
        return np.asarray(self.inner.slope(t, 2 * y - 1, scale))

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:
        """Return its curvature."""
        return np.asarray(self.inner.curvature(t, 2 * y - 1, scale))

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return what the loss leaves over."""
        left: tuple[Array, Array] = self.inner.left_over(t, u, 2 * y - 1, scale)
        return left

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return a feasible point."""
        return np.asarray(self.inner.repaired(u, q, 2 * y - 1, balance=balance))

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the best constant."""
        found: Array | None = self.inner.constant(q, 2 * y - 1)
        return found
