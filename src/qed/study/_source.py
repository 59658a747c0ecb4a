"""What the word DATA can be, and the one interface to all of it: files, queries, frames."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidDataType, InvalidParameter
from qed.study import _csv
from qed.study._number_formats import DAY
from qed.study._raw import MAX_EXACT, RawColumn, RawTable, of_text, of_words, require_column
from qed.study._read_limits import ReadLimits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qed.study._clock import Clock


# Rows of a block: few enough that its numbers stay in the caches and its memory is used again by the next one, and enough that what
# is done once a block costs little. Twice as many or half as many take the same time.
BLOCK_ROWS = 32_768
_PACKERS = ("gzip", "zstd", "bz2", "xz")
_TEXT = frozenset({".csv", ".tsv", ".txt", ".tab", ".dat"})
_JSON = frozenset({".json", ".jsonl", ".ndjson"})
_JSON_HEAD = re.compile(rb"(\xef\xbb\xbf)?\s*(\{\s*[\"}]|\[\s*[\[{\]]|\{\s*$|\[\s*$)")
_ARROW = frozenset({".feather", ".arrow", ".arrows", ".ipc"})
_PACKED = frozenset({".zip", ".7z", ".rar", ".tar", ".tgz"})


def read_table(
    data: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    clock: Clock | None = None,
) -> RawTable:
    """Read a table, wherever it is.

    Parameters
    ----------
    data : str, path-like, frame, or dict of columns
        A file (CSV, Parquet, JSON, Feather, Arrow, Excel, SQLite, DuckDB; compressed by gzip, zstd, bzip2 or xz), ``"-"`` for
        standard input, a query over files, ``"postgresql://user@host/database"``, or a table in memory.
    table, query : str, optional
        For a database: which table, or what to ask it.
    encoding : str, optional
        How a file of text is written; UTF-8 unless said.
    clock : Clock, optional
        The budget that reading is part of: a file or a query that does not end within it raises an error.

    Returns
    -------
    RawTable
        Its columns, as they were read.
    """
    if not isinstance(data, str | os.PathLike):
        return _of_object(data)
    name = os.fspath(data)
    if isinstance(name, bytes):
        raise InvalidDataType("A path is a string, got bytes.")
    found = _read_named(name, table, query, encoding, clock)
    if not found.columns:
        raise InvalidData(f"{name!r} has no columns.")
    if not found.n_rows:
        raise InvalidData(f"{name!r} has names of columns and no rows.")
    return found


class TableBlocks:
    """A table that is read some thousand rows at a time: Parquet and Arrow files never lie in memory whole.

    Parameters
    ----------
    data, **options
        As for `read_table`.
    keep : sequence of str
        Columns whose entries are wanted besides, when all blocks have passed.
    """

    def __init__(self, data: Any, keep: Sequence[str] = (), **options: Any) -> None:
        self.file = _arrow_file(data, **options)
        self.n_rows = 0
        self.kept: dict[str, list[Any]] = {name: [] for name in keep}
        if self.file is None:
            self.whole = read_table(data, **options)
            self.names, self.source = self.whole.names, self.whole.source
        else:
            from qed.study._arrow_files import column_names  # noqa: PLC0415

            self.names, self.source = column_names(*self.file), str(self.file[0])
        for name in keep:
            require_column(name, self.names, self.source, error=InvalidParameter)

    def __iter__(self) -> Iterator[RawTable]:
        """Read the blocks, in the order of the table."""
        if self.file is None:
            self.n_rows = self.whole.n_rows
            yield from self.whole.blocks(BLOCK_ROWS)
            return
        from qed.study._arrow_files import read_blocks  # noqa: PLC0415

        for block in read_blocks(*self.file, ReadLimits(self.source), self.kept):
            self.n_rows += block.n_rows
            yield block

    def column(self, name: str) -> RawColumn:
        """Return a column that was to be kept, whole."""
        if self.file is None:
            return self.whole.column(name)
        from qed.study._arrow import of_chunks  # noqa: PLC0415

        return of_chunks(name, self.kept[name])


def _arrow_file(data: Any, table: str | None = None, query: str | None = None, **_: Any) -> tuple[Path, str] | None:
    """Return path and kind of a Parquet or Arrow file on the disk; None for everything else."""
    if not isinstance(data, str) or data == "-" or _looks_like_query(data) or is_address(data) or table or query:
        return None
    path = _file(data)
    kind = _kind(path)
    return (path, kind) if kind in ("parquet", "arrow") else None


def _read_named(name: str, table: str | None, query: str | None, encoding: str | None, clock: Clock | None) -> RawTable:
    if _looks_like_query(name):
        from qed.study import _duckdb  # noqa: PLC0415

        return _duckdb.read_query(name, ReadLimits("the answer to the query", clock))
    limits = ReadLimits(name, clock)
    if is_address(name):
        from qed.study._postgres import read_postgres  # noqa: PLC0415

        return read_postgres(name, table, query, ReadLimits(without_password(name), clock))
    if name == "-":
        from qed.study._packed import standard_input  # noqa: PLC0415

        with standard_input(limits) as path:
            return _read_inside(path, "standard input", table, query, encoding, limits)
    return _read_file(_file(name), table, query, encoding, limits)


def _read_file(path: Path, table: str | None, query: str | None, encoding: str | None, limits: ReadLimits) -> RawTable:
    name, kind = str(path), _kind(path)
    if kind not in ("sqlite", "duckdb", "excel", *_PACKERS) and (table or query):
        raise InvalidData(f"{name!r} is no database, so --table and --query mean nothing for it. Leave them out.")
    if kind in _PACKERS:
        from qed.study._packed import unpacked  # noqa: PLC0415

        with unpacked(path, kind, limits) as plain:
            if _kind(plain) in _PACKERS:
                raise InvalidData(f"{name!r} is compressed twice. Unpack it first.")
            return _read_inside(plain, name, table, query, encoding, limits)
    if kind in ("parquet", "arrow"):
        from qed.study._arrow_files import read_columns  # noqa: PLC0415

        return read_columns(path, kind, limits)
    if kind == "excel":
        from qed.study._packed import read_sheet  # noqa: PLC0415

        return read_sheet(path, table, limits)
    if kind == "json":
        from qed.study._packed import read_json_columns  # noqa: PLC0415

        by_column = read_json_columns(path, limits)
        if by_column is not None:
            return by_column
    if kind == "sqlite":
        from qed.study._sqlite import read_sqlite  # noqa: PLC0415

        found = read_sqlite(path, table, query, limits)
    elif kind == "csv":
        found = _csv.read_csv(path, path.stat().st_size, encoding, limits)
    else:
        from qed.study import _duckdb  # noqa: PLC0415

        found = (
            _duckdb.read_database(path, table, query, limits) if kind == "duckdb" else _duckdb.read_json(path, limits)
        )
    return found


def _read_inside(
    path: Path, name: str, table: str | None, query: str | None, encoding: str | None, limits: ReadLimits
) -> RawTable:
    """Read a temporary file; the table, and what is wrong with it, have the name that the user knows."""
    try:
        return replace(_read_file(path, table, query, encoding, limits), source=name)
    except InvalidData as error:
        raise InvalidData(str(error).replace(repr(str(path)), repr(name))) from error


def is_address(name: str) -> bool:
    """Say whether a word is the address of a PostgreSQL server."""
    return name.startswith(("postgresql://", "postgres://"))


def without_password(name: str) -> str:
    """Return an address that may be shown and stored."""
    if not is_address(name):
        return name
    return re.sub(r"([?&]password=)[^&]*", r"\1…", re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", name))


def _looks_like_query(name: str) -> bool:
    first = name.split(None, 1)
    return len(first) == 2 and first[0].lower() in ("select", "with", "from") and not Path(name).exists()


def _file(name: str) -> Path:
    if not name or "\0" in name:
        raise InvalidData(f"{name!r} names no file.")
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        hint = "" if name.isprintable() else " Its name holds signs that cannot be seen."
        if name.startswith(("sqlite:", "duckdb:")):
            hint = " For a database in a file, give the path alone, and the table by --table NAME."
        raise InvalidData(f"{name!r} cannot be read: {error.strerror or error}. Check the path.{hint}") from error
    if stat.S_ISDIR(mode):
        raise InvalidData(
            f"{name!r} is a folder. Name one file, or ask for several: \"SELECT * FROM '{name.rstrip('/')}/*.parquet'\"."  # noqa: S608
        )
    if not stat.S_ISREG(mode):  # a pipe would make us wait for ever
        raise InvalidData(f"{name!r} is a device or a pipe, and a table lies on a disk.")
    if not os.access(path, os.R_OK):
        raise InvalidData(f"{name!r} may not be read by you. Ask for the right to.")
    return path


_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}


def _kind(path: Path) -> str:  # noqa: PLR0911  one line per kind
    with path.open("rb") as stream:
        head = stream.read(16)
    if not head:
        raise InvalidData(f"{str(path)!r} is empty. It should hold a line of names and a line for each row.")
    ending = path.suffix.lower()
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head.startswith(b"PAR1") or ending in (".parquet", ".pq"):
        return "parquet"
    for magic, codec in _MAGIC.items():
        if head.startswith(magic):
            return codec
    if head.startswith((b"ARROW1", b"FEA1")) or ending in _ARROW:
        return "arrow"
    if ending in (".xlsx", ".xlsm"):
        return "excel"
    if ending in _PACKED or head.startswith(b"PK\x03\x04"):
        advice = "Save the sheet as CSV first." if ending == ".ods" else "Unpack it first."
        raise InvalidData(f"{str(path)!r} is an archive. {advice}")
    if ending in (".db", ".sqlite", ".sqlite3", ".duckdb"):
        raise InvalidData(f"{str(path)!r} is called a database and is none: its first bytes are others.")
    if ending in _JSON or (ending not in _TEXT and _JSON_HEAD.match(head)):
        return "json"
    return "csv"


def digest_of(data: Any) -> str:
    """Return the SHA-256 of a file, empty for anything else."""
    if not isinstance(data, str | os.PathLike) or not Path(os.fspath(data)).is_file():
        return ""
    import hashlib  # noqa: PLC0415  (predictions need none)

    with Path(os.fspath(data)).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _of_object(data: Any) -> RawTable:
    if isinstance(data, RawTable):
        return data
    if isinstance(data, dict):
        names, arrays = list(data), [np.asarray(column) for column in data.values()]
        if len({len(array) for array in arrays}) > 1:
            raise InvalidData("The columns differ in length.")
        columns = tuple(_of_array(str(name), array) for name, array in zip(names, arrays, strict=True))
        return RawTable(columns, len(arrays[0]) if arrays else 0, "a dict")
    from qed.core import _mixed  # noqa: PLC0415  (may load narwhals)

    found = _mixed.read(data, "study.fit")
    names = [f"column{at + 1}" for at in range(len(found.columns))] if found.names is None else list(found.names)
    read = []
    for name, column in zip(names, found.columns, strict=True):
        if column.codes is not None and column.words is not None:
            raw = of_words(str(name), column.codes, [None if one is None else str(one).strip() for one in column.words])
        else:
            raw = _of_array(str(name), column.dense)
        read.append(raw)
    return RawTable(tuple(read), found.n_rows, f"a {type(data).__name__}")


def _of_numbers(name: str, values: Any) -> RawColumn:
    numbers = values.astype(np.float64)
    if values.dtype.kind != "f" and np.abs(numbers).max(initial=0.0) > MAX_EXACT:  # names of many digits, perhaps
        return of_text(name, [str(one) for one in values.tolist()])
    return RawColumn(name, "number", np.where(np.isinf(numbers), np.nan, numbers))


def _of_array(name: str, values: Any) -> RawColumn:
    kind = values.dtype.kind
    if kind == "b":
        return RawColumn(name, "truth", values.astype(np.float64))
    if kind in "iuf":
        return _of_numbers(name, values)
    if kind == "M":
        whole = values.astype("datetime64[us]")
        return RawColumn(name, "moment", np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / DAY))
    entries = values.tolist()
    present = [entry for entry in entries if entry is not None and entry == entry]  # noqa: PLR0124  NaN
    if present and all(isinstance(entry, bool) for entry in present):
        return RawColumn(name, "truth", np.array([np.nan if e is None or e != e else float(e) for e in entries]))  # noqa: PLR0124
    if any(
        not isinstance(entry, str | int | float | np.generic) and not hasattr(entry, "isoformat") for entry in present
    ):
        return RawColumn(name, "nested", np.full(len(entries), np.nan), notes=("entries are lists or other objects",))
    text = [None if e is None or e != e else e.isoformat() if hasattr(e, "isoformat") else str(e) for e in entries]  # noqa: PLR0124
    return of_text(name, text)


def with_digest(table: RawTable, data: Any) -> RawTable:
    """Note the digest of the file that a table came from."""
    return replace(table, digest=digest_of(data))
