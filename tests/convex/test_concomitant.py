"""Problems with a jointly estimated scale: the gap bounds the true error, at any point, and nothing cancels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qed.convex import L1, L2, Zero, solve
from qed.convex._concomitant import Concomitant
from qed.convex.solvers import ScaledLasso, ScaledNewton
from qed.core._events import Progress
from qed.designs import design

PENALTIES = {"l1": L1(0.1), "l2": L2(0.05), "none": Zero()}


def problem_of(seed, n, p, penalty, knee, *, intercept=True, level=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5
    y = X[:, 0] + rng.standard_t(2, n) + level
    c = rng.random(n) + 0.1
    c /= c.sum()
    return Concomitant(design(X), y, PENALTIES[penalty], c, knee, intercept, c @ X if intercept else None)


def best_of(problem, solver):
    with Progress("test", 10_000) as progress:
        return solve(problem, solver, tol=1e-12, max_iter=10_000, progress=progress)


def solver_of(penalty):
    return ScaledLasso() if penalty == "l1" else ScaledNewton()


@pytest.mark.parametrize(("penalty", "knee"), [("l1", np.inf), ("l2", np.inf), ("l2", 1.35), ("l2", 2.5)])
@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), p=st.integers(1, 8), away=st.floats(0, 3), flag=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_gap_bounds_the_true_error(penalty, knee, seed, n, p, away, flag):
    problem = problem_of(seed, n, p, penalty, knee, intercept=flag)
    best = best_of(problem, solver_of(penalty))
    rng = np.random.default_rng(seed + 1)
    w, b = best.w + away * rng.standard_normal(p), best.b + (away * rng.standard_normal() if flag else 0.0)
    lowest = best.gap.objective - best.gap.value
    for u in (None, rng.standard_normal(n), best.gap.u):
        gap = problem.certify(w, b, u)
        assert gap.value >= gap.objective - best.gap.objective
        assert gap.objective >= lowest
        assert np.all(np.abs(gap.u) <= knee)
        assert problem.share @ gap.u**2 <= 1 + 1e-14


@pytest.mark.parametrize("knee", [1.35, np.inf])
def test_a_large_level_costs_no_digits(knee):
    plain, lifted = (best_of(problem_of(3, 50, 3, "l2", knee, level=level), ScaledNewton()).gap for level in (0.0, 1e7))
    assert lifted.value <= 1e-5
    assert lifted.objective == pytest.approx(plain.objective, rel=1e-6)


def test_the_objective_is_the_least_over_scales():
    problem = problem_of(1, 30, 2, "none", 1.35)
    r = problem.scores(np.ones(2), 0.3) - problem.y
    best, c = problem.spread(r), problem.share

    def at(scale):
        x = np.abs(r) / scale
        return scale / 2 + c @ (scale * np.where(x <= 1.35, x**2 / 2, 1.35 * x - 1.35**2 / 2))

    assert best == pytest.approx(at(problem.scale(r)), rel=1e-12)
    assert all(at(factor * problem.scale(r)) >= best for factor in (0.3, 0.9, 1.1, 4.0))


@pytest.mark.parametrize(("penalty", "knee"), [("l1", np.inf), ("l2", 1.35)])
def test_solvers_refuse_what_they_cannot_do(penalty, knee):
    problem = problem_of(0, 20, 3, penalty, knee)
    other = ScaledNewton() if penalty == "l1" else ScaledLasso()
    assert len(other.unsupported_reason(problem)) > 10
    assert solver_of(penalty).unsupported_reason(problem) is None
    assert solver_of(penalty).cost(problem, 1e-6) > 0


@pytest.mark.parametrize("knee", [1.01, 1.35, 3.0])
def test_the_null_model_has_the_best_intercept(knee):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 30))
        y = rng.standard_t(1, n)
        y = np.round(y) if seed % 2 else y  # many rows met at once, and a scale of zero
        share = rng.random(n)
        problem = Concomitant(design(np.zeros((n, 1))), y, Zero(), share / share.sum(), knee)
        w = np.zeros(1)
        found = problem.null_objective
        low, high = y.min(), y.max()
        for _ in range(80):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            values = [problem.objective(w, b, np.full(n, b)) for b in (left, right)]
            low, high = (low, right) if values[0] < values[1] else (left, high)
        best = problem.objective(w, low, np.full(n, low))
        assert found <= best * (1 + 1e-8)
