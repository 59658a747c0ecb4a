r"""Problems that estimate the scale of the residuals together with the coefficients, and their duality.

One structure holds them all. With residuals ``r = Xw + b - y``, weights c that sum to one and a knee k (which may be infinite),

    P(w, b) = min over σ >= 0 of  σ/2 + Σ c σ h(r / σ)  +  Ω(w),        h(x) = x²/2 up to the knee, k|x| - k²/2 beyond.

Without a knee the best scale is the root mean square of the residuals and the first part is equal to it: the square-root
lasso. With one, twice this is Huber's regression with its scale. The minimum over σ is convex in (w, b) and is found exactly:
``σ² = Σ c min(r², k²σ²)`` is a concave equation in σ², which tangents from the right solve in a few steps.

The dual. ``σ h(r/σ)`` is the largest ``v r - σ v²/2`` with ``|v| <= k``; minimising over σ leaves a constraint. So for any v with
``|v| <= k``, ``Σ c v² <= 1``, ``Σ c v = 0`` when the intercept is free, and ``z = -X'(c v)`` where the conjugate penalty is finite,

    P(w, b) - min P  <=  Σ c σ excess(r/σ, v)  +  σ/2 (1 - Σ c v²)  +  excess_Ω(w, z),

where the first excess is ``(h - σv)² / (2σ) + (h/σ - v)(r - h)`` with h the residual clipped at kσ: nothing cancels. The slope
``v = h / σ`` makes the first two parts zero. Rounding is charged as in `_problem`; what is special is that the first part of P
never changes faster than the weighted length of r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex._gap import Gap
from qed.convex._kernels import scaled_spread, side_sums
from qed.convex._spans import Spans
from qed.core._once import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._gap import PointCache
    from qed.convex._loss import Vector
    from qed.convex._penalty import Penalty
    from qed.designs import Design


UNIT = 2.0**-53
REACH = 10.0  # how much further than the scores so far a bound without a compact dual looks
LARGEST = 1500  # coefficients whose equations are worth solving for a proof


@dataclass(frozen=True, eq=False)
class Concomitant(Spans):
    """Scale and residuals together, plus a penalty.

    Parameters
    ----------
    design : Design
        X, of n rows.
    y : ndarray of shape (n,)
        Targets.
    penalty : Penalty
        Of the coefficients; the intercept is never penalised.
    share : ndarray of shape (n,)
        Weights c > 0 that sum to one.
    knee : float
        Residuals beyond so many scales count in proportion to their size; ``inf`` means that all count by their squares.
    free_intercept : bool
        Whether there is an intercept.
    centre, lengths : ndarray of shape (p,), optional
        As for `Problem`.
    """

    design: Design
    y: Vector
    penalty: Penalty
    share: Vector
    knee: float = np.inf
    free_intercept: bool = True
    centre: Vector | None = None
    lengths: Vector | None = None

    @cached_property
    def null_point(self) -> tuple[Vector, Any]:
        """Zero coefficients and the best intercept: the mean, then away from outliers as far as they say."""
        w = np.zeros(self.shape[1])
        if not self.free_intercept:
            return w, 0.0
        first = float(self.y[0])
        b = first + float(self.share @ (self.y - first))
        return w, b if not np.isfinite(self.knee) else self._level(b)

    def _level(self, b: float) -> float:
        """Return the best intercept near a guess: Newton's steps, which may go back and forth for ever, kept in a bracket."""
        low, high = float(self.y.min()), float(self.y.max())
        before, step, unit = np.inf, np.inf, max(-low, high)
        for _ in range(200):
            r = b - self.y
            scale = self.scale(r)
            met = float(self.share @ (np.abs(r) <= self.knee * scale))
            if scale > 0.0:
                pull, bend = float(self.share @ self.clipped(r, scale)), met
            else:  # so many rows are met that only the signs of the others count
                pull, bend = float(self.share @ np.sign(r)), 0.0
                pull = 0.0 if abs(pull) <= met else pull
            if pull == 0.0:
                break
            low, high = (low, b) if pull > 0 else (b, high)
            ahead = b - pull / bend if bend > 0.0 else np.inf
            # Newton's step, unless it leaves the bracket or steps do not shorten: then the middle
            slow, before = abs(ahead - b) > 0.25 * before, step
            new = ahead if low < ahead < high and not slow else 0.5 * low + 0.5 * high
            step, b = abs(new - b), new
            if step <= max(1e-12 * scale, 1e-15 * unit) or not low < new < high:
                break
        return b

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What a solver and its driver keep with the problem."""
        return {}

    @cached_property
    def null_objective(self) -> float:
        """Objective of the null model."""
        w, b = self.null_point
        return self.objective(w, b, np.full(self.shape[0], b))

    def scores(self, w: Vector, b: Any) -> Vector:
        """Return ``t = (X - centre) w + b``."""
        return np.asarray(self.design.product(w, self.centre) + b)

    def adjoint(self, v: Vector) -> Vector:
        """Return ``(X - centre)' (c v)``."""
        return self.design.adjoint_product(self.share * v, self.centre)

    def scale(self, r: Vector, guess: float = 0.0) -> float:
        """Return the best scale of residuals."""
        return scaled_spread(r, self.share, self.knee, guess)[0]

    def spread(self, r: Vector, guess: float = 0.0) -> float:
        """Return the part of the objective that belongs to residuals, at their best scale."""
        return scaled_spread(r, self.share, self.knee, guess)[1]

    def clipped(self, r: Vector, scale: float) -> Vector:
        """Return residuals, cut off at the knee."""
        if math.isinf(self.knee):
            return r
        end = self.knee * scale
        return np.minimum(np.maximum(r, -end), end)

    def objective(self, w: Vector, b: Any, t: Vector | None = None, guess: float = 0.0) -> float:
        """Return spread of the residuals plus penalty."""
        r = (self.scores(w, b) if t is None else t) - self.y
        return self.spread(r, guess) + self.penalty.value(w)

    def slope(self, r: Vector, scale: float) -> Vector:
        """Return the derivative of the spread, as a multiple of each weight; zero where the scale is."""
        if scale > 0:
            return self.clipped(r, scale) / scale
        return self.knee * np.sign(r) if np.isfinite(self.knee) else np.zeros_like(r)

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
        w, b : ndarray, float
            The point.
        u : ndarray, optional
            A dual point that the solver has found; it is repaired if it is not feasible.
        target : float
            A gap that is small enough: dearer dual points are tried only above it.
        known : PointCache, optional
            Products at the point; the scores are used.
        is_thorough : bool
            Whether a dual point that takes the products of the columns in use is tried, if nothing else will do.
        """
        t = self.scores(w, b) if known is None or known.t is None else known.t
        r = t - self.y
        scale, spread = scaled_spread(r, self.share, self.knee, 0.0)
        objective = spread + self.penalty.value(w)
        slope = self.slope(r, scale)
        off, stored = self._off(w, b, t, slope, scale, objective)
        nothing = 4 * off + stored + 16 * UNIT * objective
        best = Gap(objective + nothing, nothing, objective, np.inf, np.zeros_like(r))
        if not np.isfinite(objective):
            return Gap(np.inf, 0.0, objective, np.inf, np.zeros_like(r))
        for candidate in self._candidates(w, r, slope, u, is_thorough=is_thorough):
            gap = self._bound(w, r, scale, slope, candidate, off, stored, objective)
            best = gap if gap.value < best.value else best
            if best.value - best.rounding <= target:
                break
        return best

    def _off(self, w: Vector, b: Any, t: Vector, slope: Vector, scale: float, objective: float) -> tuple[float, float]:
        """Bound the error of the scores, and what the rounding of weights, strengths and the stored intercept costs."""
        p = self.shape[1]
        passes = 1 if self.centre is None or self.design.centres_first else 2
        off = passes * (p + 4) * UNIT * float(self.sizes @ np.abs(w))
        off += 4 * UNIT * (abs(float(b)) + self._length(t) + self._length(self.y))
        stored = 8 * UNIT * objective
        if self.free_intercept and self.centre is not None:
            shift = (p + 4) * UNIT * (float(np.abs(self.centre) @ np.abs(w)) + abs(float(b)))
            tilt = abs(float(self.share @ slope))
            stored += shift * (tilt + (min(shift / scale, 1.0) if scale > 0 else 1.0))
        return off, stored

    def _candidates(
        self, w: Vector, r: Vector, slope: Vector, u: Vector | None, *, is_thorough: bool
    ) -> Iterator[Vector]:
        """Yield dual points, cheap ones first."""
        if u is not None:
            yield u
        yield slope
        point = self._at_support(w, r) if is_thorough else None
        if point is not None:
            yield point

    def _at_support(self, w: Vector, r: Vector) -> Vector | None:
        """Return the dual point whose products with the columns in use are the slopes of their penalty.

        Of all such points, the one along what the columns leave of the residuals, as long as the constraint allows.
        """
        used = np.arange(len(w)) if self.penalty.traits.is_smooth else np.flatnonzero(w)
        if len(used) > LARGEST or (self.penalty.traits.is_smooth and self.shape[0] > 4 * len(used) + 64):
            return None
        part = self.design.columns(used)
        centre = None if self.centre is None else self.centre[used]
        size = np.where(self.sizes[used] > 0, self.sizes[used], 1.0)
        c, goal = self.share, self.penalty.take(used).slope(w[used]) / size
        matrix = part.gram(c, centre) / np.multiply.outer(size, size)
        if self.free_intercept:  # one more column, of ones, whose product must vanish
            edge = part.adjoint_product(c, centre) / size
            matrix = np.block([[matrix, edge[:, np.newaxis]], [edge[np.newaxis, :], np.ones((1, 1))]])
            goal = np.append(goal, 0.0)

        def along(x: Vector) -> Vector:
            d = np.linalg.lstsq(matrix, x, rcond=1e-13)[0]
            shift = float(d[-1]) if self.free_intercept else 0.0
            return np.asarray(part.product(d[: len(used)] / size, centre) + shift)

        def products(v: Vector) -> Vector:
            x = part.adjoint_product(c * v, centre) / size
            return np.append(x, c @ v) if self.free_intercept else x

        q = along(goal)
        q = q + along(goal - products(q))
        rest = r - along(products(r))
        rest = rest - along(products(rest))
        room, length = 1.0 - self._length(q) ** 2, self._length(rest)
        if room <= 0.0 or length <= 1e-14 * max(self._length(r), 1e-300):
            return -q
        return np.asarray(rest * (np.sqrt(room) / length) - q)

    def _bound(
        self, w: Vector, r: Vector, scale: float, slope: Vector, v: Vector, off: float, stored: float, objective: float
    ) -> Gap:
        """Make one dual point feasible, and charge all that separates it from the point."""
        v, lean = self._feasible(v)
        length = self._length(v)
        z = -self.adjoint(v)
        n = self.shape[0]
        blocks = min(
            n, max(512, n // 64 + 128), 8192
        )  # rows that a dense design sums before it merges with compensation
        terms = blocks if self.design.centres_first else (n if self.centre is None else 2 * n)
        rounding_error = ((terms + 8) * UNIT * length + lean * (length + 2.0)) * self.sizes
        radius, beyond, beyond_rounding = np.inf, 0.0, 0.0
        if self.penalty.traits.is_bounding:
            factor = self.penalty.shrink(z, rounding_error)
            if factor < 1.0:
                factor *= 1 - 4 * UNIT
                v, z, length = factor * v, factor * z, factor * length
        else:
            radius, beyond, beyond_rounding, z = self._beyond(w, r, z, rounding_error)
        penalty_excess, penalty_rounding = self.penalty.excess(w, z, rounding_error)
        spread_excess = self._excess(r, scale, v)
        apart = self._length(slope - v)
        # the spread follows the scores no faster than their weighted length, its slope no faster than that over the scale
        further = min(off / scale, 2.0) if scale > 0 else 2.0
        rounding = stored + penalty_rounding + beyond_rounding + 2 * (apart + further + 8 * UNIT) * off
        rounding += 2 * lean * objective + 64 * UNIT * spread_excess + 16 * UNIT * (penalty_excess + beyond)
        rounding += 64 * UNIT * scale * float(self.share @ (v * v))
        value = spread_excess + penalty_excess + beyond + rounding
        if not np.isfinite(value):
            return Gap(np.inf, 0.0, objective, radius, v)
        return Gap(value, rounding, objective, radius, v)

    def _feasible(self, v: Vector) -> tuple[Vector, float]:
        """Return v inside its constraints, and the share of it that rounding may have left unbalanced."""
        lean = 0.0
        if np.isfinite(self.knee):
            v = np.clip(v, -self.knee, self.knee)
        if self.free_intercept:
            over, under, _ = side_sums(self.share, v)[:, 0].tolist()
            up = min(1.0, under / over) if over > 0 else 1.0
            down = min(1.0, over / under) if under > 0 else 1.0
            v = np.where(v > 0, up, down) * v
            over, under, level = side_sums(self.share, v)[:, 0].tolist()
            left = abs(level) * (1 + 4 * UNIT) + 2 * (len(v) * UNIT) ** 2 * (over + under)
            lean = left / max(over, under) if over + under > 0 else 0.0
        squares = float(self.share @ (v * v)) * (1 + 64 * UNIT)
        return (v / np.sqrt(squares) if squares > 1.0 else v), lean

    def _excess(self, r: Vector, scale: float, v: Vector) -> float:
        """Return ``Σ c σ excess(r/σ, v) + σ/2 (1 - Σ c v²)`` for v inside its constraints."""
        c = self.share
        if scale == 0.0:
            return float(c @ np.maximum((self.knee * np.sign(r) - v) * r, 0.0)) if np.isfinite(self.knee) else 0.0
        h = self.clipped(r, scale)
        near = float(c @ (h - scale * v) ** 2) / (2 * scale)
        far = float(c @ np.maximum((h / scale - v) * (r - h), 0.0)) if np.isfinite(self.knee) else 0.0
        return near + far + 0.5 * scale * max(1.0 - float(c @ (v * v)), 0.0)

    def _beyond(self, w: Vector, r: Vector, z: Vector, rounding_error: Vector) -> tuple[float, float, float, Vector]:
        """Charge what of z lies outside the conjugate's domain for steps up to a radius; return what is left inside."""
        inside = self.penalty.project(z)
        t = r + self.y
        span = max(float(np.max(np.abs(w) * self.spans, initial=0.0)), self._length(t - np.mean(t)), 1.0)
        radius = REACH * span
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(self.spans > 0, radius / self.spans, 0.0)
        return radius, float(np.abs(z - inside) @ step), float(rounding_error @ step), inside

    def _length(self, a: Vector) -> float:
        return math.sqrt((self.share * a) @ a)
