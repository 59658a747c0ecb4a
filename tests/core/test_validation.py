"""The doors for X: what comes in, without a copy where possible, and what is refused in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toys
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from qed.core import FitData, InvalidData, InvalidDataType, Regressor, Transformer

BASE = np.random.default_rng(0).normal(size=(6, 4))
Y = np.arange(6.0)


class Through(Regressor, sparse=True, multi_output=True):
    """Lets data through and keeps them."""

    def fit(self, X: Any, y: Any = Y, sample_weight: Any = None, **options: Any) -> FitData:
        data = self._fit_data(X, y, sample_weight, **options)
        self.fitted_ = True
        return data


def _misaligned() -> np.ndarray:
    raw = np.zeros(BASE.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(BASE.shape)
    raw[...] = BASE
    assert not raw.flags.aligned
    return raw


def _read_only() -> np.ndarray:
    array = BASE.copy()
    array.flags.writeable = False
    return array


def _half_strides() -> np.ndarray:
    packed = np.zeros(BASE.shape, dtype=[("x", "f8"), ("y", "f4")])
    packed["x"] = BASE
    return packed["x"]


UNTOUCHED = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "read-only": _read_only(),
    "every second row and column": np.repeat(np.repeat(BASE, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": BASE[::-1, ::-1][::-1, ::-1],
    "transposed": np.ascontiguousarray(BASE.T).T,
    "float32": BASE.astype(np.float32),
    "subclass": BASE.view(type("Sub", (np.ndarray,), {})),
}
CONVERTED = {
    "big-endian": (BASE.astype(">f8"), np.float64),
    "big-endian float32": (BASE.astype(">f4"), np.float32),
    "misaligned": (_misaligned(), np.float64),
    "strides of half an item": (_half_strides(), np.float64),
    "float16": (BASE.astype(np.float16), np.float32),
    "long double": (BASE.astype(np.longdouble), np.float64),
    "int64": (BASE.astype(np.int64), np.float64),
    "uint8": (np.abs(BASE).astype(np.uint8), np.float64),
    "bool": (BASE > 0, np.float64),
    "object": (BASE.astype(object), np.float64),
    "list": (BASE.tolist(), np.float64),
    "tuple of arrays": (tuple(BASE), np.float64),
    "list of ints": (BASE.astype(int).tolist(), np.float64),
}


@pytest.mark.parametrize("X", UNTOUCHED.values(), ids=UNTOUCHED)
def test_read_in_place(X: np.ndarray) -> None:
    data = Through().fit(X)
    assert np.shares_memory(data.X, X)
    assert data.X.strides == X.strides
    assert data.X.dtype == X.dtype
    assert type(data.X) is np.ndarray
    np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize(("X", "dtype"), CONVERTED.values(), ids=CONVERTED)
def test_converted(X: Any, dtype: Any) -> None:
    array = Through().fit(X).X
    assert array.dtype == dtype
    assert array.dtype.isnative
    assert array.flags.aligned
    assert all(stride % array.itemsize == 0 for stride in array.strides)
    np.testing.assert_array_equal(array, np.asarray(X).astype(dtype))


@given(
    hnp.arrays(
        st.sampled_from(["<f8", ">f8", "<f4", ">f4", "<i4", ">i2", "u1", "?", "<f2", "O"]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.integers(0, 1),
    ),
    st.sampled_from([slice(None), slice(None, None, -1), slice(None, None, 2)]),
)
def test_any_layout_keeps_its_values(array: np.ndarray, cut: slice) -> None:
    X = array[cut, cut]
    read = Through().fit(X, np.zeros(len(X))).X
    assert read.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(read, X.astype(float))


class WithArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return BASE if dtype is None else BASE.astype(dtype)


class WithDLPack:
    def __dlpack__(self, **options: Any) -> Any:
        return BASE.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return BASE.__dlpack_device__()


@pytest.mark.parametrize("X", [WithArray(), WithDLPack(), memoryview(BASE)], ids=lambda X: type(X).__name__)
def test_array_likes_are_read_in_place(X: Any) -> None:
    assert np.shares_memory(Through().fit(X).X, BASE)


class OnAnotherDevice:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("can't convert device type tensor to numpy")


REFUSED: dict[str, tuple[Any, str]] = {
    "np.matrix": (np.matrix(BASE), "np.matrix is not supported. Please convert to a numpy array"),
    "complex": (BASE + 1j, "Complex data not supported"),
    "complex objects": (np.array([[1j, 2]], dtype=object), "Complex data not supported"),
    "strings": (np.array([["a"], ["b"]]), "holds strings .* encode them"),
    "strings of numbers": ([["1"], ["2"]], "Convert your data to numeric values explicitly"),
    "bytes": (np.array([[b"a"]]), "holds strings"),
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), "holds dates .* Turn them into numbers"),
    "fields": (np.zeros((2, 1), dtype=[("a", "f8")]), "not a number. Pass one column per field"),
    "object text": (np.array([[1.0, "old"]], dtype=object), "holds str 'old' at row 0, column 1"),
    "object dict": (np.array([[1.0, {}]], dtype=object), r"argument must be a string or a real number.*column 1"),
    "too large an int": ([[1], [10**400]], "row 1, column 0"),
    "ragged": ([[1.0, 2.0], [3.0]], "Every row needs the same length"),
    "scalar": (3.0, "Expected 2D array, got scalar array"),
    "one dimension": (BASE[0], "Expected 2D array, got 1D array .*Reshape your data"),
    "three dimensions": (BASE[None], "Found array with dim 3, while dim <= 2 is required by Through"),
    "no rows": (BASE[:0], r"Found array with 0 sample\(s\) \(shape=\(0, 4\)\) while a minimum of 1 is required"),
    "no columns": (BASE[:, :0], r"Found array with 0 feature\(s\) \(shape=\(6, 0\)\) while a minimum of 1 is required"),
    "masked": (np.ma.array(BASE, mask=BASE > 0), "masked entries. Fill them"),
    "another device": (OnAnotherDevice(), "NumPy cannot read: can't convert .* Copy it to main memory first"),
    "dict": ({"a": [1]}, "is a dict, which does not say how to read it"),
    "generator": ((row for row in BASE), "is a generator"),
    "None": (None, "is a NoneType"),
    "path": ("data.csv", r"is a str, 'data.csv'. To read files, use qed.scan"),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(("X", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_in_words(X: Any, words: str) -> None:
    model = Through()
    with pytest.raises(InvalidData, match=f"(?s){words}"):
        model.fit(X, np.zeros(1))
    assert "n_features_in_" not in vars(model), "nothing is learnt from what is refused"


@pytest.mark.parametrize("kind", ["np.matrix", "object dict", "dict", "generator", "None", "path"])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_wrong_types_are_type_errors(kind: str) -> None:
    with pytest.raises(InvalidDataType):
        Through().fit(REFUSED[kind][0])
    assert issubclass(InvalidDataType, TypeError)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("bad", "phrase"), [(np.nan, "contains NaN."), (-np.inf, "contains infinity or a value too")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_not_finite_is_named(dtype: Any, bad: float, phrase: str, order: Any) -> None:
    X = np.ones((400, 300), dtype=dtype, order=order)
    X[17, 2] = X[18, 1] = bad
    for where in (X, X[::-1][::-1]):
        with pytest.raises(InvalidData, match=f"Input X {phrase}.* row 17, column 2, the first of 2 such values"):
            Through().fit(where, np.ones(400))
    fitted = Through()
    fitted.fit(np.ones((2, 300)), np.ones(2))
    with pytest.raises(InvalidData, match=f"Input X {phrase}"):
        fitted._new_data(X)


def test_finite_false_leaves_the_look_to_the_caller() -> None:
    X = BASE.copy()
    X[3, 1] = np.nan
    data = Through().fit(X, Y, finite=False)
    with pytest.raises(InvalidData, match="row 3, column 1"):
        data.raise_if_not_finite()
    Through().fit(BASE, Y, finite=False).raise_if_not_finite()


def test_values_near_the_largest_are_finite() -> None:
    Through().fit(np.full((6, 4), np.finfo(np.float64).max))


def test_missing_values_are_let_in_where_they_mean_something() -> None:
    class Missing(Through, allow_nan=True):
        pass

    X = BASE.copy()
    X[1, 1] = np.nan
    assert np.isnan(Missing().fit(X).X[1, 1])
    X[2, 2] = np.inf
    with pytest.raises(InvalidData, match=r"infinity.*row 2, column 2"):
        Missing().fit(X)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sparse(form: str, container: str, index: Any) -> None:
    dense = np.where(BASE > 0.2, BASE, 0)
    X = getattr(sparse, f"{form}_{container}")(dense)
    if form in ("csr", "csc"):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    read = Through().fit(X).X
    assert read.format == ("csc" if form == "csc" else "csr")
    assert read.indices.dtype == read.indptr.dtype
    np.testing.assert_array_equal(read.toarray(), dense)
    if form in ("csr", "csc"):
        assert read is X, "read in place"
        assert read.indices.dtype == index


def test_sparse_values_are_converted_and_duplicates_added() -> None:
    ints = sparse.csr_array(np.eye(6, 4, dtype=np.int8))
    assert Through().fit(ints).X.dtype == np.float64
    assert Through().fit(ints.astype(np.float32)).X.dtype == np.float32
    twice = sparse.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3, 3, 3, 3, 3, 3])), shape=(6, 4))
    read = Through().fit(twice).X
    assert read.nnz == 2
    assert twice.nnz == 3, "the caller's container is left alone"
    np.testing.assert_array_equal(read.toarray(), twice.toarray())
    mixed = sparse.csr_array(np.eye(6, 4))
    mixed.indices = mixed.indices.astype(np.int64)
    read = Through().fit(mixed).X
    assert read.indices.dtype == read.indptr.dtype


@pytest.mark.parametrize("index", [-1, 4, 2**31 - 1])
def test_sparse_indices_outside_are_refused(index: int) -> None:
    X = sparse.csr_array(np.eye(6, 4))
    X.indices[2] = index
    with pytest.raises(InvalidData, match="indices point outside its shape"):
        Through().fit(X)
    X = sparse.csr_array(np.eye(6, 4))
    X.indptr[2] = 100
    with pytest.raises(InvalidData, match="indices point outside its shape"):
        Through().fit(X)


def test_sparse_nan_is_named_and_sparse_refused_where_dense_is_needed() -> None:
    X = sparse.csc_array(np.eye(6, 4))
    X.data[2] = np.nan
    with pytest.raises(InvalidData, match="row 2, column 2"):
        Through().fit(X)
    with pytest.raises(InvalidDataType, match=r"Sparse data was passed for X, but dense .* by Centre.*toarray"):
        toys.Centre().fit(X)
    with pytest.raises(InvalidData, match="Complex data"):
        Through().fit(sparse.csr_array(np.eye(6, 4) + 0j))


def test_columns_must_be_those_of_the_fit() -> None:
    model = toys.MeanRegressor().fit(BASE, Y)
    with pytest.raises(InvalidData, match="X has 3 features, but MeanRegressor is expecting 4 features as input"):
        model.predict(BASE[:, :3])
    assert model.predict(BASE[:1]).shape == (1,)
    with pytest.raises(InvalidData, match="minimum of 1 is required"):
        model.predict(BASE[:0])
    with pytest.raises(InvalidData, match="X has 3 features"):
        model.partial_fit(BASE[:, :3], Y)


class Counts(Transformer, positive_only=True, sparse=True):
    def fit(self, X: Any, y: Any = None) -> Any:
        self._fit_data(X)
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return self._new_data(X)


def test_traits_of_x() -> None:
    with pytest.raises(InvalidData, match=r"Negative values in data passed to Counts \(input X\)"):
        Counts().fit(BASE)
    with pytest.raises(InvalidData, match="Negative values"):
        Counts().fit(sparse.csr_array(BASE))
    model = Counts().fit(np.abs(BASE))
    with pytest.raises(InvalidData, match="Negative values"):
        model.transform(BASE)

    class Pairs(Through, pairwise=True, min_samples=3):
        pass

    with pytest.raises(InvalidData, match="must be square"):
        Pairs().fit(BASE)
    with pytest.raises(InvalidData, match=r"2 sample\(s\).* minimum of 3"):
        Pairs().fit(BASE[:2, :2], Y[:2])


def test_warm_start_goes_on_only_over_the_same_columns() -> None:
    model = toys.MeanRegressor(warm_start=True)
    assert not model.fit(BASE, Y).was_warm_
    assert model.fit(BASE, Y).was_warm_
    assert not model.fit(BASE[:, :2], Y).was_warm_
    assert not model.set_params(warm_start=False).fit(BASE[:, :2], Y).was_warm_


def test_stateless_models_need_no_fit() -> None:
    class Stateless(Counts, positive_only=False, requires_fit=False):
        pass

    assert Stateless().transform(BASE).shape == BASE.shape


def test_input_is_never_changed() -> None:
    X, y, s = BASE.copy(), Y.copy(), np.ones(6)
    for model in (toys.MeanRegressor(), toys.Centre(), toys.Groups()):
        model.fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(X, BASE)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(s, 1)


def test_beyond_float64_is_infinite_and_says_so() -> None:
    with pytest.raises(InvalidData, match="contains infinity or a value too large for dtype"):
        Through().fit(np.ones((6, 4), dtype=np.longdouble) * np.longdouble("1e400"))
