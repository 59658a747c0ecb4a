"""Half the sum of squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._penalty import PenaltyTraits, require_strength
from qed.core._once import cached_property

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True, eq=False)
class L2:
    """``sum(alpha (w - prior)**2) / 2``: keeps coefficients close to a prior; no penalty at all where alpha is zero.

    Parameters
    ----------
    alpha : float or ndarray of shape (p,)
        Strength, one for all coordinates or one each.
    prior : float or ndarray of shape (p,) or of the shape of w
        Where coefficients cost nothing.
    """

    alpha: Any = 1.0
    prior: Any = 0.0

    def __post_init__(self) -> None:
        """Refuse strengths below zero."""
        require_strength("L2", self.alpha)

    @cached_property
    def traits(self) -> PenaltyTraits:
        """Smooth; with a conjugate that is finite everywhere as long as every strength is positive."""
        if isinstance(self.alpha, float):
            least = self.alpha
        else:
            least = float(np.min(self.alpha, initial=np.inf)) if np.size(self.alpha) else 0.0
        return PenaltyTraits(is_smooth=True, is_separable=True, convexity=least, is_bounding=least > 0, native="l2")

    @cached_property
    def is_even(self) -> bool:
        """Whether all coordinates are penalised with the same strength."""
        return isinstance(self.alpha, float) and self.alpha > 0

    def value(self, w: Vector) -> float:
        """Return the penalty."""
        away = w - _like(self.prior, w)
        return 0.5 * float((self._strength(w) * (away * away)).sum())

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the mean of v and the prior, weighed by the step."""
        pull = _like(step, v) * self._strength(v)
        return np.asarray((v + pull * _like(self.prior, v)) / (1.0 + pull))

    def conjugate(self, z: Vector) -> float:
        """Return ``sum(z**2 / (2 alpha) + z prior)``."""
        alpha = np.broadcast_to(self._strength(z), z.shape)
        if np.any((alpha == 0) & (z != 0)):
            return np.inf
        return float(np.sum(z * _like(self.prior, z) + 0.5 * _over(z * z, alpha)))

    def project(self, z: Vector) -> Vector:
        """Return z, but zero where nothing is penalised."""
        return np.asarray(np.where(np.asarray(self._strength(z)) > 0, z, 0.0))

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return one: any z will do, unless something is not penalised."""
        if self.is_even:
            return 1.0
        free = np.broadcast_to(self._strength(z), z.shape) == 0
        return 0.0 if np.any(free & (np.abs(z) + rounding_error > 0)) else 1.0

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return ``sum((alpha (w - prior) - z)**2 / (2 alpha))``."""
        alpha = self._strength(w)
        rest = np.abs(alpha * (w - _like(self.prior, w)) - z)
        more = rest * rounding_error + 0.5 * rounding_error * rounding_error
        if self.is_even:
            return 0.5 * float((rest * rest).sum()) / self.alpha, float(more.sum()) / self.alpha
        alpha = np.broadcast_to(alpha, w.shape)
        return float(0.5 * np.sum(_over(rest * rest, alpha))), float(np.sum(_over(more, alpha)))

    def slope(self, w: Vector) -> Vector:
        """Return ``alpha (w - prior)``."""
        return np.asarray(self._strength(w) * (w - _like(self.prior, w)))

    def curvature(self, w: Vector) -> Vector:
        """Return alpha."""
        if self.is_even:
            return np.full(w.shape, self.alpha)
        return np.broadcast_to(np.asarray(self._strength(w), dtype=np.float64), w.shape)

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:  # noqa: ARG002
        """Say that it is smooth everywhere."""
        return np.ones(w.shape[0], dtype=bool)

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return no breakpoints and the strength, if it is one for all and draws towards zero; else nothing."""
        if not self.is_even or np.any(self.prior):
            return ()
        flat = np.zeros(p)
        return flat, flat, self.alpha

    def take(self, columns: Any) -> L2:
        """Return the penalty of some coordinates."""
        alpha = self.alpha if np.ndim(self.alpha) == 0 else self.alpha[columns]
        return L2(alpha, self.prior if np.ndim(self.prior) == 0 else self.prior[columns])

    def __rmul__(self, factor: float) -> L2:
        """Return the penalty times a factor."""
        return L2(factor * self.alpha, self.prior)

    def _strength(self, w: Vector) -> Any:
        return self.alpha if self.is_even else _like(self.alpha, w)


def _like(row: Any, w: Vector) -> Any:
    """Give one number for each coordinate the shape of w."""
    return row[:, np.newaxis] if w.ndim == 2 and np.ndim(row) == 1 else row


def _over(a: Vector, alpha: Vector) -> Vector:
    """Divide by strengths, leaving out coordinates that are not penalised."""
    return np.divide(a, alpha, out=np.zeros_like(a), where=alpha > 0)
