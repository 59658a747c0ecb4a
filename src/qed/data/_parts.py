"""Parts of a source: consecutive chunks that can be read elsewhere, by whoever receives the part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from qed.data._chunk import Chunk


class Part(Protocol):
    """Some consecutive chunks of a source; picklable, and small where its rows are in files.

    A source's chunks are those of its parts, in their order. Parts depend on the source alone, so that a fold that merges the
    chunks of each part, and then the parts, gives the same bits wherever parts are read.
    """

    @property
    def n_rows(self) -> int:
        """Rows of the part."""
        ...

    @property
    def label(self) -> str:
        """Where the rows are: files and row groups, or the number of a partition."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows; a part of no rows may give no chunk."""
        ...


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows of a source as one part, for rows that are in memory here."""

    source: Any
    label: str = "rows in memory"

    @property
    def n_rows(self) -> int:
        """Rows of the source, counted if it does not know."""
        known: int | None = self.source.n_rows
        return sum(chunk.n_rows for chunk in self.chunks()) if known is None else known

    def chunks(self) -> Iterator[Chunk]:
        """Read the source."""
        chunks: Iterator[Chunk] = self.source.chunks()
        return chunks


@dataclass(frozen=True, eq=False)
class Changed:
    """A part whose chunks are changed as they are read."""

    part: Part
    change: Callable[[Any], Chunk]
    rows: int | None = None  # where the change leaves rows out

    @property
    def n_rows(self) -> int:
        """Rows that are left."""
        return self.part.n_rows if self.rows is None else self.rows

    @property
    def label(self) -> str:
        """As the part says."""
        return self.part.label

    def chunks(self) -> Iterator[Chunk]:
        """Read the part, and change each chunk."""
        return (self.change(chunk) for chunk in self.part.chunks())


@dataclass(frozen=True, eq=False)
class PairedPart:
    """A part whose chunks carry rows of u and c that belong to them: u in place of `y`, c in place of `s`."""

    part: Part
    u: np.ndarray[Any, Any] | None
    c: np.ndarray[Any, Any] | None
    keeps_weight: bool = False  # then c is not looked at

    @property
    def n_rows(self) -> int:
        """Rows of the part."""
        return self.part.n_rows

    @property
    def label(self) -> str:
        """As the part says."""
        return self.part.label

    def chunks(self) -> Iterator[Chunk]:
        """Read the part, and cut u and c where it cuts."""
        start = 0
        for chunk in self.part.chunks():
            rows = slice(start, start + chunk.n_rows)
            start = rows.stop
            s = chunk.s if self.keeps_weight else None if self.c is None else self.c[rows]
            yield replace(chunk, y=None if self.u is None else self.u[rows], s=s)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _unpacked_part, (self.part, _packed(self.u), _packed(self.c), self.keeps_weight)


def _unpacked_part(part: Part, u: Any, c: Any, keeps_weight: bool) -> PairedPart:
    return PairedPart(part, _unpacked(u), _unpacked(c), keeps_weight)


def _packed(a: np.ndarray[Any, Any] | None) -> Any:
    """Return an array as few bytes that have all of its bits: labels need one each, and equal shares none."""
    if a is None or a.dtype != np.float64 or not a.size:
        return a
    if (a.view(np.int64) == a.view(np.int64).flat[0]).all():
        return a.shape, a.dtype.type(a.flat[0])
    for kind in (np.int8, np.float32):
        for some in (a[:64], a):  # most arrays that do not fit show it at once
            with np.errstate(invalid="ignore", over="ignore"):
                small = some.astype(kind)
            if not (small.astype(np.float64).view(np.int64) == some.view(np.int64)).all():
                break
        else:
            return a.shape, small
    return a


def _unpacked(a: Any) -> Any:
    if not isinstance(a, tuple):
        return a
    shape, values = a
    return np.full(shape, values) if np.ndim(values) == 0 else values.astype(np.float64)


def paired_parts(
    parts: Iterable[Part], u: np.ndarray[Any, Any] | None, c: np.ndarray[Any, Any] | None
) -> list[PairedPart]:
    """Cut u and c where the parts are cut."""
    paired, start = [], 0
    for part in parts:
        rows = slice(start, start + part.n_rows)
        start = rows.stop
        paired.append(PairedPart(part, None if u is None else u[rows], None if c is None else c[rows]))
    return paired


def with_targets(parts: Iterable[Part], u: np.ndarray[Any, Any]) -> list[PairedPart]:
    """Give the rows of parts other targets, cut where the parts are cut; weights stay."""
    return [replace(part, keeps_weight=True) for part in paired_parts(parts, u, None)]


def innermost(part: Any) -> Any:
    """Return the part that others were made of."""
    while hasattr(part, "part"):
        part = part.part
    return part


def with_innermost(part: Any, inner: Any) -> Any:
    """Return a part that is made of another innermost one."""
    return replace(part, part=with_innermost(part.part, inner)) if hasattr(part, "part") else inner


def chunks_of(parts: Iterable[Part]) -> Iterator[Chunk]:
    """Read parts one after the other."""
    for part in parts:
        yield from part.chunks()
