"""A loss that stops growing: what outliers cost has a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qed.convex._centres import weighted_quantile
from qed.convex._loss import Loss, LossTraits, Vector
from qed.core import InvalidParameter

SHAPES = ("truncated", "rational", "exponential")
GRID = 33  # weights at which a proximal step looks for the deepest valley
NARROWINGS = 48  # golden sections that close it
STARTS = 9  # constants from which the best one is looked for
ROUNDS = 200  # of reweighting


@dataclass(frozen=True, eq=False)
class Bounded:
    r"""Another loss with a limit: the least of ``weight * loss + charge(weight)`` over weights between 0 and 1.

    Each row pays for its error, or pays a charge for being taken less seriously. With the loss in units of ``scale``:

    ============= =========================== ========================
    shape         charge of weight h          value of loss l
    ============= =========================== ========================
    truncated     ``1 - h``                   ``min(l, 1)``
    rational      ``(sqrt(h) - 1)**2``        ``l / (1 + l)``
    exponential   ``h log(h) - h + 1``        ``1 - exp(-l)``
    ============= =========================== ========================

    It is not convex. Being bounded, it lies above no line but zero, so that zero is its only dual point and a gap is the
    objective itself: nothing better is claimed. `weights` are those of iteratively reweighted fits.

    Parameters
    ----------
    loss : Loss
        The loss to be bounded, for instance `Squared`.
    shape : {'exponential', 'rational', 'truncated'}
        How it levels off.
    scale : float > 0
        The limit, in units of the loss; near zero the bounded loss equals the other one.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Bounded, Squared
    >>> loss = Bounded(Squared(np.zeros(3)), "rational")
    >>> loss.value(np.array([0.0, np.sqrt(2.0), 1e9])).round(12)
    array([0. , 0.5, 1. ])
    """

    loss: Loss
    shape: Literal["exponential", "rational", "truncated"] = "exponential"
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse shapes that do not exist and limits that are not positive."""
        if self.shape not in SHAPES:
            raise InvalidParameter(f"Bounded.shape must be one of {', '.join(SHAPES)}, got {self.shape!r}.")
        if not 0.0 < self.scale < np.inf:
            raise InvalidParameter(
                f"Bounded.scale must be a finite number > 0, got {self.scale!r}. It limits the loss."
            )

    @property
    def traits(self) -> LossTraits:
        """Not convex; no steeper and no more bent than the other loss."""
        inner = self.loss.traits
        bound = np.inf if self.shape == "truncated" else inner.curvature_bound
        # a loss with infimum zero has slope**2 <= 2 bound loss; then the largest of weight**2 * loss counts
        most = {"truncated": 1.0, "rational": 27.0 / 256.0, "exponential": 0.5 / np.e}[self.shape]
        steepest = min(inner.steepest, float(np.sqrt(2.0 * inner.curvature_bound * self.scale * most)))
        return LossTraits(bound, steepest, has_curvature=False, n_scores=inner.n_scores, is_convex=False)

    @property
    def y(self) -> Vector:
        """Targets of the other loss."""
        return self.loss.y

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        size = self._size(t)
        if self.shape == "truncated":
            part = np.minimum(size, 1.0)
        elif self.shape == "rational":
            part = 1.0 - 1.0 / (1.0 + size)
            part = np.where(size < 1.0, size / (1.0 + np.minimum(size, 1.0)), part)  # no digits lost, no inf / inf
        else:
            part = -np.expm1(-size)
        return np.asarray(self.scale * part)

    def weights(self, t: Vector) -> Vector:
        """Return the weight of each row at which the least is attained: one for no error, zero for an outlier."""
        size = self._size(t)
        if self.shape == "truncated":
            return np.asarray((size < 1.0).astype(np.float64))
        return np.asarray((1.0 + size) ** -2.0 if self.shape == "rational" else np.exp(-size))

    def charge(self, weight: Vector) -> Vector:
        """Return what a row pays for having this weight instead of one."""
        if self.shape == "truncated":
            part = 1.0 - weight
        elif self.shape == "rational":
            part = (np.sqrt(weight) - 1.0) ** 2
        else:
            part = weight * np.log(np.where(weight > 0, weight, 1.0)) - weight + 1.0
        return np.asarray(self.scale * part)

    def slope(self, t: Vector) -> Vector:
        """Return the weight times the slope of the other loss, which falls back to zero far away."""
        weight, slope = self._spread(self.weights(t), t), self.loss.slope(t)
        return np.where(weight > 0, weight, 0.0) * np.where(weight > 0, slope, 0.0)

    def curvature(self, t: Vector) -> Vector:
        """Return the second derivative, which is negative far away."""
        weight, fall = self._spread(self.weights(t), t), self._spread(self._fall(t), t)
        slope = np.where(weight > 0, self.loss.slope(t), 0.0)
        return np.asarray(weight * np.where(weight > 0, self.loss.curvature(t), 0.0) - fall * slope * slope)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the second derivative times d."""
        weight, fall = self._spread(self.weights(t), t), self._spread(self._fall(t), t)
        slope = np.where(weight > 0, self.loss.slope(t), 0.0)
        along = slope * d if d.ndim == 1 else np.sum(slope * d, axis=1, keepdims=True)
        return np.asarray(weight * self.loss.curvature_product(t, d) - fall * slope * along)

    def conjugate(self, u: Vector) -> Vector:
        """Return zero at zero: a bounded loss lies above no other line."""
        zero = u == 0.0
        return np.where(zero if u.ndim == 1 else zero.all(axis=1), 0.0, np.inf)

    def project(self, u: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(u)

    def balanced(self, u: Vector, c: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(u)

    def excess(self, t: Vector, u: Vector) -> Vector:  # noqa: ARG002
        """Return the loss, for the one dual point there is."""
        return self.value(t)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the deepest valley found: all lie on the path of the other loss's steps with weights from 0 to 1."""
        step = np.asarray(step, dtype=np.float64)

        def at(weight: Vector) -> tuple[Vector, Vector]:
            # a step of nothing leaves v where it is, which a division by it would not
            t = self.loss.prox(v, np.maximum(weight * step, np.finfo(np.float64).tiny))
            t = np.where(self._spread(weight, v) > 0, t, v)
            far = (t - v) ** 2 if v.ndim == 1 else np.sum((t - v) ** 2, axis=1)
            return t, self.value(t) + far / (2.0 * step)

        rows = len(v)
        grid = np.linspace(0.0, 1.0, 2 if self.shape == "truncated" else GRID)
        costs = np.stack([at(np.full(rows, weight))[1] for weight in grid])
        best = np.argmin(costs, axis=0)
        if self.shape == "truncated":  # only all or nothing can be best
            return at(grid[best])[0]
        low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, GRID - 1)]
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        for _ in range(NARROWINGS):
            left, right = high - golden * (high - low), low + golden * (high - low)
            nearer = at(left)[1] <= at(right)[1]
            low, high = np.where(nearer, low, left), np.where(nearer, right, high)
        return at(0.5 * (low + high))[0]

    def constant(self, c: Vector) -> Any:
        """Return the best of the constants to which reweighting leads from the other loss's and from some targets."""
        starts = [self.loss.constant(c)]
        if self.loss.traits.n_scores == 1:
            starts += [weighted_quantile(self.y, c, tau) for tau in np.linspace(0.0, 1.0, STARTS)]
        found = [self._reweighted(c, start) for start in starts]
        return min(found, key=lambda b: self._mean(c, b))

    def take(self, rows: Any) -> Bounded:
        """Return the loss of some rows."""
        return Bounded(self.loss.take(rows), self.shape, self.scale)

    def _size(self, t: Vector) -> Vector:
        return np.asarray(self.loss.value(t) / self.scale)

    def _fall(self, t: Vector) -> Vector:
        """Return how fast the weight falls with the loss."""
        size = self._size(t)
        if self.shape == "truncated":
            return np.zeros_like(size)
        return np.asarray((2.0 * (1.0 + size) ** -3.0 if self.shape == "rational" else np.exp(-size)) / self.scale)

    def _spread(self, row: Vector, t: Vector) -> Vector:
        return row if t.ndim == 1 else row[:, np.newaxis]

    def _mean(self, c: Vector, b: Any) -> float:
        return float(c @ self.value(self._scores(b)))

    def _scores(self, b: Any) -> Vector:
        n, b = len(self.y), np.asarray(b, dtype=np.float64)
        return np.broadcast_to(b, (n,) if b.ndim == 0 else (n, len(b)))

    def _reweighted(self, c: Vector, b: Any) -> Any:
        """Take turns between weights and constants; each turn lowers the loss."""
        worth = self._mean(c, b)
        for _ in range(ROUNDS):
            used = np.flatnonzero(c * self.weights(self._scores(b)))
            if not len(used):
                break
            ahead = self.loss.take(used).constant((c * self.weights(self._scores(b)))[used])
            value = self._mean(c, ahead)
            if not value < worth:
                break
            b, worth = ahead, value
        return b
