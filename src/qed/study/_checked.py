"""What the independent checker said right after a fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Checked:
    """What the independent checker said right after the fit."""

    is_accepted: bool
    words: str
