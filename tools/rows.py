"""A pytest plugin: a row of the curriculum that tests cite, and none of them ran and passed, is not covered.

Use: ``PYTHONPATH=tools pytest -p rows tests``. A run of all tests fails when a cited row had no passing test: its tests
were skipped, or their file was never collected. A run of some tests only says nothing.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PASSED: set[str] = set()
CITED: set[str] = set()


def cited_in(folder: Path) -> set[str]:
    """Rows that the test files below a folder cite, whether or not they can be imported."""
    found: set[str] = set()
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "covers":
                found |= {part.value for part in node.args if isinstance(part, ast.Constant)}
    return found


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give each test its rows, which travel with its reports from worker to controller."""
    rows = sorted({row for mark in item.iter_markers("covers") for row in mark.args})
    if rows:
        item.user_properties.append(("covers", rows))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the rows of one phase of one test."""
    for name, rows in report.user_properties:
        if name == "covers":
            CITED.update(rows)  # type: ignore[arg-type]
            if report.when == "call" and report.passed:
                PASSED.update(rows)  # type: ignore[arg-type]


def _is_whole(config: pytest.Config) -> bool:
    """Tell whether all tests were asked for."""
    asked = {Path(config.invocation_params.dir, name).resolve() for name in config.args}
    narrowed = config.option.keyword or config.option.markexpr or config.option.maxfail
    return asked == {config.rootpath / "tests"} and not narrowed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when a cited row had no passing test."""
    if hasattr(session.config, "workerinput") or not _is_whole(session.config):
        return
    missing = sorted((CITED | cited_in(session.config.rootpath / "tests")) - PASSED)
    session.config.stash[MISSING] = missing
    if missing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


MISSING = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many rows were covered, and which were not."""
    missing = config.stash.get(MISSING, None)
    if missing is None:
        return
    terminalreporter.section("rows of the curriculum")
    terminalreporter.write_line(f"{len(PASSED)} rows are covered by a test that passed")
    if missing:
        terminalreporter.write_line(f"FAILED: cited, but no test that cites them passed: {', '.join(missing)}")
