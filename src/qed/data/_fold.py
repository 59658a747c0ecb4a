"""Fold a source into one statistic: read, compute, merge in order; where it computes is the executor's business."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from qed.core._errors import InvalidData
from qed.core._events import STOP, Progress, StopFit
from qed.data._executors import Executor, as_executor, chosen_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.data._chunk import Chunk
    from qed.data._sources import Source


class Statistic(Protocol):
    """What can be folded: a summary of rows that merges with the summary of other rows."""

    def merge(self, other: Self, /) -> Self:
        """Return the summary of both sets of rows."""
        ...


A = TypeVar("A")
S = TypeVar("S", bound=Statistic)


class Unfinished(BaseException):
    """A fold that ended before its source did. What was already merged is not lost.

    Attributes
    ----------
    statistic : object or None
        The statistic of the first `chunks` chunks, merged; None when not even one was complete.
    chunks, rows : int
        How much of the source it covers.
    """

    def __init__(self, statistic: Any = None, chunks: int = 0, rows: int = 0) -> None:
        super().__init__(f"stopped after {chunks} chunks, {rows} rows")
        self.statistic, self.chunks, self.rows = statistic, chunks, rows

    def __reduce__(self) -> tuple[type[Unfinished], tuple[Any, int, int]]:
        return type(self), (self.statistic, self.chunks, self.rows)


class Interrupted(Unfinished, KeyboardInterrupt):
    """Ctrl-C during a fold: a KeyboardInterrupt that carries the statistic so far."""


class Stopped(Unfinished, StopFit):
    """A callback asked to stop a fold: a StopFit that carries the statistic so far."""


def fold(
    source: Source,
    of: Callable[[Chunk], S],
    executor: Executor | int | None = None,
    *,
    name: str = "fold",
    verbose: int | bool = 0,
) -> S:
    """Merge ``of(chunk)`` over all chunks, in the order of the source.

    The order of merges is fixed, so the executor cannot change one bit of the answer.

    Parameters
    ----------
    source : Source
        Where chunks come from; read in the calling thread.
    of : callable
        From a chunk to its statistic. An executor in other processes needs it picklable: ``Moments.of`` is.
    executor : Executor or int, optional
        Where ``of`` runs; an integer means so many threads. By default the one chosen by `qed.executor`, and without
        one: the calling thread for arrays in memory, and a thread beside the reader for files.
    name : str
        Who is said to work in progress events; their steps are rows.
    verbose : int or bool
        Above zero, progress is shown on standard error.

    Returns
    -------
    statistic
        Of all rows.

    Raises
    ------
    Interrupted
        On Ctrl-C; it is a KeyboardInterrupt that carries the statistic so far.
    Stopped
        When a callback of `qed.listen` asked to stop before the last chunk; it carries the statistic so far.

    Notes
    -----
    Memory: the chunks an executor holds (one for `Serial`, n + 1 for `Threads(n)`), as many statistics, and the total.
    """
    runs = chosen_executor(in_memory=source.in_memory) if executor is None else as_executor(executor)
    total: S | None = None
    sizes: list[int] = []  # rows of the chunks read; the reader runs ahead of the merges
    done = 0
    parts: Iterator[S] = iter(())
    try:
        with Progress(name, source.n_rows, verbose=verbose) as progress:
            parts = runs.map(of, _counted(source, sizes))
            for part in parts:
                merged = part if total is None else total.merge(part)
                total, done = merged, done + 1  # no call in between, so Ctrl-C finds both or neither
                if progress.step(count=sizes[done - 1]) is STOP and progress.steps != source.n_rows:
                    raise Stopped(total, done, progress.steps)
    except Unfinished:
        raise
    except KeyboardInterrupt as stop:
        raise Interrupted(total, done, sum(sizes[:done])) from stop
    finally:
        if isinstance(parts, Generator):  # close files and threads now, not when the last traceback is gone
            parts.close()
    if total is None:
        raise InvalidData(f"{type(source).__name__} gave no chunk. A source gives at least one, if only of no rows.")
    return total


def each(source: Source, of: Callable[[Chunk], A], executor: Executor | int | None = None) -> Generator[A]:
    """Yield ``of(chunk)`` for all chunks, in the order of the source, holding only as many as the executor does.

    Parameters
    ----------
    source : Source
        Where chunks come from; read in the calling thread.
    of : callable
        From a chunk to what is wanted of it.
    executor : Executor or int, optional
        Where ``of`` runs; as in `fold`.
    """
    runs = chosen_executor(in_memory=source.in_memory) if executor is None else as_executor(executor)
    parts = runs.map(of, source.chunks())
    try:
        yield from parts
    finally:
        if isinstance(parts, Generator):  # close files and threads now, not when the last traceback is gone
            parts.close()


def _counted(source: Source, sizes: list[int]) -> Iterator[Chunk]:
    for chunk in source.chunks():
        sizes.append(chunk.n_rows)
        yield chunk
