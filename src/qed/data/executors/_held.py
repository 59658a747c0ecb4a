"""What workers of a cluster keep between passes: blocks of consecutive parts of files.

A block is read by one task and computed with by one, so that a pass over what is kept takes few messages, whatever the number of
parts. Results are those of the parts, one by one, and are merged as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary, ref

from qed.data._parquet_parts import ParquetPart
from qed.data._parts import innermost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from qed.data._chunk import Chunk, MixedChunk
    from qed.data._parts import Part

HELD_BYTES = 3 << 28  # of chunks that a worker keeps between passes; with what a pass needs, it stays below 1.5 GB
# of a worker's limit of memory that they may take: results, and what Dask itself keeps, need room too
HELD_SHARE = 0.25
# of a block: computing takes ten times as long as its messages, and what is read again is soon read
BLOCK_BYTES = 1 << 27
BLOCKS_PER_THREAD = 2  # at least, where there are parts enough: one computes while the result of the other is taken


@dataclass(frozen=True, eq=False)
class HeldPart:
    """The chunks of a part, in the memory of a worker."""

    label: str
    data: tuple[Chunk | MixedChunk, ...]

    @classmethod
    def of(cls, part: Part) -> Self:
        """Read a part."""
        return cls(part.label, tuple(part.chunks()))

    @property
    def n_rows(self) -> int:
        """Rows of all chunks."""
        return sum(chunk.n_rows for chunk in self.data)

    def chunks(self) -> Iterator[Chunk | MixedChunk]:
        """Give the chunks, into which nobody writes."""
        return iter(self.data)


@dataclass(frozen=True, eq=False)
class HeldBlock:
    """Consecutive parts in the memory of a worker."""

    parts: tuple[HeldPart, ...]

    def __sizeof__(self) -> int:  # by which Dask tells what is worth moving
        return sum(chunk.nbytes for part in self.parts for chunk in part.data)


class Block:
    """What is known of consecutive parts: the last pass that read them, and the future of their chunks where workers keep these."""

    def __init__(self, parts: Sequence[ParquetPart], used: int) -> None:
        self._parts = [ref(part) for part in parts]
        self.nbytes, self.used = sum(part.nbytes for part in parts), used
        self.chunks: Any = None
        self.address = ""  # of the worker that was asked to keep them

    @property
    def parts(self) -> list[ParquetPart]:
        """The parts, as long as their source is there; none when it is not."""
        parts = [part for part in (one() for one in self._parts) if part is not None]
        return parts if len(parts) == len(self._parts) else []

    def place(self, part: ParquetPart) -> int:
        """Return which of the parts this is."""
        return next(place for place, one in enumerate(self._parts) if one() is part)


class HeldBlocks:
    """The blocks of all sources that passes have read."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[ParquetPart, Block] = WeakKeyDictionary()
        self.passes = 0

    def __bool__(self) -> bool:
        return bool(self._of)

    def clear(self) -> None:
        """Let go of everything."""
        self._of.clear()

    def blocks(self) -> list[Block]:
        """Return every block once."""
        return list(dict.fromkeys(self._of.values()))

    def kept(self) -> list[ParquetPart]:
        """Return the parts that workers keep."""
        return [part for part, block in self._of.items() if block.chunks is not None]

    def expect(self, parts: Iterable[Part], threads: int) -> None:
        """Put parts of files into blocks that the next pass reads, as if an earlier one had read them."""
        found = [part for part in map(innermost, parts) if isinstance(part, ParquetPart)]
        size = min(BLOCK_BYTES, sum(part.nbytes for part in found) / (BLOCKS_PER_THREAD * threads))
        used, row = max(self.passes, 1), []  # type: int, list[ParquetPart]
        for part in found:
            if part in self._of:
                self._of[part].used = max(self._of[part].used, used)
                continue
            row.append(part)
            if sum(one.nbytes for one in row) + part.nbytes > size:  # the next one, which is as large, has no room
                self._join(row, used)
                row = []
        self._join(row, used)

    def of(self, item: Any) -> Any:
        """Return the block that an item belongs to; of what is no part of files, something that is equal to nothing else."""
        part = innermost(item)
        if not isinstance(part, ParquetPart):
            return object()
        if part not in self._of:
            self._join([part], 0)
        return self._of[part]

    def has_room(self, size: int, most: float) -> bool:
        """Say whether workers may keep so many bytes more; what the last two passes did not read makes room."""
        kept = [block for block in self.blocks() if block.chunks is not None]
        size += sum(block.nbytes for block in kept)
        for block in kept:
            if size > most and block.used < self.passes - 1:
                block.chunks = None
                size -= block.nbytes
        return size <= most

    def let_go(self, workers: set[str] | None = None) -> None:
        """Forget blocks that could not be read, or not yet; where workers are given, those that none of them was to keep."""
        for block in self.blocks():
            if block.chunks is None:
                continue
            if block.chunks.status != "finished" if workers is None else block.address not in workers:
                block.chunks.cancel()
                block.chunks = None

    def _join(self, parts: list[ParquetPart], used: int) -> None:
        block = Block(parts, used)
        for part in parts:
            self._of[part] = block
