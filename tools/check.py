"""`make check`: what a machine can judge without running a test. Every check runs, even after one has failed.

Checks run two at a time, the longest first; the one that reads the clock runs when the others have ended.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BIN = Path(sys.executable).parent
CHECKS: tuple[tuple[str, tuple[str | Path, ...]], ...] = (
    ("mypy: types", (BIN / "mypy",)),
    ("import-linter: imports point down", (BIN / "lint-imports", "--no-cache")),
    ("api_check: what is public is documented", (sys.executable, "tools/api_check.py")),
    ("docstrings: reference pages are well-formed", (sys.executable, "tools/docstrings.py")),
    ("words: standard terms", (sys.executable, "tools/words.py")),
    ("native_stub: the stub of the kernels is what the bindings say", (sys.executable, "tools/native_stub.py")),
    ("ruff: style", (BIN / "ruff", "check", ".")),
    ("ruff: layout", (BIN / "ruff", "format", "--check", ".")),
)
ALONE = (("import_time: import qed stays light", (sys.executable, "tools/import_time.py")),)


def judge(check: tuple[str, tuple[str | Path, ...]]) -> bool:
    """Run one check; print a line, and the words of one that fails."""
    name, command = check
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    words = done.stdout + done.stderr if done.returncode else ""
    print(f"  {'FAILED' if done.returncode else 'ok    '}  {name}  ({seconds:.1f} s)\n{words}", end="", flush=True)
    return done.returncode == 0


def main() -> int:
    """Run all checks; return 1 when one failed."""
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(judge, CHECKS))
    verdicts += map(judge, ALONE)
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
