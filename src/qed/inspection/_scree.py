"""Variances of components, drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import InvalidData, _canvas
from qed.core._canvas import Display


class ScreeDisplay(Display):
    """The variance of each principal component, largest first, and the share that they explain together.

    Parameters
    ----------
    variances : array-like of shape (k,)
        Variances, largest first.
    total : float
        Total variance, of the components that were left out as well.

    Attributes
    ----------
    ax_, figure_, bars_, line_
        What matplotlib drew: bars of variances, and above them the share explained so far.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.decomposition import PCA
    >>> from qed.inspection import ScreeDisplay
    >>> model = PCA().fit(load_iris(return_X_y=True)[0])
    >>> len(ScreeDisplay.from_estimator(model).bars_)
    4
    """

    ax_: Any
    figure_: Any
    bars_: Any
    line_: Any

    def __init__(self, *, variances: Any, total: float) -> None:
        self.variances, self.total = np.asarray(variances, dtype=np.float64), float(total)
        if self.variances.ndim != 1 or np.any(np.diff(self.variances) > 0):
            raise InvalidData(f"variances must be a vector, largest first, got shape {self.variances.shape}.")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the variances of a fitted PCA.

        Parameters
        ----------
        estimator : PCA
            Fitted.
        """
        variances = estimator.explained_variance_
        return cls(variances=variances, total=estimator.certificate_.null_objective).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the variances."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.4, 4.2))
        places = np.arange(1, len(self.variances) + 1)
        self.bars_ = self.ax_.bar(places, self.variances, color=_canvas.CURVES[0], label="variance")
        share = self.ax_.twinx()
        explained = np.cumsum(self.variances) / self.total if self.total > 0 else np.zeros(len(places))
        (self.line_,) = share.plot(
            places, explained, color=_canvas.CURVES[1], marker="o", label="share explained so far"
        )
        share.set(ylim=(0.0, 1.05), ylabel="share explained so far")
        self.ax_.set(xlabel="component", ylabel="variance", xticks=places if len(places) <= 20 else places[::10])
        _canvas.bare(self.ax_)
        return self
