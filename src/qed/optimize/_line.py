"""Minima along a line, by values alone: bracket, then golden sections and parabolas in Brent's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable


GOLDEN = 0.5 * (3.0 - 5.0**0.5)  # share of the longer side at which a golden section cuts
NARROWEST = float(np.sqrt(np.finfo(np.float64).eps))  # closer points have values that rounding cannot tell apart


class Bracket(NamedTuple):
    """Three abscissae with the lowest value in the middle; ``is_closed`` says whether both ends are higher."""

    low: float
    middle: float
    high: float
    is_closed: bool


class LineMinimum(NamedTuple):
    """Where a function of one number is lowest, its value there, and how often it was asked."""

    x: float
    value: float
    calls: int


def bracket(f: Callable[[float], float], start: float = 0.0, step: float = 1.0, *, most: int = 200) -> Bracket:
    """Walk downhill from ``start`` in growing steps until the function rises.

    Values that are not finite count as a rise. Where the function falls for ``most`` doublings the bracket is not closed.
    """
    a, fa = start, f(start)
    b = start + step
    fb = f(b)
    for _ in range(most):  # the first step may be far too long
        if fb <= fa or abs(b - a) < np.finfo(np.float64).tiny:
            break
        back = start - (b - start)
        if f(back) < fa:
            a, b, fb = start, back, f(back)
            break
        b = start + 0.5 * (b - start)
        fb = f(b)
    else:
        return Bracket(start, start, start + step, is_closed=True)
    if fb > fa:
        return Bracket(min(b, a), a, max(b, a), is_closed=True)
    for _ in range(most):
        c = b + 2.0 * (b - a)
        fc = f(c)
        if not np.isfinite(c) or not fc < fb:
            return Bracket(min(a, c), b, max(a, c), is_closed=bool(np.isfinite(c)) and fc > -np.inf)
        a, b, fb = b, c, fc
        if fb == -np.inf:
            break
    return Bracket(min(a, b), b, max(a, b), is_closed=False)


def line_minimum(
    f: Callable[[float], float], low: float, high: float, *, tol: float = NARROWEST, max_iter: int = 200
) -> LineMinimum:
    """Minimise a function of one number between two ends.

    The interval shrinks by golden sections; where a parabola through the best three points falls inside, its lowest point is
    tried instead. For a function with one dip the answer is within ``tol`` of it, relative to its abscissa.

    Parameters
    ----------
    f : callable
        Of one number.
    low, high : float
        The ends, low < high.
    tol : float
        Relative accuracy; below 1e-8 rounding of values hides any difference.
    max_iter : int
        Most evaluations.

    Examples
    --------
    >>> from qed.optimize import line_minimum
    >>> round(line_minimum(lambda x: (x - 2.0) ** 2, 0.0, 5.0).x, 6)
    2.0
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InvalidParameter(f"line_minimum needs finite ends low < high, got {low!r} and {high!r}.")
    a, b = float(low), float(high)
    x = second = third = a + GOLDEN * (b - a)
    fx = f_second = f_third = f(x)
    if np.isnan(fx):
        raise InvalidData(f"line_minimum: the function is nan at {x:g}. Choose ends between which it has values.")
    step = before = 0.0
    calls = 1
    while calls < max_iter:
        middle, accuracy = 0.5 * (a + b), tol * abs(x) + 1e-300 + tol * 1e-4 * (high - low)
        if abs(x - middle) <= 2 * accuracy - 0.5 * (b - a):
            break
        move = _parabola(x, second, third, fx, f_second, f_third)
        lies_inside = (
            move is not None and a + 2 * accuracy < x + move < b - 2 * accuracy and abs(move) < 0.5 * abs(before)
        )
        if lies_inside and move is not None:
            before, step = step, move
        else:
            before = (a if x >= middle else b) - x
            step = GOLDEN * before
        trial = x + (step if abs(step) >= accuracy else float(np.copysign(accuracy, step)))
        value = f(trial)
        calls += 1
        if value <= fx:
            a, b = (x, b) if trial >= x else (a, x)
            third, f_third, second, f_second, x, fx = second, f_second, x, fx, trial, value
            continue
        a, b = (trial, b) if trial < x else (a, trial)
        if value <= f_second or second == x:
            third, f_third, second, f_second = second, f_second, trial, value
        elif value <= f_third or third in (x, second):
            third, f_third = trial, value
    return LineMinimum(x, fx, calls)


def _parabola(x: float, v: float, u: float, fx: float, fv: float, fu: float) -> float | None:
    """Return the way from x to the lowest point of the parabola through three points; None if it has none."""
    if not (np.isfinite(fv) and np.isfinite(fu)):
        return None
    r, q = (x - v) * (fx - fu), (x - u) * (fx - fv)
    below = 2.0 * (q - r)
    over = (x - u) * q - (x - v) * r
    return None if below == 0.0 else -over / below
