"""Figures of explanations, partial dependence, and comparable coefficients."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter
from qed.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from qed.inspection import (
    BeeswarmDisplay,
    ContributionDisplay,
    DependenceDisplay,
    PartialDependenceDisplay,
    WaterfallDisplay,
    explain,
    partial_dependence,
    standardised_coefficients,
)
from qed.linear_model import LinearRegression, LogisticRegression

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def table():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 5))
    return X, X[:, 0] + X[:, 1] * X[:, 2]


@pytest.mark.covers("INT-20")
@pytest.mark.parametrize("most", [2, 12])
def test_drawn_bars_add_up_to_prediction_minus_base_value(most):
    X, y = table()
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    found = explain(model, X)
    for row in (0, 7):
        display = WaterfallDisplay(found, row=row, max_display=most).plot()
        drawn = sum(bar.get_width() for bar in display.bars_)
        assert np.isclose(drawn, model.predict(X[row : row + 1])[0] - found.base_value)
        ends = sorted(
            [*(bar.get_x() for bar in display.bars_), *(bar.get_x() + bar.get_width() for bar in display.bars_)]
        )
        assert any(np.isclose(found.base_value, ends))
        assert any(np.isclose(found.predictions[row], ends))
        single = ContributionDisplay.from_estimator(model, X[row : row + 1], max_display=most)
        assert np.isclose(sum(bar.get_width() for bar in single.bars_), found.values[row].sum())
    bars = ContributionDisplay(found).plot().bars_
    assert np.allclose(sorted(bar.get_width() for bar in bars), sorted(np.abs(found.values).mean(axis=0)))


def test_dots_lie_at_contributions():
    X, y = table()
    found = explain(RandomForestRegressor(10, random_state=0).fit(X, y), X)
    swarm = BeeswarmDisplay(found, max_display=3).plot()
    order = np.argsort(-found.importance(), kind="stable")
    for points, j in zip(swarm.points_, order, strict=False):
        assert np.allclose(points.get_offsets()[:, 0], found.values[:, j])
    dots = DependenceDisplay(found, feature="x1", colour_by=2).plot().points_
    assert np.allclose(dots.get_offsets(), np.column_stack([X[:, 1], found.values[:, 1]]))
    classes = explain(RandomForestClassifier(5, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5])), X)
    assert len(BeeswarmDisplay(classes, output="1").plot().points_) == 5
    for call in (
        lambda: BeeswarmDisplay(classes),
        lambda: WaterfallDisplay(found, row=80),
        lambda: WaterfallDisplay(found, max_display=0),
        lambda: DependenceDisplay(found, feature="none"),
    ):
        with pytest.raises(InvalidParameter):
            call()


@pytest.mark.covers("INT-19")
def test_simple_explanations_of_linear_models_and_trees():
    X, y = table()
    X = X * [1, 10, 100, 1e-3, 1]
    model = LinearRegression().fit(X, y)
    found = standardised_coefficients(model, X, y)
    scaled = LinearRegression().fit((X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std())
    assert np.allclose(found, scaled.coef_)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    assert np.isclose(forest.feature_importances_.sum(), 1)
    for call in (
        lambda: standardised_coefficients(forest, X),
        lambda: standardised_coefficients(model, X[:, :2]),
        lambda: standardised_coefficients(model, X, np.ones(80)),
    ):
        with pytest.raises((InvalidData, InvalidParameter)):
            call()


def test_partial_dependence_is_that_of_scikit_learn():
    inspection = pytest.importorskip("sklearn.inspection")
    linear = pytest.importorskip("sklearn.linear_model")
    X, y = table()
    for theirs, ours, target in (
        (linear.LinearRegression(), LinearRegression(), y),
        (linear.LogisticRegression(C=1.0, tol=1e-10), LogisticRegression(C=1.0, tol=1e-12), y > 0),
    ):
        for features in ([0], [1, 2]):
            expected = inspection.partial_dependence(
                theirs.fit(X, target), X, features, grid_resolution=9, kind="both", method="brute"
            )
            found = partial_dependence(ours.fit(X, target), X, features, grid_resolution=9, kind="both")
            for mine, other in zip(found.grid_values, expected.grid_values, strict=True):
                assert np.allclose(mine, other)
            assert np.allclose(found.average, expected.average, atol=1e-4)
            assert np.allclose(found.individual, expected.individual, atol=1e-4)


def test_partial_dependence_of_frames_categories_and_weights():
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["e"] = np.arange(80) % 3
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5).fit(frame, y)
    found = partial_dependence(model, frame, ["e"], categorical_features=["e"])
    assert found.grid_values[0].tolist() == [0, 1, 2]
    changed = frame.assign(e=1)
    assert np.isclose(found.average[0, 1], model.predict(changed).mean())
    weight = np.zeros(80)
    weight[3] = 2.0
    own = partial_dependence(model, frame, "a", sample_weight=weight, custom_values={"a": [0.0, 1.0]})
    assert np.isclose(own.average[0, 1], model.predict(frame.iloc[3:4].assign(a=1.0))[0])
    for call in (
        lambda: partial_dependence(model, frame, "none"),
        lambda: partial_dependence(model, frame, [0, 1, 2]),
        lambda: partial_dependence(model, frame, "a", percentiles=(0.9, 0.1)),
        lambda: partial_dependence(model, frame, "a", grid_resolution=1),
        lambda: partial_dependence(model, frame, "a", method="recursion"),
        lambda: partial_dependence(model, frame, "a", kind="other"),
        lambda: partial_dependence(model, frame, "a", response_method="predict_proba"),
        lambda: partial_dependence(model, frame, "a", sample_weight=[1.0]),
        lambda: partial_dependence(model, frame.iloc[:0], "a"),
    ):
        with pytest.raises((InvalidData, InvalidParameter)):
            call()


def test_drawn_curves_are_the_averages():
    X, y = table()
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(
        model, X, [0, "x1", (0, 1)], kind="both", grid_resolution=8, subsample=10, random_state=0
    )
    assert len(display.axes_) == 3
    assert len(display.lines_[0]) == 11
    assert np.allclose(display.lines_[0][-1].get_ydata(), partial_dependence(model, X, 0, grid_resolution=8).average[0])
    centred = PartialDependenceDisplay.from_estimator(model, X, [0], grid_resolution=8, centered=True)
    assert centred.lines_[0][0].get_ydata()[0] == 0
    classes = RandomForestClassifier(5, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    assert PartialDependenceDisplay.from_estimator(classes, X, [0], target=2, grid_resolution=5).target_idx == 2
    with pytest.raises(InvalidParameter, match="Say which to draw"):
        PartialDependenceDisplay.from_estimator(classes, X, [0], grid_resolution=5)
    with pytest.raises(InvalidParameter, match="ax takes one panel"):
        PartialDependenceDisplay.from_estimator(model, X, [0, 1], grid_resolution=5, ax=centred.axes_[0])
