"""Gaps: what they are equal to, what they cost, and that nothing that floating point does is left out of them."""

from fractions import Fraction

import cvxpy
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from tests.reference.convex_programs import polished, say

from qed.convex import (
    L1,
    L2,
    ElasticNet,
    Group,
    Hinge,
    Logistic,
    PointCache,
    Poisson,
    Problem,
    Quantile,
    Softmax,
    Squared,
    Zero,
)
from qed.convex._curvature_bound import curvature_bound, step_between_rows
from qed.core import InvalidData, InvalidParameter
from qed.designs import design

rng = np.random.default_rng(11)


class Counted:
    """A design that counts its passes."""

    def __init__(self, inner):
        self.inner, self.passes = inner, []

    def __getattr__(self, name):
        if name in ("product", "adjoint_product", "gram", "column_norms", "columns"):
            self.passes.append(name)
        return getattr(self.inner, name)


def logistic(n=200, p=5, alpha=1e-2, X=None, penalty=None):
    X = rng.normal(size=(n, p)) if X is None else X
    y = np.where(X[:, 0] + rng.logistic(size=len(X)) > 0, 1.0, -1.0)
    penalty = L2(alpha) if penalty is None else penalty
    return Problem(design(X), Logistic(y), penalty, np.full(len(X), 1 / len(X)), True, X.mean(axis=0), X.std(axis=0)), X


def newton(problem, X, steps=30):
    """Solve a smooth problem of one score to the last digit."""
    w, b = problem.null_point
    A = np.hstack([X - problem.centre, np.ones((len(X), 1))])
    for _ in range(steps):
        t = problem.scores(w, b)
        c, slope, bend = problem.share, problem.loss.slope(t), problem.loss.curvature(t)
        g = A.T @ (c * slope) + np.append(problem.penalty.slope(w), 0.0)
        H = A.T @ ((c * bend)[:, None] * A) + np.diag(np.append(np.zeros(len(w)) + problem.penalty.curvature(w), 0.0))
        d = np.linalg.lstsq(H, g, rcond=None)[0]
        w, b = w - d[:-1], b - d[-1]
    return w, b


