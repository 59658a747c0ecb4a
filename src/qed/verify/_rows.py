"""Rows for the checker: in blocks, in extended precision, weights included, zero weights left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["EXTENDED", "UNIT", "Block", "Rows", "read"]

EXTENDED = np.longdouble
UNIT = float(np.finfo(EXTENDED).eps) / 2  # 5e-20 where long double has 64 bits of mantissa, 1e-16 where it is double

BLOCK = 4096


@dataclass(frozen=True)
class Block:
    """Some rows: features (n, p) in float64, targets (n, m) and weights (n,) in extended precision."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    s: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rows:
    """Rows that can be gone through again and again."""

    blocks: Callable[[], Iterator[Block]]
    p: int
    m: int


def read(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Let the rows in by the door of the model, or chunk by chunk from a source."""
    chunks = getattr(X, "chunks", None)
    if chunks is not None:
        schema = X.schema
        return Rows(
            lambda: (block for c in chunks() for block in _cut(c.X, c.y, c.s)), schema.n_features, schema.n_targets
        )
    data = model._fit_data(X, y, sample_weight, reset=False)  # noqa: SLF001
    targets = data.y.reshape(data.n_rows, -1)
    return Rows(lambda: _cut(data.X, targets, data.weight), data.X.shape[1], targets.shape[1])


def _cut(X: Any, y: Any, s: Any) -> Iterator[Block]:
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    for first in range(0, X.shape[0], BLOCK):
        rows = slice(first, first + BLOCK)
        x, t = X[rows], y[rows].astype(EXTENDED)
        x = x if isinstance(x, np.ndarray) else x.toarray()
        weight = np.ones(len(t), EXTENDED) if s is None else s[rows].astype(EXTENDED)
        if not np.all(weight > 0):
            used = weight > 0
            x, t, weight = x[used], t[used], weight[used]
        if len(t):
            yield Block(x.astype(np.float64), t, weight)
