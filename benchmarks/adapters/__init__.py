"""One module per rival: `NAME`, `versions()`, and `estimator(task)`, which imports the library when called.

The estimator follows scikit-learn's conventions: fit, predict, coef_, intercept_. `estimator` returns None where the
library has no such method. `score(task)` gives a function of truth and prediction, or None. `workflow(task)`, where a rival
has it, gives a function of table and target, or None. `PACKAGE` is what a row that names the rival as a peer imports; rivals
that race as peers only are lines of `_peers.py`.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from benchmarks.adapters._peers import PEERS, Peer

if TYPE_CHECKING:
    from benchmarks.problems import Problem

RIVALS = (
    "ours",
    "scikit_learn",
    "intelex",
    "numpy_lstsq",
    "celer",
    "skglm",
    "polars_frames",
    "scipy_by_hand",
    *PEERS,
)


def adapter(name: str) -> ModuleType | Peer:
    return PEERS[name] if name in PEERS else importlib.import_module(f"benchmarks.adapters.{name}")


def package(name: str, problem: Problem) -> str | None:
    """What a row which says itself how libraries are used imports for this rival; None where the rival has no part in it."""
    found: str | None = getattr(adapter(name), "PACKAGE" if name in problem.peers else "LIBRARY", None)
    return found


def interpreter(name: str) -> str | None:
    """The Python that can import this rival: the one QED_BENCH_<NAME> names, or this one; else None."""
    named = os.environ.get(f"QED_BENCH_{name.upper()}")
    python = shutil.which(named) if named else sys.executable
    if python is None:
        raise SystemExit(
            f"QED_BENCH_{name.upper()}={named} is not a program. Give the path of a Python that can import the library."
        )
    probe = f"from benchmarks.adapters import adapter; adapter({name!r}).versions()"
    done = subprocess.run([python, "-c", probe], capture_output=True, check=False)
    return python if done.returncode == 0 else None
