"""Kernels that subtract a row on the way: against the plain kernels on a centred copy, and where offsets would cancel."""

import numpy as np
import pytest
from tests.native.layouts import laid_out

SHAPES = [(0, 3, 1), (5, 0, 1), (1, 1, 1), (7, 13, 2), (129, 51, 1), (700, 40, 9)]


@pytest.fixture(params=SHAPES, ids=str)
def table(request, dtype, layout):
    n, p, m = request.param
    rng = np.random.default_rng(5)
    X = laid_out(rng.standard_normal((n, p)).astype(dtype), layout)
    shift = rng.standard_normal(p)
    return X, shift, X.astype(np.float64) - shift, rng.standard_normal((n, m)), rng.standard_normal((p, m))


def agree(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-11)


def test_products_of_centred_rows(native, table):
    X, shift, centred, U, W = table
    agree(native.matmul(X, W, None, shift, wide=True), centred @ W)
    agree(native.rmatmul(X, U, shift), centred.T @ U)
    narrow = native.matmul(X, W, np.ones(W.shape[1]), shift)
    assert narrow.dtype == X.dtype
    np.testing.assert_allclose(narrow, centred @ W + 1, rtol=1e-5, atol=1e-5)


def test_wide_products_are_not_rounded_to_single(native, layout):
    X = laid_out(np.random.default_rng(1).standard_normal((50, 7)).astype(np.float32), layout)
    W = np.random.default_rng(2).standard_normal((7, 3))
    wide = native.matmul(X, W, None, wide=True)
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, X.astype(float) @ W, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_centred_rows(native, table, weighted):
    X, shift, centred, Y, W = table
    s = np.random.default_rng(6).random(len(X)) if weighted else None
    b = np.arange(W.shape[1], dtype=float)
    r = Y - centred @ W - b
    scaled = r if s is None else s[:, None] * r
    gradient, sums, squares = native.residual(X, Y, W, b, s, shift)
    agree(gradient, centred.T @ scaled)
    agree(sums, scaled.sum(axis=0))
    agree(squares, (scaled * r).sum(axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_squares_of_columns(native, table, weighted):
    X, shift, centred, _, _ = table
    s = np.random.default_rng(6).random(len(X)) if weighted else None
    scale = np.ones(len(X)) if s is None else s
    agree(native.column_squares(X, s, shift), scale @ centred**2)
    agree(native.column_squares(X, s, None), scale @ X.astype(float) ** 2)


def test_offsets_do_not_cancel(native):
    rng = np.random.default_rng(3)
    noise = rng.integers(-8, 9, size=(3000, 4)) / 8.0  # exactly representable beside 1e9
    X = noise + 1e9
    shift = np.full(4, 1e9)
    u = rng.standard_normal((3000, 1))
    np.testing.assert_allclose(native.rmatmul(X, u, shift), noise.T @ u, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(native.column_squares(X, None, shift), (noise**2).sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(native.matmul(X, np.ones((4, 1)), None, shift), noise.sum(axis=1)[:, None], atol=1e-13)


def test_centred_kernels_give_the_same_bits_on_any_number_of_threads(native):
    rng = np.random.default_rng(4)
    X, shift = rng.standard_normal((60_000, 30)), rng.standard_normal(30)
    U, W = rng.standard_normal((60_000, 2)), rng.standard_normal((30, 2))
    scatter, step = rng.standard_normal((90, 90)), rng.standard_normal(90)
    answers = []
    for threads in (1, 2, 3, 8, 64):
        native.set_num_threads(threads)
        answers.append(
            (
                native.matmul(X, W, None, shift),
                native.rmatmul(X, U, shift),
                native.column_squares(X, None, shift),
                *native.residual(X, U, W, np.zeros(2), None, shift),
                *native.add_outer(scatter, None, None, None, step, 1e-17 * step, 0.3, 1e-18),
            )
        )
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            assert np.array_equal(one, two)


def test_wrong_shapes_are_refused(native):
    X = np.zeros((5, 3))
    for call in (
        lambda: native.matmul(X, np.zeros((3, 1)), None, np.zeros(2)),
        lambda: native.rmatmul(X, np.zeros((5, 1)), np.zeros(5)),
        lambda: native.column_squares(X, np.zeros(3), None),
        lambda: native.add_outer(X, None, None, None, np.zeros(3), np.zeros(3), 1.0, 0.0),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()
