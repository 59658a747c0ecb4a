"""Rows for the checker: in blocks, weights included, zero weights left out.

Small tables are summed in extended precision throughout. In large ones each block is summed in double precision, which
is twenty times faster, and the blocks in extended precision: a sum then rounds like one of ``BLOCK_ROWS`` terms, whatever
their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _finite, _tables, _targets
from qed.core._errors import CertificateError, InvalidData
from qed.core._mixed import read as read_columns
from qed.core._validation import FitData, is_source
from qed.verify._declared import declares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


EXTENDED = np.longdouble
UNIT = float(np.finfo(EXTENDED).eps) / 2  # 5e-20 where long double has 64 bits of mantissa, 1e-16 where it is double

BLOCK_ROWS = 4096
LARGE = 1 << 21  # entries from which blocks are summed in double precision
DOUBLE = 2.0**-53


class OtherData(CertificateError, InvalidData):  # noqa: N818  named like the others of its tree
    """Rows and model do not belong together; which of the two is wrong, nobody can tell from them."""


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
            return (BLOCK_ROWS + self.p + 16) * DOUBLE + terms * UNIT
        return (terms + self.p + 16) * UNIT


def read_data(model: Any, X: Any, y: Any, sample_weight: Any, *, finite: bool = True) -> FitData:
    """Read rows, targets and weights, and compare the columns with those of the model; nothing of the model is changed.

    Parameters
    ----------
    model : Estimator
        The model; its class says what kind of rows and targets it takes.
    X, y, sample_weight : object
        As given to ``qed.verify``.
    finite : bool
        Whether NaN and infinity in X are rejected.
    """
    traits, owner = model._traits(), type(model).__name__  # noqa: SLF001
    table, names = read_numbers(model, X, are_of_fit=True)
    n_rows, n_columns = table.shape
    if not n_rows:
        raise InvalidData(f"{owner} cannot be verified on no rows. Pass the rows of the fit.")
    require_columns(model, n_columns, names)
    listed = None if names is None else list(names)
    if finite:
        _finite.require(table, "X", listed, owner, allow_nan=traits.allow_nan)
    target = classes = None
    if traits.target:
        if y is None:
            raise InvalidData(f"{owner} learnt from a target, and y is None. Pass the targets of the fit after X.")
        given = _targets.as_target(y, "y")
        is_column = given.ndim == 2 and given.shape[1] == 1 and not traits.multi_output
        target, classes = _targets.read(given[:, 0] if is_column else given, n_rows, traits, owner)
    return FitData(table, target, _targets.weights(sample_weight, n_rows), listed, n_rows, classes, owner=owner)


def read_on_disk(model: Any, source: Any) -> FitData:
    """Read a source as `read_data` reads a table; its rows are copied to a file without a name, which is mapped.

    What is held in memory are targets, weights and the pages of the file that are in use. The file has 8 bytes for each value,
    column by column, and goes away with the last reference to it.
    """
    owner, schema = type(model).__name__, source.schema
    require_columns(model, schema.n_features, schema.names)
    places = _places_of_words(model, source)
    classes = _labels(source.chunks()) if declares(model, "classes_") else None
    targets = [(chunk.y[:, 0], chunk.s) for chunk in source.chunks()]
    y = np.concatenate([one for one, _ in targets])
    s = np.concatenate([one for _, one in targets]) if schema.weighted else None
    table = mapped_table(len(y), schema.n_features)
    first = 0
    for chunk in source.chunks():
        X = table[first : first + chunk.n_rows]
        X[:] = _without_words(chunk, places)
        _finite.require(X, "X", None, owner, allow_nan=model._traits().allow_nan)  # noqa: SLF001
        first += len(X)
    codes = y if classes is None else np.searchsorted(classes, y)
    return FitData(table, codes, s, None, len(y), classes, owner=owner)


def _places_of_words(model: Any, source: Any) -> list[dict[Any, float] | None]:
    """Return the place of each category that the model stores for columns of words, None for columns of numbers.

    The words of the rows must be exactly the stored ones, in order.
    """
    schema, stored, owner = source.schema, model.__dict__.get("categories_"), type(model).__name__
    places: list[dict[Any, float] | None] = [None] * schema.n_features
    if not schema.words and (stored is None or not any(len(known) for known in stored)):
        return places
    if (
        stored is None
        or len(stored) != schema.n_features
        or [j for j, own in enumerate(stored) if len(own)] != list(schema.words)
    ):
        raise OtherData(f"{owner} stores categories of other columns than those of the source that hold words.")
    seen: list[set[Any]] = [set() for _ in schema.words]
    for found in source.each(_distinct_words):
        for own, more in zip(seen, found, strict=True):
            own.update(more)
    for j, own in zip(schema.words, seen, strict=True):
        values = [one for one in stored[j].tolist() if not _is_gap(one)]
        if values != sorted(own - {None}) or (len(values) < len(stored[j])) != (None in own):
            raise OtherData(f"{owner} knows other categories of column {j} than these rows have, or in another order.")
        places[j] = {value: float(number) for number, value in enumerate(values)}
    return places


def _distinct_words(chunk: Any) -> list[set[Any]]:
    return [set(chunk.column(j).dense.tolist()) for j, own in enumerate(chunk.words) if own is not None]


def _without_words(chunk: Any, places: list[dict[Any, float] | None]) -> np.ndarray[Any, Any]:
    """Return the rows of a chunk as numbers."""
    if not any(known is not None for known in places):
        return chunk.X if isinstance(chunk.X, np.ndarray) else np.asarray(chunk.X.toarray())
    columns = [chunk.column(j).dense for j in range(len(places))]
    return np.column_stack(
        [
            column if known is None else np.array([known.get(one, np.nan) for one in column.tolist()])
            for column, known in zip(columns, places, strict=True)
        ]
    )


def mapped_table(n: int, p: int) -> np.memmap[Any, Any]:
    """Return a float64 table (n, p) in a file without a name, in Fortran order."""
    with TemporaryFile(prefix="qed-") as file:
        made: np.memmap[Any, Any] = np.memmap(file, np.float64, "w+", shape=(n, p), order="F")
    return made


def rows_where(table: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return some rows of a table: in memory, or in a file if the table is in one."""
    if mask.all():
        return table
    if not isinstance(table, np.memmap):
        return np.asarray(table[mask])
    some = mapped_table(int(mask.sum()), table.shape[1])
    for j in range(table.shape[1]):
        some[:, j] = table[:, j][mask]
    return some


