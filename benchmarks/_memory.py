"""Peak memory of this process, from /proc: how much more a fit needs than the data it was given."""

from __future__ import annotations

from pathlib import Path

SELF = Path("/proc/self")


def resident() -> int:
    """Bytes in memory now."""
    return _status("VmRSS")


def peak() -> int:
    """The most bytes in memory since the last reset."""
    return _status("VmHWM")


def reset_peak() -> bool:
    """Forget earlier peaks; False where the kernel does not allow it (then no memory is reported)."""
    try:
        (SELF / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int:
    for line in (SELF / "status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise LookupError(f"/proc/self/status has no {name}")
