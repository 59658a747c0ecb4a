"""A fit and what it leaves: a curve through points with its residuals, and the triangle of a projection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import InvalidData, _canvas
from qed.core._canvas import Display

Array = np.ndarray[Any, Any]


class FitDisplay(Display):
    """Points of one column and a target, the curve of a model, and a line from each point to it.

    Parameters
    ----------
    x, y, predicted : ndarray of shape (n,)
        The column, the targets and the predictions for them.
    grid, curve : ndarray of shape (k,)
        The model on a grid.

    Attributes
    ----------
    ax_, figure_, points_, curve_, residuals_
        What matplotlib drew.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.inspection import FitDisplay
    >>> from qed.linear_model import LinearRegression
    >>> x = np.arange(4.0)[:, np.newaxis]
    >>> display = FitDisplay.from_estimator(LinearRegression().fit(x, [0.0, 1.0, 1.0, 2.0]), x, [0.0, 1.0, 1.0, 2.0])
    >>> (display.y - display.predicted).round(2).tolist()
    [-0.1, 0.3, -0.3, 0.1]
    """

    ax_: Any
    figure_: Any
    points_: Any
    curve_: Any
    residuals_: Any

    def __init__(self, *, x: Array, y: Array, predicted: Array, grid: Array, curve: Array) -> None:
        self.x, self.y, self.predicted, self.grid, self.curve = x, y, predicted, grid, curve

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 300, ax: Any = None) -> Self:
        """Predict at the points and on a grid, and draw.

        Parameters
        ----------
        estimator : estimator
            A fitted model of one column.
        X : array-like of shape (n, 1)
            The column.
        y : array-like of shape (n,)
            Targets.
        grid_resolution : int
            Points of the curve.

        Returns
        -------
        FitDisplay
            With the predictions.
        """
        rows, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 1 or target.shape != rows.shape[:1]:
            raise InvalidData(
                f"FitDisplay draws one column against one target; got X of shape {rows.shape} and y of shape {target.shape}."
            )
        edge = 0.04 * max(float(np.ptp(rows)), 1e-12)
        grid = np.linspace(rows.min() - edge, rows.max() + edge, grid_resolution)
        predicted, curve = estimator.predict(rows), estimator.predict(grid[:, np.newaxis])
        return cls(x=rows[:, 0], y=target, predicted=np.ravel(predicted), grid=grid, curve=np.ravel(curve)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw points, curve and residuals."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.0, 4.2))
        self.residuals_ = self.ax_.vlines(
            self.x, self.y, self.predicted, color=_canvas.CURVES[1], linewidth=1.0, label="residual", zorder=1
        )
        (self.curve_,) = self.ax_.plot(self.grid, self.curve, color=_canvas.BLUE, linewidth=1.8, label="fit", zorder=2)
        self.points_ = self.ax_.scatter(self.x, self.y, s=22, color="#374151", label="data", zorder=3)
        self.ax_.set(xlabel="x", ylabel="y")
        self.ax_.grid(visible=True, color="#e5e7eb", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        _canvas.legend(self.ax_, "best")
        _canvas.bare(self.ax_)
        return self


class ProjectionDisplay(Display):
    """Least squares as a projection: target, fit and residual as a triangle with its true lengths.

    Parameters
    ----------
    target, fit, residual : float
        Their lengths, about the mean of the target.
    angle : float
        Between target and fit, in degrees; its squared cosine is R² of a projection.

    Attributes
    ----------
    ax_, figure_, sides_
        What matplotlib drew.

    Notes
    -----
    Drawn in the two dimensions of target and fit, so that the angle at the fit is what it is: right for least squares with an
    intercept on the rows of its fit, and otherwise not.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.inspection import ProjectionDisplay
    >>> from qed.linear_model import LinearRegression
    >>> x, y = np.arange(4.0)[:, np.newaxis], [0.0, 1.0, 1.0, 2.0]
    >>> display = ProjectionDisplay.from_estimator(LinearRegression().fit(x, y), x, y)
    >>> abs(display.fit**2 + display.residual**2 - display.target**2) < 1e-12
    True
    """

    ax_: Any
    figure_: Any
    sides_: list[Any]

    def __init__(self, *, target: float, fit: float, residual: float, angle: float) -> None:
        self.target, self.fit, self.residual, self.angle = target, fit, residual, angle

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Measure the triangle of a fitted model, and draw.

        Parameters
        ----------
        estimator : estimator
            A fitted regressor.
        X : array-like of shape (n, p)
            The rows of its fit.
        y : array-like of shape (n,)
            Their targets.

        Returns
        -------
        ProjectionDisplay
            With the lengths.
        """
        aim, found = np.asarray(y, dtype=np.float64), np.asarray(estimator.predict(X), dtype=np.float64)
        if aim.ndim != 1 or found.shape != aim.shape:
            raise InvalidData(f"ProjectionDisplay draws one target; got y of shape {aim.shape}.")
        a, b = aim - aim.mean(), found - aim.mean()
        target, fit = float(np.linalg.norm(a)), float(np.linalg.norm(b))
        cosine = float(a @ b) / (target * fit) if target * fit > 0 else 1.0
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        return cls(target=target, fit=fit, residual=float(np.linalg.norm(a - b)), angle=angle).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the triangle."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(6.0, 4.2))
        turn = np.radians(self.angle)
        top, foot = self.target * np.array([np.cos(turn), np.sin(turn)]), np.array([self.fit, 0.0])
        reach = 1.1 * max(self.target, self.fit, 1e-300)
        self.ax_.plot([0.0, reach], [0.0, 0.0], color="#d1d5db", linewidth=6, solid_capstyle="butt", zorder=0)
        self.ax_.text(reach, 0.0, " span of the columns", color=_canvas.GREY, va="center", ha="left", fontsize=9)
        self.sides_ = []
        for start, end, colour, label in (
            (np.zeros(2), top, "#374151", f"target  {self.target:.3g}"),
            (np.zeros(2), foot, _canvas.BLUE, f"fit  {self.fit:.3g}"),
            (foot, top, _canvas.CURVES[1], f"residual  {self.residual:.3g}"),
        ):
            (line,) = self.ax_.plot(*zip(start, end, strict=True), color=colour, linewidth=2.0, marker="o", label=label)
            self.sides_.append(line)
        self.ax_.set(aspect="equal", title=f"angle {self.angle:.1f}°,  cos² = {np.cos(turn) ** 2:.3f}")
        self.ax_.set_axis_off()
        _canvas.legend(self.ax_, "upper left")
        return self
