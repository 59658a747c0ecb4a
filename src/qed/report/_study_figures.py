"""The figures of a study: candidates, curves, a confusion, groups."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from qed.report._svg import WIDTH, Plot, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Whisker", "area_curves", "confusion", "effect_curves", "histogram", "reliability", "short", "whiskers"]

Whisker = tuple[str, float, float, float, int]  # name, lower, middle, upper, group of the colour
ROW = 34
LONGEST_NAME = 28


def short(text: str, width: int = LONGEST_NAME) -> str:
    """Cut a name that would leave its place."""
    return text if len(text) <= width else text[: width - 1] + "…"


def whiskers(
    rows: Sequence[Whisker],
    *,
    label: str,
    description: str,
    rule: float | None = None,
    rule_name: str = "",
    span: tuple[float, float] | None = None,
) -> str:
    """Draw a dot between the ends of an interval for each row.

    Parameters
    ----------
    rows : sequence of (name, lower, middle, upper, group)
        From top to bottom; the group decides colour and shape.
    label : str
        Name and unit of the axis.
    description : str
        For those who cannot see.
    rule : float or None
        Where to draw a dashed line.
    rule_name : str
        What the line is.
    span : (float, float) or None
        Range of the axis; as wide as the rows need unless given.
    """
    ends = [value for _, low, middle, high, _ in rows for value in (low, middle, high)]
    low, high = min([*ends, *([rule] if rule is not None else [])]), max([*ends, *([rule] if rule is not None else [])])
    room = 0.05 * (high - low) or abs(high) * 0.05 or 1.0
    widest = max(len(short(name)) for name, *_ in rows)
    top = 32 if rule_name else 12
    height = top + 56 + ROW * len(rows)
    plot = Plot(
        span or (low - room, high + room),
        (-0.5, len(rows) - 0.5),
        left=min(250, 22 + round(8.3 * widest)),
        top=top,
        right=28,
        height=height,
    )
    plot.bottom_axis(label)
    if rule is not None:
        plot.line((rule, -0.5), (rule, len(rows) - 0.5), "rule")
        if rule_name:
            x = plot.at(rule, 0)[0]
            anchor = "end" if x > WIDTH - 110 else "start" if x < plot.left + 90 else "middle"
            plot.text(x, 20, rule_name, anchor=anchor)
    for at, (name, lower, middle, upper, group) in enumerate(rows):
        up = len(rows) - 1 - at
        plot.line((lower, up), (upper, up), f"whisker tone{group}")
        x, y = plot.at(middle, up)
        hover = escape(f"{name}: {middle:.4g} ({lower:.4g} to {upper:.4g})")
        plot.parts.append(f'<circle class="dot fill{group}" cx="{x}" cy="{y}" r="5.5"><title>{hover}</title></circle>')
        plot.text(plot.left - 10, plot.at(middle, up)[1] + 5, short(name), anchor="end", style="name")
    return plot.svg(description)


def area_curves(
    x: Vector, y: Vector, *, labels: tuple[str, str], diagonal: bool, level: float | None, description: str
) -> str:
    """Draw a curve in the unit square with the area under it filled.

    Parameters
    ----------
    x, y : ndarray
        Points of the curve, x rising.
    labels : (str, str)
        Names of the axes.
    diagonal : bool
        Whether the diagonal is what guessing gives.
    level : float or None
        Or the height that guessing gives.
    description : str
        For those who cannot see.
    """
    x, y = _thinned(x, y)
    plot = Plot((0.0, 1.0), (0.0, 1.0), left=66)
    points = [(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    plot.bottom_axis(labels[0])
    plot.left_axis(labels[1])
    plot.polygon([(points[0][0], 0.0), *points, (points[-1][0], 0.0)], "band")
    if diagonal:
        plot.line((0.0, 0.0), (1.0, 1.0), "rule")
    if level is not None:
        plot.line((0.0, level), (1.0, level), "rule")
    plot.curve(points, "curve")
    return plot.svg(description)


def _thinned(x: Vector, y: Vector, most: int = 300) -> tuple[Vector, Vector]:
    if len(x) <= most:
        return x, y
    keep = np.unique(np.linspace(0, len(x) - 1, most).astype(int))
    return x[keep], y[keep]


def reliability(bins: Sequence[tuple[float, float, float, float, int]], *, label: str, description: str) -> str:
    """Draw how often it happened against how probable it was said to be: on the diagonal probabilities are honest.

    Parameters
    ----------
    bins : sequence of (said, lower, happened, upper, rows)
        One for each group of rows with similar probabilities.
    label : str
        What happens.
    description : str
        For those who cannot see.
    """
    plot = Plot((0.0, 1.0), (0.0, 1.0), left=66)
    plot.bottom_axis(f"probability of {label}, as predicted")
    plot.left_axis("how often it happened")
    plot.line((0.0, 0.0), (1.0, 1.0), "rule")
    for said, lower, _, upper, _ in bins:
        plot.line((said, lower), (said, upper), "whisker tone0 thin")
    plot.curve([(said, happened) for said, _, happened, _, _ in bins], "curve faint")
    for said, lower, happened, upper, rows in bins:
        plot.mark(
            said,
            happened,
            0,
            size=5,
            hover=f"said {said:.2f}, happened {happened:.2f} ({lower:.2f} to {upper:.2f}), {rows} rows",
        )
    return plot.svg(description)


def confusion(counts: NDArray[np.int64], names: Sequence[str], *, description: str) -> str:
    """Draw a grid: rows are what was true, columns what was predicted, darker is more often."""
    k = len(names)
    shown = [short(name, 12) for name in names]
    left = min(150, 48 + round(7.6 * max(len(name) for name in shown)))
    size = (WIDTH - left - 14) / k
    cell = min(size, 64)
    height = round(58 + k * cell + 34)
    parts = [f'<text class="label" x="{left + k * size / 2}" y="18" text-anchor="middle">predicted</text>']
    tilted = k > 6
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = counts / total
    plot = Plot((0, 1), (0, 1), height=height)
    for at, name in enumerate(shown):
        x, y = left + (at + 0.5) * size, 50 + (at + 0.5) * cell
        plot.text(round(x, 1), 40, name if not tilted else short(name, 6), style="tick")
        plot.text(left - 10, round(y + 5, 1), name, anchor="end", style="name")
    for row in range(k):
        for column in range(k):
            x, y = left + column * size, 50 + row * cell
            share = float(shares[row, column])
            style = "hit" if row == column else "miss"
            plot.parts.append(
                f'<rect class="{style}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 2:.1f}" height="{cell - 2:.1f}" rx="3"'
                f' fill-opacity="{0.06 + 0.84 * share:.3f}"/>'
            )
            if k <= 12 and (counts[row, column] or k <= 6):
                ink = "strong" if share > 0.55 else "name"
                plot.text(
                    round(x + size / 2, 1), round(y + cell / 2 + 5, 1), number(int(counts[row, column])), style=ink
                )
    middle = 50 + k * cell / 2
    parts.append(
        f'<text class="label" transform="translate(16 {middle:.1f}) rotate(-90)" text-anchor="middle">true</text>'
    )
    plot.parts = [*parts, *plot.parts]
    return plot.svg(description)


def histogram(values: Vector, *, label: str, description: str, bins: int = 31) -> str:
    """Draw how errors spread around zero; those beyond the outer hundredth stand at the ends."""
    low, high = (float(one) for one in np.quantile(values, [0.005, 0.995]))
    reach = max(abs(low), abs(high)) or 1.0
    counts, edges = np.histogram(np.clip(values, -reach, reach), bins=bins, range=(-reach, reach))
    plot = Plot((-reach, reach), (0.0, float(counts.max()) * 1.05 or 1.0), left=66, height=300)
    plot.bottom_axis(label)
    plot.left_axis("rows")
    for count, start, end in zip(counts, edges, edges[1:], strict=False):
        if count:
            a, b = plot.at(float(start), float(count))
            c, d = plot.at(float(end), 0.0)
            plot.parts.append(
                f'<rect class="bar" x="{a + 0.6:.1f}" y="{b}" width="{max(0.8, c - a - 1.2):.1f}" height="{d - b:.1f}" rx="1.5">'
                f"<title>{count} rows</title></rect>"
            )
    plot.line((0.0, 0.0), (0.0, float(counts.max()) * 1.05), "rule")
    return plot.svg(description)


def effect_curves(x: Vector, y: Vector, span: tuple[float, float], *, label: str, title: str, description: str) -> str:
    """Draw how the mean prediction moves with a number.

    Parameters
    ----------
    x, y : ndarray
        Values of the column, and mean predictions.
    span : (float, float)
        Range of the vertical axis, the same for every column, so that heights compare.
    label, title : str
        Names of the axes.
    description : str
        For those who cannot see.
    """
    plot = Plot((float(x[0]), float(x[-1])), span, left=106, right=26, height=300)
    plot.bottom_axis(label)
    plot.left_axis(title)
    plot.curve([(float(a), float(b)) for a, b in zip(x, y, strict=True)], "curve")
    return plot.svg(description)
