"""Lets the tests of this folder import battery.py, and the models of tests/core/toys.py."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "core")]
