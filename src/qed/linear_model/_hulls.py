"""The nearest points of two convex hulls, by Wolfe's method: finite, exact up to rounding, and a proof either way.

Points with positive sign and points with negative sign are separated by a hyperplane exactly when their hulls do not meet. The
shortest vector d between the hulls is the normal of the hyperplane with the widest margin, half its length is that margin, and any
two points of the hulls bound the margin of every hyperplane by half their distance. Where the hulls meet, d is zero, and the
weights of the two points that coincide prove that there is no hyperplane. Hyperplanes through the origin ask the same of the
points times their signs and of the origin.

Wolfe's method keeps few vertices that are affinely independent, moves to the point of their affine hull nearest to the origin,
drops vertices when that lies outside of their convex hull, and takes the vertex that is furthest back when it lies inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector


MEET = 1e-12  # distance of the hulls, in units of the largest vertex, that is rounding
EPS = float(np.finfo(np.float64).eps)


class Nearest(NamedTuple):
    """Nearest points of the hulls.

    Attributes
    ----------
    normal : ndarray of shape (p,)
        From the negative point to the positive one; with hyperplanes through the origin, from the origin to the hull.
    weights : ndarray of shape (n,)
        Of the rows in the nearest points: those of each side sum to one (all of them, with hyperplanes through the origin).
    size : float
        Length of the longest vertex that was looked at.
    n_iter : int
        Vertices that were looked at.
    meets : bool
        Whether the distance is zero as far as rounding tells.
    """

    normal: Vector
    weights: Vector
    size: float
    n_iter: int
    meets: bool


def nearest_points(X: Any, sign: Vector, *, through_origin: bool, tol: float, max_iter: int) -> Nearest:
    """Find the shortest vector between the hulls of rows with positive and with negative signs.

    Parameters
    ----------
    X : ndarray or compressed rows of shape (n, p)
        Rows.
    sign : ndarray of shape (n,)
        Their sides, -1 or +1.
    through_origin : bool
        Whether hyperplanes must contain the origin: then one hull is that of the rows times their signs, the other is the origin.
    tol : float
        How far the squared length may be from the least, relative to it.
    max_iter : int
        Most vertices to look at.
    """
    up, down = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    search = _Search(X, sign, None if through_origin else (up, down))
    first = (int(up[0]), int(down[0])) if not through_origin else (0, 0)
    pairs, V, share = [first], search.vertex(first)[np.newaxis, :], np.ones(1)
    size, count = float(np.linalg.norm(V[0])), 1
    d = V[0]
    for count in range(1, max_iter + 1):  # noqa: B007  the last is told
        length = float(d @ d)
        pair = search.furthest_back(d)
        vertex = search.vertex(pair)
        size = max(size, float(np.linalg.norm(vertex)))
        if length <= (MEET * size) ** 2 or pair in pairs or length - float(vertex @ d) <= tol * length:
            break
        pairs, V, share = [*pairs, pair], np.vstack([V, vertex]), np.append(share, 0.0)
        pairs, V, share = _corral(pairs, V, share)
        d = V.T @ share
    weights = np.zeros(len(sign))
    for (i, j), part in zip(pairs, share, strict=True):
        weights[i] += part
        if not through_origin:
            weights[j] += part
    return Nearest(np.asarray(d), weights, size, count, bool(d @ d <= (MEET * size) ** 2))


class _Search:
    """Vertices of the difference of the hulls: a row of one side less a row of the other, or a row times its sign."""

    def __init__(self, X: Any, sign: Vector, sides: tuple[Any, Any] | None) -> None:
        self.X, self.sign, self.sides = X, sign, sides

    def _row(self, i: int) -> Vector:
        row = self.X[i]
        return np.asarray(row if isinstance(row, np.ndarray) else row.toarray(), dtype=np.float64).ravel()

    def vertex(self, pair: tuple[int, int]) -> Vector:
        """Return a vertex."""
        return (
            self.sign[pair[0]] * self._row(pair[0]) if self.sides is None else self._row(pair[0]) - self._row(pair[1])
        )

    def furthest_back(self, d: Vector) -> tuple[int, int]:
        """Return the vertex whose product with d is least."""
        score = np.asarray(self.X @ d).ravel()
        if self.sides is None:
            best = int(np.argmin(self.sign * score))
            return best, best
        up, down = self.sides
        return int(up[np.argmin(score[up])]), int(down[np.argmax(score[down])])


def _corral(pairs: list[Any], V: Vector, share: Vector) -> tuple[list[Any], Vector, Vector]:
    """Move to the nearest point of the affine hull, dropping vertices until it is inside the convex hull."""
    while True:
        best = _affine(V)
        if best.min() > EPS:
            return pairs, V, best
        falling = best <= EPS
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(falling & (share > best), share / (share - best), np.inf)
        step = min(1.0, float(reach.min()))
        share = (1 - step) * share + step * best
        keep = ~(falling & (reach <= step)) & (share > 0)
        if keep.all():  # rounding: the smallest leaves
            keep[int(np.argmin(np.where(falling, best, np.inf)))] = False
        share = np.maximum(share, 0.0)[keep]
        pairs, V, share = [pair for pair, kept in zip(pairs, keep, strict=True) if kept], V[keep], share / share.sum()


def _affine(V: Vector) -> Vector:
    """Return the weights, summing to one, of the point of the affine hull that is nearest to the origin."""
    if len(V) == 1:
        return np.ones(1)
    rest = np.linalg.lstsq((V[1:] - V[0]).T, -V[0], rcond=None)[0]
    return np.concatenate([[1.0 - rest.sum()], rest])
