from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import types
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qed.core import NonNegative, Regressor, param
from qed.core._codec import DEEPEST
from qed.core._container import LONGEST_HEADER, MAGIC
from qed.core._errors import InvalidParameter, ModelFileError
from qed.core._persistence import dumps, load, loads, save
from qed.core._records import expect_array, record, register_estimator
from qed.core._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable


def beside(name: str) -> Any:
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "golden" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


everything = beside("everything")
Everything, Summary = everything.Everything, everything.Summary


class Line(Regressor):
    """A real estimator of the smallest kind."""

    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    start: Any = param(None, "Anything.")

    def fit(self, X: Any, y: Any) -> Line:
        data = self._fit_data(X, y)
        self.coef_ = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
        return self

    def predict(self, X: Any) -> Any:
        return self._new_data(X) @ self.coef_

    def _check_fitted_state(self) -> None:
        expect_array(self.coef_, "coef_", shape=(self.n_features_in_,), finite=True)


# ---- round trips -----------------------------------------------------------------------------------------------------


def trip(value: Any) -> Any:
    return loads(dumps(Everything(extra=value))).extra


def same_bits(a: Any, b: Any) -> bool:  # noqa: PLR0911  one line per kind
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and (a.tolist() == b.tolist() or a.tobytes() == b.tobytes())
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same_bits(a[key], b[key]) for key in a)
    return bool(a == b)


floats = st.floats() | st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="<")
    | hnp.unsigned_integer_dtypes(endianness="<")
    | hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64))
    | hnp.unicode_string_dtypes(endianness="<", min_len=1)
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, min_side=0))
words = hnp.arrays(object, hnp.array_shapes(min_dims=0, min_side=0), elements=st.text())
scalars = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, ()).map(lambda array: array[()]))
atoms = st.none() | st.booleans() | st.integers() | st.integers(-(1 << 80), 1 << 80) | floats | st.text()
values = st.recursive(
    atoms | arrays | words | scalars,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(values)
def test_every_value_comes_back_to_the_bit(value: Any) -> None:
    assert same_bits(value, trip(value))


@pytest.mark.parametrize(
    "value",
    [
        np.array([["x", "longer"], ["", "ß"]]),
        np.array(["", "größe", "😀"], object),
        np.array([True, False]),
        np.array([0x7FF8000000000123, 0xFFF0000000000001], np.uint64).view(np.float64),
        struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0],
        [-0.0, float("inf"), 5e-324],
        [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 1 << 20_000],
        (np.float16(0.1), np.uint8(255), np.bool_(True), np.str_("a\0"), np.str_("")),
        {"z": {}, "a": (), "\u2028\x00": []},
    ],
    ids=["strings", "words", "booleans", "nans", "nan", "floats", "integers", "scalars", "dict"],
)
def test_one_of_each_kind(value: Any) -> None:
    assert same_bits(value, trip(value))


@given(values)
def test_writing_again_gives_the_same_bytes(value: Any) -> None:
    data = dumps(Everything(extra=value))
    assert dumps(loads(data)) == data


@given(hnp.arrays(hnp.floating_dtypes(endianness=">") | hnp.integer_dtypes(endianness=">"), (2, 3)))
def test_big_endian_arrays_keep_their_values_and_become_native(array: Any) -> None:
    back = trip(array)
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.tobytes() == array.astype(back.dtype).tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12.0).reshape(3, 4)[::-1, ::2],
        np.broadcast_to(1.0, (3, 2)),
        np.frombuffer(b"x" * 9, np.uint8)[1:].view(np.float64),
    ],
)
def test_any_layout_is_accepted_and_loaded_arrays_are_their_own(array: Any) -> None:
    back = trip(array)
    np.testing.assert_array_equal(back, array)
    assert back.flags.c_contiguous
    assert back.flags.owndata
    assert back.flags.writeable


def test_memory_maps_are_arrays(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "a", np.float64, "w+", shape=(3,))
    array[:] = 2.0
    assert type(trip(array)) is np.ndarray
    assert trip(array).tolist() == [2.0] * 3


@pytest.mark.parametrize("dtype", ["?", "i4", "f8", "U3", "O"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 1)])
def test_empty_arrays_keep_type_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    assert same_bits(trip(np.empty(shape, dtype)), np.empty(shape, dtype))


