"""Runs `make test` in stages and says what each cost, against its budget.

Standard library only: it starts before anything is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One part of `make test`: its make targets and the minutes it may take on two cores."""

    name: str
    minutes: float
    targets: tuple[str, ...]
    is_needed: bool  # nothing after it makes sense when it fails


STAGES = (
    Stage("install", 3, ("compiler", "environment"), is_needed=True),
    Stage("build", 4, ("native", "nativetests"), is_needed=True),
    Stage("checks", 5, ("check",), is_needed=False),
    Stage("tests", 6, ("ctest", "pytest"), is_needed=False),
)


def run(stage: Stage) -> tuple[float, list[str]]:
    """Run one stage; return its seconds and the targets that failed."""
    print(f"\n── {stage.name} " + "─" * (70 - len(stage.name)), flush=True)
    begin = time.monotonic()
    failed = [
        target
        for target in stage.targets
        if subprocess.call([os.environ.get("MAKE", "make"), "--no-print-directory", target])
    ]
    return time.monotonic() - begin, failed


def main() -> int:
    """Run all stages, print the closing summary, and return the exit status."""
    lines: list[str] = []
    failures: list[str] = []
    for stage in STAGES:
        seconds, failed = run(stage)
        failures += failed
        note = f"FAILED: make {' '.join(failed)}" if failed else "ok"
        if seconds > 60 * stage.minutes:
            note += "  (over its budget)"
        lines.append(f"  {stage.name:<9}{seconds:7.1f} s of {60 * stage.minutes:4.0f}   {note}")
        if failed and stage.is_needed:
            break
    print("\n── summary " + "─" * 63, *lines, sep="\n")
    print("Something failed; its words are above." if failures else "Everything passed.", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
