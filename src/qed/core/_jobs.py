"""The same work for many parts, on request several at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.core._threads import count_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def mapped(work: Callable[[Any], Any], parts: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """Yield what the work makes of each part, in their order; with several jobs, in threads.

    Parameters
    ----------
    work : callable
        Takes one part. Whoever listens to events here hears those of the work too.
    parts : iterable
        The parts.
    n_jobs : int or None
        Parts at the same time, counted as joblib counts; None for one.
    """
    parts = list(parts)
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
