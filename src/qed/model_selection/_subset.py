"""Some rows of whatever holds them, in its own type."""

from __future__ import annotations

from typing import Any

__all__ = ["rows_of"]


def rows_of(table: Any, index: Any) -> Any:
    """Return rows by index: of arrays, sparse containers, frames, series and sequences; None stays None."""
    if table is None:
        return None
    if hasattr(table, "iloc"):
        table = table.iloc
    elif type(table).__module__.startswith("pyarrow"):
        return table.take(index)
    elif hasattr(table, "tocsr") and table.format not in ("csr", "csc"):
        table = table.tocsr()
    return table[index] if hasattr(table, "shape") or hasattr(table, "obj") else [table[int(i)] for i in index]
