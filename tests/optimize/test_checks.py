"""Looking before running: gradients, convexity, sets, costs, and what a trace draws."""

import matplotlib as mpl
import numpy as np
import pytest

from qed.convex import Problem, Squared, Zero
from qed.core import InvalidData, InvalidParameter
from qed.datasets import make_regression
from qed.designs import design
from qed.optimize import (
    Function,
    HalfSpace,
    L2Ball,
    affine,
    check_convex_set,
    check_convexity,
    check_gradient,
    compare_implementations,
    coordinate_descent,
    gradient_descent,
    least_squares_cost,
    maximum,
    numerical_gradient,
    quadratic,
    random_search,
)

mpl.use("agg")


@pytest.mark.covers("OPT-21")
def test_central_differences():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((3, 3))
    f = quadratic(M @ M.T, rng.standard_normal(3))
    w = rng.standard_normal(3)
    np.testing.assert_allclose(numerical_gradient(f, w, eps=0.5), f.gradient(w), rtol=1e-12)  # exact, however wide
    for size in (1e-150, 1e-9, 1e9):  # at any size of the function, and of the point with differences as small
        np.testing.assert_allclose(numerical_gradient(size * f, w, eps=0.5), size * f.gradient(w), rtol=1e-12)
    np.testing.assert_allclose(numerical_gradient(f, 1e-6 * w, eps=1e-6), f.gradient(1e-6 * w), rtol=1e-8)
    for eps in (0.1, 0.01):  # f''' = 6 a: off by eps^2 a / 4
        error = numerical_gradient(lambda w: 5 * w[0] ** 3, [1.0], eps=eps)[0] - 15.0
        assert error == pytest.approx(eps**2 * 30 / 24, rel=1e-4)
    right = Function(lambda w: float(np.sin(w[0]) * w[1]), lambda w: np.array([np.cos(w[0]) * w[1], np.sin(w[0])]))
    wrong = Function(right.value, lambda w: np.array([np.cos(w[0]) * w[1], np.cos(w[0])]))
    assert check_gradient(right, [0.3, 2.0])
    assert check_gradient(f, 1e8 * w)  # beside so large a number 1e-4 is nothing
    small = Function(lambda w: 1e-6 * f.value(w), lambda w: 1e-6 * f.gradient(w))
    assert check_gradient(small, w)
    assert not check_gradient(Function(small.value, np.zeros_like), w)
    check = check_gradient(wrong, [0.3, 2.0])
    assert not check.passed
    assert check.worst == 1
    assert "the worst of 2 coordinates is 1" in str(check)
    assert list(check.errors > check.tol) == [False, True]
    np.testing.assert_array_equal(check.gradient, wrong.gradient(np.array([0.3, 2.0])))
    np.testing.assert_allclose(check.differences, right.gradient(np.array([0.3, 2.0])), rtol=1e-8)
    for size in (1e-7, 1.0, 1e7):  # wrong by as much as it is long, whatever its length
        scaled = check_gradient(size * wrong, [0.3, 2.0], tol=1e-9)
        assert not scaled.passed
        assert scaled.worst == 1
    with pytest.raises(InvalidData, match="not finite around the point"):
        check_gradient(Function(lambda w: np.log(w[0]), lambda w: 1 / w), [0.0])


@pytest.mark.covers("OPT-22")
def test_planted_truth_and_two_implementations(monkeypatch):
    for noise, tolerance in ((1.0, 0.5), (1e-3, 5e-4), (0.0, 1e-6)):
        X, y, truth = make_regression(200, 4, n_informative=4, noise=noise, coef=True, random_state=0)
        problem = Problem(design(X), Squared(y), Zero(), np.full(200, 1 / 200), free_intercept=False)
        found = gradient_descent(problem, np.zeros(4), gradient_tol=1e-8)
        np.testing.assert_allclose(found.point, truth, atol=tolerance)
        np.testing.assert_allclose(found.point, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-6)
        assert np.std(y - X @ truth) == pytest.approx(noise, rel=0.2, abs=1e-10)
    assert np.abs(truth).min() > 1.0
    f = problem.as_function()

    def loop(w):
        total = 0.0
        for row, target in zip(X, y, strict=True):
            total += (sum(a * b for a, b in zip(row, w, strict=True)) - target) ** 2 / 2 / len(y)
        return total

    points = np.random.default_rng(1).standard_normal((5, 4))
    clock = [0.0]  # stands still, but for what the two are said to take
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def taking(seconds, work):
        def timed(w):
            clock[0] += seconds
            return work(w)

        return timed

    same = compare_implementations(taking(0.25, f.value), taking(1.0, loop), points)
    assert same.agrees
    assert same.difference <= 1e-12
    assert (same.seconds_fast, same.seconds_slow, same.speedup) == (1.25, 5.0, 4.0)
    apart = points - points[:, :1] + [[0.5], [0.9], [2], [0], [0]]
    other = compare_implementations(f.value, lambda w: loop(w) + 100.0 * (w[0] > 1), apart)
    assert not other.agrees
    assert other.worst == 2
    assert other.difference == pytest.approx(100.0 / (loop(apart[2]) + 100.0))
    assert compare_implementations(np.sin, lambda x: np.sin(x) + 1e-6, [1.0]).difference == pytest.approx(1e-6)
    assert compare_implementations(np.sin, lambda x: np.sin(x) + 1e-6, [1.0], tol=1e-5).agrees


