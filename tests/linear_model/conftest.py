import pytest


@pytest.fixture
def no_squares(monkeypatch):
    """Make every sparse design too wide for products of columns, so that small ones are solved by products alone."""
    monkeypatch.setattr("qed.linear_model._learn.LARGEST_SQUARE", 1)
