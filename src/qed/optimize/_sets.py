"""Convex sets, each with its exact projection.

A set is also a function, 0 inside and infinite outside, whose proximal step is the projection; so it goes wherever a penalty
goes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.optimize._evaluate import at_least

if TYPE_CHECKING:
    from qed.optimize._function import Vector


PATIENCE = 500  # cycles in which moves must shorten
REMEMBERED = 5  # cycles that an extrapolation looks back on
UNIT = 2.0**-53
RELATIVE_TOLERANCE = 1e-9  # a point this close to its projection, relative to its length, belongs to the set


def _vector(owner: str, v: Any, *like: Any) -> Vector:
    """Return a point to project, refused in words unless it is a vector of finite numbers as long as the set's own."""
    try:
        point = np.asarray(v, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"{owner}: a point must be numbers, got {v!r:.200}.") from None
    if point.ndim != 1 or any(np.ndim(one) and np.shape(one) not in (point.shape, (1,)) for one in like):
        wanted = [np.shape(one) for one in like if np.ndim(one)]
        size = f"of shape {wanted[0]}" if wanted else "of one dimension"
        raise InvalidData(f"{owner}: a point must be a vector {size}, got an array of shape {point.shape}.")
    if not np.isfinite(point).all():
        at = int(np.argmin(np.isfinite(point)))
        raise InvalidData(f"{owner}: the point is not finite: coordinate {at} is {point[at]}.")
    return point


def _length(v: Vector) -> float:
    """Return the Euclidean length, without squares that overflow or vanish."""
    most = float(np.max(np.abs(v), initial=0.0))
    return most * float(np.linalg.norm(v / most)) if 0.0 < most < np.inf else most


class ConvexSet(ABC):
    """A closed convex set that knows its nearest points."""

    @abstractmethod
    def project(self, v: Any) -> Vector:
        """Return the point of the set nearest to v."""

    @abstractmethod
    def least(self, g: Any) -> float:
        """Return a lower bound of ``g'w`` over the set, the infimum itself unless said otherwise; ``-inf`` where there is none."""

    @abstractmethod
    def bounded_part(self, g: Any) -> Vector:
        """Return the slope nearest to g that is bounded below on the set: g itself where the set is bounded."""

    @abstractmethod
    def least_near(self, g: Any, w: Any) -> float:
        """Return a lower bound of ``g'w`` over the set that is tight where w minimises it; `least` where that is exact."""

    def contains(self, w: Any, *, tol: float = RELATIVE_TOLERANCE) -> bool:
        """Say whether a point belongs to the set, up to ``tol`` times its length."""
        w = np.asarray(w, dtype=np.float64)
        return bool(np.linalg.norm(w - self.project(w)) <= tol * (1.0 + np.linalg.norm(w)))

    def value(self, w: Any) -> float:
        """Return 0 inside the set and ``inf`` outside."""
        return 0.0 if self.contains(w) else np.inf

    def prox(self, v: Any, step: float) -> Vector:  # noqa: ARG002  whatever the step, the nearest point is nearest
        """Return the projection."""
        return self.project(v)


