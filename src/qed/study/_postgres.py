"""Tables of a PostgreSQL server, through its Arrow driver: read only, one SELECT, and the password is stored nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.core import InvalidData, QedError
from qed.study._arrow import of_arrow
from qed.study._arrow_files import require_names
from qed.study._duckdb import chosen_table, quoted
from qed.study._raw import RawTable

if TYPE_CHECKING:
    from qed.study._read_limits import ReadLimits

_TABLES = """
SELECT CASE WHEN table_schema = current_schema() THEN table_name ELSE table_schema || '.' || table_name END
FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1
"""


def read_postgres(address: str, table: str | None, query: str | None, limits: ReadLimits) -> RawTable:
    """Read a table of a server, or the answer to a query to it.

    Parameters
    ----------
    address : str
        ``postgresql://user:password@host:port/database``; a password may come from ``PGPASSWORD`` or ``~/.pgpass`` instead.
    table, query : str, optional
        Which table, or what to ask; needed where there are several tables.
    limits : ReadLimits
        Time and memory that reading may take; its source is the address without the password.
    """
    try:
        from adbc_driver_manager import Error  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415  (an extra)
        from adbc_driver_postgresql import dbapi  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise InvalidData(
            f"Reading {limits.source!r} needs adbc-driver-postgresql. Install it with: pip install 'qed[postgres]'."
        ) from error
    try:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            connection.commit()
            if query is None:
                cursor.execute(_TABLES)
                found = [row[0] for row in cursor.fetchall()]
                name = chosen_table(table, found, limits.source)
                query = f"SELECT * FROM {'.'.join(quoted(part) for part in name.split('.', 1))}"  # noqa: S608  (quoted)
            with limits.calling(cursor.adbc_cancel):
                return _answer(cursor, query, limits)
    except Error as error:
        limits.require_time()  # a cancelled query fails in several words
        raise InvalidData(f"{limits.source!r} cannot be read: {_first(error)}.") from error


def _answer(cursor: Any, query: str, limits: ReadLimits) -> RawTable:
    import pyarrow as pa  # noqa: PLC0415

    try:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        batches = []
        for batch in reader:
            limits.add(batch.num_rows, batch.nbytes)
            batches.append(batch)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, QedError):
            raise
        limits.require_time()
        raise InvalidData(f"{limits.source!r} gave no table: {_first(error)}.") from error
    table = pa.Table.from_batches(batches, reader.schema)
    require_names(table.column_names, limits.source)
    columns = tuple(of_arrow(name, table.column(name)) for name in table.column_names)
    return RawTable(columns, table.num_rows, limits.source)


def _first(error: Exception) -> str:
    """Keep the first line of what the server says, without the name of the driver."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return lines[0].split("[libpq] ", 1)[-1].strip(" .:")[:300]
