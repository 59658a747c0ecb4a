"""What proofs ask of dual points and of groups of coefficients, against exact fractions and definitions in long doubles."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.reference import kernels, penalties, smooth

from qed.convex.penalties import Group


@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (9, 3), (203, 1), (1000, 2)], ids=str)
def test_sums_of_sides_are_those_of_fractions(native, shape):
    rng = np.random.default_rng(3)
    u = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 6, shape)
    c = rng.random(shape[0])
    u[-1:] = -(c[:-1] @ u[:-1]) / np.where(c[-1:] > 0, c[-1:], 1.0)[:, None]  # what is left is rounding
    found = native.side_sums(c, u)
    for j in range(shape[1]):
        terms = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(c, u[:, j], strict=True)]
        over, under = sum(max(t, 0) for t in terms), sum(max(-t, 0) for t in terms)
        slack = Fraction((shape[0] * 2.0**-53) ** 2) * (over + under)
        assert abs(Fraction(found[2, j]) - (over - under)) <= Fraction(2.0**-52) * abs(over - under) + slack
        for got, want in ((found[0, j], over), (found[1, j], under)):
            assert abs(Fraction(got) - want) <= Fraction(2.0**-50) * (over + under)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("groups", [None, np.array([0, 2, 1, 0, 1, 2, 2, 0])], ids=["rows", "groups"])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_groups(native, groups, ridge, columns):
    rng = np.random.default_rng(4)
    shape = (8, columns) if columns else (8,)
    count = 8 if groups is None else 3
    for alpha in (0.7, rng.random(count) + 0.5):
        penalty = Group(alpha, groups, ridge)
        strength = np.array(alpha, ndmin=1)
        w, z = rng.standard_normal(shape), rng.standard_normal(shape)
        w[groups == 1 if groups is not None else slice(2, 4)] = 0.0
        rounding_error = 1e-3 * rng.random(shape)
        assert native.group_value(w, groups, strength, ridge) == pytest.approx(
            float(penalties.value(penalty, w)), rel=1e-14
        )
        factor = native.group_shrink(z, rounding_error, groups, strength)
        lengths = np.sqrt([np.sum(np.square(z[_members(groups, g)])) for g in range(count)])
        lengths += np.sqrt([np.sum(np.square(rounding_error[_members(groups, g)])) for g in range(count)])
        assert factor == pytest.approx(min(1.0, np.min(np.broadcast_to(alpha, count) / lengths)), rel=1e-14)
        z = z if ridge else factor * z
        value, more = native.group_excess(w, z, rounding_error, groups, strength, ridge)
        want = float(penalties.excess(penalty, w, z))
        assert value == pytest.approx(want, rel=1e-12, abs=1e-14)
        for _ in range(20):  # no z that near adds more, as long as the conjugate is finite there
            near = z + rounding_error * rng.uniform(-1, 1, shape)
            if ridge or native.group_shrink(near, 0 * rounding_error, groups, strength) == 1.0:
                assert float(penalties.excess(penalty, w, near)) <= want + more + 1e-14


def _members(groups, g):
    return [g] if groups is None else np.flatnonzero(groups == g)


def test_groups_that_do_not_fit_are_refused(native):
    w = np.zeros(4)
    for call in (
        lambda: native.group_value(w, np.array([0, 1]), np.ones(1), 0.0),
        lambda: native.group_value(w, np.array([0, -1, 0, 0]), np.ones(1), 0.0),
        lambda: native.group_value(w, None, np.ones(3), 0.0),
        lambda: native.group_excess(w, np.zeros(5), w, None, np.ones(1), 0.0),
    ):
        with pytest.raises(ValueError, match="must"):
            call()


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_sweeps_over_groups(native, ridge):
    rng = np.random.default_rng(9)
    A, y, starts = (
        np.asfortranarray(rng.standard_normal((60, 11))),
        rng.standard_normal(60),
        np.array([0, 3, 4, 4, 9, 11]),
    )
    blocks = [A[:, a:b] for a, b in itertools.pairwise(starts)]
    bend = np.array([np.linalg.norm(block, 2) ** 2 if block.size else 1.0 for block in blocks]) + ridge
    groups = (starts, bend, np.array([1.0, 80.0, 1.0, 9.0, 0.0]), ridge)
    visits = np.array([3, 0, 1, 4])
    by_products, by_columns = (np.zeros((4, 11)) for _ in range(2))
    by_products[0] = by_columns[0] = rng.standard_normal(11)
    gradients, residuals = np.zeros((4, 11)), np.zeros((4, 60))
    gradients[0], residuals[0] = A.T @ (A @ by_products[0] - y), A @ by_columns[0] - y
    native.sweep_products(np.ascontiguousarray(A.T @ A), groups, visits, by_products, gradients)
    native.sweep_columns(blocks, groups, visits, by_columns, residuals)
    want = by_products[0]
    for number in range(1, 4):
        want = kernels.group_sweep(A, y, *groups, visits, want)
        assert np.allclose(by_products[number], want, atol=1e-12)
        assert np.allclose(by_columns[number], want, atol=1e-12)
        assert np.allclose(gradients[number], A.T @ (A @ want - y), atol=1e-10)
        assert np.allclose(residuals[number], A @ want - y, atol=1e-10)
    assert np.all(want[3:4] == 0.0)
    with pytest.raises(ValueError, match="visits must"):
        native.sweep_columns(blocks, groups, np.array([5]), by_columns, residuals)
    with pytest.raises(ValueError, match="Q must"):
        native.sweep_products(np.eye(3), groups, visits, by_products, gradients)


@pytest.mark.parametrize("shape", [(0, 2), (5, 0), (7, 13), (600, 5), (9000, 3)], ids=str)
@pytest.mark.parametrize("targets", [1, 2, 9])
def test_pass_of_targets(native, dtype, shape, targets):
    rng = np.random.default_rng(6)
    (n, p), k = shape, targets
    X, y, c = (2 + rng.standard_normal(shape)).astype(dtype), rng.standard_normal((n, k)), np.full(n, 1.0 / max(n, 1))
    w, b, shift = rng.standard_normal((p, k)), rng.standard_normal(k), rng.standard_normal(p)
    scores = np.empty((n, k))
    got = (*native.targets_pass(X, y, c, w, b, shift, scores), scores)
    for one, twin in zip(got, smooth.targets_pass(X, y, c, w, b, shift), strict=True):
        assert np.allclose(one, twin, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_second_derivatives_of_classes(native, classes):
    rng = np.random.default_rng(7)
    X, c, p = rng.standard_normal((130, 4)), rng.random(130), rng.random((130, classes)) ** 4
    p /= p.sum(axis=1, keepdims=True)
    got = native.softmax_hessian(X, p, c)
    assert np.allclose(got, smooth.softmax_hessian(X, p, c), rtol=1e-12, atol=1e-12)
    assert np.array_equal(got, got.T)
    level = np.tile(np.eye(4), (classes, 1))  # the same change for all classes
    assert np.abs(got @ level).max() <= 1e-12 * np.abs(got).max()


def test_threads_do_not_change_a_bit(native):
    rng = np.random.default_rng(8)
    X, y, c = rng.standard_normal((60_000, 6)), rng.standard_normal((60_000, 3)), np.full(60_000, 1 / 60_000)
    p = np.abs(y) / np.abs(y).sum(axis=1, keepdims=True)
    answers = []
    for threads in (1, 2, 8):
        native.set_num_threads(threads)
        scores = np.empty((60_000, 3))
        sums, gradient = native.targets_pass(X, y, c, np.ones((6, 3)), np.zeros(3), np.zeros(6), scores)
        spreads = native.column_spreads(X, y, None, 60_000.0)
        answers.append([sums, gradient, scores, native.side_sums(c, y), native.softmax_hessian(X, p, c), *spreads])
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            assert np.array_equal(one, two)
