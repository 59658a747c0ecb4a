"""Fits from files in threads, on one worker process and on two: overhead of Dask, scaling, memory of workers.

``python -m benchmarks.scale.cluster --gigabytes 0.8 --folder /tmp`` writes seeded files, measures, deletes them. A control that
computes and reads nothing shows what the machine gives to two processes: where a fit scales as the control does, the rest is the
machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
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
        "KMeans, 8 clusters, 5 steps": lambda: KMeans(8, init=centres(), n_init=1, max_iter=5, tol=0.0).fit(plain),
        "HistGradientBoosting, 5 rounds": lambda: boosted.fit(label),
    }


def centres() -> Any:
    """Return where k-means begins, here and elsewhere."""
    return np.random.default_rng(5).normal(size=(8, COLUMNS))


def answer(model: Any) -> Any:
    """Return the numbers of a model that are compared."""
    if hasattr(model, "cluster_centers_"):
        return model.cluster_centers_
    if hasattr(model, "scale_"):
        return np.concatenate([model.mean_, model.scale_])
    return np.append(np.ravel(model.coef_), model.intercept_)


def objectives(glob: str, name: str, answers: list[Any]) -> list[float]:
    """Return what the answers cost on all rows: mean squared error, mean logistic loss, inertia; its largest number."""
    import qed

    if name == "StandardScaler":
        return [float(np.abs(one).max()) for one in answers]
    names = [f"x{j}" for j in range(COLUMNS)]
    totals = np.zeros(len(answers))
    source = qed.scan(glob, target="label" if name.startswith("Logistic") else "y", features=names)
    rows = 0
    for chunk in source.chunks():
        y = chunk.y[:, 0]
        rows += chunk.n_rows
        for at, one in enumerate(answers):
            if name.startswith("KMeans"):
                C = np.reshape(one, (-1, COLUMNS))
                squares = np.sum(chunk.X**2, axis=1) + np.min(np.sum(C**2, axis=1) - 2 * chunk.X @ C.T, axis=1)
                totals[at] += squares.sum()
                continue
            score = chunk.X @ one[:-1] + one[-1]
            lost = np.logaddexp(0, score) - y * score if name.startswith("Logistic") else (y - score) ** 2
            totals[at] += lost.sum()
    return [float(total) / rows for total in totals]


def _frame(table: Any) -> Any:
    import pyarrow as pa

    return pa.table({"x": table[:, 0]})


def measured(work: Any, repeats: int, where: Any) -> tuple[float, Any]:
    """Return the least time of some calls, and the last answer; one more before them, for what is loaded once.

    Each is in a block of its own, so that no worker keeps files of the one before.
    """
    import qed

    times = []
    for _ in range(repeats + 1):
        with qed.executor(where):
            start = time.perf_counter()
            model = work()
            times.append(time.perf_counter() - start)
    return min(times[1:]), model


def _peak() -> float:
    """Return the most memory of this process, in MB; getrusage would tell that of the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def read_from_disk(disks: Path = Path("/sys/block")) -> int:
    """Return the bytes that all disks have read: files that are not in the page cache make a fit slower.

    Disks that stand on others ("slaves"), such as those of RAID and of volumes, and files that serve as disks are left out, as what
    they read is counted below them; and so is memory that serves as a disk.
    """
    is_none = ("loop", "ram", "zram")
    counted = [disk for disk in disks.iterdir() if not disk.name.startswith(is_none) and not _stands_on_others(disk)]
    # The third number counts sectors that were read, which Linux counts in units of 512 bytes.
    return sum(512 * int((disk / "stat").read_text(encoding="ascii").split()[2]) for disk in counted)


def _stands_on_others(disk: Path) -> bool:
    return (disk / "slaves").is_dir() and any((disk / "slaves").iterdir())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.832)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--only", default="", help="measure what begins with one of these words, separated by commas")
    parser.add_argument("--workers", default="1,2", help="numbers of worker processes")
    parser.add_argument("--write", action="store_true", help="only write the files, and leave them in the folder")
    parser.add_argument("--files", help="a glob of files that --write has left, in place of new ones")
    parser.add_argument("--dask-ml", help="a Python that has dask-ml, which is measured on the same files")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the size, to try the harness")
    return parser.parse_args()


