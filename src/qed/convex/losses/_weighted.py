"""A loss whose rows cost more or less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._loss import Loss, LossTraits, Vector
from qed.core import InvalidParameter


@dataclass(frozen=True, eq=False)
class Weighted:
    """Another loss times a cost for each row: what a mistake costs may depend on the class that it is made on.

    Unlike the weights of a problem, which are shares of one, costs change the size of the objective.

    Parameters
    ----------
    loss : Loss
        The loss.
    cost : float or ndarray of shape (n,)
        Factors > 0, one for all rows or one each.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Hinge, Weighted
    >>> y = np.array([-1.0, 1.0])
    >>> Weighted(Hinge(y), cost=np.where(y > 0, 5.0, 1.0)).value(np.zeros(2))
    array([1., 5.])
    """

    loss: Loss
    cost: Any

    def __post_init__(self) -> None:
        """Refuse costs that are not positive: rows that cost nothing are left out with `take`."""
        if not (np.all(np.asarray(self.cost) > 0) and np.all(np.isfinite(self.cost))):
            raise InvalidParameter("Weighted.cost must be finite numbers > 0. Leave out rows that cost nothing.")

    @property
    def traits(self) -> LossTraits:
        """Those of the other loss, times the largest cost."""
        inner, most = self.loss.traits, float(np.max(self.cost)) if np.size(self.cost) else 1.0
        return LossTraits(
            most * inner.curvature_bound,
            most * inner.steepest,
            has_curvature=inner.has_curvature,
            is_quadratic=inner.is_quadratic and np.ndim(self.cost) == 0,
            n_scores=inner.n_scores,
            is_convex=inner.is_convex,
        )

    @property
    def y(self) -> Vector:
        """Targets of the other loss."""
        return self.loss.y

    def value(self, t: Vector) -> Vector:
        """Return the cost of each row."""
        return np.asarray(self.cost * self.loss.value(t))

    def slope(self, t: Vector) -> Vector:
        """Return the slope of the other loss, times the cost."""
        return np.asarray(self._like(t) * self.loss.slope(t))

    def curvature(self, t: Vector) -> Vector:
        """Return the curvature of the other loss, times the cost."""
        return np.asarray(self._like(t) * self.loss.curvature(t))

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the product of the other loss, times the cost."""
        return np.asarray(self._like(t) * self.loss.curvature_product(t, d))

    def conjugate(self, u: Vector) -> Vector:
        """Return the other conjugate of ``u / cost``, times the cost."""
        return np.asarray(self.cost * self.loss.conjugate(u / self._like(u)))

    def project(self, u: Vector) -> Vector:
        """Return the projection of ``u / cost``, times the cost; u itself where it is inside."""
        part = u / self._like(u)
        inside = self.loss.project(part)
        return np.where(inside == part, u, self._like(u) * inside)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return the balanced ``u / cost`` for weights times costs, times the cost."""
        return np.asarray(self._like(u) * self.loss.balanced(u / self._like(u), c * self.cost))

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return the excess at ``u / cost``, times the cost."""
        return np.asarray(self.cost * self.loss.excess(t, u / self._like(u)))

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the other step, longer by the cost."""
        return self.loss.prox(v, step * self.cost)

    def constant(self, c: Vector) -> Any:
        """Return the best constant for weights times costs."""
        return self.loss.constant(c * self.cost)

    def take(self, rows: Any) -> Weighted:
        """Return the loss of some rows."""
        return Weighted(self.loss.take(rows), self.cost if np.ndim(self.cost) == 0 else self.cost[rows])

    def _like(self, t: Vector) -> Any:
        return self.cost[:, np.newaxis] if t.ndim == 2 and np.ndim(self.cost) == 1 else self.cost
