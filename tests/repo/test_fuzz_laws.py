"""The clock and the counter of `make fuzz`, on a law that would never end by itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
LAW = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=10**8, deadline=None, database=None)
@given(st.integers())
def test_holds(x):
    assert x + 0 == x

@settings(max_examples=10**8, deadline=None, database=None)
@given(st.integers())
def test_fails(x):
    assert x < 1000
"""


def test_examples_are_counted_time_is_kept_and_failures_are_seen(tmp_path):
    (tmp_path / "test_law.py").write_text(LAW, encoding="utf-8")
    counts = tmp_path / "counts.json"
    environment = {**os.environ, "PYTHONPATH": str(TOOLS), "QED_FUZZ_SECONDS": "1.0", "QED_FUZZ_COUNTS": str(counts)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "fuzz_laws", str(tmp_path)]
    done = subprocess.run(  # noqa: PLW1510, S603
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1, done.stdout
    assert "test_holds" not in done.stdout.split("short test summary")[-1].split("FAILED")[-1]
    assert "1 failed, 1 skipped" in done.stdout
    tried = json.loads(counts.read_text(encoding="utf-8"))
    assert all(count > 10 for count in tried.values())
    assert len(tried) == 2
