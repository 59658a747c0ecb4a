"""A few thousand mutated files in every test run, and proof that the fuzzer would notice."""

from __future__ import annotations

import argparse
import collections
import ctypes
import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qed
from qed.core._errors import ModelFileError
from qed.core._records import public_name

if sys.platform == "win32":
    pytest.skip("the fuzzer works in forked processes", allow_module_level=True)

PATH = Path(__file__).parents[2] / "tools" / "fuzz_files.py"
spec = importlib.util.spec_from_file_location("fuzz_files", PATH)
assert spec is not None
assert spec.loader is not None
fuzz: Any = importlib.util.module_from_spec(spec)
sys.modules["fuzz_files"] = fuzz
spec.loader.exec_module(fuzz)
fuzz_methods: Any = sys.modules["fuzz_methods"]


@pytest.fixture(scope="module")
def seeds() -> Any:
    return fuzz.honest_files()


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")  # of a few rows no column stands out
def test_honest_files_answer(seeds: Any) -> None:
    assert {fuzz.judge(seed.data, seed) for seed in seeds} == {"answers"}


def test_every_estimator_is_among_them(seeds: Any) -> None:
    from_files = {seed.spots.tree.model["estimator"][0] for seed in seeds}
    assert {public_name(kind) for _, kind in qed.all_estimators()} <= from_files


KNOWN = {
    *fuzz_methods.TARGETS,
    *("X", "X_held", "raw_documents", "Y", "yt", "Z", "doc", "Xt", "T", "other", "i", "data", "cut_distance"),
}


def test_every_method_has_its_arguments() -> None:
    """A public method that needs something unheard of is told to the one who calls them all."""
    for _, kind in qed.all_estimators():
        for name, needed in fuzz_methods.methods_of(kind):
            assert {*fuzz_methods.ARGUMENTS.get(name, needed)} <= KNOWN, (kind.__name__, name)


def test_mutated_files_never_surprise(seeds: Any) -> None:
    outcomes: collections.Counter[str] = collections.Counter()
    stories: list[str] = []

    def report(number: int, outcome: str, story: str) -> None:
        outcomes[outcome] += 1
        stories.extend([story] * bool(story))

    fuzz.work(range(3000), 1, seeds, report)
    assert stories == []
    assert outcomes["answers"] > 300  # mutants that all die at the first check would prove nothing
    assert outcomes["refused"] > 1000


def test_a_case_is_always_the_same_file(seeds: Any) -> None:
    first = [fuzz.written(fuzz.case(number, 7, seeds)[0]) for number in range(200)]
    assert first == [fuzz.written(fuzz.case(number, 7, seeds)[0]) for number in range(200)]


def test_every_way_gets_past_the_checksum_except_raw_damage(seeds: Any) -> None:
    rng = fuzz.random.Random(3)
    for way in {*fuzz.WAYS} - {fuzz.raw}:
        for _ in range(50):
            try:
                fuzz.loads(way(rng, seeds[0], seeds[-1]))
            except ModelFileError as error:
                assert "checksum" not in str(error)  # noqa: PT017


def options(folder: Path, count: int) -> argparse.Namespace:
    return argparse.Namespace(count=count, seconds=60.0, seed=1, jobs=2, findings=str(folder), sanitize=False)


def planted(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    """Make the fuzzer meet a fault at every hundredth case."""
    calls = iter(range(10**9))

    def judge(made: Any, source: Any) -> str:
        if next(calls) % 100 == 50:
            fault()
        return "refused"

    monkeypatch.setattr(fuzz, "judge", judge)


def busy() -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (busy, "Slow"),
        (lambda: np.ones(1 << 31), "MemoryError"),
        (os.abort, "status 6|status 134"),
        (lambda: ctypes.string_at(0), "status 11|status 139"),
    ],
    ids=["error", "slow", "memory", "abort", "segfault"],
)
def test_faults_are_found_and_kept(
    fault: Any, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: Any
) -> None:
    monkeypatch.setattr(fuzz, "SLOWEST", 0.2)
    planted(monkeypatch, fault)
    outcomes = fuzz.run(options(tmp_path / "found", 200), seeds)
    assert outcomes["finding"] == 2
    assert outcomes.total() == 200
    stories = [path.read_text() for path in (tmp_path / "found").glob("*.txt")]
    assert len(stories) == 2
    assert all(any(part in story for part in word.split("|")) for story in stories)
    kept = next((tmp_path / "found").glob("*.qed"))
    number = int(kept.stem.rpartition("case")[2])
    assert kept.read_bytes() == fuzz.written(fuzz.case(number, 1, seeds)[0])


def test_a_child_that_hears_no_alarm_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: Any) -> None:
    monkeypatch.setattr(fuzz, "PATIENCE", 3.0)  # a child on a busy machine stands still for less
    monkeypatch.setattr(fuzz, "SLOWEST", 60.0)
    planted(monkeypatch, lambda: time.sleep(60))
    assert fuzz.run(options(tmp_path / "found", 200), seeds)["finding"] == 2


def test_every_part_of_a_loaded_model_is_touched() -> None:
    everything = fuzz.load_everything()
    stream = np.random.default_rng(1)
    before = stream.bit_generator.state
    fuzz_methods.touch({"a": [(everything.Everything(random_state=stream),)]})
    assert stream.bit_generator.state != before

    class Sparse:
        indptr = ()

        def tocoo(self) -> None:
            raise KeyError("touched")

    with pytest.raises(KeyError, match="touched"):
        fuzz_methods.touch(everything.Summary(1, 0.0, np.ones(1), None, Sparse()))


def test_a_swallowed_memory_error_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def loads(data: bytes) -> Any:
        raise ModelFileError("no") from MemoryError("1 TB")

    monkeypatch.setattr(fuzz, "loads", loads)
    with pytest.raises(MemoryError, match="1 TB"):
        fuzz.judge(b"", None)


def test_the_record_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "fuzz" / "RECORD.md"
    for _ in range(2):
        code = fuzz.main(
            ["--count", "40", "--seed", "5", "--jobs", "1", "--record", str(record), "--findings", str(tmp_path)]
        )
        assert code == 0
    lines = record.read_text().splitlines()
    assert lines[-4].startswith("| date (UTC) | commit | Python |")
    assert lines[-4].endswith("| honest models | files mutated | findings |")
    assert all(line.endswith("| - | - | - | - | - | - | 40 | none |") for line in lines[-2:])
    assert "40 files in" in capsys.readouterr().out
