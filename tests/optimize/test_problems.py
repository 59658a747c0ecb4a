"""Convex problems as functions: every method reaches the optimum that equations give, and the gap proves it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qed.convex import L1, L2, Group, Hinge, Logistic, Problem, Softmax, Squared, Zero
from qed.designs import design
from qed.linear_model import LinearRegression, LogisticRegression, Ridge
from qed.optimize import (
    BoldDriver,
    ExactLineSearch,
    InverseTime,
    PowerDecay,
    check_convexity,
    check_gradient,
    coordinate_descent,
    gradient_descent,
    newton,
    numerical_gradient,
    proximal_gradient,
    stochastic_gradient_descent,
)


def table(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.2
    y = X @ np.arange(1.0, p + 1) + 0.5 * rng.standard_normal(n) + 2.0
    return X, y


def problem(loss, penalty, X, *, intercept=True):
    n = X.shape[0]
    centre = np.asarray(X.mean(axis=0)).ravel() if intercept else None
    return Problem(design(X), loss, penalty, np.full(n, 1 / n), intercept, centre)


X, Y = table()
LABELS = np.where(Y + np.random.default_rng(1).standard_normal(60) * 4 > np.median(Y), 1.0, -1.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Squared(Y), Logistic(LABELS), Softmax((Y > 1).astype(float) + (Y > 4), 3)])
def test_every_part_of_a_function_is_that_of_the_problem(loss, intercept):
    for columns in (X, csr_array(np.where(np.abs(X) < 0.4, 0.0, X))):
        check_function(problem(loss, L2(0.3), columns, intercept=intercept))


def check_function(one):
    f = one.as_function()
    v = np.random.default_rng(2).standard_normal(f.size)
    w, b = one.point(v)
    assert f(v) == pytest.approx(one.objective(w, b), rel=1e-14)
    assert check_gradient(f, v)
    by_differences = [numerical_gradient(lambda u, j=j: f.gradient(u)[j], v) for j in range(f.size)]
    np.testing.assert_allclose(f.curvature(v), by_differences, atol=1e-6)
    assert np.linalg.eigvalsh(f.curvature(v))[-1] <= f.curvature_bound * (1 + 1e-9)
    assert check_convexity(f, np.random.default_rng(3).standard_normal((5, f.size)), n_pairs=10)
    singles = [f.part_gradient(v, np.array([i])) for i in range(60)]
    np.testing.assert_allclose(np.mean(singles, axis=0), f.gradient(v), atol=1e-12)
    best = newton(one, np.zeros(f.size))
    assert f(v) - best.value <= f.bound(v).gap
    assert best.certificate.gap < 1e-12


def test_kinks_are_no_smooth_functions():
    for loss, penalty in (
        (Hinge(LABELS), L2(0.3)),
        (Squared(Y), L1(0.1)),
        (Squared(Y), Group(0.1, np.array([0, 0, 1]))),
    ):
        f = problem(loss, penalty, X).as_function()
        assert not f.is_smooth
        assert f.curvature is None
    hinge = problem(Hinge(LABELS), L2(0.3), X, intercept=False)
    result = gradient_descent(hinge, np.zeros(3), step=PowerDecay(1.0, 0.75), max_iter=1500, gradient_tol=0.0)
    assert result.certificate.gap < 0.02  # a subgradient method, and duality still bounds what is left


@pytest.mark.covers("LIN-07")
def test_least_squares_by_four_ways_of_going_down():
    model = LinearRegression().fit(X, Y)
    one = problem(Squared(Y), Zero(), X)
    for step in (None, 0.5, ExactLineSearch(), BoldDriver(0.1)):
        result = gradient_descent(one, np.zeros(4), step=step, gradient_tol=1e-9)
        assert result.outcome == "solved"
        w, b = one.point(result.point)
        np.testing.assert_allclose(w, model.coef_, atol=1e-8)
        assert b - X.mean(axis=0) @ w == pytest.approx(model.intercept_, abs=1e-8)  # b belongs to centred columns


@pytest.mark.covers("LIN-18")
def test_gradient_descent_on_a_ridge_is_weight_decay():
    Z, target = X - X.mean(axis=0), Y - Y.mean()
    lam, eta, n = 0.7, 0.05, 60
    # R(w) = mean of squares; the objective here is half of R(w) + lam |w|^2
    one = problem(Squared(target), L2(lam), Z, intercept=False)
    run = gradient_descent(one, np.ones(3), step=2 * eta, gradient_tol=1e-10, keep_points=True)
    w = np.ones(3)
    for recorded in run.trace.points[:50]:
        np.testing.assert_allclose(recorded, w, atol=1e-12)
        w = (1 - 2 * lam * eta) * w - eta * 2 * Z.T @ (Z @ w - target) / n
    np.testing.assert_allclose(run.point, Ridge(alpha=lam * n).fit(X, Y).coef_, atol=1e-9)
    closed = np.linalg.solve(Z.T @ Z + n * lam * np.eye(3), Z.T @ target)
    np.testing.assert_allclose(run.point, closed, atol=1e-9)


@pytest.mark.covers("CLS-23")
def test_forms_of_the_logistic_gradient():
    w = np.array([0.3, -0.8, 0.5])
    f = problem(Logistic(LABELS), Zero(), X, intercept=False).as_function()
    sigma = 1 / (1 + np.exp(-X @ w))
    zero_one = (LABELS + 1) / 2
    in_zero_one = X.T @ (zero_one - sigma)
    of_wrong_label = 1 / (1 + np.exp(LABELS * (X @ w)))
    in_signs = X.T @ (LABELS * of_wrong_label)
    np.testing.assert_allclose(in_zero_one, in_signs, atol=1e-12)
    np.testing.assert_allclose(-60 * f.gradient(w), in_signs, atol=1e-12)  # of the log-likelihood, a sum
    np.testing.assert_allclose(-60 * numerical_gradient(f, w), in_signs, atol=1e-6)


@pytest.mark.covers("CLS-24")
def test_logistic_regression_by_whole_batches_and_by_examples():
    one = problem(Logistic(LABELS), L2(0.1), X, intercept=False)
    model = LogisticRegression(C=1 / (0.1 * 60), fit_intercept=False, tol=1e-10).fit(X, LABELS)
    batch = gradient_descent(one, np.zeros(3), gradient_tol=1e-9)
    np.testing.assert_allclose(batch.point, model.coef_.ravel(), atol=1e-7)
    w = np.zeros(3)
    step = 1.0 / one.as_function().curvature_bound
    for _ in range(200):  # the loop over examples, as one writes it first
        g = np.zeros(3)
        for x, label in zip(X, LABELS, strict=True):
            g -= label * x / (1 + np.exp(label * (x @ w)))
        w = w - step * (g / 60 + 0.1 * w)
    np.testing.assert_allclose(w, batch.point, atol=1e-6)
    noisy = stochastic_gradient_descent(
        one,
        np.zeros(3),
        step=InverseTime(1.0, 0.05),
        average_from=500,
        max_iter=3000,
        evaluate_every=3000,
        random_state=0,
    )
    f = one.as_function()
    singles = np.array([f.part_gradient(batch.point, np.array([i])) for i in range(60)])
    inverse = np.linalg.inv(f.curvature(batch.point))
    deviation = np.sqrt(np.diag(inverse @ np.cov(singles.T) @ inverse) / 2500)  # of a mean of 2500 iterates
    assert np.all(np.abs(noisy.point - batch.point) < 4 * deviation)
    assert np.max(deviation) < 0.05
    assert noisy.value - batch.value <= noisy.certificate.gap
    # 0/1 labels in the product form give the loss of a coin, log 2, for every row of class 0 whatever its score
    wrong = np.logaddexp(0, -((LABELS + 1) / 2) * (X @ batch.point))
    np.testing.assert_allclose(wrong[LABELS < 0], np.log(2))
    assert np.std(Logistic(LABELS).value(X @ batch.point)[LABELS < 0]) > 0.1


def test_proximal_and_coordinate_steps_agree_on_sparse_problems():
    one = problem(Logistic(LABELS), L1(0.05), X)
    by_prox = proximal_gradient(one, np.zeros(4), gap_tol=1e-10, gradient_tol=0.0)
    assert by_prox.outcome == "solved"
    assert by_prox.certificate.gap <= 1e-10
    by_values = coordinate_descent(one, np.zeros(4), max_iter=30)
    assert by_values.value == pytest.approx(by_prox.value, abs=1e-9)
    rows = problem(Squared(Y), Group(0.3, np.array([0, 0, 1])), X)
    grouped = proximal_gradient(rows, np.zeros(4), gap_tol=1e-10, gradient_tol=0.0)
    assert grouped.outcome == "solved"
    assert grouped.certificate.gap <= 1e-10
