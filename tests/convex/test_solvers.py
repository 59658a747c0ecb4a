"""Every solver that accepts a problem reaches its certified optimum; all of them obey the driver."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qed.convex import (
    L1,
    L2,
    Absolute,
    Bounded,
    EpsilonInsensitive,
    Group,
    Hinge,
    Huber,
    Logistic,
    Problem,
    Quantile,
    SmoothedHinge,
    Softmax,
    Squared,
    SquaredHinge,
    Weighted,
    Zero,
    ZeroOne,
    choose,
    solve,
)
from qed.convex.solvers import (
    LBFGS,
    CoordinateDescent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    NarrowNewton,
    Newton,
    NewtonCG,
    NewtonKinks,
    NewtonScores,
    ProximalGradient,
    ScaledLasso,
    ScaledNewton,
)
from qed.core import InvalidParameter
from qed.core._events import STOP, Progress, listen
from qed.designs import design
from qed.linear_model import Ridge

SOLVERS = [DualAscent(), GradientDescent(), InteriorPoint(), ProximalGradient()]
EVERY = [*SOLVERS, CoordinateDescent(), LBFGS(), Newton(), NewtonCG(), NewtonKinks(), NewtonScores()]
LOSSES = {
    "squared": lambda y, _: Squared(y),
    "logistic": lambda _, label: Logistic(label),
    "huber": lambda y, _: Huber(y, 0.7),
    "quantile": lambda y, _: Quantile(y, 0.3),
    "absolute": lambda y, _: Absolute(y),
    "insensitive": lambda y, _: EpsilonInsensitive(y, 0.4),
    "hinge": lambda _, label: Hinge(label),
    "squared hinge": lambda _, label: SquaredHinge(label),
}
PENALTIES = {"l1": L1(0.03), "l2": L2(0.05), "none": Zero()}


def table(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.3
    y = X @ rng.standard_normal(p) + rng.standard_normal(n)
    c = rng.integers(1, 4, n).astype(np.float64)
    return X, y, np.where(y > np.median(y), 1.0, -1.0), c / c.sum()


def problem_of(loss, penalty, *, intercept=True, sparse=False, **shape):
    X, y, label, c = table(**shape)
    if sparse:
        X = csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    centre = np.asarray(X.T @ c).ravel() if intercept else None
    return Problem(design(X), LOSSES[loss](y, label), PENALTIES[penalty], c, intercept, centre)


def run(problem, solver, tol=1e-7, max_iter=20_000, start=None):
    with Progress("test", max_iter) as progress:
        return solve(problem, solver, tol=tol, max_iter=max_iter, progress=progress, start=start)


def able(problem):
    return [solver for solver in SOLVERS if solver.unsupported_reason(problem) is None]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_all_that_accept_agree(loss, penalty, intercept, sparse):
    problem = problem_of(loss, penalty, intercept=intercept, sparse=sparse)
    solvers = able(problem)
    assert solvers
    best = np.inf
    for solver in solvers:
        solution = run(problem, solver)
        assert solution.outcome == "solved", (solver.name, solution.gap)
        assert solution.solver == solver.name
        assert solution.gap.value <= 2e-7 * problem.null_objective
        best = min(best, solution.gap.objective)
        assert solution.gap.objective - best <= solution.gap.value + 1e-12


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_refusals_are_words_and_never_empty(solver):
    refused = 0
    for loss in LOSSES:
        for penalty in PENALTIES:
            words = solver.unsupported_reason(problem_of(loss, penalty))
            refused += words is not None
            assert words is None or len(words) > 10
    assert refused > 0


@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_solver_takes_a_loss_that_is_not_convex(penalty):
    X, y, label, c = table()
    bent = [Bounded(Squared(y), shape) for shape in ("exponential", "rational", "truncated")]
    for loss in (*bent, ZeroOne(label), Weighted(bent[0], np.ones(len(y)))):
        problem = Problem(design(X), loss, PENALTIES[penalty], c)
        assert not loss.traits.is_convex
        assert [solver.name for solver in EVERY if solver.unsupported_reason(problem) is None] == []
    assert "convex" in ProximalGradient().unsupported_reason(Problem(design(X), bent[0], PENALTIES[penalty], c))


def test_a_problem_that_nobody_takes_is_refused_with_all_reasons():
    problem = problem_of("hinge", "l1")
    with pytest.raises(InvalidParameter, match=r"gradient descent: .*proximal gradient: "):
        choose(problem, [GradientDescent(), ProximalGradient()], 1e-6)


@pytest.mark.parametrize(
    ("solver", "loss", "penalty"),
    [
        (DualAscent(), "hinge", "l2"),
        (GradientDescent(), "logistic", "l2"),
        (InteriorPoint(), "quantile", "l1"),
    ],
    ids=["dual ascent", "gradient descent", "interior point"],
)
class TestDriver:
    def test_a_callback_stops_and_the_point_so_far_is_proved(self, solver, loss, penalty):
        problem = problem_of(loss, penalty)
        with listen(lambda event: STOP if event.step >= 3 else None):
            solution = run(problem, solver, tol=1e-12)
        assert solution.outcome == "stopped"
        assert solution.n_iter == 3
        best = run(problem, solver, tol=1e-9).gap
        assert solution.gap.objective - best.objective <= solution.gap.value

    def test_ctrl_c_leaves_the_point_so_far(self, solver, loss, penalty):
        def interrupt(event):
            if event.kind == "step" and event.step == 2:
                raise KeyboardInterrupt

        with listen(interrupt):
            solution = run(problem_of(loss, penalty), solver, tol=1e-12)
        assert solution.outcome == "interrupted"
        assert np.isfinite(solution.gap.value)

    def test_max_iter_is_kept(self, solver, loss, penalty):
        solution = run(problem_of(loss, penalty), solver, tol=1e-12, max_iter=2)
        assert (solution.outcome, solution.n_iter) == ("max_iter", 2)

    def test_a_start_at_the_optimum_is_no_further_from_it(self, solver, loss, penalty):
        problem = problem_of(loss, penalty)
        first = run(problem, solver, tol=1e-8)
        again = run(problem, solver, tol=1e-8, start=(first.w, first.b))
        assert again.outcome == "solved"
        assert again.gap.objective <= first.gap.objective + 1e-7 * problem.null_objective

    def test_the_trace_tells_objective_and_gap(self, solver, loss, penalty):
        solution = run(problem_of(loss, penalty), solver)
        assert solution.trace
        counts, objectives, gaps = zip(*solution.trace, strict=True)
        assert list(counts) == sorted(counts)
        assert gaps[-1] == solution.gap.value
        assert objectives[-1] == solution.gap.objective


def test_gradient_descent_falls_with_every_step():
    problem = problem_of("logistic", "l2")
    values = []
    for at in GradientDescent().run(problem, problem.null_point, 0.0):
        values.append(problem.objective(at.w, at.b))
        if len(values) > 40:
            break
    assert np.all(np.diff(values) <= 0)
    assert values[-1] < values[0]


@pytest.mark.covers("LIN-18")
def test_a_step_of_gradient_descent_on_ridge_is_weight_decay_and_reaches_it():
    X, y, _, c = table()
    alpha = 0.2
    problem = Problem(design(X), Squared(y), L2(alpha), c, False)
    start = np.ones(4)
    after = next(GradientDescent().run(problem, (start, 0.0), 0.0)).w
    slope = X.T @ (c * (X @ start - y))
    rate = (start - after)[0] / (slope + alpha * start)[0]
    np.testing.assert_allclose(after, (1 - alpha * rate) * start - rate * slope, rtol=1e-12)
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(X, y, c)
    np.testing.assert_allclose(run(problem, GradientDescent(), tol=1e-12).w, ridge.coef_, atol=1e-5)


def test_interior_point_ends_at_a_corner():
    problem = problem_of("quantile", "l1", n=400, p=8)
    solution = run(problem, InteriorPoint(), tol=1e-9)
    met = np.abs(problem.scores(solution.w, solution.b) - problem.loss.y) < 1e-10
    assert np.count_nonzero(met) == np.count_nonzero(solution.w) + 1
    assert solution.gap.value <= 1e-10 * problem.null_objective


def test_interior_point_screens_rows_and_says_the_same(monkeypatch):
    problem = problem_of("quantile", "l1", n=6000, p=6)
    solution = run(problem, InteriorPoint(), tol=1e-9)
    assert solution.outcome == "solved"
    assert solution.gap.value <= 1e-9 * problem.null_objective
    monkeypatch.setattr("qed.convex.solvers._interior_point.FEW", 10**9)
    whole = run(problem, InteriorPoint(), tol=1e-9)
    np.testing.assert_allclose(solution.w, whole.w, atol=1e-12)


def test_dual_ascent_gives_the_same_bits_each_time():
    first, again = (run(problem_of("hinge", "l2"), DualAscent()) for _ in range(2))
    np.testing.assert_array_equal(first.w, again.w)
    assert first.b == again.b


@pytest.mark.parametrize("layout", ["C", "F", "float32"])
def test_dual_ascent_takes_any_layout(layout):
    X, _, label, c = table()
    given = np.asfortranarray(X) if layout == "F" else X.astype(np.float32 if layout == "float32" else np.float64)
    expected = run(Problem(design(given.astype(np.float64)), Hinge(label), L2(0.05), c, True, c @ given), DualAscent())
    found = run(Problem(design(given), Hinge(label), L2(0.05), c, True, c @ given), DualAscent())
    assert abs(found.gap.objective - expected.gap.objective) <= 2e-7


def test_no_penalty_and_no_curvature_is_still_proved_within_a_radius():
    solution = run(problem_of("absolute", "none"), InteriorPoint())
    assert np.isfinite(solution.gap.radius)
    assert solution.outcome == "solved"


@pytest.mark.parametrize("solver", [LBFGS(), Newton(), NewtonCG(), GradientDescent()], ids=lambda one: one.name)
def test_a_start_where_no_row_bends_is_left(solver):
    X, _, labels, share = table()
    problem = Problem(design(X), SmoothedHinge(labels), Zero(), share, free_intercept=False)
    with Progress("test", 1000) as progress:
        found = solve(problem, solver, tol=1e-7, max_iter=1000, progress=progress)
    assert found.outcome == "solved"
    assert found.gap.value <= 1e-6


def test_solvers_refuse_in_words_what_is_not_theirs():
    X, y, _, share = table()
    groups = Problem(design(X), Squared(y), Group(0.1, np.array([0, 0, 1, 1])), share)
    for solver in (NarrowNewton(), ScaledLasso(), ScaledNewton()):
        assert "it needs" in solver.unsupported_reason(groups)


def test_a_solver_that_hands_over_is_named_with_the_one_that_goes_on(monkeypatch):
    monkeypatch.setattr("qed.convex.solvers._dual_ascent.PASSES", 4)  # gives up at once
    problem = problem_of("hinge", "l2")
    solution = run(problem, DualAscent(), tol=1e-10)
    assert solution.outcome == "solved"
    assert solution.solver == f"{DualAscent.name}, {InteriorPoint.name}"


def test_a_prior_for_each_column_serves_all_classes():
    X, y, _, c = table()
    which = np.digitize(y, [-1.0, 1.0])
    one, each = np.array([1.0, -1.0, 0.5, 0.0]), np.tile([[1.0], [-1.0], [0.5], [0.0]], 3)
    found = [run(Problem(design(X), Softmax(which, 3), L2(0.05, prior), c, False), LBFGS()) for prior in (one, each)]
    assert found[0].outcome == "solved"
    np.testing.assert_allclose(found[0].w, found[1].w, atol=1e-12)
