"""`python -m benchmarks.scale.parquet [--gigabytes 20]`: fold Parquet files into moments, beside merely reading them.

Writes seeded files (50 features, one target, float64) piece by piece, then measures in fresh processes, in turns:

read   pyarrow decodes the same columns in the same batches and throws them away: the floor
fold   `fold(scan(files, target="y"), Moments.of)`: all that a least-squares fit takes from the files

Each is measured cold (files dropped from the page cache first) and warm. Times are medians without the start of Python;
core seconds are those of all threads together, and depend less on what else the machine does. Memory is the peak of the
whole process. The files are removed at the end unless --keep.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FEATURES = 50
ROWS_PER_FILE = 625_000  # 255 MB
ROWS_PER_GROUP = 312_500
ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.parquet", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=20.0, help="size of the files")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the size, to try the harness")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the files, and use those that are there")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    return parser.parse_args()


def write_files(folder: Path, gigabytes: float) -> None:
    """Write seeded files of the given total size, one piece in memory at a time."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{j}" for j in range(FEATURES)]
    w = np.random.default_rng(1).normal(size=FEATURES)
    rows = max(1000, int(gigabytes * 1e9 / (8 * (FEATURES + 1))))
    for number, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        random = np.random.default_rng([7, number])
        n = min(ROWS_PER_FILE, rows - start)
        X = random.normal(size=(FEATURES, n)) + np.arange(FEATURES)[:, np.newaxis]
        columns = dict(zip(names, X, strict=True)) | {"y": w @ X + random.normal(size=n)}
        path = folder / f"part{number:04d}.parquet"
        parquet.write_table(pa.table(columns), path, row_group_size=ROWS_PER_GROUP, use_dictionary=False)
        with path.open("rb+") as written:
            os.fsync(written.fileno())  # only clean pages can be dropped from the cache


def drop_from_cache(folder: Path) -> None:
    for path in folder.glob("*.parquet"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure_read(folder: Path) -> int:
    from pyarrow import parquet

    rows = 0
    for path in sorted(folder.glob("*.parquet")):
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
            rows += sum(batch.num_rows for batch in file.iter_batches(65_536, use_threads=True))
    return rows


def measure_fold(folder: Path) -> int:
    from qed.data import Moments, fold, scan

    return fold(scan(folder, target="y"), Moments.of).rows


MEASURES = {"read": measure_read, "fold": measure_fold}


def measure_here(kind: str, folder: Path) -> None:
    """Measure once, in this process, and print the outcome for the one that started it."""
    import numpy as np  # noqa: F401  the start of Python and NumPy is not what is measured
    from pyarrow import parquet  # noqa: F401

    start, worked = time.perf_counter(), time.process_time()
    rows = MEASURES[kind](folder)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    print(json.dumps({"seconds": seconds, "worked": worked, "peak": peak_memory(), "rows": rows}))


def peak_memory() -> int:
    """The most bytes this process ever held; getrusage would count what its parent held when it forked."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def measure_apart(kind: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale.parquet", "--measure", kind, "--folder", str(folder)]
    answer: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    return answer


def race(folder: Path, repeats: int) -> None:
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(repeats):
        for state in ("cold", "warm"):
            for kind in MEASURES:
                if state == "cold":
                    drop_from_cache(folder)
                found.setdefault((state, kind), []).append(measure_apart(kind, folder))
    print(f"{size / 1e9:.2f} GB of Parquet, {found['warm', 'fold'][0]['rows']:,} rows x {FEATURES} features + target")
    print("| cache | | seconds | core seconds | GB/s | peak memory, MB |")
    print("|---|---|---|---|---|---|")
    for (state, kind), runs in found.items():
        seconds, worked = (statistics.median(run[what] for run in runs) for what in ("seconds", "worked"))
        peak = max(run["peak"] for run in runs) / 1e6
        print(f"| {state} | {kind} | {seconds:.2f} | {worked:.2f} | {size / 1e9 / seconds:.2f} | {peak:.0f} |")


def main() -> int:
    asked = arguments()
    if asked.measure:
        measure_here(asked.measure, asked.folder)
        return 0
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="qed-parquet-"))
    folder.mkdir(parents=True, exist_ok=True)
    there = sorted(folder.glob("*.parquet"))
    if there and not asked.keep:
        print(f"{folder} already holds Parquet files. Say --keep to measure those, or name an empty folder.")
        return 1
    try:
        if not there:
            write_files(folder, asked.gigabytes * asked.scale)
        race(folder, asked.repeats)
    finally:
        if not asked.keep:
            for path in folder.glob("part*.parquet"):
                path.unlink()
            if asked.folder is None:
                shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
