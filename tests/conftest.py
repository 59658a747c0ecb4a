"""Marks, Hypothesis profiles and the one warning that scikit-learn's checks always raise for outsiders."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fuzz", parent=settings.get_profile("ci"), max_examples=20_000, derandomize=False)
settings.load_profile(os.environ.get("QED_HYPOTHESIS", "ci"))

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "core")]  # for instances.py and toys.py, which several folders use


def pytest_configure() -> None:
    """Hear Ctrl-C even where a shell started the tests in the background and lets them ignore it: some tests press it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Ticks:
    """A clock that goes on by a tenth of a millisecond whenever it is looked at, and never otherwise."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        self.time += 1e-4
        return self.time


@pytest.fixture(autouse=True, scope="session")
def _budgets_are_independent_of_the_machine():
    """Count budgets in looks at the clock: what fits into a time must be the same on a paused, busy or slow machine."""
    from qed.study import _clock  # noqa: PLC0415  (after the tests of what an import loads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_clock, "DEFAULT", Ticks())
        yield


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """Leave no figure open: matplotlib warns of twenty, whichever tests drew them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once which instruction levels the tests of kernels ran on, instead of skipping thousands of tests."""
    passed = terminalreporter.stats.get("passed", [])
    if any("tests/native/" in report.nodeid for report in passed):
        from qed import _native  # noqa: PLC0415

        levels = ", ".join(_native.available_levels())
        terminalreporter.write_line(f"kernels were tested on instruction level {levels}; `make levels` builds all")