SQUARE = Function(lambda w: w[0] ** 2, lambda w: 2 * w, lambda w: np.array([[2.0]]))
EXPONENTIAL = Function(lambda w: np.exp(w[0]), np.exp, lambda w: np.exp(w)[:, None])
GRID = np.linspace(-2, 2, 41)


@pytest.mark.covers("OPT-31")
def test_tests_of_convexity_agree():
    for f in (SQUARE, EXPONENTIAL):
        report = check_convexity(f, GRID)
        assert report.verdict == "not refuted"
        assert report.tests == {"chord": True, "jensen": True, "first order": True, "curvature": True}
        assert "no proof" in report.words
        against = check_convexity(-f, GRID)
        assert against.verdict == "refuted"
        assert against.tests == {"chord": False, "jensen": False, "first order": False, "curvature": False}
        assert against.witness
    kink = check_convexity(Function(lambda w: abs(w[0]), np.sign, is_smooth=False), GRID)
    assert kink.tests == {"chord": True, "jensen": True}
    off_zero = Function(lambda w: abs(w[0]), np.sign, lambda w: np.zeros((1, 1)))
    assert set(check_convexity(off_zero, GRID[GRID != 0]).tests) == {"chord", "jensen", "first order", "curvature"}
    assert check_convexity(off_zero, GRID[GRID != 0])
    fourth = Function(lambda w: w[0] ** 4, lambda w: 4 * w**3, lambda w: np.array([[12 * w[0] ** 2]]))
    assert fourth.curvature(np.zeros(1))[0, 0] == 0.0
    assert check_convexity(fourth, GRID).verdict == "not refuted"
    assert check_convexity(quadratic([[2.0, 1.0], [1.0, 2.0]]), np.eye(2)).verdict == "proved"
    assert check_convexity(quadratic([[1.0, 2.0], [2.0, 1.0]]), np.eye(2)).verdict == "refuted"
    assert (
        check_convexity(quadratic([[1.0, 1.0], [1.0, 1.0]]), np.eye(2)).verdict == "not refuted"
    )  # zero up to rounding
    wave = check_convexity(lambda w: np.sin(w[0]), GRID)
    assert wave.verdict == "refuted"
    a, b = wave.witness[:2]
    shares = np.linspace(0, 1, 101)[:, None]
    assert np.any(np.sin((1 - shares) * a + shares * b) > (1 - shares) * np.sin(a) + shares * np.sin(b) + 1e-9)


@pytest.mark.covers("OPT-32")
def test_calculus_of_convex_functions():
    rng = np.random.default_rng(2)
    square = Function(
        SQUARE.value, SQUARE.gradient, SQUARE.curvature, is_convex=True, curvature_bound=2.0, convexity=2.0
    )
    exponential = Function(EXPONENTIAL.value, EXPONENTIAL.gradient, EXPONENTIAL.curvature, is_convex=True)
    total = square + 3.0 * exponential
    a = rng.standard_normal((1, 3))
    pulled = total.after(a, [0.4])
    top = maximum(square, affine([1.0], 0.5))
    for f, points in ((total, GRID), (pulled, rng.standard_normal((30, 3))), (top, GRID)):
        assert f.is_convex
        assert check_convexity(f, points).verdict == "not refuted"
    assert not (-total).is_convex
    assert not (square + -exponential).is_convex
    assert not (square - exponential).is_convex
    for thrice in (np.float64(3.0) * square, square * 3.0):
        assert thrice([2.0]) == 12.0
        assert thrice.is_convex
        assert thrice.convexity == 6.0
    assert check_gradient(pulled, rng.standard_normal(3))
    assert check_gradient(total, [0.3])
    w = rng.standard_normal(3)
    assert pulled(w) == pytest.approx(total(a @ w + 0.4))
    assert total.convexity == 2.0
    assert square.after(a).curvature_bound == pytest.approx(2.0 * np.sum(a**2))
    found = gradient_descent(total, [2.0], gradient_tol=1e-8)  # zero gradient, hence the global minimum
    assert found.value <= min(total([x]) for x in np.linspace(-5, 5, 1001)) + 1e-12


@pytest.mark.covers("OPT-33")
def test_convex_sets():
    points = np.random.default_rng(3).uniform(-2, 2, (200, 2))
    for region in (HalfSpace([1.0, -2.0], 0.3), L2Ball(1.5)):
        report = check_convex_set(region.contains, points)
        assert report.verdict == "not refuted"
        assert "no proof" in report.words
    ring = check_convex_set(lambda w: 1.0 <= np.linalg.norm(w) <= 2.0, points)
    assert ring.verdict == "refuted"
    a, b, between = ring.witness
    assert 1 <= np.linalg.norm(a) <= 2
    assert 1 <= np.linalg.norm(b) <= 2
    assert np.linalg.norm(between) < 1
    assert np.linalg.norm(a - b) == pytest.approx(np.linalg.norm(a - between) + np.linalg.norm(between - b))
    with pytest.raises(InvalidData, match="two points inside"):
        check_convex_set(lambda w: False, points)


