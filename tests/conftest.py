"""Marks, Hypothesis profiles and the one warning that scikit-learn's checks always raise for outsiders."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fuzz", parent=settings.get_profile("ci"), max_examples=20_000, derandomize=False)
settings.load_profile(os.environ.get("QED_HYPOTHESIS", "ci"))

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "core")]  # for instances.py and toys.py, which several folders use
