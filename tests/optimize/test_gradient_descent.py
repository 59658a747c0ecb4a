"""Gradient descent: exact iterates, stability, rates, step rules, momentum, stopping, and honest endings."""

import itertools

import numpy as np
import pytest

from qed.certificates import Uncertified
from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, listen
from qed.optimize import (
    Backtracking,
    BoldDriver,
    ExactLineSearch,
    Function,
    GapCertificate,
    GradientCertificate,
    Interrupted,
    SwitchedMomentum,
    gradient_ascent,
    gradient_descent,
    largest_curvature,
    line_minimum,
    quadratic,
    step_advice,
)

ROSENBROCK = Function(
    lambda w: (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2,
    lambda w: np.array([-2 * (1 - w[0]) - 400 * w[0] * (w[1] - w[0] ** 2), 200 * (w[1] - w[0] ** 2)]),
)


def bowl(seed=0, p=4, top=10.0):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((p, p)))
    A = (Q * np.linspace(1.0, top, p)) @ Q.T
    b = rng.standard_normal(p)
    return quadratic(A, b), np.linalg.solve(A, b), rng.standard_normal(p) * 3


@pytest.mark.covers("OPT-01")
def test_iterates_of_a_parabola_are_exact():
    a, eta, x0 = 3.0, 0.1, 2.0
    result = gradient_descent(
        quadratic([[a]]), [x0], step=eta, gradient_tol=0.0, change_tol=1e-10, max_iter=200, keep_points=True
    )
    t = np.arange(len(result.trace.points))
    np.testing.assert_allclose(result.trace.points[:, 0], (1 - eta * a) ** t * x0, rtol=1e-12)
    np.testing.assert_array_equal(result.trace.iterations, t)  # the counter advances
    assert result.outcome == "settled"
    assert "change_tol" in result.reason
    changes = np.abs(np.diff(result.trace.values))
    assert changes[-1] < 1e-10 <= changes[:-1].min()  # the first t that meets the rule


@pytest.mark.covers("OPT-02")
def test_steps_below_at_and_above_two_over_the_curvature():
    f = quadratic([[1.0, 0.0], [0.0, 4.0]])
    start = [0.0, 1.0]
    below = gradient_descent(f, start, step=0.49, max_iter=50, gradient_tol=0.0)
    assert np.all(np.diff(below.trace.values) < 0)
    assert below.advice == ()
    at = gradient_descent(f, start, step=0.5, max_iter=50, gradient_tol=0.0, keep_points=True)
    np.testing.assert_array_equal(at.trace.points[:, 1], (-1.0) ** np.arange(51))
    assert "oscillate" in at.advice[0]
    above = gradient_descent(f, start, step=0.6, max_iter=5000)
    assert above.outcome == "diverged"
    assert "exceeds 2/L = 0.5" in above.advice[0]
    assert np.isfinite(above.point).all()
    assert above.value == f(start)  # the best point before
    assert "is stable" in step_advice(f, 0.3, start)
    assert "exceeds" in step_advice(f, 0.6, start)
    assert "oscillate" in step_advice(f, 0.5, start)


def test_curvature_without_second_derivatives_is_found_by_differences():
    f, _, start = bowl()
    plain = Function(f.value, f.gradient)
    assert largest_curvature(plain, start) == pytest.approx(10.0, rel=1e-4)
    result = gradient_descent(plain, start, step=0.3)
    assert result.outcome == "diverged"
    assert "2/L" in result.advice[0]


@pytest.mark.covers("OPT-03")
def test_descent_lemma():
    f, _, start = bowl(1)
    eta = 1.0 / f.curvature_bound
    result = gradient_descent(f, start, step=eta, max_iter=30, gradient_tol=0.0)
    values, norms = result.trace.values, result.trace.gradient_norms
    assert np.all(values[1:] <= values[:-1] - 0.5 * eta * norms[:-1] ** 2 + 1e-12)


