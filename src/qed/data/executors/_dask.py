"""The one file that imports Dask: an executor on its workers, and its collections as sources.

**Faults.** A task is a pure function of a part. When a worker dies, Dask gives its tasks to another, and the answer has the same
bits. Tasks that were sent to a certain worker, which is gone, are sent again: where no other was there at that moment, Dask would
keep them for it without limit. A part is given up, with an error that names its files and row groups, when more workers die during
it than `distributed.scheduler.allowed-failures` (3 unless configured): Dask counts for a task, and `Sent.deaths` for one that is
sent again. When the scheduler cannot be reached any more, or no worker comes back, `ClusterLost` is raised.

**Order and memory.** At most `TASKS_PER_THREAD` tasks for each thread of the cluster are under way. Results are taken in the
order of the items. A worker holds, for each of its threads, one chunk of the part that it reads, and the part's result.

**Reading once.** What several passes will read, workers keep (`_held`): the chunks of as many parts of files as memory allows. A
fit of several passes says so before its first; else a second pass shows that there will be more. Chunks are results of tasks, so
Dask sends work to where they are, and reads again what a dead worker had.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import dask
import distributed
import numpy as np
from distributed.comm import CommClosedError
from distributed.protocol import pickle

from qed.core._errors import ClusterLost, InvalidData, InvalidParameter
from qed.core._threads import limited_threads
from qed.core._version import __version__
from qed.data._chunk import FLOATS
from qed.data._frames import FrameLayout, frame_layout
from qed.data._parts import innermost, with_innermost
from qed.data._sources import Readable
from qed.data.executors import _held
from qed.data.executors._array_layout import ArrayLayout
from qed.data.executors._choice import current_executor, scratch_in
from qed.data.executors._local import Remote
from qed.data.executors._sent import Placed, Sent, Stranded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from qed.data._chunk import Chunk, Schema
    from qed.data._parts import Part

A = TypeVar("A")
B = TypeVar("B")

TASKS_PER_THREAD = 4  # enough that no thread waits for the calling process between two tasks
CHECK_SECONDS = 0.5  # how often a wait looks whether the scheduler is still there
SLOW_SECONDS = 30.0  # a part that is waited for this long is named in the log
CONNECT_SECONDS = 10
WORKERLESS_SECONDS = 300.0  # how long tasks wait for a worker where none is left: what Dask gives a silent one


class DaskExecutor(Remote):
    """The workers of a Dask cluster, as `qed.executor` uses them.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster. It stays open, unless it was made by `connected`.
    """

    def __init__(self, client: distributed.Client) -> None:
        self._client, self._owns = client, False
        self._lost: ClusterLost | None = None
        self._threads, self._asked = _require_running(client), time.monotonic()
        self._held, self._turn = _held.HeldBlocks(), 0
        _require_same_version(client)

    @classmethod
    def connected(cls, address: str) -> Self:
        """Connect to the scheduler at an address, such as ``localhost:8786``; `close` closes the connection."""
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterLost(
                f"No Dask scheduler answers at {address!r} ({error}). Start one (dask scheduler), and check host and port."
            ) from error
        made = cls(client)
        made._owns = True
        return made

    def close(self) -> None:
        """Let go of what workers keep, and close the client if it was made here."""
        self._held.clear()
        if self._owns:
            self._client.close()

    def map(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function on the workers; results come in the order of the items."""
        rest = iter(items)
        if self._lost is not None:  # what is left of a fit that was cut short
            yield from map(function, rest)
            return
        half = TASKS_PER_THREAD * len(self.require_cluster()) // 2
        self._held.passes += 1
        groups = (list(group) for _, group in groupby(rest, key=self._held.of))
        waiting: deque[Sent] = deque()
        with self.cleared(waiting):
            try:
                while True:
                    if len(waiting) <= half:  # tasks go out, and results come in, several in a message
                        waiting.extend(self._submit(function, list(islice(groups, 2 * half - len(waiting)))))
                    if not waiting:
                        return
                    try:
                        answers = self.ready(waiting, min(half, len(waiting)))
                    except Stranded as stranded:
                        self._held.let_go(stranded.workers)
                        self.send_again(waiting, stranded.workers, lambda sent: self._submit(function, [sent.group]))
                        continue
                    for some in answers:
                        yield from some
            finally:
                if self._client.status == "running":
                    self._held.let_go()

    def map_tasks(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply a function that holds much: it is sent once, to every worker."""
        self.require_cluster()
        (held,) = self._client.scatter([function], broadcast=True, hash=False)
        yield from self.map(held, items)

    def placed_map(self) -> Callable[[Callable[[A], B], Iterable[A]], Iterator[B]]:
        """Return a map that sends items of the same ``number`` to the same worker, as long as that lives."""
        return Placed(self).map

    def run_everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function on every worker; a cluster that cannot be reached is left alone."""
        if self._client.status == "running":
            self._client.run(function, *args, on_error="ignore")

    def expect_passes(self, parts: Iterable[Any]) -> None:
        """Keep parts of files from the next pass on, as if an earlier one had read them."""
        self._held.expect(parts, len(self.require_cluster()))

    def _submit(self, function: Any, groups: list[list[A]]) -> list[Sent]:
        """Send tasks out, each with items that it answers one by one."""
        if not groups:
            return []
        if isinstance(innermost(groups[0][0]), DelayedPart):
            tasks = [dask.delayed(_listed, pure=False)(_loaded(function, item)) for (item,) in groups]
            return [Sent(*one) for one in zip(self._client.compute(tasks), groups, strict=True)]
        n, function = len(groups), _packed(function)
        packed = [[_packed(item) for item in group] for group in groups]
        kept, places, addresses = zip(*map(self._hold, groups), strict=True)
        futures = self._client.map(
            _run_each, [function] * n, packed, [__version__] * n, kept, places, pure=False, batch_size=n
        )
        return [Sent(*one) for one in zip(futures, groups, addresses, strict=True)]

    def submit_to(self, address: str, function: Any, items: list[Any], places: list[int]) -> list[Sent]:
        """Send items to a worker; one that joins, or has nothing to do, may take them."""
        there = {"workers": [address], "allow_other_workers": True}
        if isinstance(innermost(items[0]), DelayedPart):
            tasks = [dask.delayed(_listed, pure=False)(_loaded(function, item)) for item in items]
            futures = self._client.compute(tasks, **there)
            return [
                Sent(future, [item], address, [at]) for future, item, at in zip(futures, items, places, strict=True)
            ]
        packed = [_packed(item) for item in items]
        future = self._client.submit(_run_each, _packed(function), packed, __version__, pure=False, **there)
        return [Sent(future, items, address, places)]

    def _hold(self, group: list[Any]) -> tuple[Any, list[int], str]:
        """Return the future of a block that is read again, which parts of it are meant, and its worker; None to read files."""
        block = self._held.of(group[0])
        if not isinstance(block, _held.Block):
            return None, [], ""
        parts = block.parts
        if block.used and block.chunks is None and parts and self._held.has_room(block.nbytes, self._most_held()):
            threads, self._turn = self.require_cluster(), self._turn + 1
            packed, address = [_packed(part) for part in parts], threads[self._turn % len(threads)][0]
            there = {"workers": [address], "allow_other_workers": True}
            block.chunks = self._client.submit(_read_block, packed, __version__, pure=False, **there)
            block.address = address
        block.used = self._held.passes
        address = "" if block.chunks is None else block.address
        return block.chunks, [block.place(innermost(item)) for item in group], address

    def _most_held(self) -> float:
        """Return how many bytes of chunks all workers together may keep."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        limits = (_held.HELD_SHARE * (worker["memory_limit"] or np.inf) for worker in workers)
        return float(sum(min(_held.HELD_BYTES, limit) for limit in limits))

    def ready(self, waiting: deque[Sent], count: int) -> list[Any]:
        """Wait for the first so many results, and take them with those behind them that are there as well.

        `Stranded` is raised when a worker is gone that any of the tasks was sent to; then none is taken.
        """
        self._wait_for(waiting, count)
        count += sum(1 for _ in takewhile(lambda one: one.future.status == "finished", islice(waiting, count, None)))
        taken = list(islice(waiting, count))
        failed = next((one for one in taken if one.future.status == "error"), None)  # of several, the first is told
        try:
            answers = self._gathered([failed] if failed else taken, waiting)
        except distributed.KilledWorker as error:
            raise (failed or taken[0]).given_up() from error
        for _ in taken:
            waiting.popleft()
        return answers

    def _gathered(self, taken: list[Sent], waiting: deque[Sent]) -> list[Any]:
        """Take results. One that was lost with its worker is waited for again, as `ready` did."""
        if self._client.status != "running":
            raise self.gone()
        gathered = self._client.gather([one.future for one in taken], asynchronous=True)
        coming = asyncio.run_coroutine_threadsafe(gathered, self._client.loop.asyncio_loop)
        while wait([coming], CHECK_SECONDS).not_done:
            self._workers()
            self._wait_for(waiting, len(taken))
        return list(coming.result())

    def send_again(self, waiting: deque[Sent], workers: set[str], send: Callable[[Sent], list[Sent]]) -> None:
        """Send tasks again whose worker is gone, in their place; the others go on. What workers died of is given up."""
        stranded = [sent.is_stranded(workers) for sent in waiting]
        self._client.cancel([sent.future for sent, is_stranded in zip(waiting, stranded, strict=True) if is_stranded])
        allowed = dask.config.get("distributed.scheduler.allowed-failures")
        for is_stranded in stranded:
            sent = waiting.popleft()
            if is_stranded and sent.deaths >= allowed:
                raise sent.given_up()
            again = (one._replace(deaths=sent.deaths + 1) for one in send(sent)) if is_stranded else [sent]
            waiting.extend(again)

    @contextmanager
    def cleared(self, waiting: deque[Sent]) -> Iterator[None]:
        """Cancel what is left after an error, after Ctrl-C, or when nobody asks for the rest; tell that the cluster is lost."""
        try:
            yield
        except Exception as error:
            lost = self.loss_behind(error)
            if lost is None:
                raise
            raise lost from error
        finally:
            if waiting and self._client.status == "running":
                self._client.cancel([sent.future for sent in waiting])

    def _wait_for(self, waiting: deque[Sent], count: int) -> None:
        """Wait until the first tasks have ended, well or not; look now and then whether the cluster is still there."""
        since, warned = time.monotonic(), False
        workers_seen = since
        while under_way := [one for one in islice(waiting, count) if not one.future.done()]:
            try:
                under_way[-1].future.exception(timeout=CHECK_SECONDS)  # the last: when it ends, most have ended
            except TimeoutError:
                now, workers = time.monotonic(), self._workers()
                if workers and any(sent.is_stranded(workers) for sent in waiting):
                    raise Stranded(workers) from None
                workers_seen = now if workers else workers_seen
                if now - workers_seen > WORKERLESS_SECONDS:
                    raise self.gone(f"The Dask cluster has had no worker for {WORKERLESS_SECONDS:.0f} s.") from None
                if not warned and now - since > SLOW_SECONDS:
                    label = under_way[0].label or "a task"
                    logging.getLogger("qed").info("waiting for %s since %.0f s", label, SLOW_SECONDS)
                    warned = True

    def loss_behind(self, error: Exception) -> ClusterLost | None:
        """Return the error that the scheduler is gone, if that is what an error came from."""
        if isinstance(error, ClusterLost):
            return None
        if isinstance(error, CancelledError | CommClosedError):
            try:  # it can be seen before the client knows that the connection is broken
                self._workers()
            except ClusterLost as lost:
                return lost
        return None if self._client.status == "running" else self.gone()

    def _workers(self) -> set[str]:
        """Return the addresses of the workers; a scheduler that cannot be reached is an error."""
        try:
            if self._client.status == "running":
                threads = _threads_of(self._client)
                self._threads, self._asked = threads or self._threads, time.monotonic()
                return {address for address, _ in threads}
        except OSError as error:  # the connection breaks before the client has noticed
            raise self.gone() from error
        raise self.gone()

    @property
    def lost(self) -> ClusterLost | None:
        """The error that the scheduler cannot be reached any more, if that is so."""
        return self._lost

    def gone(self, words: str = "") -> ClusterLost:
        """Return the error that the scheduler, or every worker, is gone; from now on, what is left of a fit is computed here."""
        if self._lost is None:
            words = words or f"The Dask scheduler cannot be reached any more (the client is {self._client.status})."
            self._lost = ClusterLost(
                f"{words} A fit that had begun has left its model so far, and what that needed was computed here. Restart the"
                " cluster and fit again; models with warm_start or partial_fit go on from what they have."
            )
            logging.getLogger("qed").warning("%s", self._lost)
        return self._lost

    def require_cluster(self) -> list[tuple[str, int]]:
        """Refuse a cluster that is gone; return the threads of its workers, or of those it had: others may be on their way.

        Each is the address of a worker, and a number. They are asked for at most every `CHECK_SECONDS`: it takes as long as a
        short pass.
        """
        if self._client.status != "running" or time.monotonic() - self._asked > CHECK_SECONDS:
            self._workers()
        return self._threads

    def count_rows(self, counts: Sequence[RowCount]) -> list[int]:
        """Count the rows of partitions, of all at once."""
        waiting: deque[Sent] = deque()
        with self.cleared(waiting):
            futures = self._client.compute([one.delayed for one in counts])
            waiting.extend(Sent(future, [one]) for future, one in zip(futures, counts, strict=True))
            return self.ready(waiting, len(waiting))

    def __repr__(self) -> str:
        return f"DaskExecutor({self._client.scheduler.address if self._client.scheduler else 'closed'})"


def _packed(one: Any) -> Any:
    """Return what is sent as bytes, which the scheduler passes on: objects it would unpack, and pack again for each worker."""
    return one if isinstance(one, distributed.Future) else pickle.dumps(one)


def _unpacked(one: Any) -> Any:
    return pickle.loads(one) if isinstance(one, bytes) else one


def _listed(answer: B) -> list[B]:
    return [answer]


def _run_each(
    function: Any, items: Sequence[Any], version: str, held: Any = None, places: Sequence[int] = ()
) -> list[Any]:
    function = _unpacked(function)
    kept = [None] * len(items) if held is None else [held.parts[place] for place in places]
    return [_run(function, item, version, part) for item, part in zip(items, kept, strict=True)]


def _read_block(parts: Sequence[Any], version: str) -> _held.HeldBlock:
    return _held.HeldBlock(tuple(_run_each(_held.HeldPart.of, parts, version)))


def _run(function: Any, item: Any, version: str, held: _held.HeldPart | None = None) -> Any:
    """Compute on a worker, with one thread of its own: Dask runs as many tasks as the worker has threads."""
    if version != __version__:  # a worker that joined later
        raise InvalidParameter(_other_version({"this worker": __version__}, version))
    function, item = _unpacked(function), _unpacked(item)
    if held is not None:
        item = with_innermost(item, held)
    try:
        with limited_threads(1), scratch_in(distributed.get_worker().local_directory):
            return function(item)
    except Exception as error:
        label = getattr(item, "label", None)
        if label is not None:
            error.add_note(f"In {label}.")
        raise


def _loaded(function: Callable[[Any], B], item: Any) -> Any:
    """Return a task on a part whose data Dask computes."""
    inner = innermost(item)
    sent = with_innermost(item, replace(inner, delayed=(), counts=None))
    return dask.delayed(_run_loaded, pure=False)(function, sent, __version__, *inner.delayed)


def _run_loaded(function: Callable[[Any], B], part: Any, version: str, *data: Any) -> B:
    result: B = _run(function, with_innermost(part, replace(innermost(part), data=data)), version)
    return result


def _require_running(client: distributed.Client) -> list[tuple[str, int]]:
    """Refuse a client that is closed, and a cluster without workers; return the threads of these."""
    if client.status != "running":
        raise InvalidParameter(
            f"The Dask client is {client.status}. Connect a new one: distributed.Client('tcp://scheduler:8786')."
        )
    threads = _threads_of(client)
    if not threads:
        raise InvalidParameter("The Dask cluster has no workers. Start some (dask worker), or scale the cluster up.")
    return threads


def _threads_of(client: distributed.Client) -> list[tuple[str, int]]:
    return [(address, k) for address, many in sorted(client.nthreads().items()) for k in range(many)]


def _require_same_version(client: distributed.Client) -> None:
    """Refuse a cluster whose workers lack qed, or have another version, or another Python."""
    found = client.run(_versions)
    here = _versions()
    other = {address: version for address, version in found.items() if version != here}
    if other:
        raise InvalidParameter(_other_version(other, here))


def _versions() -> str:
    """Name the versions that must agree. Self-contained: a worker without qed can run it."""
    import sys  # noqa: PLC0415  (it runs elsewhere)

    try:
        from qed import __version__ as version  # noqa: PLC0415
    except ImportError:
        version = "(not installed)"
    return f"qed {version}, Python {sys.version_info[0]}.{sys.version_info[1]}"


def _other_version(found: dict[str, str], here: str) -> str:
    worker, version = next(iter(found.items()))
    more = f" ({len(found)} workers differ)" if len(found) > 1 else ""
    return (
        f"The worker {worker} runs {version}, and this process {here}{more}. Results would not agree: install the same version "
        "on all workers, and restart them."
    )


# -- collections ---------------------------------------------------------------------------------------------------


def is_collection(data: Any) -> bool:
    """Tell whether this is a collection of Dask."""
    return bool(dask.is_dask_collection(data))


def collection_source(
    data: Any, *, target: Any, features: Any, weight: Any, batch_rows: int | None
) -> CollectionSource:
    """Return a dask.dataframe or a dask.array as a source; arrays bring targets and weights as arrays."""
    array = sys.modules.get("dask.array")
    if array is not None and isinstance(data, array.Array):
        return _array_source(data, target, features, weight, batch_rows)
    if not hasattr(data, "partitions"):
        raise InvalidData(f"scan takes a dask.dataframe or a dask.array, got {type(data).__name__}.")
    layout = frame_layout(
        data._meta,  # noqa: SLF001  (a frame of no rows that has the columns; Dask has no public name for it)
        target=target,
        features=features,
        weight=weight,
        batch_rows=batch_rows,
        label="the Dask dataframe",
    )
    return CollectionSource(layout.schema, _delayed_parts(layout, [(one,) for one in data.to_delayed()]))


def _array_source(X: Any, target: Any, features: Any, weight: Any, batch_rows: int | None) -> CollectionSource:
    from qed.data._parquet import chunk_rows  # noqa: PLC0415  (the same rule as for files)

    if features is not None:
        raise InvalidParameter("features are names of columns, and a dask.array has none: index it, X[:, [0, 2]].")
    if X.ndim != 2:
        raise InvalidData(f"scan needs a dask.array of two dimensions, got shape {X.shape}.")
    array = sys.modules["dask.array"]
    X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
    beside = []
    for name, one in (("target", target), ("weight", weight)):
        if one is None:
            continue
        if not isinstance(one, array.Array) or one.ndim > (2 if name == "target" else 1):
            raise InvalidParameter(
                f"Beside a dask.array, {name} is a dask.array with one entry for each row; got {one!r:.100}."
            )
        known = not (np.isnan(one.shape[0]) or np.isnan(X.shape[0]))  # else blocks are compared when they are computed
        if known and one.shape[0] != X.shape[0]:
            raise InvalidData(f"X has {X.shape[0]} rows, and {name} has {one.shape[0]}.")
        cut = {0: X.chunks[0], **({1: -1} if one.ndim == 2 else {})}
        beside.append(one.rechunk(cut) if known else one)
    dtype = FLOATS[1] if X.dtype == np.float32 else FLOATS[0]
    m = 0 if target is None else 1 if target.ndim == 1 else target.shape[1]
    roles = ("target",) * (target is not None) + ("weight",) * (weight is not None)
    layout = ArrayLayout(X.shape[1], m, roles, dtype, chunk_rows(batch_rows, X.shape[1] + m))
    columns = [one.to_delayed().ravel() for one in (X, *beside)]
    blocks = list(zip(*columns, strict=True))
    return CollectionSource(layout.schema, _delayed_parts(layout, blocks))


class RowCount(NamedTuple):
    """The rows of one partition."""

    number: int
    delayed: Any

    @property
    def label(self) -> str:
        """What is counted."""
        return f"the rows of partition {self.number} of the Dask collection"


class RowCounts:
    """Rows of all partitions, counted when first asked for."""

    def __init__(self, delayed: Sequence[Any]) -> None:
        self._delayed = delayed

    @cached_property
    def rows(self) -> list[int]:
        """One number for each partition."""
        counts, runs = [RowCount(k, dask.delayed(len)(one)) for k, one in enumerate(self._delayed)], current_executor()
        if isinstance(runs, DaskExecutor):
            return runs.count_rows(counts)
        return list(dask.compute(*(one.delayed for one in counts), scheduler="synchronous"))


@dataclass(frozen=True, eq=False)
class DelayedPart:
    """One partition of a collection, computed by Dask where it is read."""

    layout: FrameLayout | ArrayLayout
    number: int
    delayed: tuple[Any, ...]  # what it is computed from
    counts: RowCounts | None
    data: tuple[Any, ...] = field(default=(), repr=False)  # what was computed

    @property
    def label(self) -> str:
        """The number of the partition."""
        return f"partition {self.number} of the Dask collection"

    @property
    def n_rows(self) -> int:
        """Rows, which are counted when first asked for."""
        return len(self.data[0]) if self.counts is None else self.counts.rows[self.number]

    def chunks(self) -> Iterator[Chunk]:
        """Cut the partition; without its data, it is computed in this thread."""
        data = self.data or dask.compute(*self.delayed, scheduler="synchronous")
        return self.layout.chunks(data if isinstance(self.layout, ArrayLayout) else data[0], self.label)


def _delayed_parts(layout: FrameLayout | ArrayLayout, blocks: Sequence[tuple[Any, ...]]) -> list[DelayedPart]:
    counts = RowCounts([block[0] for block in blocks])
    return [DelayedPart(layout, number, block, counts) for number, block in enumerate(blocks)]


class CollectionSource(Readable):
    """A collection of Dask as a source; made by `qed.scan`."""

    def __init__(self, schema: Schema, parts: Sequence[DelayedPart]) -> None:
        self._schema, self._parts = schema, tuple(parts)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema

    @property
    def n_rows(self) -> None:
        """None: only computing the collection can tell."""
        return

    @property
    def in_memory(self) -> bool:
        """False: partitions are computed one by one."""
        return False

    def parts(self) -> Sequence[Part]:
        """Give the partitions; their rows are counted when first asked for."""
        return self._parts

    def __repr__(self) -> str:
        return f"<CollectionSource: {len(self._parts)} partitions, {self._schema.n_features} features>"
