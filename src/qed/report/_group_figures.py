"""Figures of rows without a target: embeddings, sizes, curves over the number of clusters, silhouettes, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.core._escape import escaped
from qed.report._svg import COLOURS, LETTER, NARROW_WIDTH, WIDTH, Plot, lines_of, mark, number, room_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Numbers = NDArray[np.int64]

MOST_SHARES = 0.9  # darkest shade of a difference
DARKEST = 2.0  # standard deviations from which on a difference is drawn as dark as can be


def scatter(
    points: Vector,
    groups: Numbers | None,
    names: Sequence[str],
    *,
    labels: tuple[str, str],
    description: str,
    hovers: Sequence[str] = (),
    marked: Sequence[int] = (),
) -> str:
    """Draw rows as points; groups differ in colour and shape, and carry their names.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Coordinates.
    groups : ndarray of int of shape (n,) or None
        The group of each point, from zero.
    names : sequence of str
        Names of the groups.
    labels : (str, str)
        Names of the axes.
    description : str
        For those who cannot see.
    hovers : sequence of str
        What is shown when the pointer rests on a point.
    marked : sequence of int
        Points that are drawn last and larger.
    """
    plot = _frame(points, labels, top=34 if names else 14)
    last = set(marked)
    for row in [*(row for row in range(len(points)) if row not in last), *marked]:
        hover = hovers[row] if len(hovers) else ""
        size = 6.0 if row in last else 3.4 if len(points) > 300 else 4.2
        plot.mark(
            float(points[row, 0]), float(points[row, 1]), int(groups[row]) if groups is not None else 0, size, hover
        )
    _legend(plot, names)
    return plot.svg(description)


def shaded_scatter(
    points: Vector, values: Vector, *, labels: tuple[str, str], name: str, description: str, hovers: Sequence[str] = ()
) -> str:
    """Draw rows as points in five shades, from the smallest fifth of a column to its largest; gaps are grey."""
    cuts = np.nanquantile(values, [0.2, 0.4, 0.6, 0.8])
    shades = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
    plot = _frame(points, labels, top=34)
    for row, (x, y) in enumerate(points):
        a, b = plot.at(float(x), float(y))
        style = "weak fill3" if shades[row] < 0 else f"shade{shades[row]}"
        title = f"<title>{escaped(hovers[row])}</title>" if len(hovers) else ""
        plot.parts.append(f'<circle class="dot {style}" cx="{a}" cy="{b}" r="3.6">{title}</circle>')
    plot.text(plot.left, 22, f"{lines_of(name, 30, 1)[0]}: low", anchor="start")
    place = plot.left + 1.12 * LETTER * (len(lines_of(name, 30, 1)[0]) + 6)  # small figures have larger letters
    for shade in range(5):
        plot.parts.append(f'<circle class="dot shade{shade}" cx="{place + 14 * shade:.1f}" cy="17" r="5"/>')
    plot.text(place + 68, 22, "high", anchor="start")
    return plot.svg(description)


def _frame(points: Vector, labels: tuple[str, str], *, top: int) -> Plot:
    """Return axes with room for all points."""
    spans = []
    for at in range(2):
        low, high = float(points[:, at].min()), float(points[:, at].max())
        room = 0.05 * (high - low) or 1.0
        spans.append((low - room, high + room))
    plot = Plot(spans[0], spans[1], left=room_for(spans[1]), top=top, right=18)
    plot.bottom_axis(labels[0])
    plot.left_axis(labels[1])
    return plot


def _legend(plot: Plot, names: Sequence[str]) -> None:
    place = float(plot.left)
    for group, name in enumerate(names):
        shown = lines_of(name, 18, 1)[0]
        if place + 24 + LETTER * len(shown) > plot.width:
            plot.text(place + 8, 22, "…", anchor="start")
            return
        plot.parts.append(mark(place + 8, 17, group, 5))
        plot.text(place + 18, 22, shown, anchor="start")
        place += 34 + LETTER * len(shown)


def bars(rows: Sequence[tuple[str, float, str, int]], *, description: str) -> str:
    """Draw a horizontal bar for each row: its name, its length, what is written at its end, and the group of its colour."""
    most = max((length for _, length, _, _ in rows), default=1.0) or 1.0
    names = [lines_of(name, 24, 1)[0] for name, *_ in rows]
    left = 22 + round(LETTER * max((len(name) for name in names), default=1))
    end = 14 + round(LETTER * max((len(words) for _, _, words, _ in rows), default=1))
    plot = Plot((0.0, most), (-0.5, len(rows) - 0.5), left=left, right=end, top=8, bottom=8, height=16 + 34 * len(rows))
    for at, (_, length, words, group) in enumerate(rows):
        x, y = plot.at(length, len(rows) - 1 - at)
        wide = max(1.5, x - left)
        plot.parts.append(
            f'<rect class="group{group % COLOURS}" x="{left}" y="{y - 11:.1f}" width="{wide:.1f}" height="22" rx="3"/>'
        )
        plot.text(left - 10, y + 5, names[at], anchor="end", style="name")
        plot.text(left + wide + 8, y + 5, words, anchor="start")
    return plot.svg(description)


def over_k(
    ks: Numbers, values: Vector, *, label: str, chosen: int, errors: Vector | None = None, description: str
) -> str:
    """Draw a measure against the number of clusters, the chosen number marked; whiskers are standard errors."""
    good = np.isfinite(values)
    half = np.zeros(len(values)) if errors is None else np.nan_to_num(errors)
    low, high = float(np.min((values - half)[good])), float(np.max((values + half)[good]))
    room = 0.08 * (high - low) or 0.5
    span = (low - room, high + room)
    plot = Plot((float(ks[0]) - 0.4, float(ks[-1]) + 0.4), span, left=room_for(span), height=260, width=NARROW_WIDTH)
    plot.bottom_axis("number of clusters")
    plot.left_axis(label)
    plot.line((float(chosen), span[0]), (float(chosen), span[1]), "rule")
    if errors is not None:
        for k, value, one in zip(ks[good], values[good], half[good], strict=True):
            plot.line((float(k), float(value - one)), (float(k), float(value + one)), "whisker tone3 thin")
    plot.curve([(float(k), float(v)) for k, v in zip(ks[good], values[good], strict=True)], "curve")
    for k, value in zip(ks[good], values[good], strict=True):
        plot.mark(float(k), float(value), int(k == chosen), 4.6, f"{int(k)} clusters: {value:.4g}")
    return plot.svg(description)


def silhouette_figure(silhouettes: Vector, groups: Numbers, names: Sequence[str], *, description: str) -> str:
    """Draw the silhouette of each row as a line, group by group, the largest first; the mean is dashed."""
    low = min(-0.05, float(silhouettes.min()))
    present = [at for at in range(len(names)) if np.any(groups == at)]
    gap = 0.03 * len(silhouettes) + 1
    total = len(silhouettes) + gap * (len(present) - 1)
    plot = Plot((low, 1.0), (0.0, float(total)), left=70, height=330)
    plot.bottom_axis("silhouette")
    top = float(total)
    for at in present:
        own = np.sort(silhouettes[groups == at])[::-1]
        keep = np.unique(np.linspace(0, len(own) - 1, min(len(own), 160)).astype(int))
        edge = [(float(own[i]), top - (i + 0.5)) for i in keep]
        plot.polygon([(0.0, top), (float(own[0]), top), *edge, (float(own[-1]), top - len(own)), (0.0, top - len(own))],
                     f"group{at % COLOURS}")  # fmt: skip
        middle = plot.at(low, top - len(own) / 2)[1]
        plot.text(plot.left - 10, middle + 5, lines_of(names[at], 7, 1)[0], anchor="end", style="name")
        top -= len(own) + gap
    mean = float(silhouettes.mean())
    plot.line((mean, 0.0), (mean, float(total)), "rule")
    return plot.svg(description)


def differences(rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str], *, description: str) -> str:
    """Draw a grid of standardised differences: lines are columns, columns are groups; blue is above the rest, orange below."""
    letters = 26
    shown = [lines_of(name, letters, 1)[0] for name, _ in rows]
    left = 18 + round(LETTER * max((len(name) for name in shown), default=1))
    size = (WIDTH - left - 14) / max(1, len(names))
    plot = Plot((0, 1), (0, 1), height=38 + 27 * len(rows))
    for at, name in enumerate(names):
        plot.text(
            round(left + (at + 0.5) * size, 1), 20, lines_of(name, max(3, int(size / LETTER)), 1)[0], style="label"
        )
    for line, (name, values) in enumerate(rows):
        y = 30 + 27 * line
        plot.text(left - 10, y + 17, shown[line], anchor="end", style="name")
        for at, value in enumerate(values):
            x = left + at * size
            style = "hit" if value > 0 else "miss"
            shade = 0.04 + MOST_SHARES * min(1.0, abs(value) / DARKEST)
            words = escaped(f"{name}, {names[at]}: {value:+.2f} standard deviations")
            plot.parts.append(
                f'<rect class="{style}" x="{x + 1:.1f}" y="{y}" width="{size - 2:.1f}" height="25" rx="3"'
                f' fill-opacity="{shade:.3f}"><title>{words}</title></rect>'
            )
            if size > 40:
                ink = "strong" if shade > 0.6 else "tick"
                plot.text(round(x + size / 2, 1), y + 17, f"{value:+.1f}".replace("-", "\u2212"), style=ink)
    return plot.svg(description)


def score_histogram(scores: Vector, threshold: float, *, description: str) -> str:
    """Draw how anomaly scores spread; those above the threshold in another colour, heights as square roots to show few rows."""
    low, high = float(scores.min()), float(scores.max())
    room = high - low or 1.0
    # bars end at the threshold, so that none holds rows of both sides
    width = room / 40
    first = threshold - width * np.ceil((threshold - low) / width)
    edges = np.arange(first, high + width, width)
    counts, edges = np.histogram(scores, bins=edges if len(edges) > 2 else 2)
    span = (0.0, 1.05 * float(np.sqrt(counts.max())))
    plot = Plot((float(edges[0]), float(edges[-1])), span, left=52, right=20, height=290)
    plot.bottom_axis("anomaly score")
    for rows in (1, 10, 100, 1000, 10_000, 100_000):
        if np.sqrt(rows) < span[1]:
            plot.line((plot.x[0], float(np.sqrt(rows))), (plot.x[1], float(np.sqrt(rows))), "grid")
            height = plot.at(plot.x[0], float(np.sqrt(rows)))[1]
            plot.text(plot.left - 8, height + 4, number(rows), anchor="end")
    for count, start, end in zip(counts, edges, edges[1:], strict=False):
        if count:
            a, b = plot.at(float(start), float(np.sqrt(count)))
            c, d = plot.at(float(end), 0.0)
            style = "group1" if start >= threshold - 1e-9 * room else "bar"
            box = f'x="{a + 0.6:.1f}" y="{b}" width="{max(0.8, c - a - 1.2):.1f}" height="{d - b:.1f}" rx="1.5"'
            plot.parts.append(f'<rect class="{style}" {box}><title>{count} rows</title></rect>')
    plot.line((threshold, 0.0), (threshold, span[1]), "rule")
    return plot.svg(description)