@pytest.mark.covers("SVM-14")
def test_the_gap_of_a_feasible_dual_point_is_primal_minus_dual():
    n, alpha = 12, 0.3
    X, y = rng.normal(size=(n, 2)), np.tile([1.0, -1.0], n // 2)
    problem = Problem(design(X), Hinge(y), L2(alpha), np.full(n, 1 / n), free_intercept=True)
    for _ in range(50):
        box = rng.random(n)  # multipliers in the box, balanced by moving one side
        box[y > 0] *= min(1.0, box[y < 0].sum() / box[y > 0].sum())
        box[y < 0] *= min(1.0, box[y > 0].sum() / box[y < 0].sum())
        w = X.T @ (y * box) / (n * alpha)
        b = float(rng.normal())
        primal = np.mean(np.maximum(1 - y * (X @ w + b), 0)) + alpha / 2 * w @ w
        dual = np.mean(box) - alpha / 2 * w @ w
        gap = problem._bound(problem._look(w, b, None, 0.0), -y * box)
        assert primal - dual >= 0
        assert gap.value == pytest.approx(primal - dual, rel=1e-9)
        assert problem.certify(w, b).value <= min(primal, gap.value + primal) + 1e-12
    two = Problem(design(np.array([[-1.0], [1.0]])), Hinge(np.array([-1.0, 1.0])), L2(0.1), np.full(2, 0.5))
    met = two.certify(np.array([1.0]), 0.0)  # the margin of two points, met exactly: nothing is left but rounding
    assert met.value == met.rounding <= 1e-14


@pytest.mark.covers("SVM-14")
def test_the_gap_is_no_less_than_what_is_missing():
    """Where every row lies inside the margin the optimum has a formula, and from zero coefficients the gap is all there is."""
    n, alpha = 40, 5.0
    X, y = rng.normal(size=(n, 3)), np.tile([1.0, -1.0], n // 2)
    problem = Problem(design(X), Hinge(y), L2(alpha), np.full(n, 1 / n), free_intercept=False)
    w = X.T @ y / (n * alpha)  # all multipliers at one
    assert (y * (X @ w) < 1).all()
    best = np.mean(1 - y * (X @ w)) + alpha / 2 * w @ w
    assert best == pytest.approx(1 - alpha / 2 * w @ w, rel=1e-12)
    assert problem.certify(np.zeros(3), 0.0).value == pytest.approx(1 - best, rel=1e-9)
    assert 0 <= problem.certify(w, 0.0).value < 1e-14
    for alpha in (5.0, 0.5, 0.05):  # anywhere, and for any strength, it bounds what an independent solver finds missing
        problem = Problem(design(X), Hinge(y), L2(alpha), np.full(n, 1 / n), free_intercept=True)
        v, b = cvxpy.Variable(3), cvxpy.Variable()
        cost = cvxpy.sum(cvxpy.pos(1 - cvxpy.multiply(y, X @ v + b))) / n + alpha / 2 * cvxpy.sum_squares(v)
        best = cvxpy.Problem(cvxpy.Minimize(cost)).solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        for scale in (0.0, 0.01, 0.3, 1.0):
            at, level = v.value + scale * rng.normal(size=3), float(b.value + scale * rng.normal())
            here = np.mean(np.maximum(1 - y * (X @ at + level), 0)) + alpha / 2 * at @ at
            assert problem.certify(at, level).value >= here - best - 1e-9


def test_a_proof_that_the_slope_suffices_for_makes_no_pass():
    problem, X = logistic()
    w, b = newton(problem, X)
    t = problem.scores(w, b)
    slope = problem.loss.slope(t)
    rise, fall = problem.adjoint(np.maximum(slope, 0)), problem.adjoint(np.minimum(slope, 0))
    counted = Counted(problem.design)
    watched = Problem(counted, problem.loss, problem.penalty, problem.share, True, problem.centre, problem.lengths)
    gap = watched.certify(w, b, target=1e-10, known=PointCache(t, rise, fall))
    assert counted.passes == []
    assert 0 < gap.value < 1e-12
    whole = watched.certify(
        w, b, target=1e-10, known=PointCache(t, slope=slope, loss=gap.objective, gradient=rise + fall)
    )
    assert counted.passes == []
    assert whole.value == pytest.approx(gap.value, abs=1e-13)
    assert problem.certify(w, b).value <= gap.value + gap.rounding  # summed in another order


@pytest.mark.parametrize("make", [Logistic, Poisson, Squared])
def test_without_a_penalty_the_curvature_bounds_against_all_coefficients(make):
    X = rng.normal(size=(300, 4))
    y = {"Logistic": np.where(X[:, 0] + rng.logistic(size=300) > 0, 1.0, -1.0)}.get(
        make.__name__, rng.poisson(np.exp(X[:, 0])).astype(float)
    )
    problem = Problem(design(X), make(y), Zero(), np.full(300, 1 / 300), True, X.mean(axis=0))
    w, b = newton(problem, X)
    best = problem.certify(w, b)
    assert np.isinf(best.radius)
    assert best.value <= 1e-14 * problem.null_objective
    for step in (1e-1, 1e-3, 1e-6):
        moved = w + step * rng.normal(size=4)
        gap = problem.certify(moved, b)
        true = problem.objective(moved, b) - problem.objective(w, b)
        assert true <= gap.value <= 1.5 * true + 1e-14


@pytest.mark.parametrize("make", [Logistic, Poisson, Squared])
def test_the_curvature_of_some_rows_bounds_where_a_penalty_is_weak(make):
    n = 10_000
    X = rng.normal(size=(n, 3)) * np.where(np.arange(n) % 3 == 0, 0.1, 1.0)[:, np.newaxis]  # rows are not alike
    y = {"Logistic": np.where(X[:, 0] + rng.logistic(size=n) > 0, 1.0, -1.0)}.get(
        make.__name__, rng.poisson(np.exp(X[:, 0])).astype(float)
    )
    problem = Problem(design(X), make(y), L2(1e-9), np.full(n, 1 / n), True, X.mean(axis=0))
    step = step_between_rows(problem)
    assert step == 4
    w, b = newton(problem, X, steps=12)
    for away in (1e-2, 1e-4):
        moved = w + away * rng.normal(size=3)
        t = problem.scores(moved, b)
        slope = problem.loss.slope(t)
        whole, some = (
            sum(curvature_bound(problem, moved, t, slope, -problem.adjoint(slope), (1e-15, 2.0), every))
            for every in (1, step)
        )
        true = problem.objective(moved, b) - problem.objective(w, b)
        assert true <= whole <= some <= 2 * step * true
        # a solver that goes on is told without dearer proofs
        assert problem.certify(moved, b, is_thorough=False).value <= 1.01 * some


def test_separable_classes_are_certified_by_their_objective():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    problem = Problem(design(X), Logistic(y), Zero(), np.full(4, 0.25))
    gap = problem.certify(np.array([40.0]), 0.0)
    assert np.isinf(gap.radius)
    assert problem.objective(np.array([40.0]), 0.0) <= gap.value <= 2 * problem.objective(np.array([40.0]), 0.0) + 1e-13


def test_dependent_columns_without_a_penalty_state_a_radius():
    X = rng.normal(size=(50, 2))
    X = np.hstack([X, X[:, :1]])
    y = X[:, 0] + rng.normal(size=50)
    problem = Problem(design(X), Squared(y), Zero(), np.full(50, 1 / 50), True, X.mean(axis=0))
    w, b = newton(problem, X)
    gap = problem.certify(w, b)
    assert np.isfinite(gap.radius)
    assert gap.value <= 1e-12
    away = w + np.array([1.0, 0.0, -1.0]) * gap.radius / problem.spans  # as good, and as far as the claim goes
    assert problem.objective(w, b) - problem.objective(away, b) <= gap.value


def test_rows_at_a_kink_are_found_from_the_coefficients_alone():
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=40)
    problem = Problem(design(X), Quantile(y, 0.5), Zero(), np.full(40, 1 / 40))
    # as a linear program: coefficients free, what is above and below the target not negative
    rows = np.hstack([X, np.ones((40, 1)), -np.eye(40), np.eye(40)])
    bounds = [(None, None)] * 3 + [(0, None)] * 80
    moved = linprog(np.r_[np.zeros(3), np.full(80, 0.5 / 40)], A_eq=rows, b_eq=y, bounds=bounds).x[:3]
    gap = problem.certify(moved[:2], moved[2])
    assert gap.value <= 1e-11


def test_large_offsets_of_targets_and_columns_hide_nothing():
    X = rng.normal(size=(60, 3)) + 1e8 * rng.normal(size=3)
    y = (X - X.mean(axis=0)) @ [1.0, 0.0, -1.0] + rng.normal(size=60) + 1e8
    problem = Problem(design(X), Squared(y), L1(0.1), np.full(60, 1 / 60), True, X.mean(axis=0))
    w, b = np.array([0.9, 0.0, -0.9]), y.mean()
    for _ in range(200):
        g = problem.adjoint(problem.loss.slope(problem.scores(w, b)))
        w = problem.penalty.prox(w - 0.5 * g, 0.5)
    gap = problem.certify(w, b)
    assert gap.value <= 1e-11 * problem.null_objective
    # what a model keeps is an intercept for the columns as they are; how far off that one is, exactly
    stored = Fraction(float(b - problem.centre @ w))
    off = float(stored + sum(Fraction(m) * Fraction(v) for m, v in zip(problem.centre, w, strict=True)) - Fraction(b))
    r = (X.astype(np.longdouble) - problem.centre) @ w.astype(np.longdouble) + (np.longdouble(b) - y)
    assert 0 < abs(off) < 1e-7
    assert float(np.mean((r + off) ** 2 - r**2)) / 2 <= gap.value


def test_an_intercept_that_is_off_is_a_distance_and_not_rounding():
    problem, X = logistic()
    w, b = newton(problem, X)
    t = problem.scores(w, b + 1e-3)
    slope = problem.loss.slope(t)
    known = PointCache(t, slope=slope, gradient=problem.adjoint(slope))
    gap = problem.certify(w, b + 1e-3, target=1e-12, known=known)
    true = problem.objective(w, b + 1e-3) - problem.objective(w, b)
    assert true <= gap.value <= 1.1 * true
    assert gap.rounding <= 1e-12
    first = next(problem._gaps(problem._look(w, b + 1e-3, known, 1e-12), None, known))
    assert first.value - first.rounding >= true


def test_a_point_out_of_range_has_no_proof_and_no_warning():
    problem = Problem(design(np.array([[1.0], [2.0]])), Poisson(np.array([1.0, 0.0])), L2(0.1), np.full(2, 0.5))
    gap = problem.certify(np.array([1e6]), 0.0)
    assert np.isinf(gap.value)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_many_more_columns_than_rows_are_solved_without_writing_them_down(container):
    X = rng.normal(size=(40, 3000))
    y = X[:, :5].sum(axis=1) + rng.normal(size=40)
    problem = Problem(design(container(X)), Squared(y), L2(1e-3), np.full(40, 1 / 40), False)
    dual = np.linalg.solve(X @ X.T / 40 + 1e-3 * np.eye(40), y) / 40
    w = X.T @ dual
    moved = w + 1e-6 * rng.normal(size=3000)
    true = problem.objective(moved, 0.0) - problem.objective(w, 0.0)
    assert true <= problem.certify(moved, 0.0).value <= 1.1 * true


def test_several_scores_have_newton_points_too():
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 3, 120).astype(float)
    problem = Problem(design(X), Softmax(y, 3), L2(1e-3), np.full(120, 1 / 120), True, X.mean(axis=0))
    w, b = problem.null_point
    for _ in range(4000):  # plain descent: slow, and nobody's code but this
        slope = problem.loss.slope(problem.scores(w, b))
        w, b = w - 1.5 * (problem.adjoint(slope) + 1e-3 * w), b - 1.5 * (problem.share @ slope)
    best = problem.objective(w, b)
    for step in (1e-2, 1e-4):
        moved = w + step * rng.normal(size=w.shape)
        true = problem.objective(moved, b) - best
        assert true - 1e-13 <= problem.certify(moved, b).value <= 2 * true + 1e-12


