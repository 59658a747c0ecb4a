"""The two figures of a linear fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.report._svg import Plot, mark, room_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


def predicted_against_actual(
    actual: Vector,
    predicted: Vector,
    *,
    band: float | None = None,
    label: str = "",
    groups: Sequence[str] | None = None,
) -> str:
    """Draw what was predicted against what happened: on the diagonal a prediction is right.

    Parameters
    ----------
    actual, predicted : ndarray of shape (n_samples,)
        One dot each.
    band : float or None
        Half the width of the band around the diagonal.
    label : str
        Name and unit of the target.
    groups : sequence of str or None
        A group for every dot, shown by shape and colour.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    low = float(min(actual.min(), predicted.min()))
    high = float(max(actual.max(), predicted.max()))
    room = 0.04 * (high - low) or 1.0
    span = (low - room, high + room)
    names = sorted(set(groups)) if groups is not None else []
    plot = Plot(span, span, left=room_for(span), top=34 if names else 14, right=20)
    if band is not None:
        plot.polygon(_band(span, band), "band")
    plot.bottom_axis(f"predicted {label}".strip())
    plot.left_axis(f"actual {label}".strip())
    plot.line((span[0], span[0]), (span[1], span[1]), "rule")
    for row, (x, y) in enumerate(zip(predicted, actual, strict=True)):
        group = names.index(groups[row]) if groups is not None else 0
        plot.mark(float(x), float(y), group, hover=f"predicted {x:.5g}, actual {y:.5g}")
    place = plot.left
    for group, name in enumerate(names):
        plot.parts.append(mark(place + 8, 17, group, 5))
        plot.text(place + 18, 22, name, anchor="start")
        place += 36 + 9 * len(name)
    return plot.svg(f"Scatter plot of {len(actual)} predicted and actual values of {label}, close to the diagonal")


def _band(span: tuple[float, float], half: float) -> list[tuple[float, float]]:
    """Corners of the band around the diagonal, cut to the square."""
    low, high = span
    half = min(half, high - low)
    return [(low, low), (low, low + half), (high - half, high), (high, high), (high, high - half), (low + half, low)]


def coefficient_intervals(
    names: Sequence[str], estimate: Vector, lower: Vector, upper: Vector, *, label: str = "", note: str = ""
) -> str:
    """Draw every coefficient as a dot between the ends of its interval.

    Parameters
    ----------
    names : sequence of str
        One name per coefficient.
    estimate, lower, upper : ndarray of shape (n_features,)
        The dots and the ends of the whiskers.
    label : str
        Name and unit of the horizontal axis.
    note : str
        What the whiskers are, for those who cannot see the figure.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    low, high = min(0.0, float(lower.min())), max(0.0, float(upper.max()))
    room = 0.06 * (high - low) or 1.0
    widest = max(len(name) for name in names)
    rows = len(names)
    height = max(200, 92 + 46 * rows)
    plot = Plot((low - room, high + room), (-0.6, rows - 0.4), left=min(220, 24 + 8 * widest), height=height)
    plot.bottom_axis(label)
    plot.line((0.0, -0.6), (0.0, rows - 0.4), "rule")
    for row, name in enumerate(names):
        up = rows - 1 - row
        style = "whisker" if lower[row] > 0 or upper[row] < 0 else "whisker weak"
        plot.line((float(lower[row]), up), (float(upper[row]), up), style)
        plot.mark(float(estimate[row]), up, 0, size=5.5, hover=f"{name}: {estimate[row]:.4g}")
        plot.text(plot.left - 10, plot.at(0, up)[1] + 5, name, anchor="end", style="name")
    strongest = names[int(np.argmax(np.abs(estimate)))]
    description = f"Dot-and-whisker plot of {rows} coefficients, the largest being {strongest}. {note}"
    return plot.svg(description.strip())
