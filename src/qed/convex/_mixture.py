"""The best mixture of dual points that are at hand: the slope, a point that a solver has met on its way, and zero.

The points that are feasible are a convex set, so that every mixture of them is one, and its products are the same mixture of
their products: once each point has been multiplied with the columns, looking for the best mixture costs no pass over the rows.
Where the conjugate losses are quadratic pieces and the penalty is a sum of squares, what a mixture proves is a concave quadratic
of its two shares, whose largest value on the triangle is found in closed form. It is never worse than either point alone, and
never worse than zero, which says that no objective is below zero.

An intercept asks that both signs of a point weigh the same: the heavier one is shrunk. So there are four parts, the positive and
the negative slopes and the positive and the negative variables met, and sums over rows are told for each of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import _kernels
from qed.convex._gap import PointCache, Tried
from qed.designs import Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


# mixtures that are tried where no closed form says which is best
SHARES = ((0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (0.2, 0.8))
SCALES = (1.0, 0.5, 0.2)

Pair = tuple[float, float]
Four = list[float]


class Met(NamedTuple):
    """A dual point as a solver has noted it: ``times`` single-precision numbers, one a row."""

    numbers: Any
    times: float = 1.0


class _Parts(NamedTuple):
    """What one pass tells of the four parts.

    Attributes
    ----------
    t, slope : ndarray of shape (n,)
        Scores, and slopes there.
    columns : ndarray of shape (n, 4), or None
        The parts themselves, where compiled code does not make them again.
    loss : float
        Weighted mean loss.
    lengths : tuple of float
        Root mean squares of scores and slopes.
    mass, along : list of float
        Sums of c times each part, and of that times the targets.
    gram : list of list of float
        Sums of c times the products of two.
    products : ndarray of shape (4, p)
        Adjoint products with c times each part.
    """

    t: Vector
    slope: Vector
    columns: Vector | None
    loss: float
    lengths: Pair
    mass: Four
    along: Four
    gram: list[Four]
    products: Vector


def mixed(problem: Problem, w: Vector, b: float, met: Met) -> PointCache:
    """Look at a point in one pass; return its products, with the best mixture of slope, dual point met and zero.

    Parameters
    ----------
    problem : Problem
        With one score a row, and a loss that says what pieces its conjugate is made of.
    w, b : ndarray, float
        The point.
    met : Met
        A dual point.
    """
    name = _native_name(problem)
    parts = _by_products(problem, w, b, met) if name is None else _by_pass(name, problem, w, b, met)
    rise, fall, met_rise, met_fall = parts.mass
    own, other = _balanced(problem, rise, -fall), _balanced(problem, met_rise, -met_fall)
    share, rest = _best_shares(problem, parts, own, other)
    return PointCache(
        parts.t,
        parts.products[0],
        parts.products[1],
        parts.slope,
        parts.loss,
        sides=(rise, -fall),
        lengths=parts.lengths,
        tried=_mixture(name, problem, parts, met, [*(share * by for by in own), *(rest * by for by in other)]),
    )


def _native_name(problem: Problem) -> str | None:
    """Return the name under which compiled passes know the loss; None where they do not, or cannot read the design."""
    name = problem.loss.traits.native
    return name if name in _kernels.SUMMED and isinstance(problem.design, Dense | Sparse) else None


def _balanced(problem: Problem, over: float, under: float) -> Pair:
    """Return what the positive and the negative side are multiplied by, so that an intercept finds both of one weight."""
    if not problem.free_intercept or over == under:
        return 1.0, 1.0
    return (under / over, 1.0) if over > under else (1.0, over / under)


def _by_pass(name: str, problem: Problem, w: Vector, b: float, met: Met) -> _Parts:
    n, p = problem.shape
    out = np.empty((2, n))
    shift = np.zeros(p) if problem.centre is None else problem.centre
    table = problem.design.table  # type: ignore[attr-defined]
    found, products = _kernels.mixed_pass(name, table, (problem.loss.y, problem.share, out), (w, b, shift), met)
    loss, rise, fall, _, t_square, slope_square, *rest = found.tolist()
    one, two, three, four = rest[6:10]  # squares of the parts; parts of one point that differ in sign never meet
    high, mixed_high, mixed_low, low = rest[10:]
    gram = [
        [one, 0.0, high, mixed_high],
        [0.0, two, mixed_low, low],
        [high, mixed_low, three, 0.0],
        [mixed_high, low, 0.0, four],
    ]
    lengths = math.sqrt(t_square), math.sqrt(slope_square)
    return _Parts(out[0], out[1], None, loss, lengths, [rise, fall, *rest[:2]], rest[2:6], gram, products)


def _by_products(problem: Problem, w: Vector, b: float, met: Met) -> _Parts:
    loss, c = problem.loss, problem.share
    t = problem.scores(w, b)
    slope, u = loss.slope(t), loss.project(met.times * met.numbers.astype(np.float64))
    columns = np.stack([np.maximum(slope, 0.0), np.minimum(slope, 0.0), np.maximum(u, 0.0), np.minimum(u, 0.0)], axis=1)
    pull = c[:, np.newaxis] * columns
    products = problem.design.adjoint_product(pull, problem.centre).T
    lengths = problem.length(t), problem.length(slope)
    mass, along, gram = pull.sum(axis=0).tolist(), (loss.y @ pull).tolist(), (columns.T @ pull).tolist()
    return _Parts(t, slope, columns, float(c @ loss.value(t)), lengths, mass, along, gram, products)


def _best_shares(problem: Problem, parts: _Parts, own: Pair, other: Pair) -> Pair:
    """Return the shares of slope and dual point met in the mixture that proves most; each is given by factors of its parts."""
    bend, width = problem.loss.traits.pieces or (0.0, 0.0)
    (a, b, c, d), (rise, fall, met_rise, met_fall) = parts.along, parts.mass
    gain = (
        -(own[0] * (a + width * rise) + own[1] * (b - width * fall)),
        -(other[0] * (c + width * met_rise) + other[1] * (d - width * met_fall)),
    )
    cost = _curvature(bend, parts.gram, own, other) if bend else (0.0, 0.0, 0.0)
    strength = _squares(problem)
    if strength > 0:
        pull = _curvature(1.0 / strength, (parts.products @ parts.products.T).tolist(), own, other)
        return _top_of_triangle(gain, (cost[0] + pull[0], cost[1] + pull[1], cost[2] + pull[2]))
    if not problem.penalty.traits.is_bounding:
        return 0.0, 1.0
    best, shares = 0.0, (0.0, 0.0)
    products = np.stack([own @ parts.products[:2], other @ parts.products[2:]])
    for share in SHARES:
        inside = problem.penalty.shrink(share @ products, np.zeros(products.shape[1]))
        for scale in SCALES:
            tried = scale * inside * share[0], scale * inside * share[1]
            value = _value(gain, cost, tried) - problem.penalty.conjugate(-(tried @ products))
            if value > best:
                best, shares = value, tried
    return shares


def _curvature(times: float, matrix: list[Four], own: Pair, other: Pair) -> tuple[float, float, float]:
    """Return a quadratic form of four parts as one of the two shares: the squares of either, and what they have in common."""

    def between(left: Pair, right: Pair, i: int, j: int) -> float:
        first = left[0] * (matrix[i][j] * right[0] + matrix[i][j + 1] * right[1])
        return times * (first + left[1] * (matrix[i + 1][j] * right[0] + matrix[i + 1][j + 1] * right[1]))

    return between(own, own, 0, 0), between(other, other, 2, 2), between(own, other, 0, 2)


def _squares(problem: Problem) -> float:
    """Return the strength of a penalty that is a sum of squares and nothing else; zero for any other."""
    numbers = problem.penalty.numbers(problem.shape[1]) if problem.penalty.traits.is_smooth else ()
    return float(numbers[2]) if len(numbers) == 3 and not numbers[1].any() else 0.0


def _value(gain: Pair, cost: tuple[float, float, float], a: Pair) -> float:
    """Return what a mixture gains less half of what its curvature costs."""
    bent = cost[0] * a[0] * a[0] + cost[1] * a[1] * a[1] + 2 * cost[2] * a[0] * a[1]
    return gain[0] * a[0] + gain[1] * a[1] - 0.5 * bent


def _top_of_triangle(gain: Pair, cost: tuple[float, float, float]) -> Pair:
    """Return the shares >= 0 with a sum of at most one whose `_value` is largest."""
    best, found = 0.0, (0.0, 0.0)
    for a in _corners(gain, cost):
        if a[0] >= 0 and a[1] >= 0 and a[0] + a[1] <= 1 and (value := _value(gain, cost, a)) > best:
            best, found = value, a
    return found


def _corners(g: Pair, cost: tuple[float, float, float]) -> Iterator[Pair]:
    """Yield where the largest value can be: inside, and on the edges."""
    one, two, both = cost
    area = one * two - both * both
    if area > 0:
        yield (g[0] * two - g[1] * both) / area, (g[1] * one - g[0] * both) / area
    yield _along(g[0], one), 0.0
    yield 0.0, _along(g[1], two)
    share = _along(g[0] - g[1] + two - both, one - 2 * both + two)
    yield share, 1.0 - share


def _along(gain: float, cost: float) -> float:
    """Return where in [0, 1] ``gain a - cost a**2 / 2`` is largest."""
    return min(1.0, max(0.0, gain / cost)) if cost > 0 else float(gain > 0)


def _mixture(name: str | None, problem: Problem, parts: _Parts, met: Met, factor: Four) -> Tried:
    """Return the dual point and what a proof asks of it."""
    z, c = -(np.array(factor) @ parts.products), problem.share
    # products of the parts were rounded one by one: all their lengths count, even where the parts cancel
    length = sum(by * math.sqrt(max(parts.gram[k][k], 0.0)) for k, by in enumerate(factor))
    if name is not None:
        u, sums = _kernels.mix_sides(name, (parts.t, problem.loss.y, c), parts.slope, met, tuple(factor))
        over, under, _, excess, apart = sums.tolist()
        return Tried(u, z, (over, under), length, excess, math.sqrt(apart))
    u = np.asarray(parts.columns) @ np.array(factor)
    mass = c * u
    sides = float(np.maximum(mass, 0.0).sum()), -float(np.minimum(mass, 0.0).sum())
    return Tried(u, z, sides, length, float(c @ problem.loss.excess(parts.t, u)), problem.length(parts.slope - u))
