"""Regions and lines are what the model says."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from qed import InvalidData, InvalidParameter
from qed.inspection import DecisionBoundaryDisplay
from qed.linear_model import LogisticRegression, Ridge
from qed.svm import LinearSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 2)) * [1.0, 3.0]
three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
two = np.where(X[:, 0] + X[:, 1] > 0, 1, 0)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.covers("MUL-21")
@pytest.mark.parametrize("method", ["contourf", "contour", "pcolormesh"])
def test_labels_of_the_grid_are_those_that_the_model_predicts(method):
    model = LogisticRegression().fit(X, three)
    display = DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=15, plot_method=method)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.classes[display.response.ravel()], model.predict(grid))
    assert display.xx0.min() == X[:, 0].min() - 1.0
    assert display.lines == []
    assert display.ax_.figure is display.figure_


@pytest.mark.covers("CLS-39")
def test_the_ends_of_the_lines_lie_on_the_boundary_and_on_the_margins():
    model = LinearSVC().fit(X, two)
    display = DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=10, xlabel="first")
    assert len(display.lines) == len(display.lines_) == 3
    for ends, level in zip(display.lines, (0.0, 1.0, -1.0), strict=True):
        np.testing.assert_allclose(ends @ model.coef_[0] + model.intercept_[0], level, atol=1e-10)
        assert not np.array_equal(ends[0], ends[1])
    assert display.lines_[0].get_xydata() == pytest.approx(display.lines[0])
    assert display.ax_.get_xlabel() == "first"


def test_scores_probabilities_and_numbers_are_drawn_as_they_are():
    model = LogisticRegression().fit(X, three)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, grid_resolution=8, response_method="predict_proba", class_of_interest="b"
    )
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.response.ravel(), model.predict_proba(grid)[:, 1])
    number = Ridge().fit(X, X[:, 0])
    display = DecisionBoundaryDisplay.from_estimator(number, X, grid_resolution=8)
    np.testing.assert_array_equal(display.response.ravel(), number.predict(grid))


def test_what_cannot_be_drawn_is_refused_in_words():
    model = LogisticRegression().fit(X, three)
    with pytest.raises(InvalidData, match="equal to 2"):
        DecisionBoundaryDisplay.from_estimator(model, np.zeros((4, 3)))
    with pytest.raises(InvalidParameter, match="plot_method"):
        DecisionBoundaryDisplay.from_estimator(model, X, plot_method="hexbin")
    with pytest.raises(InvalidParameter, match="grid_resolution"):
        DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=1)
    with pytest.raises(InvalidData, match="class_of_interest"):
        DecisionBoundaryDisplay.from_estimator(model, X, response_method="decision_function")
