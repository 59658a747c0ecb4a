"""One block at a time, and parabolas."""

import numpy as np
import pytest

from qed.convex import L1, Logistic, Problem, Squared, Zero
from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, listen
from qed.designs import design
from qed.optimize import (
    Function,
    Interrupted,
    alternating_minimization,
    coordinate_descent,
    newton,
    numerical_gradient,
    quadratic,
)

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
B = np.array([1.0, -2.0, 0.5])


@pytest.mark.covers("OPT-17")
def test_each_coordinate_step_solves_its_own_problem():
    f, w = quadratic(A, B), np.array([3.0, -2.0, 1.0])
    one_sweep = coordinate_descent(f, w, max_iter=1, gradient_tol=0.0)
    by_hand = w.copy()
    for j in range(3):
        by_hand[j] -= (A[j] @ by_hand - B[j]) / A[j, j]
        assert f.gradient(by_hand)[j] == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(one_sweep.point, by_hand, rtol=1e-14)
    result = coordinate_descent(f, w)
    assert np.all(np.diff(result.trace.values) <= 1e-14)  # rounding
    np.testing.assert_allclose(result.point, np.linalg.solve(A, B), atol=1e-8)
    assert result.certificate.gap < 1e-15
    searched = coordinate_descent(f.__call__, w, max_iter=40, change_tol=1e-13)  # values alone
    assert np.all(np.diff(searched.trace.values) <= 0)
    np.testing.assert_allclose(searched.point, np.linalg.solve(A, B), atol=1e-6)


def test_blocks_move_together():
    f, w = quadratic(A, B), np.array([3.0, -2.0, 1.0])
    assert coordinate_descent(f, w, blocks=[[0, 1, 2]]).n_iter == 1
    pair = coordinate_descent(f, w, blocks=[[0, 2], [1]], max_iter=1, gradient_tol=0.0).point
    assert f.gradient(pair)[1] == pytest.approx(0.0, abs=1e-14)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 4)), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    problem = Problem(design(X), Logistic(y), Zero(), np.full(50, 0.02), free_intercept=False)
    result = coordinate_descent(problem, np.zeros(4), blocks=[[0, 1], [2, 3]], gap_tol=0.0)
    np.testing.assert_allclose(result.point, newton(problem, np.zeros(4)).point, atol=1e-6)
    with pytest.raises(InvalidParameter, match="each of the 3 coordinates once"):
        coordinate_descent(f, w, blocks=[[0], [1]])
    with pytest.raises(InvalidParameter, match="needs gradient"):
        coordinate_descent(lambda w: w @ w, [1.0, 2.0], blocks=[[0, 1]])
    with pytest.raises(InvalidData, match="falls without bound along coordinate"):
        coordinate_descent(quadratic([[-1.0]]), [1.0])
    with pytest.raises(InvalidData, match="falls without bound along coordinate 0"):
        coordinate_descent(lambda w: -w[0], [1.0])


def test_kinks_that_are_no_sum_can_trap_coordinates():
    ridge = Function(lambda w: float(abs(w[0] - w[1]) + 0.1 * (w[0] + w[1])))
    result = coordinate_descent(ridge, [1.0, 1.0], max_iter=20)
    np.testing.assert_allclose(result.point, [1.0, 1.0], atol=1e-7)  # no coordinate helps, though (0, 0) is lower


def lloyd(X, centres, rounds):
    for _ in range(rounds):
        labels = np.argmin(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
        centres = np.array([X[labels == k].mean(axis=0) for k in range(len(centres))])
    return labels, centres


@pytest.mark.covers("OPT-18")
def test_k_means_is_alternating_minimisation():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.standard_normal((30, 2)) + m for m in ([0, 0], [5, 0], [0, 5])])
    first = X[[0, 40, 70]]

    def inertia(state):
        labels, centres = state
        return float(((X - centres[labels]) ** 2).sum())

    def assign(state):
        return np.argmin(((X[:, None] - state[1]) ** 2).sum(axis=2), axis=1), state[1]

    def average(state):
        return state[0], np.array([X[state[0] == k].mean(axis=0) for k in range(3)])

    start = (np.zeros(90, dtype=int), first)
    result = alternating_minimization(inertia, [assign, average], start)
    labels, centres = lloyd(X, first, result.n_iter)
    np.testing.assert_array_equal(result.state[0], labels)
    np.testing.assert_array_equal(result.state[1], centres)
    assert result.outcome == "solved"
    assert len(result.values) == 1 + 2 * result.n_iter
    assert np.all(np.diff(result.values) <= 1e-9)
    with pytest.raises(InvalidData, match="Update 0 raised the value"):
        alternating_minimization(inertia, [lambda s: (s[0], s[1] + 10.0)], start)
    with listen(lambda event: STOP if event.step == 1 else None):
        assert alternating_minimization(inertia, [assign, average], start).outcome == "stopped"

    def stopped(state):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        alternating_minimization(inertia, [assign, stopped], start)
    assert caught.value.result.values[-1] <= inertia(start)


