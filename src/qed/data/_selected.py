"""Some rows of a source: as another source, or gathered into memory, by themselves or on the way of another pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from qed.data._fold import Statistic, fold
from qed.data._sources import Readable, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from qed.data._chunk import Chunk, Origin, Schema
    from qed.data._parts import Part
    from qed.data._sources import Source

Array = np.ndarray[Any, Any]
S = TypeVar("S", bound=Statistic)


def count_rows(source: Source) -> int:
    """Return the number of rows, counted part by part where the source does not know."""
    known = source.n_rows
    return sum(part.n_rows for part in source.parts()) if known is None else known


def selected(source: Source, index: Array) -> Selected:
    """Return the source of rows with given numbers, which must rise."""
    return Selected(source, _cut(source, index))


def _cut(source: Source, index: Array) -> list[Array]:
    """Cut rising numbers of rows where the source is cut into parts, each counted from the first row of its part."""
    edges = np.cumsum([0, *(part.n_rows for part in source.parts())])
    ends = np.searchsorted(index, edges)
    return [index[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], edges[:-1], strict=True)]


def gathered(source: Source, index: Array) -> tuple[Any, Any]:
    """Return rows of given numbers, in any order and as often as they are named, and their weights; one pass."""
    rises = bool((index[1:] > index[:-1]).all())
    wanted, back = (index, slice(None)) if rises else np.unique(index, return_inverse=True)
    table, s = _joined(list(selected(source, wanted).each(_table_and_weight)), weighted=source.schema.weighted)
    return table[back], None if s is None else s[back]


def fold_and_gather(source: Source, of: Callable[[Chunk], S], index: Array, *, name: str) -> tuple[S, Any, Any]:
    """Fold a source, and gather rows of given numbers, which must rise, and their weights: one pass for both.

    Chunks come to ``of`` without targets.
    """
    found = fold(Flagged(source, index), partial(_with_rows, of=of), name=name)
    return found.statistic, *_joined(found.rows, weighted=source.schema.weighted)


def _joined(pieces: Sequence[tuple[Any, Any]], *, weighted: bool) -> tuple[Any, Any]:
    """Put tables, and weights, one below the other."""
    s = np.concatenate([one for _, one in pieces]) if weighted else None
    if all(isinstance(table, np.ndarray) for table, _ in pieces):
        return np.concatenate([table for table, _ in pieces]), s
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415  only for sparse chunks, which have loaded it

    return csr_array(vstack([csr_array(table) for table, _ in pieces], format="csr")), s


@dataclass(frozen=True, eq=False)
class WithRows(Generic[S]):
    """A statistic of all rows, and some of them."""

    statistic: S
    rows: tuple[tuple[Any, Any], ...]

    def merge(self, other: Self) -> Self:
        """Merge the statistics; put the rows one below the other."""
        return type(self)(self.statistic.merge(other.statistic), self.rows + other.rows)


def _with_rows(chunk: Chunk, of: Callable[[Chunk], S]) -> WithRows[S]:
    flags: Any = chunk.y
    rows = np.flatnonzero(flags[:, 0])
    some = chunk.X[rows], None if chunk.s is None else chunk.s[rows]
    return WithRows(of(replace(chunk, y=None)), (some,))


def _table_and_weight(chunk: Chunk) -> tuple[Any, Any]:
    return chunk.X, chunk.s


class Selected(Readable):
    """A source of some rows of another: of each of its parts, those of the given numbers."""

    def __init__(self, source: Source, picks: Sequence[Array]) -> None:
        self._source, self._picks = source, picks

    @property
    def schema(self) -> Schema:
        """The columns of the source."""
        return self._source.schema

    @property
    def n_rows(self) -> int:
        """Rows that are left."""
        return sum(len(pick) for pick in self._picks)

    @property
    def in_memory(self) -> bool:
        """As the source says."""
        return self._source.in_memory

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return [RowsOfPart(part, pick) for part, pick in zip(self._source.parts(), self._picks, strict=True)]

    def targets(self) -> Iterator[tuple[Any, Any]]:
        """Yield targets and weights of the rows that are left, all at once; files are read without their features."""
        starts = np.cumsum([0, *(part.n_rows for part in self._source.parts())])[:-1]
        index = np.concatenate([pick + start for pick, start in zip(self._picks, starts, strict=True)]).astype(np.intp)
        columns = zip(*self._source.targets(), strict=True)
        y, s = (None if column[0] is None else np.concatenate(column)[index] for column in columns)
        yield y, s


@dataclass(frozen=True, eq=False)
class RowsOfPart:
    """Some rows of a part, in their order."""

    part: Part
    pick: Array

    @property
    def n_rows(self) -> int:
        """Rows that are left."""
        return len(self.pick)

    @property
    def label(self) -> str:
        """As the part says."""
        return self.part.label

    def chunks(self) -> Iterator[Chunk]:
        """Read the part, and keep these rows."""
        for chunk, rows in _picked(self.part, self.pick):
            origin = None if chunk.origin is None else replace(chunk.origin, kept=_kept(chunk.origin, rows))
            yield replace(chunk.taken(rows), origin=origin)


def _kept(origin: Origin, rows: Array) -> Array:
    return rows if origin.kept is None else np.asarray(origin.kept[rows])


def _picked(part: Part, pick: Array) -> Iterator[tuple[Chunk, Array]]:
    """Read a part; yield each chunk and which of its rows are named."""
    start = 0
    for chunk in part.chunks():
        first, last = np.searchsorted(pick, [start, start + chunk.n_rows])
        yield chunk, pick[first:last] - start
        start += chunk.n_rows


class Flagged(View):
    """A source whose chunks have a one as the target of the rows of given numbers, and a zero as that of others."""

    def __init__(self, source: Source, index: Array) -> None:
        self._source, self._picks = source, _cut(source, index)

    @property
    def schema(self) -> Schema:
        """The columns of the source, and one target."""
        return replace(self._source.schema, n_targets=1)

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return [FlaggedPart(part, pick) for part, pick in zip(self._source.parts(), self._picks, strict=True)]


@dataclass(frozen=True, eq=False)
class FlaggedPart:
    """A part whose chunks say which of their rows have given numbers."""

    part: Part
    pick: Array

    @property
    def n_rows(self) -> int:
        """Rows of the part."""
        return self.part.n_rows

    @property
    def label(self) -> str:
        """As the part says."""
        return self.part.label

    def chunks(self) -> Iterator[Chunk]:
        """Read the part, and put flags beside its rows."""
        for chunk, rows in _picked(self.part, self.pick):
            flags = np.zeros((chunk.n_rows, 1))
            flags[rows] = 1.0
            yield replace(chunk, y=flags)
