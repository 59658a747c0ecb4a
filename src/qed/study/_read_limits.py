"""How long reading a table may take, and how much memory it may hold: the same for every source."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qed.core import InvalidData
from qed.core._memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.study._clock import Clock


AGAIN = 0.05  # seconds until a reader that goes on is stopped again
ENTRY_SIZE = 57  # bytes of a word beside its letters: 49 for the object, 8 for the place that points to it


class ReadLimits:
    """What a reader asks as it goes: whether time and memory are left.

    Parameters
    ----------
    source : str
        What is read, for messages.
    clock : Clock, optional
        The budget that reading is part of; without one, reading may take as long as it needs.
    """

    def __init__(self, source: str, clock: Clock | None = None) -> None:
        self.source, self.clock = source, clock
        self.rows, self.size = 0, 0

    def add(self, rows: int, size: int) -> None:
        """Count rows that were read and the bytes they take; refuse where time or memory is over.

        What was read is put together into columns at the end, which takes as many bytes again: those must be free.
        """
        self.rows += rows
        self.size += size
        self.require_time()
        fewer = 'Read fewer rows or columns: a query such as "SELECT a, b FROM t LIMIT 100000" takes some of them.'
        require_memory(self.size, f"Putting together the {self.rows:,} rows of {self.source!r} read so far", fewer)

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent."""
        return self.clock is not None and self.clock.left <= 0

    def require_time(self) -> None:
        """Refuse to go on when the budget is spent."""
        if self.clock is not None and self.is_over:
            raise InvalidData(
                f"Reading {self.source!r} took the whole budget of {self.clock.budget:g} s: {self.rows:,} rows were read, and"
                " there were more to come. Allow more time with --budget, or read fewer rows."
            )

    @contextmanager
    def calling(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call `stop`, from another thread, once the budget is spent inside the block; again until the block is left.

        A call that comes between two steps of the work stops nothing, hence the repetition.
        """
        if self.clock is None:
            yield
            return
        done, clock = threading.Event(), self.clock

        def watch() -> None:
            while not done.wait(max(AGAIN, clock.left)):
                stop()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
