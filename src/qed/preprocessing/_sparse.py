"""Tables of zeros and ones, sparse or dense, from the places of the ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core._tables import csr

Array = np.ndarray[Any, Any]


def compressed_ones(
    codes: list[Array], tables: list[Array], widths: list[int], n_rows: int, dtype: np.dtype[Any], *, sparse: bool
) -> Any:
    """Put a one for each entry: column ``tables[j][codes[j]]`` of block j, or nowhere where that is negative."""
    starts = np.concatenate([[0], np.cumsum(widths)])
    total = int(starts[-1])
    if not sparse:
        out = np.zeros((n_rows, total), dtype)
        rows = np.arange(n_rows)
        for j, place in enumerate(codes):
            columns = tables[j][place]
            here = columns >= 0
            if here.all():
                out[rows, starts[j] + columns] = 1
            else:
                out[rows[here], starts[j] + columns[here]] = 1
        return out
    width = np.int32 if max(total, n_rows * len(codes)) < 2**31 else np.int64
    indices = np.empty((n_rows, len(codes)), width)
    full = True
    for j, place in enumerate(codes):
        table = np.where(tables[j] >= 0, tables[j] + starts[j], -1).astype(width)
        indices[:, j] = table[place]
        full = full and bool((tables[j][:-1] >= 0).all()) and (tables[j][-1] >= 0 or not _any_negative(place))
    if full:
        ends = np.arange(0, n_rows * len(codes) + 1, len(codes), dtype=width)
        return csr(np.ones(indices.size, dtype), indices.ravel(), ends, (n_rows, total), is_sorted=True)
    here = indices >= 0
    ends = np.zeros(n_rows + 1, width)
    np.cumsum(here.sum(axis=1), out=ends[1:])
    kept = indices[here]
    return csr(np.ones(len(kept), dtype), kept, ends, (n_rows, total), is_sorted=True)


def _any_negative(place: Array) -> bool:
    return bool(len(place)) and int(place.min()) < 0
