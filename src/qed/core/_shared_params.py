"""Parameters that many models share, declared once: ``verbose: NonNegativeInt = VERBOSE``."""

from __future__ import annotations

from qed.core._params import param

VERBOSE = param(0, "How much progress to show: 0 for none.")
STRICT = param(False, "Whether to raise ToleranceNotReached when the gap is above tol.")
FIT_INTERCEPT = param(True, "Whether to fit an intercept; without one the data are taken about the origin.")
COPY = param(True, "Whether to leave the given array as it is; with False it may be written over.")
COPY_X = param(True, "Whether X must stay as it is. X is never written to, so both values mean the same.", kind="hint")
