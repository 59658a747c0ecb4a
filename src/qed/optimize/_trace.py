"""What happened on the way, and how it looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qed.core import InvalidParameter
from qed.optimize import _draw
from qed.optimize._function import Vector, as_function

Whole = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Trace:
    """The record of one run.

    Attributes
    ----------
    name : str
        The optimiser.
    iterations : ndarray of shape (k,)
        Iterations at which the value was taken, from 0, the start: all of them for batch methods.
    values : ndarray of shape (k,)
        Values there.
    gradient_norms : ndarray of shape (k,) or (0,)
        Lengths of gradients there; empty for methods that take none.
    steps : ndarray of shape (t,)
        Step sizes, one for each iteration.
    points : ndarray of shape (t + 1, p) or None
        Every iterate, if ``keep_points=True`` asked for them.
    extras : dict of str to ndarray of shape (m, 2)
        Anything else, as pairs of iteration and number: ``"validation"``, ``"update_ratio"``, ``"temperature"`` …
    """

    name: str
    iterations: Whole
    values: Vector
    gradient_norms: Vector
    steps: Vector
    points: Vector | None = None
    extras: dict[str, Vector] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of iterations."""
        return len(self.steps)

    def plot(self, what: str = "value", ax: Any = None, *, floor: float | None = None, **line: Any) -> Any:
        """Draw one quantity against iterations.

        Parameters
        ----------
        what : str
            ``"value"``, ``"gradient"``, ``"step"``, or the name of an extra.
        ax : matplotlib Axes, optional
            Where; new axes by default.
        floor : float, optional
            Subtracted from values, such as the optimum; what is left is drawn on a logarithmic scale.
        **line
            Passed to matplotlib.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        x, y, label = self._series(what)
        is_log = what == "gradient" or floor is not None
        if floor is not None:
            y, label = y - floor, f"{label} above {floor:.4g}"
        if is_log:
            x, y = x[y > 0], y[y > 0]
        return _draw.curve(ax, x, y, label, is_log=is_log, line={"label": self.name, **line})

    def plot_path(self, function: Any, ax: Any = None, *, levels: int = 14, margin: float = 0.25, **line: Any) -> Any:
        """Draw the iterates of a function of two variables over its contours.

        Parameters
        ----------
        function : Function, Problem or callable
            What was minimised.
        ax : matplotlib Axes, optional
            Where; on axes that hold contours already only the path is drawn.
        levels : int
            Contours.
        margin : float
            Air around the path, as a share of its extent.
        **line
            Passed to matplotlib for the path.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        if self.points is None:
            raise InvalidParameter("This trace kept no points. Run the optimiser with keep_points=True.")
        if self.points.shape[1] != 2:
            raise InvalidParameter(f"Contours need two variables, and this trace has {self.points.shape[1]}.")
        f = as_function(function)
        return _draw.path(ax, f.value, self.points, levels, margin, {"label": self.name, **line})

    def _series(self, what: str) -> tuple[Any, Vector, str]:
        if what == "value":
            return self.iterations, self.values, "value"
        if what == "gradient":
            if not self.gradient_norms.size:
                raise InvalidParameter(
                    f"{self.name} took no gradients of the whole function: there is nothing to draw."
                )
            return self.iterations, self.gradient_norms, "length of the gradient"
        if what == "step":
            return np.arange(1, len(self.steps) + 1), self.steps, "step size"
        if what in self.extras:
            pairs = self.extras[what]
            return pairs[:, 0], pairs[:, 1], what.replace("_", " ")
        known = ["value", "gradient", "step", *self.extras]
        raise InvalidParameter(f"A trace draws one of {', '.join(known)}; got {what!r}.")