def read_numbers(model: Any, X: Any, *, are_of_fit: bool = False) -> tuple[Any, Any]:
    """Read a table as numbers, with the names of its columns; categories as their places among those that the model stores.

    Those of the fit must be exactly the stored ones, in order; other values that the model does not know are missing to it.
    """
    traits, owner, stored = model._traits(), type(model).__name__, model.__dict__.get("categories_")  # noqa: SLF001
    if stored is None or not declares(model, "categorical_features") or not any(len(known) for known in stored):
        return _tables.read(X, "X", traits, owner)
    seen = read_columns(X, owner)
    if len(seen.columns) != len(stored):
        raise OtherData(f"X has {len(seen.columns)} columns, and {owner} knows categories of {len(stored)}.")
    found: list[Any] = []
    kinds: list[Any] = []
    for j, (column, known) in enumerate(zip(seen.columns, stored, strict=True)):
        if not len(known):
            found.append(_tables.read(column.dense[:, np.newaxis], "X", traits, owner)[0][:, 0])
            kinds.append(found[-1].dtype)
            continue
        entries = [None if _is_gap(one) else one for one in column.dense.tolist()]
        values = [one for one in known.tolist() if not _is_gap(one)]
        if are_of_fit and values != sorted({one for one in entries if one is not None}):
            raise OtherData(f"{owner} knows other categories of column {j} than these rows have, or in another order.")
        place = {value: float(number) for number, value in enumerate(values)}
        found.append(np.array([np.nan if one is None else place.get(one, np.nan) for one in entries], dtype=np.float64))
    return np.column_stack(found).astype(np.result_type(*kinds) if kinds else np.float64), seen.names


