"""Regions of classes over two columns, with the lines between them."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._canvas import Display, axes

Array = np.ndarray[Any, Any]


class DecisionBoundaryDisplay(Display):
    """What a model says at every point of a grid over two columns, drawn.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (m, m)
        First and second column at the points of the grid.
    response : ndarray of shape (m, m)
        What the model says there: numbers of labels in the order of ``classes``, or scores.
    classes : ndarray, optional
        Labels, when the response is numbers of labels.
    lines : list of ndarray of shape (2, 2), optional
        Ends of straight lines to draw: the boundary of a linear model of two classes, and its margins.
    xlabel, ylabel : str, optional
        Names of the columns.

    Attributes
    ----------
    ax_, figure_, surface_, lines_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.inspection import DecisionBoundaryDisplay
    >>> from qed.svm import LinearSVC
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 3.0], [4.0, 3.0]], ["a", "a", "b", "b"]
    >>> display = DecisionBoundaryDisplay.from_estimator(LinearSVC().fit(X, y), X, grid_resolution=20)
    >>> display.response.shape, len(display.lines)
    ((20, 20), 3)
    """

    ax_: Any
    figure_: Any
    surface_: Any
    lines_: list[Any]

    def __init__(
        self,
        *,
        xx0: Any,
        xx1: Any,
        response: Any,
        classes: Any = None,
        lines: list[Array] | None = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
    ) -> None:
        self.xx0, self.xx1, self.response, self.classes = xx0, xx1, response, classes
        self.lines = [] if lines is None else lines
        self.xlabel, self.ylabel = xlabel, ylabel

    def plot(
        self,
        plot_method: Literal["contourf", "contour", "pcolormesh"] = "contourf",
        ax: Any = None,
        *,
        xlabel: str | None = None,
        ylabel: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        plot_method : {"contourf", "contour", "pcolormesh"}
            How matplotlib draws the response.
        xlabel, ylabel : str, optional
            Names of the columns.
        **kwargs : object
            Passed to matplotlib.
        """
        if plot_method not in ("contourf", "contour", "pcolormesh"):
            raise InvalidParameter(
                f"plot_method must be one of contourf, contour, pcolormesh. Got {plot_method!r} instead."
            )
        self.ax_, self.figure_ = axes(ax)
        if self.classes is not None and plot_method != "pcolormesh" and "levels" not in kwargs:
            kwargs["levels"] = np.arange(len(self.classes) + 1) - 0.5
        self.surface_ = getattr(self.ax_, plot_method)(self.xx0, self.xx1, self.response, **{"alpha": 0.6, **kwargs})
        styles = ["-", *["--"] * len(self.lines)]
        self.lines_ = [
            self.ax_.plot(ends[:, 0], ends[:, 1], color="black", linewidth=1.2, linestyle=style)[0]
            for ends, style in zip(self.lines, styles, strict=False)
        ]
        self.ax_.set(xlabel=xlabel or self.xlabel or "", ylabel=ylabel or self.ylabel or "")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        grid_resolution: int = 100,
        eps: float = 1.0,
        plot_method: Literal["contourf", "contour", "pcolormesh"] = "contourf",
        response_method: Literal["auto", "predict", "decision_function", "predict_proba"] = "auto",
        class_of_interest: Any = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what a fitted model says around rows.

        Parameters
        ----------
        estimator : fitted classifier or regressor
            Of two columns.
        X : array-like or frame of shape (n, 2)
            Rows; the grid reaches ``eps`` beyond them.
        grid_resolution : int
            Points of the grid in each direction.
        eps : float
            How far the grid reaches beyond the rows.
        plot_method : {"contourf", "contour", "pcolormesh"}
            How matplotlib draws the response.
        response_method : {"auto", "predict", "decision_function", "predict_proba"}
            What the model is asked: ``"auto"`` means labels, or predictions of a regressor.
        class_of_interest : label, optional
            Which column of scores or probabilities to draw, when there are several.
        xlabel, ylabel : str, optional
            Names of the columns.
        **kwargs : object
            Passed to matplotlib.

        Returns
        -------
        DecisionBoundaryDisplay
            With the response at the grid. A linear model of two classes also has three lines: its boundary, and where its
            score is one and minus one.
        """
        if not grid_resolution > 1 or not eps >= 0:
            raise InvalidParameter(
                f"grid_resolution must be above 1 and eps at least 0, got {grid_resolution!r} and {eps!r}."
            )
        names: list[str | None] = [str(name) for name in getattr(X, "columns", [])] or [None, None]
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise InvalidData(f"n_features must be equal to 2. Got {rows.shape[-1] if rows.ndim else 0} instead.")
        low, high = rows.min(axis=0) - eps, rows.max(axis=0) + eps
        xx0, xx1 = np.meshgrid(*(np.linspace(a, b, grid_resolution) for a, b in zip(low, high, strict=True)))
        said, classes = _response(
            estimator, np.column_stack([xx0.ravel(), xx1.ravel()]), response_method, class_of_interest
        )
        made = cls(
            xx0=xx0,
            xx1=xx1,
            response=said.reshape(xx0.shape),
            classes=classes,
            lines=_lines(estimator, low, high),
            xlabel=xlabel or names[0],
            ylabel=ylabel or names[1],
        )
        return made.plot(plot_method, ax, **kwargs)


def _response(estimator: Any, grid: Array, method: str, wanted: Any) -> tuple[Array, Any]:
    """Ask the model; labels come as their numbers."""
    labels = getattr(estimator, "classes_", None)
    with warnings.catch_warnings():  # the grid has no names, whatever the rows of the fit had
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return _asked(estimator, grid, method, wanted, labels)


def _asked(estimator: Any, grid: Array, method: str, wanted: Any, labels: Any) -> tuple[Array, Any]:
    if method in ("auto", "predict"):
        said = np.asarray(estimator.predict(grid))
        return (said, None) if labels is None else (np.searchsorted(labels, said), np.asarray(labels))
    said = np.asarray(getattr(estimator, method)(grid), dtype=np.float64)
    if said.ndim == 1:
        return said, None
    if wanted is None and said.shape[1] > 2:
        raise InvalidData("Several classes have scores: name one by class_of_interest, or draw labels.")
    return said[:, -1 if wanted is None else int(np.flatnonzero(np.asarray(labels) == wanted)[0])], None


def _lines(estimator: Any, low: Array, high: Array) -> list[Array]:
    """Return the ends, within the grid, of where a linear model of two classes has scores 0, 1 and -1."""
    coef = getattr(estimator, "coef_", None)
    if coef is None or not hasattr(estimator, "decision_function") or np.size(coef) != 2:
        return []
    w, b = np.ravel(coef).astype(np.float64), float(np.ravel(estimator.intercept_)[0])
    corners = np.stack([low, high])
    if not np.allclose(_response(estimator, corners, "decision_function", None)[0], corners @ w + b, rtol=1e-4):
        return []  # its scores are not those of the plane: a vote, for one
    found = [_across(w, b - level, low, high) for level in (0.0, 1.0, -1.0)]
    return [ends for ends in found if ends is not None]


def _across(w: Array, b: float, low: Array, high: Array) -> Array | None:
    """Return the two points where a line leaves a box; None if it does not meet it."""
    points = []
    for axis, other in ((0, 1), (1, 0)):
        for edge in (low[axis], high[axis]):
            if w[other] != 0:
                at = -(w[axis] * edge + b) / w[other]
                if low[other] <= at <= high[other]:
                    points.append((edge, at) if axis == 0 else (at, edge))
    distinct = np.unique(np.array(points).reshape(-1, 2), axis=0)
    return distinct[[0, -1]] if len(distinct) > 1 else None
