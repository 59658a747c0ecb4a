"""A few examples at a time: unbiased gradients, schedules, averaging, monitors."""

from itertools import product

import numpy as np
import pytest

from qed.convex import L2, Logistic, Problem, Squared, Zero
from qed.core import InvalidData, InvalidParameter
from qed.designs import design
from qed.optimize import (
    BatchSampler,
    Capped,
    Constant,
    Function,
    InverseRoot,
    InverseTime,
    PowerDecay,
    StepDecay,
    batch_variance,
    gradient_descent,
    monitor_updates,
    robbins_monro,
    stochastic_gradient_descent,
)


def table(n=40, p=3, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X @ np.arange(1.0, p + 1) + noise * rng.standard_normal(n)


def least_squares(penalty=None, *, weights=None, noise=0.5, n=40):
    X, y = table(n=n, noise=noise)
    c = np.full(len(y), 1.0 / len(y)) if weights is None else weights / weights.sum()
    return Problem(design(X), Squared(y), Zero() if penalty is None else penalty, c, free_intercept=False)


@pytest.mark.covers("OPT-07")
def test_single_gradients_average_to_the_whole_one():
    rng = np.random.default_rng(1)
    X, y = table()
    problems = [
        least_squares(),
        least_squares(L2(0.3), weights=rng.integers(1, 5, 40).astype(float)),
        Problem(design(X), Logistic(np.where(y > 0, 1.0, -1.0)), L2(0.1), np.full(40, 1 / 40), True, X.mean(axis=0)),
    ]
    for problem in problems:
        f = problem.as_function()
        w = rng.standard_normal(f.size)
        singles = [f.part_gradient(w, np.array([i])) for i in range(f.n_examples)]
        np.testing.assert_allclose(np.mean(singles, axis=0), f.gradient(w), atol=1e-13)
    asked = []
    f = problems[0].as_function()

    def part(w, rows):
        asked.append(len(rows))
        return f.part_gradient(w, rows)

    counted = Function(f.value, f.gradient, part_gradient=part, n_examples=40)
    result = stochastic_gradient_descent(counted, np.zeros(3), step=0.01, max_iter=100, random_state=0)
    assert asked == [1] * 100  # one example a step
    assert result.calls.examples == 100
    whole = stochastic_gradient_descent(
        counted, np.zeros(3), step=0.01, batch_size=40, replacement=False, max_iter=10, random_state=0
    )
    assert whole.calls.examples == 400  # n of them a full step
    drawn = BatchSampler(5).draw(0)
    rows = np.concatenate([next(drawn) for _ in range(4000)])
    np.testing.assert_allclose(np.bincount(rows, minlength=5) / 4000, 0.2, atol=0.06)
    assert np.any(rows[1:] == rows[:-1])  # with replacement


@pytest.mark.covers("OPT-08")
def test_batches_between_one_and_all():
    f = least_squares(n=6).as_function()
    w = np.array([0.5, -1.0, 2.0])
    whole = stochastic_gradient_descent(
        f, w, step=0.05, batch_size=6, replacement=False, max_iter=20, keep_points=True, random_state=3
    )
    descent = gradient_descent(f, w, step=0.05, max_iter=20, gradient_tol=0.0, keep_points=True)
    np.testing.assert_allclose(whole.trace.points, descent.trace.points, atol=1e-12)
    # any batch: what the examples drawn say, written out, with momentum or without
    X, y = table(n=6)
    for size, replacement, momentum in ((1, True, 0.0), (1, False, 0.6), (4, True, 0.3), (4, False, lambda t: 0.9 / t)):
        drawn = []
        spied = Function(
            f.value,
            part_gradient=lambda w, rows, drawn=drawn: drawn.append(rows) or f.part_gradient(w, rows),
            n_examples=6,
        )
        options = {"batch_size": size, "replacement": replacement, "momentum": momentum, "random_state": 4}
        found = stochastic_gradient_descent(
            spied, w, step=InverseTime(0.1, 0.2), max_iter=12, keep_points=True, **options
        )
        v, a, by_hand = w, np.zeros(3), [w]
        for t, rows in enumerate(drawn, start=1):
            m = momentum(t) if callable(momentum) else momentum
            a = m * a + 0.1 / (1 + 0.2 * t) * X[rows].T @ (X[rows] @ v - y[rows]) / len(rows)
            v = v - a
            by_hand.append(v)
        np.testing.assert_allclose(found.trace.points, by_hand, rtol=1e-12)
        np.testing.assert_allclose(found.point, by_hand[-1], rtol=1e-12)
        if not replacement:  # each pass takes each example once; the last batch of a pass may be smaller
            assert [len(rows) for rows in drawn] == ([1] * 12 if size == 1 else [4, 2] * 6)
            np.testing.assert_array_equal(np.sort(np.concatenate(drawn[: 6 // min(size, 3)])), np.arange(6))
        else:
            assert {len(rows) for rows in drawn} == {size}
    for m in (1, 2, 3):
        draws = [f.part_gradient(w, np.array(rows)) for rows in product(range(6), repeat=m)]
        np.testing.assert_allclose(np.mean(draws, axis=0), f.gradient(w), atol=1e-12)
        np.testing.assert_allclose(batch_variance(f, w, m), np.var(draws, axis=0), rtol=1e-9)
        np.testing.assert_allclose(batch_variance(f, w, m), batch_variance(f, w, 1) / m, rtol=1e-12)
        order = [f.part_gradient(w, np.array(rows)) for rows in product(range(6), repeat=m) if len(set(rows)) == m]
        np.testing.assert_allclose(batch_variance(f, w, m, replacement=False), np.var(order, axis=0), rtol=1e-9)
    assert np.all(batch_variance(f, w, 6, replacement=False) == 0)
    a = stochastic_gradient_descent(f, w, step=0.05, max_iter=30, random_state=5)
    b = stochastic_gradient_descent(f, w, step=0.05, max_iter=30, random_state=5)
    np.testing.assert_array_equal(a.point, b.point)
    with pytest.raises(InvalidParameter, match="between 1 and the number of examples 6"):
        stochastic_gradient_descent(f, w, step=0.05, batch_size=7)


@pytest.mark.covers("OPT-09")
def test_robbins_monro():
    for p in (0.0, 0.3, 0.5, 0.51, 0.75, 1.0, 1.01, 2.0):
        assert robbins_monro(PowerDecay(0.7, p)).holds == (0.5 < p <= 1)
    one_over_t, square = robbins_monro(PowerDecay(1.0)), robbins_monro(PowerDecay(1.0, 2.0))
    assert one_over_t.holds
    assert not square.sum_diverges
    assert square.squares_converge
    for schedule in (Constant(0.1), PowerDecay(1.0, 0.5), StepDecay(1.0, (3, 6))):
        verdict = robbins_monro(schedule)
        assert verdict.sum_diverges
        assert not verdict.squares_converge
        assert "noise never dies out" in verdict.words
    assert robbins_monro(InverseTime(1.0, 0.1)).holds
    assert not robbins_monro(InverseRoot(1.0, 0.1)).holds
    assert not robbins_monro(InverseTime(1.0, 0.0)).holds
    assert robbins_monro(Capped()).holds
    with pytest.raises(InvalidParameter, match="no finite number of steps"):
        robbins_monro(lambda t: 1.0 / t)


@pytest.mark.covers("OPT-10")
def test_capped_schedule():
    schedule = Capped()
    assert {schedule(t) for t in range(1, 1001)} == {0.1}
    assert schedule(1001) < 0.1
    assert schedule(2000) == 0.05


@pytest.mark.covers("OPT-11")
def test_steps_at_epochs_include_their_boundary():
    schedule = StepDecay(0.5, (10, 20))
    assert [schedule(t) for t in (1, 10, 11, 20, 21, 500)] == pytest.approx([0.5, 0.5, 0.05, 0.05, 0.005, 0.005])
    f = least_squares(n=4).as_function()
    result = stochastic_gradient_descent(f, np.zeros(3), step=StepDecay(0.1, (2, 3)), batch_size=2, max_iter=10)
    np.testing.assert_allclose(result.trace.steps, [0.1] * 4 + [0.01] * 2 + [0.001] * 4)  # two steps make an epoch


@pytest.mark.covers("OPT-12")
def test_sublinear_schedules():
    for make in (InverseTime, InverseRoot):
        assert make(0.3, 2.0)(0) == 0.3
        assert {make(0.3, 0.0)(t) for t in range(50)} == {0.3}
    assert InverseTime(0.8, 0.5)(6) == pytest.approx(0.2)
    assert InverseRoot(0.8, 0.5)(6) == pytest.approx(0.4)


@pytest.mark.covers("OPT-14")
def test_monitor_of_update_sizes():
    w = np.array([3.0, 4.0])
    advice = {}
    for ratio in (1e-6, 1e-3, 1e-1):
        found = monitor_updates(
            {"hidden": w, "output": w}, {"hidden": w + ratio * 5 * np.array([0.6, 0.8]), "output": w}
        )
        assert found["hidden"].ratio == pytest.approx(ratio, rel=1e-8)
        assert found["output"].ratio == 0.0
        advice[ratio] = found["hidden"].advice
        assert found["hidden"].advice in found["hidden"].words
    assert advice == {1e-6: "raise", 1e-3: "keep", 1e-1: "lower"}
    zero = monitor_updates([np.zeros(2), w], [np.ones(2), 2 * w])
    assert zero["0"].ratio is None
    assert zero["0"].advice == "keep"
    assert zero["1"].ratio == 1.0
    with pytest.raises(InvalidParameter, match="shape"):
        monitor_updates(w, np.zeros(3))
    jumpy = stochastic_gradient_descent(least_squares(), np.ones(3), step=0.2, max_iter=200, random_state=0)
    assert "lower the step" in jumpy.advice[0]
    assert jumpy.trace.extras["update_ratio"].shape == (5, 2)


@pytest.mark.covers("OPT-16")
def test_budget_validation_and_periodic_objective():
    f = least_squares().as_function()
    asked = []
    watched = Function(lambda w: asked.append(1) or f.value(w), part_gradient=f.part_gradient, n_examples=40)
    result = stochastic_gradient_descent(
        watched, np.zeros(3), step=0.01, max_iter=100, evaluate_every=25, random_state=0
    )
    assert len(asked) == 5  # the start, and every 25 steps
    np.testing.assert_array_equal(result.trace.iterations, [0, 25, 50, 75, 100])
    assert result.outcome == "max_iter"
    assert result.n_iter == 100
    X, y = table()
    for options, period in (({}, 40), ({"batch_size": 8}, 5), ({"evaluate_every": 7, "momentum": 0.5}, 7)):
        asked.clear()
        kept = stochastic_gradient_descent(
            watched, np.zeros(3), step=0.01, max_iter=4 * period, keep_points=True, random_state=0, **options
        )
        assert len(asked) == 5  # by default after each pass over the examples
        points = kept.trace.points[::period]
        np.testing.assert_allclose(kept.trace.values, np.mean((points @ X.T - y) ** 2, axis=1) / 2, rtol=1e-12)
    scores = iter([5.0, 3.0, 2.0, 2.5, 2.2, 2.1, 9.0])
    seen = []

    def validation(w):
        seen.append(w.copy())
        return next(scores)

    early = stochastic_gradient_descent(
        f, np.zeros(3), step=0.01, max_iter=1000, evaluate_every=10, validation=validation, patience=3, random_state=0
    )
    assert (early.outcome, early.n_iter) == ("patience", 50)
    np.testing.assert_array_equal(early.point, seen[2])  # where the score was lowest
    np.testing.assert_array_equal(early.trace.extras["validation"][:, 1], [5.0, 3.0, 2.0, 2.5, 2.2, 2.1])
    settled = stochastic_gradient_descent(f, np.zeros(3), step=Capped(0.05, 1.0), max_iter=10**5, change_tol=1e-4)
    assert settled.outcome == "settled"


@pytest.mark.covers("LIN-07")
def test_stochastic_steps_reach_least_squares():
    problem = least_squares(n=100)
    X, y = table(n=100)
    best, *_ = np.linalg.lstsq(X, y, rcond=None)
    last = stochastic_gradient_descent(
        problem, np.zeros(3), step=InverseTime(0.3, 0.05), max_iter=2500, evaluate_every=2500, random_state=0
    )
    np.testing.assert_allclose(last.point, best, atol=0.06)
    noisy = stochastic_gradient_descent(
        problem, np.zeros(3), step=0.05, max_iter=2500, evaluate_every=2500, random_state=0
    )
    mean = stochastic_gradient_descent(
        problem, np.zeros(3), step=0.05, average_from=1000, max_iter=2500, evaluate_every=2500, random_state=0
    )
    np.testing.assert_allclose(mean.point, best, atol=0.06)
    short = stochastic_gradient_descent(
        problem, np.zeros(3), step=0.05, average_from=10, max_iter=40, keep_points=True, random_state=0
    )
    np.testing.assert_allclose(short.point, short.trace.points[10:].mean(axis=0), rtol=1e-12)
    assert mean.value < noisy.value  # averaging takes out the noise of constant steps
    assert mean.value == problem.objective(mean.point, 0.0)
    assert last.certificate.gap >= problem.objective(last.point, 0.0) - problem.objective(best, 0.0)
    exact = least_squares(noise=0.0)  # no noise in the targets: even constant steps (LMS) come to rest at the truth
    lms = stochastic_gradient_descent(exact, np.zeros(3), step=0.1, max_iter=800, evaluate_every=800, random_state=0)
    np.testing.assert_allclose(lms.point, [1.0, 2.0, 3.0], atol=1e-8)


def test_steps_that_are_too_long_are_called_so():
    result = stochastic_gradient_descent(least_squares(), np.zeros(3), step=3.0, max_iter=2000, random_state=0)
    assert result.outcome == "diverged"
    assert np.isfinite(result.point).all()
    assert "too long" in result.advice[0]
    with pytest.raises(InvalidParameter, match="part_gradient"):
        stochastic_gradient_descent(lambda w: w @ w, [1.0], step=0.1)


def test_a_score_that_is_no_number_is_refused():
    with pytest.raises(InvalidData, match="validation returned nan"):
        stochastic_gradient_descent(
            least_squares(), np.zeros(3), step=0.1, validation=lambda _: float("nan"), random_state=0
        )


def test_a_seed_that_is_none_is_refused_in_words():
    with pytest.raises(InvalidParameter, match="random_state must be"):
        stochastic_gradient_descent(least_squares(), np.zeros(3), step=0.1, random_state="a")
