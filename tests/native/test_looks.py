"""What is looked at before a fit, against NumPy twins: a row near the mean, means and spreads, centred moments."""

from fractions import Fraction

import numpy as np
import pytest
from tests.native.layouts import laid_out
from tests.reference import kernels as twins
from tests.reference.moments import exact_moments

UNIT = 2.0**-53


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 13, 2), (700, 3, 0), (9000, 0, 1)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_and_spreads(native, dtype, layout, shape, weighted):
    n, p, m = shape
    rng = np.random.default_rng(5)
    X, Y = laid_out((3 + rng.standard_normal((n, p))).astype(dtype), layout), rng.standard_normal((n, m))
    s = rng.integers(0, 3, n).astype(float) + (np.arange(n) == 0) if weighted else None
    for step in (1, 4):
        assert np.allclose(native.typical_row(X, Y, s, step), twins.typical_row(X, Y, s, step), rtol=1e-12, atol=1e-12)
    total = float(n) if s is None else float(s.sum())
    got, want = native.column_spreads(X, Y, s, total), twins.column_spreads(X, Y, s)
    assert np.array_equal(got[2], want[2])
    mean_rounding, spread_rounding = native.moment_rounding(*got, total, n)
    assert np.all(np.abs(got[0] - want[0]) <= mean_rounding + 4 * UNIT * np.abs(want[0]))
    assert np.all(np.abs(got[1] - want[1]) <= 2 * spread_rounding)
    assert np.all(spread_rounding <= 1e-10 * (want[1] + total))


def test_a_first_row_far_from_the_others_costs_spreads_no_digits(native):
    X = np.random.default_rng(0).standard_normal((500, 2))
    X[0] = 1e7
    s = np.ones(500)
    s[0] = 0.0  # seen, and of no weight
    mean, spread, about = native.column_spreads(X, X[:, :0], s, 499.0)
    rounding_error, _ = native.moment_rounding(mean, spread, about, 499.0, 500)
    assert np.all(np.abs(mean - X[1:].mean(axis=0)) <= rounding_error)
    assert np.allclose(spread, ((X[1:] - X[1:].mean(axis=0)) ** 2).sum(axis=0), rtol=1e-12)


def test_constant_columns_are_hit_to_the_last_bit(native):
    X = np.full((1000, 2), 0.1)
    s = np.random.default_rng(1).random(1000)
    assert np.array_equal(native.typical_row(X, X[:, :0], s, 3), X[0])
    assert np.array_equal(native.column_spreads(X, X[:, :0], s, float(s.sum()))[1], np.zeros(2))


@pytest.mark.parametrize("shift", [None, 5.0])
def test_moments_are_centred_to_many_digits(native, shift):
    rng = np.random.default_rng(2)
    z = 5.0 + np.round(rng.standard_normal((40, 3)), 3)
    about = np.zeros(3) if shift is None else np.full(3, shift)
    moved = [[Fraction(value) - Fraction(o) for value, o in zip(row, about, strict=True)] for row in z.tolist()]
    sums = np.array([float(sum(row[j] for row in moved)) for j in range(3)])
    products = np.array([[float(sum(row[i] * row[j] for row in moved)) for j in range(3)] for i in range(3)])
    mean, mean_low, scatter, scatter_low = native.centre_moments(40.0, None if shift is None else about, sums, products)
    for j in range(3):
        want = Fraction(float(about[j])) + Fraction(float(sums[j])) / 40
        assert abs(Fraction(float(mean[j])) + Fraction(float(mean_low[j])) - want) <= Fraction(2) ** -100 * abs(want)
        for i in range(3):
            want = Fraction(float(products[i, j])) - Fraction(float(sums[i])) * Fraction(float(sums[j])) / 40
            got = Fraction(float(scatter[i, j])) + Fraction(float(scatter_low[i, j]))
            assert abs(got - want) <= Fraction(2) ** -98 * Fraction(float(products[i, i] + products[j, j]))
    exact = exact_moments(z)
    assert np.allclose(scatter, np.array(exact.scatter, dtype=float), rtol=1e-10)


def test_scatter_that_rounding_makes_negative_is_zero(native):
    low = native.centre_moments(3.0, None, np.array([0.3]), np.array([[0.3 * 0.3 / 3 * (1 - 2 * UNIT)]]))
    assert low[2][0, 0] == 0.0
    assert low[3][0, 0] == 0.0


def test_wrong_shapes_are_refused(native):
    X = np.zeros((4, 2))
    for call in (
        lambda: native.typical_row(X, X[:3], None, 1),
        lambda: native.typical_row(X, X, None, 0),
        lambda: native.column_spreads(X, X[:3], None, 4.0),
        lambda: native.moment_rounding(np.zeros(2), np.zeros(3), np.zeros(2), 4.0, 4),
        lambda: native.centre_moments(4.0, None, np.zeros(2), np.zeros((3, 3))),
    ):
        with pytest.raises(ValueError, match="must"):
            call()