def holds_categories(model: Any, p: int) -> np.ndarray[Any, Any]:
    """Return whether each column holds categories: those that the parameter names, and those of which values are stored."""
    given, mask = model.__dict__.get("categorical_features"), np.zeros(p, dtype=bool)
    if given is not None and not isinstance(given, str):
        listed = np.asarray(given).ravel()
        if listed.dtype.kind in "UO":
            names = [str(name) for name in model.__dict__.get("feature_names_in_", ())]
            mask[[names.index(str(name)) for name in listed.tolist()]] = True
        elif listed.dtype.kind == "b":
            mask[:] = listed
        else:
            mask[listed.astype(np.intp)] = True
    stored = model.__dict__.get("categories_")
    return mask if stored is None else mask | np.array([len(known) > 0 for known in stored])


def _is_gap(value: Any) -> bool:
    return value is None or bool(value != value)  # noqa: PLR0124  NaN


def require_columns(model: Any, n_columns: int, names: Any) -> None:
    """Refuse rows whose columns are not those that the model stores: their number, and their names where either has names."""
    owner, known, count = type(model).__name__, model.__dict__.get("feature_names_in_"), model.n_features_in_
    if type(count) is not int or n_columns != count:
        raise OtherData(
            f"X has {n_columns} features, but {owner} is expecting {count} features as input. Pass the columns of the fit."
        )
    if (known is None) != (names is None):
        has, lacks = ("X", owner) if known is None else (owner, "X")
        raise OtherData(
            f"{has} has feature names and {lacks} has none: the model was changed, or these are not the rows of the fit. Pass them"
            " as they were: a frame with the same names, or an array."
        )
    if known is None or names is None:
        return
    seen, stored = [str(name) for name in names], [str(name) for name in np.asarray(known, dtype=object).tolist()]
    if seen != stored:
        order = "Feature names must be in the same order as they were in fit." if sorted(seen) == sorted(stored) else ""
        raise OtherData(f"The feature names should match those that were passed during fit. {order}".rstrip())


def read(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Read a table, or the chunks of a source, as blocks of rows."""
    if is_source(X):
        chunks, schema = X.chunks, X.schema
        require_columns(model, schema.n_features, schema.names)
        kind = _precision(X.n_rows, schema.n_features)
        if not model._traits().target:  # noqa: SLF001  targets that the source names are not looked at
            plain = lambda: (block for chunk in chunks() for block in _cut(chunk.X, None, chunk.s, kind))  # noqa: E731
            return Rows(plain, schema.n_features, 0, kind, None, schema.names)
        if y is not None or sample_weight is not None or not schema.n_targets:
            msg = "A source of chunks brings its own target and weights, and nothing comes beside it: scan(..., target='price')."
            raise InvalidData(msg)
        classes = _labels(chunks()) if declares(model, "classes_") else None
        code = (lambda y: y) if classes is None else (lambda y: np.searchsorted(classes, y))
        every = lambda: (block for chunk in chunks() for block in _cut(chunk.X, code(chunk.y), chunk.s, kind))  # noqa: E731
        return Rows(every, schema.n_features, schema.n_targets, kind, classes, schema.names)
    data = read_data(model, X, y, sample_weight)
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
    for first in range(0, X.shape[0], BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        x = X[rows]
        x = x if isinstance(x, np.ndarray) else x.toarray()
        t = np.empty((len(x), 0), kind) if y is None else y[rows].astype(kind)
        weight = np.ones(len(t), kind) if s is None else s[rows].astype(kind)
        if not np.all(weight > 0):
            used = weight > 0
            x, t, weight = x[used], t[used], weight[used]
        if len(t):
            yield Block(x.astype(kind), t, weight)
