"""A problem, and how far a point is from solving it: the only home of duality on the fitting side.

The objective is the weighted mean loss plus the penalty, ``P(w, b) = Σ c ℓ(Xw + b) + Ω(w)`` with weights c that sum to one.
For any u in the domain of the conjugate losses, with ``Σ c u = 0`` when the intercept is free, and ``z = -X'(c u)`` in the
domain of the conjugate penalty,

    P(w, b) - min P  <=  Σ c excess(t, u) + excess_Ω(w, z),          t = Xw + b,

where every excess is a closed form that is never negative: nothing cancels, and no primal minus dual is ever taken. A penalty
whose conjugate is not finite near zero (none, nonnegativity) has no such bound for all w. There `_curvature_bound` speaks,
where the loss bends enough; else the rest of z outside the domain is charged for coefficients that move up to a radius, which
the bound states.

Rounding. Everything that floating point can hide is charged, to first order in the unit roundoff or better: scores
(`Point.off`), products (`_loss_rounding`), what is left of ``Σ c u`` (`_lean`), weights and strengths as they were divided, and
the intercept as it will be stored, for the columns as they came instead of the centred ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels
from qed.convex._curvature_bound import curvature_bound, step_between_rows
from qed.convex._dual_points import kink_points, newton_points
from qed.convex._gap import Gap, Point, PointCache, Sums, Tried
from qed.convex._spans import Spans
from qed.core import InvalidData, InvalidParameter
from qed.core._once import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._bowl import Bowl
    from qed.convex._floor import Floor
    from qed.convex._function import FlatProblem
    from qed.convex._loss import Loss, Vector
    from qed.convex._penalty import Penalty
    from qed.designs import Design
    from qed.optimize import Function


UNIT = 2.0**-53
FOLDED = 1024 * UNIT  # rounding of a sum that a pass over the rows makes beside its products
PAIRWISE = 64  # rounding errors that a sum of NumPy's, which adds in pairs, can pile up
LEVEL = 1e-13  # share of a dual point, given up to balance it, that rounding alone explains
NEARLY = 2.0**-4  # means of columns, beside their spread, that passes may subtract from sums instead of from rows
TINY = float(np.finfo(np.float64).tiny)
REACH = 10.0  # how much further than the scores so far a bound without a compact dual looks


@dataclass(frozen=True, eq=False)
class Problem(Spans):
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

    def __post_init__(self) -> None:
        """Refuse parts that do not fit each other."""
        if isinstance(self.design, np.ndarray | list | tuple):
            raise InvalidParameter(
                f"A Problem takes a design, got {type(self.design).__name__}. Pass qed.designs.design(X)."
            )
        n = self.design.shape[0]
        if len(self.loss.y) != n or len(self.share) != n:
            raise InvalidData(
                f"A Problem of {n} rows needs as many targets and shares, got {len(self.loss.y)} and {len(self.share)}."
            )

    @cached_property
    def null_objective(self) -> float:
        """Objective of the null model: no coefficients, the best intercept."""
        w, b = self.null_point
        mean_of_constant = getattr(self.loss, "mean_of_constant", None)  # losses that need not look at every row
        if mean_of_constant is not None:
            return float(mean_of_constant(self.share, b)) + self.penalty.value(w)
        if self._compiled is not None:
            score = np.full(1, b, dtype=np.float64)
            return _kernels.loss_mean(self._compiled, score, self.loss.y, self.share) + self.penalty.value(w)
        return self.objective(w, b, np.broadcast_to(b, self._score_shape).astype(np.float64))

    @cached_property
    def null_point(self) -> tuple[Vector, Any]:
        """The null model: zero coefficients and the best intercept."""
        k = self.loss.traits.n_scores
        flat = len(self._score_shape) == 1
        w = np.zeros(self.shape[1] if flat else (self.shape[1], k))
        b = self.loss.constant(self.share) if self.free_intercept else (0.0 if flat else np.zeros(k))
        return w, b

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What serves again, of proofs (second derivatives that do not change) and of solvers (what was read of a loss)."""
        return {}

    @property
    def _compiled(self) -> str | None:
        """Name of a loss of one score a row that compiled sums know."""
        name = self.loss.traits.native
        return name if name in _kernels.ONE_SCORE and len(self._score_shape) == 1 else None

    @property
    def _has_classes(self) -> bool:
        """Whether the scores of a row belong together, as those of classes do; those of several targets do not."""
        return self.loss.traits.n_scores > 1 and self.loss.y.ndim == 1

    @cached_property
    def _length_y(self) -> float:
        """Root mean square of the targets."""
        return self.length(np.asarray(self.loss.y, dtype=np.float64))

    @cached_property
    def _score_unit(self) -> float:
        """What a score is compared with inside the loss: one in margins and exponentials, else the size of the targets."""
        traits = self.loss.traits
        if (math.isfinite(traits.self_concordance) and not traits.is_quadratic) or self._has_classes:
            return 1.0
        return min(1.0, self._length_y)

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

    def as_function(self) -> Function:
        """Return the objective as a function of one vector, the intercept last, for the optimisers of `qed.optimize`.

        Its value is `objective`, its bound the gap of `certify`, and its ``part_gradient`` that of single rows.
        """
        return self._flat.function()

    def point(self, v: Vector) -> tuple[Vector, Any]:
        """Return the coefficients and the intercept of a vector that `as_function` takes."""
        return self._flat.parted(np.asarray(v, dtype=np.float64))

    @cached_property
    def _flat(self) -> FlatProblem:
        from qed.convex._function import FlatProblem  # noqa: PLC0415  fits do without optimisers of functions

        return FlatProblem(self)

    def certify(
        self,
        w: Vector,
        b: Any,
        u: Vector | None = None,
        *,
        target: float = 0.0,
        known: PointCache | None = None,
        is_thorough: bool = True,
    ) -> Gap:
        """Bound the distance of (w, b) from the optimum.

        Parameters
        ----------
        w, b : ndarray, float or ndarray
            The point.
        u : ndarray, optional
            A dual point that the solver has found; it is repaired if it is not feasible. Non-smooth losses need one.
        target : float
            A gap that is small enough: dearer dual points are tried only above it.
        known : PointCache, optional
            Products at the point.
        is_thorough : bool
            Whether dual points that cost as much as some steps of a solver are tried, if nothing else will do.

        Notes
        -----
        Passes over X: none for a target that the slope reaches, if the solver knows its products; two otherwise. Beyond
        that, each dual point that is tried costs two passes, or a Gram matrix of the coefficients that are not zero.
        """
        if not self.free_intercept and np.any(b):  # nobody will add what is not there
            b, known = self.null_point[1], None
        with np.errstate(over="ignore", invalid="ignore"):  # a point out of range has no proof, and says so by inf
            quick = None if known is None else self._by_floor(w, b, known, target)
            if quick is not None and quick.value - quick.rounding <= target:
                return quick
            at = self._look(w, b, known, target)
            if not math.isfinite(at.objective):
                return self._by_nothing(at)
            best: Gap | None = quick
            for gap in self._gaps(at, u, known, is_thorough=is_thorough):
                if best is None or gap.value < best.value:
                    best = gap
                if best.value - best.rounding <= target:
                    break
            if best is not None and best.value <= min(target, at.objective):
                return best
            nothing = self._by_nothing(at)
        return nothing if best is None or nothing.value <= best.value else best

    def _by_floor(self, w: Vector, b: Any, known: PointCache, target: float) -> Gap | None:
        """Return what curvature that a solver has left behind proves, from the products of its pass alone."""
        floor: Bowl | Floor | None = self.kept.get("floor")
        if floor is None or known.t is None or known.loss is None:
            return None
        g = np.empty((len(w) + 1, *w.shape[1:]))
        if known.gradient is not None and known.level is not None:
            g[:-1], g[-1] = known.gradient, known.level
        elif known.rise is not None and known.fall is not None and known.sides is not None:
            g[:-1], g[-1] = known.rise + known.fall, known.sides[0] - known.sides[1]
        else:
            return None
        objective = known.loss + self.penalty.value(w)
        if not np.isfinite(objective):
            return None
        level = float(np.max(np.abs(b), initial=0.0))
        steepest = self.loss.traits.steepest
        if known.lengths is not None:
            length_t, length_slope = known.lengths
        else:
            slope = known.slope if np.isfinite(steepest) or known.slope is not None else self.loss.slope(known.t)
            length_t, length_slope = self.length(known.t), steepest if slope is None else self.length(slope)
        size_w = _sizes(w)
        off, bend = self._scores_off(size_w, level, length_t), self._bend(known.t)
        n = self.shape[0]
        terms = min(n, 8192) + 64 if self.design.centres_first else 2 * n
        rounding_error = (terms + 8) * UNIT * length_slope + off * bend
        if not self.loss.traits.is_quadratic:  # a slope such as exp(t) - y is off by what rounds in its terms
            rounding_error += 8 * UNIT * bend
        stored = self._stored(size_w, level, objective, float(np.abs(g[-1]).sum()), known.t, bend)
        g[:-1] += self.penalty.slope(w)
        found = floor.bound(w, known.t, g, rounding_error, target)
        if found is None:
            return None
        value, rounding = found
        rounding += stored
        return Gap(value + rounding, rounding, objective, np.inf, np.zeros(0))

    def _scores_off(self, size_w: Vector, level: float, length_t: float) -> float:
        """Bound the error of the scores, root mean square over rows."""
        passes = 1.0 + 2 * NEARLY if self.centre is None or self.design.centres_first else 2.0
        return passes * (self.shape[1] + 4) * UNIT * float(self.sizes @ size_w) + 2 * UNIT * (level + length_t)

    def _bend(self, t: Vector) -> float:
        """Bound the curvature near scores; inf where slopes jump."""
        bend, has_curvature = self.loss.traits.curvature_bound, self.loss.traits.has_curvature
        if math.isfinite(bend) or not has_curvature:
            return bend
        largest = getattr(self.loss, "largest_curvature", None)  # losses whose curvature is that of the largest score
        return 2 * float(np.max(self.loss.curvature(t), initial=0.0) if largest is None else largest(t))

    def _slope_change(self, t: Vector, bend: float, off: float) -> float:
        """Bound how much slopes change where scores move by ``off``."""
        if not off > 0.0:
            return 0.0
        own = getattr(self.loss, "slope_change", None)  # losses whose curvature grows too fast for that at the scores
        return float(own(t, off)) if own is not None else min(bend * off, 2 * self.loss.traits.steepest)

    def _stored(self, size_w: Vector, level: float, objective: float, tilt: float, t: Vector, bend: float) -> float:
        """Charge the rounding of weights, strengths and the stored intercept, for slopes that add up to ``tilt``."""
        stored = 8 * UNIT * objective
        if self.loss.traits.n_scores > 1:  # the logarithm of a sum near one is rounded as one is
            stored += 8 * UNIT
        if self.free_intercept and self.centre is not None:
            shift = (self.shape[1] + 4) * UNIT * (float(np.abs(self.centre) @ size_w) + level)
            stored += shift * (tilt + self._slope_change(t, bend, shift))
        return stored

    def _look(self, w: Vector, b: Any, known: PointCache | None, target: float) -> Point:
        """Evaluate what all dual points share."""
        known = PointCache() if known is None else known
        t = self.scores(w, b) if known.t is None else known.t
        slope = self.loss.slope(t) if known.slope is None else known.slope
        loss = float(self.share @ self.loss.value(t)) if known.loss is None else known.loss
        objective = loss + self.penalty.value(w)
        level = abs(b) if isinstance(b, float) else float(np.abs(b).max(initial=0.0))
        length_t, length_slope = (self.length(t), self.length(slope)) if known.lengths is None else known.lengths
        sums = None if known.sides is None else Sums(known.sides, FOLDED, length_slope)
        size_w = _sizes(w)
        off, bend = self._scores_off(size_w, level, length_t), self._bend(t)
        tilt = 0.0
        if self.free_intercept and self.centre is not None:
            if sums is not None:
                tilt = abs(sums.sides[0] - sums.sides[1])
            else:
                tilt = float(np.abs(self.share @ slope if known.level is None else known.level).sum())
        stored = self._stored(size_w, level, objective, tilt, t, bend)
        return Point(w, b, t, slope, loss, objective, length_t, length_slope, off, bend, stored, target, sums)

    def _by_nothing(self, at: Point) -> Gap:
        """Return the gap of the dual point zero: no objective is below zero."""
        rounding = at.stored + self._loss_rounding(at, at.length_slope, at.loss)
        value = at.objective + rounding
        whole = value if np.isfinite(value) else np.inf
        return Gap(whole, rounding if np.isfinite(value) else 0.0, at.objective, np.inf, np.zeros_like(at.t))

    def _gaps(
        self, at: Point, u: Vector | None, known: PointCache | None, *, is_thorough: bool = True
    ) -> Iterator[Gap]:
        """Yield bounds, cheap ones first."""
        if known is not None and known.tried is not None:
            yield self._by_tried(at, known.tried)
        if u is not None:
            yield self._bound(at, u)
        z, sides = None, None
        if known is not None and known.gradient is not None:
            z = -known.gradient
            # classes are balanced first, at the price of another product, unless nothing needs to be
            yield self._bound(at, at.slope, None if self._has_classes and self.free_intercept else z)
        elif known is not None and known.rise is not None and known.fall is not None:
            z = -(known.rise + known.fall)
            yield self._bound(at, at.slope, z, at.sums)
            sides = known.rise, known.fall
            if self._is_worth(at, *sides):
                yield self._bound(at, *self._by_sides(at, *sides))
                sides = None
        else:
            yield self._bound(at, at.slope)
        if not self.loss.traits.has_curvature:
            points = kink_points(self, at.w, at.t) if is_thorough else ()
            yield from (self._bound(at, point) for point in points)
            return
        if z is None:
            z = -self.adjoint(at.slope)
        step = step_between_rows(self) if self.penalty.traits.is_bounding else 1
        found = None if step is None else curvature_bound(self, at.w, at.t, at.slope, z, (at.off, at.bend), step)
        if found is not None:
            value, rounding = found
            rounding += at.stored
            yield Gap(value + rounding, rounding, at.objective, np.inf, at.slope)
        if sides is not None:
            yield self._bound(at, *self._by_sides(at, *sides))
        if not is_thorough:
            return
        for point in newton_points(self, at.w, at.t, at.slope, z):
            yield self._bound(at, point)

    def _by_tried(self, at: Point, tried: Tried) -> Gap:
        """Return the gap of a dual point that comes with its sums and its products."""
        rounding_error = PAIRWISE * float(np.finfo(np.float64).eps)
        return self._bound(
            at, tried.u, tried.z, Sums(tried.sides, rounding_error, tried.length, tried.excess, tried.apart)
        )

    def _is_worth(self, at: Point, rise: Vector, fall: Vector) -> bool:
        """Say whether the balanced slope may be close enough, as far as its products tell without looking at the rows."""
        if at.sums is None or not self.penalty.traits.is_bounding or self._has_classes:
            return True
        up, down = self._balance(*at.sums.sides)
        z = -(up * rise + down * fall)
        return bool(self.penalty.excess(at.w, z, np.zeros_like(z))[0] <= at.target)

    def _balance(self, over: Any, under: Any) -> tuple[Any, Any]:
        """Return what either side is multiplied by, so that both weigh the same."""
        if not self.free_intercept:
            return 1.0, 1.0
        up = np.minimum(1.0, np.where(over > 0, under / np.where(over > 0, over, 1.0), 1.0))
        down = np.minimum(1.0, np.where(under > 0, over / np.where(under > 0, under, 1.0), 1.0))
        return up, down

    def _by_sides(self, at: Point, rise: Vector, fall: Vector) -> tuple[Vector, Vector, Sums | None]:
        """Balance the slope by shrinking its heavier sign, and tell the products that follow without another pass.

        The scores of classes depend on each other and are left as they are: `_lean` charges what they lack.
        """
        slope = at.slope
        if not self.free_intercept or self._has_classes:
            return slope, -(rise + fall), at.sums
        over: Any
        under: Any
        if at.sums is None:
            over, under = self.share @ np.maximum(slope, 0.0), self.share @ np.maximum(-slope, 0.0)
        else:
            over, under = at.sums.sides
        up, down = self._balance(over, under)
        z = -(up * rise + down * fall)
        if at.sums is None or self._compiled is None:
            return np.where(slope > 0, up, down) * slope, z, None
        u, found = _kernels.scale_sides(
            self._compiled, (at.t, self.loss.y, self.share), slope, (float(up), float(down))
        )
        sides, lengths = (float(found[0]), float(found[1])), np.sqrt(found[[2, 4]])
        rounding_error = PAIRWISE * float(np.finfo(np.float64).eps)
        return u, z, Sums(sides, rounding_error, float(lengths[0]), float(found[3]), float(lengths[1]))

    def _bound(self, at: Point, u: Vector, z: Vector | None = None, sums: Sums | None = None) -> Gap:
        """Make one dual point feasible, and charge all that separates it from the point."""
        if not math.isfinite(at.length_slope if u is at.slope else np.sum(u)):
            return Gap(np.inf, 0.0, at.objective, np.inf, u)
        if z is None:
            u = self.loss.project(u)
            if self.free_intercept:
                u = self.loss.balanced(u, self.share)
            z = -self.adjoint(u)
        length_u = at.length_slope if u is at.slope else self.length(u) if sums is None else sums.length
        lean, charge = self._lean(at, u, sums) if self.free_intercept else (0.0, 0.0)
        other = 2.0 if self._has_classes else 0.0  # the length of what a share of u is given up for
        moved = lean * (length_u + other)
        rounding_error = self._as_coefficients((self._terms * UNIT * length_u + moved) * self.sizes, z)
        # what is more than rounding is a distance
        tilt = self._as_coefficients(moved * self.sizes, z) if lean > LEVEL else np.zeros_like(rounding_error)
        radius, beyond, beyond_rounding, factor, given_up = np.inf, 0.0, 0.0, 1.0, 0.0
        if self.penalty.traits.is_bounding:
            factor = self.penalty.shrink(z, rounding_error)
            if factor < 1.0:
                factor *= 1 - 4 * UNIT  # the products below round once more
                sure = self.penalty.shrink(z, tilt)
                given_up = 1 - factor / sure if sure > 0 else 0.0
                z = factor * z
        else:
            radius, beyond, beyond_rounding, z = self._beyond(at, z, rounding_error)
        penalty_excess, penalty_rounding = self.penalty.excess(at.w, z, rounding_error)
        slack, tilted = charge + penalty_rounding + beyond_rounding, 0.0
        if lean > LEVEL:
            further = 0.0 if math.isinf(radius) else self._beyond(at, z, tilt)[2]
            tilted = min(slack, charge + self.penalty.excess(at.w, z, tilt)[1] + further)
        lost = 1 - factor
        is_quadratic = self.loss.traits.is_quadratic
        if u is at.slope and (is_quadratic or 8 * lost * at.loss <= at.target):
            # convex in u, nothing at the slope, the loss at zero: what a shrunk slope costs needs no second look
            loss_excess, apart = (lost * lost if is_quadratic else lost) * at.loss, lost * at.length_slope
            u = u if factor == 1.0 else factor * u
        elif sums is not None and factor == 1.0:
            loss_excess, apart = sums.excess, sums.apart
        else:
            u = u if factor == 1.0 else factor * u
            loss_excess, apart = float(self.share @ self.loss.excess(at.t, u)), self.length(at.slope - u)
        rounding = at.stored + (slack - tilted) + 16 * UNIT * (penalty_excess + beyond)
        rounding += self._loss_rounding(at, apart, loss_excess)
        value = loss_excess + penalty_excess + beyond + tilted + rounding
        if not math.isfinite(value):
            return Gap(np.inf, 0.0, at.objective, radius, u)
        # by convexity, the share of u that only rounding made us give up has cost no more than that share of the objective
        rounding += min(given_up * at.objective, loss_excess + penalty_excess)
        return Gap(value, rounding, at.objective, radius, u)

    @cached_property
    def _terms(self) -> int:
        """Roundings that the product of a column with a dual point can pile up."""
        n = self.shape[0]
        # a design that centres first adds up blocks of at most so many rows, and merges them with compensation
        blocks = min(n, max(512, n // 64 + 128), 8192)
        return (blocks if self.design.centres_first else n if self.centre is None else 2 * n) + 8

    def _lean(self, at: Point, u: Vector, sums: Sums | None = None) -> tuple[float, float]:
        """Bound how far the weighted sum of u is from zero, as the share of u that must be given up, and what that costs.

        Where each score has a loss of its own, giving up a share of the heavier sign costs that share of the loss, because
        excess is convex in u and the excess of zero is the loss. Of classes a share is given to the frequencies instead.
        """
        if sums is not None and not self._has_classes:
            over, under = sums.sides
            heavier = max(over, under)
            off = abs(over - under) + sums.rounding_error * (over + under)
            lean = off / heavier if heavier > 0 else 0.0
            if 8 * lean * at.loss <= at.target or abs(over - under) > 0.5 * off:  # digits would not make it less
                return lean, lean * at.loss
        tiny = 2 * (len(u) * UNIT) ** 2  # what sums that are compensated may lose
        sums_of_sides = _kernels.side_sums(self.share, u)
        if not self._has_classes:
            leans = [
                (abs(level) * (1 + 4 * UNIT) + tiny * (over + under)) / max(over, under)
                for over, under, level in sums_of_sides.T.tolist()
                if over + under > 0
            ]
            lean = max(leans, default=0.0)
            return lean, lean * at.loss
        over, under, level = sums_of_sides
        off = np.abs(level) * (1 + 4 * UNIT) + tiny * (over + under)
        label = self.loss.y.astype(np.intp)
        frequency = np.bincount(label, self.share, minlength=len(level))
        if np.any((frequency <= 0) & (over + under > 0)):
            return 1.0, np.inf
        lean = 2 * float((off / np.where(frequency > 0, frequency, 1.0)).max(initial=0.0))
        if lean == 0.0:
            return 0.0, 0.0
        evenly = math.log(len(level))
        # no row's divergence from the frequencies exceeds the largest difference of its scores and the entropy of even ones
        whole = evenly + math.sqrt(2.0) * at.length_t
        if 12 * lean * (whole + evenly + 1.0) > at.target:
            mixed: Vector = np.repeat(frequency[np.newaxis, :], len(u), axis=0).astype(np.float64)
            mixed[np.arange(len(u)), label] -= 1.0
            whole = float(self.share @ self.loss.excess(at.t, mixed))
        return lean, 1.5 * lean * (whole + evenly + 1.0)

    def _loss_rounding(self, at: Point, apart: float, loss_excess: float) -> float:
        """Bound the rounding of the loss's part, for scores that are off and dual points ``apart`` from the slope."""
        traits, n = self.loss.traits, self.shape[0]
        further = self._slope_change(at.t, at.bend, at.off)
        formula = 8 * UNIT * (self._score_unit + at.length_t + self._length_y)
        first = apart * (at.off + formula) + further * at.off
        if traits.has_curvature:  # an exponential that rounds to one hides this much even where slopes agree
            first += at.bend * (8 * UNIT * self._score_unit) ** 2
        return first + (min(n, 8192) + 64) * UNIT * loss_excess

    def _beyond(self, at: Point, z: Vector, rounding_error: Vector) -> tuple[float, float, float, Vector]:
        """Charge what of z lies outside the conjugate's domain for steps up to a radius; return what is left inside."""
        inside = self.penalty.project(z)
        rest = np.abs(z - inside)
        size = self._as_coefficients(self.spans, z)
        span = max(float(np.max(np.abs(at.w) * size, initial=0.0)), self.length(at.t - np.mean(at.t, axis=0)))
        radius = REACH * max(span, self._score_unit, TINY)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(size > 0, radius / size, 0.0)
        return radius, float(np.sum(rest * step)), float(np.sum(rounding_error * step)), inside

    def _as_coefficients(self, row: Vector, z: Vector) -> Vector:
        """Give one number for each column the shape of the coefficients."""
        return row if z.ndim == 1 else np.repeat(row[:, np.newaxis], z.shape[1], axis=1)

    def length(self, a: Vector) -> float:
        """Return the weighted root mean square over rows (and the sum of squares over scores)."""
        return math.sqrt((self.share @ (a * a)).sum())


def _sizes(w: Vector) -> Vector:
    """Return the absolute coefficient of each column, summed over scores."""
    return np.abs(w) if w.ndim == 1 else np.asarray(np.abs(w).sum(axis=1))
