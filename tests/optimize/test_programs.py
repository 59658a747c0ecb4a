"""Constraints: Lagrangians, duals, penalties, barriers, prices, quadratic and linear programmes."""

from fractions import Fraction

import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, listen
from qed.optimize import (
    Function,
    Interrupted,
    Program,
    affine,
    augmented_lagrangian,
    barrier_method,
    duality_on_points,
    lagrange_dual,
    linear_program,
    log_barrier,
    maximize_dual,
    newton,
    penalised,
    penalty_method,
    quadratic,
    quadratic_program,
    random_restarts,
)

ABOVE_ONE = Program(quadratic([[2.0]]), [affine([-1.0], 1.0)])  # min x^2 subject to x >= 1


@pytest.mark.covers("OPT-27")
def test_penalties_come_from_outside_and_barriers_from_inside():
    for x in (-0.5, 0.25, 1.0, 3.0):
        assert ABOVE_ONE.violation([x]) == max(0.0, 1 - x)
        assert ABOVE_ONE.is_feasible([x]) == (x >= 1)
        assert penalised(ABOVE_ONE, 3.0)([x]) == pytest.approx(x**2 + 3.0 * max(0.0, 1 - x) ** 2)
    assert log_barrier(ABOVE_ONE, 0.5)([3.0]) == pytest.approx(9.0 - 0.5 * np.log(2.0))
    assert log_barrier(ABOVE_ONE, 0.5)([1.0]) == np.inf
    both = Program(quadratic(np.eye(2)), [affine([1.0, 0.0], -1.0), affine([0.0, 1.0])], [affine([1.0, 1.0], -2.0)])
    for w, worst in (([3.0, 0.5], 2.0), ([1.0, 4.0], 4.0), ([0.0, -1.0], 3.0), ([2.0, 0.0], 1.0)):
        assert both.violation(w) == worst  # of each kind and either sign, the worst
    for rho in (0.5, 3.0, 100.0):
        assert newton(penalised(ABOVE_ONE, rho), [4.0]).point[0] == pytest.approx(rho / (1 + rho), rel=1e-8)
    for mu in (2.0, 0.1, 1e-4):
        expected = (1 + np.sqrt(1 + 2 * mu)) / 2
        assert newton(log_barrier(ABOVE_ONE, mu), [4.0]).point[0] == pytest.approx(expected, rel=1e-8)
    weights = [1.0, 10.0, 100.0]
    outside = penalty_method(ABOVE_ONE, [4.0], weights=weights, keep_points=True)
    np.testing.assert_allclose(outside.trace.points[1:, 0], [rho / (1 + rho) for rho in weights], rtol=1e-8)
    np.testing.assert_allclose(
        outside.trace.extras["violation"][:, 1], [0.0, *(1 / (1 + rho) for rho in weights)], rtol=1e-8, atol=1e-12
    )
    assert outside.certificate.infeasibility == pytest.approx(1 / 101, rel=1e-8)
    assert outside.multipliers["inequalities"][0] == pytest.approx(200 / 101, rel=1e-8)
    assert outside.outcome == "max_iter"
    inside = barrier_method(ABOVE_ONE, [4.0], keep_points=True)
    assert np.all(inside.trace.points > 1)
    assert inside.outcome == "solved"
    for method in (penalty_method, barrier_method, augmented_lagrangian):
        result = method(ABOVE_ONE, [4.0])
        assert result.point[0] == pytest.approx(1.0, abs=1e-5)
        assert result.multipliers["inequalities"][0] == pytest.approx(2.0, abs=1e-3)
        assert result.certificate.stationarity < 1e-5
        assert result.certificate.infeasibility == max(0.0, 1 - result.point[0]) < 1e-5
        assert "convex" in result.certificate.statement


