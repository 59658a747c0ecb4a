"""How many threads qed uses, and how others can tell it.

The number is settled when native code is first used: ``QED_NUM_THREADS`` if set; else the smallest of the processors
this process may run on, the share its control group grants (rounded up) and ``OMP_NUM_THREADS``. Afterwards
``set_num_threads`` and threadpoolctl change it. Results never depend on it.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

from qed import _native
from qed.core._errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType


def get_num_threads() -> int:
    """Return how many threads qed may use.

    Returns
    -------
    int
        The number, the calling thread included.
    """
    return _native.get_num_threads()


def set_num_threads(n: int) -> None:
    """Let qed use up to this many threads, in this process. Results do not depend on it.

    Parameters
    ----------
    n : int
        At least 1, the calling thread included.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        message = f"set_num_threads takes a whole number >= 1, got {n!r}. It counts threads, the calling one included."
        raise InvalidParameter(message)
    _native.set_num_threads(min(n, _MOST))


_MOST = 1024  # more than any machine has processors; keeps absurd numbers from starting absurdly many threads


def default_num_threads() -> int:
    """Work out the number of threads from the environment, the affinity mask and the control group."""
    own = _count_in("QED_NUM_THREADS")
    if own is not None:
        return own
    limits = [_affinity(), _cgroup_share(), _count_in("OMP_NUM_THREADS")]
    return max(1, min(limit for limit in limits if limit is not None))


def count_jobs(n_jobs: int) -> int:
    """Count threads as joblib does: -1 means all processors this process may use, -2 all but one, and so on.

    Parameters
    ----------
    n_jobs : int
        Any whole number but 0.
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        message = (
            f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}. It counts threads; -1 means all, and"
            " n_jobs == 0 has no meaning."
        )
        raise InvalidParameter(message)
    n_jobs = int(n_jobs)
    return n_jobs if n_jobs > 0 else max(1, default_num_threads() + 1 + n_jobs)


def _count_in(variable: str) -> int | None:
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    first = text.split(",")[0].strip()  # OMP_NUM_THREADS may list one number for each level of nesting
    if not first.isdecimal() or int(first) < 1:
        if variable == "OMP_NUM_THREADS":
            return None  # not ours to judge
        message = f"{variable} must be a whole number >= 1, got {text!r}. Unset it to let qed choose."
        raise InvalidParameter(message)
    return min(int(first), _MOST)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cgroup_share(root: str = "/sys/fs/cgroup", groups: str = "/proc/self/cgroup") -> int | None:
    """Processors that the control group grants, rounded up; None if it sets no limit."""
    shares = [share for folder in _cgroup_folders(root, groups) if (share := _quota(folder)) is not None]
    return max(1, math.ceil(min(shares))) if shares else None


def _cgroup_folders(root: str, groups: str) -> list[str]:
    """Folders that may hold a limit: those of our own group and of all groups around it."""
    seen = {root, f"{root}/cpu", f"{root}/cpu,cpuacct"}
    for line in _lines(groups):
        _, controllers, name = line.split(":", 2)
        tops = [root] if controllers == "" else [f"{root}/{controllers}"] if "cpu" in controllers.split(",") else []
        for top in tops:
            seen.add(top)
            for part in filter(None, name.split("/")):
                top = f"{top}/{part}"  # noqa: PLW2901 - one step further down
                seen.add(top)
    return sorted(seen)


def _quota(folder: str) -> float | None:
    for line in _lines(f"{folder}/cpu.max"):  # version 2: "quota period"
        quota, _, period = line.partition(" ")
        return None if quota == "max" else int(quota) / int(period)
    quotas, periods = _lines(f"{folder}/cpu.cfs_quota_us"), _lines(f"{folder}/cpu.cfs_period_us")  # version 1
    if not quotas or not periods or int(quotas[0]) <= 0:
        return None
    return int(quotas[0]) / int(periods[0])


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs more than the rest of this module
            return file.read().split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return []


def _settle(module: ModuleType) -> None:
    """Run once, when native code is loaded: set the number of threads and introduce qed to threadpoolctl."""
    module.set_num_threads(default_num_threads())
    import threadpoolctl  # noqa: PLC0415 - 5 ms that only those who compute should pay

    class QedController(threadpoolctl.LibController):  # type: ignore[misc]
        """How threadpoolctl reads and sets the number of threads of qed."""

        user_api = "qed"
        internal_api = "qed"
        filename_prefixes = ("_v2", "_v3", "_v4", "_portable")
        check_symbols = ("qed_get_num_threads", "qed_set_num_threads")

        def get_num_threads(self) -> int:
            return int(self.dynlib.qed_get_num_threads())

        def set_num_threads(self, num_threads: int) -> None:
            self.dynlib.qed_set_num_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(QedController)


class _Inside:
    """How many blocks are open, in all threads and in the calling one; and a lock that a fork waits for.

    A forked child has one thread, the one that forked. Blocks that others had open are never left there, so the child
    closes them: `close` is called if none is open any more. The fork waits until nobody is halfway in or out.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self._own = threading.local()
        self._close = close
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.lock.acquire, after_in_parent=self.lock.release, after_in_child=self._renew)

    def change(self, by: int) -> int:
        """Count a block that opens or closes, the lock being held; return how many there are now."""
        self.count += by
        self._own.count = getattr(self._own, "count", 0) + by
        return self.count

    def _renew(self) -> None:
        others = self.count - getattr(self._own, "count", 0)
        self.count -= others
        try:
            if others and not self.count:
                self._close()
        finally:
            self.lock.release()  # taken before the fork


