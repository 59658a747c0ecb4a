"""Files inside which a table lies: compressed ones, standard input, Excel sheets, and JSON as pandas writes it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.core._memory import available_memory
from qed.study._arrow_files import require_names
from qed.study._raw import RawColumn, RawTable, of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.study._read_limits import ReadLimits

ENDINGS = frozenset({".gz", ".zst", ".bz2", ".xz"})
LEAST_ROOM = 1 << 28  # bytes that a file may always unpack to
CHUNK = 1 << 22  # bytes at a time
MOST_SHEET_CELLS = 20_000_000


@contextmanager
def unpacked(path: Path, codec: str, limits: ReadLimits) -> Iterator[Path]:
    """Unpack a file beside nobody: into a temporary folder that is gone afterwards, and never beyond what memory holds.

    Parameters
    ----------
    path : Path
        The file.
    codec : {"gzip", "zstd", "bz2", "xz"}
        How it is compressed.
    limits : ReadLimits
        Time that reading may take.
    """
    name = path.name.removesuffix(path.suffix) if path.suffix.lower() in ENDINGS else path.name
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / (name or "table")
        try:
            with _opened(path, codec) as stream, plain.open("wb") as out:
                _copy(stream, out, str(path), limits)
        except InvalidData:
            raise
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise InvalidData(
                f"{str(path)!r} is not whole {codec}: {str(error).splitlines()[0][:120]}. Write it again or restore it."
            ) from error
        yield plain


def _opened(path: Path, codec: str) -> Any:
    plain: dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    if codec in plain:
        return plain[codec](path, "rb")
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    return pa.CompressedInputStream(pa.OSFile(str(path)), codec)


def _copy(stream: Any, out: Any, name: str, limits: ReadLimits) -> None:
    most, size = max(LEAST_ROOM, available_memory()), 0
    while chunk := stream.read(CHUNK):
        size += len(chunk)
        limits.require_time()
        if size > most:
            raise InvalidData(f"{name!r} grows beyond {most:,} bytes when it is unpacked, more than memory can hold.")
        out.write(chunk)


@contextmanager
def standard_input(limits: ReadLimits) -> Iterator[Path]:
    """Keep what comes in on standard input in a temporary file."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidData("- means standard input, and nothing comes in there. Write: cat table.csv | qed … -")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "standard input"
        with plain.open("wb") as out:
            _copy(sys.stdin.buffer, out, "standard input", limits)
        yield plain


def read_sheet(path: Path, table: str | None, limits: ReadLimits) -> RawTable:
    """Read a sheet of an Excel file: the first one, or the one that --table names; formulas by the values kept with them."""
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise InvalidData(
            f"Reading {str(path)!r} needs openpyxl. Install it with: pip install openpyxl. Or save the sheet as CSV."
        ) from error
    try:
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    except Exception as error:  # whatever a zip archive, XML or openpyxl raises: the file is at fault
        raise InvalidData(f"{str(path)!r} is no Excel file that can be read: {str(error)[:120]}.") from error
    if table is not None and table not in book.sheetnames:
        raise InvalidData(f"{str(path)!r} has no sheet {table!r}. Its sheets: {', '.join(book.sheetnames[:12])}.")
    sheet = book[table] if table is not None else book.worksheets[0]
    rows, cells = [], 0
    try:
        for row in sheet.iter_rows(values_only=True):
            cells += len(row)
            limits.add(1, 60 * len(row))
            if cells > MOST_SHEET_CELLS:
                raise InvalidData(f"{str(path)!r} has more than {MOST_SHEET_CELLS:,} cells. Save the sheet as CSV.")
            rows.append(row)
    except InvalidData:
        raise
    except Exception as error:
        raise InvalidData(f"{str(path)!r} is damaged: {str(error)[:120]}. Save it again.") from error
    finally:
        book.close()
    while rows and all(cell is None for cell in rows[0]):
        rows.pop(0)
    if not rows:
        raise InvalidData(f"{str(path)!r} has an empty sheet. Name another one with --table.")
    names = [f"column{at + 1}" if cell is None else str(cell).strip() for at, cell in enumerate(rows[0])]
    require_names(names, path)
    body = [row for row in rows[1:] if any(cell is not None for cell in row)]
    columns = tuple(
        _of_cells(name, [row[at] if at < len(row) else None for row in body]) for at, name in enumerate(names)
    )
    note = f"Read from the sheet {sheet.title!r}." if len(book.sheetnames) > 1 else ""
    return RawTable(columns, len(body), str(path), notes=(note,) if note else ())


def _of_cells(name: str, cells: list[Any]) -> RawColumn:
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, bool) for cell in present):
        return RawColumn(name, "truth", np.array([np.nan if cell is None else float(cell) for cell in cells]))
    return of_text(name, [None if cell is None else _text(cell) for cell in cells])


def _text(cell: Any) -> str:
    return str(cell.isoformat() if hasattr(cell, "isoformat") else cell)


def read_json_columns(path: Path, limits: ReadLimits) -> RawTable | None:
    """Read JSON as pandas writes it; None where the file is something else, such as a list of records."""
    with path.open("rb") as stream:
        if stream.read(1) != b"{":
            return None
    limits.add(0, path.stat().st_size)
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None  # one record a line, or broken: DuckDB says which
    entries = _pandas_columns(found)
    if entries is None or any(isinstance(one, dict | list) for column in entries.values() for one in column):
        return None
    n_rows = len(next(iter(entries.values())))
    return RawTable(tuple(_of_cells(name, column) for name, column in entries.items()), n_rows, str(path))


def _pandas_columns(found: Any) -> dict[str, list[Any]] | None:
    """Return the columns of what pandas' `to_json` writes: columns by row, rows by column, "split" or "table"; None of others."""
    if not isinstance(found, dict) or not found:
        return None
    names: Any = found.get("columns")
    rows: Any = found.get("data")
    if set(found) == {"columns", "index", "data"} and isinstance(names, list) and _are_rows(rows, list, len(names)):
        return {str(name): [row[at] for row in rows] for at, name in enumerate(names)}
    if set(found) == {"schema", "data"} and isinstance(found["schema"], dict) and _are_rows(rows, dict):
        index = found["schema"].get("primaryKey", [])
        return {name: [row[name] for row in rows] for name in rows[0] if name not in index}
    parts = list(found.values())
    if not _are_rows(parts, dict) or not parts[0]:
        return None
    if all(key.isdecimal() for key in found) and not any(key.isdecimal() for key in parts[0]):
        return {name: [row[name] for row in parts] for name in parts[0]}
    return {name: list(column.values()) for name, column in found.items()}


def _are_rows(rows: Any, kind: type, length: int = 0) -> bool:
    """Say whether all are lists of one length, or mappings with the same keys."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, kind) for row in rows):
        return False
    return all(len(row) == length for row in rows) if kind is list else all(list(row) == list(rows[0]) for row in rows)
