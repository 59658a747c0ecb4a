"""The lengths of groups of coefficients, which are zero together or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels
from qed.convex._penalty import PenaltyTraits, require_strength
from qed.core._once import cached_property

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class Group:
    """``sum(alpha * |w_g|) + ridge / 2 * sum(w**2)`` over groups g.

    Parameters
    ----------
    alpha : float or ndarray of shape (number of groups,)
        Strength, one for all groups or one each.
    groups : ndarray of shape (p,), optional
        The number of the group of each coordinate, from 0 on without holes. By default every row of a (p, k) matrix is a
        group.
    ridge : float
        Strength of the squares.
    """

    alpha: Any = 1.0
    groups: Any = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        """Refuse strengths below zero."""
        require_strength("Group", self.alpha)
        require_strength("Group", self.ridge)

    @cached_property
    def traits(self) -> PenaltyTraits:
        """Not differentiable where a whole group is zero, and a conjugate that is a product of balls."""
        bounding = self.ridge > 0 or bool((self._native[1] > 0).all())
        return PenaltyTraits(
            is_smooth=False,
            is_separable=False,
            convexity=float(self.ridge),
            is_bounding=bounding,
            native="rows" if self.groups is None else "groups",
        )

    @cached_property
    def _native(self) -> tuple[Any, Vector, float]:
        """What compiled sums ask for: the group of each coordinate or None, strengths, and the ridge."""
        number = None if self.groups is None else np.ascontiguousarray(self.groups, dtype=np.int64)
        return number, np.array(self.alpha, dtype=np.float64, ndmin=1), float(self.ridge)

    def value(self, w: Vector) -> float:
        """Return the penalty."""
        return _kernels.group_value(w, self._native)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return each group moved towards zero by ``step * alpha``, and no further; one step for a whole group."""
        step = self._of_groups(step, v)
        length = self._lengths(v)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.where(length > 0, np.maximum(1.0 - step * self.alpha / length, 0.0), 0.0)
        return np.asarray(v * self._spread(kept / (1.0 + step * self.ridge), v))

    def conjugate(self, z: Vector) -> float:
        """Return what sticks out of the balls, squared and divided by twice the ridge; ``inf`` if there is no ridge."""
        out = np.maximum(self._lengths(z) - self.alpha, 0.0)
        if self.ridge == 0:
            return np.inf if np.any(out > 0) else 0.0
        return float(np.sum(out * out)) / (2 * self.ridge)

    def project(self, z: Vector) -> Vector:
        """Return z pulled back to the balls, or z itself with a ridge."""
        if self.ridge > 0:
            return z
        length = self._lengths(z)
        kept = np.divide(self.alpha, length, out=np.ones_like(length), where=length > self.alpha)
        return z * self._spread(kept, z)

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return the factor that brings the longest group to its bound; one with a ridge."""
        if self.ridge > 0:
            return 1.0
        return _kernels.group_shrink(z, rounding_error, self._native)

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return ``|w|(alpha - |z|) + |w||z||w/|w| - z/|z||²/2`` for z in the balls, and the form of l2 for the rest."""
        return _kernels.group_excess(w, z, rounding_error, self._native)

    def slope(self, w: Vector) -> Vector:
        """Return the gradient, where a group is zero the subgradient nearest to zero."""
        pull = self._spread(np.broadcast_to(self.alpha, self._lengths(w).shape), w)
        return np.asarray(pull * self._directions(w, self._lengths(w)) + self.ridge * w)

    def curvature(self, w: Vector) -> Vector:
        """Return the diagonal of the second derivative; the ridge alone where a group is zero."""
        length = self._lengths(w)
        over = np.divide(self.alpha, length, out=np.zeros_like(length), where=length > 0)
        return np.asarray(self._spread(over, w) * (1.0 - self._directions(w, length) ** 2) + self.ridge)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:
        """Say which coordinates belong to a group that is not zero after a step."""
        size = step[:, np.newaxis] if w.ndim == 2 else self._spread(self._of_groups(step, w), w)
        moved = self.prox(w + size * z, step)
        alive = self._spread((self._lengths(moved) > 0).astype(np.float64), w) > 0
        return np.asarray(alive.any(axis=1) if w.ndim == 2 else alive)

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return the strengths of the rows, and the ridge; of groups their numbers, strengths and the ridge."""
        if self.groups is None:
            return np.full(p, self.alpha, dtype=np.float64), float(self.ridge)
        number = np.asarray(self.groups, dtype=np.intp)
        count = int(number.max(initial=-1)) + 1
        return number, np.full(count, self.alpha, dtype=np.float64), float(self.ridge)

    def take(self, columns: Any) -> Group:
        """Return the penalty of some coordinates; of a group in pieces, the length of the pieces that are taken."""
        if self.groups is None:
            return Group(self.alpha if np.ndim(self.alpha) == 0 else self.alpha[columns], None, self.ridge)
        some, number = np.unique(np.asarray(self.groups)[columns], return_inverse=True)
        return Group(self.alpha if np.ndim(self.alpha) == 0 else self.alpha[some], number, self.ridge)

    def __rmul__(self, factor: float) -> Group:
        """Return the penalty times a factor."""
        return Group(factor * self.alpha, self.groups, factor * self.ridge)

    def _lengths(self, w: Vector) -> Vector:
        """Return the length of each group."""
        if self.groups is None:
            return np.abs(w) if w.ndim == 1 else np.sqrt(np.einsum("ij,ij->i", w, w))
        squares = w * w if w.ndim == 1 else np.einsum("ij,ij->i", w, w)
        return np.sqrt(np.bincount(self.groups, squares))

    def _spread(self, of_groups: Vector, w: Vector) -> Vector:
        """Give each coordinate the number of its group."""
        each = of_groups if self.groups is None else of_groups[self.groups]
        return each if w.ndim == 1 else np.asarray(each[:, np.newaxis])

    def _of_groups(self, step: Any, w: Vector) -> Any:
        """Return one step for each group: the least of its coordinates'."""
        step = np.asarray(step, dtype=np.float64)
        if step.ndim == 2:
            step = step[:, 0]
        if step.ndim == 0 or self.groups is None:
            return step if step.ndim == 0 or len(step) == len(w) else step.reshape(-1)
        least = np.full(int(np.max(self.groups)) + 1, np.inf)
        np.minimum.at(least, self.groups, step)
        return least

    def _directions(self, w: Vector, length: Vector) -> Vector:
        over = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        return w * self._spread(over, w)
