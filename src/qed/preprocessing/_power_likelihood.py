r"""The likelihood of a power transformation, and its optimum, enclosed.

The objective of a column is minus its log-likelihood a row, for a normal distribution of the transformed entries whose mean and
variance are the best ones (constants left out):

.. math:: f(\lambda) = \tfrac12 \log \operatorname{var}_i \psi_\lambda(x_i) - \lambda \, \operatorname{mean}_i \sigma_i L_i

with :math:`L = \log x` for Box-Cox and :math:`L = \log(1 + |x|)`, :math:`\sigma = \operatorname{sign} x` for Yeo-Johnson.

**It is convex.** The difference of two transformed entries is a sum of integrals of :math:`e^{\lambda u}` and
:math:`e^{(2 - \lambda) u}` over u, so its square, and the variance, which is a mean of such squares, is a mixture with positive
weights of exponentials in :math:`\lambda`. Sums of log-convex functions are log-convex, and a linear term changes nothing. Hence
slopes of opposite signs enclose the optimum, and at any point between, f is above its optimum by at most the size of the slope
there times the width.

Entries of one sign are measured from their own middle: multiplying all of ``1 + |x|`` (or x) by a constant does not change f, and
logarithms of ratios keep the digits that logarithms of large numbers lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._once import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable


Array = np.ndarray[Any, Any]

MIN_DIVIDED_POWER = 0.02  # in units of the spread: powers nearer to a logarithm than this are summed as series would be
INTERVAL_HALF_WIDTH = (
    1e-4  # half the width of an interval, in units of the spread: far above what rounding makes of a slope
)


class Enclosed(NamedTuple):
    """A power, an interval that holds the best one, and how much lower the objective could be, a row."""

    power: float
    low: float
    high: float
    gap: float


@dataclass(frozen=True)
class Column:
    """Logarithms of the entries of a column, as the objective sees them.

    Attributes
    ----------
    upper, lower : ndarray
        Logarithms of entries that are raised to the power, and of those that are raised to two minus it.
    share : ndarray or None
        Weights that add up to one, upper entries first; None for equal ones.
    least, largest : float
        Powers between which no entry overflows, or falls together with its neighbours.
    mirrored : bool
        Whether the power is two minus that of the column.
    """

    upper: Array
    lower: Array
    share: Array | None
    least: float
    largest: float
    mirrored: bool = False

    def mean(self, values: Array) -> float:
        """Return the mean, each entry counted by its weight."""
        return _mean(values, self.share)

    def slope(self, power: float) -> float:
        """Return the slope of the objective."""
        above, products = _transformed(self.upper, power, self.unit)
        if len(self.lower):
            below, other = _transformed(self.lower, 2 - power, self.unit)
            above, products = np.concatenate([above, -below]), np.concatenate([products, other])
        above -= self.mean(above)
        products *= above
        above *= above
        return self.mean(products) / self.mean(above) - self.level

    @cached_property
    def level(self) -> float:
        """The mean of the logarithms with the signs of the entries."""
        return self.mean(self._signed)

    @cached_property
    def unit(self) -> float:
        """The scale on which powers differ: one over the spread of the logarithms."""
        return float(1 / np.sqrt(self.mean((self._signed - self.level) ** 2)))

    @property
    def _signed(self) -> Array:
        return np.concatenate([self.upper, -self.lower]) if len(self.lower) else self.upper


def _transformed(logs: Array, power: float, unit: float) -> tuple[Array, Array]:
    """Return ``(exp(power logs) - 1) / power`` and its derivative by the power."""
    t = power * logs
    if abs(power) > MIN_DIVIDED_POWER * unit:
        grown = np.exp(t)
        value = (grown - 1) / power
        grown *= logs
        grown -= value
        grown /= power
        return value, grown
    grown = np.expm1(t)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(t == 0, 1.0, grown / t)
        turn = np.where(np.abs(t) < 0.25, _series(t), (grown + 1 - ratio) / t)
    return logs * ratio, logs * logs * turn


def _series(t: Array) -> Array:
    """Return ``(t exp(t) - exp(t) + 1) / t^2`` for small t: the sum of ``(k + 1) t^k / (k + 2)!``."""
    total, factorial = np.zeros_like(t), 1.0
    terms = []
    for k in range(13):
        factorial *= k + 2
        terms.append((k + 1) / factorial)
    for term in reversed(terms):
        total = total * t + term
    return total


def _relative(values: Array, base: float) -> Array:
    """Return ``log(values / base)`` with all digits that the values have."""
    ratio = values / base
    near = (ratio > 0.5) & (ratio < 2)
    return np.where(near, np.log1p(np.where(near, (values - base) / base, 0.0)), np.log(ratio))


def _mean(values: Array, share: Array | None) -> float:
    return float(values.mean()) if share is None else float(np.add.reduce(share * values))


def _room(relative: Array, share: Array | None, size: float) -> float:
    """Return the exponent up to which entries whose logarithms have one sign still differ by 1e-11 of their size."""
    spread = np.sqrt(_mean((relative - _mean(relative, share)) ** 2, share))
    return max(1.0, float(np.log(1e11 * spread / size)))


def box_cox(x: Array, share: Array | None, most: float) -> Column:
    """Return the column of positive numbers; ``most`` is the largest exponent that may occur."""
    logs = np.log(x)
    low, high = float(logs.min()), float(logs.max())
    relative = _relative(x, float(np.exp(logs.mean())))
    room = _room(relative, share, max(abs(low), abs(high)))
    largest = most / high if high > 0 else room / -high if high < 0 else most / -low
    least = most / low if low < 0 else -room / low if low > 0 else -most / high
    return Column(relative, x[:0], share, least, largest)


def yeo_johnson(x: Array, share: Array | None, most: float) -> Column:
    """Return the column of numbers of any sign; ``most`` is the largest exponent that may occur."""
    is_lower = x < 0
    if is_lower.any() and not is_lower.all():
        upper, lower = np.log1p(x[~is_lower]), np.log1p(-x[is_lower])
        if share is not None:
            share = np.concatenate([share[~is_lower], share[is_lower]])
        top = float(upper.max())
        return Column(upper, lower, share, 2 - most / float(lower.max()), most / top if top > 0 else most)
    size = np.abs(x)
    logs = np.log1p(size)
    low, high = float(logs.min()), float(logs.max())
    middle = float(np.expm1(logs.mean()))
    ratio = (1 + size) / (1 + middle)
    near = (ratio > 0.5) & (ratio < 2)  # there differences of sizes are exact
    relative = np.where(near, np.log1p(np.where(near, (size - middle) / (1 + middle), 0.0)), np.log(ratio))
    least = -_room(relative, share, high) / low if low > 0 else -most / high
    return Column(relative, x[:0], share, least, most / high, mirrored=bool(is_lower.any()))


def best_power(column: Column) -> Enclosed:
    """Find the best power of a column and enclose it."""
    unit = column.unit
    found = _root(column.slope, min(max(1.0, column.least), column.largest), unit, column.least, column.largest)
    low = high = found
    if column.least < found < column.largest:
        distance = INTERVAL_HALF_WIDTH * unit
        while low > column.least and not (low < found and column.slope(low) < 0):
            low, distance = max(found - distance, column.least), 10 * distance
        distance = INTERVAL_HALF_WIDTH * unit
        while high < column.largest and not (high > found and column.slope(high) > 0):
            high, distance = min(found + distance, column.largest), 10 * distance
    gap = abs(column.slope(found)) * (high - low)
    if column.mirrored:
        return Enclosed(2 - found, 2 - high, 2 - low, gap)
    return Enclosed(found, low, high, gap)


def _root(slope: Callable[[float], float], start: float, unit: float, least: float, largest: float) -> float:
    """Return where an increasing function changes sign, or the end of the range that is nearest to it."""
    enough = 1e-11 / unit
    a, at_a = start, slope(start)
    step = unit if at_a < 0 else -unit
    while True:
        if abs(at_a) <= enough:
            return a
        b = min(max(a + step, least), largest)
        at_b = slope(b)
        if (at_a < 0) != (at_b < 0) or at_b == 0:
            break
        if b in (least, largest):
            return b
        a, at_a, step = b, at_b, 2 * step
    # Inverse quadratic interpolation where three points are in line, halving elsewhere (Chandrupatla's rule).
    c, at_c, part = a, at_a, 0.5
    for _ in range(100):
        x = a + part * (b - a)
        at_x = slope(x)
        if (at_x < 0) == (at_a < 0):
            c, at_c = a, at_a
        else:
            c, b, at_c, at_b = b, a, at_b, at_a
        a, at_a = x, at_x
        best, value = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        if abs(value) <= enough or abs(b - a) <= 1e-13 * (unit + abs(best)):
            return best
        part = _next_part((a, b, c), (at_a, at_b, at_c))
    return best


def _next_part(points: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    (a, b, c), (at_a, at_b, at_c) = points, values
    position, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    if height**2 < position and (1 - height) ** 2 < 1 - position:
        first = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        second = (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        return min(max(first + second, 1e-6), 1 - 1e-6)
    return 0.5