def test_caches_are_worked_out_again() -> None:
    class Cached(Line):
        @cached_property
        def norm_(self) -> float:
            return float(np.linalg.norm(self.coef_))

    model = Cached().fit(np.eye(2), np.ones(2))
    norm = model.norm_
    back = loads(dumps(model))
    assert "norm_" not in vars(back)
    assert back.norm_ == norm


def test_strings_of_width_zero_become_width_one() -> None:
    assert trip(np.zeros(2, "U0")).tolist() == ["", ""]


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_matrices_come_back(kind: str, index: type) -> None:
    matrix = getattr(scipy.sparse, kind)(scipy.sparse.random(5, 4, 0.4, random_state=1))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    back = trip(matrix)
    assert type(back) is type(matrix)
    assert all(same_bits(getattr(back, part), getattr(matrix, part)) for part in ("data", "indices", "indptr"))


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (2, 0)])
def test_sparse_matrices_may_be_empty(shape: tuple[int, int]) -> None:
    assert trip(scipy.sparse.csr_array(shape)).shape == shape
    assert trip(scipy.sparse.csc_array(shape)).shape == shape


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_go_on_where_they_were(bits: str) -> None:
    source = np.random.Generator(getattr(np.random, bits)(np.random.SeedSequence((1, 2), spawn_key=(3,))))
    source.integers(10, size=3, dtype=np.uint32)
    back = trip(source)
    assert (
        back.integers(1000, size=9, dtype=np.uint32).tolist() == source.integers(1000, size=9, dtype=np.uint32).tolist()
    )
    assert back.spawn(1)[0].random() == source.spawn(1)[0].random()


def test_random_states_go_on_where_they_were() -> None:
    source = np.random.RandomState(5)
    source.standard_normal()
    back = trip(source)
    assert back.standard_normal(4).tolist() == source.standard_normal(4).tolist()


def test_records_and_nested_estimators_come_back() -> None:
    model = everything.example()
    back = loads(dumps(model))
    assert back.summary_ == model.summary_
    X = np.ones((2, 3))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.inner.predict(X), model.inner.predict(X))


def test_a_real_estimator_comes_back_fitted_and_unfitted(tmp_path: Path) -> None:
    X, y = np.arange(8.0).reshape(4, 2) ** 2, np.arange(4.0)
    model = Line(alpha=0.5).fit(X, y)
    model.save(tmp_path / "model.qed")
    np.testing.assert_array_equal(load(tmp_path / "model.qed").predict(X), model.predict(X))
    assert loads(dumps(Line(alpha=3))).get_params() == {"alpha": 3, "start": None}


def test_columns_and_choices_of_the_user_come_back_and_callbacks_stay_behind() -> None:
    model = Line().fit(np.eye(2), np.ones(2))
    model.feature_names_in_ = np.array(["a", "b"], object)
    model._output = "pandas"
    model._metadata_requests = {"fit": {"sample_weight": True}}
    model._skl_callbacks = [print]
    back = loads(dumps(model))
    assert vars(back).keys() == vars(model).keys() - {"_skl_callbacks"}
    assert (back._output, back._metadata_requests) == ("pandas", {"fit": {"sample_weight": True}})


def test_parameters_born_after_the_file_take_their_default() -> None:
    header, data = opened(dumps(Everything(2.0)))
    del header["model"]["estimator"][1]["labels"]
    assert loads(sealed(header, data)).labels is None


def test_fields_born_after_the_file_take_their_default() -> None:
    header, data = opened(dumps(Everything(extra=Summary(1, 0.0, np.ones(1), "solved"))))
    del header["model"]["estimator"][1]["extra"]["record"][1]["outcome"]
    assert loads(sealed(header, data)).extra.outcome is None


# ---- what cannot be saved --------------------------------------------------------------------------------------------


