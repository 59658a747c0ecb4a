"""Numbers as people write them: few digits, millions in words, units where they belong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qed.metrics import Score
    from qed.study import Study


def said(value: float) -> str:
    """Write a number for people: few digits, a true minus sign."""
    if value != value or math.isinf(value):  # noqa: PLR0124
        return "–"
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if size <= abs(value) < 1000 * size:
            return f"{value / size:.3g}\u202f{word}".replace("-", "\u2212")
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if "e" in text or abs(value) >= 1e15:
        text = f"{value:.2e}"
    return text.replace(",", "\u202f").replace("-", "\u2212")


def percent(share: float) -> str:
    """Write a share, finer near its ends."""
    digits = 1 if 0.9 < share < 0.9995 or share < 0.1 else 0
    return f"{100 * share:.{digits}f}\u202f%"


def amount(study: Study, value: float) -> str:
    """Write a value of the target with its unit, money as people write it."""
    unit = study.schema.target.unit
    if unit in ("$", "£", "¥", "₹"):
        return f"\u2212{unit}{said(-value)}" if value < 0 else f"{unit}{said(value)}"
    return f"{said(value)}\u202f{unit}" if unit else said(value)


def interval(score: Score) -> str:
    """Write the ends of an interval."""
    return f"{said(score.lower)} to {said(score.upper)}"
