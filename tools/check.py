"""`make check`: what a machine can judge without running a test. Every check runs, even after one has failed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

BIN = Path(sys.executable).parent
CHECKS: tuple[tuple[str, tuple[str | Path, ...]], ...] = (
    ("ruff: style", (BIN / "ruff", "check", ".")),
    ("ruff: layout", (BIN / "ruff", "format", "--check", ".")),
    ("mypy: types", (BIN / "mypy",)),
    ("import-linter: imports point down", (BIN / "lint-imports", "--no-cache")),
    ("api_check: what is public is documented", (sys.executable, "tools/api_check.py")),
    ("words: standard terms in the documentation", (sys.executable, "tools/words.py")),
    ("import_time: import qed stays light", (sys.executable, "tools/import_time.py")),
)


def main() -> int:
    """Run the checks, print one line each and the words of those that fail."""
    failures = 0
    for name, command in CHECKS:
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
        print(f"  {'ok    ' if done.returncode == 0 else 'FAILED'}  {name}  ({seconds:.1f} s)", flush=True)
        if done.returncode:
            failures += 1
            print(done.stdout + done.stderr, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
