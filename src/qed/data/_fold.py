"""Fold a source into one statistic: read, compute, merge in order; where it computes is the executor's business."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from qed.core._errors import ClusterLost, InvalidData
from qed.core._events import STOP, Progress, StopFit
from qed.data.executors._choice import as_executor, chosen_executor
from qed.data.executors._local import Executor, Remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.data._chunk import Chunk
    from qed.data._parts import Part
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


class Lost(Unfinished, ClusterLost, KeyboardInterrupt):
    """The cluster went away during a fold: a ClusterLost that carries the statistic so far.

    It interrupts a fit as Ctrl-C does: the fit stores its model so far, and raises.
    """

    def __init__(self, statistic: Any = None, chunks: int = 0, rows: int = 0, words: str = "") -> None:
        super().__init__(statistic, chunks, rows)
        self.args = (f"{words} The fold had merged {rows} rows.",)

    def __reduce__(self) -> tuple[type[Unfinished], tuple[Any, ...]]:
        return type(self), (self.statistic, self.chunks, self.rows)


def fold(
    source: Source,
    of: Callable[[Chunk], S],
    executor: Any = None,
    *,
    name: str = "fold",
    verbose: int | bool = 0,
) -> S:
    """Merge ``of(chunk)`` over all chunks, in the order of the source.

    The chunks of each part of the source are merged, then the parts, in their order. The executor cannot change one bit of the
    answer.

    Parameters
    ----------
    source : Source
        Where chunks come from; read in the calling thread, or by the workers of a cluster.
    of : callable
        From a chunk to its statistic. An executor in other processes needs it picklable: ``Moments.of`` is.
    executor : optional
        Where ``of`` runs; whatever `qed.executor` takes. By default the one chosen by `qed.executor`, and without
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
    Lost
        When the scheduler of a cluster cannot be reached any more; a ClusterLost that carries the statistic so far.

    Notes
    -----
    Memory: the chunks an executor holds (one for `Serial`, n + 1 for `Threads(n)`), as many statistics, and two totals. On a
    cluster a worker holds one chunk and two statistics for each of its threads, and the calling process a statistic for each
    task that is under way, four for each thread of the cluster.
    """
    runs = chosen_executor(in_memory=source.in_memory) if executor is None else as_executor(executor)
    tally: Tally[S] = Tally()
    done = rows = 0
    results = _by_parts(runs, source, of) if isinstance(runs, Remote) else _by_chunks(runs, source, of)
    try:
        with Progress(name, source.n_rows, verbose=verbose) as progress:
            for part, size, statistic in results:
                tally.add(part, statistic)
                done, rows = done + 1, rows + size
                if progress.step(count=size) is STOP and progress.steps != source.n_rows:
                    raise Stopped(tally.total(), done, progress.steps)
    except Unfinished:
        raise
    except KeyboardInterrupt as stop:
        raise Interrupted(tally.total(), done, rows) from stop
    except ClusterLost as lost:
        raise Lost(tally.total(), done, rows, str(lost)) from lost
    finally:
        results.close()  # close files and threads now, not when the last traceback is gone
    total = tally.total()
    if total is None:
        raise InvalidData(f"{type(source).__name__} gave no chunk. A source gives at least one, if only of no rows.")
    return total


def expect_passes(source: Source) -> None:
    """Say that a source will be read several times, so that workers of a cluster may keep what the first pass reads."""
    runs = chosen_executor(in_memory=source.in_memory)
    if isinstance(runs, Remote):
        runs.expect_passes(source.parts())


class Tally(Generic[S]):
    """What was merged so far: chunks into their part, and whole parts in order.

    Parts depend on the source alone, so this order, and every bit of the result, is the same wherever parts are computed.
    """

    def __init__(self) -> None:
        self._number = 0
        self._state: tuple[S | None, S | None] = (None, None)  # of whole parts, and of the part that is being read

    def add(self, number: int, statistic: S) -> None:
        """Merge the statistic of the next chunks, which belong to the part of this number."""
        whole, part = self._state
        if number != self._number:
            whole, part = _merged(whole, part), None
        self._number = number
        self._state = whole, _merged(part, statistic)  # one assignment, so Ctrl-C finds both or neither

    def total(self) -> S | None:
        """Return the statistic of everything so far."""
        return _merged(*self._state)


def _merged(a: S | None, b: S | None) -> S | None:
    if a is None or b is None:
        return b if a is None else a
    return a.merge(b)


def _by_chunks(runs: Executor, source: Source, of: Callable[[Chunk], S]) -> Generator[tuple[int, int, S]]:
    """Read chunks here, and have each computed by the executor; yield the number of its part, its rows and its statistic."""
    read: deque[tuple[int, int]] = deque()  # the reader runs ahead of the results

    def chunks() -> Iterator[Chunk]:
        for number, part in enumerate(source.parts()):
            for chunk in part.chunks():
                read.append((number, chunk.n_rows))
                yield chunk

    results = runs.map(of, chunks())
    try:
        for statistic in results:
            yield (*read.popleft(), statistic)
    finally:
        if isinstance(results, Generator):
            results.close()


def _by_parts(runs: Executor, source: Source, of: Callable[[Chunk], S]) -> Generator[tuple[int, int, S]]:
    """Have each part read and folded by the executor; yield its number, its rows and its statistic."""
    results = runs.map(partial(_of_part, of=of), source.parts())
    try:
        for number, (rows, statistic) in enumerate(results):
            if statistic is not None:  # a part of no rows
                yield number, rows, statistic
    finally:
        if isinstance(results, Generator):
            results.close()


def _of_part(part: Part, of: Callable[[Chunk], S]) -> tuple[int, S | None]:
    total, rows = None, 0
    for chunk in part.chunks():
        total, rows = _merged(total, of(chunk)), rows + chunk.n_rows
    return rows, total


def each(source: Source, of: Callable[[Chunk], A], executor: Any = None) -> Generator[A]:
    """Yield ``of(chunk)`` for all chunks, in the order of the source, holding only as many as the executor does.

    Parameters
    ----------
    source : Source
        Where chunks come from.
    of : callable
        From a chunk to what is wanted of it.
    executor : Executor or int, optional
        Where ``of`` runs; as in `fold`.
    """
    runs = chosen_executor(in_memory=source.in_memory) if executor is None else as_executor(executor)
    lists = isinstance(runs, Remote)
    results: Iterator[Any] = (
        runs.map(partial(_each_of_part, of=of), source.parts()) if lists else runs.map(of, source.chunks())
    )
    try:
        for result in results:
            if lists:
                yield from result
            else:
                yield result
    finally:
        if isinstance(results, Generator):  # close files and threads now, not when the last traceback is gone
            results.close()


def _each_of_part(part: Part, of: Callable[[Chunk], A]) -> list[A]:
    return [of(chunk) for chunk in part.chunks()]