@dataclass(frozen=True, eq=False)
class Box(ConvexSet):
    """``lower <= w <= upper``, coordinate by coordinate.

    Parameters
    ----------
    lower, upper : float or array-like of shape (p,)
        The sides; infinite ones are no bound.
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.lower) <= np.asarray(self.upper)):
            raise InvalidParameter(
                f"Box needs lower <= upper in every coordinate, got {self.lower!r} and {self.upper!r}."
            )

    def project(self, v: Any) -> Vector:
        """Return v, clipped."""
        return np.clip(_vector("Box", v, self.lower, self.upper), self.lower, self.upper)

    def least(self, g: Any) -> float:
        """Return the sum over coordinates of the lower end of ``g w``."""
        g = np.asarray(g, dtype=np.float64)
        side = np.where(g > 0, self.lower, self.upper)
        return float(np.sum(np.where(g == 0, 0.0, np.where(g == 0, 1.0, g) * side)))

    def bounded_part(self, g: Any) -> Vector:
        """Return g, without entries that point to an infinite side."""
        g = np.asarray(g, dtype=np.float64)
        return np.where(np.isfinite(np.where(g > 0, self.lower, self.upper)), g, 0.0)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class NonnegativeOrthant(ConvexSet):
    """``w >= 0``."""

    def project(self, v: Any) -> Vector:
        """Return v without its negative entries."""
        return np.maximum(_vector("NonnegativeOrthant", v), 0.0)

    def least(self, g: Any) -> float:
        """Return 0 for g >= 0."""
        return 0.0 if np.all(np.asarray(g) >= 0) else -np.inf

    def bounded_part(self, g: Any) -> Vector:
        """Return g without its negative entries."""
        return np.maximum(np.asarray(g, dtype=np.float64), 0.0)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class L2Ball(ConvexSet):
    """``|w - centre|_2 <= radius``.

    Parameters
    ----------
    radius : float
        Its radius, >= 0.
    centre : float or array-like of shape (p,)
        Its centre.
    """

    radius: float = 1.0
    centre: Any = 0.0

    def __post_init__(self) -> None:
        at_least("L2Ball.radius", self.radius, 0)

    def project(self, v: Any) -> Vector:
        """Return v, drawn in along its radius."""
        away = _vector("L2Ball", v, self.centre) - self.centre
        size = _length(away)
        return np.asarray(self.centre + away * (self.radius / size if size > self.radius else 1.0))

    def least(self, g: Any) -> float:
        """Return the value at the point of the sphere opposite to g."""
        g = np.asarray(g, dtype=np.float64)
        return float(np.sum(g * self.centre) - self.radius * np.linalg.norm(g))

    def bounded_part(self, g: Any) -> Vector:
        """Return g: the set is bounded."""
        return np.asarray(g, dtype=np.float64)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class LInfBall(ConvexSet):
    """``max |w - centre| <= radius``.

    Parameters
    ----------
    radius : float
        Half its side, >= 0.
    centre : float or array-like of shape (p,)
        Its centre.
    """

    radius: float = 1.0
    centre: Any = 0.0

    def __post_init__(self) -> None:
        at_least("LInfBall.radius", self.radius, 0)

    def project(self, v: Any) -> Vector:
        """Return v, clipped."""
        away = _vector("LInfBall", v, self.centre) - self.centre
        return np.asarray(self.centre + np.clip(away, -self.radius, self.radius))

    def least(self, g: Any) -> float:
        """Return the value at the corner opposite to g."""
        g = np.asarray(g, dtype=np.float64)
        return float(np.sum(g * self.centre) - self.radius * np.sum(np.abs(g)))

    def bounded_part(self, g: Any) -> Vector:
        """Return g: the set is bounded."""
        return np.asarray(g, dtype=np.float64)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class Simplex(ConvexSet):
    """``w >= 0`` and ``sum(w) = total``: probabilities, for a total of one.

    Parameters
    ----------
    total : float
        What the entries add up to, > 0.
    """

    total: float = 1.0

    def __post_init__(self) -> None:
        at_least("Simplex.total", self.total, 0, strictly=True)

    def project(self, v: Any) -> Vector:
        """Return v lowered by one level, without what falls below zero; the level comes from one sort."""
        v = _vector("Simplex", v)
        if not v.size:
            raise InvalidData(f"Simplex: a point without coordinates cannot add up to {self.total:g}.")
        with np.errstate(over="ignore"):  # the answer is the same, and sums stay of ordinary size
            v = np.maximum(v - v.max(), -2.0 * self.total)  # further below the largest all end at zero
        down = np.sort(v)[::-1]
        over = np.cumsum(down) - self.total
        kept = int(np.count_nonzero(down * np.arange(1, v.size + 1) > over))
        return np.asarray(np.maximum(v - over[kept - 1] / kept, 0.0))

    def least(self, g: Any) -> float:
        """Return the smallest entry of g, times the total."""
        return float(self.total * np.min(g))

    def bounded_part(self, g: Any) -> Vector:
        """Return g: the set is bounded."""
        return np.asarray(g, dtype=np.float64)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class L1Ball(ConvexSet):
    """``sum |w - centre| <= radius``.

    Parameters
    ----------
    radius : float
        Its radius, > 0.
    centre : float or array-like of shape (p,)
        Its centre.
    """

    radius: float = 1.0
    centre: Any = 0.0

    def __post_init__(self) -> None:
        at_least("L1Ball.radius", self.radius, 0, strictly=True)

    def project(self, v: Any) -> Vector:
        """Return v with the sizes of its entries projected to the simplex, unless it is inside already."""
        away = _vector("L1Ball", v, self.centre) - self.centre
        size = np.abs(away)
        with np.errstate(over="ignore"):
            inside = float(size.sum()) <= self.radius
        if inside:
            return np.asarray(self.centre + away)
        return np.asarray(self.centre + np.sign(away) * Simplex(self.radius).project(size))

    def least(self, g: Any) -> float:
        """Return the value at the corner where g is largest."""
        g = np.asarray(g, dtype=np.float64)
        return float(np.sum(g * self.centre) - self.radius * np.max(np.abs(g)))

    def bounded_part(self, g: Any) -> Vector:
        """Return g: the set is bounded."""
        return np.asarray(g, dtype=np.float64)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class HalfSpace(ConvexSet):
    """``normal'w <= offset``.

    Parameters
    ----------
    normal : array-like of shape (p,)
        Points outwards; not zero.
    offset : float
        Where the boundary lies.
    """

    normal: Any
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = np.asarray(self.normal, dtype=np.float64)
        if not (np.isfinite(normal).all() and np.isfinite(self.offset)):
            raise InvalidParameter(
                f"HalfSpace needs a finite normal and offset, got {self.normal!r:.200}, {self.offset!r}."
            )
        if not np.any(normal):
            raise InvalidParameter("HalfSpace.normal must not be zero: it says where the boundary faces.")

    def project(self, v: Any) -> Vector:
        """Return v, moved back along the normal if it is outside."""
        a = np.asarray(self.normal, dtype=np.float64)
        v, most = _vector("HalfSpace", v, a), float(np.max(np.abs(a)))
        a = a / most  # so that no product overflows
        return np.asarray(v - max(0.0, float(a @ v) - self.offset / most) / float(a @ a) * a)

    def least(self, g: Any) -> float:
        """Return a finite number only for g that points inwards along the normal."""
        g, a = np.asarray(g, dtype=np.float64), np.asarray(self.normal, dtype=np.float64)
        factor = float(g @ a) / float(a @ a)
        along = bool(np.all(np.abs(factor * a - g) <= 4 * g.size * UNIT * np.abs(g)))
        return factor * self.offset if factor <= 0 and along else -np.inf

    def bounded_part(self, g: Any) -> Vector:
        """Return the part of g that points inwards along the normal."""
        a = np.asarray(self.normal, dtype=np.float64)
        return np.asarray(min(0.0, float(np.asarray(g) @ a) / float(a @ a)) * a)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


@dataclass(frozen=True, eq=False)
class AffineSubspace(ConvexSet):
    """``A w = b``.

    Parameters
    ----------
    A : array-like of shape (q, p)
        Rows may depend on each other.
    b : array-like of shape (q,)
        What they must equal. A system without a solution raises an error.
    """

    A: Any
    b: Any

    def __post_init__(self) -> None:
        A = np.atleast_2d(np.asarray(self.A, dtype=np.float64))
        b = np.broadcast_to(np.asarray(self.b, dtype=np.float64), A.shape[:1])
        inverse = np.linalg.pinv(A)
        rest = float(np.max(np.abs(A @ (inverse @ b) - b), initial=0.0))
        if rest > 1e-9 * (1.0 + float(np.max(np.abs(b), initial=0.0))):
            raise InvalidData(
                f"AffineSubspace: the equations contradict each other; the best w misses one by {rest:.3g}."
            )
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "_inverse", inverse)

    def project(self, v: Any) -> Vector:
        """Return v, moved by the shortest way that meets the equations."""
        v = _vector("AffineSubspace", v, self.A[0])
        inverse: Vector = self._inverse  # type: ignore[attr-defined]
        return np.asarray(v - inverse @ (self.A @ v - self.b))

    def least(self, g: Any) -> float:
        """Return a finite number only for g that is a combination of the rows."""
        g = np.asarray(g, dtype=np.float64)
        inverse: Vector = self._inverse  # type: ignore[attr-defined]
        across = g @ inverse
        rounding = 4 * g.size * UNIT * (np.abs(across) @ np.abs(self.A) + np.abs(g))
        return float(across @ self.b) if np.all(np.abs(across @ self.A - g) <= rounding) else -np.inf

    def bounded_part(self, g: Any) -> Vector:
        """Return the combination of rows nearest to g."""
        inverse: Vector = self._inverse  # type: ignore[attr-defined]
        return np.asarray((np.asarray(g, dtype=np.float64) @ inverse) @ self.A)

    def least_near(self, g: Any, w: Any) -> float:  # noqa: ARG002  the bound is exact everywhere
        """Return the infimum."""
        return self.least(g)


def _extrapolated(past: list[tuple[Vector, Vector]]) -> Vector:
    """Return the combination of the last results whose moves, combined likewise, are shortest."""
    results = np.array([result for _, result in past])
    moves = results - np.array([start for start, _ in past])
    differences = np.diff(moves, axis=0)
    share = np.linalg.lstsq(differences.T, moves[-1], rcond=1e-14)[0]
    return np.asarray(results[-1] - share @ np.diff(results, axis=0))


class Intersection(ConvexSet):
    """What several sets have in common; projected to by Dykstra's cycle.

    Plain projections in turn find some common point; Dykstra's corrections make it the nearest.

    Parameters
    ----------
    *sets : ConvexSet
        Two or more.
    tol : float
        Corrections that move less than this, relative to the point, have converged.
    max_iter : int
        Most cycles.
    """

    def __init__(self, *sets: ConvexSet, tol: float = 1e-13, max_iter: int = 20_000) -> None:
        if not sets or not all(isinstance(one, ConvexSet) for one in sets):
            raise InvalidParameter("Intersection takes convex sets, one after the other.")
        self.sets, self.tol, self.max_iter = sets, tol, max_iter

    def project(self, v: Any) -> Vector:
        """Return the nearest common point; a ValueError says that there seems to be none."""
        return self._cycle(v)[0]

    def _cycle(self, v: Any) -> tuple[Vector, list[Vector]]:
        """Return the nearest common point, and what pulls it there from each set.

        Cycles between sets that meet at a small angle creep; their last differences tell where they creep to (Anderson's
        extrapolation), and a cycle from there is kept if it moves less.
        """
        v = _vector("Intersection", v)
        pulls = np.zeros((len(self.sets), v.size))
        scale = 1.0 + float(np.linalg.norm(v))
        w, new = self._once(v, pulls)
        past: list[tuple[Vector, Vector]] = []
        before = np.inf
        for cycle in range(self.max_iter):
            moved, size = float(np.linalg.norm(new - pulls)), float(np.linalg.norm(new))
            if moved <= self.tol * (scale + size):
                return w, list(new)
            if cycle % PATIENCE == 0:  # pulls grow for ever, by the same, exactly when nothing is common to the sets
                if moved > 0.99 * before:
                    break
                before = moved
            past = [*past[-REMEMBERED:], (pulls.ravel(), new.ravel())]
            pulls = new
            w, new = self._once(v, pulls)
            if len(past) > 1:
                ahead = _extrapolated([*past, (pulls.ravel(), new.ravel())]).reshape(pulls.shape)
                there, further = self._once(v, ahead)
                if float(np.linalg.norm(further - ahead)) < 0.5 * float(np.linalg.norm(new - pulls)):
                    w, new, pulls = there, further, ahead
        misses = [float(np.linalg.norm(w - one.project(w))) for one in self.sets]
        if max(misses) <= 1e-8 * scale:
            return w, list(new)
        raise InvalidData(
            f"Intersection: the sets seem to have no point in common, or to meet at too small an angle; after Dykstra's cycles the"
            f" point is {max(misses):.3g} away from {type(self.sets[int(np.argmax(misses))]).__name__}. Raise max_iter, or use"
            " quadratic_program where the sets are flat."
        )

    def _once(self, v: Vector, pulls: Vector) -> tuple[Vector, Vector]:
        """Project once to each set, its own pull taken back before."""
        w, new = v - pulls.sum(axis=0), np.empty_like(pulls)
        for i, one in enumerate(self.sets):
            back = w + pulls[i]
            w = one.project(back)
            new[i] = back - w
        return w, new

    def least(self, g: Any) -> float:
        """Return the largest of the bounds that single sets give: a bound from below, which is all that a proof needs."""
        return max(one.least(g) for one in self.sets)

    def bounded_part(self, g: Any) -> Vector:
        """Return the part of the set that bounds most of g."""
        parts = [one.bounded_part(g) for one in self.sets]
        return min(parts, key=lambda part: float(np.linalg.norm(part - g)))

    def least_near(self, g: Any, w: Any) -> float:
        """Split g among the sets, as the pulls of a projection step from w do, and add up what each of them bounds.

        Whatever the split, the sum is a lower bound; where w minimises ``g'w`` the split of the step makes it tight.
        """
        g = np.asarray(g, dtype=np.float64)
        _, pulls = self._cycle(np.asarray(w) - g)
        shares = [one.bounded_part(-pull) for one, pull in zip(self.sets, pulls, strict=True)]
        rest = g - np.sum(shares, axis=0)
        best = self.least(g)
        for i, taker in enumerate(self.sets):
            takes = taker.bounded_part(shares[i] + rest)
            if np.array_equal(takes, shares[i] + rest):
                bounds = [one.least(share) for one, share in zip(self.sets, shares, strict=True)]
                bounds[i] = taker.least(takes)
                best = max(best, float(np.sum(bounds)))
        return best
