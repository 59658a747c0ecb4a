"""The figures of a study: candidates, curves, a confusion, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.core._escape import escaped
from qed.report._svg import COLOURS, LETTER, NARROW_WIDTH, WIDTH, Plot, lines_of, mark, number, room_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


Whisker = tuple[str, float, float, float, int]  # name, lower, middle, upper, group of the colour
ROW = 32
LEGEND = 20  # height of a line of names
SHARE_OF_NAMES = 0.46  # of the width, at most


def whiskers(
    rows: Sequence[Whisker],
    *,
    label: str,
    description: str,
    rule: float | None = None,
    rule_name: str = "",
    span: tuple[float, float] | None = None,
    width: int = WIDTH,
) -> str:
    """Draw a dot between the ends of an interval for each row.

    Parameters
    ----------
    rows : sequence of (name, lower, middle, upper, group)
        From top to bottom; the group decides colour and shape. Long names go on in a second line, and so does what follows a
        line break in a name.
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
    width : int
        Of the drawing.
    """
    ends = [value for _, low, middle, high, _ in rows for value in (low, middle, high)]
    low, high = min([*ends, *([rule] if rule is not None else [])]), max([*ends, *([rule] if rule is not None else [])])
    room = 0.05 * (high - low) or abs(high) * 0.05 or 1.0
    letters = int((SHARE_OF_NAMES * width - 22) / LETTER)
    names = [_broken(name, letters) for name, *_ in rows]
    top, step = 32 if rule_name else 12, ROW + 10 * any(len(lines) > 1 for lines in names)
    plot = Plot(
        span or (low - room, high + room),
        (-0.5, len(rows) - 0.5),
        left=22 + round(LETTER * max(len(line) for lines in names for line in lines)),
        top=top,
        right=24,
        height=top + 56 + step * len(rows),
        width=width,
    )
    plot.bottom_axis(label)
    if rule is not None:
        plot.line((rule, -0.5), (rule, len(rows) - 0.5), "rule")
        if rule_name:
            x = plot.at(rule, 0)[0]
            anchor = "end" if x > width - 110 else "start" if x < plot.left + 90 else "middle"
            plot.text(x, 20, rule_name, anchor=anchor)
    for at, (name, lower, middle, upper, group) in enumerate(rows):
        up = len(rows) - 1 - at
        plot.line((lower, up), (upper, up), f"whisker tone{group}")
        x, y = plot.at(middle, up)
        hover = escaped(f"{name}: {middle:.4g} ({lower:.4g} to {upper:.4g})".replace("\n", " "))
        plot.parts.append(f'<circle class="dot fill{group}" cx="{x}" cy="{y}" r="5.5"><title>{hover}</title></circle>')
        for line, words in enumerate(names[at]):
            style = "tick" if line and "\n" in name else "name"
            plot.text(plot.left - 10, y + 5 + 18 * (line - (len(names[at]) - 1) / 2), words, anchor="end", style=style)
    return plot.svg(description)


def _broken(name: str, letters: int) -> list[str]:
    first, _, rest = name.partition("\n")
    if not rest:
        return lines_of(first, letters)
    return [lines_of(first, letters, 1)[0], lines_of(rest, letters, 1)[0]]


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
    top = 1.0 if diagonal or float(y[x > 0].max(initial=0.0)) > 0.4 else 1.1 * float(y[x > 0].max(initial=level or 0.1))
    if top < 1:
        x, y = x[x > 0], y[x > 0]  # at nothing found the share is one by convention
    plot = Plot((0.0, 1.0), (0.0, top), left=room_for((0.0, top)), width=NARROW_WIDTH, height=330)
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
    most = max([max(said, upper) for said, _, _, upper, _ in bins], default=1.0)
    span = (0.0, 1.0 if most > 0.4 else 1.1 * most)  # what is rare is drawn larger
    plot = Plot(span, span, left=room_for(span), width=NARROW_WIDTH, height=330)
    plot.bottom_axis(f"probability of {label}, as predicted")
    plot.left_axis("how often it happened")
    plot.line((0.0, 0.0), (span[1], span[1]), "rule")
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
    shown = [lines_of(name, 18 if k <= 5 else 14, 1)[0] for name in names]
    longest = LETTER * max(len(name) for name in shown)
    left = 46 + round(longest)
    size = (WIDTH - left - 14) / k
    tilted = longest > size - 4
    if tilted:  # the last name leans out of the grid
        size = (WIDTH - left - max(14.0, 0.57 * longest - size / 2)) / k
    cell = min(size, 60)
    head = 50 + (round(0.84 * longest) if tilted else 0)
    height = round(head + 8 + k * cell)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = counts / total
    plot = Plot((0, 1), (0, 1), height=height)
    plot.text(left + k * size / 2, 18, "predicted", style="label")
    for at, name in enumerate(shown):
        x, y = left + (at + 0.5) * size, head + (at + 0.5) * cell
        if tilted:
            place = f'transform="translate({x + 4:.1f} {head - 8}) rotate(-55)"'
            plot.parts.append(f'<text class="tick" {place} text-anchor="start">{escaped(name)}</text>')
        else:
            plot.text(round(x, 1), head - 10, name, style="tick")
        plot.text(left - 10, round(y + 5, 1), name, anchor="end", style="name")
    for row in range(k):
        for column in range(k):
            x, y = left + column * size, head + row * cell
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
    place = f'transform="translate(16 {head + k * cell / 2:.1f}) rotate(-90)"'
    plot.parts.append(f'<text class="label" {place} text-anchor="middle">true</text>')
    return plot.svg(description)


def histogram(values: Vector, *, label: str, description: str) -> str:
    """Draw how errors spread around zero; those beyond the outer hundredth stand at the ends."""
    bins = min(31, 2 * round(len(values) ** 0.5 / 2) + 5)  # an odd number, so that zero is in the middle of a bar
    low, high = (float(one) for one in np.quantile(values, [0.005, 0.995]))
    reach = max(abs(low), abs(high)) or 1.0
    counts, edges = np.histogram(np.clip(values, -reach, reach), bins=bins, range=(-reach, reach))
    span = (0.0, float(counts.max()) * 1.05 or 1.0)
    plot = Plot((-reach, reach), span, left=room_for(span), right=20, height=290)
    plot.bottom_axis(label)
    plot.left_axis("rows", whole=True)
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


def effect_curves(
    x: Vector,
    y: Vector,
    span: tuple[float, float],
    *,
    names: Sequence[str],
    groups: Sequence[int],
    label: str,
    title: str,
    description: str,
    dates: bool,
) -> str:
    """Draw how the mean prediction moves with a number or with time.

    Parameters
    ----------
    x : ndarray of shape (points,)
        Values of the column; with `dates`, days since 1970.
    y : ndarray of shape (points, curves)
        Mean predictions.
    span : (float, float)
        Range of the vertical axis, the same for every column, so that heights compare.
    names : sequence of str
        Names of the curves, where there are several.
    groups : sequence of int
        Groups of the curves, shown by colour; likewise.
    label, title : str
        Names of the axes.
    description : str
        For those who cannot see.
    dates : bool
        Whether the horizontal axis shows dates.
    """
    top = 14 + LEGEND * -(-len(names) // 2)
    plot = Plot(
        (float(x[0]), float(x[-1])), span, left=room_for(span), top=top, right=22, height=256 + top, width=NARROW_WIDTH
    )
    _legend(plot, names, groups)
    plot.bottom_axis(label, dates=dates)
    plot.left_axis(title)
    for group, curve in zip(groups or [0], y.T.tolist(), strict=True):
        plot.curve(list(zip(x.tolist(), curve, strict=True)), f"curve line{group % COLOURS}")
    return plot.svg(description)


def effect_dots(
    labels: Sequence[str],
    y: Vector,
    span: tuple[float, float],
    *,
    names: Sequence[str],
    groups: Sequence[int],
    title: str,
    description: str,
) -> str:
    """Draw the mean prediction for each category; the parameters are those of `effect_curves`."""
    shown = [lines_of(label, int((SHARE_OF_NAMES * NARROW_WIDTH - 22) / LETTER), 1)[0] for label in labels]
    top = 12 + LEGEND * -(-len(names) // 2)
    left = 22 + round(LETTER * max(len(line) for line in shown))
    plot = Plot(
        span, (-0.5, len(y) - 0.5), left=left, top=top, right=24, height=top + 56 + ROW * len(y), width=NARROW_WIDTH
    )
    _legend(plot, names, groups)
    plot.bottom_axis(title)
    for at, (label, values) in enumerate(zip(shown, y.tolist(), strict=True)):
        up = len(y) - 1 - at
        plot.line((span[0], up), (span[1], up), "grid")
        plot.text(plot.left - 10, plot.at(span[0], up)[1] + 5, label, anchor="end", style="name")
        for group, value in zip(groups or [0], values, strict=True):
            plot.mark(value, up, group, 5.5, hover=f"{labels[at]}: {value:.4g}")
    return plot.svg(description)


def _legend(plot: Plot, names: Sequence[str], groups: Sequence[int]) -> None:
    """Name the curves in their colours, two in a line."""
    half = (plot.width - 20) / 2
    for at, (name, group) in enumerate(zip(names, groups, strict=True)):
        x, y = 14 + half * (at % 2), 14 + LEGEND * (at // 2)
        plot.parts.append(mark(x, y - 4, group, 4.5))
        plot.text(x + 10, y, lines_of(name, int(half / LETTER) - 3, 1)[0], anchor="start")