def test_several_constraints_of_both_kinds():
    # min (x-2)^2 + (y-1)^2 subject to x + y = 2, x^2 <= y  ->  x = 1, y = 1
    circle = Function(
        lambda w: float(w[0] ** 2 - w[1]),
        lambda w: np.array([2 * w[0], -1.0]),
        lambda w: np.diag([2.0, 0.0]),
        is_convex=True,
    )
    program = Program(quadratic(2 * np.eye(2), [4.0, 2.0], 5.0), [circle], [affine([1.0, 1.0], -2.0)])
    assert program.is_convex
    for method in (penalty_method, augmented_lagrangian):
        result = method(program, [5.0, -3.0])
        np.testing.assert_allclose(result.point, [1.0, 1.0], atol=1e-5)
        assert result.outcome == "solved"
        assert result.certificate.residual < 1e-4
    plain = Program(
        Function(program.objective.value, program.objective.gradient),
        [Function(circle.value, circle.gradient)],
        [Function(lambda w: float(w.sum() - 2.0), np.ones_like)],
    )
    without_curvature = augmented_lagrangian(plain, [0.5, 0.5], tol=1e-6)
    np.testing.assert_allclose(without_curvature.point, [1.0, 1.0], atol=1e-4)
    assert "local" in without_curvature.certificate.statement  # nobody said that the programme is convex


def test_infeasible_constraints_are_refused_in_words():
    impossible = Program(quadratic([[2.0]]), [affine([-1.0], 1.0), affine([1.0], 0.0)])  # x >= 1 and x <= 0
    for method in (penalty_method, augmented_lagrangian):
        settings = {"max_iter": 12} if method is augmented_lagrangian else {}
        with pytest.raises(InvalidData, match=r"No point meets all constraints: the least violation found is 0\.5"):
            method(impossible, [3.0], **settings)
    with pytest.raises(InvalidData, match="strictly inside the constraints; inequality 0 is 1 there"):
        barrier_method(ABOVE_ONE, [0.0])
    with pytest.raises(InvalidParameter, match="equalities have none"):
        barrier_method(Program(quadratic([[2.0]]), [], [affine([1.0])]), [0.0])
    with pytest.raises(InvalidParameter, match="needs gradient"):
        penalty_method(Program(quadratic([[2.0]]), [lambda w: w[0]]), [0.0])


@pytest.mark.covers("OPT-28")
def test_lagrangian_bounds_the_objective_on_the_feasible_set():
    rng = np.random.default_rng(0)
    program = Program(lambda w: float(np.sin(3 * w[0]) + w[1] ** 2), [lambda w: w[0] ** 2 + w[1] - 1, lambda w: -w[0]])
    seen = set()
    for _ in range(300):
        w, prices = rng.uniform(-2, 2, 2), rng.exponential(2.0, 2)
        feasible = program.is_feasible(w)
        seen.add(feasible)
        if feasible:
            assert program.lagrangian(w, prices) <= program.objective(w) + 1e-12
            assert program.supremum(w) == program.objective(w) == program.lagrangian(w, [0.0, 0.0])
        else:
            assert program.supremum(w) == np.inf
            above, _ = program.residuals(w)
            far = np.where(above > 0, 1e9, 0.0)
            assert program.lagrangian(w, far) > 1e3  # some prices, not all of them, drive it up without bound
            assert np.isfinite(program.lagrangian(w, [0.0, 0.0]))
    assert seen == {True, False}
    by_hand = program.objective([1.0, 2.0]) + 2.0 * (1 + 2 - 1) + 3.0 * -1.0
    assert program.lagrangian([1.0, 2.0], [2.0, 3.0]) == pytest.approx(by_hand)
    with pytest.raises(InvalidParameter, match="must be >= 0"):
        program.lagrangian([0.0, 0.0], [-1.0, 0.0])


@pytest.mark.covers("OPT-29")
def test_weak_duality_needs_no_convexity():
    rng = np.random.default_rng(1)
    grid, prices = np.linspace(-2, 2, 201)[:, None], np.linspace(0, 20, 81)[:, None]
    gaps = []
    for _ in range(20):
        a, b, c, d = rng.standard_normal(4)
        program = Program(
            lambda w, a=a, b=b: float(np.sin(4 * a * w[0]) + b * w[0]),
            [lambda w, c=c, d=d: float(np.cos(3 * w[0] + c) - abs(d))],
        )
        report = duality_on_points(program, grid, prices)
        assert report.gap >= -1e-12
        f = np.array([program.objective(w) for w in grid])
        g = np.array([program.residuals(w)[0][0] for w in grid])
        lowest = np.array([(f + one * g).min() for one in prices.ravel()])
        assert report.dual == pytest.approx(lowest.max())
        assert report.prices.item() in prices[lowest >= lowest.max() - 1e-12]  # where it is attained
        if np.any(g <= 0):
            assert report.primal == f[g <= 0].min()
            assert report.point.item() == grid[g <= 0][f[g <= 0].argmin()].item()
            assert report.gap == report.primal - report.dual
            assert report.bound <= report.primal
            gaps.append(report.gap)
        else:
            assert report.primal == np.inf
    assert max(gaps) > 1e-3  # without convexity the gap need not close


