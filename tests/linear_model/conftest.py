import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parents[1] / "reference"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import pytest  # noqa: E402


@pytest.fixture
def no_squares(monkeypatch):
    """Make every sparse design too wide for products of columns, so that small ones are solved by products alone."""
    monkeypatch.setattr("qed.linear_model._learn.LARGEST_SQUARE", 1)