def test_second_derivatives_of_many_classes_are_asked_for_once_a_class(monkeypatch):
    asked, own = [], Softmax.curvature_product
    monkeypatch.setattr(Softmax, "curvature_product", lambda self, t, d: asked.append(1) or own(self, t, d))
    k, y = 20, np.arange(400) % 20
    X = 0.3 * y[:, np.newaxis] + rng.normal(size=(400, 1))
    problem = Problem(design(X), Softmax(y.astype(float), k), L2(1e-3), np.full(400, 1 / 400), True, X.mean(axis=0))
    problem.certify(0.1 * rng.normal(size=(1, k)), np.zeros(k))
    assert k <= len(asked) <= 8 * k  # up to four Newton points, and not one for each of the 210 pairs of classes


def test_the_reference_polishes_downhill():
    said = say(5, "Logistic", "L2")
    w, b = polished(said, *said.problem.null_point)
    assert said.objective(w, b) <= said.objective(*said.problem.null_point)


@pytest.mark.parametrize("unit", [1e-20, 1e-8, 1e8, 1e20])
@pytest.mark.parametrize("make", [Squared, Quantile])
def test_units_of_the_target_do_not_matter(unit, make):
    X = rng.normal(size=(30, 1))
    y = 2.0 * X[:, 0] + rng.normal(size=30)
    relative = []
    for scale in (1.0, unit):
        problem = Problem(design(X), make(scale * y), L1(0.1 * scale if make is Squared else 0.1), np.full(30, 1 / 30))
        for w in (1.5, 1.9):
            gap = problem.certify(np.array([w * scale]), 0.1 * scale)
            relative.append((gap.value / problem.null_objective, gap.rounding / problem.null_objective))
    assert relative[0][0] == pytest.approx(relative[2][0], rel=1e-6)
    assert relative[1][0] == pytest.approx(relative[3][0], rel=1e-6)
    assert max(rounding for _, rounding in relative) <= 1e-12


def test_parts_that_make_no_problem_are_refused_in_words():
    X, y = np.eye(3), np.array([1.0, 0.0, 1.0])
    for loss in (Logistic, Hinge):
        with pytest.raises(InvalidData, match="labels of -1 and \\+1"):
            loss(y)
    with pytest.raises(InvalidData, match="from 0 to 1"):
        Softmax(np.array([0.0, 2.0]), 2)
    with pytest.raises(InvalidData, match="numbers >= 0"):
        Poisson(-y)
    for penalty in (L1, L2, ElasticNet, Group):
        with pytest.raises(InvalidParameter, match=r"must be >= 0, got -1\.0"):
            penalty(-1.0)
    with pytest.raises(InvalidParameter, match="takes a design"):
        Problem(X, Squared(y), L2(1.0), np.full(3, 1 / 3))
    with pytest.raises(InvalidData, match="3 rows needs as many targets and shares, got 2 and 3"):
        Problem(design(X), Squared(y[:2]), L2(1.0), np.full(3, 1 / 3))
