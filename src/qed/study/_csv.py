"""Text files with separators: small ones by the csv module, so that nothing large is imported, large ones by DuckDB.

Both follow one dialect, found here from the first lines: separator, names, encoding. Both refuse the same files: what DuckDB
stumbles over is read again, slowly, to say in which line the trouble is.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qed.core import InvalidData
from qed.study._number_formats import numbers_of
from qed.study._raw import LONGEST_ENTRY, RawColumn, RawTable, of_text
from qed.study._read_limits import ENTRY_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from qed.study._read_limits import ReadLimits


MAX_BYTES_FOR_PYTHON = 2 << 20  # bytes; above this DuckDB's start-up pays
HEAD = 1 << 16
LONGEST_HEAD = 1 << 24
SEPARATORS = ",;\t|"
MOST_COLUMNS = 10_000
TITLE_LINES = 20  # within which a line of more entries than names tells that the names stand below the first line
ABOVE_NAMES = " If a title or comments stand above the line of names, remove them."
AT_ONCE = 10_000  # rows between two looks at the clock


@dataclass(frozen=True)
class Dialect:
    """How a file of text is written."""

    separator: str
    encoding: str
    names: tuple[str, ...]
    has_names: bool
    renamed: tuple[str, ...]


def read_csv(
    path: Path, size: int, encoding: str | None, limits: ReadLimits, *, notes: tuple[str, ...] = ()
) -> RawTable:
    """Read a file of text.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        Its size in bytes.
    encoding : str or None
        Its encoding; None for UTF-8, or UTF-16 where the file begins with its mark.
    limits : ReadLimits
        Time and memory that reading may take.
    notes : tuple of str
        What was noticed before.
    """
    dialect = _dialect(path, encoding)
    if not dialect.has_names:
        notes = (*notes, f"The first line holds numbers: columns are called {dialect.names[0]} to {dialect.names[-1]}.")
    if dialect.renamed:
        notes = (*notes, f"Two columns have the same name: the later one is called {dialect.renamed[0]!r} here.")
    is_small = size <= MAX_BYTES_FOR_PYTHON or dialect.encoding not in ("utf-8", "utf-8-sig")
    columns = _small(path, dialect, limits) if is_small else _large(path, dialect, limits)
    n_rows = len(columns[0]) if columns else 0
    return RawTable(tuple(columns), n_rows, str(path), notes=notes)


def _dialect(path: Path, encoding: str | None) -> Dialect:
    with path.open("rb") as stream:
        head = stream.readline(LONGEST_HEAD) + stream.read(HEAD)  # the line of names is needed whole
    if encoding is None:
        encoding = "utf-8-sig" if head.startswith(b"\xef\xbb\xbf") else "utf-8"
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            encoding = "utf-16"
    if b"\0" in head and not encoding.startswith("utf-16"):
        raise InvalidData(
            f"{str(path)!r} is no text: it holds zero bytes. Accepted are CSV, Parquet, Feather, Excel, JSON, SQLite and DuckDB"
            " files, by the ends of their names. If it is text of two bytes a letter, say --encoding utf-16-le."
        )
    try:
        text = head.decode(encoding, errors="ignore" if encoding.startswith("utf") else "strict")
    except (LookupError, UnicodeError) as error:
        raise InvalidData(f"{str(path)!r} cannot be read as {encoding}: {error}. Say --encoding utf-8.") from error
    lines = [line for line in text.splitlines()[:50] if line.strip()]
    if not lines:
        raise InvalidData(f"{str(path)!r} is empty. It should hold a line of names and a line for each row.")
    separator = max(SEPARATORS, key=lambda one: (_columns(lines[0], one), -SEPARATORS.index(one)))
    first = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    if len(first) > MOST_COLUMNS:
        raise InvalidData(
            f"{str(path)!r} has {len(first):,} columns, and at most {MOST_COLUMNS:,} of text are read."
            " Leave some out, or write the table as Parquet."
        )
    names = [name.strip() for name in first]
    found = numbers_of([name for name in names if name])
    has_names = len(found.strays) > len(found.values) / 2  # a year may be a name; a line of numbers is a row
    if not has_names:
        names = [f"column{at + 1}" for at in range(len(names))]
    distinct = _distinct(names)
    renamed = tuple(new for new, old in zip(distinct, names, strict=True) if old and new != old)
    return Dialect(separator, encoding, distinct, has_names, renamed)


def _columns(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=separator)))
    except (csv.Error, StopIteration):
        return 0


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Name what has no name, and number names that come twice."""
    seen: dict[str, int] = {}
    out = []
    for at, name in enumerate(names):
        plain = name or f"column{at + 1}"
        seen[plain] = seen.get(plain, 0) + 1
        out.append(plain if seen[plain] == 1 else f"{plain}_{seen[plain]}")
    return tuple(out)


