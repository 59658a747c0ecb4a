"""Some rows of whatever holds them, in its own type."""

from __future__ import annotations

from typing import Any

import numpy as np


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


def countable(table: Any) -> Any:
    """Return what can be cut into rows: whatever NumPy alone can see is made an array."""
    if table is None or hasattr(table, "shape") or hasattr(table, "__len__") or not hasattr(table, "__array__"):
        return table
    return np.asarray(table)
