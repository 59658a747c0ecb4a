"""Figures of contributions: bars over all rows, a swarm of dots, and the steps of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._escape import escaped
from qed.report._format_numbers import said
from qed.report._svg import LETTER, WIDTH, Plot, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

ROW = 32
SHADES = 5  # colours between a column's small values and its large ones
NO_SHADE = -1  # of what has no order, and of gaps
SHARE_OF_NAMES = 0.42  # of the width, at most


def _frame(names: Sequence[str], span: tuple[float, float], label: str, width: int, row: int = ROW) -> Plot:
    """Draw the names of lines from top to bottom, and an axis below them."""
    shown = [lines_of(name, int((SHARE_OF_NAMES * width - 22) / LETTER), 1)[0] for name in names]
    left = 22 + round(LETTER * max(len(name) for name in shown))
    n = len(names)
    plot = Plot(span, (-0.5, n - 0.5), left=left, top=12, right=24, height=68 + row * n, width=width)
    plot.bottom_axis(label)
    for at, name in enumerate(shown):
        plot.text(left - 10, plot.at(0, n - 1 - at)[1] + 5, name, anchor="end", style="name")
    return plot


def _wide(low: float, high: float) -> tuple[float, float]:
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def contribution_bars(names: Sequence[str], sizes: Vector, *, label: str, description: str) -> str:
    """Draw the mean absolute contribution of each column.

    Parameters
    ----------
    names : sequence of str
        Columns, the largest first.
    sizes : ndarray
        Their contributions.
    label : str
        Name and unit of the axis.
    description : str
        For those who cannot see.
    """
    most = float(sizes.max(initial=0.0)) or 1.0
    plot = _frame(names, (0.0, 1.16 * most), label, WIDTH)
    for at, size in enumerate(sizes.tolist()):
        _bar(plot, 0.0, size, len(names) - 1 - at, "bar", f"{names[at]}: {said(size)}")
        x, y = plot.at(size, len(names) - 1 - at)
        plot.text(x + 6, y + 5, said(size), anchor="start")
    return plot.svg(description)


def _bar(plot: Plot, start: float, end: float, line: int, style: str, hover: str) -> None:
    (a, y), (b, _) = plot.at(min(start, end), line), plot.at(max(start, end), line)
    plot.parts.append(
        f'<rect class="{style}" x="{a}" y="{y - 9:.1f}" width="{max(b - a, 1.0):.1f}" height="18" rx="2">'
        f"<title>{escaped(hover)}</title></rect>"
    )


def swarm(
    names: Sequence[str], values: Vector, shades: NDArray[np.int64], hovers: Sequence[Sequence[str]], **words: str
) -> str:
    """Draw a dot for each row on the line of each column, where its contribution is.

    Parameters
    ----------
    names : sequence of str
        Columns, the most important first.
    values : ndarray of shape (n, columns)
        Contributions.
    shades : ndarray of int of shape (n, columns)
        From 0 for a column's least values to ``SHADES - 1`` for its greatest; ``NO_SHADE`` without order.
    hovers : sequence of sequence of str
        What is said of the dot of each row.
    **words : str
        ``label`` of the axis, and ``description`` for those who cannot see.
    """
    plot = _frame(names, _wide(min(0.0, float(values.min())), max(0.0, float(values.max()))), words["label"], WIDTH)
    n = len(names)
    plot.line((0.0, -0.5), (0.0, n - 0.5), "rule")
    for at in range(n):
        for row, (value, up) in enumerate(zip(values[:, at].tolist(), _apart(values[:, at]).tolist(), strict=True)):
            x, y = plot.at(value, n - 1 - at + up)
            shade = int(shades[row, at])
            style = "fill3" if shade == NO_SHADE else f"shade{shade}"
            plot.parts.append(
                f'<circle class="dot {style}" cx="{x}" cy="{y}" r="3.2"><title>{escaped(hovers[row][at])}</title></circle>'
            )
    return plot.svg(words["description"])


def _apart(values: Vector) -> Vector:
    """Return heights within a line that keep dots of nearly equal values apart."""
    span = float(np.ptp(values)) or 1.0
    cells = np.floor((values - values.min()) / span * 60).astype(np.int64)
    counts = np.bincount(cells)
    order = np.argsort(cells, kind="stable")
    rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    heights = np.empty(len(values))
    heights[order] = np.where(rank % 2 == 0, rank // 2, -(rank // 2) - 1)
    return np.asarray(heights * (0.38 / max(float(counts.max()) / 2, 4.0)))


def shades_of(values: Vector) -> NDArray[np.int64]:
    """Return by value which fifth of the others it lies in; gaps have no shade."""
    known = np.sort(values[~np.isnan(values)])
    if len(known) < 2 or known[0] == known[-1]:
        return np.full(len(values), NO_SHADE)
    last = max(int(np.searchsorted(known, known[-1], side="left")), 1)
    share = np.searchsorted(known, values, side="left") / last
    return np.where(np.isnan(values), NO_SHADE, np.minimum((SHADES * share).astype(np.int64), SHADES - 1))


def waterfall(steps: Sequence[tuple[str, float]], start: float, **words: Any) -> str:
    """Draw how contributions lead from the base value to a prediction.

    Parameters
    ----------
    steps : sequence of (name, contribution)
        From top to bottom.
    start : float
        The base value.
    **words : str
        ``label`` of the axis, and ``description`` for those who cannot see.
    """
    least = 1e-6 * max(abs(size) for _, size in steps)  # what is less is nothing beside the others
    steps = [(name, size if abs(size) > least else 0.0) for name, size in steps]
    ends = start + np.cumsum([size for _, size in steps])
    low, high = min(start, float(ends.min())), max(start, float(ends.max()))
    room = 0.2 * (high - low) or 1.0  # for the numbers beside the bars
    end = float(ends[-1])
    names = ["on average", *[name for name, _ in steps], "prediction"]
    plot = _frame(names, (low - room, high + room), words["label"], WIDTH, row=28)
    line, at = len(names) - 1, start
    plot.line((start, -0.5), (start, line + 0.5), "rule")
    for name, value, up in (("on average", start, line), ("prediction", end, 0)):
        x, y = plot.at(value, up)
        plot.parts.append(f'<circle class="dot fill3" cx="{x}" cy="{y}" r="5"><title>{name}</title></circle>')
        plot.text(x + 10, y + 5, said(value), anchor="start")
    for name, size in steps:
        line -= 1
        _bar(plot, at, at + size, line, "miss" if size > 0 else "hit", f"{name}: {said(size)}")
        x, y = plot.at(max(at, at + size), line)
        plot.text(x + 6, y + 5, f"+{said(size)}" if size > 0 else said(size), anchor="start")
        at += size
    return plot.svg(words["description"])
