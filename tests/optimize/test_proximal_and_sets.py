"""Proximal and projected steps, and projections that are exact."""

import itertools
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from numpy.testing import assert_allclose

from qed.convex import L1, Problem, Squared
from qed.core import InvalidData, InvalidParameter
from qed.designs import design
from qed.optimize import (
    AffineSubspace,
    Box,
    Function,
    GapCertificate,
    HalfSpace,
    Intersection,
    L1Ball,
    L2Ball,
    LInfBall,
    NonnegativeOrthant,
    Simplex,
    linear_program,
    newton,
    projected_gradient,
    proximal_gradient,
    quadratic,
    quadratic_program,
    soft_threshold,
)

ROWS = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 2.0]])
SETS = {
    "box": Box([-1.0, 0.0, -np.inf, 0.5], [1.0, 2.0, 0.0, 0.5]),
    "l1": L1Ball(1.5, [0.5, 0.0, 0.0, 0.0]),
    "l2": L2Ball(2.0, [0.0, 1.0, 0.0, 0.0]),
    "linf": LInfBall(0.7),
    "simplex": Simplex(2.0),
    "half-space": HalfSpace([1.0, -2.0, 0.0, 1.0], 0.3),
    "orthant": NonnegativeOrthant(),
    "affine": AffineSubspace(ROWS, [1.0, 0.5]),
    "intersection": Intersection(Box(0.0, 1.0), HalfSpace([1.0, 1.0, 1.0, 1.0], 1.5), L2Ball(1.2)),
}


CORNERS = {
    "l1": [np.array([0.5, 0, 0, 0]) + 1.5 * side * one for one in np.eye(4) for side in (-1, 1)],
    "linf": 0.7 * np.array(list(itertools.product([-1, 1], repeat=4))),
    "simplex": 2.0 * np.eye(4),
}
LOWEST = {  # of a plane over a set: at a corner, or opposite to the slope
    "box": lambda g: g @ np.where(g > 0, SETS["box"].lower, SETS["box"].upper),
    "l2": lambda g: g[1] - 2.0 * np.linalg.norm(g),
    **{name: lambda g, corners=corners: np.min(corners @ g) for name, corners in CORNERS.items()},
}


def members(name, rng):
    """Points of a set, by its definition."""
    v, share = rng.standard_normal((400, 4)) * 3, rng.random((400, 1)) ** 0.2
    unit = rng.random((4000, 4)) * rng.integers(0, 2, (4000, 4))
    return {
        "box": np.clip(v, [-1.0, 0.0, -9.0, 0.5], [1.0, 2.0, 0.0, 0.5]),
        "l2": np.array([0, 1, 0, 0]) + 2 * share * v / np.linalg.norm(v, axis=1, keepdims=True),
        "half-space": v[v @ [1.0, -2.0, 0.0, 1.0] <= 0.3],
        "orthant": np.abs(v),
        "affine": np.linalg.lstsq(ROWS, [1.0, 0.5], rcond=None)[0] + v[:, :2] @ np.linalg.svd(ROWS)[2][2:],
        "intersection": unit[(unit.sum(axis=1) <= 1.5) & (np.linalg.norm(unit, axis=1) <= 1.2)],
        **{key: rng.dirichlet(np.full(len(corners), 0.2), 400) @ corners for key, corners in CORNERS.items()},
    }[name]


@pytest.mark.covers("OPT-26")
@pytest.mark.parametrize("name", SETS)
def test_projections_are_idempotent_and_nearest(name):
    region, rng = SETS[name], np.random.default_rng(0)
    outside = rng.standard_normal((20, 4)) * 3
    inside = members(name, rng)
    assert all(region.contains(s) for s in inside[:5])
    for s in inside[:5]:
        np.testing.assert_allclose(region.project(s), s, atol=1e-9)
    for v in outside:
        w = region.project(v)
        assert region.contains(w)
        np.testing.assert_allclose(region.project(w), w, atol=1e-9)
        # nearest, by the angle: no point of the set lies beyond the plane through w across v - w
        assert max((v - w) @ (s - w) for s in inside) <= 1e-8
        lowest = min(v @ s for s in inside)
        assert region.least(v) <= lowest + 1e-9
        if name in LOWEST:
            assert region.least(v) == pytest.approx(LOWEST[name](v))
            assert (v - w) @ w == pytest.approx(-LOWEST[name](w - v), abs=1e-8)  # and so of all points, not of some
        assert region.least(v) <= region.least_near(v, w) <= lowest + 1e-9
    assert region.value(region.project(outside[0])) == 0.0
    assert region.prox(outside[0], 3.0) == pytest.approx(region.project(outside[0]))


