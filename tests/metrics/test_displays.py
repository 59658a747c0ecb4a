"""What displays draw is what the curves say, with base lines where they belong."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Logistic

from qed import metrics
from qed.core import InvalidData, InvalidParameter
from qed.linear_model import Ridge

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    y = (random.random(200) < 0.25).astype(int)
    X = random.normal(size=(200, 2)) + y[:, np.newaxis]
    return X, y, Logistic().fit(X, y)


@pytest.mark.covers("MET-21")
def test_roc_has_its_diagonal_and_precision_recall_its_base_line(rows):
    X, y, model = rows
    score = model.predict_proba(X)[:, 1]
    roc = metrics.RocCurveDisplay.from_predictions(y, score, plot_chance_level=True)
    np.testing.assert_array_equal(roc.line_.get_xydata(), np.stack(metrics.roc_curve(y, score)[:2], axis=1))
    np.testing.assert_array_equal(roc.chance_level_.get_xydata(), [[0, 0], [1, 1]])
    assert roc.roc_auc == pytest.approx(metrics.roc_auc_score(y, score))
    assert [text.get_text() for text in roc.ax_.get_legend().get_texts()] == [
        "Chance level (AUC = 0.5)", f"Classifier (AUC = {roc.roc_auc:.2f})",
    ]  # fmt: skip
    pr = metrics.PrecisionRecallDisplay.from_predictions(y, score, plot_chance_level=True)
    assert (pr.chance_level_.get_ydata() == y.mean()).all()
    np.testing.assert_array_equal(pr.line_.get_ydata(), metrics.precision_recall_curve(y, score)[0])
    assert pr.line_.get_drawstyle() == "steps-post"
    s = np.where(y == 1, 3.0, 1.0)
    heavy = metrics.PrecisionRecallDisplay.from_predictions(y, score, sample_weight=s, plot_chance_level=True)
    assert heavy.prevalence_pos_label == pytest.approx(s[y == 1].sum() / s.sum())


def test_estimators_and_positive_labels(rows):
    X, y, _ = rows
    words = np.where(y, "yes", "no")
    model = Logistic().fit(X, words)
    for display in (metrics.RocCurveDisplay, metrics.PrecisionRecallDisplay, metrics.DetCurveDisplay):
        drawn = display.from_estimator(model, X, words, pos_label="no")
        assert "Positive label: no" in drawn.ax_.get_xlabel()
        assert "LogisticRegression" in drawn.ax_.get_legend().get_texts()[0].get_text()
    first = metrics.RocCurveDisplay.from_estimator(model, X, words)
    second = metrics.RocCurveDisplay.from_estimator(model, X, words, ax=first.ax_, name="again", despine=True)
    assert second.ax_ is first.ax_
    assert second.line_.get_color() != first.line_.get_color()
    assert not second.ax_.spines["top"].get_visible()


def test_detection_errors_are_drawn_on_normal_axes(rows):
    from scipy.special import ndtri  # noqa: PLC0415

    X, y, model = rows
    drawn = metrics.DetCurveDisplay.from_predictions(y, model.decision_function(X), color="red")
    fpr, fnr, _ = metrics.det_curve(y, model.decision_function(X), drop_intermediate=True)
    inside = (fpr > 0) & (fnr > 0)
    np.testing.assert_allclose(drawn.line_.get_ydata()[inside], ndtri(fnr[inside]))
    assert drawn.line_.get_color() == "red"


@pytest.mark.parametrize("normalize", [None, "true"])
def test_confusions_show_their_numbers(rows, normalize):
    X, y, model = rows
    drawn = metrics.ConfusionMatrixDisplay.from_estimator(model, X, y, normalize=normalize, colorbar=normalize is None)
    want = metrics.confusion_matrix(y, model.predict(X), normalize=normalize)
    np.testing.assert_array_equal(drawn.im_.get_array(), want)
    texts = [[cell.get_text() for cell in row] for row in drawn.text_]
    assert texts == [[f"{value:d}" if normalize is None else f"{value:.2g}" for value in row] for row in want]
    assert [tick.get_text() for tick in drawn.ax_.get_xticklabels()] == ["0", "1"]
    assert metrics.ConfusionMatrixDisplay(want, display_labels=["a", "b"]).plot(include_values=False).text_ is None


def test_numbers_are_readable_on_their_colours():
    drawn = metrics.ConfusionMatrixDisplay(np.array([[90, 1], [2, 40]])).plot()
    colours = {cell.get_color() for row in drawn.text_ for cell in row}
    assert colours == {"white", "black"}


def test_errors_against_predictions():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 2))
    y = X @ [1.0, 2.0] + random.normal(size=1500)
    model = Ridge().fit(X, y)
    drawn = metrics.PredictionErrorDisplay.from_estimator(model, X, y, random_state=0)
    assert len(drawn.scatter_.get_offsets()) == 1000
    every = metrics.PredictionErrorDisplay.from_predictions(y, model.predict(X), subsample=None)
    np.testing.assert_allclose(every.scatter_.get_offsets()[:, 1], y - model.predict(X))
    actual = metrics.PredictionErrorDisplay.from_predictions(y, model.predict(X), kind="actual_vs_predicted")
    assert actual.ax_.get_ylabel() == "Actual values"
    assert (actual.line_.get_xdata() == actual.line_.get_ydata()).all()
    assert len(metrics.PredictionErrorDisplay.from_predictions(y, y, subsample=0.1).y_true) == 150


def test_refusals(rows):
    X, y, _ = rows
    with pytest.raises(InvalidData, match="binary classifier"):
        metrics.RocCurveDisplay.from_estimator(Ridge().fit(X, y), X, y)
    with pytest.raises(InvalidData, match="3 classes"):
        metrics.RocCurveDisplay.from_estimator(Logistic().fit(X, np.arange(200) % 3), X, y)
    with pytest.raises(InvalidData, match="prevalence_pos_label"):
        metrics.PrecisionRecallDisplay([1.0, 1.0], [1.0, 0.0]).plot(plot_chance_level=True)
    with pytest.raises(InvalidData, match="only supports classifiers"):
        metrics.ConfusionMatrixDisplay.from_estimator(Ridge().fit(X, y), X, y)
    with pytest.raises(InvalidParameter, match="kind"):
        metrics.PredictionErrorDisplay(y_true=y, y_pred=y).plot(kind="other")
    with pytest.raises(InvalidParameter, match=r"subsample=2\.0"):
        metrics.PredictionErrorDisplay.from_predictions(y, y, subsample=2.0)
