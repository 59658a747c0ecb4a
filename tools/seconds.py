"""A pytest plugin that closes the run with seconds per package, where a package is a folder of tests/.

Use: ``PYTHONPATH=tools pytest -p seconds``. Under xdist the times are summed over workers.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SPENT: dict[str, float] = defaultdict(float)
TESTS: dict[str, int] = defaultdict(int)


def package_of(path: str) -> str:
    """Name the package a test file belongs to: the folder below tests/.

    >>> package_of("tests/linear_model/test_ridge.py"), package_of("tests/test_validation.py")
    ('linear_model', '(top)')
    """
    parts = PurePosixPath(path).parts
    below = parts[parts.index("tests") + 1 : -1] if "tests" in parts else parts[:-1]
    return below[0] if below else "(top)"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add one phase of one test."""
    package = package_of(report.nodeid.split("::")[0])
    SPENT[package] += report.duration
    TESTS[package] += report.when == "call"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, slowest package first."""
    if not SPENT:
        return
    terminalreporter.section("seconds per package, summed over workers")
    for package, seconds in sorted(SPENT.items(), key=lambda item: -item[1]):
        terminalreporter.write_line(f"  {package:<20}{seconds:8.1f} s   {TESTS[package]:5d} tests")
    terminalreporter.write_line(f"  {'all':<20}{sum(SPENT.values()):8.1f} s   {sum(TESTS.values()):5d} tests")
