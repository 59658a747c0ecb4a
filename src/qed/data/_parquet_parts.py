"""Reading part of some Parquet files: a few row groups, in chunks of equal size."""

from __future__ import annotations

import math
import sys
import threading
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._errors import InvalidData, InvalidDataType
from qed.core._threads import get_num_threads
from qed.data._chunk import Chunk, MixedChunk, Origin
from qed.data._parquet_files import Footer, open_file
from qed.data._sources import check_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEPT_BYTES = 1 << 26  # of a chunk whose memory a thread may keep: twice the size that chunks have by default
KEPT_CHUNKS = 2  # one that is computed with, and one that is read
HOLDERS = 2  # references to memory that no array uses: the list, and the argument of getrefcount
PAGE, CACHE_LINE = 4096, 64  # bytes: values a page apart share a set of the first cache
BUFFER_BYTES = 1 << 24  # read buffers of all columns together
CHUNKS_PER_TASK = 1 / 18  # how many chunks a worker reads while a scheduler looks after one task: 18 ms and 1 ms
MOST_CHUNKS = 16  # of a part: what a worker does twice when it dies, and what boosting has in memory at a time


@dataclass(frozen=True)
class Layout:
    """What is read of each file: which columns as what, and how many rows at a time."""

    features: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None
    declared: Mapping[str, str]
    dtype: np.dtype[Any]
    batch_rows: int
    words: tuple[int, ...] = ()  # features that hold words

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.features, *self.targets, *([] if self.weight is None else [self.weight])]

    def block(self, n: int) -> Block:
        """Return room for a chunk. Arrow's columns are contiguous, so the columns of the block are as well."""
        return Block(
            X=_room(n, len(self.features), self.dtype),
            y=np.empty((n, len(self.targets)), order="F") if self.targets else None,
            s=None if self.weight is None else np.empty(n),
            n_rows=n,
            places={j: {} for j in self.words},
        )

    def chunk(self, block: Block, origin: list[tuple[int, str, int]]) -> Chunk | MixedChunk:
        """Return a block that is full."""
        whole = Origin(tuple(origin), self.features, self.targets) if origin else None
        if not self.words:
            return Chunk(block.X, block.y, block.s, whole)
        words: list[Any] = [None] * len(self.features)
        for j, places in block.places.items():
            words[j] = np.array([*places, None], dtype=object)[:-1]
        return MixedChunk(block.X, tuple(words), block.y, block.s, whole)


class _Kept(threading.local):
    """Memory of earlier chunks of this thread."""

    def __init__(self) -> None:
        self.memory: list[np.ndarray[Any, Any]] = []


_kept = _Kept()


