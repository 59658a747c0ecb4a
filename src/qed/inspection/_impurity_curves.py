"""How mixed two labels are, drawn over the share of one of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _canvas
from qed.tree import impurity

POINTS = 401
CRITERIA = {"entropy": "entropy (bits)", "gini": "Gini impurity", "misclassification": "misclassification error"}


class ImpurityDisplay:
    """Impurities of two labels: entropy in bits, Gini's and the share of errors, over the share of one label.

    Parameters
    ----------
    share : array-like of shape (m,)
        Shares of one label, rising, from 0 to 1.
    curves : dict of str to array-like of shape (m,)
        Impurity at each share, by the name of its criterion.

    Attributes
    ----------
    ax_, figure_, lines_
        What matplotlib drew; lines by the name of their criterion.

    Examples
    --------
    >>> from qed.inspection import ImpurityDisplay
    >>> display = ImpurityDisplay.from_criteria()
    >>> {name: float(curve.max()) for name, curve in display.curves.items()}
    {'entropy': 1.0, 'gini': 0.5, 'misclassification': 0.5}
    """

    ax_: Any
    figure_: Any
    lines_: dict[str, Any]

    def __init__(self, *, share: Any, curves: dict[str, Any]) -> None:
        self.share = np.asarray(share, np.float64)
        self.curves = {name: np.asarray(curve, np.float64) for name, curve in curves.items()}
        inside = self.share.ndim == 1 and np.all((self.share >= 0) & (self.share <= 1))
        if not inside or any(curve.shape != self.share.shape for curve in self.curves.values()):
            raise InvalidData(
                "Impurities are drawn over shares in [0, 1], with one value of each curve at every share."
            )

    @classmethod
    def from_criteria(cls, criteria: Any = tuple(CRITERIA), *, ax: Any = None) -> Self:
        """Draw the impurities by which trees choose their splits.

        Parameters
        ----------
        criteria : sequence of {"entropy", "gini", "misclassification"}
            Which ones.
        ax : matplotlib Axes, optional
            Where to draw; a new figure when left out.

        Returns
        -------
        ImpurityDisplay
            With what was drawn.
        """
        unknown = [name for name in criteria if name not in CRITERIA]
        if unknown or isinstance(criteria, str):
            raise InvalidParameter(
                f"criteria must be a list of names among {', '.join(CRITERIA)}, got {criteria!r:.100}."
            )
        share = np.linspace(0.0, 1.0, POINTS)
        both = np.column_stack([share, 1 - share])
        return cls(share=share, curves={name: impurity(both, name) for name in criteria}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(5.6, 3.8))
        self.lines_ = {
            name: self.ax_.plot(
                self.share, curve, color=_canvas.CURVES[at % len(_canvas.CURVES)], label=CRITERIA.get(name, name)
            )[0]
            for at, (name, curve) in enumerate(self.curves.items())
        }
        self.ax_.set(xlabel="share of one of two labels", ylabel="impurity", xlim=(0.0, 1.0), ylim=(0.0, None))
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        _canvas.bare(self.ax_)
        _canvas.legend(self.ax_, "lower center")
        return self
