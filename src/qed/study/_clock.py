"""Time that is allowed, time that is left."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from qed.core import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT = time.perf_counter  # what clocks read unless they are told otherwise
_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(budget: float | str) -> float:
    """Read a budget: a number of seconds, or ``"90s"``, ``"5m"``, ``"1h"``.

    >>> seconds_of("5m")
    300.0
    """
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", budget.lower())
        if found is None or found[2] not in _UNITS:
            raise InvalidParameter(f"--budget {budget}: a time is written as 60s, 5m or 1h.")
        budget = float(found[1]) * _UNITS[found[2]]
    if not 1 <= budget <= 7 * 86_400:
        raise InvalidParameter(f"The budget must lie between one second and a week, got {budget:g} s.")
    return float(budget)


class Clock:
    """A budget that runs from the moment it is made.

    Parameters
    ----------
    budget : float
        Seconds.
    now : function, optional
        Returns seconds; the clock on the wall unless given. With ``time.process_time`` the budget is one of processor time,
        whatever else the machine does.
    """

    def __init__(self, budget: float, now: Callable[[], float] | None = None) -> None:
        self.budget, self.now = budget, now or DEFAULT
        self.begin = self.now()

    def part(self, seconds: float) -> Clock:
        """Return a clock for a part of the work, which begins now and counts the same seconds."""
        return Clock(seconds, self.now)

    def __reduce__(self) -> tuple[type[Clock], tuple[float, Callable[[], float]]]:
        return type(self), (self.left, self.now)  # clocks of processes begin anywhere: what is left goes along

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self.now() - self.begin

    @property
    def left(self) -> float:
        """Seconds that are left; negative when time is over."""
        return self.budget - self.spent
