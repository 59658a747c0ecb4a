"""Numbers kept as the unevaluated sum of two float64, about 106 bits: `high` is the nearest float64, `low` its error.

The error-free transformations are Knuth's (sum) and Dekker's (product); the operations on pairs are those analysed by
Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic"
(2017), each with a relative error of a few 2**-106. They work on scalars and arrays alike, and cost a small multiple
of plain arithmetic: statistics pay it once a chunk, never once a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

SPLITTER = 134217729.0  # 2**27 + 1: cuts 53 bits into two halves whose products are exact


class Pair(NamedTuple):
    """The value ``high + low``, with ``|low|`` at most half a unit in the last place of ``high``."""

    high: Any
    low: Any


def exact_sum(a: Any, b: Any) -> Pair:
    """Return a + b without any error."""
    s = a + b
    c = s - a
    return Pair(s, (a - (s - c)) + (b - c))


def exact_product(a: Any, b: Any) -> Pair:
    """Return a * b without any error, short of overflow and underflow."""
    product = a * b
    c = SPLITTER * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = SPLITTER * b
    b_high = c - (c - b)
    b_low = b - b_high
    # The two middle terms are added first: swapping a and b then cannot change a bit.
    return Pair(product, ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low)


def normalised(high: Any, low: Any) -> Pair:
    """Return the pair with the same sum whose high part is the nearest float64; needs ``|high| >= |low|``."""
    s = high + low
    return Pair(s, low - (s - high))


def add(a: Pair, b: Pair) -> Pair:
    """Return a + b, relative error below 3 * 2**-106."""
    s = exact_sum(a.high, b.high)
    t = exact_sum(a.low, b.low)
    s = normalised(s.high, s.low + t.high)
    return normalised(s.high, s.low + t.low)


def negative(a: Pair) -> Pair:
    """Return -a, without any error."""
    return Pair(-a.high, -a.low)


def multiply(a: Pair, b: Pair) -> Pair:
    """Return a * b, relative error below 6 * 2**-106."""
    product = exact_product(a.high, b.high)
    return normalised(product.high, product.low + (a.high * b.low + a.low * b.high))


def divide(a: Pair, b: Pair) -> Pair:
    """Return a / b, relative error below 16 * 2**-106."""
    first = a.high / b.high
    rest = add(a, negative(multiply(b, Pair(first, 0.0 * first))))
    second = rest.high / b.high
    rest = add(rest, negative(multiply(b, Pair(second, 0.0 * second))))
    third = rest.high / b.high
    head = normalised(first, second)
    return normalised(head.high, head.low + third)
