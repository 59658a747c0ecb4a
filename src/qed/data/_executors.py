"""Where a fold computes: in the calling thread, in other threads, or wherever an object with an ordered `map` takes it.

An executor decides where, never what: results come back in the order of the items, whoever finished first.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from qed.core._errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

A = TypeVar("A")
B = TypeVar("B")


@runtime_checkable
class Executor(Protocol):
    """Anything with an ordered, bounded map. A cluster joins here: function and items need only be picklable."""

    def map(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function to each item, in order, holding only a few items at a time."""
        ...


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


_chosen: ContextVar[Executor | None] = ContextVar("qed_executor", default=None)


@contextmanager
def executor(where: Executor | int) -> Iterator[Executor]:
    """Choose where folds compute, inside a ``with`` block.

    Parameters
    ----------
    where : Executor or int
        `Serial()`, `Threads(n)`, an integer (so many threads), or any object with an ordered ``map(function, items)``.

    Examples
    --------
    >>> from qed.data import Serial, executor
    >>> with executor(Serial()) as chosen:
    ...     print(chosen)
    Serial()
    """
    runs = as_executor(where)
    token = _chosen.set(runs)
    try:
        yield runs
    finally:
        _chosen.reset(token)


def as_executor(where: Executor | int) -> Executor:
    """Return the executor meant by an object or by a number of threads."""
    if isinstance(where, int) and not isinstance(where, bool):
        return Threads(where)
    if isinstance(where, Executor) and not isinstance(where, type):
        return where
    raise InvalidParameter(
        f"executor must be Serial(), Threads(n), a number of threads, or an object with map(function, items) "
        f"that keeps the order; got {where!r}."
    )


def chosen_executor(*, in_memory: bool) -> Executor:
    """Return the executor of the enclosing `executor` block; else the calling thread, or one thread beside a reader."""
    found = _chosen.get()
    if found is not None:
        return found
    return Serial() if in_memory else Threads(1)
