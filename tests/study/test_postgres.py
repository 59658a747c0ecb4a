"""Tables of a real PostgreSQL server, started for these tests where Debian's package is installed."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from qed import study
from qed.cli import main
from qed.core import InvalidData
from qed.study import read_table
from qed.study._clock import Clock
from qed.study._source import without_password

ADVICE = "PostgreSQL is not installed: apt-get install postgresql"


def programs():
    """Return the folder with the newest initdb."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return Path(found).parent if found else folders[-1].parent if folders else None


@pytest.fixture(scope="module")
def server():
    """Start a server that listens on a socket in a folder of its own; PostgreSQL refuses to run as root."""
    folder = programs()
    if folder is None:
        pytest.skip(ADVICE)
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    user = "postgres" if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="qed-postgres-"))
    if user is not None:
        shutil.chown(home, user)

    def run(*command):
        subprocess.run(  # noqa: S603  (a program that was found, with our own words)
            command, check=True, capture_output=True, user=user, cwd=home, env={"LC_ALL": "C", "HOME": str(home)}
        )

    run(folder / "initdb", "-D", home / "data", "-U", "analyst", "--auth=trust", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={home} -c fsync=off"
    try:
        run(folder / "pg_ctl", "-D", home / "data", "-w", "-l", home / "log", "-o", options, "start")
        address = f"postgresql://analyst@/postgres?host={home}"
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(
                """CREATE TABLE things AS SELECT i AS whole, (ARRAY['red', 'blue', NULL])[1 + i % 3] AS colour, i / 7.0 AS number,
                sqrt(i) AS real, i % 2 = 0 AS flag, DATE '2024-01-01' + i AS day, ARRAY[i] AS nested
                FROM generate_series(0, 199) AS i"""
            )
            connection.commit()
        yield address
    finally:
        subprocess.run(  # noqa: S603
            [folder / "pg_ctl", "-D", home / "data", "-m", "immediate", "stop"],
            user=user,
            cwd=home,
            check=False,
            capture_output=True,
        )
        shutil.rmtree(home, ignore_errors=True)


def test_columns_come_back_as_what_they_are(server):
    found = read_table(server)
    kinds = {
        "whole": "number",
        "colour": "word",
        "number": "number",
        "real": "number",
        "flag": "truth",
        "day": "moment",
    }
    assert {one.name: one.kind for one in found.columns} == {**kinds, "nested": "nested"}
    np.testing.assert_array_equal(found.column("whole").values, np.arange(200))
    np.testing.assert_allclose(found.column("number").values, np.arange(200) / 7)
    assert found.column("colour").gaps.sum() == 66
    assert found.column("day").values[0] == 19723
    some = read_table(server, query="SELECT whole, flag FROM things WHERE whole < 5")
    assert some.n_rows == 5


def test_a_model_of_a_table_on_a_server(server, tmp_path, capsys):
    model, out = tmp_path / "model.qed", tmp_path / "out.parquet"
    arguments = ["--target", "real", "--drop", "number", "--budget", "3s", "--out", str(model), "--no-report", "-q"]
    assert main(["fit", server, *arguments]) == 0
    assert main(["predict", str(model), server, "--out", str(out), "--keep", "whole", "-q"]) == 0
    said = pa.parquet.read_table(out)
    assert said.column("whole").to_pylist() == list(range(200))
    assert np.corrcoef(said.column("prediction"), np.sqrt(np.arange(200)))[0, 1] > 0.95
    assert "postgresql://" in study.load(model).schema.fit_record.source


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"table": "others"}, "no table 'others'. Its tables: things"),
        ({"query": "DROP TABLE things"}, "read-only transaction"),
        ({"query": "SELECT * FROM nowhere"}, "does not exist"),
        ({"query": "SELECT 1 AS a, 2 AS a"}, "called 'a'"),
        ({"query": "SELECT whole FROM things WHERE false"}, "no rows"),
    ],
)
def test_what_cannot_be_read_is_explained(server, asked, match):
    with pytest.raises(InvalidData, match=match):
        read_table(server, **asked)
    assert read_table(server, query="SELECT count(*) AS n FROM things").column("n").values[0] == 200


def test_a_query_without_end_stops_with_the_budget(server):
    with pytest.raises(InvalidData, match="whole budget"):
        read_table(
            server,
            query="SELECT a FROM generate_series(1, 1000000000) AS a ORDER BY a DESC",
            clock=Clock(1.0, time.monotonic),
        )


def test_passwords_are_not_told():
    pytest.importorskip("adbc_driver_postgresql")
    address = "postgresql://analyst:secret@localhost:1/db?password=secret&host=/nowhere"
    assert "secret" not in without_password(address)
    with pytest.raises(InvalidData, match="cannot be read") as caught:
        read_table(address)
    assert "secret" not in str(caught.value)
