"""SQLite files, by the standard library, opened for reading alone."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.study._duckdb import chosen_table, quoted
from qed.study._raw import RawColumn, RawTable, of_text
from qed.study._read_limits import ENTRY_SIZE

if TYPE_CHECKING:
    from pathlib import Path

    from qed.study._read_limits import ReadLimits


AT_ONCE = 50_000
BYTES_AT_ONCE = 1 << 26  # of long texts fewer rows are read at a time
STEPS_AT_ONCE = 20_000  # of SQLite's machine between two looks at the clock: about a millisecond


def read_sqlite(path: Path, table: str | None, query: str | None, limits: ReadLimits) -> RawTable:
    """Read a table of a SQLite file, or the answer to a query to it.

    Parameters
    ----------
    path : Path
        The file.
    table, query : str or None
        Which table, or what to ask; neither is needed where there is one table.
    limits : ReadLimits
        Time and memory that reading may take.
    """
    connection = None
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.set_authorizer(_allowed)
        # A query may run for ever before its first row. Python runs its signal handlers here too, so Ctrl-C is obeyed.
        connection.set_progress_handler(lambda: int(limits.is_over), STEPS_AT_ONCE)
        if query is None:
            found = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
            query = f"SELECT * FROM {quoted(chosen_table(table, [row[0] for row in found], str(path)))}"  # noqa: S608
        cursor = connection.execute(query)
        if cursor.description is None:
            raise InvalidData("The query gives no table. It should be a SELECT.")
        names = [part[0] for part in cursor.description]
        parts: list[list[Any]] = [[] for _ in names]
        at_once = 100
        while rows := cursor.fetchmany(at_once):
            size = 0
            for at, column in enumerate(zip(*rows, strict=True)):
                part = _compact(list(column))
                size += part.nbytes if isinstance(part, np.ndarray) else _size(part)
                parts[at].append(part)
            limits.add(len(rows), size)
            at_once = max(1, min(AT_ONCE, BYTES_AT_ONCE * len(rows) // max(1, size)))
    except sqlite3.OperationalError as error:
        if (
            error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
        ):  # only our handler interrupts: time is over, or Ctrl-C came
            limits.require_time()
            raise KeyboardInterrupt from None
        raise InvalidData(f"{str(path)!r} cannot be read: {error}. Restore it, or repair the query.") from error
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise InvalidData(f"{str(path)!r} cannot be read: {error}. Restore it, or repair the query.") from error
    finally:
        if connection is not None:
            connection.close()
    columns = tuple(_column(name, part) for name, part in zip(names, parts, strict=True))
    return RawTable(columns, len(columns[0]) if columns else 0, str(path))


def _allowed(action: int, *_: object) -> int:
    """Let a query read and compute; it can neither write, attach other files nor change settings."""
    reading = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    return sqlite3.SQLITE_OK if action in reading else sqlite3.SQLITE_DENY


def _compact(entries: list[Any]) -> Any:
    """Keep numbers as an array of floats, anything else as it is."""
    if all(entry is None or type(entry) in (int, float) for entry in entries):
        return np.array([np.nan if entry is None else float(entry) for entry in entries])
    return entries


def _size(entries: list[Any]) -> int:
    return sum(ENTRY_SIZE + (len(entry) if isinstance(entry, str | bytes) else 0) for entry in entries)


def _column(name: str, parts: list[Any]) -> RawColumn:
    if parts and all(isinstance(part, np.ndarray) for part in parts):
        values = np.concatenate(parts)
        return RawColumn(name, "number", np.where(np.isinf(values), np.nan, values))
    entries = [entry for part in parts for entry in part]
    if any(isinstance(entry, bytes) for entry in entries):
        return RawColumn(name, "nested", np.full(len(entries), np.nan), notes=("entries are raw bytes",))
    return of_text(name, [_word(entry) for entry in entries])


def _word(entry: Any) -> str | None:
    if entry is None or entry != entry:  # noqa: PLR0124  NaN, from a part that held numbers alone
        return None
    return str(int(entry)) if isinstance(entry, float) and entry == int(entry) else str(entry)
