from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from qed.core._errors import ForgetError, InvalidData, ModelFileError
from qed.data import Chunk, Counts


def test_words_and_numbers_are_counted():
    c = Counts.of_values(["b", "a", "b"], np.array([1.0, 2.0, 0.5]))
    assert c.values.tolist() == ["a", "b"]
    assert c.rows.tolist() == [1, 2]
    assert c.weight.tolist() == [2.0, 1.5]
    c = Counts.of(Chunk(np.zeros((4, 1)), np.array([[1.0], [0.0], [1.0], [7.0]]), np.array([1.0, 1.0, 1.0, 0.0])))
    assert c.values.tolist() == [0.0, 1.0]
    c.check()


def test_weights_add_up_beyond_float64():
    weights = np.array([1e16, 1.0, 1e-3, 1e16, 3e-20] * 50)
    parts = [Counts.of_values(np.zeros(5), weights[i : i + 5]) for i in range(0, 250, 5)]
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    exact = sum(map(Fraction, weights.tolist()), Fraction(0))
    assert abs(Fraction(total.weight[0]) + Fraction(total.weight_low[0]) - exact) <= exact / 2**96


def test_forgetting_is_exact_and_drops_what_is_gone():
    a, b = Counts.of_values(["x", "y", "y"]), Counts.of_values(["y", "z"])
    both = a.merge(b)
    assert both.rows.tolist() == [1, 3, 1]
    assert both.subtract(b) == a
    with pytest.raises(ForgetError, match=r"Cannot forget 1 rows of weight 1 with the value .*'z'.*: 0 rows"):
        a.subtract(b)
    with pytest.raises(ForgetError):
        Counts.of_values([1, 1], np.array([1.0, 1.0])).subtract(Counts.of_values([1], np.array([5.0])))
    with pytest.raises(ForgetError):
        Counts.of_values([1], np.array([1.0])).subtract(Counts.of_values([1], np.array([0.5])))


def test_what_cannot_be_counted():
    with pytest.raises(InvalidData, match=r"A category cannot be NaN, got one in row 1"):
        Counts.of_values([0.0, np.nan])
    with pytest.raises(InvalidData, match=r"numbers with numbers"):
        Counts.of_values(["a"]).merge(Counts.of_values([1.0]))
    with pytest.raises(InvalidData, match=r"one column of values in y, got 0"):
        Counts.of(Chunk(np.zeros((1, 1))))
    with pytest.raises(ModelFileError, match=r"not sorted"):
        Counts(np.array([2.0, 1.0]), np.array([1, 1]), np.ones(2), np.zeros(2)).check()
    with pytest.raises(ModelFileError, match=r"never seen"):
        Counts(np.array([1.0, 2.0]), np.array([0, 1]), np.ones(2), np.zeros(2)).check()
