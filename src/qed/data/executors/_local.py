"""Executors in this process: the calling thread, and other threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from qed.core._errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

A = TypeVar("A")
B = TypeVar("B")


@runtime_checkable
class Executor(Protocol):
    """Anything with an ordered, bounded map. Function and items need only be picklable for one in other processes."""

    def map(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function to each item, in order, holding only a few items at a time."""
        ...


class Remote(ABC):
    """An executor in other processes. A fold hands it parts of a source, which are read there, in place of chunks read here."""

    @abstractmethod
    def map(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function to each item, in order, holding only a few items at a time."""

    def map_tasks(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Do the same with a function that holds much, such as the rows that models are compared on."""
        return self.map(function, items)

    @property
    def lost(self) -> Exception | None:
        """The error that the other processes cannot be reached any more, if that is so."""
        return None

    def placed_map(self) -> Callable[[Callable[[A], B], Iterable[A]], Iterator[B]]:
        """Return a map that sends items of the same ``number`` to the same process, as long as that lives."""
        return self.map

    def expect_passes(self, parts: Iterable[Any]) -> None:  # noqa: B027  (for those that can keep what they read)
        """Note that parts will be read several times."""

    def run_everywhere(self, function: Callable[..., Any], *args: Any) -> None:  # noqa: B027  (for those that can)
        """Call a function in every process, where it can be reached."""

    def close(self) -> None:  # noqa: B027  (most have nothing to end)
        """End what the executor itself has opened."""


class Serial:
    """One item after the other, in the calling thread."""

    def map(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function to each item when its result is asked for."""
        for item in items:
            yield function(item)

    def __repr__(self) -> str:
        return "Serial()"


class Threads:
    """Items are read in the calling thread while up to `n` threads compute.

    Parameters
    ----------
    n : int
        Threads that compute. One is enough to overlap reading with computing, since the kernels use all cores by
        themselves; more help when one chunk is too small for that.

    Notes
    -----
    At most ``n + 1`` items are alive at a time: n in work, and one read ahead.
    """

    def __init__(self, n: int = 1) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidParameter(f"Threads.n must be an integer >= 1, got {n!r}.")
        self.n = n

    def map(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function in the threads; results come in the order of the items."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  arrays in memory never need it

        pool = ThreadPoolExecutor(self.n, thread_name_prefix="qed-fold")
        waiting: deque[Any] = deque()
        try:
            for item in items:
                ready = [waiting.popleft().result()] if len(waiting) == self.n else []
                waiting.append(pool.submit(function, item))  # before the result goes out, so that no thread idles
                del item  # the work holds it, and lets go of it when done
                yield from ready
            while waiting:
                yield waiting.popleft().result()
        finally:
            # An error or Ctrl-C leaves work that nobody will ask for: drop what has not begun, wait for what has.
            pool.shutdown(wait=True, cancel_futures=True)

    def __repr__(self) -> str:
        return f"Threads({self.n})"
