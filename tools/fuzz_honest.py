"""Fit models honestly and verify them: none may be refused.

Usage::

    python tools/fuzz_honest.py --seconds 1200

Models are those of ``tests/configurations.py``, in layouts, with weights and targets and on rows that a seed chooses; one in four
goes through a model file. A finding is printed with what makes it again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz_record import append
from tests.configurations import configurations
from tests.verify.honesty import NO_FIT, refusal


def main() -> int:
    """Fit, say how many, and return 1 when a model was refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long to look")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 2**40, help="the first round; a new one by default"
    )
    parser.add_argument("--only", default="", help="classes, separated by commas; all by default")
    parser.add_argument("--record", action="store_true", help="append a row to fuzz/RECORD.md")
    options = parser.parse_args()
    chosen = [one for one in configurations() if not options.only or one.kind in options.only.split(",")]
    accepted = left_out = findings = 0
    end = time.monotonic() + options.seconds
    for seed in itertools.count(options.seed):
        for one in chosen:
            found = refusal(one, seed)
            accepted, left_out = accepted + (found is None), left_out + (found == NO_FIT)
            if found not in (None, NO_FIT):
                findings += 1
                print(found, flush=True)
        if time.monotonic() > end:
            break
    total = accepted + findings
    print(
        f"{total:,} honest models of {len(chosen)} configurations, {findings} refused; {left_out} were refused at the fit"
    )
    if options.record:
        append({"honest models": total}, f"{findings or 'none'}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
