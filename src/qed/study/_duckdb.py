"""DuckDB, locked in: it may read the files that the user named and nothing else, and it fetches nothing.

Extensions are neither installed nor loaded, the file system is closed but for the named paths, and the settings are locked
before the first byte of data is read.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qed.core import InvalidData, QedError
from qed.core._memory import available_memory
from qed.study._arrow import of_columns
from qed.study._raw import RawColumn, RawTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.study._read_limits import ReadLimits


_QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
_FILES = frozenset({".csv", ".tsv", ".parquet", ".pq", ".json", ".jsonl", ".ndjson"})
LEAST_MEMORY = 1 << 27  # bytes, without which DuckDB itself does not run
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


def is_query(data: str) -> bool:
    """Say whether a word on the command line is a query and no file."""
    return _QUERY.match(data) is not None and not Path(data).exists()


def _connected(paths: Sequence[str], database: str | None = None) -> Any:
    try:
        import duckdb  # noqa: PLC0415  (an extra)
        import pyarrow as pa  # noqa: F401, PLC0415
    except ImportError as error:
        raise InvalidData(
            f"Reading this needs {error.name}, which is not installed. Install it with: pip install 'qed[app]'."
        ) from error
    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
    }
    try:
        connection = duckdb.connect(database or ":memory:", read_only=database is not None, config=config)
    except duckdb.Error as error:
        raise InvalidData(f"{database!r} is no DuckDB file that this version can open: {_first(error)}.") from error
    listed = ", ".join(_literal(path) for path in paths)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute(f"SET memory_limit = '{max(available_memory(), LEAST_MEMORY) // 1024}KiB'")
    for setting in ("enable_external_access = false", "preserve_insertion_order = true", "lock_configuration = true"):
        connection.execute(f"SET {setting}")
    return connection


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first(error: Exception) -> str:
    """Keep the first sentence of what DuckDB says; the rest is advice about options that are not ours."""
    text = str(error).strip().split("\n")[0].strip(" .!")
    return re.sub(r"^([A-Za-z ]*Error: )+", "", text)[:300]


def _columns(
    connection: Any, query: str, limits: ReadLimits, failed: Callable[[Exception], Exception]
) -> list[RawColumn]:
    import pyarrow as pa  # noqa: PLC0415

    batches = []
    try:
        with limits.calling(connection.interrupt):
            _require_select(connection, query)
            relation = connection.sql(query)
            reader = relation.to_arrow_reader(100_000)
            names = list(reader.schema.names)
            for batch in reader:
                limits.add(batch.num_rows, batch.nbytes)
                batches.append(batch)
    except (QedError, MemoryError):
        raise
    except (
        Exception
    ) as error:  # DuckDB's own, Arrow's, or whatever comes through both: the data or the query are at fault
        limits.require_time()  # an interrupted query fails in several words
        raise failed(error) from error
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InvalidData(f"Two columns are called {twice[0]!r}. Rename one of them.")
    columns = pa.Table.from_batches(batches, reader.schema).columns
    del batches
    return of_columns(names, columns)


def _require_select(connection: Any, query: str) -> None:
    """Refuse what writes, or says more than one thing."""
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise InvalidData("A query is one SELECT that gives a table. Say one, without further statements.")


def _table(columns: list[RawColumn], source: str) -> RawTable:
    return RawTable(tuple(columns), len(columns[0]) if columns else 0, source)


def read_text(
    path: Path,
    names: Sequence[str],
    separator: str,
    limits: ReadLimits,
    *,
    has_names: bool,
    explain: Callable[[], None],
) -> list[RawColumn]:
    """Read a large file of text, every column as words; `explain` is asked what is wrong when DuckDB cannot."""
    types = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names)
    query = (  # every name and path in it is quoted, and DuckDB is locked in
        f"SELECT * FROM read_csv({_literal(str(path))}, auto_detect=false, delim={_literal(separator)}, quote='\"', escape='\"',"  # noqa: S608
        f" header={str(has_names).lower()}, columns={{{types}}}, strict_mode=true, null_padding=false)"
    )

    def failed(error: Exception) -> Exception:
        explain()  # raises, with the line and what to do, in most cases
        return InvalidData(f"{str(path)!r} cannot be read: {_first(error)}.")

    return _columns(_connected([str(path)]), query, limits, failed)


def read_json(path: Path, limits: ReadLimits) -> RawTable:
    """Read a JSON file: a list of records, or one record a line."""

    def failed(error: Exception) -> Exception:
        whole = "JSON (a list of records, or one record a line)"
        return InvalidData(f"{str(path)!r} is not whole {whole}: {_first(error)}. Write it again or restore it.")

    query = f"SELECT * FROM read_json({_literal(str(path))})"  # noqa: S608  (quoted, and locked in)
    return _table(_columns(_connected([str(path)]), query, limits, failed), str(path))


def read_query(query: str, limits: ReadLimits) -> RawTable:
    """Run a query over the files that it names in quotes."""
    named = [match.replace("''", "'") for match in _QUOTED.findall(query)]
    paths = [name for name in named if Path(name).is_file()]
    for pattern in named:
        if any(sign in pattern for sign in "*?["):
            paths += [str(path) for path in sorted(Path().glob(pattern))] if not Path(pattern).is_absolute() else []
            if Path(pattern).is_absolute():
                root = Path(pattern).anchor
                paths += [str(path) for path in sorted(Path(root).glob(str(Path(pattern).relative_to(root))))]
            paths.append(pattern)

    absent = [name for name in named if _is_absent_file(name)]

    def failed(error: Exception) -> Exception:
        said = _first(error)
        if absent and f'"{absent[0]}"' in said:
            return InvalidData(f"The query names {absent[0]!r}, and there is no such file. Check the path.")
        return InvalidData(f"The query failed: {said}. It may read files that it names in quotes, and no others.")

    return _table(_columns(_connected(paths), query, limits, failed), "query")


def _is_absent_file(name: str) -> bool:
    if "://" in name or any(sign in name for sign in "*?["):
        return False
    return ("/" in name or Path(name).suffix.lower() in _FILES) and not Path(name).is_file()


def read_database(path: Path, table: str | None, query: str | None, limits: ReadLimits) -> RawTable:
    """Read a table of a DuckDB file, or the answer to a query to it."""
    connection = _connected([], str(path))

    def failed(error: Exception) -> Exception:
        return InvalidData(f"{str(path)!r} cannot be read: {_first(error)}.")

    if query is None:
        import duckdb  # noqa: PLC0415

        try:
            found = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            found += [
                row[0]
                for row in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
            ]
        except duckdb.Error as error:
            raise failed(error) from error
        query = f"SELECT * FROM {quoted(chosen_table(table, found, str(path)))}"  # noqa: S608
    return _table(_columns(connection, query, limits, failed), str(path))


def quoted(name: str) -> str:
    """Write a name of a table so that SQL takes it as one."""
    return '"' + name.replace('"', '""') + '"'


def chosen_table(table: str | None, found: list[str], source: str) -> str:
    """Return the table to read; where there are several the user must say which."""
    if table is None and len(found) == 1:
        return found[0]
    if table is not None and table in found:
        return table
    listed = ", ".join(found[:12]) or "none"
    if table is None:
        raise InvalidData(f"{source!r} holds {len(found)} tables: {listed}. Say which: --table NAME, or --query.")
    raise InvalidData(f"{source!r} has no table {table!r}. Its tables: {listed}.")