@pytest.mark.covers("OPT-04")
def test_values_of_a_smooth_convex_function_approach_the_optimum_at_the_promised_rate():
    f, best, start = bowl(2, top=50.0)
    flat = quadratic(np.diag([0.0, 1.0]))  # merely convex: the point keeps its first coordinate, the value is optimal
    for function, minimiser, w0 in ((f, best, start), (flat, np.array([5.0, 0.0]), np.array([5.0, 2.0]))):
        for share in (1.0, 0.3):
            eta = share / function.curvature_bound
            result = gradient_descent(function, w0, step=eta, max_iter=200, gradient_tol=0.0)
            t = np.arange(1, len(result.trace) + 1)
            promised = np.sum((w0 - minimiser) ** 2) / (2 * eta * t)
            assert np.all(result.trace.values[1:] - function(minimiser) <= promised + 1e-12)
    away = Function(lambda w: float(np.exp(-w[0])), lambda w: -np.exp(-w), is_convex=True)  # no minimiser at all
    result = gradient_descent(away, [0.0], step=1.0, max_iter=50, gradient_tol=0.0)
    assert result.outcome == "max_iter"
    assert isinstance(result.certificate, GradientCertificate)
    assert not result.certificate.reached


@pytest.mark.covers("OPT-05")
def test_exact_line_search():
    f, best, start = bowl(3)
    A = f.curvature(start)
    result = gradient_descent(f, start, step=ExactLineSearch(), keep_points=True)
    gradients = np.array([f.gradient(w) for w in result.trace.points])
    by_hand = [g @ g / (g @ A @ g) for g in gradients[:-1]]
    np.testing.assert_allclose(result.trace.steps, by_hand, rtol=1e-12)
    cosines = [g @ h / np.linalg.norm(g) / np.linalg.norm(h) for g, h in itertools.pairwise(gradients)]
    assert np.max(np.abs(cosines)) < 1e-8
    np.testing.assert_allclose(result.point, best, atol=1e-6)
    searched = gradient_descent(
        Function(f.value, f.gradient), start, step=ExactLineSearch(), max_iter=5, keep_points=True
    )
    np.testing.assert_allclose(searched.trace.points, result.trace.points[:6], atol=1e-5)


def test_line_minimum_finds_the_dip():
    found = line_minimum(lambda x: np.cosh(x - 1.3) + 0.1 * (x - 1.3) ** 4, -4.0, 9.0)
    assert found.x == pytest.approx(1.3, abs=1e-7)
    assert found.calls < 40  # golden sections alone take 46
    assert line_minimum(lambda x: abs(x - 0.25), 0.0, 1.0).x == pytest.approx(0.25, abs=1e-7)
    with pytest.raises(InvalidParameter, match="low < high"):
        line_minimum(abs, 1.0, 0.0)


@pytest.mark.covers("OPT-06")
@pytest.mark.parametrize("undo", [True, False])
def test_bold_driver_by_hand(undo):
    f = quadratic([[1.0]])
    rule = BoldDriver(1.6, increase=1.5, decrease=0.25, undo=undo)
    result = gradient_descent(f, [1.0], step=rule, max_iter=6, gradient_tol=0.0, keep_points=True)
    w, eta, etas, points = 1.0, 1.6, [], [1.0]
    for _ in range(6):
        new = w - eta * w
        etas.append(eta)
        if new**2 < w**2:
            w, eta = new, eta * 1.5
        else:
            eta *= 0.25
            w = w if undo else new
        points.append(w)
    np.testing.assert_allclose(result.trace.steps, etas, rtol=1e-14)
    np.testing.assert_allclose(result.trace.points[:, 0], points, rtol=1e-12)
    assert etas[1] == 1.6 * 1.5  # after a fall
    assert etas[2] == 0.25 * etas[1]  # after a rise
    level = gradient_descent(quadratic([[1.0]]), [1.0], step=BoldDriver(2.0), max_iter=3, gradient_tol=0.0)
    np.testing.assert_array_equal(level.trace.steps, [2.0, 2.0, 2.0])  # equal values leave the step alone


def test_backtracking_descends_a_curved_valley():
    result = gradient_descent(ROSENBROCK, [-1.2, 1.0], step=Backtracking(share=0.2), max_iter=3000)
    values, norms = result.trace.values, result.trace.gradient_norms
    assert np.all(values[1:] <= values[:-1] - 0.2 * result.trace.steps * norms[:-1] ** 2)  # Armijo
    assert result.value < 1e-3