def _room(n: int, p: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an array in Fortran order: in the memory of an earlier chunk, once nobody else holds that.

    A worker of Dask gives every freed page back to the system (MALLOC_TRIM_THRESHOLD_), and pays for it again with the next chunk.
    Columns of whole pages, which row groups of 2**k rows have, would put all values of a row into one set of the cache: they begin
    a cache line further apart.
    """
    apart = n + (CACHE_LINE // dtype.itemsize if p > 1 and n * dtype.itemsize % PAGE == 0 else 0)
    size, kept = apart * p * dtype.itemsize, _kept.memory
    at = next((i for i in range(len(kept)) if kept[i].nbytes >= size and sys.getrefcount(kept[i]) <= HOLDERS), None)
    memory = np.empty(size, np.uint8) if at is None else kept[at]
    if at is None and 0 < size <= KEPT_BYTES:
        _kept.memory = [memory, *kept[: KEPT_CHUNKS - 1]]
    return memory[:size].view(dtype).reshape((apart, p), order="F")[:n]


class Block(NamedTuple):
    """Arrays being filled, soon a chunk."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any] | None
    s: np.ndarray[Any, Any] | None
    n_rows: int
    places: dict[int, dict[str, int]]  # of each column of words, the number of each word so far


class Piece(NamedTuple):
    """Consecutive row groups of one file: the first, and the one after the last."""

    footer: Footer
    first: int
    stop: int

    @property
    def n_rows(self) -> int:
        """Rows of these row groups."""
        return self.footer.starts[self.stop] - self.footer.starts[self.first]

    @property
    def label(self) -> str:
        """The file and its row groups, in words."""
        last = self.stop - 1
        groups = f"row group {last}" if self.first == last else f"row groups {self.first} to {last}"
        return f"{self.footer.name} ({groups})"


def cut_parts(footers: Sequence[Footer], layout: Layout) -> tuple[ParquetPart, ...]:
    """Cut files into parts of some chunks each, and of whole row groups.

    A part is a task on a cluster. Many parts keep its scheduler busy, and of few some workers wait for the last: for N chunks the
    sum of both is least at ``sqrt(N * CHUNKS_PER_TASK)`` chunks a part.
    """
    chunks = sum(footer.n_rows for footer in footers) / layout.batch_rows
    enough = min(MOST_CHUNKS, max(1, round(math.sqrt(chunks * CHUNKS_PER_TASK)))) * layout.batch_rows
    parts: list[ParquetPart] = []
    pieces: list[Piece] = []
    rows = 0
    for footer in footers:
        first = 0
        for group in range(len(footer.starts) - 1):
            rows += footer.starts[group + 1] - footer.starts[group]
            if rows >= enough:
                parts.append(ParquetPart(layout, (*pieces, Piece(footer, first, group + 1))))
                pieces, first, rows = [], group + 1, 0
        if first < len(footer.starts) - 1:
            pieces.append(Piece(footer, first, len(footer.starts) - 1))
    if rows or not parts:
        parts.append(ParquetPart(layout, tuple(pieces)))
    return tuple(parts)


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """Row groups of one or several files, read in chunks of equal size, never a row group as a whole."""

    layout: Layout
    pieces: tuple[Piece, ...]

    @property
    def n_rows(self) -> int:
        """Rows of all row groups."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def nbytes(self) -> int:
        """What all of its chunks take in memory; words, as far as a footer tells: what they take in the file."""
        layout = self.layout
        beside = len(layout.columns) - len(layout.features)
        text = 0
        for footer, first, stop in self.pieces if layout.words else ():
            share = (footer.starts[stop] - footer.starts[first]) / max(1, footer.n_rows)
            text += math.ceil(share * sum(footer.text.get(layout.features[j], 0) for j in layout.words))
        return self.n_rows * (layout.dtype.itemsize * len(layout.features) + 8 * beside) + text

    @property
    def label(self) -> str:
        """Files and row groups, in words."""
        return ", ".join(piece.label for piece in self.pieces) or "no rows"

    def chunks(self) -> Iterator[Any]:
        """Read from the first row; chunks run across row groups and files."""
        layout, left, filled = self.layout, self.n_rows, 0
        if not left:
            yield layout.chunk(layout.block(0), [])
            return
        size = -(-left // -(-left // layout.batch_rows))
        block = layout.block(min(size, left))
        origin: list[tuple[int, str, int]] = []
        for piece in self.pieces:
            footer = piece.footer
            for start, batch in _batches(piece, layout, size):
                taken = 0
                while taken < batch.num_rows:
                    if not origin or origin[-1][1] != footer.name:
                        origin.append((filled, footer.name, start + taken))
                    rows = min(block.n_rows - filled, batch.num_rows - taken)
                    _fill(layout, block, filled, batch.slice(taken, rows), footer, start + taken)
                    filled, taken, left = filled + rows, taken + rows, left - rows
                    if filled == block.n_rows:
                        yield layout.chunk(block, origin)
                        # A new block for each chunk: the last one belongs to whoever received it.
                        block, origin, filled = layout.block(min(size, left)), [], 0


def _batches(piece: Piece, layout: Layout, batch_rows: int) -> Iterator[tuple[int, Any]]:
    """Read row groups of one file in Arrow batches, each with the number of its first row."""
    import pyarrow as pa  # noqa: PLC0415  loaded by scan at the latest

    footer, columns = piece.footer, layout.columns
    # Without pre-buffering and with a stream per column, a row group is never in memory as a whole.
    buffer = max(1 << 14, min(1 << 18, BUFFER_BYTES // len(columns)))
    start = footer.starts[piece.first]
    with open_file(footer.path, pre_buffer=False, buffer_size=buffer) as file:
        if file.metadata.num_rows != footer.n_rows:
            raise InvalidData(
                f"{footer.name} has {file.metadata.num_rows} rows, and had {footer.n_rows} when it was scanned. "
                "Scan again, when nobody is writing."
            )
        groups, threads = range(piece.first, piece.stop), get_num_threads() > 1
        batches = file.iter_batches(batch_rows, row_groups=list(groups), columns=columns, use_threads=threads)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                words = str(error).strip().splitlines()[0]
                raise InvalidData(
                    f"{footer.name} is damaged: {words}, at row {start} (row group {_group(footer, start)}). "
                    "Copy or write it again."
                ) from error
            if batch is None:
                return
            yield start, batch
            start += batch.num_rows


def _fill(layout: Layout, block: Block, at: int, batch: Any, footer: Footer, start: int) -> None:
    """Copy a batch into a block from row `at` on, column by column."""
    rows = slice(at, at + batch.num_rows)
    for j, name in enumerate(layout.features):
        if j in block.places:
            block.X[rows, j] = _places(batch, name, block.places[j])
        else:
            block.X[rows, j] = _numbers(layout, batch, name, footer, start, gaps=True)
    for j, name in enumerate(layout.targets):
        assert block.y is not None  # noqa: S101  made by Layout.block
        block.y[rows, j] = _numbers(layout, batch, name, footer, start)
    if layout.weight is not None and block.s is not None:
        block.s[rows] = _numbers(layout, batch, layout.weight, footer, start)
        check_weights(block.s[rows], f"The weights in column {layout.weight!r} of {footer.name}", first_row=start)


def _places(batch: Any, name: str, known: dict[str, int]) -> np.ndarray[Any, Any]:
    """Return for each word of a column its number, -1 where it is missing; words that are new get the next numbers."""
    import pyarrow as pa  # noqa: PLC0415  loaded by scan at the latest

    column = batch.column(batch.schema.get_field_index(name))
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    listed = [-1 if word is None else known.setdefault(word, len(known)) for word in coded.dictionary.to_pylist()]
    places: np.ndarray[Any, Any] = np.array([*listed, -1])[np.from_dlpack(coded.indices.cast(pa.int64()).fill_null(-1))]
    return places


def _numbers(
    layout: Layout, batch: Any, name: str, footer: Footer, start: int, *, gaps: bool = False
) -> np.ndarray[Any, Any]:
    """Return one column of a batch as a NumPy array, without a copy where Arrow has plain numbers; a gap becomes NaN."""
    import pyarrow as pa  # noqa: PLC0415  loaded by scan at the latest

    column = batch.column(batch.schema.get_field_index(name))
    missing = column.null_count
    if missing and not gaps:
        row = start + int(np.flatnonzero(np.asarray(column.is_null().cast(pa.uint8())))[0])
        raise InvalidData(
            f"Column {name!r} has no value in row {row} of {footer.name} (row group {_group(footer, row)}). "
            "Fill in or leave out such rows first; a target and a weight are needed in every row."
        )
    is_plain = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    if name in layout.declared or not is_plain or missing:
        wanted = layout.declared.get(name, str(layout.dtype) if missing else "float64")
        try:
            column = column.cast(wanted)
        except pa.ArrowInvalid as error:
            words = str(error).strip().splitlines()[0]
            raise InvalidDataType(
                f"Column {name!r} of {footer.name} cannot be read as {wanted}: {words}, "
                f"in rows {start} to {start + len(column) - 1} (row group {_group(footer, start)})."
            ) from error
    if missing:
        column = column.fill_null(np.nan)
    # Not to_numpy(), which imports pandas.
    return np.from_dlpack(column)


def _group(footer: Footer, row: int) -> int:
    """Return the number of the row group that holds a row."""
    return max(0, bisect_right(footer.starts, row) - 1)
