"""`make fuzz`: look for counter-examples for a stated time, and write down how hard we looked.

The laws, and convex problems against an interior-point solver, run under Hypothesis without a fixed seed, each for an equal
share of the time; then `fuzz_certificates.py` judges certificates one after the other, `fuzz_truth.py` those of all public
estimators, and `fuzz_files.py` mutates model files. A row with the date and the counts is appended to fuzz/RECORD.md.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "fuzz" / "RECORD.md"
LAWS = ("tests/laws", "tests/convex/test_certificate_fuzz.py", "tests/verify/test_duality_fuzz.py")
HEAD = """# How hard we have looked

Each row is one run of `make fuzz`: laws under Hypothesis with fresh random seeds, certificates of convex problems
against an interior-point solver, certificates of public estimators against exact or brute-force truth, then mutated model files.

| date (UTC) | commit | Python | laws: examples | laws: tests | certificates | truths | files mutated | findings |
|---|---|---|---|---|---|---|---|---|
"""


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
    parser.add_argument("--seconds", type=float, default=300, help="time for each of the parts")
    for part in ("laws", "certificates", "truth", "files"):
        parser.add_argument(f"--{part}", type=float, metavar="SECONDS", help=f"time for the {part}, if another")
    options = parser.parse_args()
    seconds = {
        part: options.seconds if own is None else own for part, own in vars(options).items() if part != "seconds"
    }
    examples, tests, laws_hold = fuzz_laws(seconds["laws"])
    certificates, all_true = count("fuzz_certificates.py", "certificates of", "--seconds", str(seconds["certificates"]))
    truths, all_exact = count("fuzz_truth.py", "truths of", "--seconds", str(seconds["truth"]))
    mutations, files_hold = count(
        "fuzz_files.py", "files in", "--count", str(10**9), "--seconds", str(seconds["files"])
    )
    nothing = laws_hold and all_true and all_exact and files_hold
    findings = "none" if nothing else "yes, see the output of the run"
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT
    ).stdout.strip()
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M")
    cells = (now, commit or "-", platform.python_version(), f"{examples:,}", tests)
    cells = (*cells, f"{certificates:,}", f"{truths:,}", f"{mutations:,}", findings)
    row = "| " + " | ".join(map(str, cells)) + " |\n"
    RECORD.parent.mkdir(exist_ok=True)
    if not RECORD.exists():
        RECORD.write_text(HEAD, encoding="utf-8")
    with RECORD.open("a", encoding="utf-8") as record:
        record.write(row)
    print(
        f"{examples:,} examples of {tests} laws, {certificates:,} certificates, {truths:,} truths, {mutations:,} mutated files;"
        f" findings: {findings}. Written to fuzz/RECORD.md."
    )
    return 0 if nothing else 1


if __name__ == "__main__":
    sys.exit(main())
