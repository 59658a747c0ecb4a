"""Some rows of a source: as another source, or gathered into memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.data._chunk import Chunk, Origin, Schema
from qed.data._sources import Readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qed.data._parts import Part
    from qed.data._sources import Source

Array = np.ndarray[Any, Any]


def count_rows(source: Source) -> int:
    """Return the number of rows, counted part by part where the source does not know."""
    known = source.n_rows
    return sum(part.n_rows for part in source.parts()) if known is None else known


def selected(source: Source, index: Array) -> Selected:
    """Return the source of rows with given numbers, which must rise."""
    edges = np.cumsum([0, *(part.n_rows for part in source.parts())])
    ends = np.searchsorted(index, edges)
    picks = [index[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], edges[:-1], strict=True)]
    return Selected(source, picks)


def gathered(source: Source, index: Array) -> tuple[Any, Any]:
    """Return rows of given numbers, in any order and as often as they are named, and their weights; one pass."""
    rises = bool((index[1:] > index[:-1]).all())
    wanted, back = (index, slice(None)) if rises else np.unique(index, return_inverse=True)
    parts = list(selected(source, wanted).each(_table_and_weight))
    s = np.concatenate([one for _, one in parts])[back] if source.schema.weighted else None
    if all(isinstance(table, np.ndarray) for table, _ in parts):
        return np.concatenate([table for table, _ in parts])[back], s
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415  only for sparse chunks, which have loaded it

    return csr_array(vstack([csr_array(table) for table, _ in parts], format="csr"))[back], s


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
        start = 0
        for chunk in self.part.chunks():
            first, last = np.searchsorted(self.pick, [start, start + chunk.n_rows])
            rows = self.pick[first:last] - start
            start += chunk.n_rows
            origin = None if chunk.origin is None else replace(chunk.origin, kept=_kept(chunk.origin, rows))
            y, s = (None if one is None else one[rows] for one in (chunk.y, chunk.s))
            yield Chunk(chunk.X[rows], y, s, origin)


def _kept(origin: Origin, rows: Array) -> Array:
    return rows if origin.kept is None else np.asarray(origin.kept[rows])