@pytest.mark.covers("OPT-30")
def test_strong_duality_under_slater_and_without():
    report = maximize_dual(ABOVE_ONE, [0.0])
    assert report.primal == pytest.approx(1.0, abs=1e-9)
    assert report.dual == pytest.approx(1.0, abs=1e-9)
    assert report.prices[0] == pytest.approx(2.0, abs=1e-6)
    assert report.point[0] == pytest.approx(1.0, abs=1e-6)
    assert 1 - 1e-9 < report.bound <= 1.0  # and proved
    for lam in (0.5, 2.0, 3.0):
        at = lagrange_dual(ABOVE_ONE, [lam], start=[0.0])
        assert at.value == pytest.approx(lam - lam**2 / 4)
        assert at.point[0] == pytest.approx(lam / 2)
    rng = np.random.default_rng(3)
    for c, lam in rng.exponential(2.0, (50, 2)):  # what is proved lies below the true value, in exact arithmetic
        at = lagrange_dual(Program(quadratic([[2.0]]), [affine([-1.0], c)]), [lam], start=[0.0])
        true = Fraction(lam) * Fraction(c) - Fraction(lam) ** 2 / 4
        assert true - Fraction(1e-9) < Fraction(at.bound) <= true
    for c in rng.uniform(0.5, 5.0, 10):
        found = maximize_dual(Program(quadratic([[2.0]]), [affine([-1.0], c)]), [0.0])
        assert Fraction(c) ** 2 - Fraction(1e-8) < Fraction(found.bound) <= Fraction(c) ** 2
        np.testing.assert_allclose([found.dual, found.prices[0], found.point[0]], [c**2, 2 * c, c], rtol=1e-6)
    thin = Program(affine([1.0]), [quadratic([[2.0]])])  # min x subject to x^2 <= 0: no inside
    values = [lagrange_dual(thin, [lam], start=[0.0]).value for lam in (0.5, 1.0, 10.0, 1e6)]
    np.testing.assert_allclose(values, [-1 / (4 * lam) for lam in (0.5, 1.0, 10.0, 1e6)], rtol=1e-9)
    assert lagrange_dual(thin, [0.0], start=[0.0]).value == -np.inf
    assert max(values) < 0  # the supremum 0 = p* is not attained
    assert thin.supremum([0.0]) == 0.0
    gap = Program(lambda w: float(np.exp(-w[0])), [lambda w: float(w[0] ** 2 / w[1])])  # on y > 0
    points = [(x, y) for x in (0.0, 1.0, 5.0, 20.0, 40.0) for y in (1.0, 1e3, 1e9, 1e18)]
    report = duality_on_points(gap, points, np.array([0.0, 0.1, 1.0, 10.0, 1e3])[:, None])
    assert report.primal == 1.0  # x = 0 is all that is feasible
    assert report.point[0] == 0.0
    lowest = [min(np.exp(-x) + lam * x**2 / y for x, y in points) for lam in (0.0, 0.1, 1.0, 10.0, 1e3)]
    assert report.dual == pytest.approx(max(lowest))
    assert report.prices[0] == [0.0, 0.1, 1.0, 10.0, 1e3][int(np.argmax(lowest))]
    assert 0 <= report.dual < 1e-8  # convex, and still a gap
    assert report.gap == pytest.approx(1.0, abs=1e-8)


