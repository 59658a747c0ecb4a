"""Seeing that numbers are finite, in one pass, and saying where they are not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import _kernels
from qed.core._errors import InvalidData

if TYPE_CHECKING:
    from qed.core._params import Array


_BLOCK = 1 << 20  # entries looked at together when a place must be named


def require(X: Any, what: str, names: list[str] | None, owner: str, *, allow_nan: bool = False) -> None:
    """Refuse NaN and infinity, naming the first place.

    Parameters
    ----------
    X : ndarray or scipy.sparse container
        Floats.
    what : str
        What to call it.
    names : list of str or None
        Names of the columns.
    owner : str
        The name of the model.
    allow_nan : bool
        Whether NaN means "missing", and only infinity is rejected.
    """
    dense = isinstance(X, np.ndarray)
    data = X if dense else X.data
    if not data.size or _kernels.all_finite(data):
        return
    if not dense:
        X = X.tocoo()
    found = _first(data, allow_nan=allow_nan)
    if found is None:
        return
    flat, count = found
    if dense:
        place, value = np.unravel_index(flat, data.shape), data.flat[flat]
    else:
        place, value = (X.row[flat], X.col[flat]), data[flat]
    bad = _Bad(tuple(int(i) for i in place), float(value), count)
    raise InvalidData(_message(what, names, owner, bad, data.dtype))


def _first(data: Array, *, allow_nan: bool) -> tuple[int, int] | None:
    """Return where, in C order, the first bad entry stands and how many there are; None if there are none."""
    first, count = -1, 0
    rows = data.reshape(1, -1) if data.ndim == 1 else data
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        bad = np.isinf(block) if allow_nan else ~np.isfinite(block)
        here = int(np.count_nonzero(bad))
        if here and not count:
            first = start * rows.shape[1] + int(np.argmax(bad))
        count += here
    return (first, count) if count else None


class _Bad(NamedTuple):
    """The first bad entry: where it stands, what it is, and how many there are in all."""

    place: tuple[int, ...]
    value: float
    total: int


def _message(what: str, names: list[str] | None, owner: str, bad: _Bad, dtype: Any) -> str:
    place, count, is_nan = bad.place, bad.total, math.isnan(bad.value)
    head = (
        f"Input {what} contains NaN."
        if is_nan
        else f"Input {what} contains infinity or a value too large for dtype('{dtype}')."
    )
    where = f"row {place[0]}"
    if len(place) > 1:
        where += f", column {place[1] if names is None else repr(names[place[1]])}"
    others = f", the first of {count} such values" if count > 1 else ""
    if what == "X" and is_nan:
        advice = f" {owner} does not accept missing values: drop these rows, or fill them in first (SimpleImputer)."
    else:
        advice = " Drop these rows, or repair the values first."
    return f"{head} It stands in {where}{others}.{advice}"