def _rows(path: Path, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the rows below the names; refuse, with the line, what does not fit."""
    csv.field_size_limit(LONGEST_ENTRY)
    width = len(dialect.names)
    line = 1
    with path.open(encoding=dialect.encoding, newline="") as stream:
        reader = csv.reader(stream, delimiter=dialect.separator, strict=True)
        try:
            is_first = dialect.has_names
            for row in reader:
                line = reader.line_num
                if is_first or not row or (len(row) == 1 < width and not row[0].strip()):
                    is_first = False
                    continue
                if len(row) != width:
                    raise InvalidData(
                        f"Line {line} of {str(path)!r} has {len(row)} of {width} entries. Repair that line:"
                        " an entry that holds the separator must stand in double quotes."
                        + (ABOVE_NAMES if line <= TITLE_LINES and len(row) > width else "")
                    )
                yield row
        except csv.Error as error:
            raise InvalidData(_told(path, reader.line_num, str(error))) from error
        except UnicodeError as error:
            raise InvalidData(
                f"{str(path)!r} is not {dialect.encoding.removesuffix('-sig').upper()}: line {_undecodable(path, dialect)} holds"
                " bytes that no such text has. Save it as UTF-8, or say how it is written, for example --encoding latin-1."
            ) from error


def _undecodable(path: Path, dialect: Dialect) -> int:
    """Find the line that cannot be decoded; of UTF-16, whose lines cannot be told before decoding, the first."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode(dialect.encoding)
            except UnicodeError:
                return number
    return 1


def _told(path: Path, line: int, problem: str) -> str:
    if "field larger" in problem:
        return (
            f"Line {line} of {str(path)!r} holds an entry of more than {LONGEST_ENTRY:,} characters. Perhaps a quotation mark"
            " is not closed; otherwise leave that column out of the file."
        )
    if "unexpected end of data" in problem:
        return f"{str(path)!r} ends inside quotation marks. Close them, or restore the whole file."
    return f"Line {line} of {str(path)!r} cannot be read: {problem}. Repair that line."


def _small(path: Path, dialect: Dialect, limits: ReadLimits) -> list[RawColumn]:
    rows: list[list[str]] = []
    for row in _rows(path, dialect):
        rows.append(row)
        if len(rows) % AT_ONCE == 0:
            entries_size = sum(ENTRY_SIZE + len(entry) for entry in row)
            limits.add(AT_ONCE, AT_ONCE * entries_size)
    entries: Any = zip(*rows, strict=True) if rows else [[] for _ in dialect.names]
    return [of_text(name, list(column)) for name, column in zip(dialect.names, entries, strict=True)]


def _large(path: Path, dialect: Dialect, limits: ReadLimits) -> list[RawColumn]:
    from qed.study import _duckdb  # noqa: PLC0415  (imports DuckDB and Arrow)

    def explain() -> None:
        for number, _ in enumerate(_rows(path, dialect)):
            if number % AT_ONCE == 0:
                limits.require_time()

    names, separator = dialect.names, dialect.separator
    return _duckdb.read_text(path, names, separator, limits, has_names=dialect.has_names, explain=explain)