@pytest.mark.covers("OPT-23")
def test_newton():
    f = quadratic(A, B)
    one = newton(f, [30.0, -20.0, 10.0])
    assert (one.outcome, one.n_iter) == ("solved", 1)
    np.testing.assert_allclose(one.point, np.linalg.solve(A, B), atol=1e-12)
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0, 1.0, -1.0)
    problem = Problem(design(X), Logistic(y), Zero(), np.full(60, 1 / 60), free_intercept=False)
    loss = problem.as_function()
    w = rng.standard_normal(3)
    p = 1 / (1 + np.exp(-X @ w))
    of_log_likelihood = -X.T @ ((p * (1 - p))[:, None] * X)
    np.testing.assert_allclose(-60 * loss.curvature(w), of_log_likelihood, rtol=1e-10)
    by_differences = [numerical_gradient(lambda v, j=j: loss.gradient(v)[j], w) for j in range(3)]
    np.testing.assert_allclose(loss.curvature(w), by_differences, rtol=1e-6, atol=1e-9)
    result = newton(problem, np.zeros(3))
    assert result.outcome == "solved"
    assert result.n_iter < 8
    np.testing.assert_allclose(loss.gradient(result.point), 0.0, atol=1e-8)


def test_damping_saves_what_raphson_loses():
    f = Function(
        lambda w: float(np.sqrt(1 + w[0] ** 2)),
        lambda w: w / np.sqrt(1 + w**2),
        lambda w: np.array([[(1 + w[0] ** 2) ** -1.5]]),
        is_convex=True,
    )
    assert newton(f, [2.0], damped=False, max_iter=50).outcome == "diverged"  # |w| becomes |w|^3
    assert newton(f, [2.0]).outcome == "solved"
    saddle = quadratic(np.diag([2.0, -1.0]))
    at_saddle = newton(saddle, [1.0, 1.0], damped=False)
    np.testing.assert_allclose(at_saddle.point, 0.0, atol=1e-12)  # Raphson's steps end wherever the gradient vanishes
    assert newton(saddle, [1.0, 1.0], max_iter=20).value < at_saddle.value - 1  # damped ones go on downhill
    flat = quadratic(np.diag([1.0, 0.0]))
    stuck = newton(flat, [1.0, 1.0], damped=False)
    assert stuck.outcome == "stalled"
    assert "singular" in stuck.reason
    assert newton(flat, [1.0, 1.0]).outcome == "solved"


@pytest.mark.covers("LIN-25")
def test_lasso_by_coordinates_proximal_steps_and_subgradients():
    from qed.optimize import PowerDecay, gradient_descent, proximal_gradient  # noqa: PLC0415

    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 6))
    y = X @ [2.0, -1.0, 0.0, 0.0, 0.5, 0.0] + 0.3 * rng.standard_normal(50)
    problem = Problem(design(X), Squared(y), L1(0.2), np.full(50, 0.02), free_intercept=False)
    by_coordinates = coordinate_descent(problem, np.zeros(6), gradient_tol=1e-12)
    by_prox = proximal_gradient(problem, np.zeros(6), gradient_tol=1e-12)
    assert abs(by_coordinates.value - by_prox.value) < 1e-8
    np.testing.assert_array_equal(by_coordinates.point == 0, by_prox.point == 0)
    assert np.any(by_prox.point == 0)
    assert np.any(by_prox.point != 0)
    assert by_coordinates.certificate.gap < 1e-10
    subgradient = gradient_descent(problem, np.full(6, 0.1), step=PowerDecay(0.3, 0.7), max_iter=3000, gradient_tol=0.0)
    assert 0 < subgradient.value - by_prox.value < 1e-3
    assert np.all(subgradient.point != 0)
