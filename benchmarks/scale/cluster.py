"""Fits from files in threads, on one worker process and on two: overhead of Dask, scaling, memory of workers.

``python -m benchmarks.scale.cluster --gigabytes 0.8 --folder /tmp`` writes seeded files, measures, deletes them. A control that
computes and reads nothing shows what the machine gives to two processes: where a fit scales as the control does, the rest is the
machine's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = 50
ROWS_PER_GROUP = 1 << 16


def write(folder: Path, rows: int, files: int = 8) -> str:
    """Write files of normal columns, a number, and a label; all follow from their place."""
    import pyarrow as pa
    from pyarrow import parquet

    slopes = np.random.default_rng(0).normal(size=COLUMNS) / np.sqrt(COLUMNS)
    edges = np.linspace(0, rows, files + 1).astype(int)
    for number in range(files):
        with parquet.ParquetWriter(folder / f"{number:03}.parquet", _schema(pa), compression="none") as out:
            for start in range(edges[number], edges[number + 1], ROWS_PER_GROUP):
                n = min(ROWS_PER_GROUP, edges[number + 1] - start)
                rng = np.random.default_rng([number, start])
                X = rng.normal(size=(n, COLUMNS))
                score = X @ slopes
                table = {f"x{j}": X[:, j] for j in range(COLUMNS)}
                table |= {"y": score + rng.normal(size=n), "label": (score + rng.logistic(size=n) > 0).astype(float)}
                out.write_table(pa.table(table, schema=_schema(pa)))
    return str(folder / "*.parquet")


def _schema(pa: Any) -> Any:
    return pa.schema([(name, pa.float64()) for name in [*(f"x{j}" for j in range(COLUMNS)), "y", "label"]])


class Burn:
    """A statistic that costs arithmetic alone: products of a small matrix, a fixed number for each chunk."""

    def __init__(self, total: float) -> None:
        self.total = total

    def merge(self, other: Burn) -> Burn:
        """Return the sum of both."""
        return Burn(self.total + other.total)


def burn(chunk: Any) -> Burn:
    """Multiply for some 20 ms, in the caches of a core."""
    from qed.core._threads import one_blas_thread

    A = np.random.default_rng(0).normal(size=(256, 256)) / 16
    B = A
    with one_blas_thread():
        for _ in range(30):
            B = A @ B
            B /= np.abs(B).max()
    return Burn(float(B[0, 0]) + 0.0 * chunk.n_rows)


def fits(glob: str) -> dict[str, Any]:
    """Return what is measured: functions that fit, or fold, in the executor of the block."""
    import qed
    from qed.cluster import KMeans
    from qed.data import fold
    from qed.ensemble import HistGradientBoostingClassifier
    from qed.linear_model import LinearRegression, LogisticRegression
    from qed.preprocessing import StandardScaler

    names = [f"x{j}" for j in range(COLUMNS)]
    number, label, plain = (qed.scan(glob, target=target, features=names) for target in ("y", "label", None))
    table = np.zeros((64, 1))
    parts = qed.scan([_frame(table) for _ in range(64)])
    boosted = HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0)
    return {
        "control: arithmetic alone": lambda: fold(parts, burn),
        "LinearRegression": lambda: LinearRegression().fit(number),
        "StandardScaler": lambda: StandardScaler().fit(plain),
        "LogisticRegression": lambda: LogisticRegression().fit(label),
        "KMeans, 8 clusters, 5 steps": lambda: KMeans(8, n_init=1, max_iter=5, tol=0.0, random_state=0).fit(plain),
        "HistGradientBoosting, 5 rounds": lambda: boosted.fit(label),
    }


def _frame(table: Any) -> Any:
    import pyarrow as pa

    return pa.table({"x": table[:, 0]})


def measured(work: Any, repeats: int) -> float:
    """Return the least time of some calls; one more before them, for what is loaded once."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _peak() -> float:
    """Return the most memory of this process, in MB; getrusage would tell that of the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def main() -> None:
    """Measure, and print a table."""
    import distributed

    import qed

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.8)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--only", default="", help="measure what begins with one of these words, separated by commas")
    parser.add_argument("--workers", default="1,2", help="numbers of worker processes")
    parser.add_argument("--write", action="store_true", help="only write the files, and leave them in the folder")
    parser.add_argument("--files", help="a glob of files that --write has left, in place of new ones")
    options = parser.parse_args()
    if options.write:
        write(Path(options.folder), int(options.gigabytes * 1e9 / (8 * (COLUMNS + 2))))
        return
    folder = Path(tempfile.mkdtemp(prefix="qed-scale-", dir=options.folder))
    rows = int(options.gigabytes * 1e9 / (8 * (COLUMNS + 2)))
    try:
        glob = options.files or write(folder, rows)
        print(f"{qed.scan(glob).n_rows:,} rows x {COLUMNS} columns")
        chosen = tuple(options.only.split(",")) if options.only else ("",)
        work = {name: one for name, one in fits(glob).items() if name.startswith(chosen)}
        found: dict[str, list[float]] = {name: [] for name in work}
        peaks = []

        def race(where: str) -> None:
            for name, one in work.items():
                found[name].append(measured(one, options.repeats))
                print(f"{where}: {name} {found[name][-1]:.2f} s", flush=True)

        race("threads")
        numbers = [int(number) for number in options.workers.split(",")]
        for workers in numbers:
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
            )
            with cluster, distributed.Client(cluster) as client, qed.executor(client):
                race(f"{workers} workers")
                peaks.extend(client.run(_peak).values())
        print(
            "| | threads | "
            + " | ".join(f"{number} workers" for number in numbers)
            + " | Dask over threads | scaling |"
        )
        for name, (threads, *others) in found.items():
            times = " | ".join(f"{one:.2f}" for one in (threads, *others))
            print(f"| {name} | {times} | {100 * (others[-1] / threads - 1):+.0f} % | {others[0] / others[-1]:.2f}x |")
        print(f"largest worker: {max(peaks):.0f} MB; this process: {_peak():.0f} MB; {os.cpu_count()} cores")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
