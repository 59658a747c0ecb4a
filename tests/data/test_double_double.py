from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qed.data._between import joined, parted
from qed.data._double_double import Pair, add, divide, exact_product, exact_sum, multiply, negative
from qed.data._kernels import add_outer

numbers = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)
pairs = st.tuples(numbers, st.floats(-1, 1)).map(lambda t: exact_sum(t[0], t[0] * t[1] * 2.0**-54))


def exact(a: Pair) -> Fraction:
    return Fraction(float(a.high)) + Fraction(float(a.low))


@given(a=numbers, b=numbers)
def test_sum_and_product_are_exact(a, b):
    assert exact(exact_sum(a, b)) == Fraction(a) + Fraction(b)
    assert exact(exact_product(a, b)) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize(
    ("ours", "true", "units"),
    [(add, Fraction.__add__, 3), (multiply, Fraction.__mul__, 7), (divide, Fraction.__truediv__, 20)],
)
@given(a=pairs, b=pairs)
def test_operations_keep_106_bits(ours, true, units, a, b):
    assume(ours is not divide or b.high != 0)
    expected = true(exact(a), exact(b))
    assert abs(exact(ours(a, b)) - expected) <= units * abs(expected) / 2**106


@given(weights=st.tuples(*[st.floats(1e-3, 1e6)] * 2), means=st.tuples(*[st.floats(-1e8, 1e8)] * 2))
def test_parting_undoes_joining(weights, means):
    a, b = (Pair(np.float64(w), np.float64(0)) for w in weights)
    mean_a, mean_b = (Pair(np.array([m]), np.zeros(1)) for m in means)
    whole = joined(a, mean_a, b, mean_b)
    back = parted(whole.weight, whole.mean, b, mean_b)
    assert float(back.weight.high) == pytest.approx(weights[0], rel=1e-20 * (1 + weights[1] / weights[0]) + 1e-15)
    assert back.mean.high[0] == pytest.approx(means[0], rel=1e-12, abs=1e-9)


def test_an_outer_product_is_added_symmetrically_and_to_thirty_digits():
    random = np.random.default_rng(0)
    step = Pair(random.normal(size=7), random.normal(size=7) * 1e-17)
    start = Pair(np.eye(7), np.zeros((7, 7)))
    total = add_outer(start, None, step, Pair(0.3, 1e-18))
    for part in total:
        assert np.array_equal(part, part.T)
    factor = Fraction(0.3) + Fraction(1e-18)
    for i, j in np.ndindex(7, 7):
        exact = Fraction(float(i == j)) + factor * (Fraction(step.high[i]) + Fraction(step.low[i])) * (
            Fraction(step.high[j]) + Fraction(step.low[j])
        )
        assert abs(Fraction(total.high[i, j]) + Fraction(total.low[i, j]) - exact) < Fraction(1e-30)
    assert np.array_equal(add_outer(start, negative(start), step, Pair(0.0, 0.0)).high, np.zeros((7, 7)))
