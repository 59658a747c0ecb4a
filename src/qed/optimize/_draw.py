"""Curves and contours, with matplotlib, which is loaded when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _canvas

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.optimize._function import Vector

CONTOURS = "qed contours"  # how axes that hold contours already are known
GRID = 160  # points to a side


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw on, new and bare ones unless given."""
    found, _ = _canvas.axes(ax, size=size)
    if ax is None:
        _canvas.bare(found)
    return found


def curve(ax: Any, x: Any, y: Vector, label: str, *, is_log: bool, line: dict[str, Any]) -> Any:
    """Draw one line against iterations."""
    ax = axes(ax, (6.2, 3.8))
    ax.plot(x, y, **{"color": _canvas.CURVES[len(ax.get_lines()) % len(_canvas.CURVES)], "linewidth": 1.6, **line})
    if is_log and y.size:
        ax.set_yscale("log")
    ax.set(xlabel="iteration", ylabel=label)
    ax.grid(visible=True, color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def path(
    ax: Any, value: Callable[[Vector], float], points: Vector, levels: int, margin: float, line: dict[str, Any]
) -> Any:
    """Draw contours of a function of two variables, unless they are there, and a path over them."""
    ax = axes(ax, (5.6, 4.8))
    if ax.get_label() != CONTOURS:
        contours(ax, value, points, levels, margin)
    taken = sum(one.get_marker() == "o" for one in ax.get_lines())
    colour = _canvas.CURVES[(taken + 1) % len(_canvas.CURVES)]
    style = {"color": colour, "marker": "o", "markersize": 3.0, "linewidth": 1.3, "zorder": 3, **line}
    ax.plot(points[:, 0], points[:, 1], **style)
    ax.plot(*points[0], marker="s", color=style["color"], markersize=6, linestyle="none", zorder=4)
    ax.plot(*points[-1], marker="*", color=style["color"], markersize=12, linestyle="none", zorder=4)
    return ax


def contours(ax: Any, value: Callable[[Vector], float], points: Vector, levels: int, margin: float) -> None:
    """Draw contours around a path: close together near the bottom, where a path ends."""
    low, high = points.min(axis=0), points.max(axis=0)
    air = np.maximum(margin * (high - low), 0.1 * float(np.max(high - low)) + 1e-6)
    low, high = low - air, high + air
    if not ax.get_autoscale_on():  # whoever set limits wants to see all of them
        sides = np.array([ax.get_xlim(), ax.get_ylim()])
        low, high = np.minimum(low, sides.min(axis=1)), np.maximum(high, sides.max(axis=1))
    x, y = (np.linspace(low[i], high[i], GRID) for i in range(2))
    with np.errstate(all="ignore"):
        z = np.array([[value(np.array([a, b])) for a in x] for b in y], dtype=np.float64)
    finite = z[np.isfinite(z)]
    bottom, top = float(finite.min()), float(finite.max())
    # squares of equal steps: lines of a bowl would lie at equal distances
    heights = bottom + (top - bottom) * np.linspace(0.0, 1.0, levels + 1)[1:] ** 2
    lines = {"colors": "#9db4cc", "linewidths": 0.9, "linestyles": "solid"}
    ax.contour(x, y, np.where(np.isfinite(z), z, np.nan), levels=np.unique(heights), **lines)
    ax.set(xlabel="first variable", ylabel="second variable")
    ax.set_label(CONTOURS)