class Counted:
    """A number that counts multiplications and divisions."""

    done = 0

    def __init__(self, x):
        self.x = x

    def __mul__(self, other):
        Counted.done += 1
        return Counted(self.x * other.x)

    def __truediv__(self, other):
        Counted.done += 1
        return Counted(self.x / other.x)

    def __add__(self, other):
        return Counted(self.x + other.x)

    def __sub__(self, other):
        return Counted(self.x - other.x)


def count(work):
    Counted.done = 0
    work()
    return Counted.done


def eliminate(H, b):
    H, b, d = [list(row) for row in H], list(b), len(b)
    for j in range(d):
        for i in range(j + 1, d):
            share = H[i][j] / H[j][j]
            H[i] = H[i][: j + 1] + [x - share * y for x, y in zip(H[i][j + 1 :], H[j][j + 1 :], strict=True)]
            b[i] = b[i] - share * b[j]
    for j in reversed(range(d)):
        for k in range(j + 1, d):
            b[j] = b[j] - H[j][k] * b[k]
        b[j] = b[j] / H[j][j]
    return [one.x for one in b]


@pytest.mark.covers("OPT-36")
def test_cost_model_counts_multiplications():
    rng = np.random.default_rng(4)
    for n, d in ((12, 3), (9, 6)):
        X = np.array([[Counted(x) for x in row] for row in rng.standard_normal((n, d))], dtype=object)
        y = np.array([Counted(x) for x in rng.standard_normal(n)], dtype=object)
        w = np.array([Counted(x) for x in rng.standard_normal(d)], dtype=object)
        cost = least_squares_cost(n, d)
        assert count(lambda X=X: X.T @ X) == cost.gram == n * d**2
        triangle = count(lambda X=X, d=d: [X[:, i] @ X[:, j] for i in range(d) for j in range(i + 1)])
        assert triangle == cost.gram_by_symmetry
        H, b = X.T @ X, X.T @ y
        assert count(lambda H=H, b=b: eliminate(H, b)) == cost.solve
        exact = np.linalg.solve([[one.x for one in row] for row in H], [one.x for one in b])
        np.testing.assert_allclose(eliminate(H, b), exact, rtol=1e-9)
        assert count(lambda X=X, y=y, w=w: X.T @ (X @ w - y)) == cost.gradient_step == 2 * n * d
    one, two = least_squares_cost(10**6, 1000), least_squares_cost(10**6, 2000)
    assert two.gram / one.gram == 4
    assert two.solve / one.solve == pytest.approx(8, rel=1e-2)
    assert two.gradient_step / one.gradient_step == 2
    assert one.break_even == pytest.approx((one.gram_by_symmetry + one.solve) / one.gradient_step)


@pytest.mark.covers("OPT-38")
def test_plots_show_what_was_recorded():
    f = quadratic([[1.0, 0.3], [0.3, 6.0]])
    result = gradient_descent(f, [3.0, 1.0], step=0.15, keep_points=True)
    path = result.trace.plot_path(f)
    (line,) = [one for one in path.get_lines() if one.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_xydata(), result.trace.points)
    other = coordinate_descent(f, [3.0, 1.0], keep_points=True)
    assert other.trace.plot_path(f, path) is path  # a second path over the same contours
    assert sum(one.get_marker() == "o" for one in path.get_lines()) == 2
    assert len(path.collections) == 1
    values = result.trace.plot()
    np.testing.assert_array_equal(values.get_lines()[0].get_ydata(), result.trace.values)
    above = result.trace.plot(floor=0.0)
    assert above.get_yscale() == "log"
    np.testing.assert_allclose(above.get_lines()[0].get_ydata(), result.trace.values)
    steps = result.trace.plot("step")
    np.testing.assert_array_equal(steps.get_lines()[0].get_xdata(), np.arange(1, result.n_iter + 1))
    np.testing.assert_array_equal(steps.get_lines()[0].get_ydata(), result.trace.steps)
    norms = result.trace.plot("gradient")
    np.testing.assert_array_equal(norms.get_lines()[0].get_ydata(), result.trace.gradient_norms)
    mpl.pyplot.close("all")
    with pytest.raises(InvalidParameter, match="keep_points=True"):
        gradient_descent(f, [3.0, 1.0]).trace.plot_path(f)
    with pytest.raises(InvalidParameter, match="draws one of value, gradient, step"):
        result.trace.plot("weight")
    with pytest.raises(InvalidParameter, match="took no gradients"):
        random_search(f, [3.0, 1.0], max_iter=3, random_state=0).trace.plot("gradient")