class Text(str):
    __slots__ = ()


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (print, "Everything.extra is a value of type builtin_function_or_method.*data only"),
        (Everything, "data only"),
        ([1, {"a": lambda: 1}], r"Everything.extra\[1\]\['a'\] is a value of type .*function"),
        ({1: 2}, "key 1, and keys in model files are strings"),
        (Text("a"), "Text"),
        (np.array([1j]), "array of complex128"),
        (np.array([1], "M8[s]"), "datetime64"),
        (np.array([(1,)], [("a", int)]), "array of"),
        (np.longdouble(1), "scalar of type"),
        (np.complex64(1), "scalar of type"),
        (np.datetime64("2020"), "scalar of type"),
        (np.ones(2, np.longdouble), "array of"),
        (np.array(["a", b"bytes"], object), "b'bytes' in it"),
        (np.ma.masked_array([1.0]), "MaskedArray"),
        (np.random.default_rng, "data only"),
        (b"bytes", "bytes"),
        ("\ud800", "half a character"),
        ({"\ud800": 1}, "half a character"),
        (np.array(["\ud800"], object), "half a character"),
        (nested(DEEPEST + 1), "nested more than"),
        (scipy.sparse.coo_array(np.eye(2)), "coo_array"),
        (scipy.sparse.csr_array(np.eye(2) * 1j), "parts that do not fit"),
        (Summary(-1, 0.0, np.ones(1)), "negative numbers"),
        (Summary("many", 0.0, np.ones(1)), r"extra.rows should be .*int"),
    ],
)
def test_what_is_not_data_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(ModelFileError, match=f"(?s)cannot be saved.*{message}"):
        dumps(Everything(extra=value))


def test_values_that_contain_themselves_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ModelFileError, match="contains itself"):
        dumps(Everything(extra=loop))


def test_other_objects_and_outdated_classes_are_refused() -> None:
    with pytest.raises(ModelFileError, match=r"Only qed's estimators can be saved, and this is builtins\.dict"):
        dumps({})

    def define() -> Any:
        class Again(Everything):  # type: ignore[misc, valid-type]
            __module__ = "golden"

        register_estimator(Again)
        return Again()

    old = define()
    define()
    with pytest.raises(ModelFileError, match="defined again"):
        dumps(old)


def test_what_would_not_load_is_not_saved() -> None:
    with pytest.raises(InvalidParameter, match="alpha"):
        dumps(Everything(-1.0))
    model = Everything().fit(np.eye(3), np.ones(3))
    model.coef_ = np.full(3, np.nan)
    with pytest.raises(ModelFileError, match="coef_ holds NaN"):
        dumps(model)
    model = Everything()
    model.predict = 3
    with pytest.raises(ModelFileError, match="'predict' cannot be a fitted attribute"):
        dumps(model)


