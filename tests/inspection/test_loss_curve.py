"""The course of a fit, drawn: curves are the history, and nothing else."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from instances import skip_if_it_lacks

import qed
from qed.inspection import LossCurveDisplay
from qed.linear_model import Ridge

mpl.use("Agg")


def test_arrays_are_drawn_as_they_are() -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415

    display = LossCurveDisplay(losses=[4.0, 1.0, 0.1], scores=[0.2, 0.5, 0.4], name="mine").plot()
    assert display.line_.get_xdata().tolist() == [1, 2, 3]
    assert display.line_.get_ydata().tolist() == [4.0, 1.0, 0.1]
    assert display.score_line_.get_ydata().tolist() == [0.2, 0.5, 0.4]
    assert display.ax_.get_yscale() == "log", "a curve that falls twentyfold"
    assert display.ax_.get_legend().get_texts()[0].get_text() == "mine"
    again = LossCurveDisplay(losses=[2.0, 1.0]).plot(display.ax_)
    assert again.ax_ is display.ax_
    assert again.line_.get_color() != display.line_.get_color()
    plt.close("all")
    for bad in ({"losses": []}, {"losses": [[1.0]]}, {"losses": [1.0, 2.0], "scores": [1.0]}):
        with pytest.raises(qed.InvalidData):
            LossCurveDisplay(**bad)
    with pytest.raises(qed.InvalidData, match="no loss_curve_"):
        LossCurveDisplay.from_estimator(Ridge())


@pytest.mark.covers("NEU-35")
def test_the_curve_of_a_network_is_its_history() -> None:
    skip_if_it_lacks("qed.neural_network")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    from qed.neural_network import MLPRegressor  # noqa: PLC0415

    X = np.linspace(-1, 1, 40)[:, None]
    model = MLPRegressor(hidden_layer_sizes=(4,), max_iter=7, early_stopping=True, random_state=0).fit(X, X[:, 0] ** 2)
    display = LossCurveDisplay.from_estimator(model)
    assert display.line_.get_ydata().tolist() == model.loss_curve_
    assert display.score_line_.get_ydata().tolist() == model.validation_scores_
    assert display.line_.get_label() == "MLPRegressor"
    plt.close("all")
