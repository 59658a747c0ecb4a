"""One process that answers for one library. Reads orders as JSON lines, answers as JSON lines.

The first order, `cold`, imports the library and fits once; `warm` fits again. Data are loaded before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import _memory
from benchmarks._judge import as_arrays
from benchmarks._tables import held, summary
from benchmarks.adapters import adapter, package
from benchmarks.problems import Data, chosen

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = 5
LEAST = 0.02  # seconds a warm measure lasts at least; shorter calls are repeated


class Worker:
    def __init__(self, rival: str, name: str, folder: Path) -> None:
        self.adapter = adapter(rival)
        self.problem = next(problem for problem in chosen(name) if problem.name == name)
        self.folder, self.rival = folder, rival
        self.data = Data.load(folder)
        self.call: Callable[[], Any] | None = None

    def build(self) -> Any:
        params = dict(self.problem.params) | (
            {"sparse": True} if self.problem.is_sparse and self.rival != "ours" else {}
        )
        return self.adapter.estimator(self.problem.task, **params)

    def cold_score(self) -> dict[str, Any]:
        begin = time.perf_counter()
        function = self.adapter.score(self.problem.task)
        loaded = time.perf_counter() - begin
        if function is None:
            return {"has": False}
        truth, guess = self.data.y, self.data.X[:, 0]
        self.call = lambda: function(truth, guess)
        can_measure = _memory.reset_peak()
        before = _memory.resident()
        begin = time.perf_counter()
        value = self.call()
        first = time.perf_counter() - begin
        extra = _memory.peak() - before if can_measure else None
        np.savez(self.folder / f"{self.rival}.npz", value=value)
        return {"has": True, "cold": loaded + first, "extra_bytes": extra}

    def workflow(self, **changed: Any) -> Callable[[Any, Any], Any] | None:
        """What is timed: as the row says for libraries with scikit-learn's names, as the adapter says otherwise."""
        if self.problem.run is not None:
            library = package(self.rival, self.problem)
            return None if library is None else self.problem.run(library, self.problem.params | changed)
        make = getattr(self.adapter, "workflow", None)
        return None if make is None else make(self.problem.task, **self.problem.params)

    def cold_workflow(self) -> dict[str, Any]:
        X, y = held(self.problem.holder, self.data.X), self.data.y
        begin = time.perf_counter()
        function = self.workflow()
        loaded = time.perf_counter() - begin
        if function is None or (self.rival == "polars_frames" and self.problem.holder != "polars"):
            return {"has": False}
        self.call = lambda: function(X, y)
        can_measure = _memory.reset_peak()
        before = _memory.resident()
        begin = time.perf_counter()
        result = self.call()
        first = time.perf_counter() - begin
        extra = _memory.peak() - before if can_measure else None
        np.savez(self.folder / f"{self.rival}.npz", value=summary(self.problem, result))
        return {"has": True, "cold": loaded + first, "extra_bytes": extra}

    def cold(self) -> dict[str, Any]:
        if self.problem.measure == "score":
            return self.cold_score()
        if self.problem.measure == "workflow":
            return self.cold_workflow()
        begin = time.perf_counter()
        model = self.build()
        loaded = time.perf_counter() - begin
        if model is None:
            return {"has": False}
        can_measure = _memory.reset_peak()
        before = _memory.resident()
        begin = time.perf_counter()
        model.fit(self.data.X, self.data.y)
        first = time.perf_counter() - begin
        self.call = lambda: self.build().fit(self.data.X, self.data.y)
        if self.problem.measure == "predict":
            _memory.reset_peak()
            before = _memory.resident()
            begin = time.perf_counter()
            model.predict(self.data.X)
            first = time.perf_counter() - begin
            self.call = lambda: model.predict(self.data.X)
        extra = _memory.peak() - before if can_measure else None
        coef, intercept = as_arrays(model)
        np.savez(self.folder / f"{self.rival}.npz", coef=coef, intercept=intercept)
        return {"has": True, "cold": loaded + first, "extra_bytes": extra}

    def seeds(self) -> dict[str, Any]:
        """What other seeds give: by these a row judges that takes this rival as its reference."""
        X, values = held(self.problem.holder, self.data.X), []
        for seed in range(1, SEEDS + 1):
            function = self.workflow(random_state=seed)
            assert function is not None
            values.append(float(function(X, self.data.y)))
        return {"values": values}

    def warm(self) -> dict[str, Any]:
        assert self.call is not None
        self.data.touch()  # while the others ran, the system may have put these pages aside
        begin = time.perf_counter()
        calls = 0
        while calls == 0 or time.perf_counter() - begin < LEAST:
            self.call()
            calls += 1
        return {"warm": (time.perf_counter() - begin) / calls}


def main() -> None:
    rival, name, folder = sys.argv[1:]
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not mix with answers
    worker = Worker(rival, name, Path(folder))
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for order in sys.stdin:
        answer = getattr(worker, order.strip())()
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
