"""Classes over one column, impurities of two labels, and likelihoods from step to step: curves are what they are called."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from qed.core import InvalidData, InvalidParameter
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.distributions import Bernoulli
from qed.inspection import ClassCurveDisplay, FitStepsDisplay, ImpurityDisplay, LossCurveDisplay
from qed.mixture import GaussianMixture
from qed.naive_bayes import GaussianNB

mpl.use("Agg")
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0, 1, 60), RNG.normal(3, 0.5, 30), RNG.normal(-1, 3, 40)])[:, None]
Y = np.repeat(["a", "b", "c"], [60, 30, 40])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plt.close("all")


@pytest.mark.covers("GEN-30")
@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
        LinearDiscriminantAnalysis("eigen", priors=[0.2, 0.3, 0.5]),
    ],
    ids=["naive", "linear", "quadratic", "priors"],
)
def test_classes_over_one_column(model):
    model.fit(X, Y)
    display = ClassCurveDisplay.from_estimator(model, X)
    assert len(display.boundaries) >= 1
    for at, line in zip(display.boundaries, display.boundary_lines_, strict=True):
        top = np.sort(model.predict_proba([[at]])[0])
        assert top[-1] == pytest.approx(top[-2], rel=1e-9)  # on a boundary two posteriors are equal
        assert line.get_xdata()[0] == at
    # posteriors are shares of the curves
    shares = display.joint / display.joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, model.predict_proba(display.x[:, None]), atol=1e-9)
    winner = np.asarray(display.names)[display.joint.argmax(axis=1)]
    assert np.count_nonzero(winner[1:] != winner[:-1]) == len(display.boundaries)
    # each curve is a density times a probability
    one = display.names.index("a")
    spread = np.trapezoid(display.joint[:, one], display.x)
    assert spread == pytest.approx(getattr(model, "priors_", getattr(model, "class_prior_", None))[one], abs=2e-3)
    assert np.array_equal(display.lines_[one].get_ydata(), display.joint[:, one])


def test_two_thresholds_by_formula():
    """Equal means and priors: the narrow class wins where the quadratic of their densities says so."""
    rows = np.array([-1.0, 1.0, -3.0, 3.0])[:, None]
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(rows, [0, 0, 1, 1])
    edge = np.sqrt(2 * np.log(3.0) / (1 - 1 / 9))
    np.testing.assert_allclose(ClassCurveDisplay.from_estimator(model, rows).boundaries, [-edge, edge], rtol=1e-12)
    curve = ClassCurveDisplay.from_estimator(model, rows)
    np.testing.assert_allclose(curve.joint[:, 1], 0.5 * stats.norm(0, 3).pdf(curve.x), rtol=1e-12)
    with pytest.raises(InvalidData, match="over one column"):
        ClassCurveDisplay.from_estimator(model, np.zeros((3, 2)))
    with pytest.raises(InvalidData, match="must rise"):
        ClassCurveDisplay(x=[1.0, 0.0], joint=[[1.0], [1.0]], boundaries=[], names=["a"])


@pytest.mark.covers("INF-13")
def test_impurities_of_two_labels():
    display = ImpurityDisplay.from_criteria()
    p = display.share
    entropy, gini, error = (display.lines_[name].get_ydata() for name in ("entropy", "gini", "misclassification"))
    np.testing.assert_allclose(entropy, [Bernoulli(one).entropy("bits") for one in p], atol=1e-12)
    np.testing.assert_allclose(gini, 2 * p * (1 - p), atol=1e-15)
    np.testing.assert_allclose(error, np.minimum(p, 1 - p), atol=1e-15)
    inside = (p > 0) & (p < 1)
    assert np.all(gini[inside] < entropy[inside])
    assert np.all(error[inside] < entropy[inside])
    for curve in (entropy, gini, error):
        assert curve[0] == curve[-1] == 0
        assert curve.argmax() == len(p) // 2
    assert next(text.get_text() for text in display.ax_.get_legend().get_texts()) == "entropy (bits)"
    assert list(ImpurityDisplay.from_criteria(["gini"]).lines_) == ["gini"]
    with pytest.raises(InvalidParameter, match="list of names"):
        ImpurityDisplay.from_criteria(["variance"])
    with pytest.raises(InvalidData, match="shares in"):
        ImpurityDisplay(share=[0.0, 2.0], curves={"gini": [0.0, 0.0]})


@pytest.mark.covers("MIX-27")
def test_likelihood_trace_and_colours_of_a_mixture():
    rows = np.concatenate([RNG.normal(0, 1, (60, 2)), RNG.normal(4, 1, (40, 2))])
    model = GaussianMixture(2, random_state=0, init_params="random_from_data").fit(rows)
    display = LossCurveDisplay.from_estimator(model)
    trace = np.asarray(display.line_.get_ydata())
    assert len(trace) == model.n_iter_ + 1
    assert np.all(np.diff(trace) >= -1e-9)
    assert trace[-1] == pytest.approx(model.score(rows), abs=1e-3)
    with pytest.raises(InvalidData, match="no trace"):
        LossCurveDisplay.from_estimator(GaussianMixture())
    steps = FitStepsDisplay.from_estimator(model, rows, steps=(1, 4))
    from matplotlib.colors import to_rgb  # noqa: PLC0415

    fit = steps.fits[1]
    drawn = steps.axes_[1].collections[0].get_facecolors()[:, :3]
    pure = np.array([to_rgb(one.get_facecolor()[0, :3]) for one in steps.axes_[1].collections[1:3]])
    np.testing.assert_allclose(drawn, fit.predict_proba(rows) @ pure, atol=1e-6)  # responsibilities mix the colours
