"""Every source gives the same table, and broken ones give a sentence with the place and the remedy."""

import json
import os
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from qed import study
from qed.core import InvalidData
from qed.study import _csv, read_table
from qed.study._source import TableBlocks

ROWS = [(i, ["red", "blue", None][i % 3], i / 7, i % 2 == 0) for i in range(40)]
NAMES = ("whole", "colour", "number", "flag")
TABLE = pa.table({name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)})


def written(folder, form):
    path = folder / f"table.{form}"
    if form == "csv":
        lines = [",".join(NAMES)] + [",".join("" if one is None else str(one) for one in row) for row in ROWS]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif form == "parquet":
        pa.parquet.write_table(TABLE, path)
    elif form == "json":
        path.write_text(json.dumps(TABLE.to_pylist()), encoding="utf-8")
    elif form == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in TABLE.to_pylist()), encoding="utf-8")
    elif form == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("given", TABLE)
            connection.execute("CREATE TABLE things AS SELECT * FROM given")
    elif form == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE things (whole, colour, number, flag)")
            connection.executemany("INSERT INTO things VALUES (?, ?, ?, ?)", ROWS)
        connection.close()
    return path


def same(found):
    assert found.names == list(NAMES)
    assert found.n_rows == 40
    np.testing.assert_array_equal(found.column("whole").values, np.arange(40))
    codes, words = found.column("colour").as_words()
    assert words == ["blue", "red"]
    assert codes.tolist() == [[1, 0, -1][i % 3] for i in range(40)]
    np.testing.assert_allclose(found.column("number").values, np.arange(40) / 7)


@pytest.mark.parametrize("form", ["csv", "parquet", "json", "jsonl", "duckdb", "sqlite"])
def test_every_file_gives_the_same_table(tmp_path, form):
    same(read_table(written(tmp_path, form)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict, pa.table])
def test_every_frame_gives_the_same_table(frame):
    same(read_table(frame({name: TABLE.column(name).to_pylist() for name in NAMES})))


def test_large_files_read_as_small_ones(tmp_path, monkeypatch):
    path = tmp_path / "quotes.csv"
    path.write_text('a;b;c\n1;"x;y";"say ""no"""\n\n2;;\n3;"";" w "\n4;NA;"two\nlines"\n' * 5, encoding="utf-8")
    small = read_table(path)
    monkeypatch.setattr(_csv, "MAX_BYTES_FOR_PYTHON", 0)
    large = read_table(path)
    assert small.n_rows == large.n_rows
    for mine, theirs in zip(small.columns, large.columns, strict=True):
        assert mine.kind == theirs.kind
        assert mine.as_words()[1] == theirs.as_words()[1]
        np.testing.assert_array_equal(mine.as_words()[0], theirs.as_words()[0])


def test_a_query_reads_what_it_names_and_nothing_else(tmp_path):
    path = written(tmp_path, "parquet")
    assert read_table(f"SELECT whole, number FROM '{path}' WHERE whole < 5").n_rows == 5  # noqa: S608
    secret = written(tmp_path, "csv")
    # a name that is put together is not named: only what stands in quotes is
    with pytest.raises(InvalidData, match="no others"):
        read_table(f"SELECT * FROM read_csv('{str(secret)[:-1]}' || 'v')")  # noqa: S608
    for query in (
        "SELECT * FROM 'https://example.com/a.csv'",
        "SELECT install_extension('httpfs')",
        "SELECT getenv('HOME')",
    ):
        with pytest.raises(InvalidData, match="query failed"):
            read_table(query)


def test_queries_only_read(tmp_path):
    path, other = written(tmp_path, "csv"), tmp_path / "other.csv"
    before = path.read_bytes()
    for query in (
        f"SELECT 1 AS a; COPY (SELECT 2) TO '{path}'",
        f"WITH t AS (SELECT 1) SELECT * FROM t; ATTACH '{other}' AS o",  # noqa: S608
        "SELECT 1; SELECT 2",
    ):
        with pytest.raises(InvalidData, match=r"one SELECT|query failed"):
            read_table(query)
    assert path.read_bytes() == before
    database = written(tmp_path, "sqlite")
    for query in (
        f"ATTACH DATABASE '{other}' AS o",
        "DELETE FROM things",
        "PRAGMA user_version = 3",
        "SELECT 1; SELECT 2",
    ):
        with pytest.raises(InvalidData, match=r"cannot be read|no table|one SELECT"):
            read_table(database, query=query)
    with pytest.raises(InvalidData, match="one SELECT"):
        read_table(written(tmp_path, "duckdb"), query="DELETE FROM things")
    assert not other.exists()


def test_addresses_of_database_files_are_explained():
    for name in ("sqlite:///things.db?table=a", "duckdb:///things.duckdb"):
        with pytest.raises(InvalidData, match="give the path alone, and the table by --table NAME"):
            read_table(name)


def test_several_tables_need_a_name(tmp_path):
    path = written(tmp_path, "sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE others (a)")
    connection.close()
    with pytest.raises(InvalidData, match=r"2 tables: things, others\. Say which: --table"):
        read_table(path)
    assert read_table(path, table="things").n_rows == 40
    assert read_table(path, query="SELECT whole FROM things WHERE whole < 3").n_rows == 3
    with pytest.raises(InvalidData, match="has no table 'x'"):
        read_table(path, table="x")


