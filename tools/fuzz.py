"""`make fuzz`: look for counter-examples for a stated time, and write down how hard we looked.

The laws, and convex problems against an interior-point solver, run under Hypothesis without a fixed seed, each for an equal
share of the time; then come the ``PARTS``, each a script of its own: certificates of convex problems and of all public estimators
judged one after the other, changed models that the checker must refuse, honest ones that it must accept, and mutated model files. A
row with the date and the counts is appended to fuzz/RECORD.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fuzz_record import COLUMNS, append

ROOT = Path(__file__).resolve().parents[1]
LAWS = ("tests/laws", "tests/convex/test_certificate_fuzz.py", "tests/verify/test_duality_fuzz.py")
# What is tried after the laws: a word for the command line, the script, what it says it counted, and its further options.
PARTS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("certificates", "fuzz_certificates.py", "certificates of", ()),
    ("truth", "fuzz_truth.py", "truths of", ()),
    ("changed", "fuzz_tamper.py", "changed models of", ()),
    ("honest", "fuzz_honest.py", "honest models of", ()),
    ("files", "fuzz_files.py", "files in", ("--count", str(10**9))),
)


def fuzz_laws(seconds: float) -> tuple[int, int, bool]:
    """Run the laws; return examples tried, tests run and whether all held."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        path = os.pathsep.join(filter(None, ["tools", os.environ.get("PYTHONPATH")]))
        environment = {
            **os.environ,
            "QED_HYPOTHESIS": "fuzz",
            "QED_FUZZ_SECONDS": str(seconds),
            "QED_FUZZ_COUNTS": str(counts),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "fuzz_laws", *LAWS]
        status = subprocess.call(command, env={**environment, "PYTHONPATH": path}, cwd=ROOT)
        tried: dict[str, int] = json.loads(counts.read_text(encoding="utf-8")) if counts.exists() else {}
    return sum(tried.values()), len(tried), status == 0


def count(script: str, said: str, *options: str) -> tuple[int, bool]:
    """Run a script that says how many things it tried; return that number and whether it found nothing."""
    command = [sys.executable, f"tools/{script}", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    print(done.stdout + done.stderr, flush=True)
    counted = re.findall(rf"([\d,]+) {said}", done.stdout)
    if not counted:
        raise SystemExit(f"tools/{script} did not say how much it tried; nothing was recorded.")
    return int(re.sub(r"\D", "", counted[-1])), done.returncode == 0


def main() -> int:
    """Fuzz, record, and return 1 when something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="time for each part")
    for part in ("laws", *(name for name, *_ in PARTS)):
        parser.add_argument(f"--{part}", type=float, metavar="SECONDS", help=f"time for the {part}, if another")
    options = parser.parse_args()
    seconds = {
        part: options.seconds if own is None else own for part, own in vars(options).items() if part != "seconds"
    }
    examples, tests, nothing = fuzz_laws(seconds["laws"])
    tried = []
    for name, script, said, further in PARTS:
        number, holds = count(script, said, *further, "--seconds", str(seconds[name]))
        tried.append(number)
        nothing = nothing and holds
    findings = "none" if nothing else "yes, see the output of the run"
    found = {"laws: examples": examples, "laws: tests": tests}
    append(found | dict(zip(COLUMNS[5:-1], tried, strict=True)), findings)
    counts = ", ".join(f"{number:,} {name}" for number, (name, *_) in zip(tried, PARTS, strict=True))
    print(f"{examples:,} examples of {tests} laws, {counts}; findings: {findings}. Written to fuzz/RECORD.md.")
    return 0 if nothing else 1


if __name__ == "__main__":
    sys.exit(main())
