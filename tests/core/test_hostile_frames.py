"""Files whose frame or table of arrays lies are refused in words."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from model_files import MODEL, framed, opened, refused, sealed

from qed.core._container import FORMAT, LONGEST_HEADER
from qed.core._errors import ModelFileError
from qed.core._persistence import loads


def test_the_frame_of_these_tests_is_right() -> None:
    assert sealed(*opened(MODEL)) == MODEL


@pytest.mark.parametrize("length", [0, 7, 31, 32, 63, len(MODEL) // 2, len(MODEL) - 1])
def test_truncated_files(length: int) -> None:
    refused(MODEL[:length], "it does not begin as" if length < 32 else "cut short")


def test_extended_files() -> None:
    refused(MODEL + b"\0", "cut short or extended")


@pytest.mark.parametrize("at", [40, 3000, len(MODEL) - 100, len(MODEL) - 1])
def test_one_changed_bit_anywhere_is_noticed(at: int) -> None:
    damaged = bytearray(MODEL)
    damaged[at] ^= 1
    with pytest.raises(ModelFileError):
        loads(bytes(damaged))


def test_the_checksum_covers_the_arrays() -> None:
    damaged = bytearray(MODEL)
    damaged[-40] ^= 1
    refused(bytes(damaged), "checksum")


def test_other_files_are_recognised() -> None:
    refused(b"PK\x03\x04" + bytes(100), "does not begin as qed's model files do")


TEXT = json.dumps(opened(MODEL)[0], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
DATA = opened(MODEL)[1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            framed(TEXT, DATA, version=FORMAT + 1),
            rf"file format {FORMAT + 1}, and this qed reads formats up to {FORMAT}.*newer qed: update",
        ),
        (framed(TEXT, DATA, version=0), "never existed"),
        (framed(TEXT, DATA, zero=1), "never existed"),
        (framed(TEXT, DATA, total=1 << 60), "promises"),
        (framed(TEXT, DATA, header=1 << 60), "header claims"),
        (framed(TEXT, DATA, header=LONGEST_HEADER + 1), "header claims"),
        (framed(TEXT, DATA, header=len(MODEL) - 63), "header claims"),
        (framed(TEXT, DATA, gap=b"x"), "other than zero"),
        (framed(TEXT + b" ", DATA), "canonical form"),
        (framed(TEXT.replace(b'"qed":', b'"qed":"1","qed":'), DATA), "repeated keys"),
        (framed(b"\xff" + TEXT, DATA), "cannot be read"),
        (framed(b"{", DATA), "cannot be read"),
        (framed(b"[]", b""), "not an object"),
        (framed(b"{}", b""), "no list of arrays"),
        (framed(b"[" * 100_000 + b"]" * 100_000, b""), "cannot be read"),
        (framed(b'{"arrays":[],"model":1.5,"qed":"1"}', b""), "only integers"),
        (framed(b'{"arrays":[],"model":NaN,"qed":"1"}', b""), "only integers"),
        (framed(b'{"arrays":[],"model":' + b"9" * 5000 + b',"qed":"1"}', b""), "20 digits"),
        (framed(b'{"arrays":[],"model":"\\ud800","qed":"1"}', b""), "cannot be read"),
        (framed(b'{"arrays":[],"model":[],"qed":"1"}', b""), "something other than an estimator"),
        (framed(b'{"arrays":[],"model":{"tuple":[]},"qed":"1"}', b""), "something other than an estimator"),
        (framed(b'{"arrays":[],"model":{"estimator":[]},"qed":1}', b""), "lacks a part"),
        (framed(b'{"arrays":[],"model":{"estimator":[]},"qed":"' + b"1" * 41 + b'"}', b""), "lacks a part"),
        (framed(b'{"arrays":[],"more":1,"qed":"1"}', b""), "lacks a part"),
    ],
)
def test_frames_that_lie(data: bytes, message: str) -> None:
    refused(data, message)


def table(*entries: Any, data: bytes = bytes(64)) -> bytes:
    pointers = [{"array": i} for i in range(len(entries))]
    model = {"estimator": ["golden.Everything", {"extra": pointers}, {}]}
    return sealed({"arrays": list(entries), "model": model, "qed": "1"}, data)


def test_the_table_of_these_tests_is_right() -> None:
    assert loads(table(["<f8", [8], 0])).extra[0].tolist() == [0.0] * 8
    assert loads(table(["|b1", [2], 0], ["<f8", [0, 9], 64], ["<U1", [1], 64], data=bytes(68))).extra[2] == [""]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([["<f8", [8]]], "described by type, shape and offset"),
        ([3], "described by type, shape and offset"),
        ([["|O", [8], 0]], "not an array type"),
        ([["<f16", [4], 0]], "not an array type"),
        ([[">f8", [8], 0]], "not an array type"),
        ([["<U0", [8], 0]], "not an array type"),
        ([["<U08", [2], 0]], "not an array type"),
        ([["<U999999999", [0], 0]], "not an array type"),
        ([["<U1\n", [16], 0]], "not an array type"),
        ([[8, [8], 0]], "not an array type"),
        ([["<f8", [-8], 0]], "not the shape"),
        ([["<f8", [True] * 3, 0]], "not the shape"),
        ([["<f8", 8, 0]], "not the shape"),
        ([["<f8", ["8"], 0]], "not the shape"),
        ([["<f8", [1] * 33 + [8], 0]], "not the shape"),
        ([["<f8", [1 << 61, 8], 0]], "larger than any"),
        ([["<f8", [0, 1 << 62, 1 << 62], 0]], "larger than any"),
        ([["<f8", [1 << 40], 0]], "does not fit"),
        ([["<f8", [9], 0]], "does not fit"),
        ([["<f8", [7], 0]], "belong to nothing"),
        ([], "belong to nothing"),
        ([["<f8", [8], 8]], "where 0 was due"),
        ([["<f8", [8], -64]], "where 0 was due"),
        ([["<f8", [8], "0"]], "where 0 was due"),
        ([["<f8", [8], False]], "where 0 was due"),
        ([["<f8", [8], 0], ["<f8", [8], 0]], "where 64 was due"),
        ([["<f8", [8], 0], ["<f8", [1], 64]], "does not fit"),
    ],
)
def test_tables_that_lie(entries: list[Any], message: str) -> None:
    refused(table(*entries), message)


def test_bytes_between_arrays_are_zero() -> None:
    refused(table(["|u1", [1], 0], ["|u1", [1], 64], data=b"\1" * 65), "other than zero")


@pytest.mark.parametrize(
    ("entry", "data", "message"),
    [
        (["|b1", [2], 0], b"\1\2", "booleans"),
        (["<U1", [1], 0], struct.pack("<I", 0x110000), "no Unicode"),
        (["<U1", [], 0], struct.pack("<I", 0xFFFFFFFF), "no Unicode"),
    ],
)
def test_elements_that_are_no_value(entry: Any, data: bytes, message: str) -> None:
    refused(table(entry, data=data), message)
