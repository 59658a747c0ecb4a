"""Chan's identity in double-double: how two weighted means and scatters join, and how they part again.

With weights W, means m and d = m_b - m_a:  W = W_a + W_b,  m = m_a + (W_b / W) d,  S = S_a + S_b + (W_a W_b / W) d d'.
The identity read backwards takes b away from the whole a:  W = W_a - W_b,  m = m_a - (W_b / W) d,
S = S_a - S_b - (W_a W_b / W) d d'.
"""

from __future__ import annotations

from typing import NamedTuple

from qed.data._double_double import Pair, add, divide, multiply, negative


class Step(NamedTuple):
    """Weight and mean after joining or parting, and the outer product ``factor * step step'`` the scatter gains."""

    weight: Pair
    mean: Pair
    step: Pair
    factor: Pair


def joined(weight_a: Pair, mean_a: Pair, weight_b: Pair, mean_b: Pair) -> Step:
    """Join b to a. Give the heavier one as a: its mean is then moved the least."""
    weight = add(weight_a, weight_b)
    step = add(mean_b, negative(mean_a))
    pull = divide(weight_b, weight)
    return Step(weight, add(mean_a, multiply(pull, step)), step, multiply(weight_a, pull))


def parted(weight_a: Pair, mean_a: Pair, weight_b: Pair, mean_b: Pair) -> Step:
    """Take b away from a; the weight that remains must not be zero."""
    weight = add(weight_a, negative(weight_b))
    step = add(mean_b, negative(mean_a))
    push = negative(divide(weight_b, weight))
    return Step(weight, add(mean_a, multiply(push, step)), step, multiply(weight_a, push))
