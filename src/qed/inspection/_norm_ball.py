"""A limit on two coefficients, drawn: the ball that they must stay in, and the contours of the squared error."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _canvas
from qed.core._canvas import Display
from qed.linear_model import ConstrainedLasso, ConstrainedRidge, LinearRegression

Array = np.ndarray[Any, Any]
LEVELS = (1.0, 2.2, 4.0, 6.5)  # contours, as multiples of what the solution costs beyond the free one


class NormBallDisplay(Display):
    """The ball of a norm in two coefficients, with contours of the squared error around the free solution.

    Parameters
    ----------
    first, second : ndarray of shape (k,)
        Grids of the two coefficients.
    error : ndarray of shape (k, k)
        Sum of squares, with the best intercept, at each pair: rows belong to ``second``.
    ball : ndarray of shape (m, 2)
        The edge of the ball, closed.
    solution, free : ndarray of shape (2,)
        Where the limited and the free solution lie.
    least, reached : float
        Their sums of squares.
    norm : str
        Name of the norm.
    names : tuple of str
        Names of the coefficients.

    Attributes
    ----------
    ax_, figure_, ball_, contours_, points_
        What matplotlib drew.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.inspection import NormBallDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> display = NormBallDisplay.from_data(X, X @ [0.3, 2.0], radius=1.0, norm="l1")
    >>> display.solution.round(3).tolist()
    [0.0, 1.0]
    """

    ax_: Any
    figure_: Any
    ball_: Any
    contours_: Any
    points_: list[Any]

    def __init__(
        self,
        *,
        first: Array,
        second: Array,
        error: Array,
        ball: Array,
        solution: Array,
        free: Array,
        least: float,
        reached: float,
        norm: str,
        names: tuple[str, str] = ("$w_1$", "$w_2$"),
    ) -> None:
        self.first, self.second, self.error, self.ball = first, second, error, ball
        self.solution, self.free, self.least, self.reached = solution, free, least, reached
        self.norm, self.names = norm, names

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        radius: float,
        norm: Literal["l1", "l2"] = "l1",
        grid_resolution: int = 201,
        ax: Any = None,
    ) -> Self:
        """Solve with and without the limit, and draw.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Two columns.
        y : array-like of shape (n,)
            Targets.
        radius : float
            The limit, above zero.
        norm : {"l1", "l2"}
            Which size is limited: the sum of absolute values, or the length.
        grid_resolution : int
            Points of each side of the grid.

        Returns
        -------
        NormBallDisplay
            With both solutions.
        """
        rows, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise InvalidData(
                f"NormBallDisplay draws two coefficients, so X must have two columns; got shape {rows.shape}."
                " Choose two."
            )
        if norm not in ("l1", "l2"):
            raise InvalidParameter(f"norm must be 'l1' or 'l2', got {norm!r}.")
        if not 0 < radius < np.inf:
            raise InvalidParameter(f"radius must be a finite number > 0, got {radius!r}.")
        limited = ConstrainedLasso(radius, tol=1e-12) if norm == "l1" else ConstrainedRidge(radius)
        solution, free = limited.fit(rows, target).coef_, LinearRegression().fit(rows, target).coef_
        reach = 1.15 * max(radius, float(np.abs(free).max()), 1e-12)
        middle = 0.5 * (free + np.clip(free, -radius, radius)) * 0.5
        first = np.linspace(middle[0] - 1.2 * reach, middle[0] + 1.2 * reach, grid_resolution)
        second = np.linspace(middle[1] - 1.2 * reach, middle[1] + 1.2 * reach, grid_resolution)
        centred, aim = rows - rows.mean(axis=0), target - target.mean()
        gram, pull, whole = centred.T @ centred, centred.T @ aim, float(aim @ aim)

        def cost(a: Any, b: Any) -> Any:
            square = gram[0, 0] * a * a + 2 * gram[0, 1] * a * b + gram[1, 1] * b * b
            return whole - 2 * (pull[0] * a + pull[1] * b) + square

        return cls(
            first=first,
            second=second,
            error=np.asarray(cost(first[np.newaxis, :], second[:, np.newaxis])),
            ball=_edge(radius, norm),
            solution=solution,
            free=free,
            least=float(cost(*free)),
            reached=float(cost(*solution)),
            norm=norm,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw ball, contours and both solutions."""
        self.ax_, self.figure_ = _canvas.axes(ax)
        self.ax_.axhline(0.0, color="#d1d5db", linewidth=0.8, zorder=0)
        self.ax_.axvline(0.0, color="#d1d5db", linewidth=0.8, zorder=0)
        (self.ball_,) = self.ax_.fill(
            *self.ball.T,
            facecolor="#2f6db322",
            edgecolor=_canvas.BLUE,
            linewidth=1.8,
            label=f"{self.norm} ball",
            zorder=1,
        )
        beyond = max(self.reached - self.least, 1e-9 * float(np.ptp(self.error)))
        # the smallest contour goes through the solution: that is where it touches the ball
        levels = [self.least + share * beyond for share in (0.25, *LEVELS)]
        self.contours_ = self.ax_.contour(
            self.first,
            self.second,
            self.error,
            levels=levels,
            colors=_canvas.CURVES[1],
            linewidths=1.1,
            alpha=0.8,
            zorder=2,
        )
        self.points_ = [
            self.ax_.plot(*point, marker, color=colour, markersize=7, label=label, zorder=3)[0]
            for point, marker, colour, label in (
                (self.solution, "o", _canvas.BLUE, "limited"),
                (self.free, "s", _canvas.CURVES[1], "free"),
            )
        ]
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1], aspect="equal")
        self.ax_.set(xlim=(self.first[0], self.first[-1]), ylim=(self.second[0], self.second[-1]))
        _canvas.legend(self.ax_, "lower right")
        _canvas.bare(self.ax_)
        return self


def _edge(radius: float, norm: str) -> Array:
    """Return the edge of a ball, closed."""
    if norm == "l1":
        return radius * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]])
    angle = np.linspace(0.0, 2 * np.pi, 241)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])