def test_foreign_seed_sequences_are_refused() -> None:
    class Mine(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
            return np.ones(n_words, dtype)

    with pytest.raises(ModelFileError, match="SeedSequence, and not Mine"):
        dumps(Everything(random_state=np.random.Generator(np.random.PCG64(Mine()))))


def test_a_header_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qed.core._container.LONGEST_HEADER", 1000)
    with pytest.raises(ModelFileError, match="keep long lists as NumPy arrays"):
        dumps(Everything(extra=[1] * 1000))


# ---- hostile files ---------------------------------------------------------------------------------------------------


def opened(data: bytes) -> tuple[Any, bytes]:
    (length,) = struct.unpack_from("<Q", data, 16)
    return json.loads(data[32 : 32 + length]), data[-(-(32 + length) // 64) * 64 : -32]


def framed(text: bytes, data: bytes, *, gap: bytes = b"\0", **changes: int) -> bytes:
    start = -(-(32 + len(text)) // 64) * 64
    numbers = {"version": 1, "zero": 0, "header": len(text), "total": start + len(data) + 32} | changes
    body = struct.pack("<8sIIQQ", MAGIC, *numbers.values()) + text + gap * (start - 32 - len(text)) + data
    return body + hashlib.sha256(body).digest()


def sealed(header: Any, data: bytes) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return framed(text.encode("utf-8", "surrogatepass"), data)


def refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=f"(?s)cannot be loaded: .*{message}.*restore it from a copy"):
        loads(data)


MODEL = dumps(everything.example())


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
        (framed(TEXT, DATA, version=2), "file format 2, and this qed reads formats up to 1.*newer qed: update"),
        (framed(TEXT, DATA, version=0), "never existed"),
        (framed(TEXT, DATA, zero=1), "never existed"),
        (framed(TEXT, DATA, total=1 << 60), "promises"),
        (framed(TEXT, DATA, header=1 << 60), "header claims"),
        (framed(TEXT, DATA, header=LONGEST_HEADER + 1), "header claims"),
        (framed(TEXT, DATA, header=len(MODEL) - 63), "header claims"),
        (framed(TEXT, DATA, gap=b"x"), "other than zero"),
        (framed(TEXT + b" ", DATA), "one way"),
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


def deep(depth: int) -> Any:
    node: Any = []
    for _ in range(depth):
        node = {"tuple": [node]}
    return node


def extra(node: Any, *arrays: Any) -> bytes:
    """A file whose parameter `extra` is this node; arrays come from an honest file."""
    header, data = opened(dumps(Everything(extra=list(arrays))))
    header["model"]["estimator"][1]["extra"] = node
    return sealed(header, data)


FLOAT, INT = np.ones(2), np.arange(3)
WRAPPING = np.array([2**63 - 2, -(2**63) + 9, 2])  # the differences of neighbours are all positive, after overflow
BAD_SCALAR = "not a NumPy scalar"


@pytest.mark.parametrize(
    ("node", "arrays", "message"),
    [
        ({"pickle": "x"}, (), "unknown kind 'pickle'"),
        ({"int": "0x1", "float": "1"}, (), "2 tags"),
        ({}, (), "0 tags"),
        (1 << 63, (), "not written in hexadecimal"),
        ({"int": "0x1"}, (), "large integer"),
        ({"int": "0x0" + "f" * 20}, (), "large integer"),
        ({"int": 3}, (), "an integer is written as"),
        ({"int": "zz"}, (), "makes no sense"),
        ({"float": 1}, (), "a float is written as"),
        ({"float": "1.5"}, (), "not how a float"),
        ({"float": "nan"}, (), "not how a float"),
        ({"float": "nan:3ff0000000000000"}, (), "not how a float"),
        ({"float": "0x1p9999"}, (), "makes no sense"),
        ({"tuple": 3}, (), "a tuple is written as"),
        ({"dict": {}}, (), "a dict is written as"),
        ({"dict": [["a"]]}, (), "an entry of a dict"),
        ({"dict": [["a", 1], ["a", 2]]}, (), "repeated"),
        ({"dict": [[1, 1]]}, (), "not a string"),
        ({"array": 0}, (), "points to array 0, and there are 0"),
        ({"array": -1}, (FLOAT,), "points to array"),
        ({"array": True}, (FLOAT, FLOAT), "points to array"),
        ({"array": "0"}, (FLOAT,), "points to array"),
        ([{"array": 0}, {"array": 0}], (FLOAT,), "array 0 twice"),
        (None, (FLOAT,), "arrays that belong to nothing"),
        (deep(DEEPEST + 1), (), "levels deep"),
        ({"scalar": ["<f8", "00"]}, (), BAD_SCALAR),
        ({"scalar": ["<f8", "AA" * 8]}, (), BAD_SCALAR),
        ({"scalar": ["|b1", "02"]}, (), BAD_SCALAR),
        ({"scalar": ["|O8", "00" * 8]}, (), BAD_SCALAR),
        ({"scalar": [8, "00" * 8]}, (), BAD_SCALAR),
        ({"scalar": ["str", 8]}, (), "a NumPy string is written as"),
        ({"scalar": ["<f8"]}, (), "list of 2 parts"),
        ({"scalar": "ab"}, (), "list of 2 parts"),
        ({"float": "nan:"}, (), "makes no sense"),
        ({"scalar": ["<f8", 8]}, (), "written as"),
        ({"strings": [[1]]}, (), "list of 3 parts"),
        ({"strings": [[2], {"array": 0}, {"array": 1}]}, (INT, np.zeros(2, np.uint8)), "does not fit its shape"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT, np.zeros(9, np.uint8)), "does not fit its shape"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT[::-1] - 2, np.zeros(0, np.uint8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT - 1, np.zeros(1, np.uint8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT * 1.0, np.zeros(2, np.uint8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT, np.zeros(2, np.int8)), "does not fit its"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (INT, np.full(2, 255, np.uint8)), "UnicodeDecodeError"),
        ({"strings": [[3], {"array": 0}, {"array": 1}]}, (WRAPPING, np.zeros(2, np.uint8)), "does not fit its"),
        ({"strings": [[1 << 70], {"array": 0}, {"array": 1}]}, (INT, np.zeros(2, np.uint8)), "20 digits|larger than"),
        ({"strings": [[1], 1, 2]}, (), "parts that are not arrays"),
        ({"strings": [[1], {"array": 0}, {"array": 1}]}, (np.ones((1, 1)), FLOAT), "parts that are not arrays"),
        ({"random": 3}, (), "random generators of the kinds"),
        ({"random": {"dict": [["bits", "Mine"]]}}, (), "random generators of the kinds"),
        ({"random": {"dict": [["bits", ["PCG64"]]]}}, (), "random generators of the kinds"),
        ({"record": ["nobody", {}]}, (), "'nobody', which this qed does not know"),
        ({"record": [["nobody"], {}]}, (), "the name of a record"),
        ({"record": ["test-summary", []]}, (), "record 'test-summary' is written as"),
        ({"record": ["test-summary", {"rows": 1}]}, (), "missing 2 required"),
        ({"estimator": ["golden.Everything", {}]}, (), "list of 3 parts"),
        ({"estimator": [1, {}, {}]}, (), "the class of an estimator"),
        ({"estimator": ["golden.Everything", [], {}]}, (), "the state of"),
        ({"estimator": ["os.system", {}, {}]}, (), "import the module that defines it first"),
        ({"estimator": ["system", {}, {}]}, (), "not the name of a class"),
        ({"estimator": ["a." + "b" * 300, {}, {}]}, (), "not the name of a class"),
        ({"estimator": ["qed.core.Regressor", {}, {}]}, (), "no estimator called qed.core.Regressor.*written by qed"),
        ({"estimator": ["qed.linear_model._ridge.x", {}, {}]}, (), "estimator called|No module"),
    ],
)
def test_trees_that_lie(node: Any, arrays: tuple[Any, ...], message: str) -> None:
    refused(extra(node, *arrays), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 1.5}, None),
        ({"rows": {"float": "0x1.0000000000000p+0"}}, "rows should be"),
        ({"rows": -1}, "negative numbers"),
        ({"mean": None}, "belong to nothing|mean should be"),
        ({"more": 1}, f"unknown field 'more'.*written by qed {__version__}"),
    ],
)
def test_records_that_lie(change: dict[str, Any], message: str | None) -> None:
    header, data = opened(dumps(Everything(extra=Summary(1, 0.0, np.ones(1)))))
    header["model"]["estimator"][1]["extra"]["record"][1].update(change)
    refused(sealed(header, data), message or "only integers")


def test_checks_that_fail_in_unforeseen_ways_are_the_files_fault() -> None:
    @record("test-fragile")
    class Fragile:
        value: Any

        def check(self) -> None:
            len(self.value)

    header, data = opened(dumps(Everything(extra=Fragile("text"))))
    header["model"]["estimator"][1]["extra"]["record"][1]["value"] = 3
    refused(sealed(header, data), "makes no sense .*TypeError")


def test_records_are_found_in_their_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "far_home.py").write_text(
        "from qed.core._records import record\n@record('test-far')\nclass Far:\n    x: int\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    refused(extra({"record": ["test-far", {"x": 1}]}), "'test-far', which this qed does not know")
    monkeypatch.setattr("qed.core._codec.RECORD_HOMES", ("not_born_yet", "far_home"))
    assert loads(extra({"record": ["test-far", {"x": 1}]})).extra.x == 1


def sparse(**changes: Any) -> bytes:
    matrix = scipy.sparse.csr_array((np.ones(2), np.array([2, 0], np.int32), np.arange(3, dtype=np.int32)), (2, 3))
    header, _ = opened(dumps(Everything(extra=matrix)))
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr} | changes
    node = header["model"]["estimator"][1]["extra"]
    node["csr_array"][0] = parts.pop("shape", [2, 3])
    return extra(node, *parts.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": [2, 2]}, "outside its shape"),
        ({"shape": [3, 3]}, "wrong type or number"),
        ({"shape": [2]}, "do not fit together"),
        ({"data": np.ones(3)}, "do not fit together"),
        ({"data": np.array(["a", "b"])}, "do not fit together"),
        ({"data": np.ones(2, np.float16)}, "do not fit together"),
        ({"data": np.ones((2, 1))}, "not arrays of one axis"),
        ({"indices": np.array([2, -1], np.int32)}, "outside its shape"),
        ({"indices": np.array([2, 0], np.int64)}, "wrong type or number"),
        ({"indices": np.array([2, 0], np.int16), "indptr": np.array([0, 1, 2], np.int16)}, "wrong type or number"),
        ({"indptr": np.array([0, 2], np.int32)}, "wrong type or number"),
        ({"indptr": np.array([1, 1, 2], np.int32)}, "row ends"),
        ({"indptr": np.array([0, 1, 3], np.int32)}, "row ends"),
        ({"indptr": np.array([0, 5, 2], np.int32)}, "row ends"),
        ({"shape": [3, 3], "indptr": np.array([0, 2**31 - 2, -(2**31) + 9, 2], np.int32)}, "row ends"),
    ],
)
def test_sparse_matrices_that_lie(changes: dict[str, Any], message: str) -> None:
    refused(sparse(**changes), message)


