"""Columns in which predictions may only rise or fall."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidParameter

Array = np.ndarray[Any, Any]


def directions(owner: str, given: Any, names: Any, n_columns: int) -> Array | None:
    """Return 1, -1 or 0 for each column, from a list of them or a dict by names; None if predictions may go anywhere."""
    if given is None:
        return None
    if isinstance(given, dict):
        if names is None:
            raise InvalidParameter(
                f"{owner}.monotonic_cst names columns, and X has no names. Pass a frame, or a number for each column."
            )
        listed = [str(name) for name in names]
        unknown = sorted(set(given) - set(listed))
        if unknown:
            raise InvalidParameter(f"{owner}.monotonic_cst names the columns {unknown}, which X does not have.")
        values = np.array([given.get(name, 0) for name in listed])
    else:
        try:
            values = np.asarray(given)
        except ValueError:  # lists of different lengths: no number for each column
            values = np.empty((0, 0))
    if values.shape != (n_columns,) or not np.isin(values, (-1, 0, 1)).all():
        raise InvalidParameter(
            f"{owner}.monotonic_cst must hold -1, 0 or 1 for each of the {n_columns} columns, got {given!r:.80}."
        )
    return np.ascontiguousarray(values, dtype=np.int8) if values.any() else None