@pytest.mark.covers("OPT-13")
def test_momentum():
    f, _, start = bowl(4)
    plain = gradient_descent(f, start, step=0.05, max_iter=20, keep_points=True)
    none = gradient_descent(f, start, step=0.05, momentum=0.0, max_iter=20, keep_points=True)
    np.testing.assert_array_equal(plain.trace.points, none.trace.points)
    slope = Function(lambda w: float(2.0 * w[0]), lambda w: np.array([2.0]))
    run = gradient_descent(slope, [0.0], step=0.1, momentum=0.9, max_iter=300, keep_points=True, gradient_tol=0.0)
    moves = -np.diff(run.trace.points[:, 0])
    assert moves[-1] == pytest.approx(0.1 * 2.0 / (1 - 0.9), rel=1e-9)
    two = gradient_descent(quadratic([[2.0]]), [1.0], step=0.1, momentum=0.5, max_iter=2, keep_points=True)
    # a1 = 0.1 * 2 = 0.2, w1 = 0.8; a2 = 0.5 * 0.2 + 0.1 * 1.6 = 0.26, w2 = 0.54
    np.testing.assert_allclose(two.trace.points[:, 0], [1.0, 0.8, 0.54], rtol=1e-14)
    rising = SwitchedMomentum(0.5, 0.9, after=1)
    three = gradient_descent(quadratic([[2.0]]), [1.0], step=0.1, momentum=rising, max_iter=2, keep_points=True)
    np.testing.assert_allclose(three.trace.points[:, 0], [1.0, 0.8, 0.8 - (0.9 * 0.2 + 0.16)], rtol=1e-14)
    with pytest.raises(InvalidParameter, match="searches along the gradient"):
        gradient_descent(f, start, step=Backtracking(), momentum=0.5)


@pytest.mark.covers("OPT-15")
def test_stopping_rules_name_the_first_iteration_that_meets_them():
    f, _, start = bowl(5)
    free = gradient_descent(f, start, step=0.1, gradient_tol=0.0, max_iter=200)
    norms, changes = free.trace.gradient_norms, np.abs(np.diff(free.trace.values))
    by_gradient = gradient_descent(f, start, step=0.1, gradient_tol=1e-3)
    assert (by_gradient.outcome, by_gradient.n_iter) == ("solved", int(np.argmax(norms <= 1e-3)))
    assert "gradient_tol" in by_gradient.reason
    by_change = gradient_descent(f, start, step=0.1, gradient_tol=0.0, change_tol=1e-6)
    assert (by_change.outcome, by_change.n_iter) == ("settled", int(np.argmax(changes < 1e-6)) + 1)
    assert "change_tol" in by_change.reason
    assert free.outcome in ("max_iter", "solved")
    assert gradient_descent(f, start, step=0.1, max_iter=3).reason == "the budget of 3 iterations is spent"


@pytest.mark.covers("OPT-24")
def test_ascent_is_descent_on_the_negative():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 2, 30)
    log_likelihood = Function(
        lambda w: float(y @ (X @ w) - np.sum(np.logaddexp(0, X @ w))),
        lambda w: X.T @ (y - 1 / (1 + np.exp(-X @ w))),
    )
    up = gradient_ascent(log_likelihood, [0.0, 0.0], step=0.05, keep_points=True)
    down = gradient_descent(-log_likelihood, [0.0, 0.0], step=0.05, keep_points=True)
    np.testing.assert_array_equal(up.trace.points, down.trace.points)
    np.testing.assert_array_equal(up.trace.values, -down.trace.values)
    assert up.value == log_likelihood(up.point)
    assert np.all(np.diff(up.trace.values) > 0)


@pytest.mark.covers("OPT-34")
def test_minimisers_are_unique_for_strictly_convex_functions_only():
    f, best, _ = bowl(7)
    starts = np.random.default_rng(8).standard_normal((5, 4)) * 10
    found = [gradient_descent(f, start, gradient_tol=1e-9) for start in starts]
    for result in found:
        np.testing.assert_allclose(result.point, best, atol=1e-8)
        assert "one minimiser only" in result.certificate.statement
    valley = quadratic([[2.0, -2.0], [-2.0, 2.0]])  # (x - y)^2
    ends = [gradient_descent(valley, start, gradient_tol=1e-10) for start in ([1.0, 0.0], [5.0, 3.0])]
    assert np.linalg.norm(ends[0].point - ends[1].point) > 1
    assert max(abs(result.value) for result in ends) < 1e-15
    assert not any("one minimiser" in result.certificate.statement for result in ends)