@pytest.mark.covers("OPT-37")
def test_quadratic_programmes_of_two_variables_in_closed_form():
    # the point of a half-plane nearest to the origin
    for a in np.array([[1.0, 0.0], [3.0, 4.0], [-1.0, 2.0]]):
        result = quadratic_program(np.eye(2), np.zeros(2), -a[None], [-2.0])
        np.testing.assert_allclose(result.point, 2.0 * a / (a @ a), atol=1e-9)
        assert result.multipliers["inequalities"][0] == pytest.approx(2.0 / (a @ a), abs=1e-8)
        assert result.certificate.residual < 1e-8
    # the dual of a hard-margin machine with two points: both prices equal 2 / |x1 - x2|^2
    x, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, -1.0])
    Q = (y[:, None] * x) @ (y[:, None] * x).T
    dual = quadratic_program(Q, [-1.0, -1.0], -np.eye(2), np.zeros(2), y[None], [0.0])
    np.testing.assert_allclose(dual.point, 2.0 / np.sum((x[0] - x[1]) ** 2), atol=1e-9)
    # an equality written as two inequalities: no inside, and a price on one side only
    thin = quadratic_program(np.eye(2), [0.0, 0.0], [[1.0, 1.0], [-1.0, -1.0], [1.0, 0.0]], [2.0, -2.0, 9.0])
    np.testing.assert_allclose(thin.point, [1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(thin.multipliers["inequalities"], [0.0, 1.0, 0.0], atol=1e-12)
    assert thin.certificate.reached
    inside = quadratic_program([[2.0, 0.0], [0.0, 4.0]], [-2.0, -4.0], np.eye(2), [5.0, 5.0])
    np.testing.assert_allclose(inside.point, [1.0, 1.0], atol=1e-8)
    np.testing.assert_allclose(inside.multipliers["inequalities"], 0.0, atol=1e-8)


@pytest.mark.covers("OPT-37")
def test_random_quadratic_programmes_meet_the_optimality_conditions():
    rng = np.random.default_rng(2)
    for case in range(25):
        p, m, k = int(rng.integers(2, 10)), int(rng.integers(1, 15)), int(rng.integers(0, 2))
        root = rng.standard_normal((p, int(rng.integers(0, p + 1))))
        P, q, x0 = root @ root.T, rng.standard_normal(p), rng.standard_normal(p)
        G = np.vstack([rng.standard_normal((m, p)), np.eye(p), -np.eye(p)])
        h = np.concatenate([G[:m] @ x0 + rng.random(m) * rng.integers(0, 2, m), np.abs(x0) + 1, np.abs(x0) + 1])
        A = rng.standard_normal((k, p))
        result = quadratic_program(P, q, G, h, A if k else None, A @ x0 if k else None)
        assert result.outcome == "solved", case
        x, z, y = result.point, result.multipliers["inequalities"], result.multipliers["equalities"]
        scale = max(result.certificate.scales)
        assert np.all(G @ x <= h + 1e-8 * scale)
        assert np.all(z >= 0)
        np.testing.assert_allclose(P @ x + q + G.T @ z + A.T @ y, 0.0, atol=1e-8 * scale)
        np.testing.assert_allclose(z * (h - G @ x), 0.0, atol=1e-8 * scale)
        for _ in range(20):  # no feasible point is lower
            v = x0 + rng.standard_normal(p)
            if k == 0 and np.all(G @ v <= h):
                assert 0.5 * v @ P @ v + q @ v >= result.value - 1e-7 * scale


def test_linear_programmes_and_programmes_without_solution():
    # three dishes, two nutrients
    cost, food, need = [2.0, 3.0, 1.5], np.array([[1.0, 2.0, 0.5], [3.0, 1.0, 1.0]]), [8.0, 9.0]
    G, h = np.vstack([-food, -np.eye(3)]), np.concatenate([-np.array(need), np.zeros(3)])
    diet = linear_program(cost, G, h)
    assert diet.value == pytest.approx(13.0)  # 2 of the first, 3 of the second: both needs met exactly
    np.testing.assert_allclose(food @ diet.point, need, atol=1e-8)
    assert np.dot(need, diet.multipliers["inequalities"][:2]) == pytest.approx(13.0)  # prices of nutrients pay the diet
    with pytest.raises(InvalidData, match="Inequalities 0, 1 contradict each other"):
        linear_program([1.0, 0.0], [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0.0, -1.0, 1.0])
    with pytest.raises(InvalidData, match="Inequalities 2 and the equalities contradict each other"):
        linear_program([1.0, 0.0], [[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [2.0, -2.0, 1.0])
    with pytest.raises(InvalidData, match="falls without bound"):
        linear_program([1.0, 1.0], [[-1.0, 0.0]], [0.0])
    with pytest.raises(InvalidData, match="equalities contradict"):
        quadratic_program(np.eye(2), [0.0, 0.0], A=[[1.0, 1.0], [1.0, 1.0]], b=[0.0, 1.0])
    with pytest.raises(InvalidData, match="eigenvalue -1"):
        quadratic_program(np.diag([1.0, -1.0]), [0.0, 0.0])
    with pytest.raises(InvalidData, match="go together"):
        quadratic_program(np.eye(2), [0.0, 0.0], G=np.eye(2))
    with pytest.raises(InvalidData, match="NaN"):
        quadratic_program(np.eye(2), [0.0, np.nan])
    with listen(lambda event: STOP if event.step == 2 else None):
        assert linear_program(cost, G, h).outcome in ("stopped", "solved")


@pytest.mark.parametrize(
    "run",
    [
        lambda: quadratic_program(np.eye(2), [-1.0, -1.0], np.eye(2), [0.5, 0.5]),
        lambda: penalty_method(ABOVE_ONE, [4.0]),
        lambda: augmented_lagrangian(ABOVE_ONE, [4.0]),
        lambda: random_restarts(lambda w: newton(quadratic([[2.0]]), w), lambda rng: rng.standard_normal(1)).best,
    ],
)
def test_interrupts_keep_what_was_found(run):
    heard = []

    def impatient(event):
        heard.append(event)
        if event.kind == "step" and event.step == 2:
            raise KeyboardInterrupt

    with listen(impatient), pytest.raises(Interrupted) as caught:
        run()
    kept = caught.value.result
    kept = getattr(kept, "best", kept)
    assert np.isfinite(kept.point).all()
    assert np.isfinite(kept.value)
    assert heard[-1].kind == "end"


def test_a_dual_without_bound_is_said():
    apart = Program(quadratic([[2.0]]), [affine([1.0], 1.0), affine([-1.0], 1.0)])  # x <= -1 and x >= 1
    with pytest.raises(InvalidData, match="No point meets all constraints"):
        maximize_dual(apart, [0.0])
    falling = Program(affine([1.0, 0.0]), [affine([0.0, 1.0], -1.0)])
    with pytest.raises(InvalidData, match="falls without bound"):
        maximize_dual(falling, [0.0, 0.0])


@pytest.mark.parametrize("method", [penalty_method, barrier_method, augmented_lagrangian])
def test_an_objective_without_bound_is_not_put_down_to_rounding(method):
    result = method(Program(affine([1.0, 0.0]), [affine([0.0, 1.0], -1.0)]), [0.0, 0.0])
    assert not result.certificate.reached
    assert "may fall without bound" in result.reason


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("method", [penalty_method, augmented_lagrangian])
def test_units_of_constraints_do_not_matter(method, unit):
    least = method(Program(quadratic([[2.0]]), [affine([-unit], unit)]), [5.0])
    assert least.outcome == "solved"
    np.testing.assert_allclose(least.point, 1.0, atol=1e-5)
    np.testing.assert_allclose(unit * least.multipliers["inequalities"], 2.0, rtol=1e-5)
    with pytest.raises(InvalidData, match="No point meets all constraints"):
        method(Program(quadratic([[2.0]]), [affine([-unit], unit), affine([unit])]), [5.0])


def test_a_weak_curvature_beside_a_strong_one_is_not_flat():
    program = Program(quadratic([[1e12, 0.0], [0.0, 0.1]], [0.0, 1.0]), [affine([0.0, 0.0], -1.0)])
    dual = lagrange_dual(program, [0.0], start=[0.0, 0.0])
    assert dual.value == pytest.approx(-5.0)
    assert dual.bound <= -5.0
    flat = Program(quadratic([[1e12, 0.0], [0.0, 0.0]], [0.0, 1e-3]), [affine([0.0, 0.0], -1.0)])
    assert lagrange_dual(flat, [0.0], start=[0.0, 0.0]).bound == -np.inf
    with pytest.raises(InvalidData, match="No point meets all constraints"):
        maximize_dual(Program(quadratic([[2.0]]), [affine([-1.0], 1.0), affine([1.0])]), [0.0])


def test_a_barrier_says_that_the_objective_falls_without_bound():
    result = barrier_method(Program(affine([1.0]), [affine([1.0])]), [-5.0])
    assert "may fall without bound" in result.reason
