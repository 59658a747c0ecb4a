"""Reliability: counted as scikit-learn counts it, and drawn."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn import calibration as theirs

import qed
from qed.calibration import CalibrationDisplay, calibration_curve
from qed.linear_model import LinearRegression, LogisticRegression

mpl.use("Agg")

rng = np.random.default_rng(0)
P = rng.random(300)
Y = (rng.random(300) < P**2).astype(int)
WORDS = np.array(["no", "yes"])[Y]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 2, 5, 40])
def test_bins_are_those_of_scikit_learn(strategy, n_bins):
    for truth, label in ((Y, None), (Y == 1, None), (WORDS, "yes"), (np.where(Y, 1, -1), None), (Y, 0)):
        for values in (P, np.round(P, 1), P.astype(np.float32)):
            ours = calibration_curve(truth, values, pos_label=label, n_bins=n_bins, strategy=strategy)
            other = theirs.calibration_curve(truth, values, pos_label=label, n_bins=n_bins, strategy=strategy)
            for one, two in zip(ours, other, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-6)


def test_shares_add_up_to_that_of_all_rows():
    truth, predicted = calibration_curve(Y, P, n_bins=1)
    np.testing.assert_allclose([truth[0], predicted[0]], [Y.mean(), P.mean()])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((Y, P + 1), "greater than 1"),
        ((Y, -P), "lower than 0"),
        ((WORDS, P), "pos_label"),
        ((np.arange(300) % 3, P), "label"),
        ((Y[:5], P), "length|rows|consistent|samples"),
        ((Y, P, {"strategy": "even"}), "strategy"),
        ((Y, P, {"n_bins": 0}), "n_bins"),
    ],
)
def test_refusals_say_why(arguments, words):
    *data, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(qed.QedError, match=words):
        calibration_curve(*data, **options)


def test_the_curve_is_drawn_beside_the_diagonal():
    X = np.column_stack([P, rng.normal(size=300)])
    model = LogisticRegression().fit(X, WORDS)
    display = CalibrationDisplay.from_estimator(model, X, WORDS, n_bins=4, color="black")
    want = calibration_curve(WORDS, model.predict_proba(X)[:, 1], pos_label="yes", n_bins=4)
    np.testing.assert_array_equal(display.line_.get_ydata(), want[0])
    np.testing.assert_array_equal(display.line_.get_xdata(), want[1])
    assert display.line_.get_color() == "black"
    assert "yes" in display.ax_.get_xlabel()
    again = CalibrationDisplay.from_predictions(Y, P, ax=display.ax_, name="second")
    assert again.ax_.get_legend_handles_labels()[1].count("Perfectly calibrated") == 1
    assert len(CalibrationDisplay.from_predictions(Y, P, ref_line=False).ax_.get_lines()) == 1


def test_only_classifiers_of_two_classes_are_drawn():
    X = P[:, None]
    for model in (LinearRegression().fit(X, Y), LogisticRegression().fit(X, np.arange(300) % 3)):
        with pytest.raises(qed.InvalidData, match="binary classifier"):
            CalibrationDisplay.from_estimator(model, X, Y)
