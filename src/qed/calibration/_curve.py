"""Reliability: how often the positive label occurs where it was predicted with some probability, counted and drawn."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import Array, InvalidData, InvalidParameter
from qed.core._canvas import GREY, Display, axes, legend, next_colour, positive_words, style, unit_square
from qed.metrics._probabilities import read_binary_probability
from qed.metrics._scorers import response, role_of

PERFECT = "Perfectly calibrated"


def calibration_curve(
    y_true: Any,
    y_prob: Any,
    *,
    pos_label: Any = None,
    n_bins: int = 5,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> tuple[Array, Array]:
    """Compare predicted probabilities with shares of the positive label, bin by bin.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, of two kinds.
    y_prob : array-like of shape (n,)
        Predicted probability of the positive label.
    pos_label : label, optional
        The positive label, when labels are not 0 and 1, or -1 and 1.
    n_bins : int
        Number of bins. Those without rows are left out.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or of equally many rows.

    Returns
    -------
    prob_true : ndarray of shape (bins,)
        Share of the positive label in each bin.
    prob_pred : ndarray of shape (bins,)
        Mean of the predicted probabilities in each bin.

    Examples
    --------
    >>> from qed.calibration import calibration_curve
    >>> truth, predicted = calibration_curve([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], n_bins=2)
    >>> truth.tolist(), predicted.tolist()
    ([0.0, 1.0], [0.2, 0.75])
    """
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise InvalidParameter(f"calibration_curve: n_bins must be an integer >= 1, got {n_bins!r}.")
    if strategy not in ("uniform", "quantile"):
        raise InvalidParameter(
            f"calibration_curve: strategy must be either 'quantile' or 'uniform', got {strategy!r}. Bins have equal width, or"
            " equally many rows."
        )
    read = read_binary_probability(y_true, y_prob, None, pos_label)
    probability, is_positive = read.values[:, 1].astype(np.float64), read.codes == 1
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    edges = inner if strategy == "uniform" else np.quantile(probability, inner)
    place = np.searchsorted(edges, probability)  # an edge belongs to the bin below it
    count = np.bincount(place, minlength=n_bins)
    used = count > 0
    truth, predicted = (
        np.bincount(place, values, minlength=n_bins)[used] / count[used] for values in (is_positive, probability)
    )
    return truth, predicted


class CalibrationDisplay(Display):
    """The calibration curve, drawn; also called a reliability diagram.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (bins,)
        As from `calibration_curve`.
    y_prob : ndarray of shape (n,)
        The probabilities that were binned.
    estimator_name : str, optional
        The name of the curve.
    pos_label : label, optional
        The positive label, for the axes.

    Attributes
    ----------
    ax_, figure_, line_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.calibration import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], n_bins=2)
    >>> display.prob_true.tolist()
    [0.0, 1.0]
    """

    ax_: Any
    figure_: Any
    line_: Any

    def __init__(
        self,
        prob_true: Any,
        prob_pred: Any,
        y_prob: Any,
        *,
        estimator_name: str | None = None,
        pos_label: Any = None,
    ) -> None:
        self.prob_true, self.prob_pred, self.y_prob = prob_true, prob_pred, y_prob
        self.estimator_name, self.pos_label = estimator_name, pos_label

    def plot(self, *, ax: Any = None, name: str | None = None, ref_line: bool = True, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        name : str, optional
            The name of the curve.
        ref_line : bool
            Whether to draw the diagonal, on which probabilities are right.
        **kwargs : dict
            Passed to matplotlib for the curve.
        """
        self.ax_, self.figure_ = axes(ax)
        shown = name or self.estimator_name
        named = {} if shown is None else {"label": shown}
        drawn = style(
            {"color": next_colour(self.ax_), "linewidth": 2.0, "linestyle": "-", "marker": "s", **named}, kwargs
        )
        if ref_line and PERFECT not in self.ax_.get_legend_handles_labels()[1]:
            self.ax_.plot((0, 1), (0, 1), color=GREY, linestyle="--", linewidth=1.2, label=PERFECT)
        (self.line_,) = self.ax_.plot(self.prob_pred, self.prob_true, **drawn)
        words = positive_words(self.pos_label)
        unit_square(self.ax_, f"Mean predicted probability{words}", f"Fraction of positives{words}", despine=False)
        legend(self.ax_, "lower right")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 5,
        strategy: Literal["uniform", "quantile"] = "uniform",
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier of two classes on rows; arguments as for `calibration_curve` and `plot`."""
        classes = estimator.classes_ if role_of(estimator) == "classifier" else ()
        if len(classes) != 2:
            raise InvalidData(
                f"Expected 'estimator' to be a binary classifier. Got {type(estimator).__name__}"
                f"{f' of {len(classes)} classes' if len(classes) else ''} instead."
            )
        probability, pos_label = response(estimator, X, "predict_proba", pos_label)
        return cls.from_predictions(
            y,
            probability,
            n_bins=n_bins,
            strategy=strategy,
            pos_label=pos_label,
            name=name or type(estimator).__name__,
            ax=ax,
            ref_line=ref_line,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 5,
        strategy: Literal["uniform", "quantile"] = "uniform",
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of probabilities; arguments as for `calibration_curve` and `plot`."""
        truth, predicted = calibration_curve(y_true, y_prob, pos_label=pos_label, n_bins=n_bins, strategy=strategy)
        made = cls(truth, predicted, y_prob, estimator_name=name or "Classifier", pos_label=pos_label)
        return made.plot(ax=ax, ref_line=ref_line, **kwargs)
