"""Gaussian classes over one column, drawn as curves, with the points where one class becomes more probable than the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidData, _canvas
from qed.inspection._gaussian_contours import gaussians_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

POINTS = 1000
HALVINGS = 60  # of an interval between two points: more than a float64 can tell apart


class ClassCurveDisplay:
    """Probability of each class times its density over one column, and the boundaries between classes.

    Parameters
    ----------
    x : array-like of shape (m,)
        Values of the column, rising.
    joint : array-like of shape (m, k)
        Probability of each class times its density there.
    boundaries : array-like of shape (b,)
        Where another class becomes the most probable one.
    names : sequence of str
        Names of the classes.
    xlabel : str
        Name of the column.

    Attributes
    ----------
    ax_, figure_, lines_, boundary_lines_
        What matplotlib drew.

    Examples
    --------
    >>> from qed.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> from qed.inspection import ClassCurveDisplay
    >>> model = QuadraticDiscriminantAnalysis(store_covariance=True).fit([[-1.0], [1.0], [-4.0], [4.0]], [0, 0, 1, 1])
    >>> display = ClassCurveDisplay.from_estimator(model, [[-1.0], [1.0], [-4.0], [4.0]])
    >>> display.boundaries.round(3).tolist()  # narrow inside, wide on both sides
    [-1.72, 1.72]
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]
    boundary_lines_: list[Any]

    def __init__(self, *, x: Any, joint: Any, boundaries: Any, names: Any, xlabel: str = "") -> None:
        self.x, self.joint, self.boundaries = (np.asarray(one, np.float64) for one in (x, joint, boundaries))
        self.names, self.xlabel = [str(name) for name in names], xlabel
        if self.joint.shape != (*self.x.shape, len(self.names)) or self.x.ndim != 1 or np.any(np.diff(self.x) <= 0):
            raise InvalidData(
                f"x must rise, and joint have a row for each of its values and a column for each name, got shapes {self.x.shape}"
                f" and {self.joint.shape} for {len(self.names)} names."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the classes of a fitted Gaussian classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Gaussian naive Bayes, or linear or quadratic discriminant analysis that stores its covariances, of one column.
        X : array-like of shape (n, 1)
            Rows, which tell how far to draw.
        ax : matplotlib Axes, optional
            Where to draw; a new figure when left out.

        Returns
        -------
        ClassCurveDisplay
            With what was drawn.
        """
        names = [str(name) for name in getattr(X, "columns", [])] or [""]
        rows = np.asarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != 1:
            raise InvalidData(f"Curves of classes are drawn over one column, got shape {rows.shape}.")
        found = gaussians_of(estimator)
        mean = np.array([float(one[0]) for one, _ in found])
        variance = np.array([float(one[0, 0]) for _, one in found])
        reach = 3 * np.sqrt(variance)
        low, high = min(rows.min(), (mean - reach).min()), max(rows.max(), (mean + reach).max())
        x = np.linspace(low, high, POINTS)
        share = np.asarray(getattr(estimator, "class_prior_", getattr(estimator, "priors_", None)), np.float64)
        density = np.exp(-0.5 * (x[:, None] - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
        edges = _changes(lambda values: np.asarray(estimator.predict_log_proba(values[:, None])), x)
        return cls(x=x, joint=share * density, boundaries=edges, names=estimator.classes_, xlabel=names[0]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw curves and boundaries."""
        self.ax_, self.figure_ = _canvas.axes(ax, size=(5.6, 3.8))
        self.lines_ = []
        for at, name in enumerate(self.names):
            colour = _canvas.CURVES[at % len(_canvas.CURVES)]
            self.lines_ += self.ax_.plot(self.x, self.joint[:, at], color=colour, label=name)
            self.ax_.fill_between(self.x, self.joint[:, at], color=colour, alpha=0.10, linewidth=0)
        self.boundary_lines_ = [self.ax_.axvline(at, color="#22252a", linewidth=1.0) for at in self.boundaries]
        self.ax_.set(xlabel=self.xlabel, ylabel="probability times density", ylim=(0.0, None))
        _canvas.bare(self.ax_)
        _canvas.legend(self.ax_, "best")
        return self


def _changes(log_shares: Callable[[Array], Array], x: Array) -> Array:
    """Return the points between the given ones where the most probable class changes, by bisection."""
    best = log_shares(x).argmax(axis=1)
    at = np.flatnonzero(np.diff(best))
    low, high, first = x[at], x[at + 1], best[at]
    for _ in range(HALVINGS if len(at) else 0):
        middle = (low + high) / 2
        same = log_shares(middle).argmax(axis=1) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.asarray((low + high) / 2)
