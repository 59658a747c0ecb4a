"""Where chunks come from: the protocol every source keeps, and the source that cuts arrays already in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.data._chunk import FLOATS, Chunk, Origin, Schema, described
from qed.data._fold import each
from qed.data._parts import Changed, Whole, chunks_of, with_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from qed.data._parts import Part

A = TypeVar("A")


@runtime_checkable
class Source(Protocol):
    """Rows that can be read chunk by chunk, again and again, always in the same order and always cut the same way.

    A source yields at least one chunk (of zero rows, if need be), so that whoever folds it learns the shape.
    """

    @property
    def schema(self) -> Schema:
        """The columns, the same in every chunk."""
        ...

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, None when only reading can tell."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether a chunk costs nothing to read: then there is no reading to overlap with computing."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows from the first one."""
        ...

    def parts(self) -> Sequence[Part]:
        """Cut the source into parts, at least one, whose chunks are those of the source."""
        ...

    def each(self, of: Callable[[Chunk], A]) -> Iterator[A]:
        """Yield ``of(chunk)`` for all chunks, computed where the executor of the enclosing block computes."""
        ...

    def targets(self) -> Iterator[tuple[Any, Any]]:
        """Yield targets and weights of all chunks."""
        ...


class Readable(ABC):
    """What a source can do once it has parts."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns, the same in every chunk."""

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """How many rows there are, None when only reading can tell."""

    @property
    @abstractmethod
    def in_memory(self) -> bool:
        """Whether a chunk costs nothing to read."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Cut the source into parts, at least one, whose chunks are those of the source."""

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows from the first one."""
        return chunks_of(self.parts())

    def each(self, of: Callable[[Chunk], A]) -> Iterator[A]:
        """Yield ``of(chunk)`` for all chunks, computed where the executor of the enclosing block computes."""
        return each(self, of)

    def targets(self) -> Iterator[tuple[Any, Any]]:
        """Yield targets and weights of all chunks; files are read without their features."""
        return each(self, target_and_weight)

    def changed(self, change: Callable[[Any], Any], n_features: int, names: Sequence[str] | None) -> Readable:
        """Return a source whose features are computed from those of this one as they are read; picklable if ``change`` is."""
        return Transformed(self, change, n_features, names)


class View(Readable):
    """The rows of another source, seen otherwise: chunks are changed as they are read."""

    _source: Source

    @property
    def n_rows(self) -> int | None:
        """Rows of the source."""
        return self._source.n_rows

    @property
    def in_memory(self) -> bool:
        """As the source says."""
        return self._source.in_memory


class Transformed(View):
    """A source of computed features; targets and weights stay.

    Parameters
    ----------
    source : Readable
        Where rows come from.
    change : callable
        From the features of a chunk, (n, p), to new ones.
    n_features, names : int, sequence of str or None
        The columns that come out.
    """

    def __init__(
        self, source: Readable, change: Callable[[Any], Any], n_features: int, names: Sequence[str] | None
    ) -> None:
        self._source, self._change = source, change
        self._schema = replace(
            source.schema,
            n_features=n_features,
            names=None if names is None else tuple(names),
            dtype=FLOATS[0],
            words=(),
        )

    @property
    def schema(self) -> Schema:
        """The columns that come out."""
        return self._schema

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return [Changed(part, partial(_transformed, change=self._change)) for part in self._source.parts()]

    def targets(self) -> Iterator[tuple[Any, Any]]:
        """Yield targets and weights of all chunks, and compute no features."""
        return self._source.targets()


def _transformed(chunk: Chunk, change: Callable[[Any], Any]) -> Chunk:
    rows = change(chunk.table)
    origin = None if chunk.origin is None else replace(chunk.origin, names=())
    return Chunk(rows.astype(np.float64) if rows.dtype == np.float32 else rows, chunk.y, chunk.s, origin)


def target_and_weight(chunk: Chunk) -> tuple[Any, Any]:
    """Return the targets and the weights of a chunk."""
    return chunk.y, chunk.s


class Positive(View):
    """The rows of another source that have a positive weight.

    Parameters
    ----------
    source : Source
        Where rows come from.
    weight : ndarray of shape (n,)
        The weights of all its rows.
    """

    def __init__(self, source: Source, weight: np.ndarray[Any, Any]) -> None:
        self._source, self._weight = source, weight

    @property
    def schema(self) -> Schema:
        """The columns of the source."""
        return self._source.schema

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return int(np.count_nonzero(self._weight))

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        parts = self._source.parts()
        edges = np.cumsum([0, *(part.n_rows for part in parts)])
        weights = np.split(self._weight, edges[1:-1])
        return [Changed(part, _positive, int(np.count_nonzero(s))) for part, s in zip(parts, weights, strict=True)]


def _positive(chunk: Chunk) -> Chunk:
    if chunk.s is None or chunk.s.all():
        return chunk
    used = np.flatnonzero(chunk.s)
    origin = replace(chunk.origin or Origin(((0, "", 0),), ()), kept=used)
    return replace(chunk.taken(used), origin=origin)


class Marked(View):
    """A source whose chunks hold features and targets side by side in X, and a number for each row as the target.

    Parameters
    ----------
    source : Source
        Where rows come from.
    marks : ndarray of shape (n,)
        The numbers, such as those of the folds that rows belong to.
    """

    def __init__(self, source: Source, marks: np.ndarray[Any, Any]) -> None:
        self._source, self._marks = source, np.asarray(marks, np.float64)

    @property
    def schema(self) -> Schema:
        """Features and targets as features, and one target."""
        schema = self._source.schema
        return replace(schema, names=None, n_features=schema.n_features + schema.n_targets, n_targets=1)

    @property
    def n_rows(self) -> int:
        """As many as there are marks, also where only reading the source can tell."""
        return len(self._marks)

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        joined = [Changed(part, _joined) for part in self._source.parts()]
        return with_targets(joined, self._marks[:, np.newaxis])


def _joined(chunk: Chunk) -> Chunk:
    if chunk.y is None:
        return chunk
    origin = chunk.origin
    if origin is not None:
        origin = replace(origin, names=(*origin.names, *origin.targets) if origin.names else (), targets=())
    return replace(chunk, X=np.hstack([chunk.X, chunk.y]), y=None, origin=origin)


class ArraySource(Readable):
    """Arrays in memory, as they are: nothing is copied, a chunk is a view.

    Parameters
    ----------
    X : ndarray of shape (n, p), or scipy.sparse CSR or CSC
        Float32 or float64.
    y : ndarray of shape (n,) or (n, m), optional
        Float32 or float64 targets; whole numbers, such as classes, become float64.
    s : ndarray of shape (n,), optional
        Float64 weights, finite and not negative.
    names : sequence of str, optional
        Names of the features.
    chunk_rows : int, optional
        Rows per chunk; by default all rows are one chunk. A CSC matrix cannot be cut without copying it, so for it the
        chunks are copies, made one at a time.
    """

    def __init__(
        self,
        X: Any,
        y: np.ndarray[Any, Any] | None = None,
        s: np.ndarray[Any, Any] | None = None,
        *,
        names: Sequence[str] | None = None,
        chunk_rows: int | None = None,
    ) -> None:
        if chunk_rows is not None and chunk_rows < 1:
            raise InvalidParameter(f"ArraySource.chunk_rows must be a number of rows >= 1 or None, got {chunk_rows!r}.")
        if y is not None:
            y = y.astype(np.float64) if y.dtype.kind in "iub" else y
            y = y[:, np.newaxis] if y.ndim == 1 else y
        self._names = None if names is None else tuple(names)
        self._whole = Chunk(X, y, s, self._origin(0))  # checks shapes and types
        if s is not None:
            check_weights(s)
        if names is not None and len(names) != self._whole.n_features:
            raise InvalidData(f"ArraySource got {len(names)} names for the columns of X, {described(X)}.")
        self._chunk_rows = chunk_rows

    @property
    def schema(self) -> Schema:
        """The columns."""
        whole = self._whole
        kind = FLOATS[FLOATS.index(whole.X.dtype)]
        return Schema(self._names, whole.n_features, whole.n_targets, kind, whole.s is not None)

    @property
    def n_rows(self) -> int:
        """Rows of `X`."""
        return self._whole.n_rows

    @property
    def in_memory(self) -> bool:
        """Always true."""
        return True

    def chunks(self) -> Iterator[Chunk]:
        """Cut views of `chunk_rows` rows each; the last one may be shorter."""
        whole, size = self._whole, self._chunk_rows
        if size is None or whole.n_rows <= size:
            yield whole
            return
        for start in range(0, whole.n_rows, size):
            rows = slice(start, min(start + size, whole.n_rows))
            yield Chunk(
                whole.X[rows],
                None if whole.y is None else whole.y[rows],
                None if whole.s is None else whole.s[rows],
                self._origin(start),
            )

    def parts(self) -> Sequence[Part]:
        """Give all rows as one part: they are here."""
        return [Whole(self)]

    def _origin(self, first_row: int) -> Origin:
        return Origin(((0, "", first_row),), self._names or ())


class OneChunk(Readable):
    """A chunk as a source."""

    def __init__(self, chunk: Chunk, schema: Schema) -> None:
        self._chunk, self._schema = chunk, schema

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Rows of the chunk."""
        return self._chunk.n_rows

    @property
    def in_memory(self) -> bool:
        """Always true."""
        return True

    def chunks(self) -> Iterator[Chunk]:
        """Give the chunk."""
        return iter((self._chunk,))

    def parts(self) -> Sequence[Part]:
        """Give it as one part."""
        return [Whole(self)]


def check_weights(s: np.ndarray[Any, Any], where: str = "Sample weights", *, first_row: int = 0) -> None:
    """Refuse weights that are negative or not finite, naming the first one."""
    if s.size and not (s.min() >= 0 and s.max() < np.inf):  # a NaN fails both comparisons
        row = int(np.flatnonzero(~((s >= 0) & (s < np.inf)))[0])
        raise InvalidData(
            f"{where} must be finite and >= 0, got {float(s[row])!r} in row {row + first_row}. "
            "Give 0 to leave a row out."
        )
