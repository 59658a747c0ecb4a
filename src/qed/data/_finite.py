"""Name the value that spoilt a sum. Nobody looks at single values until a sum is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from qed.core._errors import InvalidData

if TYPE_CHECKING:
    from qed.data._chunk import Chunk


def raise_not_finite(chunk: Chunk, *, gaps: bool = False) -> NoReturn:
    """Raise the error that says which value of the chunk is NaN or infinite, or that squares of it overflow.

    With ``gaps``, NaN in X is a missing value, and not looked for.
    """
    for label, table in (("X", chunk.X), ("y", chunk.y)):
        plain = (
            np.where(np.isnan(table), 0.0, table) if gaps and label == "X" and isinstance(table, np.ndarray) else table
        )
        found = None if plain is None else first_not_finite(plain)
        if found is None or table is None:
            continue
        row, column, value = found
        what = "NaN" if np.isnan(value) else "infinity"
        raise InvalidData(
            f"Input {label} contains {what}: {_place(chunk, label, row, column)}. Only finite numbers "
            "are accepted here: remove the row, give it weight 0 after replacing the value, or impute it first."
        )
    raise InvalidData(_too_large(chunk))


def first_not_finite(table: Any) -> tuple[int, int, float] | None:
    """Find row, column and value of the first entry that is NaN or infinite; None when all are finite."""
    if not isinstance(table, np.ndarray):
        entries = table.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        if not bad.size:
            return None
        at = bad[np.lexsort((entries.col[bad], entries.row[bad]))[0]]
        return int(entries.row[at]), int(entries.col[at]), float(entries.data[at])
    size = max(1, (1 << 20) // max(1, table.shape[1]))
    for start in range(0, table.shape[0], size):
        places = np.argwhere(~np.isfinite(table[start : start + size]))
        if len(places):
            row, column = int(places[0, 0]) + start, int(places[0, 1])
            return row, column, float(table[row, column])
    return None


def _place(chunk: Chunk, label: str, row: int, column: int) -> str:
    if chunk.origin is None:
        return f"row {row}, column {column}"
    names = chunk.origin.names if label == "X" else chunk.origin.targets
    return f"{chunk.origin.row(row)}, column {repr(names[column]) if names else column}"


def _too_large(chunk: Chunk) -> str:
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.data
    largest = max(
        (float(np.abs(table).max()) for table in (X, chunk.y, chunk.s) if table is not None and table.size), default=0.0
    )
    return (
        f"Sums of squares overflow float64: the largest magnitude among values and weights is {largest:.3g}. "
        "Divide the columns (or the weights) by a power of ten so that "
        "the sum of weight * value**2 stays below 1e308."
    )
