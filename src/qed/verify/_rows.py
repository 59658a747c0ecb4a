"""Rows for the checker: in blocks, weights included, zero weights left out.

Small tables are summed in extended precision throughout. In large ones each block is summed in double precision, which
is twenty times faster, and the blocks in extended precision: a sum then rounds like one of ``BLOCK`` terms, whatever
their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._doors import learn_columns
from qed.core._errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DOUBLE", "EXTENDED", "UNIT", "Block", "Rows", "read"]

EXTENDED = np.longdouble
UNIT = float(np.finfo(EXTENDED).eps) / 2  # 5e-20 where long double has 64 bits of mantissa, 1e-16 where it is double

BLOCK = 4096
LARGE = 1 << 21  # entries from which blocks are summed in double precision
DOUBLE = 2.0**-53


@dataclass(frozen=True)
class Block:
    """Some rows: features (n, p), targets (n, m) and weights (n,), all in the precision of the sums."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    s: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rows:
    """Rows that can be gone through again and again."""

    blocks: Callable[[], Iterator[Block]]
    p: int
    m: int
    kind: Any  # float64 or extended, of what is summed within a block
    classes: Any = None  # labels, whose numbers the targets of a classifier are
    names: Any = None  # of the columns, where they are known

    def rounding(self, terms: int) -> float:
        """Bound the relative rounding of a sum over the rows of products of ``p`` terms each."""
        if self.kind is not EXTENDED:
            return (BLOCK + self.p + 16) * DOUBLE + terms * UNIT
        return (terms + self.p + 16) * UNIT


def read(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Let the rows in by the door of the model, or chunk by chunk from a source."""
    chunks = getattr(X, "chunks", None)
    if chunks is not None:
        schema, n_rows = X.schema, X.n_rows
        learn_columns(model, schema.n_features, schema.names, reset=False)
        if not model._traits().target:  # noqa: SLF001  targets that the source names are not looked at
            kind = _precision(n_rows, schema.n_features)
            plain = lambda: (block for chunk in chunks() for block in _cut(chunk.X, None, chunk.s, kind))  # noqa: E731
            return Rows(plain, schema.n_features, 0, kind, None, schema.names)
        if y is not None or sample_weight is not None or not schema.n_targets:
            msg = "A source of chunks brings its own target and weights, and nothing comes beside it: scan(..., target='price')."
            raise InvalidData(msg)
        kind = _precision(n_rows, schema.n_features)
        classes = _labels(chunks()) if "classes_" in model.__dict__ else None
        code = (lambda y: y) if classes is None else (lambda y: np.searchsorted(classes, y))
        every = lambda: (block for chunk in chunks() for block in _cut(chunk.X, code(chunk.y), chunk.s, kind))  # noqa: E731
        return Rows(every, schema.n_features, schema.n_targets, kind, classes, schema.names)
    data = model._fit_data(X, y, sample_weight, reset=False)  # noqa: SLF001
    targets = np.empty((data.n_rows, 0)) if data.y is None else data.y.reshape(data.n_rows, -1)
    kind = _precision(data.n_rows, data.X.shape[1])
    blocks = partial(_cut, data.X, targets, data.weight, kind)
    return Rows(blocks, data.X.shape[1], targets.shape[1], kind, data.classes, data.names)


def _labels(chunks: Iterator[Any]) -> np.ndarray[Any, Any]:
    """Return the labels of all rows, sorted."""
    found: set[float] = set()
    for chunk in chunks:
        found.update(np.unique(chunk.y).tolist())
    return np.array(sorted(found))


def _precision(n_rows: int | None, p: int) -> Any:
    """Choose the precision of a block: extended for small tables and for those with more columns than rows."""
    is_large = n_rows is None or (n_rows > p and n_rows * p > LARGE)
    return np.float64 if is_large else EXTENDED


def _cut(X: Any, y: Any, s: Any, kind: Any) -> Iterator[Block]:
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    for first in range(0, X.shape[0], BLOCK):
        rows = slice(first, first + BLOCK)
        x = X[rows]
        x = x if isinstance(x, np.ndarray) else x.toarray()
        t = np.empty((len(x), 0), kind) if y is None else y[rows].astype(kind)
        weight = np.ones(len(t), kind) if s is None else s[rows].astype(kind)
        if not np.all(weight > 0):
            used = weight > 0
            x, t, weight = x[used], t[used], weight[used]
        if len(t):
            yield Block(x.astype(kind), t, weight)
