"""Losses, drawn against the margin or against the error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import InvalidParameter, _canvas
from qed.core._canvas import Display

if TYPE_CHECKING:
    from collections.abc import Callable


class LossDisplay(Display):
    """Losses as functions of one number.

    Parameters
    ----------
    grid : ndarray of shape (k,)
        Margins ``y t``, or errors ``t - y``.
    values : dict of str to ndarray of shape (k,)
        The losses there, by name.
    against : {"margin", "error"}
        What the grid is of.

    Attributes
    ----------
    ax_, figure_, lines_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.convex import Hinge, LossDisplay, Logistic, ZeroOne
    >>> display = LossDisplay.from_losses({"hinge": Hinge, "logistic": Logistic, "mistake": ZeroOne})
    >>> sorted(display.values)
    ['hinge', 'logistic', 'mistake']
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, *, grid: Any, values: Mapping[str, Any], against: str) -> None:
        self.grid, self.values, self.against = grid, dict(values), against

    @classmethod
    def from_losses(
        cls,
        losses: Mapping[str, Callable[[Any], Any]],
        *,
        against: Literal["margin", "error"] = "margin",
        grid: Any = None,
        ax: Any = None,
    ) -> Self:
        """Evaluate losses on a grid and draw them.

        Parameters
        ----------
        losses : dict of str to callable
            Losses by name, each made from an array of targets, as the classes of this package are.
        against : {"margin", "error"}
            Whether targets are labels of one, so that the score is the margin, or zeros, so that it is the error.
        grid : array-like of shape (k,), optional
            Where to evaluate; 401 points from -3 to 3 when left out.

        Returns
        -------
        LossDisplay
            With the values drawn.
        """
        if against not in ("margin", "error"):
            raise InvalidParameter(f"against must be 'margin' or 'error', got {against!r}.")
        if not isinstance(losses, Mapping):
            raise InvalidParameter(
                f"losses must be a dict of names and losses, such as {{'hinge': Hinge}}, got {losses!r:.100}."
            )
        points = np.linspace(-3.0, 3.0, 401) if grid is None else np.asarray(grid, dtype=np.float64)
        target = np.ones_like(points) if against == "margin" else np.zeros_like(points)
        values = {name: np.asarray(make(target).value(points)) for name, make in losses.items()}
        return cls(grid=points, values=values, against=against).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the losses."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.0, 4.2))
        self.lines_ = []
        for name, values in self.values.items():
            (line,) = self.ax_.plot(self.grid, values, color=_canvas.next_colour(self.ax_), label=name, linewidth=1.8)
            self.lines_.append(line)
        largest = max((float(np.max(values)) for values in self.values.values()), default=1.0)
        self.ax_.set(
            xlabel="margin  y t" if self.against == "margin" else "error  t - y",
            ylabel="loss",
            ylim=(-0.05 * min(largest, 4.5), min(largest, 4.5) * 1.05),
        )
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self.ax_.legend(frameon=False)
        _canvas.bare(self.ax_)
        return self
