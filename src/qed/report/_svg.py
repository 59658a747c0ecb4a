"""A few drawing words: a plot area with axes, and dots, bands, lines and whiskers on it.

Colours are names of CSS classes; the page decides what they mean in light and in dark.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from qed.core._escape import escaped

WIDTH, HEIGHT = 460, 370
NARROW_WIDTH = 380  # wide: for figures that stand three in a row
LETTER = 7.6  # how wide a letter is, on average, in the font of ticks and names
COLOURS = 8
YEAR_ZERO = 12 * 1970  # months before 1970
MARKS = ("circle", "triangle", "square", "diamond")  # groups differ in shape as well as in colour


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers inside an interval, about `count` of them.

    >>> ticks(2.3, 9.9)
    [4.0, 6.0, 8.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # adding 0.0 turns minus zero into zero
    return [round(step * place, 12) + 0.0 for place in range(first, last + 1)]


def number(value: float) -> str:
    """Return a tick's label: thousands apart, no needless digits, a true minus sign."""
    if value and not 1e-4 <= abs(value) < 1e7:
        digits, power = f"{value:.3g}".split("e") if "e" in f"{value:.3g}" else f"{value:.2e}".split("e")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        raised = str(int(power)).translate(_RAISED)
        return f"{digits}·10{raised}".replace("-", "\u2212")
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.6g}"
    return text.replace(",", "\u202f").replace("-", "\u2212")


def date_ticks(low: float, high: float, most: int = 4) -> list[tuple[float, str]]:
    """Return the first days of years, half years, quarters or months inside an interval of days since 1970, or days.

    >>> date_ticks(18628, 19200)
    [(18628.0, '2021-01'), (18809.0, '2021-07'), (18993.0, '2022-01'), (19174.0, '2022-07')]
    """
    first, last = np.array([low, high]).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64).tolist()
    for step in (1, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000))):
        behind = (first + YEAR_ZERO) % -step  # not positive: how far the first mark is, which falls on a round year
        months = np.arange(first - behind, last + 1, step).astype("datetime64[M]")
        days = months.astype("datetime64[D]").astype(np.float64)
        inside = (days >= low) & (days <= high)
        if 2 <= np.count_nonzero(inside) <= most:
            shown = months[inside].astype("datetime64[Y]" if step >= 12 else "datetime64[M]").astype(str)
            return list(zip(days[inside].tolist(), shown.tolist(), strict=True))
        if np.count_nonzero(inside) < 2:
            break
    days = np.array([day for day in ticks(low, high, 2) if day == round(day)])
    return list(zip(days.tolist(), days.astype("datetime64[D]").astype(str).tolist(), strict=True))


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def room_for(span: tuple[float, float]) -> int:
    """Return how far from the edge a vertical axis must stand so that its numbers and its name have room."""
    return 42 + round(LETTER * max(len(number(value)) for value in ticks(*span)))


