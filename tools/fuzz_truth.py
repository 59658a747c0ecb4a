"""Judge certificates of public estimators against exact rationals, enumeration and high precision: none may be false.

Usage::

    python tools/fuzz_truth.py --seconds 1200

Families are those of ``tests/truth``; each gets an equal share of the time. Problem number i of a family is always the same;
a finding is printed with what makes it again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz_record import append
from tests.truth import FAMILIES


def main() -> int:
    """Judge, say how many of each family, and return 1 when a certificate was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long to look, all families together")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 2**40, help="the first problem; a new one by default"
    )
    parser.add_argument("--family", choices=FAMILIES, help="one family instead of all")
    parser.add_argument("--record", action="store_true", help="append a row to fuzz/RECORD.md")
    options = parser.parse_args()
    chosen = [options.family] if options.family else list(FAMILIES)
    total = findings = 0
    warnings.simplefilter("ignore")  # numbers at the ends of float64; what fits return is what is judged
    for family in chosen:
        end, judged = time.monotonic() + options.seconds / len(chosen), 0
        for seed in itertools.count(options.seed):
            if time.monotonic() > end:
                break
            try:
                for one in FAMILIES[family](seed):
                    judged += 1
                    if one.is_false:
                        findings += 1
                        print(f"{family}, seed {seed}: {one}", flush=True)
            except Exception as error:  # an error that nobody wrote words for is a finding too
                findings += 1
                print(f"{family}, seed {seed}: {error!r}", flush=True)
        total += judged
        print(f"  {family}: {judged:,} judged", flush=True)
    print(f"{total:,} truths of {len(chosen)} families, {findings} findings")
    if options.record:
        append({"truths": total}, f"{findings or 'none'} ({', '.join(chosen)})")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