def test_lowest_planes_are_attained():
    g = np.array([1.0, -2.0, 0.5, 3.0])
    for name, where in {
        "l1": [0.5, 0.0, 0.0, -1.5],
        "l2": -2.0 * g / np.linalg.norm(g) + [0, 1, 0, 0],
        "linf": [-0.7, 0.7, -0.7, -0.7],
        "simplex": [0.0, 2.0, 0.0, 0.0],
    }.items():
        assert SETS[name].contains(where)
        assert SETS[name].least(g) == pytest.approx(g @ np.asarray(where))
    assert SETS["orthant"].least(-g) == -np.inf
    assert SETS["half-space"].least([-2.0, 4.0, 0.0, -2.0]) == pytest.approx(-0.6)
    assert SETS["affine"].least(ROWS[0] - ROWS[1]) == pytest.approx(0.5)


def test_projections_agree_with_quadratic_programmes():
    rng = np.random.default_rng(1)
    both = SETS["intersection"]
    for v in rng.standard_normal((5, 4)) * 2:
        simplex = quadratic_program(np.eye(4), -v, -np.eye(4), np.zeros(4), np.ones((1, 4)), [2.0])
        np.testing.assert_allclose(SETS["simplex"].project(v), simplex.point, atol=1e-7)
        w = both.project(v)
        flat = Intersection(Box(0.0, 1.0), HalfSpace([1.0, 1.0, 1.0, 1.0], 1.5)).project(v)
        G = np.vstack([np.eye(4), -np.eye(4), np.ones((1, 4))])
        exact = quadratic_program(np.eye(4), -v, G, [1, 1, 1, 1, 0, 0, 0, 0, 1.5]).point
        np.testing.assert_allclose(flat, exact, atol=1e-7)
        assert all(one.contains(w, tol=1e-7) for one in both.sets)


def test_sets_refuse_in_words():
    with pytest.raises(InvalidData, match="no point in common"):
        Intersection(Box(0.0, 1.0), HalfSpace([1.0, 1.0], -1.0), max_iter=500).project([0.0, 0.0])
    with pytest.raises(InvalidData, match="contradict each other"):
        AffineSubspace([[1.0, 1.0], [2.0, 2.0]], [1.0, 3.0])
    with pytest.raises(InvalidParameter, match="lower <= upper"):
        Box(1.0, 0.0)
    with pytest.raises(InvalidParameter, match="must not be zero"):
        HalfSpace([0.0, 0.0])
    with pytest.raises(InvalidParameter, match=r"region must have project"):
        projected_gradient(quadratic([[1.0]]), "box", [0.0])
    with pytest.raises(InvalidParameter, match="does not know its parts"):
        proximal_gradient(quadratic([[1.0]]), [0.0])


@pytest.mark.covers("OPT-26")
def test_projected_gradient_stays_feasible_and_proves_its_gap():
    rng = np.random.default_rng(2)
    M = rng.standard_normal((6, 4))
    f = quadratic(M.T @ M + 0.1 * np.eye(4), rng.standard_normal(4) * 3)
    for name in ("box", "l1", "l2", "linf", "simplex"):
        region = SETS[name]
        start = np.full(4, 7.0)
        result = projected_gradient(f, region, start, keep_points=True)
        np.testing.assert_array_equal(result.trace.points[0], region.project(start))
        step = 1.0 / f.curvature_bound
        first = region.project(result.trace.points[0] - step * f.gradient(result.trace.points[0]))
        np.testing.assert_allclose(result.trace.points[1], first, atol=1e-13)  # iterate 1 from iterate 0
        assert all(region.contains(w) for w in result.trace.points)
        assert result.outcome == "solved"
        best = min(f(s) for s in members(name, rng))
        assert result.value <= best + 1e-9
        early = projected_gradient(f, region, start, max_iter=2)
        for found in (early, result):  # no point of the set lies lower than the plane through the point found
            g = f.gradient(found.point)
            assert isinstance(found.certificate, GapCertificate)
            assert found.certificate.gap == pytest.approx(g @ found.point - LOWEST[name](g), abs=1e-9)
        assert result.certificate.gap < 1e-6 < early.value - result.value <= early.certificate.gap + 1e-12
    cut = Intersection(L2Ball(1.0), HalfSpace([1.0, 0.4], 0.8), tol=1e-11)
    near = quadratic(2 * np.eye(2), [3.2, 2.2])
    result = projected_gradient(near, cut, [-0.2, -0.7])
    assert result.certificate.gap < 1e-6  # each set alone proves no better than 0.5
    assert projected_gradient(near, cut, [-0.2, -0.7], max_iter=1, step=0.1).certificate.gap > 0.01


