"""A problem, and how far a point is from solving it: the only home of duality on the fitting side.

The objective is the weighted mean loss plus the penalty, ``P(w, b) = Σ c ℓ(Xw + b) + Ω(w)`` with weights c that sum to one.
For any u in the domain of the conjugate losses, with ``Σ c u = 0`` when the intercept is free, and ``z = -X'(c u)`` in the
domain of the conjugate penalty,

    P(w, b) - min P  <=  Σ c excess(t, u) + excess_Ω(w, z),          t = Xw + b,

where every excess is a closed form that is never negative: nothing cancels, and no primal minus dual is ever taken. A penalty
whose conjugate is not finite near zero (none, nonnegativity) has no such bound for all w; there the rest of z outside the
domain is charged for coefficients that move up to a radius, which the bound states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._dual_points import newton_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Loss, Vector
    from qed.convex._penalty import Penalty
    from qed.designs import Design

__all__ = ["Gap", "Known", "Problem"]

UNIT = 2.0**-53
REACH = 10.0  # how much further than the scores so far a bound without a compact dual looks


class Known(NamedTuple):
    """Products that a solver has made at exactly the point in question, so that they need not be made again."""

    t: Vector | None = None  # scores
    rise: Vector | None = None  # the adjoint product with c times the positive slopes at those scores
    fall: Vector | None = None  # the same of the negative slopes; rise + fall is the gradient


@dataclass(frozen=True)
class Gap:
    """How far a point can be from the optimum.

    Attributes
    ----------
    value : float
        Upper bound on objective minus optimum, its own rounding included.
    rounding : float
        The part of ``value`` that bounds floating-point error.
    objective : float
        Objective at the point.
    radius : float
        The bound holds against coefficients closer than this, each times the (root mean square) length of its column;
        ``inf`` means all there are.
    u : ndarray
        The dual point that proves it, feasible.
    """

    value: float
    rounding: float
    objective: float
    radius: float
    u: Vector = field(repr=False)


@dataclass(frozen=True, eq=False)
class Problem:
    """Weighted mean loss plus penalty.

    Parameters
    ----------
    design : Design
        X, of n rows.
    loss : Loss
        One loss for each row.
    penalty : Penalty
        Of the coefficients; the intercept is never penalised.
    share : ndarray of shape (n,)
        Weights c > 0 that sum to one.
    free_intercept : bool
        Whether there is an intercept.
    centre : ndarray of shape (p,), optional
        Subtracted from each row before products where the design can; ``b`` belongs to the centred columns.
    lengths : ndarray of shape (p,), optional
        Root mean squares of the centred columns, if they are known already.
    """

    design: Design
    loss: Loss
    penalty: Penalty
    share: Vector
    free_intercept: bool = True
    centre: Vector | None = None
    lengths: Vector | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.design.shape

    @cached_property
    def sizes(self) -> Vector:
        """Root mean squares of the columns as they are multiplied: what rounding is measured by."""
        lengths = self.lengths
        if lengths is None:
            lengths = self.design.column_norms(self.share, self.centre)
        if self.centre is None or self.design.centres_first:
            return lengths
        return np.hypot(lengths, self.centre)  # products are centred after they are summed

    @cached_property
    def null_objective(self) -> float:
        """Objective of the null model: no coefficients, the best intercept."""
        w, b = self.null_point
        return self.objective(w, b, np.broadcast_to(b, self._score_shape).astype(np.float64))

    @cached_property
    def null_point(self) -> tuple[Vector, Any]:
        """The null model: zero coefficients and the best intercept."""
        k = self.loss.traits.n_scores
        flat = len(self._score_shape) == 1
        w = np.zeros(self.shape[1] if flat else (self.shape[1], k))
        b = self.loss.constant(self.share) if self.free_intercept else (0.0 if flat else np.zeros(k))
        return w, b

    @property
    def _score_shape(self) -> tuple[int, ...]:
        n, k = self.shape[0], self.loss.traits.n_scores
        several = k > 1 or self.loss.y.ndim == 2
        return (n, k) if several else (n,)

    def scores(self, w: Vector, b: Any) -> Vector:
        """Return ``t = (X - centre) w + b``."""
        return np.asarray(self.design.product(w, self.centre) + b)

    def adjoint(self, u: Vector) -> Vector:
        """Return ``(X - centre)' (c u)``."""
        c = self.share if u.ndim == 1 else self.share[:, np.newaxis]
        return self.design.adjoint_product(c * u, self.centre)

    def objective(self, w: Vector, b: Any, t: Vector | None = None) -> float:
        """Return weighted mean loss plus penalty."""
        t = self.scores(w, b) if t is None else t
        return float(self.share @ self.loss.value(t)) + self.penalty.value(w)

    def certify(
        self, w: Vector, b: Any, u: Vector | None = None, *, target: float = 0.0, known: Known | None = None
    ) -> Gap:
        """Bound the distance of (w, b) from the optimum.

        Parameters
        ----------
        w, b : ndarray, float or ndarray
            The point.
        u : ndarray, optional
            A dual point that the solver has found; it is repaired if it is not feasible. Losses with kinks need one.
        target : float
            A gap that is small enough: dearer dual points are tried only above it.
        known : Known, optional
            Products at the point.
        """
        t = self.scores(w, b) if known is None or known.t is None else known.t
        slope = self.loss.slope(t)
        best = Gap(np.inf, 0.0, self.objective(w, b, t), np.inf, np.zeros_like(t))
        for candidate in self._candidates(w, t, slope, u):
            point, z = candidate, None
            if candidate is slope and known is not None and known.rise is not None and known.fall is not None:
                point, z = self._by_sides(slope, known.rise, known.fall)
            gap = self._bound(w, b, t, slope, point, z)
            if gap.value < best.value:
                best = gap
            if best.value - best.rounding <= target:
                break
        return best

    def _candidates(self, w: Vector, t: Vector, slope: Vector, u: Vector | None) -> Iterator[Vector]:
        """Yield dual points, cheap ones first."""
        if u is not None:
            yield u
        yield slope
        if self.loss.traits.has_curvature:
            point = newton_point(self, w, t, slope)
            if point is not None:
                yield point
        yield np.zeros_like(t)

    def _by_sides(self, slope: Vector, rise: Vector, fall: Vector) -> tuple[Vector, Vector]:
        """Balance a slope by shrinking its heavier sign, and tell the products that follow without another pass."""
        up = down = 1.0
        if self.free_intercept:
            over, under = float(self.share @ np.maximum(slope, 0.0)), float(self.share @ np.maximum(-slope, 0.0))
            up, down = min(1.0, under / over if over > 0 else 1.0), min(1.0, over / under if under > 0 else 1.0)
        return np.where(slope > 0, up, down) * slope, -(up * rise + down * fall)

    def _bound(self, w: Vector, b: Any, t: Vector, slope: Vector, u: Vector, z: Vector | None) -> Gap:
        """Make one dual point feasible, and charge all that separates it from the point."""
        n, p = self.shape
        if z is None:
            u = self.loss.project(u)
            if self.free_intercept:
                u = self.loss.balanced(u, self.share)
            z = -self.adjoint(u)
        length_u = self._length(u)
        doubt = (n + 8) * UNIT * self.sizes * length_u
        if z.ndim == 2:
            doubt = np.repeat(doubt[:, np.newaxis], z.shape[1], axis=1)
        radius, beyond, beyond_doubt = np.inf, 0.0, 0.0
        if self.penalty.traits.is_bounding:
            factor = self.penalty.shrink(z, doubt)
            if factor < 1.0:
                u, z, doubt, length_u = factor * u, factor * z, factor * doubt, factor * length_u
        else:
            radius, beyond, beyond_doubt, z = self._beyond(w, t, z, doubt)
        penalty_excess, penalty_doubt = self.penalty.excess(w, z, doubt)
        loss_excess = float(self.share @ self.loss.excess(t, u))
        # scores are off by this much in root mean square; the loss follows with the slopes' difference, then its bend
        length_w = np.abs(w) if w.ndim == 1 else np.abs(w).sum(axis=1)
        off = (p + 8) * UNIT * (float(self.sizes @ length_w) + float(np.max(np.abs(b), initial=0.0)))
        off += 8 * UNIT * (self._length(t) + length_u + self._length(self.loss.y))
        traits = self.loss.traits
        bend = traits.bend
        if not np.isfinite(bend) and traits.has_curvature:
            bend = 2 * float(np.max(self.loss.curvature(t), initial=0.0))
        jump = min(bend * off, 2 * traits.steepest)
        loss_doubt = 2 * (self._length(slope - u) + jump) * off + (n + 8) * UNIT * loss_excess
        rounding = loss_doubt + penalty_doubt + beyond_doubt + 8 * UNIT * (penalty_excess + beyond)
        value = loss_excess + penalty_excess + beyond + rounding
        return Gap(value if np.isfinite(value) else np.inf, rounding, self.objective(w, b, t), radius, u)

    def _beyond(self, w: Vector, t: Vector, z: Vector, doubt: Vector) -> tuple[float, float, float, Vector]:
        """Charge what of z lies outside the conjugate's domain for steps up to a radius; return what is left inside."""
        inside = self.penalty.project(z)
        rest = np.abs(z - inside)
        size = self.sizes if w.ndim == 1 else self.sizes[:, np.newaxis]
        span = max(float(np.max(np.abs(w) * size, initial=0.0)), self._length(t - np.mean(t, axis=0)), 1.0)
        radius = REACH * span
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(size > 0, radius / size, 0.0)
        return radius, float(np.sum(rest * step)), float(np.sum(doubt * step)), inside

    def _length(self, a: Vector) -> float:
        """Return the weighted root mean square over rows (and the sum of squares over scores)."""
        squares = a * a if a.ndim == 1 else np.sum(a * a, axis=1)
        return float(np.sqrt(self.share @ squares)) if squares.shape == self.share.shape else 0.0
