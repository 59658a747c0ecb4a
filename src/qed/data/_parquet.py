"""Rows from Parquet files, in memory that does not grow with them.

Memory, beyond the statistic: three chunks (one in work, one read ahead, one in Arrow's columns on its way), each of
``batch_rows * columns * 8`` bytes and by default at most 32 MiB, plus for each column one page of the file, packed and
unpacked, and a read buffer of at most 256 KiB. The size of the files and of their row groups does not enter.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter
from qed.data._chunk import Chunk, Origin, Schema
from qed.data._parquet_files import DECLARABLE, Footer, Paths, check_columns, find_files, open_file, read_footer
from qed.data._sources import check_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CHUNK_BYTES = 1 << 25  # enough for the kernels to be busy, small enough to keep several
MOST_ROWS, FEWEST_ROWS = 1 << 16, 1 << 9
BUFFER_BYTES = 1 << 24  # read buffers of all columns together


def scan(
    paths: Paths | Iterable[Paths],
    *,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    schema: Mapping[str, str] | None = None,
    batch_rows: int | None = None,
) -> ParquetSource:
    """Look at Parquet files without reading them; a model's ``fit`` then reads them chunk by chunk.

    Footers of all files are checked here, so that a missing or mistyped column is known before any work.

    Parameters
    ----------
    paths : path, or several
        Files, folders (all ``*.parquet`` below), globs such as ``"sales/*.parquet"``. Matches are sorted.
    target : str or sequence of str, optional
        Column or columns to predict.
    features : sequence of str, optional
        Columns to learn from, in this order; by default all others.
    weight : str, optional
        Column of sample weights.
    schema : mapping of str to {"float64", "float32"}, optional
        Columns to convert, for instance numbers written as text.
    batch_rows : int, optional
        Rows per chunk. By default as many as fit into 32 MiB, from 512 to 65,536.

    Returns
    -------
    ParquetSource
        A source that can be read again and again, pickled and sent elsewhere.
    """
    return ParquetSource(
        find_files(paths), target=target, features=features, weight=weight, schema=schema, batch_rows=batch_rows
    )


class ParquetSource:
    """Parquet files as one table; made by `scan`, whose parameters it takes (with files instead of patterns)."""

    def __init__(
        self,
        files: Sequence[str],
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        schema: Mapping[str, str] | None = None,
        batch_rows: int | None = None,
    ) -> None:
        self._declared = _checked_schema(schema)
        if batch_rows is not None and (isinstance(batch_rows, bool) or batch_rows < 1):
            raise InvalidParameter(f"scan's batch_rows must be an integer >= 1 or None, got {batch_rows!r}.")
        self._footers = tuple(read_footer(file) for file in files)
        self._targets = _names("target", target)
        self._weight = weight
        others = {*self._targets, weight}
        every = [name for name in self._footers[0].types if name not in others]
        self._features = tuple(every) if features is None else _names("features", features)
        self._check_roles()
        wanted = [*self._features, *self._targets, *([] if weight is None else [weight])]
        check_columns(self._footers, [*wanted, *self._declared], self._declared, all_of=features is None)
        self._dtype = np.dtype(np.float32 if self._is_single() else np.float64)
        bytes_per_row = 8 * max(1, len(wanted))
        self._batch_rows = batch_rows or min(MOST_ROWS, max(FEWEST_ROWS, CHUNK_BYTES // bytes_per_row))

    @property
    def schema(self) -> Schema:
        """The columns; `X` is float32 when all features are stored or declared so, else float64."""
        return Schema(self._features, len(self._features), len(self._targets), self._dtype)

    @property
    def n_rows(self) -> int:
        """Rows of all files together."""
        return sum(footer.n_rows for footer in self._footers)

    @property
    def in_memory(self) -> bool:
        """Always false: reading is worth overlapping with computing."""
        return False

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in the order they are read."""
        return tuple(footer.path for footer in self._footers)

    def __repr__(self) -> str:
        files = self._footers[0].name if len(self._footers) == 1 else f"{len(self._footers)} files"
        return f"<ParquetSource: {files}, {self.n_rows} rows, {len(self._features)} features, target {self._targets}>"

    def chunks(self) -> Iterator[Chunk]:
        """Read the files from the first row; chunks run across row groups and files, so all but the last are full."""
        left, filled = self.n_rows, 0
        block = self._block(left)
        pieces: list[tuple[int, str, int]] = []
        for footer in self._footers:
            for start, batch in self._batches(footer):
                taken = 0
                while taken < batch.num_rows:
                    if not pieces or pieces[-1][1] != footer.name:
                        pieces.append((filled, footer.name, start + taken))
                    size = min(block.n_rows - filled, batch.num_rows - taken)
                    self._fill(block, filled, batch.slice(taken, size), footer, start + taken)
                    filled, taken, left = filled + size, taken + size, left - size
                    if filled == block.n_rows:
                        yield Chunk(block.X, block.y, block.s, Origin(tuple(pieces), self._features, self._targets))
                        # A new block for each chunk: the last one belongs to whoever received it.
                        block, pieces, filled = self._block(left), [], 0
        if self.n_rows == 0:
            yield Chunk(block.X, block.y, block.s)

    def _batches(self, footer: Footer) -> Iterator[tuple[int, Any]]:
        """Read one file in Arrow batches, each with the number of its first row."""
        import pyarrow as pa  # noqa: PLC0415  loaded by scan at the latest

        columns = [*self._features, *self._targets, *([] if self._weight is None else [self._weight])]
        # Without pre-buffering and with a stream per column, a row group is never in memory as a whole.
        buffer = max(1 << 14, min(1 << 18, BUFFER_BYTES // len(columns)))
        start = 0
        with open_file(footer.path, pre_buffer=False, buffer_size=buffer) as file:
            if file.metadata.num_rows != footer.n_rows:
                raise InvalidData(
                    f"{footer.name} has {file.metadata.num_rows} rows, and had {footer.n_rows} when it was scanned. "
                    "Scan again, when nobody is writing."
                )
            batches = file.iter_batches(self._batch_rows, columns=columns, use_threads=True)
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

    def _block(self, rows_left: int) -> _Block:
        """Return room for the next chunk. Arrow's columns are contiguous, so the columns of the block are as well."""
        n = min(self._batch_rows, rows_left)
        return _Block(
            X=np.empty((n, len(self._features)), self._dtype, order="F"),
            y=np.empty((n, len(self._targets)), order="F") if self._targets else None,
            s=None if self._weight is None else np.empty(n),
            n_rows=n,
        )

    def _fill(self, block: _Block, at: int, batch: Any, footer: Footer, start: int) -> None:
        """Copy a batch into a block from row `at` on, column by column."""
        rows = slice(at, at + batch.num_rows)
        for j, name in enumerate(self._features):
            block.X[rows, j] = self._numbers(batch, name, footer, start)
        for j, name in enumerate(self._targets):
            assert block.y is not None  # noqa: S101  made by _block
            block.y[rows, j] = self._numbers(batch, name, footer, start)
        if self._weight is not None and block.s is not None:
            block.s[rows] = self._numbers(batch, self._weight, footer, start)
            check_weights(block.s[rows], f"The weights in column {self._weight!r} of {footer.name}", first_row=start)

    def _numbers(self, batch: Any, name: str, footer: Footer, start: int) -> np.ndarray[Any, Any]:
        """Return one column of a batch as a NumPy array, without a copy where Arrow has plain numbers."""
        import pyarrow as pa  # noqa: PLC0415  loaded by scan at the latest

        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            row = start + int(np.flatnonzero(np.asarray(column.is_null().cast(pa.uint8())))[0])
            raise InvalidData(
                f"Column {name!r} has no value in row {row} of {footer.name} (row group {_group(footer, row)}). "
                "Fill in or leave out such rows first; missing values are not accepted here."
            )
        if name in self._declared or not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            wanted = self._declared.get(name, "float64")
            try:
                column = column.cast(wanted)
            except pa.ArrowInvalid as error:
                words = str(error).strip().splitlines()[0]
                raise InvalidDataType(
                    f"Column {name!r} of {footer.name} cannot be read as {wanted}: {words}, "
                    f"in rows {start} to {start + len(column) - 1} (row group {_group(footer, start)})."
                ) from error
        # Not to_numpy(), which imports pandas.
        return np.from_dlpack(column)

    def _check_roles(self) -> None:
        if not self._features:
            raise InvalidData(
                f"No column is left to learn from: {self._footers[0].name} has {list(self._footers[0].types)}."
            )
        for name in self._features:
            if name in self._targets or name == self._weight:
                role = "target" if name in self._targets else "weight"
                raise InvalidParameter(f"Column {name!r} is named as a feature and as the {role}. Choose one.")
        if self._weight in self._targets:
            raise InvalidParameter(f"Column {self._weight!r} is named as the target and as the weight. Choose one.")

    def _is_single(self) -> bool:
        """Say whether every feature is float32 (or narrower floating point) in every file, or declared so."""
        kinds = {self._declared.get(n, footer.types[n]) for footer in self._footers for n in self._features}
        return kinds <= {"float", "halffloat", "float32"}


class _Block(NamedTuple):
    """Arrays being filled, soon a chunk."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any] | None
    s: np.ndarray[Any, Any] | None
    n_rows: int


def _names(role: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return column names as a tuple, each once."""
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) and role == "target" else tuple(given)
    if isinstance(given, str) and role != "target":
        raise InvalidParameter(
            f"scan's {role} must be several column names, got the single word {given!r}: [{given!r}]?"
        )
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameter(f"scan's {role} must be column names, got {given!r}.")
    if len(set(names)) < len(names):
        raise InvalidParameter(f"scan's {role} names a column twice: {list(names)}.")
    return names


def _checked_schema(schema: Mapping[str, str] | None) -> dict[str, str]:
    declared = dict(schema or {})
    for name, kind in declared.items():
        if kind not in DECLARABLE:
            raise InvalidParameter(f"scan's schema can declare {' or '.join(DECLARABLE)}, got {kind!r} for {name!r}.")
    return declared


def _group(footer: Footer, row: int) -> int:
    """Return the number of the row group that holds a row."""
    return max(0, bisect_right(footer.starts, row) - 1)
