"""Passes of smooth losses against their NumPy twins, over levels, layouts, types and awkward sizes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.native.layouts import laid_out
from tests.reference import smooth as twins

SHAPES = [(0, 3), (5, 0), (1, 1), (7, 13), (129, 51), (1100, 50), (530, 401), (9000, 3)]
LOSSES = ["logistic", "poisson", "squared", "squared_hinge", "hinge"]
UNIT = 2.0**-53


def close(got, want, scale=1.0):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0.0) <= 1000 * UNIT * scale * max(1.0, np.abs(want).max(initial=0.0))


def targets(rng, loss, n):
    if loss in ("logistic", "squared_hinge", "hinge"):
        return np.where(rng.random(n) < 0.4, -1.0, 1.0)
    return rng.poisson(1.5, n).astype(float)


@pytest.fixture(params=SHAPES, ids=str)
def table(request, dtype, layout):
    n, p = request.param
    rng = np.random.default_rng(11)
    X = laid_out((rng.standard_normal((n, p)) + 2).astype(dtype), layout)
    c = rng.random(n) + 0.1
    return rng, X, c / max(c.sum(), 1.0), rng.standard_normal(p) / max(p, 1) ** 0.5, rng.standard_normal(p)


@pytest.mark.parametrize("loss", LOSSES)
def test_pass(native, table, loss):
    rng, X, c, w, shift = table
    y = targets(rng, loss, len(X))
    rows = np.empty((2, len(X)))
    sums, rise, fall, bend, hessian = native.glm_pass(loss, X, y, c, w, 0.3, shift, rows, True, True)
    want = twins.glm_pass(loss, X, y, c, w, 0.3, shift)
    for got, twin in zip((sums, rise, fall, bend, hessian, *rows), want, strict=True):
        close(got, twin, scale=10.0)
    assert np.array_equal(hessian, hessian.T)
    v = rng.standard_normal(X.shape[1] + 1)
    close(native.curvature_product(X, bend, shift, v), want[4] @ v, scale=10.0)
    alone = np.empty((1, len(X)))
    again = native.glm_pass(loss, X, y, c, w, 0.3, shift, alone)
    assert np.array_equal(alone[0], rows[0])
    close(again[0], want[0], scale=10.0)
    squares = ((X - shift) * w) ** 2
    close(native.longest_square(X, shift, w), squares.sum(axis=1).max(initial=0.0), scale=10.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_pass_over_compressed_rows(native, dtype, loss, wide):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((700, 40)) < 0.2, rng.standard_normal((700, 40)), 0).astype(dtype)
    X = csr_array(dense)
    y, c, w, shift = targets(rng, loss, 700), np.full(700, 1 / 700), rng.standard_normal(40), rng.standard_normal(40)
    parts = X.indptr.astype(wide), X.indices.astype(wide), X.data
    rows = np.empty((2, 700))
    sums, rise, fall, bend, _ = native.csr_glm_pass(loss, *parts, X.shape, y, c, w, 0.1, shift, rows, True)
    want = twins.glm_pass(loss, dense, y, c, w, 0.1, shift)
    for got, twin in zip((sums, rise, fall, bend), want[:4], strict=True):
        close(got, twin, scale=100.0)
    v = rng.standard_normal(41)
    close(native.csr_curvature_product(*parts, X.shape, bend, shift, v), want[4] @ v, scale=100.0)


@pytest.mark.parametrize("classes", [3, 10])
def test_pass_of_classes(native, table, classes):
    rng, X, c, _, shift = table
    n, p = X.shape
    y = rng.integers(0, classes, n).astype(float)
    w, b = rng.standard_normal((p, classes)) / max(p, 1) ** 0.5, rng.standard_normal(classes)
    scores = np.empty((n, classes))
    share = rng.random((n, classes)) + 0.1
    share /= share.sum(axis=1, keepdims=True)
    v = rng.standard_normal((p + 1, classes))
    for away in (shift, np.zeros(p)):  # rows that need no shift are read where they lie
        got = (*native.softmax_pass(X, y, c, w, b, away, scores), scores)
        for one, twin in zip(got, twins.softmax_pass(X, y, c, w, b, away), strict=True):
            close(one, twin, scale=10.0)
        close(native.softmax_curvature(X, share, c, away, v), twins.softmax_curvature(X, share, c, away, v), scale=10.0)


def test_far_scores_of_classes_do_not_overflow(native):
    X, y, c = np.array([[1.0], [-1.0]]), np.array([0.0, 1.0]), np.full(2, 0.5)
    w, b, scores = np.array([[900.0, -900.0, 0.0]]), np.zeros(3), np.empty((2, 3))
    sums, gradient = native.softmax_pass(X, y, c, w, b, np.zeros(1), scores)
    assert sums[0] == 0.0
    assert np.array_equal(gradient, np.zeros((2, 3)))
    sums, gradient = native.softmax_pass(X, 1.0 - y, c, w, b, np.zeros(1), scores)
    assert sums[0] == 1800.0
    assert np.array_equal(gradient, np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0]]))


def test_columns_beside_a_view_are_not_read(native):
    roomy = np.full((300, 12), np.nan)
    roomy[:, :9] = np.random.default_rng(0).standard_normal((300, 9))
    y, c, w, shift = np.ones(300), np.full(300, 1 / 300), np.ones(9), np.zeros(9)
    rows = np.empty((2, 300))
    sums, rise, *_ = native.glm_pass("logistic", roomy[:, :9], y, c, w, 0.0, shift, rows)
    assert np.isfinite(sums).all()
    assert np.isfinite(rise).all()
    assert np.isfinite(rows).all()
    sums, gradient = native.softmax_pass(roomy[:, :9], y, c, np.ones((9, 3)), np.zeros(3), shift, np.empty((300, 3)))
    assert np.isfinite(sums).all()
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("loss", ["logistic", "poisson", "softmax", "squared_hinge"])
def test_losses_of_rows(native, loss):
    rng = np.random.default_rng(5)
    k = 5 if loss == "softmax" else 1
    t = np.concatenate(
        [rng.standard_normal((999, k)) * 5, np.array([[0.0], [30.0], [-30.0], [700.0], [-700.0]]) * np.eye(k)[0]]
    )
    y = rng.integers(0, k, len(t)).astype(float) if loss == "softmax" else targets(rng, loss, len(t))
    t = t if loss == "softmax" else t[:, 0]
    value, slope = native.loss_value_and_slope(loss, t, y)
    assert np.array_equal(value, native.loss_value(loss, t, y))
    assert np.array_equal(slope, native.loss_slope(loss, t, y))
    np.testing.assert_allclose(value, twins.value(loss, t, y), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(slope, twins.slope(loss, t, y), rtol=1e-13, atol=1e-15)
    u = twins.slope(loss, t + 0.1, y) if loss != "softmax" else twins.slope(loss, t + 0.1 * np.arange(k), y)
    np.testing.assert_allclose(native.loss_excess(loss, t, y, u), twins.excess(loss, t, y, u), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 127, 4097, 9001])
@pytest.mark.parametrize("loss", LOSSES)
def test_sums_of_losses_and_of_slopes_by_sign(native, loss, n):
    rng = np.random.default_rng(n)
    t, c, y = 2 * rng.standard_normal(n), rng.random(n) / n, targets(rng, loss, n)
    assert native.loss_mean(loss, t, y, c) == pytest.approx(c @ native.loss_value(loss, t, y), rel=1e-13)
    constant = native.loss_mean(loss, np.array([0.7]), y, c)
    assert constant == pytest.approx(c @ native.loss_value(loss, np.full(n, 0.7), y), rel=1e-13)
    slope = native.loss_slope(loss, t, y)
    u, sums = native.scale_sides(loss, t, y, c, slope, 0.9, 0.8)
    np.testing.assert_array_equal(u, np.where(slope > 0, 0.9, 0.8) * slope)
    excess = c @ native.loss_excess(loss, t, y, u)
    want = [c @ np.maximum(u, 0), c @ np.maximum(-u, 0), c @ u**2, excess, c @ (slope - u) ** 2]
    np.testing.assert_allclose(sums, want, rtol=1e-12, atol=1e-300)
    given = rng.standard_normal(n).astype(np.float32)
    own = twins.project(loss, y, 0.5 * given.astype(float))
    u, sums = native.mix_sides(loss, t, y, c, slope, given, 0.5, (0.1, 0.2, 0.3, 0.4))
    want = np.where(slope > 0, 0.1, 0.2) * slope + np.where(own > 0, 0.3, 0.4) * own
    np.testing.assert_allclose(u, want, rtol=1e-14, atol=4 * UNIT * np.abs(slope).max())  # two products may cancel
    excess = c @ native.loss_excess(loss, t, y, u)
    want = [c @ np.maximum(u, 0), c @ np.maximum(-u, 0), c @ u**2, excess, c @ (slope - u) ** 2]
    np.testing.assert_allclose(sums, want, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (129, 51), (1100, 7)], ids=str)
def test_pass_with_dual_variables_given(native, dtype, loss, shape):
    rng = np.random.default_rng(8)
    X = np.where(rng.random(shape) < 0.5, rng.standard_normal(shape), 0).astype(dtype)
    n, p = shape
    y, c, shift = targets(rng, loss, n), rng.random(n) / max(n, 1), rng.standard_normal(p)
    w, given, rows = rng.standard_normal(p) / 4, rng.standard_normal(n).astype(np.float32), np.empty((2, n))
    u = twins.project(loss, y, 0.25 * given.astype(float))
    want = twins.mixed_pass(loss, X, y, c, u, w, 0.2, shift)
    found = native.mixed_pass(loss, X, y, c, given, 0.25, w, 0.2, shift, rows)
    for got, twin in zip((*found, *rows), want, strict=True):
        close(got, twin, scale=10.0)
    sparse = csr_array(X)
    parts = sparse.indptr, sparse.indices, sparse.data
    for got, twin in zip(
        native.csr_mixed_pass(loss, *parts, shape, y, c, given, 0.25, w, 0.2, shift, rows), want[:2], strict=True
    ):
        close(got, twin, scale=100.0)
    with pytest.raises(ValueError, match="given must have one number for each row"):
        native.mixed_pass(loss, X, y, c, np.zeros(n + 1, np.float32), 0.25, w, 0.2, shift, rows)


def test_nothing_overflows_to_nan(native):
    t = np.array([1e300, -1e300, 745.2, -745.2, 709.7, 0.0])
    for loss, y in (("logistic", np.ones(6)), ("logistic", -np.ones(6)), ("poisson", np.arange(6.0))):
        value, slope = native.loss_value_and_slope(loss, t, y)
        assert not np.isnan(value).any()
        assert not np.isnan(slope).any()
        assert not np.isnan(native.loss_excess(loss, t, y, np.zeros(6))).any()
    np.testing.assert_array_equal(native.loss_value("logistic", t[:2], np.ones(2)), [0.0, 1e300])


def test_bits_do_not_depend_on_threads(native, dtype):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 37)).astype(dtype)
    y, c, w, shift = (
        targets(rng, "logistic", 20_000),
        np.full(20_000, 5e-5),
        rng.standard_normal(37),
        X.mean(axis=0, dtype=float),
    )
    sparse = csr_array(np.where(rng.random(X.shape) < 0.1, X, 0).astype(dtype))

    def everything():
        rows = np.empty((2, 20_000))
        dense = native.glm_pass("logistic", X, y, c, w, 0.2, shift, rows, True, True)
        parts = sparse.indptr, sparse.indices, sparse.data
        thin = native.csr_glm_pass("logistic", *parts, sparse.shape, y, c, w, 0.2, shift, np.empty((2, 20_000)), True)
        product = native.curvature_product(X, dense[3], shift, np.append(w, 1.0))
        sides = native.scale_sides("logistic", rows[0], y, c, rows[1], 0.5, 1.0)
        mean = native.loss_mean("logistic", rows[0], y, c)
        given, kept = np.linspace(-1, 1, 20_000, dtype=np.float32), np.empty((2, 20_000))
        mixed = native.mixed_pass("hinge", X, y, c, given, 0.5, w, 0.2, shift, kept)
        scores, classes = np.empty((20_000, 3)), (y + 1.0) / 2
        several = native.softmax_pass(X, classes, c, np.outer(w, [1.0, 0.5, -1.0]), np.ones(3), shift, scores)
        bent = native.softmax_curvature(X, scores, c, shift, np.ones((38, 3)))
        return [
            *several,
            *mixed,
            scores,
            bent,
            *dense,
            *thin[:4],
            product,
            rows,
            *sides,
            mean,
            native.loss_excess("logistic", rows[0], y, 0.5 * rows[1]),
        ]

    native.set_num_threads(1)
    alone = everything()
    native.set_num_threads(3)
    for one, three in zip(alone, everything(), strict=True):
        assert np.array_equal(one, three)


def test_shapes_are_checked(native):
    X, y = np.zeros((4, 2)), np.ones(4)
    with pytest.raises(ValueError, match="numbers of classes"):
        native.softmax_pass(X, 2 * y, y, np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.empty((4, 2)))
    with pytest.raises(ValueError, match="scores must be"):
        native.softmax_pass(X, y, y, np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.empty((4, 3)))
    with pytest.raises(ValueError, match="y must be a vector of length 4"):
        native.glm_pass("logistic", X, y[:3], y, np.zeros(2), 0.0, np.zeros(2), np.empty((2, 4)))
    with pytest.raises(ValueError, match="rows must be a float64 table"):
        native.glm_pass("logistic", X, y, y, np.zeros(2), 0.0, np.zeros(2), np.empty((2, 3)))
    with pytest.raises(ValueError, match="no compiled loss is called absolute"):
        native.loss_value("absolute", y, y)
    with pytest.raises(ValueError, match="one score a row"):
        native.loss_value("logistic", X, y)
