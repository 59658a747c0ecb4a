"""`python -m benchmarks [--only words] [--scale factor]`: race, print each row as it is measured, write RESULTS.md."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from benchmarks import _record
from benchmarks._race import ROOT, judge, measure
from benchmarks.adapters import RIVALS, adapter, interpreter
from benchmarks.problems import chosen

if TYPE_CHECKING:
    from benchmarks.problems import Problem

SCALES = {
    "parquet": "larger_than_memory",
    "cluster": "on_a_cluster",
}  # scripts in benchmarks/scale, and where they are kept
MEASURED, STAMP = ROOT / "build" / "measured", "stamp.json"
POOLS = ("QED_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", help="comma-separated words; rows whose name contains one of them")
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="shrink problems, to try the harness; such rows are printed, not stored",
    )
    parser.add_argument("--colds", type=int, default=3, help="fresh processes per rival")
    parser.add_argument("--warms", type=int, default=7, help="interleaved warm rounds")
    parser.add_argument("--threads", type=int, default=_record.cores(), help="threads for every library")
    parser.add_argument(
        "--judge",
        action="store_true",
        help="measure nothing: judge what was measured before and is kept in build/, which needs no quiet machine",
    )
    parser.add_argument("--rivals", default=",".join(RIVALS), help="who races")
    return parser.parse_args()


def main() -> int:
    """Race the chosen problems."""
    asked = arguments()
    os.environ.update(dict.fromkeys(POOLS, str(asked.threads)))
    found = {rival: interpreter(rival) for rival in asked.rivals.split(",")}
    pythons = {rival: python for rival, python in found.items() if python}
    for rival in found.keys() - pythons.keys():
        print(
            f"{rival} is not installed here and does not race. "
            f"Name a Python that has it: QED_BENCH_{rival.upper()}=/path/to/python"
        )
    if "ours" not in pythons:
        print("qed itself cannot be imported; run `make native` first.")
        return 1
    stored = _record.load()
    cpu, host = _record.machine(asked.threads)
    stored["machines"][cpu] = host
    for rival, python in pythons.items():
        stored["versions"] |= _versions(rival, python)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False, cwd=ROOT
    ).stdout.strip()
    today = dt.datetime.now(dt.UTC).date().isoformat()
    if asked.only in SCALES:
        return scale_rows(stored, asked.only, asked.scale, f"{today}, {commit or '-'}, {cpu}")
    if not asked.judge:
        for problem in chosen(asked.only):
            keep(problem, pythons, [today, commit or "-", asked.scale, cpu], asked)
    for problem in chosen(asked.only):
        finish(problem, pythons, stored)
    return 0


def keep(problem: Problem, pythons: dict[str, str], stamp: list[Any], asked: argparse.Namespace) -> None:
    """Measure a row and keep times and answers: all rows are measured before the first is judged, which takes longer."""
    folder = MEASURED / problem.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measure(problem, pythons, folder, colds=asked.colds, warms=asked.warms, scale=asked.scale)
    for part in folder.glob("*.npy"):
        part.unlink()  # the data, which are made again
    (folder / STAMP).write_text(json.dumps(stamp), encoding="utf-8")


def finish(problem: Problem, pythons: dict[str, str], stored: dict[str, Any]) -> None:
    """Judge a row that was measured, print it, and put it on the page."""
    folder = MEASURED / problem.name
    if not (folder / STAMP).exists():
        return
    stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    measures = judge(problem, pythons, folder, scale=stamp[2])
    shutil.rmtree(folder)
    if "ours" not in measures:
        print(f"{problem.title}: left out, for here qed lacks a library that this row needs")
        return
    row = _record.Row(problem.name, problem.title, *stamp, measures)
    print("\n".join(_record.details([row])[2:]), flush=True)
    if row.scale == 1:
        _record.save(stored, [row])  # at once: an interrupted run keeps what it judged


def _versions(rival: str, python: str) -> dict[str, str]:
    if python == sys.executable:
        versions: dict[str, str] = adapter(rival).versions()
        return versions
    code = f"import json; from benchmarks.adapters import adapter; print(json.dumps(adapter({rival!r}).versions()))"
    answer: dict[str, str] = json.loads(
        subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    )
    return answer


def scale_rows(stored: dict[str, Any], name: str, scale: float, stamp: str) -> int:
    """Data larger than memory, and clusters, have scripts of their own, `--only parquet` and `--only cluster`.

    What they print goes on the page as it is. ``QED_BENCH_DASK_ML`` names a Python that has dask-ml.
    """
    command = [sys.executable, "-m", f"benchmarks.scale.{name}", "--scale", str(scale)]
    if name == "cluster" and (rival := os.environ.get("QED_BENCH_DASK_ML")):
        command += ["--dask-ml", rival]
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode == 0 and scale == 1:
        stored[SCALES[name]] = {"stamp": stamp, "text": "".join(lines)}
        _record.save(stored, [])
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