def pairs(node: Any, *path: str) -> Any:
    """The entry of nested dict nodes that a path leads to."""
    for step in path:
        node = next(pair for pair in node["dict"] if pair[0] == step)
        last, node = node, node[1]
    return last


@pytest.mark.parametrize(
    ("bits", "path", "value"),
    [
        ("PCG64", ("state", "state", "inc"), 2),
        ("PCG64", ("state", "state", "state"), -1),
        ("PCG64", ("state", "state", "state"), {"int": hex(1 << 128)}),
        ("PCG64", ("state", "has_uint32"), 2),
        ("PCG64", ("state", "uinteger"), 1 << 32),
        ("PCG64", ("state", "state"), 3),
        ("PCG64", ("bits",), "SFC64"),
        ("PCG64", ("seed",), None),
        ("PCG64", ("seed", "pool_size"), 1 << 40),
        ("PCG64", ("seed", "entropy"), -1),
        ("PCG64", ("seed", "entropy"), [1, "a"]),
        ("PCG64", ("seed", "spawn_key"), [1]),
        ("PCG64", ("seed", "n_children_spawned"), 1 << 33),
        ("MT19937", ("state", "state", "pos"), 625),
        ("MT19937", ("state", "state", "pos"), True),
        ("Philox", ("state", "buffer_pos"), 5),
        ("legacy", ("has_gauss",), 2),
        ("legacy", ("gauss",), "x"),
        ("legacy", ("state", "state", "pos"), -1),
    ],
)
def test_states_of_generators_that_lie(bits: str, path: tuple[str, ...], value: Any) -> None:
    legacy = bits == "legacy"
    source = np.random.RandomState(1) if legacy else np.random.Generator(getattr(np.random, bits)(1))
    header, data = opened(dumps(Everything(extra=source)))
    pairs(header["model"]["estimator"][1]["extra"]["random"], *path)[1] = value
    refused(sealed(header, data), "state of a random generator")


