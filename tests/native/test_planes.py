"""Planes of small tables, and the method of multipliers, against plain NumPy in extended precision."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")


def problem(seed, loss, n=90, p=6):
    random = np.random.default_rng(seed)
    X = np.hstack([random.normal(size=(n, p)) * 10.0 ** random.integers(-1, 2, p), np.ones((n, 1))])
    score = X @ random.normal(size=p + 1) + random.normal(size=n)
    y = np.where(score > 0, 1.0, -1.0) if "hinge" in loss else score
    return X, y, random.random(n) + 0.1


def losses_of(loss, t, y, width):
    beyond = np.maximum(1 - y * t, 0) if "hinge" in loss else np.maximum(np.abs(t - y) - width, 0)
    return 0.5 * beyond**2 if loss.startswith("squared") else beyond


def conjugates_of(loss, u, y, width):
    """Of dual variables that are in their domain."""
    square = 0.5 * u**2 if loss.startswith("squared") else 0.0 * u
    return square + y * u + (0.0 if "hinge" in loss else width * np.abs(u))


def objective(loss, w, X, y, c, width, *, has_kinks):
    t = X.astype(np.longdouble) @ w
    penalty = np.abs(w).sum() if has_kinks else 0.5 * np.sum(np.asarray(w, dtype=np.longdouble) ** 2)
    return float(c @ losses_of(loss, t, y, width) + penalty)


def dual_objective(loss, u, X, y, c, width, *, has_kinks):
    """Return a lower bound of every objective; of absolute values after dual variables were shrunk until they are feasible."""
    v = X.astype(np.longdouble).T @ (c * u)
    if has_kinks:
        u = u / max(1.0, float(np.abs(v).max()))
        v = np.zeros(1)
    return float(-(c @ conjugates_of(loss, u.astype(np.longdouble), y, width)) - 0.5 * v @ v)


def find(native, loss, width, has_kinks, X, y, c, goal, *, is_sparse=False):
    """Find planes on a table whose last column is constant: of an array, or of compressed rows that do not store it."""
    if not is_sparse:
        return native.find_planes(loss, width, has_kinks, X, y, c, goal)
    rows = csr_array(X[:, :-1])
    arrays = (rows.indptr, rows.indices, rows.data)
    return native.csr_find_planes(loss, width, has_kinks, arrays, rows.shape, float(X[0, -1]), y, c, goal)


def thinned(X):
    return np.where(np.random.default_rng(0).random(X.shape) < 0.4, X, 0.0) * (X != 1.0) + (X == 1.0)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("has_kinks", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_gaps_of_planes_hold_and_are_those_of_their_dual_variables(native, loss, has_kinks, is_sparse):
    if "hinge" in loss:
        with pytest.raises(ValueError, match="only tubes"):
            find(
                native, loss, 0.5, False, np.ones((2, 2)), np.ones((1, 2)), np.ones(2), (1e-6, 10), is_sparse=is_sparse
            )
    if has_kinks and not loss.startswith("squared"):
        with pytest.raises(ValueError, match="squared losses only"):
            find(native, loss, 0.0, True, np.ones((2, 2)), np.ones((1, 2)), np.ones(2), (1e-6, 10), is_sparse=is_sparse)
        return
    widths = (0.0,) if "hinge" in loss else (0.0, 0.7)
    for seed, tol, width in itertools.product(range(3), (1e-2, 1e-6, 1e-10), widths):
        if is_sparse and has_kinks and "hinge" not in loss:
            return  # no model asks for it
        X, y, c = problem(seed, loss)
        X = thinned(X) if is_sparse else X
        c = 0.01 * c if is_sparse and has_kinks else c  # stronger pulls are left to others
        w, u, numbers = find(native, loss, width, has_kinks, X, y[np.newaxis], c, (tol, 5000), is_sparse=is_sparse)
        told, gap, rounding, null, steps = numbers[0]
        assert told == pytest.approx(objective(loss, w[0], X, y, c, width, has_kinks=has_kinks), rel=1e-12)
        assert null == pytest.approx(float(c @ losses_of(loss, np.zeros(len(y)), y, width)), rel=1e-13)
        assert 0 < rounding < 1e-11 * null
        assert gap - rounding <= tol * null
        assert 0 <= steps <= 5000
        apart = told - dual_objective(loss, u[0], X, y, c, width, has_kinks=has_kinks)
        assert apart - 1e-13 * null <= gap <= apart + 1e-11 * null
        best = native.find_planes(loss, width, has_kinks, X, y[np.newaxis], c, (1e-12, 2000))[0][0]
        assert told - objective(loss, best, X, y, c, width, has_kinks=has_kinks) <= gap


def test_sparse_rows_that_depend_on_each_other_are_solved_for_at_once(native):
    X, y, c = problem(5, "hinge", n=400, p=30)
    X = thinned(X)
    found = find(native, "hinge", 0.0, False, X, y[np.newaxis], 10 * c, (1e-9, 2000), is_sparse=True)
    assert found[2][0][1] - found[2][0][2] <= 1e-9 * found[2][0][3]
    narrow = csr_array(X[:, :-1])
    for kind, width in itertools.product((np.float32, np.float64), (np.int32, np.int64)):
        arrays = (narrow.indptr.astype(width), narrow.indices.astype(width), narrow.data.astype(kind))
        args = (narrow.shape, 1.0, y[np.newaxis], 10 * c, (1e-6, 2000))
        other = native.csr_find_planes("hinge", 0.0, False, arrays, *args)
        assert other[2][0][0] == pytest.approx(found[2][0][0], rel=2e-6)


def test_sparse_tables_that_pull_hard_on_absolute_values_are_left_to_others(native):
    X, y, c = problem(1, "squared_hinge")
    found = find(native, "squared_hinge", 0.0, True, X, y[np.newaxis], 100 * c, (1e-6, 500), is_sparse=True)
    assert found[2][0][4] == 0
    assert found[2][0][1] > 1e-6 * found[2][0][3]


def class_loss(t, label):
    ahead = t + 1.0
    ahead[np.arange(len(t)), label] -= 1.0
    return ahead.max(axis=1) - t[np.arange(len(t)), label]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_gaps_of_classes_in_one_objective_hold(native, is_sparse):
    random = np.random.default_rng(6)
    for n, p, k, strength in ((60, 3, 3, 1.0), (150, 8, 4, 20.0), (40, 60, 3, 0.1)):
        X = thinned(np.hstack([random.normal(size=(n, p)), np.ones((n, 1))]))
        label = np.argmax(X @ random.normal(size=(p + 1, k)) + random.normal(size=(n, k)), axis=1)
        c = strength * (random.random(n) + 0.1)
        for tol in (1e-2, 1e-6, 1e-9):
            if is_sparse:
                rows = csr_array(X)
                arrays = (rows.indptr, rows.indices, rows.data)
                found = native.csr_find_class_planes(arrays, X.shape, label.astype(float), c, k, (tol, 5000))
            else:
                found = native.find_class_planes(X, label.astype(float), c, k, (tol, 5000))
            w, u, ((told, gap, rounding, null, steps),) = found
            wide = X.astype(np.longdouble)
            losses = class_loss(wide @ w.T, label)
            assert told == pytest.approx(float(c @ losses + 0.5 * np.sum(w**2)), rel=1e-12)
            assert null == pytest.approx(c.sum(), rel=1e-13)
            assert gap - rounding <= tol * null
            assert 1 <= steps <= 5000
            mass = u.copy()
            mass[np.arange(n), label] += 1.0
            assert mass.min() >= 0
            np.testing.assert_allclose(mass.sum(axis=1), 1.0, rtol=1e-14)
            v = wide.T @ (c[:, np.newaxis] * u)
            others = mass.sum(axis=1) - mass[np.arange(n), label]
            apart = told - float(c @ others - 0.5 * np.sum(v * v))
            assert apart - 1e-13 * null <= gap <= apart + 1e-11 * null
    with pytest.raises(ValueError, match="numbers of classes"):
        native.find_class_planes(X, np.full(n, 3.0), c, 3, (1e-6, 10))


def test_planes_are_found_one_by_one_with_the_same_bits_on_any_number_of_threads(native):
    X, score, c = problem(3, "epsilon_insensitive", n=3000, p=30)
    targets = np.stack([np.where(score > level, 1.0, -1.0) for level in (-1.0, 0.0, 1.0)])
    for loss in ("hinge", "squared_hinge"):
        results = []
        for threads in (1, 2, 3):
            native.set_num_threads(threads)
            results.append(native.find_planes(loss, 0.0, False, X, targets, c, (1e-7, 500)))
        for found in results[1:]:
            for one, other in zip(results[0], found, strict=True):
                np.testing.assert_array_equal(one, other)
        sparse = find(native, loss, 0.0, False, X, targets, c, (1e-7, 500), is_sparse=True)
        assert np.all(np.abs(sparse[2][:, 0] - results[0][2][:, 0]) <= sparse[2][:, 1] + results[0][2][:, 1])
        alone = native.find_planes(loss, 0.0, False, X, targets[1:2], c, (1e-7, 500))
        np.testing.assert_array_equal(alone[0][0], results[0][0][1])


def test_multipliers_go_on_from_call_to_call(native):
    X, y, c = problem(4, "epsilon_insensitive")
    c /= c.sum()
    pieces = (y, -np.ones(90), np.ones(90), 0.0, 0.2)
    at = (np.zeros(7), np.zeros(90), 0.0)
    whole = native.follow_multipliers(pieces, c, X, 0.01, (1e-10, 200), at)
    taken = 0
    for _ in range(200):
        w, u, anchor, bend, gap, rounds, is_over = native.follow_multipliers(pieces, c, X, 0.01, (1e-10, 1), at)
        at, taken = (w, anchor, bend), taken + rounds
        assert not is_over
        assert rounds <= 1
        if gap <= 1e-10:
            break
    np.testing.assert_allclose(w, whole[0], atol=1e-6 * np.abs(w).max())
    assert taken <= 2 * whole[5] + 20
    assert np.all(np.abs(u) <= 1)
    apart = c @ (losses_of("tube", X @ w, y, 0.2) + conjugates_of("tube", u, y, 0.2) - u * (X @ w))
    slopes = 0.01 * w + X.T @ (c * u)
    assert gap == pytest.approx(apart + 50 * slopes @ slopes, abs=1e-13)
