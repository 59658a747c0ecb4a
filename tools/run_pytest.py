"""Runs pytest on as many workers as there are cores, each with its share of threads.

Prints seconds per package; a run of all tests fails when a row of the curriculum that they cite was not covered.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main(arguments: list[str]) -> int:
    """Run pytest with the given arguments; return its exit status."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores, 4)
    threads = str(max(1, cores // workers))
    # workers x threads = cores: BLAS and qed's own pool must not multiply each other
    share = dict.fromkeys(("QED_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    path = os.pathsep.join(filter(None, ["tools", os.environ.get("PYTHONPATH")]))
    spread = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "seconds", "-p", "rows", *spread, *arguments]
    return subprocess.call(command, env={**os.environ, **share, "PYTHONPATH": path})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
