"""The two figures of a linear fit in characters, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.report._svg import number, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


def scatter(x: Vector, y: Vector, *, columns: int = 60, lines: int = 18, label: str = "") -> str:
    """Draw dots against the diagonal: ○ is one observation, ● several in one place.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples,)
        Across and up, on one common scale.
    columns, lines : int
        Size of the drawing in characters.
    label : str
        Written below the drawing.

    Returns
    -------
    str
        Lines of text, without a final newline.
    """
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    span = (high - low) or 1.0

    def place(value: float, cells: int) -> int:
        return round((value - low) / span * (cells - 1))

    drawn = [[" "] * columns for _ in range(lines)]
    for column in range(0, columns, 2):
        drawn[lines - 1 - round(column / (columns - 1) * (lines - 1))][column] = "·"
    for across, up in zip(x, y, strict=True):
        row, column = lines - 1 - place(float(up), lines), place(float(across), columns)
        drawn[row][column] = "●" if drawn[row][column] in "○●" else "○"
    axis = [" "] * (columns + 8)
    marks = {}
    for value in ticks(low, high, 4):
        text = number(value)
        marks[lines - 1 - place(value, lines)] = text
        start = max(0, place(value, columns) - len(text) // 2)
        axis[start : start + len(text)] = text
    rows = [f"{marks.get(line, ''):>8} │{''.join(row).rstrip()}" for line, row in enumerate(drawn)]
    return "\n".join(
        [
            *rows,
            " " * 9 + "└" + "─" * columns,
            " " * 10 + "".join(axis).rstrip(),
            " " * 10 + label.center(columns).rstrip(),
        ]
    )


def whiskers(names: Sequence[str], estimate: Vector, lower: Vector, upper: Vector, *, columns: int = 52) -> str:
    """Draw every coefficient as a dot between the ends of its interval.

    Parameters
    ----------
    names : sequence of str
        One name per coefficient.
    estimate, lower, upper : ndarray of shape (n_features,)
        The dots and the ends of the whiskers.
    columns : int
        Width of the drawing in characters.

    Returns
    -------
    str
        Lines of text, without a final newline.
    """
    low, high = min(0.0, float(lower.min())), max(0.0, float(upper.max()))
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return round((value - low) / span * (columns - 1))

    width = max(len(name) for name in names)
    drawn = []
    for name, middle, start, end in zip(names, estimate, lower, upper, strict=True):
        row = [" "] * columns
        row[place(0.0)] = "┊"
        for column in range(place(float(start)), place(float(end)) + 1):
            row[column] = "─"
        row[place(float(middle))] = "●"
        drawn.append(f"  {name:<{width}}  {''.join(row).rstrip()}")
    axis = [" "] * (columns + 12)
    for value in ticks(low, high, 4):
        text = number(value)
        start_at = max(0, place(value) - len(text) // 2)
        axis[start_at : start_at + len(text)] = text
    return "\n".join([*drawn, " " * (width + 4) + "".join(axis).rstrip()])
