"""What a loss is: one convex function of the score for each row, with infimum 0, known by value, slope and conjugate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from qed.core import InvalidData

Vector = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class LossTraits:
    """What solvers may rely on. Laws test that they are true.

    Attributes
    ----------
    curvature_bound : float
        Largest curvature of the loss of one row; ``inf`` where the slope jumps or the curvature has no bound.
    steepest : float
        Largest absolute slope; ``inf`` where there is none.
    has_curvature : bool
        Whether the slope is differentiable (almost everywhere without jumps), so that Newton's method applies.
    is_quadratic : bool
        Whether the curvature is constant.
    n_scores : int
        Scores of one row: 1, or the number of classes or targets; more than one means that ``t`` and ``u`` are matrices.
    native : str or None
        Name under which compiled loops know the loss; None means that only NumPy does.
    is_convex : bool
        Whether the loss is convex. One that is not has a conjugate that is true but weak: its gap proves little, and
        solvers that rely on convexity must refuse it.
    self_concordance : float
        Largest ratio of the third derivative to the second: how fast curvature can change. 0 for quadratics, 1 for logistic
        and Poisson; ``inf`` where nothing is claimed.
    pieces : (float, float) or None
        Curvature and width of a conjugate ``curvature u²/2 + y u + width |u|`` on the dual variables that it allows, y being the
        target (or a label of -1 or 1): the loss is made of linear and quadratic pieces. None means that nothing is claimed.
    """

    curvature_bound: float
    steepest: float
    has_curvature: bool
    is_quadratic: bool = False
    n_scores: int = 1
    native: str | None = None
    is_convex: bool = True
    self_concordance: float = np.inf
    pieces: tuple[float, float] | None = None


class Loss(Protocol):
    """One loss for each row: ``t`` are scores, ``u`` dual variables, both (n,) or, with several scores a row, (n, k).

    Results of `value`, `conjugate` and `excess` have shape (n,). Nothing overflows to NaN: a loss out of range is ``inf``.
    """

    @property
    def traits(self) -> LossTraits:
        """What solvers may rely on."""
        ...

    @property
    def y(self) -> Vector:
        """Targets: numbers, or -1 and +1, or the numbers of classes."""
        ...

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        ...

    def slope(self, t: Vector) -> Vector:
        """Return the derivative (any subgradient where there is none), of the shape of t."""
        ...

    def curvature(self, t: Vector) -> Vector:
        """Return the second derivative, (n,); of several scores the diagonal, (n, k). See `curvature_product`."""
        ...

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the second derivative applied to a change d of the scores, of the shape of t."""
        ...

    def conjugate(self, u: Vector) -> Vector:
        """Return sup over t of ``u t - loss(t)``, ``inf`` outside its domain."""
        ...

    def project(self, u: Vector) -> Vector:
        """Return a point of the conjugate's domain: u itself where it is inside, the nearest otherwise."""
        ...

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return a point of the domain near u, itself in the domain, with ``sum(c u) = 0`` (for each score)."""
        ...

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``value(t) + conjugate(u) - t u`` for u in the domain, in a form that is never negative and does not cancel."""
        ...

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the t that minimises ``loss(t) + (t - v)**2 / (2 step)``."""
        ...

    def constant(self, c: Vector) -> Any:
        """Return the constant score that minimises the weighted loss: a number, or an array (k,); finite always."""
        ...

    def take(self, rows: Any) -> Self:
        """Return the loss of some rows."""
        ...


def require_signs(owner: str, y: Vector) -> None:
    """Refuse labels that are not -1 and +1: zeros would have no loss at all."""
    if not bool((y * y == 1.0).all()):
        strange = np.unique(np.asarray(y)[y * y != 1.0])[:3].tolist()
        raise InvalidData(f"{owner} takes labels of -1 and +1, got {strange}. From 0 and 1 they are 2 * y - 1.")


def require_classes(owner: str, y: Vector, n_classes: int) -> None:
    """Refuse numbers of classes that there are not."""
    if y.ndim == 1 and not bool(((y >= 0) & (y < n_classes) & (y == np.floor(y))).all()):
        raise InvalidData(
            f"{owner} takes numbers of classes from 0 to {n_classes - 1}, got {float(y.min())} to {float(y.max())}."
        )
