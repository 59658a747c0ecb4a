"""Lets rivals take turns on one problem and takes medians."""

from __future__ import annotations

import compileall
import json
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._expected import expected
from benchmarks._judge import excesses, null_objective, objective, score_error
from benchmarks._record import Measure
from benchmarks._tables import error
from benchmarks.adapters import adapter, package
from benchmarks.first_fit import LACKS
from benchmarks.problems._problem import no_surprise

if TYPE_CHECKING:
    from benchmarks.problems import Problem

ROOT = Path(__file__).resolve().parents[1]
TIMES = "times.json"


@dataclass
class Lane:
    """One rival's process."""

    rival: str
    process: subprocess.Popen[str]

    @classmethod
    def open(cls, rival: str, python: str, problem: Problem, folder: Path) -> Lane:
        command = [python, "-m", "benchmarks._worker", rival, problem.name, str(folder)]
        lane = cls(rival, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT))
        lane.answer()
        return lane

    def ask(self, order: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.rival} stopped with exit status {self.process.wait()}; its words are above.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self.process.__exit__(None, None, None)  # closes both pipes, then waits


def race(problem: Problem, pythons: dict[str, str], *, colds: int, warms: int, scale: float) -> dict[str, Measure]:
    """Measure one problem for all rivals that can solve it, and judge their answers."""
    with tempfile.TemporaryDirectory(prefix="qed-bench-") as name:
        measure(problem, pythons, Path(name), colds=colds, warms=warms, scale=scale)
        return judge(problem, pythons, Path(name), scale=scale)


def measure(problem: Problem, pythons: dict[str, str], folder: Path, *, colds: int, warms: int, scale: float) -> None:
    """Write the times and the answers of all rivals to a folder."""
    if problem.measure == "process":
        spent = race_processes(problem, pythons, runs=max(3, colds))
        (folder / TIMES).write_text(json.dumps(spent), encoding="utf-8")
        return
    problem.data(scale).save(folder)
    if problem.run is not None:
        pythons = {rival: python for rival, python in pythons.items() if package(rival, problem)}
    cold: dict[str, list[float]] = {}
    extra: dict[str, list[int]] = {}
    lanes: list[Lane] = []
    for lifetime in range(colds):
        for rival, python in pythons.items():
            lane = Lane.open(rival, python, problem, folder)
            answer = lane.ask("cold")
            if answer["has"]:
                cold.setdefault(rival, []).append(answer["cold"])
                extra.setdefault(rival, []).append(answer["extra_bytes"])
            if answer["has"] and lifetime == colds - 1:
                lanes.append(lane)
            else:
                lane.close()
    warm: dict[str, list[float]] = {lane.rival: [] for lane in lanes}
    for _ in range(warms):
        for lane in lanes:
            warm[lane.rival].append(lane.ask("warm")["warm"])
    for lane in lanes:
        lane.close()
    times = {
        rival: (statistics.median(cold[rival]), statistics.median(warm[rival]), _median(extra[rival])) for rival in warm
    }
    (folder / TIMES).write_text(json.dumps(times), encoding="utf-8")


def judge(problem: Problem, pythons: dict[str, str], folder: Path, *, scale: float) -> dict[str, Measure]:
    """Compare the answers in a folder with what they should be."""
    times = json.loads((folder / TIMES).read_text(encoding="utf-8"))
    if problem.measure == "process":
        return {rival: Measure(*each, 0.0) for rival, each in times.items()}
    data = problem.data(scale)
    if problem.reference:
        data.save(folder)  # its lane reads them there
    want = wanted(problem, pythons, data, folder)
    objectives = {rival: _objective(problem, data, want, folder / f"{rival}.npz") for rival in times}
    worse = excesses(objectives, 1.0 if problem.measure in ("score", "workflow") else null_objective(data, problem))
    return {rival: Measure(*times[rival], worse[rival]) for rival in times}


def wanted(problem: Problem, pythons: dict[str, str], data: Any, folder: Path) -> np.ndarray | None:
    """What the answers of a workflow are compared with."""

    def reference() -> Any:
        assert problem.reference is not None
        answer = folder / f"{problem.reference}.npz"
        if problem.same_seed and answer.exists():
            return np.load(answer)["value"]
        lane = Lane.open(problem.reference, pythons[problem.reference], problem, folder)
        answers = lane.ask("cold" if problem.same_seed else "seeds")
        lane.close()
        return np.load(answer)["value"] if problem.same_seed else no_surprise(answers["values"])

    if problem.measure != "workflow":
        return None
    return expected(problem, data, reference if problem.reference else None)


def _objective(problem: Problem, data: Any, want: np.ndarray | None, answer: Path) -> float:
    with np.load(answer) as arrays:
        if problem.measure == "score":
            return score_error(problem, data, float(arrays["value"]))
        if problem.measure == "workflow":
            assert want is not None
            return error(problem, want, arrays["value"])
        return objective(problem, data, arrays["coef"], arrays["intercept"])


def _median(values: list[int]) -> int | None:
    return None if None in values else int(statistics.median(values))


def race_processes(problem: Problem, pythons: dict[str, str], *, runs: int) -> dict[str, tuple[float, None, None]]:
    """Time whole processes, from start to exit; all rivals have their bytecode, as installed packages do."""
    compileall.compile_dir(ROOT / "src" / "qed", quiet=2)
    pythons = {rival: python for rival, python in pythons.items() if hasattr(adapter(rival), "estimator")}
    spent: dict[str, list[float]] = {rival: [] for rival in pythons}
    for _ in range(runs + 1):
        for rival in list(spent):
            begin = time.perf_counter()
            command = [pythons[rival], "-m", "benchmarks.first_fit", rival, problem.name]
            done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True)
            if done.returncode == LACKS:
                del spent[rival]
                continue
            done.check_returncode()
            spent[rival].append(time.perf_counter() - begin)
    # the first run of each fills the disk cache
    return {rival: (statistics.median(times[1:]), None, None) for rival, times in spent.items()}
