"""Change fitted models and their certificates: whenever answers or statements become others, ``qed.verify`` must refuse.

Usage::

    python tools/fuzz_tamper.py --seconds 1200

Models are those of ``tests/configurations.py``, changes those of ``tests/verify/tampering.py``; one in seven goes through a model
file. Subject number i of a seed is always the same; a finding is printed with what makes it again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz_record import append
from tests.configurations import configurations
from tests.verify.tampering import Subject, changes, judged

from qed.certificates import Uncertified
from qed.core import QedError

SHARE = 200  # changes of one fit: a model of many parts has thousands


def main() -> int:
    """Change, say how many, and return 1 when something was accepted or raised another error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long to look")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 2**40, help="the first round; a new one by default"
    )
    parser.add_argument("--only", default="", help="classes, separated by commas; all by default")
    parser.add_argument("--record", action="store_true", help="append a row to fuzz/RECORD.md")
    options = parser.parse_args()
    chosen = [one for one in configurations() if not options.only or one.kind in options.only.split(",")]
    changed = fits = findings = 0
    end = time.monotonic() + options.seconds
    for seed in itertools.count(options.seed):
        rng = np.random.default_rng(seed)
        for number in rng.permutation(len(chosen)):
            one = chosen[int(number)]
            try:
                subject = Subject.of(one, seed)
            except QedError:
                continue  # rows that this model refuses
            if isinstance(subject.model.certificate_, Uncertified):
                continue
            listed, fits = list(changes(subject, rng)), fits + 1
            for at, k in enumerate(rng.permutation(len(listed))[:SHARE]):
                wrong, changed = judged(subject, listed[k], through_a_file=at % 7 == 0), changed + 1
                if wrong is not None:
                    findings += 1
                    print(f"Subject.of({one.name}, {seed}) {listed[k].words}: {wrong}", flush=True)
            if time.monotonic() > end:
                print(f"{changed:,} changed models of {fits:,} fits, {findings} findings")
                if options.record:
                    append({"changed models": changed}, f"{findings or 'none'}")
                return 1 if findings else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