def main() -> None:
    """Measure, and print a table."""
    options = arguments()
    rows = int(options.scale * options.gigabytes * 1e9 / (8 * (COLUMNS + 2)))
    if options.write:
        write(Path(options.folder), rows)
        return
    folder = Path(tempfile.mkdtemp(prefix="qed-scale-", dir=options.folder))
    try:
        race(options.files or write(folder, rows), options)
    finally:
        shutil.rmtree(folder)


def race(glob: str, options: argparse.Namespace) -> None:
    """Measure in threads, on workers, and with dask-ml; print tables."""
    import distributed

    import qed

    chosen = tuple(options.only.split(",")) if options.only else ("",)
    work = {name: one for name, one in fits(glob).items() if name.startswith(chosen)}
    numbers = [int(number) for number in options.workers.split(",")]
    found: dict[str, list[float]] = {name: [] for name in work}
    models: dict[str, Any] = {}
    peaks: list[float] = []

    def look(where: Any, called: str) -> None:
        for name, one in work.items():
            before = read_from_disk()
            seconds, models[name] = measured(one, options.repeats, where)
            found[name].append(seconds)
            read = f"{(read_from_disk() - before) / 1e6:.0f} MB read from disks"
            print(f"{called}: {name} {seconds:.2f} s, {read}", file=sys.stderr, flush=True)

    look("threads", "threads")
    for workers in numbers:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        with cluster, distributed.Client(cluster) as client:
            look(client, f"{workers} workers")
            peaks.extend(client.run(_peak).values())
    size = sum(path.stat().st_size for path in map(Path, qed.scan(glob).files)) / 1e9
    memory = f"the largest worker took {max(peaks):.0f} MB, the calling process {_peak():.0f} MB"
    print(
        f"{qed.scan(glob).n_rows:,} rows x {COLUMNS} columns, {size:.1f} GB of Parquet in the page cache, {os.cpu_count()} cores; "
        f"seconds, the least of {options.repeats}; {memory}\n"
    )
    headed = " | ".join(f"{number} worker{'s' * (number > 1)}" for number in numbers)
    scaling = "" if len(numbers) == 1 else f" {numbers[0]} to {numbers[-1]} workers |"
    print(f"| | threads | {headed} | Dask over threads |{scaling}")
    print("|---" * (3 + len(numbers) + bool(scaling)) + "|")
    for name, (threads, *others) in found.items():
        times = " | ".join(f"{one:.2f}" for one in (threads, *others))
        grown = f" {others[0] / others[-1]:.2f}x |" if scaling else ""
        print(f"| {name} | {times} | {100 * (others[-1] / threads - 1):+.0f} % |{grown}")
    if options.dask_ml:
        beside(glob, options, {name: seconds[-1] for name, seconds in found.items()}, models)


def beside(glob: str, options: argparse.Namespace, ours: dict[str, float], models: dict[str, Any]) -> None:
    """Measure dask-ml on two workers, and print it beside the times on the most workers here."""
    script = Path(__file__).with_name("with_dask_ml.py")
    command = [options.dask_ml, str(script), glob, json.dumps(centres().tolist()), str(options.repeats)]
    theirs = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    load = theirs["load"]
    print(
        f"\n| | qed, from files | dask-ml {theirs['version']}, load + fit | ratio | without load | objective, qed and dask-ml |"
    )
    print("|---" * 6 + "|")
    for name, there in theirs["fits"].items():
        if name not in ours:
            continue
        mine, fit = ours[name], there["seconds"]
        costs = objectives(glob, name, [answer(models[name]), np.asarray(there["answer"])])
        ratios = f"{(load + fit) / mine:.1f}x | {fit / mine:.1f}x"
        print(f"| {name} | {mine:.2f} | {load:.2f} + {fit:.2f} | {ratios} | {costs[0]:.10g}, {costs[1]:.10g} |")


if __name__ == "__main__":
    main()
