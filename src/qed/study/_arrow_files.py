"""Parquet, Feather and Arrow files: whole, or as blocks of rows, one at a time, so that a long table never lies in memory."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qed.core import InvalidData
from qed.study._arrow import of_chunks, of_columns
from qed.study._raw import RawTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from qed.study._read_limits import ReadLimits

BATCH = 65_536  # rows that are decoded at a time


def read_columns(path: Path, kind: str, limits: ReadLimits) -> RawTable:
    """Read a file whole.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"parquet", "arrow"}
        What it is.
    limits : ReadLimits
        Time and memory that reading may take.
    """
    import pyarrow as pa  # noqa: PLC0415

    with _opened(path, kind) as (schema, batches):
        kept = []
        for batch in batches:
            limits.add(batch.num_rows, batch.nbytes)
            kept.append(batch)
        table = pa.Table.from_batches(kept, kept[0].schema if kept else schema)
        names, n_rows, columns = table.column_names, table.num_rows, table.columns
        del kept, table
    return RawTable(tuple(of_columns(names, columns)), n_rows, str(path))


def column_names(path: Path, kind: str) -> list[str]:
    """Return the names of the columns of a file."""
    with _opened(path, kind) as (schema, _):
        return list(schema.names)


def read_blocks(path: Path, kind: str, limits: ReadLimits, kept: dict[str, list[Any]]) -> Iterator[RawTable]:
    """Read a file some thousand rows at a time.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"parquet", "arrow"}
        What it is.
    limits : ReadLimits
        Time that reading may take.
    kept : dict of str to list
        The columns to keep: their Arrow arrays are added to the lists.
    """
    with _opened(path, kind) as (_, batches):
        for batch in _ahead(batches):
            limits.require_time()
            for name, parts in kept.items():
                parts.append(batch.column(name))
            for at in range(0, batch.num_rows, BATCH):  # batches of an Arrow file are as long as its writer liked
                part = batch.slice(at, BATCH)
                columns = tuple(of_chunks(name, [part.column(name)]) for name in part.schema.names)
                yield RawTable(columns, part.num_rows, str(path))


@contextmanager
def _opened(path: Path, kind: str) -> Iterator[tuple[Any, Any]]:
    """Open a file; give its schema and its batches, and blame the file for what goes wrong inside."""
    try:
        import pyarrow as pa  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise InvalidData(f"Reading {str(path)!r} needs pyarrow. Install it with: pip install 'qed[app]'.") from error
    what = {"parquet": "Parquet", "arrow": "an Arrow file"}[kind]
    try:
        with pa.OSFile(str(path)) as stream:
            schema, batches = (_parquet if kind == "parquet" else _ipc)(stream)
            require_names(schema.names, path)
            yield schema, batches
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, InvalidData):
            raise
        first = (str(error).splitlines() or [""])[0][:120]
        raise InvalidData(f"{str(path)!r} is not whole {what}: {first}. Write it again or restore it.") from error


def _parquet(stream: Any) -> tuple[Any, Any]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    plain = parquet.ParquetFile(stream).schema_arrow
    texts = [one.name for one in plain if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]
    file = parquet.ParquetFile(stream, read_dictionary=texts)
    return plain, _valid(file.iter_batches(BATCH))


def _ipc(stream: Any) -> tuple[Any, Any]:
    import pyarrow as pa  # noqa: PLC0415

    mark = stream.read(6)
    stream.seek(0)
    if mark.startswith(b"FEA1"):
        from pyarrow import feather  # noqa: PLC0415

        table = feather.read_table(stream)
        schema, source = table.schema, table.to_batches()
    elif mark == b"ARROW1":
        file = pa.ipc.open_file(stream)
        schema, source = file.schema, (file.get_batch(at) for at in range(file.num_record_batches))
    else:
        reader = pa.ipc.open_stream(stream)
        schema, source = reader.schema, reader

    return schema, _valid(source)


def _ahead(batches: Iterable[Any]) -> Iterator[Any]:
    """Decode the next batch while somebody works on this one."""
    source = iter(batches)
    with ThreadPoolExecutor(1) as worker:
        coming = worker.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = worker.submit(next, source, None)
            yield batch


def _valid(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        batch.validate(full=True)
        yield batch


def require_names(names: list[str], source: object) -> None:
    """Refuse two columns of one name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InvalidData(f"Two columns of {str(source)!r} are called {twice[0]!r}. Rename one of them.")
