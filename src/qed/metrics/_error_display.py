"""Predictions of numbers and their errors, drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core._canvas import BLUE, GREY, Display, axes, bare, style
from qed.core._errors import InvalidParameter
from qed.core._random import generator
from qed.metrics._losses import read_pair
from qed.metrics._read import one_of

KINDS = ("actual_vs_predicted", "residual_vs_predicted")


class PredictionErrorDisplay(Display):
    """Actual numbers, or residuals, against predicted ones.

    Parameters
    ----------
    y_true, y_pred : ndarray of shape (n,)
        True and predicted numbers.

    Attributes
    ----------
    ax_, figure_, line_, scatter_
        What matplotlib drew; `line_` is where predictions are right.

    Examples
    --------
    >>> from qed.metrics import PredictionErrorDisplay
    >>> display = PredictionErrorDisplay.from_predictions([1.0, 2.0, 3.0], [1.5, 2.0, 2.0])
    >>> display.ax_.get_ylabel()
    'Residuals (actual - predicted)'
    """

    ax_: Any
    figure_: Any
    line_: Any
    scatter_: Any

    def __init__(self, *, y_true: Any, y_pred: Any) -> None:
        self.y_true, self.y_pred = y_true, y_pred

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "residual_vs_predicted",
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        kind : {"actual_vs_predicted", "residual_vs_predicted"}
            What is drawn against the predictions.
        scatter_kwargs, line_kwargs : dict, optional
            Passed to matplotlib for the dots and for the line.
        """
        one_of("kind", kind, KINDS)
        actual = kind == "actual_vs_predicted"
        self.ax_, self.figure_ = axes(ax, size=(5.2, 5.0) if actual else (6.2, 4.2))
        line = style({"color": GREY, "linestyle": "--", "linewidth": 1.2}, line_kwargs)
        crowd = 0.75 if len(self.y_true) < 300 else 0.4
        dots = style({"color": BLUE, "alpha": crowd, "s": 22, "edgecolors": "none"}, scatter_kwargs)
        low, high = float(np.min(self.y_pred)), float(np.max(self.y_pred))
        if actual:
            low, high = min(low, float(np.min(self.y_true))), max(high, float(np.max(self.y_true)))
        (self.line_,) = self.ax_.plot([low, high], [low, high] if actual else [0, 0], **line)
        up = self.y_true if actual else self.y_true - self.y_pred
        self.scatter_ = self.ax_.scatter(self.y_pred, up, **dots)
        if actual:
            self.ax_.set_aspect("equal", adjustable="datalim")
        self.ax_.set(xlabel="Predicted values", ylabel="Actual values" if actual else "Residuals (actual - predicted)")
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        bare(self.ax_)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "residual_vs_predicted",
        subsample: Any = 1000,
        random_state: Any = None,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw what a fitted model predicts for rows; arguments as for `from_predictions`."""
        return cls.from_predictions(
            y,
            estimator.predict(X),
            kind=kind,
            subsample=subsample,
            random_state=random_state,
            ax=ax,
            scatter_kwargs=scatter_kwargs,
            line_kwargs=line_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        kind: str = "residual_vs_predicted",
        subsample: Any = 1000,
        random_state: Any = None,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw true and predicted numbers.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            True and predicted numbers.
        subsample : int, float or None
            So many rows (or, below 1, this share of them) are drawn at most; None draws all.
        random_state : None, int, Generator or RandomState
            Which rows.
        kind, ax, scatter_kwargs, line_kwargs
            As for `plot`.

        Returns
        -------
        PredictionErrorDisplay
            Drawn.
        """
        truth, guess, _ = read_pair(y_true, y_pred, None, outputs=False)
        n = len(truth)
        if isinstance(subsample, float):
            if not 0 < subsample < 1:
                raise InvalidParameter(f"When a floating-point, subsample={subsample} should be in the (0, 1) range.")
            subsample = int(n * subsample)
        elif subsample is not None and subsample <= 0:
            raise InvalidParameter(f"When an integer, subsample={subsample} should be positive.")
        rows: Any = slice(None)
        if subsample is not None and subsample < n:
            rows = generator(random_state).choice(n, size=subsample, replace=False)
        made = cls(y_true=truth[rows, 0], y_pred=guess[rows, 0])
        return made.plot(ax, kind=kind, scatter_kwargs=scatter_kwargs, line_kwargs=line_kwargs)