GOOD = b"a,b,y\n" + b"".join(b"%d,%d,x\n" % (i, i % 7) for i in range(30))
BROKEN = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b" \n \n", "is empty"),
    "names.csv": (b"a,b\n", "no rows"),
    "ragged.csv": (GOOD + b"1,2,3,4\n", "Line 32 .* 4 of 3 entries"),
    "short.csv": (GOOD + b"1\n", "Line 32 .* 1 of 3 entries"),
    "latin.csv": (GOOD + b"1,2,\xe9\n", "line 32 holds bytes.*--encoding latin-1"),
    "zero.csv": (b"a,\0b\n1,2\n", "zero bytes"),
    "open.csv": (GOOD + b'1,2,"x\n', "ends inside quotation marks"),
    "huge.csv": (GOOD + b"1,2," + b"z" * 200_000 + b"\n", "more than 131,072 characters"),
    "cut.parquet": (b"PAR1" + b"\0" * 90, "not whole Parquet"),
    "cut.json": (b'[{"a": 1,', "not whole JSON"),
    "deep.json": (b"[" * 50_000, "not whole JSON"),
    "fake.sqlite": (b"SQLite format 3\0" + b"x" * 4000, "cannot be read"),
    "fake.duckdb": (b"\0" * 8 + b"DUCK" + b"\0" * 4000, "no DuckDB file"),
    "fake.db": (b"hello world", "called a database and is none"),
    "packed.csv.gz": (b"\x1f\x8b\x08abc", "not whole gzip"),
    "wide.csv": (",".join(f"c{i}" for i in range(12_000)).encode(), "at most 10,000"),
    "comment.csv": (b"# an export\na,b,y\n1,2,3\n", "above the line of names, remove them"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("small", [True, False])
def test_broken_files_get_a_sentence(tmp_path, monkeypatch, name, small):
    content, words = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    if not small:
        monkeypatch.setattr(_csv, "MAX_BYTES_FOR_PYTHON", 0)
    with pytest.raises(InvalidData, match=words):
        read_table(tmp_path / name)


def test_what_is_no_file(tmp_path):
    with pytest.raises(InvalidData, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InvalidData, match="Check the path"):
        read_table(tmp_path / "nowhere.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InvalidData, match="a device or a pipe"):
            read_table(tmp_path / "pipe")


def test_other_encodings(tmp_path):
    text = "name,y\n" + "été,1\n" * 3
    (tmp_path / "a.csv").write_bytes(text.encode("utf-16"))
    (tmp_path / "b.csv").write_bytes(text.encode("latin-1"))
    (tmp_path / "c.csv").write_bytes(text.encode("utf-8-sig"))
    for name, encoding in (("a.csv", None), ("b.csv", "latin-1"), ("c.csv", None)):
        assert read_table(tmp_path / name, encoding=encoding).column("name").words == ["été"]


def test_tables_that_stumbled_once(tmp_path):
    lines = ["a,b,y"] + [f"{i * i % 31},{i % 3},{i * 2 + i % 5}" for i in range(40)]
    mac = tmp_path / "mac.csv"
    mac.write_bytes("\r".join(lines).encode())
    assert read_table(mac).names == ["a", "b", "y"]
    wide = tmp_path / "wide.csv"  # its line of names is longer than the first look at the file
    names = [f"a_rather_long_name_of_a_column_{at}" for at in range(2500)]
    wide.write_text("\n".join([",".join(names)] + [",".join("1" * 2500)] * 3), encoding="utf-8")
    assert read_table(wide).names == names


MISTAKES = [
    ({"y": ["1", "inf"] + [str(i) for i in range(38)], "a": list(range(40))}, "such as 'inf' in row 2"),
    ({"y": list(range(40)), "a": [1] * 40, "b": ["u"] * 40}, "'a' is left out .constant: always '1'.; 'b' is left out"),
    ({"y": list(range(40))}, "the only column"),
    ({"y": [None] * 40, "a": list(range(40))}, "Add rows, or choose another target"),
]


@pytest.mark.parametrize(("table", "sentence"), MISTAKES)
def test_tables_without_an_answer_say_why(table, sentence):
    with pytest.raises(InvalidData, match=sentence):
        study.fit(table, "y", budget=2)


@pytest.mark.parametrize("form", ["parquet", "feather", "csv"])
def test_blocks_give_what_the_whole_table_gives(tmp_path, form, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=300), "word": rng.choice(["a", "b", "c"], 300), "big": 2**60 + np.arange(300)}
    )
    frame["y"] = frame["x"] + (frame["word"] == "a") + 0.1 * rng.normal(size=300)
    model = study.fit(frame, "y", budget=1, drop=["big"]).model
    new = frame.drop(columns="y")
    new.loc[250, ["x", "word"]] = [99.0, "z"]
    path = tmp_path / f"new.{form}"
    getattr(new, f"to_{form}")(path, **({"index": False} if form == "csv" else {}))
    whole = model.predict(path)
    told, strange = model.notices, model.strange
    monkeypatch.setattr("qed.study._arrow_files.BATCH", 64)
    monkeypatch.setattr("qed.study._source.BLOCK_ROWS", 64)
    blocks = TableBlocks(str(path), ["word", "big"])
    np.testing.assert_allclose(model.answers(blocks), whole, rtol=1e-12)
    assert model.notices == told
    assert model.strange == strange == {250: ["x", "word"]}
    assert blocks.n_rows == 300
    assert blocks.column("word").as_words()[1] == ["a", "b", "c", "z"]