@pytest.mark.parametrize("path", [(), ("state",), ("state", "state"), ("seed",)])
def test_states_of_generators_have_no_more_and_no_fewer_parts(path: tuple[str, ...]) -> None:
    header, data = opened(dumps(Everything(extra=np.random.Generator(np.random.PCG64(1)))))
    node = header["model"]["estimator"][1]["extra"]["random"]
    entries = (pairs(node, *path)[1] if path else node)["dict"]
    entries.append(["more", 1])
    refused(sealed(header, data), "state of a random generator")
    del entries[-2:]
    refused(sealed(header, data), "state of a random generator")


@pytest.mark.parametrize(
    "key",
    [np.ones(623, np.uint32), np.ones((624, 1), np.uint32), np.ones(624, np.int32), np.ones(624), [1] * 624],
    ids=str,
)
def test_tables_of_twisters_have_their_shape_and_type(key: Any) -> None:
    header, data = opened(dumps(Everything(extra=[key, np.random.RandomState(1)])))
    first, second = header["model"]["estimator"][1]["extra"]
    place = pairs(second["random"], "state", "state", "key")
    header["model"]["estimator"][1]["extra"] = [place[1], second]
    place[1] = first
    refused(sealed(header, data), "state of a random generator")


def test_a_twister_of_zeros_is_refused() -> None:
    header, data = opened(dumps(Everything(extra=np.random.RandomState(1))))
    refused(sealed(header, bytes(len(data))), "state of a random generator")


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (1, {"beta": 1}, f"unknown parameter 'beta' .*written by qed {__version__}"),
        (1, {"alpha": {"float": "-0x1.0000000000000p+0"}}, "Everything.alpha must be a real number >= 0"),
        (2, {"predict": 1}, "'predict' cannot be a fitted attribute"),
        (2, {"__class__": 1}, "'__class__' cannot be a fitted attribute"),
        (2, {"__new__thing": 1}, "cannot be a fitted attribute"),
        (2, {"not a name": 1}, "cannot be a fitted attribute"),
        (2, {"alpha": -1}, "'alpha' cannot be a fitted attribute"),
        (2, {"intercept_": "x"}, "intercept_ should be a float"),
        (2, {"n_features_in_": 4}, "coef_ should have shape"),
        (2, {"n_features_in_": 0}, "n_features_in_ should be a positive integer"),
        (2, {"n_features_in_": True}, "n_features_in_ should be a positive integer"),
        (2, {"feature_names_in_": ["a", "b", "c"]}, "feature_names_in_ should be an array"),
        (2, {"_output": "antigravity"}, "'antigravity' is no container of output"),
        (2, {"_metadata_requests": {"dict": [["fit", 1]]}}, "requests for metadata"),
        (2, {"_skl_callbacks": []}, "cannot be a fitted attribute"),
    ],
)
def test_estimators_that_lie(part: int, change: dict[str, Any], message: str) -> None:
    header, data = opened(dumps(Everything().fit(np.eye(3), np.ones(3))))
    header["model"]["estimator"][part].update(change)
    refused(sealed(header, data), message)


