"""Tables in other dress: compressed, Arrow, Excel, JSON as pandas writes it, standard input; and hostile ones of each."""

import contextlib
import gzip
import io
import lzma
import sys
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from qed.core import InvalidData
from qed.study import _packed
from qed.study._source import read_table

FRAME = pd.DataFrame({"a": [1.0, 2.5, np.nan], "b": ["x", "y", "x"], "c": [True, False, True]})


def rows_of(table):
    return {
        one.name: [
            None if gap else word
            for gap, word in zip(one.gaps, np.asarray(one.as_words()[1], object)[one.as_words()[0]], strict=True)
        ]
        for one in table.columns
    }


@pytest.fixture
def plain(tmp_path):
    FRAME.to_csv(tmp_path / "plain.csv", index=False)
    return tmp_path / "plain.csv"


@pytest.mark.parametrize("codec", ["gz", "bz2", "xz", "zst"])
def test_compressed_text_is_read_as_the_text(plain, codec, tmp_path):
    packed = tmp_path / f"packed.csv.{codec}"
    content = plain.read_bytes()
    if codec == "zst":
        packed.write_bytes(pa.compress(content, codec="zstd", asbytes=True))
    else:
        opened = {"gz": gzip, "bz2": __import__("bz2"), "xz": lzma}[codec]
        packed.write_bytes(opened.compress(content))
    found = read_table(packed)
    assert rows_of(found) == rows_of(read_table(plain))
    assert found.source == str(packed)
    broken = tmp_path / f"broken.csv.{codec}"
    broken.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(InvalidData, match=r"not whole|cannot|empty"):
        read_table(broken)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"0" * 10_000_000))
    monkeypatch.setattr(_packed, "available_memory", lambda: 0)
    monkeypatch.setattr(_packed, "LEAST_ROOM", 1_000_000)
    with pytest.raises(InvalidData, match="more than memory"):
        read_table(bomb)
    twice = tmp_path / "twice.csv.gz"
    twice.write_bytes(gzip.compress(gzip.compress(b"a,b\n1,2\n")))
    with pytest.raises(InvalidData, match="compressed twice"):
        read_table(twice)


@pytest.mark.parametrize("kind", ["feather", "arrow", "stream"])
def test_arrow_files(tmp_path, plain, kind):
    path, table = tmp_path / f"table.{'arrows' if kind == 'stream' else kind}", pa.Table.from_pandas(FRAME)
    if kind == "feather":
        feather.write_feather(table, str(path))
    else:
        made = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, made(sink, table.schema) as writer:
            writer.write_table(table)
    assert rows_of(read_table(path))["b"] == ["x", "y", "x"]
    whole = path.read_bytes()
    for at in range(0, len(whole), 37):  # whatever byte is changed: a sentence, or a table
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(InvalidData):
            read_table(path)


def test_a_sheet_of_excel(tmp_path, plain):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "c"])
    for row in [(1.0, "x", True), (2.5, "y", False), (None, "x", True)]:
        book.active.append(row)
    book.create_sheet("other").append(["only"])
    path = tmp_path / "book.xlsx"
    book.save(path)
    assert rows_of(read_table(path))["b"] == rows_of(read_table(plain))["b"]
    assert rows_of(read_table(path))["a"] == rows_of(read_table(plain))["a"]
    with pytest.raises(InvalidData, match="no sheet 'third'"):
        read_table(path, table="third")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidData, match=r"Excel|damaged"):
        read_table(path)


@pytest.mark.parametrize("orient", ["columns", "records", "split", "table", "index"])
def test_json_of_pandas(tmp_path, plain, orient):
    path = tmp_path / "table.json"
    FRAME.to_json(path, orient=orient)
    assert rows_of(read_table(path))["a"] == rows_of(read_table(plain))["a"]
    FRAME.to_json(path, orient="records", lines=True)
    assert rows_of(read_table(path))["b"] == ["x", "y", "x"]


def test_standard_input(monkeypatch, plain):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(plain.read_bytes())))
    found = read_table("-")
    assert rows_of(found) == rows_of(read_table(plain))
    assert found.source == "standard input"
    for lines in (False, True):
        text = FRAME.to_json(orient="records", lines=lines).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert rows_of(read_table("-"))["b"] == ["x", "y", "x"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3\n")))
    with pytest.raises(InvalidData, match=r"^Line 3 of .standard input. has 1 of 2 entries"):  # and no temporary folder
        read_table("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InvalidData, match="empty"):
        read_table("-")


def test_noise_behind_a_known_mark_gets_a_sentence(tmp_path):
    rng = np.random.default_rng(0)
    for name, mark in [("a.gz", b"\x1f\x8b\x08"), ("b.zst", b"\x28\xb5\x2f\xfd"), ("c.bz2", b"BZh9"), ("d.xz", b"\xfd7zXZ\0"),
                       ("e.arrow", b"ARROW1\0\0"), ("f.feather", b"FEA1"), ("g.xlsx", b"PK\x03\x04")]:  # fmt: skip
        path = tmp_path / name
        path.write_bytes(mark + rng.bytes(500))
        with pytest.raises((InvalidData, zlib.error)) as caught:
            read_table(path)
        assert isinstance(caught.value, InvalidData), name