@pytest.mark.covers("OPT-25")
def test_iterative_soft_thresholding():
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(soft_threshold([3.0, -3.0, 0.4], 1.0), [2.0, -2.0, 0.0])
    for v in rng.standard_normal(5) * 2:  # the definition: the minimiser of eta lam |w| + (w - v)^2 / 2
        grid = np.linspace(-5, 5, 100_001)
        assert soft_threshold(v, 0.6) == pytest.approx(
            grid[np.argmin(0.6 * np.abs(grid) + 0.5 * (grid - v) ** 2)], abs=1e-4
        )
    Phi, lam = rng.standard_normal((30, 8)), 15.0
    y = Phi @ [3.0, -2.0, 0, 0, 0, 1.0, 0, 0] + 0.2 * rng.standard_normal(30)
    top = np.linalg.eigvalsh(Phi.T @ Phi)[-1]
    squares = Function(lambda w: float(np.sum((Phi @ w - y) ** 2)), lambda w: 2 * Phi.T @ (Phi @ w - y), is_convex=True)
    eta = 1.0 / (2 * top)
    result = proximal_gradient(squares, np.zeros(8), penalty=L1(lam), step=eta, keep_points=True, gradient_tol=1e-9)
    assert np.all(np.diff(result.trace.values) <= 1e-12)
    points = result.trace.points
    for before, after in itertools.pairwise(points):
        np.testing.assert_allclose(
            after, soft_threshold(before - eta * squares.gradient(before), eta * lam), atol=1e-13
        )
    w, g = result.point, squares.gradient(result.point)
    assert np.any(w == 0)
    np.testing.assert_allclose(g[w != 0], -lam * np.sign(w[w != 0]), atol=1e-6)  # optimality of the lasso
    assert np.all(np.abs(g[w == 0]) <= lam + 1e-6)
    searched = proximal_gradient(squares, np.zeros(8), penalty=L1(lam), gradient_tol=1e-7)  # no curvature given
    assert searched.value == pytest.approx(result.value, abs=1e-8)


@pytest.mark.covers("LIN-22")
@pytest.mark.parametrize(("lam", "expected"), [(2.0, 0.8), (10.0, 0.0), (12.0, 0.0)])
def test_lasso_of_one_column(lam, expected):
    x = y = np.array([1.0, 2.0])
    squares = Function(lambda w: float(np.sum((x * w[0] - y) ** 2)), lambda w: np.array([2 * x @ (x * w[0] - y)]))
    result = proximal_gradient(squares, [5.0], penalty=L1(lam), step=0.1, gradient_tol=1e-12)
    assert result.point[0] == pytest.approx(expected, abs=1e-12)
    assert result.point[0] == pytest.approx(soft_threshold(x @ y, lam / 2) / (x @ x), abs=1e-12)
    # the same through a problem: the mean of squares over two is the sum of squares over 4
    problem = Problem(design(x[:, None]), Squared(y), L1(lam / 4), np.full(2, 0.5), free_intercept=False)
    assert proximal_gradient(problem, [5.0], gradient_tol=1e-12).point[0] == pytest.approx(expected, abs=1e-12)


class Annulus:
    """Between two circles: not convex."""

    def project(self, v):
        size = np.linalg.norm(v)
        return v * np.clip(size, 1.0, 2.0) / size if size > 0 else np.array([1.0, 0.0])

    def contains(self, v):
        return bool(1.0 <= np.linalg.norm(v) <= 2.0)


