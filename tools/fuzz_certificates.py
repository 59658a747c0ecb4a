"""Judge certificates of random convex problems: none may state a gap below the true distance from the optimum.

Usage::

    python tools/fuzz_certificates.py --seconds 1200

Problems are those of ``tests/reference/convex_programs.py``: every loss with every penalty, with and without an
intercept, in several shapes, scales and kinds of weights. Each is solved by an interior-point method outside qed and judged at
six points. Problem number i of a seed is always the same; a finding is printed with what makes it again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.convex.test_certificate_fuzz import PAIRS, judged


def main() -> int:
    """Judge, say how many, and return 1 when a certificate was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long to look")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 2**40, help="the first problem; a new one by default"
    )
    options = parser.parse_args()
    problems = certificates = findings = 0
    end = time.monotonic() + options.seconds
    for seed in itertools.count(options.seed):
        for loss, penalty in PAIRS:
            _, _, rows = judged(seed, loss, penalty)
            problems, certificates = problems + 1, certificates + len(rows)
            for at, (gap, distance) in enumerate(rows):
                if not gap.value >= distance or not gap.rounding <= gap.value:
                    findings += 1
                    print(f"judged({seed}, {loss!r}, {penalty!r}) at {at}: gap {gap.value!r}, distance {distance!r}")
        if time.monotonic() > end:
            break
    print(f"{certificates:,} certificates of {problems:,} problems, {findings} false")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
