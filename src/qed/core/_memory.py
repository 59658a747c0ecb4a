"""How much memory a fit may take, asked before it is allocated.

A fit that needs a large block says so first: past the limit it refuses with the size and the alternative, instead of being
killed halfway. The limit is 80 % of what the machine (or its container) has free at that moment, or what
``QED_MEMORY_LIMIT`` says in bytes.
"""

from __future__ import annotations

import os

from qed.core._errors import InvalidParameter, MemoryLimit

MIN_CHECKED_BYTES = 1 << 28  # below 256 MiB asking would cost more than it protects


def available_memory() -> int:
    """Return the bytes a fit may still take.

    Returns
    -------
    int
        ``QED_MEMORY_LIMIT`` if set, else 80 % of the free memory of the machine or of the container, whichever is less.
    """
    if limit := os.environ.get("QED_MEMORY_LIMIT"):
        if not limit.isdecimal():
            msg = f"QED_MEMORY_LIMIT must be a whole number of bytes, such as 4000000000, got {limit!r}."
            raise InvalidParameter(msg)
        return int(limit)
    return int(0.8 * min(_machine_free(), _container_free()))


def require_memory(size: int, what: str, instead: str) -> None:
    """Refuse, in words, to allocate more than is there.

    Parameters
    ----------
    size : int
        Bytes about to be allocated.
    what : str
        What they are for, e.g. ``"the 60000 x 60000 matrix of products"``.
    instead : str
        What the caller can do instead.

    Raises
    ------
    MemoryLimit
        When ``size`` is past the limit.
    """
    if size <= MIN_CHECKED_BYTES and "QED_MEMORY_LIMIT" not in os.environ:
        return
    if size > (limit := available_memory()):
        msg = f"{what} needs {size / 2**30:.2f} GiB, and the limit is {limit / 2**30:.2f} GiB. {instead}"
        raise MemoryLimit(msg)


def _machine_free() -> int:
    try:
        for line in _read("/proc/meminfo").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 62


def _container_free() -> int:
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            return int(_read(f"/sys/fs/cgroup/{limit}")) - int(_read(f"/sys/fs/cgroup/{used}"))
        except (OSError, ValueError):  # not that version of control groups, or "max": no limit
            continue
    return 1 << 62


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - importing pathlib would cost every first fit 3 ms
        return file.read()