@dataclass
class Plot:
    """A drawing under construction: data coordinates in, SVG out."""

    x: tuple[float, float]
    y: tuple[float, float]
    left: int = 78
    top: int = 14
    right: int = 14
    bottom: int = 58
    height: int = HEIGHT
    width: int = WIDTH
    below: int = 0  # room for further lines under the axis
    parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Place a point of the data on the drawing."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return (
            round(self.left + across * (self.width - self.left - self.right), 1),
            round(self.height - self.bottom - up * (self.height - self.top - self.bottom), 1),
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Draw a straight line between two points of the data."""
        (a, b), (c, d) = self.at(*start), self.at(*end)
        self.parts.append(f'<line class="{style}" x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>')

    def polygon(self, points: list[tuple[float, float]], style: str) -> None:
        """Fill the shape with these corners."""
        corners = " ".join(f"{a},{b}" for a, b in (self.at(*point) for point in points))
        self.parts.append(f'<polygon class="{style}" points="{corners}"/>')

    def curve(self, points: list[tuple[float, float]], style: str) -> None:
        """Draw a line through all points."""
        places = " ".join(f"{a},{b}" for a, b in (self.at(*point) for point in points))
        self.parts.append(f'<polyline class="{style}" points="{places}"/>')

    def mark(self, x: float, y: float, group: int = 0, size: float = 4.0, hover: str = "") -> None:
        """Draw one observation; `hover` is shown when the pointer rests on it."""
        a, b = self.at(x, y)
        title = f"<title>{escaped(hover)}</title>" if hover else ""
        self.parts.append(mark(a, b, group, size, title))

    def text(self, x: float, y: float, words: str, *, anchor: str = "middle", style: str = "tick") -> None:
        """Write words at a place of the drawing, not of the data."""
        self.parts.append(f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escaped(words)}</text>')

    def bottom_axis(self, label: str, *, dates: bool = False) -> None:
        """Draw grid lines, ticks and a label for x; with `dates`, x counts days since 1970."""
        for value, words in date_ticks(*self.x) if dates else [(value, number(value)) for value in self._apart()]:
            self.line((value, self.y[0]), (value, self.y[1]), "grid")
            self.text(self.at(value, self.y[0])[0], self.height - self.bottom + 20, words)
        # a name that is wider than the plot itself is centred on the drawing
        room = 1.15 * LETTER * len(label) < self.width - self.left - self.right
        middle = (self.left + self.width - self.right) / 2 if room else self.width / 2
        lines = lines_of(label, round(self.width / (1.08 * LETTER)))
        for line, words in enumerate(lines):
            self.text(middle, self.height - 12 + 17 * line, words, style="label")
        self.below = 17 * (len(lines) - 1)

    def _apart(self) -> list[float]:
        """Return as many round numbers as can stand side by side."""
        room = self.width - self.left - self.right
        for count in (5, 4, 3, 2):
            found = ticks(*self.x, count)
            if sum(LETTER * len(number(value)) + 14 for value in found) <= room:
                return found
        return found[:1]

    def left_axis(self, label: str, *, whole: bool = False) -> None:
        """Draw grid lines, ticks and a label for y; of things that are counted whole numbers alone."""
        for value in ticks(*self.y):
            if whole and value != round(value):
                continue
            self.line((self.x[0], value), (self.x[1], value), "grid")
            self.text(self.left - 8, self.at(self.x[0], value)[1] + 4, number(value), anchor="end")
        middle = (self.top + self.height - self.bottom) / 2
        shown = label if LETTER * len(label) < self.height else label[: int(self.height / LETTER) - 1] + "…"
        place = f'transform="translate(16 {middle}) rotate(-90)"'
        self.parts.append(f'<text class="label" {place} text-anchor="middle">{escaped(shown)}</text>')

    def svg(self, description: str) -> str:
        """Return the finished element; the description is for those who cannot see it."""
        body = "\n".join(self.parts)
        size = f'viewBox="0 0 {self.width} {self.height + self.below}"'
        small = ' class="small"' if self.width == NARROW_WIDTH else ""
        return f'<svg{small} {size} role="img" aria-label="{escaped(description)}">\n{body}\n</svg>'


def lines_of(text: str, width: int, most: int = 2) -> list[str]:
    """Break a name into lines; what does not fit into the last one is cut.

    >>> lines_of("how much it rains in the north", 18)
    ['how much it rains', 'in the north']
    >>> lines_of("a_long_name_in_one_piece", 18)
    ['a_long_name_in_', 'one_piece']
    """
    # a name in one piece breaks after its underscores
    words = re.findall(r"[^ _/,]*[ _/,]|[^ _/,]+", text)
    lines = [""]
    for word in words:
        while len(word.rstrip()) > width:
            lines += [word[:width]] if lines[-1] else []
            lines[-1] = word[:width]
            word = word[width:]  # noqa: PLW2901
            lines.append("")
        if len((lines[-1] + word).rstrip()) > width:
            lines.append("")
        lines[-1] += word
    lines = [line.strip() for line in lines if line.strip()] or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: width - 1] + "…"]
    return lines


def mark(a: float, b: float, group: int, size: float, inner: str = "") -> str:
    """One mark in drawing coordinates; its shape and colour say its group."""
    style = f'class="dot group{group % COLOURS}"'
    r = size
    if MARKS[group % len(MARKS)] == "circle":
        return f'<circle {style} cx="{a}" cy="{b}" r="{r}">{inner}</circle>'
    corners = {
        "triangle": ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
        "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    }[MARKS[group % len(MARKS)]]
    points = " ".join(f"{a + r * dx:.1f},{b + r * dy:.1f}" for dx, dy in corners)
    return f'<polygon {style} points="{points}">{inner}</polygon>'
