"""Choosing an executor: ``with qed.executor(...)``."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from qed.core._errors import InvalidParameter
from qed.core._jobs import cluster_map
from qed.data.executors._local import Executor, Remote, Serial, Threads

if TYPE_CHECKING:
    from collections.abc import Iterator

_scratch: ContextVar[str | None] = ContextVar("qed_scratch", default=None)
_chosen: ContextVar[Executor | None] = ContextVar("qed_executor", default=None)


@contextmanager
def executor(where: Any) -> Iterator[Executor]:
    """Choose where folds and searches compute, inside a ``with`` block.

    Parameters
    ----------
    where : Executor, str, int or distributed.Client
        ``"serial"`` or `Serial()`; ``"threads"`` or `Threads(n)`; an integer, which means so many threads; a
        ``distributed.Client``, or ``"dask://host:port"``, the address of a Dask scheduler, to which a client is connected for
        the block; or any object with an ordered ``map(function, items)``.

    Raises
    ------
    InvalidParameter
        When ``where`` is none of these, when the client is closed, or when a worker runs another version of qed.
    ClusterLost
        When the scheduler can no longer be reached. An iterative fit has then stored its model so far with its certificate, as on
        Ctrl-C; the passes that this takes are made in the calling process.

    Examples
    --------
    >>> import qed
    >>> with qed.executor("serial") as chosen:
    ...     print(chosen)
    Serial()
    """
    runs = as_executor(where)
    token = _chosen.set(runs)
    tasks = cluster_map.set(runs.map_tasks if isinstance(runs, Remote) else None)
    try:
        yield runs
    except KeyboardInterrupt as stop:  # a fit that loses its cluster stores what it has, as on Ctrl-C
        lost = runs.lost if isinstance(runs, Remote) else None
        if lost is None:
            raise
        raise lost from stop
    finally:
        cluster_map.reset(tasks)
        _chosen.reset(token)
        if runs is not where and isinstance(runs, Remote):
            runs.close()


def as_executor(where: Any) -> Executor:
    """Return the executor meant by an object, a word, an address or a number of threads."""
    if isinstance(where, str):
        return _named(where)
    if isinstance(where, int) and not isinstance(where, bool):
        return Threads(where)
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(where, distributed.Client):
        from qed.data.executors._dask import DaskExecutor  # noqa: PLC0415  (a client is here, so Dask is loaded)

        return DaskExecutor(where)
    if isinstance(where, Executor) and not isinstance(where, type):
        return where
    raise InvalidParameter(
        "executor must be 'serial', 'threads', 'dask://host:port', a distributed.Client, Serial(), Threads(n), a number of "
        f"threads, or an object with map(function, items) that keeps the order; got {where!r}."
    )


def _named(where: str) -> Executor:
    if where == "serial":
        return Serial()
    if where == "threads":
        return Threads()
    scheme, _, address = where.partition("://")
    if scheme == "dask" and address:
        try:
            from qed.data.executors._dask import DaskExecutor  # noqa: PLC0415  (only who asks for a cluster loads Dask)
        except ImportError as error:
            raise ImportError(
                "A Dask cluster needs dask and distributed. Install them: pip install 'qed[dask]'."
            ) from error
        return DaskExecutor.connected(address)
    raise InvalidParameter(
        f"executor knows the words 'serial' and 'threads', and addresses such as 'dask://localhost:8786'; got {where!r}."
    )


@contextmanager
def scratch_in(folder: str) -> Iterator[None]:
    """Have files that folds need for a while written below a folder."""
    token = _scratch.set(folder)
    try:
        yield
    finally:
        _scratch.reset(token)


def scratch_folder() -> str | None:
    """Return the folder for such files; None for that of temporary files."""
    return _scratch.get()


def current_executor() -> Executor | None:
    """Return the executor of the enclosing `executor` block, None outside of one."""
    return _chosen.get()


def chosen_executor(*, in_memory: bool) -> Executor:
    """Return the executor of a fold.

    That of the enclosing `executor` block; else the calling thread, or one thread beside a reader. Rows that are in memory
    here are not sent elsewhere: the time that takes is that of computing with them.
    """
    found = _chosen.get()
    if found is None or (in_memory and isinstance(found, Remote)):
        return Serial() if in_memory else Threads(1)
    return found
