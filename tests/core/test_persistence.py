"""Saving and loading: every value comes back to the bit."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from model_files import Everything, Line, Summary, everything, opened, sealed, trip

from qed.core._persistence import dumps, load, loads

if TYPE_CHECKING:
    from pathlib import Path


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
        [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 1 << 4000],
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
