"""What a penalty is: one convex function of the coefficients, known by value, conjugate and proximal step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from qed.core import InvalidParameter

if TYPE_CHECKING:
    from qed.convex._loss import Vector


@dataclass(frozen=True)
class PenaltyTraits:
    """What solvers may rely on. Laws test that they are true.

    Attributes
    ----------
    is_smooth : bool
        Whether the gradient exists everywhere and is Lipschitz.
    is_separable : bool
        Whether it is a sum over coordinates, so that steps may differ from one coordinate to the next.
    convexity : float
        The largest m for which ``penalty - m/2 |w|**2`` is still convex: 0 for l1, alpha for l2.
    is_bounding : bool
        Whether the conjugate is finite near zero, so that shrinking a dual point makes it feasible; without this
        (no penalty, nonnegativity) a gap needs a radius.
    native : str or None
        How special loops know the penalty: ``"kinks"`` (a coordinate costs one slope on each side of zero, and a ridge),
        ``"rows"`` (the lengths of rows, and a ridge) or ``"groups"`` (the lengths of groups of coordinates, and a ridge), with
        the numbers in `numbers`; None means that only general solvers do.
    """

    is_smooth: bool
    is_separable: bool
    convexity: float
    is_bounding: bool
    native: str | None = None


class Penalty(Protocol):
    """A convex function of w, (p,) or (p, k), with infimum 0."""

    @property
    def traits(self) -> PenaltyTraits:
        """What solvers may rely on."""
        ...

    def value(self, w: Vector) -> float:
        """Return the penalty; ``inf`` outside its domain."""
        ...

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the w that minimises ``penalty(w) + sum((w - v)**2 / (2 step))``; step may differ by coordinate if separable."""
        ...

    def conjugate(self, z: Vector) -> float:
        """Return sup over w of ``z w - penalty(w)``, ``inf`` outside its domain."""
        ...

    def project(self, z: Vector) -> Vector:
        """Return a point of the conjugate's domain: z itself where it is inside, the nearest otherwise."""
        ...

    def shrink(self, z: Vector, rounding_error: Vector) -> float:
        """Return the largest factor in [0, 1] that brings z, known to within ``rounding_error``, into the conjugate's domain."""
        ...

    def excess(self, w: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float]:
        """Return ``value(w) + conjugate(z) - w z`` in a form that does not cancel, and how much the rounding of z may add."""
        ...

    def slope(self, w: Vector) -> Vector:
        """Return the gradient where there is one, the subgradient nearest to zero elsewhere."""
        ...

    def curvature(self, w: Vector) -> Vector:
        """Return the diagonal of the second derivative at coordinates where there is one."""
        ...

    def free(self, w: Vector, z: Vector, step: Vector) -> Vector:
        """Say, (p,) of bool, at which coordinates the penalty is smooth after a proximal step from w along z."""
        ...

    def numbers(self, p: int) -> tuple[Any, ...]:
        """Return what special loops ask for: slopes below and above zero, (p,) each, and the ridge; or strengths and ridge.

        Groups of coordinates come with the number of the group of each, and a strength for each group.
        """
        ...

    def take(self, columns: Any) -> Self:
        """Return the penalty of some coordinates, all others at zero (or wherever they cost nothing)."""
        ...

    def __rmul__(self, factor: float) -> Self:
        """Return the penalty times a factor >= 0."""
        ...


def require_strength(owner: str, strength: Any) -> None:
    """Refuse strengths below zero, which reward what a penalty should cost."""
    if not (strength >= 0 if isinstance(strength, float) else bool(np.all(np.asarray(strength) >= 0))):
        raise InvalidParameter(f"The penalty strength of {owner} must be >= 0, got {strength!r:.100}.")
