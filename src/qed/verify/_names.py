"""How a message names a column: as the user does, where names are known."""

from __future__ import annotations

from typing import Any


def called(model: Any, column: int) -> str:
    """Return ``column 'age'`` where the model was fitted to names, ``column 3`` elsewhere."""
    names = model.__dict__.get("feature_names_in_")
    known = names is not None and column < len(names)
    return f"column {str(names[column])!r}" if known else f"column {column}"
