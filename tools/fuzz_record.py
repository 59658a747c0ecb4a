"""Where counts of the fuzzers are written: one row of fuzz/RECORD.md for each run, whole or of one part."""

from __future__ import annotations

import datetime as dt
import fcntl
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "fuzz" / "RECORD.md"
COLUMNS = (
    "date (UTC)",
    "commit",
    "Python",
    "laws: examples",
    "laws: tests",
    "certificates",
    "truths",
    "changed models",
    "honest models",
    "files mutated",
    "findings",
)
HEAD = f"""# How hard we have looked

Each row is one run of `make fuzz`, or of one of its parts with `--record`: laws under Hypothesis with fresh random seeds,
certificates of convex problems against an interior-point solver, certificates of public estimators against exact or brute-force
truth ("truths"), fitted models that were changed and that the checker must refuse, honest models that it must accept, then mutated
model files.

| {" | ".join(COLUMNS)} |
|{"---|" * len(COLUMNS)}
"""


def commit() -> str:
    """Return the commit that was tried."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout.strip() or "-"


def append(counts: Mapping[str, int], findings: str, record: Path = RECORD, *, at: str | None = None) -> None:
    """Append a row: what was counted, by name of the column; columns without a count get a dash."""
    unknown = set(counts) - set(COLUMNS)
    if unknown:
        raise ValueError(f"fuzz/RECORD.md has no columns {sorted(unknown)}")
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M")
    first = (now, at or commit(), platform.python_version())
    cells = [*first, *(f"{counts[name]:,}" if name in counts else "-" for name in COLUMNS[3:-1]), findings]
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("a", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(("" if stream.tell() else HEAD) + "| " + " | ".join(cells) + " |\n")