def test_certificates_say_what_is_true():
    f, best, start = bowl(9)
    result = gradient_descent(f, start, max_iter=5)
    assert isinstance(result.certificate, GapCertificate)
    assert f(result.point) - f(best) <= result.certificate.gap * (1 + 1e-9)
    assert not result.certificate.reached
    strong = Function(f.value, f.gradient, is_convex=True, convexity=1.0, curvature_bound=10.0)
    loose = gradient_descent(strong, start, max_iter=5).certificate
    assert f(result.point) - f(best) <= loose.gap
    unknown = gradient_descent(ROSENBROCK, [0.0, 0.0], max_iter=5).certificate
    assert "nothing is claimed about other points" in unknown.statement
    kinked = Function(lambda w: abs(w[0]), np.sign, is_smooth=False, is_convex=True)
    assert isinstance(gradient_descent(kinked, [1.0], step=0.3, max_iter=5).certificate, Uncertified)
    gap = gradient_descent(f, start, gap_tol=1e-6, gradient_tol=0.0)
    assert gap.outcome == "solved"
    assert gap.certificate.gap <= 1e-6
    assert gap.certificate.reached


def test_nothing_returned_is_ever_nan():
    cliff = Function(lambda w: float(w[0] ** 4), lambda w: 4 * w**3)
    result = gradient_descent(cliff, [10.0], step=1.0)
    assert result.outcome == "diverged"
    assert result.point[0] == 10.0
    assert np.isfinite(result.trace.values).all()
    assert "too long" in result.advice[0] or "2/L" in result.advice[0]
    falling = Function(lambda w: float(-(w[0] ** 2)), lambda w: -2 * w)
    endless = gradient_descent(falling, [1.0], step=ExactLineSearch())
    assert endless.outcome == "diverged"
    assert "without bound" in endless.reason
    assert np.isfinite(endless.value)


def test_refusals_in_words():
    f, _, _ = bowl()
    with pytest.raises(InvalidData, match="coordinate 1 is nan"):
        gradient_descent(f, [0.0, np.nan, 0.0, 0.0])
    with pytest.raises(InvalidData, match="takes 4 numbers, and the start has 2"):
        gradient_descent(f, [0.0, 1.0])
    with pytest.raises(InvalidData, match="must be numbers"):
        gradient_descent(f, ["a", "b"])
    with pytest.raises(InvalidParameter, match=r"needs gradient\(w\)"):
        gradient_descent(lambda w: w[0] ** 2, [1.0])
    with pytest.raises(InvalidParameter, match=r"Function.gradient must be a callable"):
        Function(lambda w: 0.0, gradient=3.0)
    with pytest.raises(InvalidParameter, match="A function to minimise is"):
        gradient_descent(3.0, [1.0])
    with pytest.raises(InvalidData, match=r"gradient of function has shape \(3,\)"):
        gradient_descent(Function(lambda w: 0.0, lambda w: np.zeros(3)), [1.0, 2.0])
    with pytest.raises(InvalidData, match="returns a number"):
        gradient_descent(Function(lambda w: w, lambda w: w), [1.0, 2.0])
    with pytest.raises(InvalidData, match="not finite at the start"):
        gradient_descent(Function(lambda w: np.log(w[0]), lambda w: 1 / w), [-1.0])
    with pytest.raises(InvalidParameter, match="step must be a number > 0"):
        gradient_descent(f, np.zeros(4), step=-1.0)
    with pytest.raises(InvalidParameter, match="gap_tol needs a function with a bound"):
        gradient_descent(ROSENBROCK, [0.0, 0.0], gap_tol=1e-3)


def test_callbacks_stop_and_interrupts_keep_the_result():
    f, _, start = bowl()
    events = []

    def after_five(event):
        events.append(event)
        return STOP if event.step >= 5 else None

    with listen(after_five):
        result = gradient_descent(f, start, step=0.01)
    assert (result.outcome, result.n_iter) == ("stopped", 5)
    assert [event.kind for event in events] == ["start", *["step"] * 5, "end"]
    assert events[3].value == result.trace.values[3]
    asked = []

    def value(w):
        asked.append(w)
        if len(asked) == 8:
            raise KeyboardInterrupt
        return f.value(w)

    with pytest.raises(KeyboardInterrupt) as caught:
        gradient_descent(Function(value, f.gradient), start, step=0.01)
    kept = caught.value.result
    assert isinstance(caught.value, Interrupted)
    assert kept.outcome == "interrupted"
    assert kept.n_iter == 6
    assert kept.value == f(kept.point)


def test_a_line_without_values_is_refused():
    with pytest.raises(InvalidData, match="nan"):
        line_minimum(lambda _: float("nan"), 0.0, 5.0)
