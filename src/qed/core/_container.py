"""The bytes of a model file: a JSON header and raw arrays, and nothing that could be run.

======================  ===========================================================================================
bytes                   meaning
======================  ===========================================================================================
0 to 8                  magic ``93 51 45 44 0D 0A 1A 0A`` (a transfer in text mode spoils it visibly)
8 to 12                 format version, unsigned, little-endian like every number here
12 to 16                zero
16 to 24                length of the header
24 to 32                length of the whole file
32 and on               header: canonical JSON in UTF-8 (sorted keys, no spaces, no duplicates, no floats)
next multiple of 64     arrays, each in C order at a multiple of 64; gaps are zero
last 32                 SHA-256 of everything before
======================  ===========================================================================================

The header is an object with three keys: ``arrays`` lists ``[dtype, shape, offset]``, the offset counted from the first
multiple of 64 after the header; ``model`` is a tree of values that points into that list (see ``_codec``); ``qed`` is
the version that wrote the file. There is exactly one way to write a given model, and the reader accepts no other.

Sizes are compared with the length of the file before memory is asked for, so reading costs memory in proportion to the
file and never to what a header claims. Each array is read straight into memory of its own: it is writable, aligned and
independent of the file. Mapping the file instead would crash the process if somebody cut the file short.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from qed.core._errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Iterator


MAGIC = b"\x93QED\r\n\x1a\n"
FORMAT = 2  # of files written now; in those of format 1 a record can lack fields that came later
ALIGNMENT = 64
LONGEST_HEADER = 1 << 26
MOST_NODES = 1 << 22  # values outside arrays; a Python object for each takes up to a hundred bytes
MOST_AXES = 32

_PREAMBLE = struct.Struct("<8sIIQQ")
_DIGEST = 32
_DTYPES = {
    text: np.dtype(text)
    for text in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
}
_UNICODE = re.compile(r"<U([1-9][0-9]{0,7})")

Array = np.ndarray[Any, Any]


def pieces(header: dict[str, Any], arrays: list[Array], version: int = FORMAT) -> Iterator[bytes | memoryview]:
    """Yield the file part by part, so that a large model is written without a second copy of it."""
    little = [_little(array) for array in arrays]
    offset, table = 0, []
    for array in little:
        table.append([array.dtype.str, list(array.shape), offset])
        offset = _aligned(offset + array.nbytes)
    text = _canonical({**header, "arrays": table})
    if len(text) > LONGEST_HEADER:
        raise ModelFileError(
            f"the values outside arrays take {len(text):,} bytes, and {LONGEST_HEADER:,} is the most; "
            "keep long lists as NumPy arrays"
        )
    _require_few_nodes(text)
    start = _aligned(_PREAMBLE.size + len(text))
    end = start + (table[-1][2] + little[-1].nbytes if little else 0)

    def parts() -> Iterator[bytes | memoryview]:
        yield _PREAMBLE.pack(MAGIC, version, 0, len(text), end + _DIGEST)
        yield text
        position = _PREAMBLE.size + len(text)
        for (_, _, at), array in zip(table, little, strict=True):
            yield bytes(start + at - position)
            yield array.reshape(-1).view(np.uint8).data
            position = start + at + array.nbytes
        yield bytes(end - position)  # only where there are no arrays

    digest = hashlib.sha256()
    for part in parts():
        digest.update(part)
        yield part
    yield digest.digest()


def read(stream: BinaryIO, size: int) -> tuple[dict[str, Any], list[Array], int]:
    """Return header, arrays and format version of a file of `size` bytes, after every check that needs no meaning.

    Raises
    ------
    ModelFileError
        When the bytes are not exactly those of a model file.
    """
    head = stream.read(_PREAMBLE.size)
    text = stream.read(_header_length(head, size))
    header = _parsed(text)
    table = header.get("arrays")
    if not isinstance(table, list):
        raise ModelFileError("its header has no list of arrays")
    position = _PREAMBLE.size + len(text)
    places = _places(table, _aligned(position), size - _DIGEST)
    digest = hashlib.sha256(head)
    digest.update(text)
    arrays = []
    for dtype, shape, offset in places:
        _skip_gap(stream, offset - position, digest)
        array = np.empty(shape, dtype)
        raw = array.reshape(-1).view(np.uint8).data
        if stream.readinto(raw) != array.nbytes:  # type: ignore[attr-defined]
            raise ModelFileError("it ended while it was being read; somebody else is writing it")
        digest.update(raw)
        position = offset + array.nbytes
        arrays.append(array)
    if not places:
        _skip_gap(stream, _aligned(position) - position, digest)
    if stream.read(_DIGEST) != digest.digest():
        raise ModelFileError("its checksum does not match its contents, so it was damaged or altered")
    for array in arrays:
        _check_elements(array)
    version = int(_PREAMBLE.unpack(head)[1])
    return header, [array.astype(array.dtype.newbyteorder("="), copy=False) for array in arrays], version


def checked_shape(shape: object, itemsize: int = 1) -> tuple[int, ...]:
    """Return `shape` as a tuple if an array with it could exist, and raise ModelFileError otherwise."""
    if not isinstance(shape, list) or len(shape) > MOST_AXES or not all(type(n) is int and n >= 0 for n in shape):
        raise ModelFileError(f"{str(shape)[:80]} is not the shape of an array")
    # Axes of length zero do not excuse the others: NumPy multiplies those too.
    if math.prod(n or 1 for n in shape) * itemsize >= 1 << 63:
        raise ModelFileError(f"an array of shape {shape} is larger than any computer's memory")
    return tuple(shape)


def _header_length(head: bytes, size: int) -> int:
    if len(head) < _PREAMBLE.size or head[: len(MAGIC)] != MAGIC:
        raise ModelFileError("it does not begin as qed's model files do, so it is something else")
    _, version, zero, length, total = _PREAMBLE.unpack(head)
    if version > FORMAT:
        raise ModelFileError(
            f"it has file format {version}, and this qed reads formats up to {FORMAT}; "
            "it was written by a newer qed: update this one"
        )
    if version < 1 or zero:
        raise ModelFileError("its first bytes name a format that never existed, so it was damaged")
    if total != size:
        raise ModelFileError(
            f"it has {size:,} bytes where its beginning promises {total:,}, so it was cut short or extended"
        )
    if length > min(LONGEST_HEADER, size - _PREAMBLE.size - _DIGEST):
        raise ModelFileError(f"its header claims {length:,} bytes, more than there can be")
    return int(length)


def _places(table: list[Any], start: int, end: int) -> list[tuple[np.dtype[Any], tuple[int, ...], int]]:
    """Turn the list of arrays into types, shapes and offsets in the file; the only accepted layout has no slack."""
    places, expected = [], 0
    last = start
    for number, entry in enumerate(table):
        if not isinstance(entry, list) or len(entry) != 3:
            raise ModelFileError(f"array {number} is not described by type, shape and offset")
        dtype = _dtype(entry[0])
        shape = checked_shape(entry[1], dtype.itemsize)
        if type(entry[2]) is not int or entry[2] != expected:
            raise ModelFileError(f"array {number} lies at offset {str(entry[2])[:40]} where {expected} was due")
        last = start + expected + math.prod(shape) * dtype.itemsize
        if last > end:
            raise ModelFileError(f"array {number} of shape {shape} does not fit in the file")
        places.append((dtype, shape, start + expected))
        expected = _aligned(last - start)
    if last != end:
        raise ModelFileError(f"it has {end - last:,} bytes that belong to nothing")
    return places


def _dtype(text: object) -> np.dtype[Any]:
    if isinstance(text, str):
        if text in _DTYPES:
            return _DTYPES[text]
        if _UNICODE.fullmatch(text):
            return np.dtype(text)
    raise ModelFileError(f"{str(text)[:40]!r} is not an array type that model files hold")


def _little(array: Array) -> Array:
    is_widthless = array.dtype.itemsize == 0  # strings that are all empty
    dtype = np.dtype("<U1") if is_widthless else array.dtype.newbyteorder("<")
    _dtype(dtype.str)
    return np.asarray(array, dtype=dtype, order="C")


def _check_elements(array: Array) -> None:
    """Refuse bytes that are no value of their type: NumPy does not look, and later fails in odd ways."""
    if array.size and array.dtype.kind == "b" and array.view(np.uint8).max() > 1:
        raise ModelFileError("an array of booleans holds bytes other than 0 and 1")
    if array.size and array.dtype.kind == "U" and array.reshape(-1).view("<u4").max() > 0x10FFFF:
        raise ModelFileError("an array of strings holds numbers that are no Unicode characters")


def _skip_gap(stream: BinaryIO, length: int, digest: Any) -> None:
    gap = stream.read(length)
    if gap.strip(b"\0"):
        raise ModelFileError("there are bytes other than zero between its arrays")
    digest.update(gap)


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _canonical(value: object) -> bytes:
    return _WRITER.encode(value).encode()


def _short_int(text: str) -> int:
    if len(text) > 20:  # 2**63 has 19 digits; Python needs quadratic time for longer ones
        raise ModelFileError("its header holds a number of more than 20 digits")
    return int(text)


def _no_float(text: str) -> NoReturn:
    raise ModelFileError(f"its header holds {text[:40]!r}, and only integers are written as bare numbers")


_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_READER = json.JSONDecoder(parse_int=_short_int, parse_float=_no_float, parse_constant=_no_float)


def _require_few_nodes(text: bytes) -> None:
    """Count what would become a Python object, before the first of them is made: each follows one of these four marks."""
    nodes = sum(text.count(mark) for mark in (b"[", b"{", b",", b":"))
    if nodes > MOST_NODES:
        raise ModelFileError(
            f"the header holds {nodes:,} values, and {MOST_NODES:,} is the most; keep long lists as NumPy arrays"
        )


def _parsed(text: bytes) -> dict[str, Any]:
    _require_few_nodes(text)
    try:
        value = _READER.decode(text.decode())
        is_canonical = _canonical(value) == text
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"its header cannot be read ({str(error)[:80]}), so it was damaged") from None
    if not is_canonical:
        raise ModelFileError("its header has repeated keys or is not in qed's canonical form, so it was altered")
    if not isinstance(value, dict):
        raise ModelFileError("its header is not an object")
    return value
