"""What a class declares; what a model holds besides is rejected before any check, and never read."""

from __future__ import annotations

from typing import Any


def declares(model: Any, name: str) -> bool:
    """Say whether a model's class declares a parameter or a fitted attribute of this name."""
    return name in type(model)._fields or name in type(model)._results  # noqa: SLF001