class _BlasLimit:
    """One BLAS thread for as long as anybody is inside; the old numbers return when the last one leaves.

    Most libraries keep one number for the process, so two overlapping limits would restore each other's numbers: here
    the first to enter sets it and the last to leave restores it. A library on OpenMP keeps a number for each thread,
    and then every thread sets and restores its own.
    """

    def __init__(self) -> None:
        self._inside = _Inside(close=lambda: _set_all(self._shared))
        self._shared: list[tuple[Any, int]] = []
        self._known: list[Any] = []
        self._seen: object = None

    def enter(self) -> list[tuple[Any, int]]:
        """Set the limit; return what this thread alone has to restore."""
        with self._inside.lock:
            libraries = [(library, library.num_threads) for library in self._libraries()]
            own = [pair for pair in libraries if _is_per_thread(pair[0])]
            if self._inside.count == 0:
                self._shared = []
            # a library that was loaded since the first one entered joins with the number it came with
            known = {library.filepath for library, _ in self._shared}
            self._shared += [
                pair for pair in libraries if not _is_per_thread(pair[0]) and pair[0].filepath not in known
            ]
            self._inside.change(+1)
            _set_all([(library, 1) for library, _ in [*own, *self._shared]])
        return own

    def leave(self, own: list[tuple[Any, int]]) -> None:
        with self._inside.lock:
            _set_all(own if self._inside.change(-1) else [*own, *self._shared])

    def _libraries(self) -> list[Any]:
        # Finding libraries costs more than setting them; scipy.linalg is what brings a second BLAS.
        seen = "scipy.linalg" in sys.modules
        if self._seen != seen:
            import threadpoolctl  # noqa: PLC0415 - see _settle

            blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
            self._known, self._seen = [each for each in blas.lib_controllers if each.num_threads], seen
        return self._known


def _is_per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", "") == "openmp"


def _set_all(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        # Recent threadpoolctl lets a single thread change OpenBLAS, but whoever leaves last has to restore it.
        change = getattr(library, "_real_set_num_threads", library.set_num_threads)
        change(number)


_blas_limit = _BlasLimit()
_ALONE = 4096  # entries of an operand up to which a BLAS uses one thread of its own accord


@contextmanager
def one_blas_thread(entries: int | None = None) -> Iterator[None]:
    """Keep BLAS to one thread inside the block, so that its results do not depend on the number of processors.

    Parameters
    ----------
    entries : int, optional
        How many numbers the largest operand has; where they are too few for BLAS to share out, nothing is done.
    """
    if entries is not None and entries <= _ALONE:
        yield
        return
    own = _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave(own)


_native.when_loaded(_settle)


class _OwnLimit:
    """The number of threads while fits with ``n_jobs`` run: the last to enter sets it, the last to leave restores it."""

    def __init__(self) -> None:
        self._inside = _Inside(close=lambda: set_num_threads(self._before))
        self._before = 1

    def enter(self, n: int) -> None:
        with self._inside.lock:
            if self._inside.count == 0:
                self._before = get_num_threads()
            self._inside.change(+1)
            set_num_threads(n)

    def leave(self) -> None:
        with self._inside.lock:
            if self._inside.change(-1) == 0:
                set_num_threads(self._before)


_own_limit = _OwnLimit()


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[None]:
    """Let qed use ``n_jobs`` threads inside the block, counted as joblib counts.

    Parameters
    ----------
    n_jobs : int or None
        None leaves the number as it is; -1 means all processors this process may use, -2 all but one, and so on.
    """
    if n_jobs is None:
        yield
        return
    _own_limit.enter(count_jobs(n_jobs))
    try:
        yield
    finally:
        _own_limit.leave()
