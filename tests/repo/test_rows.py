"""The plugin that counts rows of the curriculum: a row whose tests are all skipped is not covered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
SOME = """
import pytest

@pytest.mark.covers("AAA-01")
def test_passes():
    pass

@pytest.mark.covers("AAA-01", "AAA-02")
def test_is_skipped():
    pytest.skip("no")
"""
NEVER = """
import pytest
pytest.importorskip("a_package_that_nobody_has")

@pytest.mark.covers("AAA-03")
def test_is_never_collected():
    pass
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "rows", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(TOOLS)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = covers", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_some.py").write_text(SOME, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("spread", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_rows_that_no_passing_test_cites_fail_a_run(folder, spread):
    (folder / "tests" / "test_never.py").write_text(NEVER, encoding="utf-8")
    done = run(folder, *spread, "tests")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 rows are covered" in done.stdout
    assert "no test that cites them passed: AAA-02, AAA-03" in done.stdout


def test_parts_of_the_tests_are_not_judged(folder):
    assert run(folder, "tests/test_some.py").returncode == 0
    assert run(folder, "tests", "-k", "passes").returncode == 0


def test_nothing_is_said_against_covered_rows(folder):
    path = folder / "tests" / "test_some.py"
    path.write_text(path.read_text(encoding="utf-8").replace('pytest.skip("no")', "pass"), encoding="utf-8")
    done = run(folder, "tests")
    assert done.returncode == 0
    assert "FAILED" not in done.stdout
