"""The course of a fit, drawn: what fell from pass to pass."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import InvalidData, _canvas
from qed.core._canvas import Display


class LossCurveDisplay(Display):
    """The objective of an iterative fit in each pass, and the score of held-out rows beside it.

    Parameters
    ----------
    losses : array-like of shape (passes,)
        Objective in each pass.
    scores : array-like of shape (passes,), optional
        Score of held-out rows after each pass.
    name : str, optional
        Name of the curve.

    Attributes
    ----------
    ax_, figure_, line_ : matplotlib objects
        What was drawn.
    score_ax_, score_line_ : matplotlib objects or None
        The axis of scores and its curve, if there are any.

    Examples
    --------
    >>> from qed.inspection import LossCurveDisplay
    >>> display = LossCurveDisplay(losses=[1.0, 0.5, 0.4]).plot()
    >>> display.line_.get_ydata().tolist()
    [1.0, 0.5, 0.4]
    """

    ax_: Any
    figure_: Any
    line_: Any
    score_ax_: Any
    score_line_: Any

    def __init__(self, *, losses: Any, scores: Any = None, name: str | None = None) -> None:
        self.losses = np.asarray(losses, dtype=np.float64)
        self.scores = None if scores is None else np.asarray(scores, dtype=np.float64)
        if self.losses.ndim != 1 or not len(self.losses):
            raise InvalidData(f"losses must be one number for each pass, got an array of shape {self.losses.shape}.")
        if self.scores is not None and self.scores.shape != self.losses.shape:
            raise InvalidData(
                f"scores must be one number for each of the {len(self.losses)} passes, got an array of shape {self.scores.shape}."
            )
        self.name = name

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Draw the course of a fitted model.

        Parameters
        ----------
        model : estimator
            A network, with ``loss_curve_`` and perhaps ``validation_scores_``; or a model whose certificate states the course of
            its objective, such as the likelihood of a mixture at the start and after each step.
        name : str, optional
            Name of the curve; that of the class when left out.
        """
        losses = getattr(model, "loss_curve_", getattr(getattr(model, "certificate_", None), "trace", None))
        if losses is None:
            raise InvalidData(
                f"{type(model).__name__} has no loss_curve_, and no trace in a certificate: it is not fitted, or does not learn in"
                " passes."
            )
        scores = getattr(model, "validation_scores_", None)
        return cls(losses=losses, scores=scores, name=name or type(model).__name__).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve, and that of scores on an axis to the right."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.0, 3.8))
        passes = np.arange(1, len(self.losses) + 1)
        colour = _canvas.next_colour(self.ax_)
        (self.line_,) = self.ax_.plot(passes, self.losses, color=colour, linewidth=1.6, label=self.name)
        if self.losses.min() > 0 and self.losses.max() > 20 * self.losses.min():
            self.ax_.set_yscale("log")
        self.ax_.set(xlabel="pass", ylabel="objective")
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self.score_ax_ = self.score_line_ = None
        if self.scores is None:
            _canvas.bare(self.ax_)
        else:
            self.score_ax_ = self.ax_.twinx()
            (self.score_line_,) = self.score_ax_.plot(passes, self.scores, color=_canvas.GREY, linewidth=1.2)
            self.score_ax_.set_ylabel("score of held-out rows", color=_canvas.GREY)
            self.score_ax_.spines["top"].set_visible(False)
            self.ax_.spines["top"].set_visible(False)
        _canvas.legend(self.ax_, "best")
        return self