@pytest.mark.covers("OPT-39")
def test_local_optima_of_convex_programmes_are_global_and_of_others_are_not():
    rng = np.random.default_rng(4)
    C, n = 1.0, 6
    X = rng.standard_normal((n, 2))
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    Q = (y[:, None] * X) @ (y[:, None] * X).T
    region = Intersection(Box(0.0, C), AffineSubspace(y[None], [0.0]), tol=1e-8)
    dual = quadratic(Q + 1e-9 * np.eye(n), np.ones(n))
    exact = quadratic_program(Q, -np.ones(n), np.vstack([np.eye(n), -np.eye(n)]), [C] * n + [0] * n, y[None], [0.0])
    values = []
    for _ in range(10):
        start = region.project(rng.uniform(0, C, n))
        values.append(projected_gradient(dual, region, start, gradient_tol=1e-5, max_iter=200).value)
    np.testing.assert_allclose(values, exact.value, atol=1e-4)
    G, h = np.array([[1.0, 2.0], [3.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), [4.0, 6.0, 0.0, 0.0]
    starts = rng.dirichlet(np.ones(3), size=10)[:, :2]  # all feasible
    optima = [linear_program([-1.0, -1.0], G, h, start=start) for start in starts]
    np.testing.assert_allclose([one.value for one in optima], -2.8, atol=1e-8)
    assert all(np.all(G @ start <= h) for start in starts)
    a = np.array([3.0, 0.0])
    far = Function(lambda w: float(np.sum((w - a) ** 2)), lambda w: 2 * (w - a), is_convex=True, curvature_bound=2.0)
    stuck = projected_gradient(far, Annulus(), [-1.5, 0.0], step=0.05)
    np.testing.assert_allclose(stuck.point, [-1.0, 0.0], atol=1e-9)  # stationary on the inner circle
    assert stuck.outcome == "solved"
    assert not isinstance(stuck.certificate, GapCertificate)  # and no gap is claimed
    assert projected_gradient(far, Annulus(), [1.5, 0.1], step=0.05).value < stuck.value - 10


@pytest.mark.parametrize(
    "region",
    [
        Box([0.0, 0.0], [1.0, 1.0]),
        L1Ball(1.0, [0.0, 0.0]),
        L2Ball(1.0, [0.0, 0.0]),
        LInfBall(1.0, [0.0, 0.0]),
        HalfSpace([1.0, 1.0]),
        AffineSubspace([[1.0, 1.0]], [1.0]),
        Intersection(Box([0.0, 0.0], [1.0, 1.0]), L2Ball()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_points_that_cannot_be_projected_are_refused(region):
    for bad in ([np.nan, 1.0], [np.inf, 1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], ["a", "b"], 1.0):
        with pytest.raises(InvalidData):
            region.project(bad)


def test_a_simplex_needs_a_coordinate():
    with pytest.raises(InvalidData, match="without coordinates"):
        Simplex().project([])


def test_points_far_away_are_projected_without_overflow():
    far = np.array([1e300, -1e300])
    assert_allclose(L2Ball().project(far), [0.5**0.5, -(0.5**0.5)])
    assert_allclose(L1Ball().project(far), [0.5, -0.5])
    assert_allclose(Simplex().project(1e8 * far), [1.0, 0.0])
    assert_allclose(HalfSpace([1e200, 0.0]).project([1e200, 1e300]), [0.0, 1e300])


def test_a_step_that_is_too_long_is_said():
    valley = quadratic([[1.0, 0.6], [0.6, 6.0]], [1.0, 0.0])
    for step in (10.0, 1e300):
        result = projected_gradient(valley, NonnegativeOrthant(), [0.3, 0.2], step=step, max_iter=50)
        assert "exceeds 2/L" in result.advice[0]
        assert result.outcome in ("max_iter", "diverged")
        assert np.isfinite(result.point).all()


@pytest.mark.parametrize("seed", range(5))
def test_gaps_of_quadratics_include_their_rounding(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    A = rng.standard_normal((n, n))
    A = A @ A.T + 10.0 ** -rng.integers(0, 9) * np.eye(n)
    A, b = (A + A.T) / 2, rng.standard_normal(n)
    result = newton(quadratic(A, b), np.zeros(n))
    w = [Fraction(float(one)) for one in result.point]
    system = [[Fraction(float(one)) for one in row] for row in A]
    g = [sum(map(mul, row, w)) - Fraction(float(one)) for row, one in zip(system, b, strict=True)]
    assert sum(map(mul, g, solved(system, g))) / 2 <= result.certificate.gap


def solved(system, g):
    """Return the exact solution by elimination."""
    rows = [[*row, one] for row, one in zip(system, g, strict=True)]
    for i, pivot in enumerate(rows):
        pivot[:] = [one / pivot[i] for one in pivot]
        for row in rows:
            if row is not pivot:
                row[:] = [a - row[i] * c for a, c in zip(row, pivot, strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("slope", [1e-1, 1e-2, 1e-3])
def test_sets_that_meet_at_a_small_angle(slope):
    wedge = Intersection(HalfSpace([1.0, slope], 0.0), HalfSpace([-1.0, slope], 0.0))
    np.testing.assert_allclose(wedge.project([0.0, 100.0]), 0.0, atol=1e-7)
    with pytest.raises(InvalidData, match="no point in common"):
        Intersection(HalfSpace([1.0, 0.0], 0.0), HalfSpace([-1.0, 0.0], -1.0)).project([0.5, 3.0])
