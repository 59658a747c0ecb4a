"""The same work for many parts, on request several at a time, in threads or on a cluster."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from qed.core._threads import count_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator


# Where pure work goes: set by `qed.executor` to the map of a cluster.
cluster_map: ContextVar[Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]] | None] = ContextVar(
    "qed_cluster_map", default=None
)


def mapped(
    work: Callable[[Any], Any], parts: Iterable[Any], n_jobs: int | None, *, pure: bool = False
) -> Generator[Any]:
    """Yield what the work makes of each part, in their order; with several jobs, in threads.

    Parameters
    ----------
    work : callable
        Takes one part. Whoever listens to events here hears those of the work too.
    parts : iterable
        The parts.
    n_jobs : int or None
        Parts at the same time, counted as joblib counts; None for one.
    pure : bool
        Whether the work depends on its part alone and changes nothing, so that other processes can do it. Inside a
        ``with qed.executor(client)`` block its workers do, as many parts at a time as they have threads.
    """
    parts = list(parts)
    elsewhere = cluster_map.get() if pure else None
    if elsewhere is not None and len(parts) > 1:
        yield from elsewhere(work, parts)
        return
    workers = 1 if n_jobs is None else count_jobs(n_jobs)
    if workers == 1 or len(parts) < 2:
        yield from map(work, parts)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  only those who ask for several jobs
    from contextvars import copy_context  # noqa: PLC0415

    with ThreadPoolExecutor(min(workers, len(parts))) as pool:
        futures = [pool.submit(copy_context().run, work, part) for part in parts]
        try:
            for future in futures:
                yield future.result()
        finally:  # also when nobody asks for the rest: an error, an interrupt, a callback that stops
            for future in futures:
                future.cancel()
