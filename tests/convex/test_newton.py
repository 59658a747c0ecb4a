"""Newton's methods and limited-memory BFGS: one optimum, whatever the way, the layout and the design."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from qed.convex import L2, Logistic, Poisson, Problem, Softmax, Squared, choose, solve
from qed.convex.penalties import ElasticNet
from qed.convex.solvers import LBFGS, Newton, NewtonCG, NewtonKinks, NewtonScores, ProximalGradient
from qed.core._events import Progress
from qed.data import ArraySource
from qed.designs import Chunked, design
from qed.linear_model import LogisticRegression
from qed.optimize import gradient_descent

rng = np.random.default_rng(21)
n, p = 400, 7
X = rng.standard_normal((n, p)) * np.logspace(-2, 2, p) + np.arange(p)
SCORE = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(p) / 2
SHARE = rng.random(n) + 0.1
SHARE /= SHARE.sum()
LOSSES = {
    "logistic": Logistic(np.where(rng.random(n) < 1 / (1 + np.exp(-SCORE)), 1.0, -1.0)),
    "poisson": Poisson(rng.poisson(np.exp(SCORE / 2)).astype(float)),
    "squared": Squared(SCORE + rng.standard_normal(n)),
}
CLASSES = Softmax(np.argmax(np.outer(SCORE, [-1, 0, 1]) + rng.gumbel(size=(n, 3)), axis=1).astype(float), 3)


def problem(loss, alpha=1e-3, X=X, centre=True, intercept=True):
    middle = SHARE @ np.asarray(X.todense() if hasattr(X, "todense") else X) if centre and intercept else None
    return Problem(design(X), loss, L2(alpha), SHARE, intercept, middle)


def solved(problem, solver, tol=1e-10, **options):
    with Progress("test", 1000) as progress:
        return solve(problem, solver, tol=tol, max_iter=options.pop("max_iter", 200), progress=progress, **options)


@pytest.mark.covers("CLS-25")
def test_newton_takes_few_steps_to_the_optimum_of_descent():
    rows = rng.standard_normal((300, 3))
    label = (rng.random(300) < 1 / (1 + np.exp(-rows @ [1.0, -2.0, 0.5]))).astype(float)
    stated = Problem(design(rows), Logistic(2 * label - 1), L2(1e-3), np.full(300, 1 / 300), False)
    solution = solved(stated, Newton(), tol=1e-15)
    f = rows @ solution.w
    gradient = rows.T @ (1 / (1 + np.exp(-f)) - label) / 300 + 1e-3 * solution.w
    assert np.abs(gradient).max() < 1e-10
    assert solution.n_iter <= 8
    likelihood = np.sum(label * f - np.log1p(np.exp(f)))  # of labels 0 and 1
    assert solution.gap.objective == pytest.approx(-likelihood / 300 + 5e-4 * solution.w @ solution.w, rel=1e-12)
    descended = gradient_descent(stated, np.zeros(3), gradient_tol=1e-7)
    np.testing.assert_allclose(descended.point, solution.w, atol=1e-5)
    model = LogisticRegression(C=1 / 0.3, fit_intercept=False, tol=1e-15).fit(rows, label)  # C is 1 / (n alpha)
    np.testing.assert_allclose(model.coef_[0], solution.w, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_vanishes(name, intercept):
    stated = problem(LOSSES[name], intercept=intercept)
    solution = solved(stated, Newton(), tol=1e-13)
    assert solution.outcome == "solved"
    assert solution.n_iter <= 15
    slope = LOSSES[name].slope(stated.scores(solution.w, solution.b))
    size = stated.sizes
    assert np.abs((stated.adjoint(slope) + 1e-3 * solution.w) / size).max() < 1e-7
    assert not intercept or abs(SHARE @ slope) < 1e-9


@pytest.mark.parametrize("solver", [NewtonCG(), LBFGS()], ids=lambda solver: solver.name)
@pytest.mark.parametrize("name", LOSSES)
def test_every_way_leads_to_one_optimum(name, solver):
    stated = problem(LOSSES[name], alpha=1e-2)
    want, got = solved(stated, Newton()), solved(stated, solver, max_iter=2000)
    assert got.outcome == "solved"
    assert got.gap.objective == pytest.approx(want.gap.objective, rel=1e-9)
    np.testing.assert_allclose(got.w * stated.sizes, want.w * stated.sizes, atol=1e-4)


def test_classes_by_newton_and_by_steps():
    stated = problem(CLASSES, alpha=1e-2)
    want, got = solved(stated, NewtonScores()), solved(stated, LBFGS(), max_iter=2000)
    assert (want.outcome, got.outcome) == ("solved", "solved")
    assert want.n_iter <= 12
    assert got.gap.objective == pytest.approx(want.gap.objective, rel=1e-9)
    assert np.abs(want.w.sum(axis=1)).max() < 1e-12  # of all equal scores the shortest


def test_many_coefficients_of_classes_by_conjugate_gradients():
    wide = rng.standard_normal((9000, 40)) + 1.0
    odds = wide @ rng.standard_normal((40, 6)) / 4 + rng.gumbel(size=(9000, 6))
    loss, share = Softmax(odds.argmax(axis=1).astype(float), 6), np.full(9000, 1 / 9000)
    for intercept in (True, False):
        stated = Problem(design(wide), loss, L2(1e-4), share, intercept, share @ wide if intercept else None)
        want, got = (solved(stated, solver, tol=1e-9, max_iter=200) for solver in (LBFGS(), NewtonScores()))
        assert (want.outcome, got.outcome) == ("solved", "solved")
        assert got.n_iter <= 8
        # the penalty makes the objective curve by 1e-4: coefficients are as far from the optimum as their gaps allow
        apart = sum(np.sqrt(2 * one.gap.value / 1e-4) for one in (want, got))
        assert np.linalg.norm(got.w - want.w) <= apart
        thin = Problem(design(csr_array(wide)), loss, L2(1e-4), share, intercept, stated.centre)
        assert solved(thin, NewtonScores(), tol=1e-6).gap.objective == pytest.approx(want.gap.objective, rel=1e-6)
        few = Problem(design(wide[:1000]), loss.take(slice(1000)), L2(1e-4), np.full(1000, 1e-3), intercept)
        assert isinstance(choose(few, (NewtonScores(), LBFGS()), 1e-7), NewtonScores)
        assert isinstance(choose(stated, (NewtonScores(), LBFGS()), 1e-7), LBFGS)


@pytest.mark.parametrize("solver", [Newton(), NewtonCG(), LBFGS()], ids=lambda solver: solver.name)
@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[::-1].copy()[::-1], csr_array, csc_array],
    ids=["F", "sliced", "reversed", "csr", "csc"],
)
def test_layouts_agree(solver, layout):
    stated = problem(LOSSES["logistic"], alpha=1e-2)
    other = problem(LOSSES["logistic"], alpha=1e-2, X=layout(X))
    want, got = solved(stated, solver, max_iter=2000), solved(other, solver, max_iter=2000)
    assert got.gap.objective == pytest.approx(want.gap.objective, rel=1e-9)


def test_single_precision_columns():
    single = X.astype(np.float32)
    got = solved(problem(LOSSES["logistic"], X=single), Newton())
    want = solved(problem(LOSSES["logistic"], X=single.astype(float)), Newton())
    np.testing.assert_allclose(got.w, want.w, rtol=1e-6)
    assert got.outcome == "solved"


@pytest.mark.parametrize("solver", [Newton(), NewtonCG(), LBFGS()], ids=lambda solver: solver.name)
def test_chunks_are_a_design_like_any_other(solver):
    chunked = Chunked(ArraySource(X, chunk_rows=90))
    stated = Problem(chunked, LOSSES["logistic"], L2(1e-2), SHARE, True, SHARE @ X)
    want = solved(problem(LOSSES["logistic"], alpha=1e-2), Newton())
    assert solved(stated, solver, max_iter=2000).gap.objective == pytest.approx(want.gap.objective, rel=1e-9)


def test_many_rows_start_from_a_sample():
    m = 60_000
    tall = rng.standard_normal((m, 6))
    y = np.where(rng.random(m) < 1 / (1 + np.exp(-tall @ np.arange(6) / 3)), 1.0, -1.0)
    stated = Problem(design(tall), Logistic(y), L2(1e-4), np.full(m, 1 / m), True, tall.mean(axis=0))
    assert Newton().begin(stated, stated.null_point) is not None
    solution = solved(stated, Newton(), tol=1e-8)
    assert solution.outcome == "solved"
    assert solution.n_iter <= 8
    # rows sorted by label: a sample of each sixteenth row still sees both
    order = np.argsort(y, kind="stable")
    again = Problem(design(tall[order]), Logistic(y[order]), L2(1e-4), np.full(m, 1 / m), True, tall.mean(axis=0))
    assert solved(again, Newton(), tol=1e-8).gap.objective == pytest.approx(solution.gap.objective, rel=1e-7)


def test_a_sample_that_misleads_is_left():
    m = 40_000
    tall = rng.standard_normal((m, 2))
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    y[::16] = np.where(tall[::16, 0] > 0, 1.0, -1.0)  # what the sample sees is separable, and nothing else is
    stated = Problem(design(tall), Logistic(y), L2(1e-9), np.full(m, 1 / m), True, tall.mean(axis=0))
    solution = solved(stated, Newton(), tol=1e-8)
    assert solution.outcome == "solved"
    assert np.abs(solution.w).max() < 1.0


def test_far_starts_come_back():
    stated = problem(LOSSES["poisson"])
    far = (np.full(p, 3.0) / stated.sizes, 5.0)
    want = solved(stated, Newton())
    for solver in (Newton(), NewtonCG()):
        assert solved(stated, solver, start=far).gap.objective == pytest.approx(want.gap.objective, rel=1e-9)


def test_columns_that_depend_on_each_other():
    double = np.concatenate([X, X[:, :3] + X[:, 3:4]], axis=1)
    got = solved(problem(LOSSES["logistic"], alpha=0.0, X=double), Newton())
    want = solved(problem(LOSSES["logistic"], alpha=0.0), Newton())
    assert np.isfinite(got.w).all()
    assert got.gap.objective == pytest.approx(want.gap.objective, rel=1e-9)


def test_refusals_say_why():
    assert "one score" in Newton().unsupported_reason(problem(CLASSES))
    assert "one score" in NewtonCG().unsupported_reason(problem(CLASSES))
    assert "several scores" in NewtonScores().unsupported_reason(problem(LOSSES["logistic"]))
    every = (Newton(), NewtonCG(), NewtonScores(), LBFGS())
    assert isinstance(choose(problem(LOSSES["logistic"]), every, 1e-6), Newton)
    assert isinstance(choose(problem(CLASSES), every, 1e-6), NewtonScores)


def test_nothing_is_left_when_rounding_ends_the_descent():
    solution = solved(problem(LOSSES["logistic"]), Newton(), tol=0.0)
    assert solution.outcome in ("stalled", "solved")
    assert solution.gap.value - solution.gap.rounding < 1e-14


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("penalty", [ElasticNet(0.02, 0.0), ElasticNet(0.01, 0.05), ElasticNet(1e-4, 0.0)])
def test_classes_under_kinks_reach_the_proved_optimum(penalty, free):
    middle = SHARE @ X if free else None
    task = Problem(design(X / X.std(axis=0)), CLASSES, penalty, SHARE, free, middle / X.std(axis=0) if free else None)
    assert NewtonKinks().unsupported_reason(task) is None
    with Progress("test", 100) as progress:
        found = solve(task, NewtonKinks(), tol=1e-9, max_iter=100, progress=progress)
        slow = solve(task, ProximalGradient(), tol=1e-6, max_iter=20_000, progress=progress)
    assert found.outcome == "solved"
    assert found.gap.objective <= slow.gap.objective + found.gap.value
    assert slow.gap.objective <= found.gap.objective + slow.gap.value


def test_models_of_classes_refuse_what_they_cannot_take():
    kinks = ElasticNet(0.1, 0.0)
    assert "classes" in NewtonKinks().unsupported_reason(Problem(design(X), LOSSES["logistic"], kinks, SHARE))
    assert "penalty" in NewtonKinks().unsupported_reason(problem(CLASSES))
    wide = Problem(design(np.zeros((n, 1000))), CLASSES, kinks, SHARE)
    assert "coefficients" in NewtonKinks().unsupported_reason(wide)
