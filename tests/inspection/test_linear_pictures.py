"""Pictures of linear models: what is drawn is what was solved."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter
from qed.inspection import CoefficientPathDisplay, FitDisplay, NormBallDisplay, ProjectionDisplay
from qed.linear_model import ConstrainedRidge, LinearRegression, group_lasso_path, lasso_path

rng = np.random.default_rng(1)
X = rng.normal(size=(50, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
Y = X @ [0.4, 1.6] + 0.3 * rng.normal(size=50) + 2.0


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.covers("LIN-41")
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_contour_touches_the_ball_at_the_limited_solution(norm):
    display = NormBallDisplay.from_data(X, Y, radius=1.0, norm=norm, grid_resolution=41)
    size = {"l1": np.abs(display.solution).sum(), "l2": np.linalg.norm(display.solution)}[norm]
    assert size == pytest.approx(1.0, abs=1e-9)
    assert display.reached > display.least
    rows, target = X - X.mean(axis=0), Y - Y.mean()
    expected = np.array([[np.sum((target - rows @ [a, b]) ** 2) for a in display.first] for b in display.second])
    np.testing.assert_allclose(display.error, expected, rtol=1e-9)
    # no point of the ball lies inside the contour of the solution: the edge costs as much or more everywhere
    edge = np.array([np.sum((target - rows @ point) ** 2) for point in display.ball])
    assert edge.min() >= display.reached * (1 - 1e-9)
    np.testing.assert_allclose(display.free, LinearRegression().fit(X, Y).coef_)
    assert any(level == pytest.approx(display.reached) for level in display.contours_.levels)
    if norm == "l2":
        np.testing.assert_allclose(display.solution, ConstrainedRidge(1.0).fit(X, Y).coef_)


def test_a_wide_ball_holds_the_free_solution_and_bad_input_is_refused():
    display = NormBallDisplay.from_data(X, Y, radius=50.0, norm="l2", grid_resolution=11)
    np.testing.assert_allclose(display.solution, display.free, atol=1e-6)
    with pytest.raises(InvalidData, match="two columns"):
        NormBallDisplay.from_data(X[:, :1], Y, radius=1.0)
    with pytest.raises(InvalidParameter, match="norm must be"):
        NormBallDisplay.from_data(X, Y, radius=1.0, norm="l0")
    with pytest.raises(InvalidParameter, match="radius must be"):
        NormBallDisplay.from_data(X, Y, radius=0.0)


@pytest.mark.covers("LIN-41")
def test_the_drawn_path_is_piecewise_linear():
    wide = rng.normal(size=(40, 4))
    y = wide @ [1.0, -2.0, 0.5, 0.0]
    alphas, coefs, _ = lasso_path(wide, y, alphas=np.linspace(2.5, 0.0, 400), tol=1e-13)
    display = CoefficientPathDisplay(alphas=alphas, coefs=coefs, names=list("abcd"), scale="linear").plot()
    drawn = np.array([line.get_ydata() for line in display.lines_])
    np.testing.assert_array_equal(drawn, coefs)
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), alphas)
    pulls = wide.T @ (y[:, None] - wide @ drawn) / 40  # what is drawn is optimal at every strength
    np.testing.assert_allclose(pulls[drawn != 0], (alphas * np.sign(drawn))[drawn != 0], atol=1e-8)
    assert np.all(np.abs(pulls) <= alphas + 1e-8)
    slopes = np.diff(drawn, axis=1) / np.diff(alphas)
    changes = np.abs(np.diff(slopes, axis=1)).max(axis=0) > 1e-5
    assert np.count_nonzero(changes) <= 2 * 8  # a knot lies between two points and bends two differences
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == list("abcd")


def test_groups_have_one_colour_and_shapes_are_checked():
    wide = rng.normal(size=(40, 4))
    alphas, coefs, _ = group_lasso_path(wide, wide[:, 0] - wide[:, 3], groups=[0, 0, 1, 1], alphas=5)
    display = CoefficientPathDisplay(alphas=alphas, coefs=coefs, groups=[0, 0, 1, 1]).plot()
    colours = [line.get_color() for line in display.lines_]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert display.ax_.get_xscale() == "log"
    with pytest.raises(InvalidData, match="one column for each alpha"):
        CoefficientPathDisplay(alphas=alphas, coefs=coefs.T)
    with pytest.raises(InvalidData, match="names must hold one entry"):
        CoefficientPathDisplay(alphas=alphas, coefs=coefs, names=["a"])


@pytest.mark.covers("LIN-41")
def test_residuals_and_the_triangle_of_a_projection():
    x = X[:, :1]
    model = LinearRegression().fit(x, Y)
    display = FitDisplay.from_estimator(model, x, Y)
    drawn = np.array([segment[:, 1] for segment in display.residuals_.get_segments()])
    np.testing.assert_allclose(drawn, np.column_stack([Y, model.predict(x)]))
    triangle = ProjectionDisplay.from_estimator(LinearRegression().fit(X, Y), X, Y)
    assert triangle.fit**2 + triangle.residual**2 == pytest.approx(triangle.target**2)
    assert np.cos(np.radians(triangle.angle)) ** 2 == pytest.approx(LinearRegression().fit(X, Y).score(X, Y))
    for line, length in zip(triangle.sides_, (triangle.target, triangle.fit, triangle.residual), strict=True):
        assert np.linalg.norm(np.diff(line.get_xydata(), axis=0)) == pytest.approx(length)
    with pytest.raises(InvalidData, match="one column against one target"):
        FitDisplay.from_estimator(model, X, Y)
