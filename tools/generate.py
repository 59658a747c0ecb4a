"""Writes what is derived from the sources: the stub of the kernels, reference pages, lists, certificates, golden files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    ("tools/native_stub.py", "--write"),
    ("tools/api_check.py", "--write"),
    ("tools/certificate_table.py", "--write"),
    ("tests/golden/create.py", "missing"),
)

if __name__ == "__main__":
    for command in COMMANDS:
        subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
