"""Some rows of whatever holds them, in its own type."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData
from qed.core._validation import is_source, source_targets
from qed.data._selected import selected


def rows_of(table: Any, index: Any) -> Any:
    """Return rows by index: of arrays, sparse containers, frames, series and sequences; None stays None."""
    if table is None:
        return None
    if is_source(table):
        return selected(table, index)
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


def rows_and_targets(X: Any, y: Any, *, classifier: bool) -> tuple[Any, Any]:
    """Return rows that can be cut, and their targets; those of a source are gathered."""
    if not is_source(X):
        return countable(X), countable(y)
    if y is not None:
        raise InvalidData(
            "A source of chunks brings its own targets. Name them in it, scan(..., target='price'), and leave out y."
        )
    return X, source_targets(X, labels=classifier)[0] if X.schema.n_targets else None


def cut_folds(X: Any, folds: Any) -> list[Any]:
    """List pairs of row numbers; those of a source rise, since its rows are read in their order."""
    pairs = list(folds)
    return [(np.sort(train), np.sort(test)) for train, test in pairs] if is_source(X) else pairs
