"""Dense kernels against their NumPy twins, over levels, layouts, types and awkward sizes."""

import numpy as np
import pytest
from tests.native.layouts import laid_out
from tests.reference import kernels as twins

SHAPES = [(0, 3, 1), (5, 0, 1), (5, 3, 0), (1, 1, 1), (7, 13, 2), (129, 51, 1), (1100, 50, 9), (530, 401, 2)]
UNIT = 2.0**-53


def close(got, want, scale=1.0):
    """Agreement to a few hundred roundings of the largest number in sight."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    unit = np.finfo(got.dtype).eps if got.dtype == np.float32 else 2 * UNIT
    bound = 500 * unit * scale * max(1.0, np.abs(want).max(initial=0.0))
    assert np.abs(got - want).max(initial=0.0) <= bound


@pytest.fixture(params=SHAPES, ids=str)
def table(request, dtype, layout):
    n, p, m = request.param
    rng = np.random.default_rng(7)
    X = laid_out(rng.standard_normal((n, p)).astype(dtype), layout)
    return X, rng.standard_normal((n, m)), rng.random(n), rng.standard_normal(p + m)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments(native, table, weighted):
    X, Y, s, shift = table
    s = s if weighted else None
    weight, sums, scatter = native.moments(X, Y, s, shift)
    want = twins.moments(X, Y, s, shift)
    close(weight, want[0])
    close(sums, want[1], scale=max(1, len(X)) ** 0.5)
    close(scatter, want[2])
    assert np.array_equal(scatter, scatter.T)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_listed_rows(native, table, weighted):
    X, Y, s, shift = table
    rows = np.random.default_rng(1).integers(0, len(X), 2 * len(X)) if len(X) else np.empty(0, dtype=np.int64)
    weights = s[rows] if weighted else None
    found = native.moments(X, Y, weights, shift, rows)
    copied = native.moments(X[rows], Y[rows], weights, shift)
    assert all(np.array_equal(a, b) for a, b in zip(found, copied, strict=True))  # to the last bit
    for wrong in ([-1], [len(X)]):
        with pytest.raises(ValueError, match="numbers of rows"):
            native.moments(X, Y, None, shift, np.array(wrong))


@pytest.mark.parametrize("transpose", [False, True])
def test_gram(native, table, transpose):
    X, _, s, shift = table
    shift = shift[: X.shape[1]]
    s = np.linspace(0.0, 1.0, X.shape[1]) if transpose else s
    close(native.gram(X, s, shift, transpose), twins.gram(X, s, shift, transpose))
    close(native.gram(X, None, None, transpose), twins.gram(X, None, None, transpose))


@pytest.mark.parametrize("transpose", [False, True])
def test_gram_in_single_precision(native, layout, transpose):
    rng = np.random.default_rng(7)
    for shape in [(0, 2), (31, 7), (700, 300), (410, 900)]:
        X = laid_out(rng.standard_normal(shape).astype(np.float32), layout)
        exact = twins.gram(X, None, None, transpose)
        norms = np.sqrt(np.diag(exact))
        # 128 products in a row, each rounded to 24 bits
        bound = 130 * 2.0**-24 * np.outer(norms, norms)
        assert np.all(np.abs(native.gram(X, None, None, transpose, fast=True) - exact) <= bound)


@pytest.mark.parametrize("weighted", [False, True])
def test_residual(native, table, weighted):
    X, Y, s, _ = table
    s = s if weighted else None
    rng = np.random.default_rng(8)
    W, b = rng.standard_normal((X.shape[1], Y.shape[1])), rng.standard_normal(Y.shape[1])
    for got, want in zip(native.residual(X, Y, W, b, s), twins.residual(X, Y, W, b, s), strict=True):
        close(got, want, scale=30.0)


def test_products(native, table):
    X, _, _, _ = table
    rng = np.random.default_rng(8)
    for columns in (0, 1, 4, 5, 40):
        W, U = rng.standard_normal((X.shape[1], columns)), rng.standard_normal((len(X), columns))
        b = rng.standard_normal(columns)
        product = native.matmul(X, np.asfortranarray(W), b)
        assert product.dtype == X.dtype
        close(product, twins.matmul(X, W, b))
        close(native.matmul(X, W, None), twins.matmul(X, W, None))
        close(native.rmatmul(X, U), twins.rmatmul(X, U), scale=10.0)


def test_projected_squares(native, table):
    X, _, _, shift = table
    rng = np.random.default_rng(8)
    rank = min(X.shape)
    V, D, B = (rng.standard_normal(size) for size in [(X.shape[1], rank), (rank, 4), (rank, 3)])
    shift = shift[: X.shape[1]]
    for got, want in zip(
        native.projected_squares(X, shift, V, D, B), twins.projected_squares(X, shift, V, D, B), strict=True
    ):
        close(got, want, scale=10.0)


def test_all_finite(native, dtype, layout):
    X = laid_out(np.ones((300, 41), dtype=dtype), layout)
    assert native.all_finite(X)
    assert native.all_finite(X[:0])
    assert native.all_finite(X[:, 0])
    for bad in (np.nan, np.inf, -np.inf):
        for place in [(0, 0), (299, 40), (150, 7)]:
            spoilt = X.copy() if layout == "C" else laid_out(X, layout)
            spoilt[place] = bad
            assert not native.all_finite(spoilt)
            assert not native.all_finite(spoilt[:, place[1]])
            spoilt[place] = 1.0
    assert native.all_finite(np.full((10, 10), np.finfo(dtype).max))


def test_what_is_not_finite_spreads(native):
    X, y = np.ones((600, 30)), np.ones((600, 1))
    X[555, 17] = np.nan
    _, sums, scatter = native.moments(X, y, None, np.zeros(31))
    assert np.isnan(scatter[17, 17])
    assert np.isnan(sums[17])
    assert np.array_equal(np.isnan(np.diag(scatter)), np.arange(31) == 17)
    X[555, 17] = 1e200  # its square overflows
    assert native.moments(X, y, None, np.zeros(31))[2][17, 17] == np.inf


def test_rounding_bound_holds_for_many_rows(native):
    """A mean far from zero is the worst case of naive sums: every product has the same sign."""
    rng = np.random.default_rng(3)
    X = 1.0 + rng.random((200_000, 3))
    scatter = native.moments(X, X[:, :0], None, np.zeros(3))[2]
    exact = (X.astype(np.longdouble).T @ X.astype(np.longdouble)).astype(float)
    assert np.all(np.abs(scatter - exact) <= native.product_terms * UNIT * exact)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda n, X: n.moments(X, X[:3], None, np.zeros(8)), "equally many rows"),
        (lambda n, X: n.moments(X, X, None, np.zeros(3)), "shift must be a vector of length 8"),
        (lambda n, X: n.gram(X, None, None, True, True), "fast=True needs a float32 X"),
        (lambda n, X: n.matmul(X, X, None), "W must have as many rows"),
        (lambda n, X: n.cholesky(X), "A must be square"),
        (lambda n, X: n.all_finite(X[None]), "one or two dimensions"),
        (lambda n, X: n.set_num_threads(0), "at least 1"),
    ],
)
def test_wrong_shapes_are_refused(native, call, words):
    with pytest.raises(ValueError, match=words):
        call(native, np.zeros((9, 4)))


def test_wrong_types_are_refused(native):
    with pytest.raises(TypeError, match="float32 or float64"):
        native.all_finite(np.zeros((3, 3), dtype=int))


def test_read_only_arrays_are_read(native):
    X = np.ones((5, 2))
    X.flags.writeable = False
    assert native.moments(X, X, None, np.zeros(4))[0] == 5.0