def test_estimators_are_found_in_packages_of_qed_that_load_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("qed.newborn")

    def define(name: str) -> Any:
        if name not in ("Lazy", "hidden"):
            raise AttributeError(name)
        return type(name, (Line,), {"__module__": "qed.newborn._lazy"})

    vars(package).update(__all__=["Lazy", "function"], __getattr__=define, function=print)
    monkeypatch.setitem(sys.modules, "qed.newborn", package)
    file = framed(b'{"arrays":[],"model":{"estimator":["qed.newborn.Lazy",{},{}]},"qed":"9.9"}', b"")
    refused(file, r"no estimator called qed.newborn.Lazy \(the file was written by qed 9.9")
    monkeypatch.setattr("qed.core._codec.PACKAGES", ("newborn",))
    assert type(loads(file)).__name__ == "Lazy"
    for name in ("function", "hidden", "Absent"):
        refused(
            framed(b'{"arrays":[],"model":{"estimator":["qed.newborn.%s",{},{}]},"qed":"9.9"}' % name.encode(), b""),
            f"no estimator called qed.newborn.{name} is known .*written by qed 9.9",
        )


def test_loading_imports_only_packages_of_qed(tmp_path: Path) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    file = tmp_path / "model.qed"
    file.write_bytes(extra({"estimator": ["trap.Model", {}, {}]}))
    code = (
        "import sys\nfrom qed.core._persistence import load\nfrom qed.core._errors import ModelFileError\n"
        f"try: load({str(file)!r})\nexcept ModelFileError as e: sys.exit(0 if 'trap' not in sys.modules else 1)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0  # noqa: S603


# ---- files -----------------------------------------------------------------------------------------------------------


def test_messages_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.qed").write_bytes(b"nonsense")
    with pytest.raises(ModelFileError, match=r"a\.qed' cannot be loaded: it does not begin"):
        load(tmp_path / "a.qed")
    with pytest.raises(ModelFileError, match=r"b\.qed' cannot be read: No such file"):
        load(str(tmp_path / "b.qed"))
    with pytest.raises(ModelFileError, match="is a folder, and a model is one file"):
        load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe"):
        load(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe"):
        save(Everything(), tmp_path / "pipe")


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"is a folder. Add a file name, such as .*model.qed"):
        save(Everything(), tmp_path)
    with pytest.raises(ModelFileError, match=r"none' does not exist. Create it first"):
        save(Everything(), tmp_path / "none" / "model.qed")

    class InBytes(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return b"model.qed"

    for path in ("", "a\0b", b"bytes", 3, None, InBytes()):
        with pytest.raises(ModelFileError, match="names a file"):
            save(Everything(), path)  # type: ignore[arg-type]
        with pytest.raises(ModelFileError, match="names a file"):
            load(path)  # type: ignore[arg-type]


def test_a_protected_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.qed").write_bytes(b"old")
    monkeypatch.setattr("qed.core._persistence.os.access", lambda path, mode: False)
    with pytest.raises(ModelFileError, match="write-protected"):
        save(Everything(), tmp_path / "model.qed")
    assert (tmp_path / "model.qed").read_bytes() == b"old"


def test_a_folder_that_cannot_be_synced_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qed.core._persistence._sync_folder", fail(OSError(errno.EINVAL, "Invalid argument")))
    save(Everything(), tmp_path / "model.qed")
    assert load(tmp_path / "model.qed").alpha == 1.0


def test_save_writes_what_dumps_returns(tmp_path: Path) -> None:
    save(everything.example(), str(tmp_path / "model.qed"))
    assert (tmp_path / "model.qed").read_bytes() == MODEL
    assert load(tmp_path / "model.qed").alpha == 2.0


def test_saving_keeps_links_and_permissions(tmp_path: Path) -> None:
    (tmp_path / "real.qed").write_bytes(b"old")
    (tmp_path / "real.qed").chmod(0o640)
    (tmp_path / "link.qed").symlink_to("real.qed")
    save(Everything(), tmp_path / "link.qed")
    assert (tmp_path / "link.qed").is_symlink()
    assert (tmp_path / "real.qed").stat().st_mode & 0o777 == 0o640
    assert load(tmp_path / "real.qed").alpha == 1.0


def fail(error: BaseException) -> Callable[..., Any]:
    def raising(*args: Any, **options: Any) -> Any:
        raise error

    return raising


class Full:
    """A stream on a disk that fills up after the first kilobyte."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.written = stream, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.stream.close()

    def write(self, part: bytes) -> None:
        self.written += self.stream.write(part)
        if self.written > 1024:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failure", ["replace", "fsync", "full", "interrupt"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.qed"
    path.write_bytes(b"old")
    expected: type[BaseException] = ModelFileError
    if failure == "replace":
        monkeypatch.setattr(Path, "replace", fail(OSError(errno.EACCES, "Permission denied")))
    elif failure == "fsync":
        monkeypatch.setattr("qed.core._persistence.os.fsync", fail(OSError(errno.EIO, "Input/output error")))
    elif failure == "full":
        real = os.fdopen
        monkeypatch.setattr("qed.core._persistence.os.fdopen", lambda *args: Full(real(*args)))
    else:
        monkeypatch.setattr("qed.core._persistence.os.fsync", fail(KeyboardInterrupt()))
        expected = KeyboardInterrupt
    with pytest.raises(expected) as caught:
        save(everything.example(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    if failure == "full":
        assert "No space left on device. What stood there before is untouched" in str(caught.value)


def test_a_model_that_cannot_be_saved_touches_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="data only"):
        save(Everything(extra=print), tmp_path / "model.qed")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.qed"
    path.write_bytes(MODEL[:-500])
    monkeypatch.setattr(
        "qed.core._persistence.os.fstat", lambda handle: os.stat_result([0] * 6 + [len(MODEL)] + [0] * 3)
    )
    with pytest.raises(ModelFileError, match="ended while it was being read"):
        load(path)


def test_core_loads_neither_scipy_nor_random_for_plain_models() -> None:
    code = (
        "import sys\nfrom qed.core import Estimator\nfrom qed.core._records import register_estimator\n"
        "from qed.core._persistence import dumps, loads\n"
        "class Plain(Estimator): pass\nregister_estimator(Plain)\nloads(dumps(Plain()))\n"
        "sys.exit(any(name in sys.modules for name in ('scipy', 'numpy.random')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
