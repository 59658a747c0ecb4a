"""Planes of small tables, and the method of multipliers, against plain NumPy in extended precision."""

import itertools

import numpy as np
import pytest

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


def objective(loss, w, X, y, c, width, *, is_sparse):
    t = X.astype(np.longdouble) @ w
    penalty = np.abs(w).sum() if is_sparse else 0.5 * np.sum(np.asarray(w, dtype=np.longdouble) ** 2)
    return float(c @ losses_of(loss, t, y, width) + penalty)


def dual_objective(loss, u, X, y, c, width, *, is_sparse):
    """Return a lower bound of every objective; of absolute values after dual variables were shrunk until they are feasible."""
    v = X.astype(np.longdouble).T @ (c * u)
    if is_sparse:
        u = u / max(1.0, float(np.abs(v).max()))
        v = np.zeros(1)
    return float(-(c @ conjugates_of(loss, u.astype(np.longdouble), y, width)) - 0.5 * v @ v)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_gaps_of_planes_hold_and_are_those_of_their_dual_variables(native, loss, is_sparse):
    if "hinge" in loss:
        with pytest.raises(ValueError, match="only tubes"):
            native.find_planes(loss, 0.5, False, np.ones((2, 1)), np.ones((1, 2)), np.ones(2), (1e-6, 10))
    if is_sparse and not loss.startswith("squared"):
        with pytest.raises(ValueError, match="squared losses only"):
            native.find_planes(loss, 0.0, True, np.ones((2, 1)), np.ones((1, 2)), np.ones(2), (1e-6, 10))
        return
    widths = (0.0,) if "hinge" in loss else (0.0, 0.7)
    for seed, tol, width in itertools.product(range(3), (1e-2, 1e-6, 1e-10), widths):
        X, y, c = problem(seed, loss)
        w, u, numbers = native.find_planes(loss, width, is_sparse, X, y[np.newaxis], c, (tol, 500))
        told, gap, rounding, null, steps = numbers[0]
        assert told == pytest.approx(objective(loss, w[0], X, y, c, width, is_sparse=is_sparse), rel=1e-12)
        assert null == pytest.approx(float(c @ losses_of(loss, np.zeros(len(y)), y, width)), rel=1e-13)
        assert 0 < rounding < 1e-11 * null
        assert gap - rounding <= tol * null
        assert 1 <= steps <= 500
        apart = told - dual_objective(loss, u[0], X, y, c, width, is_sparse=is_sparse)
        assert apart - 1e-13 * null <= gap <= apart + 1e-11 * null
        best = native.find_planes(loss, width, is_sparse, X, y[np.newaxis], c, (1e-12, 2000))[0][0]
        assert told - objective(loss, best, X, y, c, width, is_sparse=is_sparse) <= gap


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
