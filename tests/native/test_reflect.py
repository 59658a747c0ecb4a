"""The triangular factor, beside LAPACK's and judged by its own laws."""

import numpy as np
import pytest
from tests.native.layouts import laid_out
from tests.reference import kernels as reference

UNIT = 2.0**-53
# rows below, at and beyond a block, a share and several of them; columns within one strip and across many
SHAPES = [(0, 3, 1), (1, 1, 0), (3, 7, 2), (128, 11, 1), (129, 23, 1), (2049, 24, 1), (9000, 50, 1), (300, 150, 3)]


def table(n, p, m, dtype=np.float64, seed=3):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, p)) * np.geomspace(1.0, 1e-3, max(p, 1))[:p] + 3.0).astype(dtype)
    shift, scale = rng.standard_normal(p + m), 0.5 + rng.random(p + m)
    return X, rng.standard_normal((n, m)).astype(dtype), rng.random(n), shift, scale


def upright(R):
    """The one factor whose diagonal is not negative."""
    return np.where(np.diagonal(R) < 0, -1.0, 1.0)[:, None] * R


@pytest.mark.parametrize(("n", "p", "m"), SHAPES)
def test_agrees_with_lapack(native, n, p, m, layout, dtype):
    X, Y, s, shift, scale = table(n, p, m, dtype)
    X, Y = laid_out(X, layout), laid_out(Y, layout)
    for arguments in [(None, None, None, False), (s, shift, scale, True)]:
        R = native.triangle(X, Y, *arguments)
        twin = reference.triangle(X, Y, *arguments)
        assert R.shape == twin.shape
        assert not np.tril(R, -1).any()
        length = np.linalg.norm(twin, axis=0)
        products = R.T @ R - twin.T @ twin
        assert np.all(np.abs(products) <= 64 * (p + m + 8) * UNIT * np.multiply.outer(length, length))
        if n > p + m:  # the factor itself is determined only where no column depends on those before it
            condition = np.linalg.cond(twin / length)
            assert np.all(np.abs(upright(R) - upright(twin)) <= 64 * (p + m) * condition * UNIT * length)


def test_bits_do_not_depend_on_threads(native):
    for n, p in [(9000, 50), (700, 260)]:  # shares side by side, and one whose strips are spread over threads
        X, Y, s, shift, scale = table(n, p, 1)
        factors = set()
        for threads in (1, 2, 3, 8):
            native.set_num_threads(threads)
            factors.add(native.triangle(X, Y, s, shift, scale, True).tobytes())
        assert len(factors) == 1


def test_small_singular_values_survive(native):
    """Squared, this condition number is 1e24; the factor keeps the least singular value to four digits."""
    rng = np.random.default_rng(8)
    n, p = 5000, 40
    U, V = np.linalg.qr(rng.standard_normal((n, p)))[0], np.linalg.qr(rng.standard_normal((p, p)))[0]
    sigma = np.geomspace(1.0, 1e-12, p)
    R = native.triangle((U * sigma) @ V.T, np.empty((n, 0)), None, None, None, False)
    found = np.linalg.svd(R, compute_uv=False)
    assert np.all(np.abs(found - sigma) <= 64 * p * UNIT)


def test_dependent_columns(native):
    """A column that repeats others, a zero column and a constant one beside the ones leave rounding on the diagonal."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((3000, 20))
    X[:, 13] = X[:, 2] + X[:, 5]
    X[:, 7] = 0.0
    X[:, 16] = 5.0
    R = native.triangle(X, np.empty((3000, 0)), None, None, None, True)
    length = np.linalg.norm(R, axis=0)
    diagonal = np.abs(np.diagonal(R))
    assert np.isfinite(R).all()
    for column in (13, 16):
        assert diagonal[1 + column] <= 64 * UNIT * length[1 + column]
    assert length[8] == 0.0
    kept = np.delete(np.arange(21), [8, 14, 17])
    assert np.all(diagonal[kept] > 10)


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_scale_brings_columns_into_range(native, size):
    X, Y, s, _, _ = table(500, 9, 1)
    power = np.full(10, np.ldexp(1.0, -np.frexp(size)[1]))
    R = native.triangle(size * X, size * Y, s, None, power, False)
    assert np.array_equal(R, native.triangle(power[0] * (size * X), power[0] * (size * Y), s, None, None, False))


def test_no_weight_no_row(native):
    X, Y, s, shift, scale = table(4000, 30, 1)
    s[::3] = 0.0
    used = s > 0
    with_zeros = native.triangle(X, Y, s, shift, scale, True)
    without = native.triangle(X[used], Y[used], s[used], shift, scale, True)
    assert np.allclose(upright(with_zeros), upright(without), rtol=0, atol=1e-11)


def test_shapes_are_checked(native):
    X, Y = np.ones((5, 2)), np.ones((5, 1))
    with pytest.raises(ValueError, match="equally many rows"):
        native.triangle(X, Y[:4], None, None, None, False)
    with pytest.raises(ValueError, match="scale must be a vector of length 3"):
        native.triangle(X, Y, None, None, np.ones(2), False)
