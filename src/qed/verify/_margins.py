"""More losses, by definition: hinges of each class against the others and of all at once, tubes, and powers of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.verify._losses import HALF, ONE, Array, shrunk_sides
from qed.verify._rows import EXTENDED


@dataclass(frozen=True)
class Hinges:
    """``Σ_k f_k max(1 - y_k t_k, 0)``, or squares: of two classes one column, of several one for each class against the others.

    ``own`` holds f_k for the rows of class k itself; rows of other classes have f_k = 1. None means one throughout.
    """

    squares: bool
    own: Array | None = None
    self_concordance: float = float("inf")

    @property
    def has_curvature(self) -> bool:
        """Squares have."""
        return self.squares

    def _signs(self, t: Array, y: Array) -> Array:
        label = np.arange(t.shape[1]) if t.shape[1] > 1 else np.ones(1)
        return np.where(y == label, ONE, -ONE)

    def _factors(self, t: Array, y: Array) -> Array:
        if self.own is None or t.shape[1] == 1:
            return np.ones_like(t)
        return np.where(y == np.arange(t.shape[1]), self.own, ONE)

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the loss."""
        lack = np.maximum(ONE - self._signs(t, y) * t, 0)
        return np.asarray(np.sum(self._factors(t, y) * (lack**2 if self.squares else lack), axis=1))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the derivative, and the middle of both at a non-differentiable point."""
        sign = self._signs(t, y)
        lack = ONE - sign * t
        size = 2 * np.maximum(lack, 0) if self.squares else np.where(lack == 0, HALF, (lack > 0).astype(EXTENDED))
        return np.asarray(-sign * self._factors(t, y) * size)

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return two where the margin is short, on the diagonal."""
        inside = 2.0 * self.squares * (self._signs(t, y) * t < 1) * self._factors(t, y)
        out = np.zeros((*t.shape, t.shape[1]))
        index = np.arange(t.shape[1])
        out[:, index, index] = inside
        return out

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``ℓ(t) + ℓ*(u) - t u``: with ``q = -y u`` the conjugate is -q, plus q²/(4 f) for squares."""
        sign, f = self._signs(t, y), self._factors(t, y)
        q = -sign * u
        whole, cross = self.value(t, y, scale), q * (sign * t - ONE)
        curve = q * q / (4 * f) if self.squares else np.zeros_like(q)
        return whole + np.sum(curve + cross, axis=1), whole + np.sum(curve + np.abs(cross) + np.abs(q), axis=1)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return u on the side that lowers the loss, not beyond its slope, the heavier sign shrunk."""
        sign = self._signs(u, y)
        size = np.maximum(-sign * u, 0)
        size = size if self.squares else np.minimum(size, self._factors(u, y))
        return shrunk_sides(-sign * size, q) if balance else -sign * size

    def constant(self, q: Array, y: Array) -> Array | None:  # noqa: ARG002
        """Return nothing: the intercept of these machines is penalised."""
        return None


@dataclass(frozen=True)
class JointHinge:
    """``max_k(t_k + [k != y]) - t_y``."""

    has_curvature: bool = False
    self_concordance: float = float("inf")

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the loss."""
        return np.asarray(np.max(self._ahead(t, y), axis=1))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return plus one for the class ahead, minus one for the label."""
        best = np.argmax(self._ahead(t, y), axis=1)
        return np.asarray((np.arange(t.shape[1]) == best[:, None]).astype(EXTENDED) - self._labels(t, y))

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return zeros."""
        return np.zeros((*t.shape, t.shape[1]))

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``Σ v (max a - a)`` as the difference it is, with v the row of probabilities and a the classes' lead."""
        v, ahead, whole = u + self._labels(t, y), self._ahead(t, y), self.value(t, y, scale)
        return whole - np.sum(v * ahead, axis=1), whole + np.sum(np.abs(v * ahead), axis=1)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:  # noqa: ARG002
        """Return rows of probabilities less the label."""
        labels = self._labels(u, y)
        v = np.maximum(u + labels, 0)
        return np.asarray(v / v.sum(axis=1, keepdims=True) - labels)

    def constant(self, q: Array, y: Array) -> Array | None:  # noqa: ARG002
        """Return nothing: the intercept of these machines is penalised."""
        return None

    def _ahead(self, t: Array, y: Array) -> Array:
        labels = self._labels(t, y)
        return np.asarray(t - np.sum(t * labels, axis=1, keepdims=True) + ONE - labels)

    @staticmethod
    def _labels(t: Array, y: Array) -> Array:
        return np.asarray(np.arange(t.shape[1]) == y).astype(EXTENDED)


@dataclass(frozen=True)
class Tube:
    """``max(|t - y| - ε, 0)``, or its square."""

    epsilon: float
    squares: bool
    self_concordance: float = float("inf")

    @property
    def has_curvature(self) -> bool:
        """Squares have."""
        return self.squares

    def _beyond(self, t: Array, y: Array) -> Array:
        return np.asarray(np.maximum(np.abs(t - y) - EXTENDED(self.epsilon), 0))

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the loss."""
        far = self._beyond(t, y)[:, 0]
        return np.asarray(far**2 if self.squares else far)

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the derivative, zero at the edge of the tube."""
        far = self._beyond(t, y)
        return np.asarray(np.sign(t - y) * (2 * far if self.squares else (far > 0).astype(EXTENDED)))

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return two outside of the tube."""
        return np.asarray((2.0 * self.squares * (self._beyond(t, y) > 0))[:, :, None])

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``ℓ(r) + ε |u| + u²/4 - r u``, the square of u where the loss is one."""
        whole, r, size = self.value(t, y, scale), (t - y)[:, 0], np.abs(u[:, 0])
        conjugate = EXTENDED(self.epsilon) * size + (size**2 / 4 if self.squares else 0)
        return whole + conjugate - r * u[:, 0], whole + conjugate + np.abs(r * u[:, 0])

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:  # noqa: ARG002
        """Return u within the slopes, the heavier sign shrunk."""
        u = u if self.squares else np.clip(u, -1, 1)
        return shrunk_sides(u, q) if balance else u

    def constant(self, q: Array, y: Array) -> Array | None:  # noqa: ARG002
        """Return nothing: the intercept of these machines is penalised."""
        return None


@dataclass(frozen=True)
class Power:
    """``|t - y|^p / p`` for p > 1."""

    p: float
    has_curvature: bool = True
    self_concordance: float = float("inf")

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the loss."""
        return np.asarray(np.abs(t - y)[:, 0] ** EXTENDED(self.p) / EXTENDED(self.p))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the derivative."""
        return np.asarray(np.sign(t - y) * np.abs(t - y) ** EXTENDED(self.p - 1))

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the second derivative, finite at zero."""
        r = np.maximum(np.abs(t - y), 1e-12 * (1 + np.abs(y)))
        return np.asarray(((self.p - 1) * r ** EXTENDED(self.p - 2)).astype(np.float64)[:, :, None])

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``|r|^p / p + |u|^q / q - r u`` with ``1/p + 1/q = 1``."""
        q = EXTENDED(self.p) / EXTENDED(self.p - 1)
        whole, conjugate, product = self.value(t, y, scale), np.abs(u[:, 0]) ** q / q, ((t - y) * u)[:, 0]
        return whole + conjugate - product, whole + conjugate + np.abs(product)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:  # noqa: ARG002
        """Return u, the heavier sign shrunk."""
        return shrunk_sides(u, q) if balance else u

    def constant(self, q: Array, y: Array) -> Array | None:  # noqa: ARG002
        """Return nothing: it has no closed form."""
        return None
