"""The doors for y and sample_weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import toys
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from qed.core import Classifier, DataConversionWarning, FitData, InvalidData, Regressor
from qed.core._targets import encode

X = np.arange(12.0).reshape(6, 2)


class Numbers(Regressor):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FitData:
        return self._fit_data(X, y, sample_weight)


class ManyNumbers(Numbers, multi_output=True):
    pass


class Labels(Classifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FitData:
        return self._fit_data(X, y, sample_weight)


@pytest.mark.parametrize(
    "y",
    [
        np.arange(6),
        np.arange(6.0),
        np.arange(6.0).astype(">f8"),
        np.arange(6.0)[::-1][::-1],
        [0, 1, 2, 3, 4, 5],
        np.arange(6).astype(object),
        pd.Series(np.arange(6), index=list("abcdef")),
        pd.Series(np.arange(6), dtype="Int64"),
        pl.Series(np.arange(6)),
        pa.array(np.arange(6)),
        pa.chunked_array([[0, 1], [2, 3, 4, 5]]),
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_numbers(y: Any) -> None:
    read = Numbers().fit(X, y).y
    assert read is not None
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, np.arange(6))


def test_float32_and_memory_are_kept() -> None:
    y = np.arange(6, dtype=np.float32)
    assert np.shares_memory(Numbers().fit(X, y).y, y)


REFUSED: dict[str, tuple[Any, str]] = {
    "None": (None, "requires y to be passed, but the target y is None"),
    "too short": (np.zeros(5), r"inconsistent numbers of samples: \[6, 5\]. X has 6 rows and y has 5"),
    "NaN": ([0, 1, np.nan, 3, np.nan, 5], "Input y contains NaN. It stands in row 2, the first of 2"),
    "infinity": ([0, 1, np.inf, 3, 4, 5], "Input y contains infinity"),
    "strings": (list("abcdef"), "holds strings .* use a classifier"),
    "complex": (np.zeros(6) + 1j, "Complex data not supported"),
    "two columns": (np.zeros((6, 2)), r"y should be a 1d array, got an array of shape \(6, 2\)"),
    "three dimensions": (np.zeros((6, 1, 1)), "y should be a 1d array"),
    "scalar": (3.0, "y should be a 1d array"),
    "sparse": (sparse.csr_array(np.eye(6)), "Sparse data was passed for y"),
    "missing in pandas": (pd.Series([1, 2, None, 4, 5, 6], dtype="Int64"), "Input y contains NaN. Row 2 is missing"),
    "missing in polars": (pl.Series([1, 2, None, 4, 5, 6]), "Input y contains NaN. Row 2 is missing"),
    "dates": (np.zeros(6, dtype="M8[D]"), "holds dates"),
}


@pytest.mark.parametrize(("y", "words"), REFUSED.values(), ids=REFUSED)
def test_numbers_refused(y: Any, words: str) -> None:
    with pytest.raises(InvalidData, match=f"(?s){words}"):
        Numbers().fit(X, y)


def test_one_column_is_made_flat_with_a_warning_or_kept() -> None:
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        assert Numbers().fit(X, np.zeros((6, 1))).y.shape == (6,)
    assert ManyNumbers().fit(X, np.zeros((6, 1))).y.shape == (6, 1)
    assert ManyNumbers().fit(X, np.zeros(6)).y.shape == (6,)
    assert ManyNumbers().fit(X, pd.DataFrame(np.zeros((6, 3)))).y.shape == (6, 3)
    assert ManyNumbers().fit(X, pl.DataFrame(np.zeros((6, 3)))).y.shape == (6, 3)


def test_positive_target() -> None:
    class Positive(Numbers, positive_target=True):
        pass

    with pytest.raises(InvalidData, match="needs a target y >= 0, got -1"):
        Positive().fit(X, [-1, 0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3, 1, 3, 1, 2, 2], [1, 2, 3]),
        (np.array([-5, 10**12, -5, 0, 0, 0]), [-5, 0, 10**12]),
        (np.array([2**63, 2**63 + 2, 2**63, 2**63, 2**63, 2**63], dtype=np.uint64), [2**63, 2**63 + 2]),
        ([True, False, True, True, True, True], [False, True]),
        ([1.0, 2.0, 1.0, 1.0, 1.0, 1.0], [1.0, 2.0]),
        (list("banana"), ["a", "b", "n"]),
        (np.array(list("banana"), dtype=object), ["a", "b", "n"]),
        (pd.Series(pd.Categorical(list("banana"))), ["a", "b", "n"]),
        (pd.Series(list("banana")), ["a", "b", "n"]),
        (pl.Series(list("banana")), ["a", "b", "n"]),
        (pa.array(list("banana")), ["a", "b", "n"]),
        (np.array([1, 2, 1, 1, 1, 1], dtype=object), [1, 2]),
    ],
    ids=str,
)
def test_labels(y: Any, classes: list[Any]) -> None:
    data = Labels().fit(X, y)
    assert data.classes is not None
    assert data.classes.tolist() == classes
    assert data.y.dtype.kind == "i"
    assert data.classes[data.y].tolist() == np.asarray(y).tolist()


@given(hnp.arrays(st.sampled_from([np.int8, np.uint8, np.int64, np.uint64]), st.integers(1, 40)))
def test_encode_is_unique_with_inverse(labels: np.ndarray) -> None:
    classes, codes = encode(labels)
    expected, inverse = np.unique(labels, return_inverse=True)
    assert classes.dtype == labels.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, inverse)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0.5, 1, 1, 1, 1, 1], "Unknown label type: continuous"),
        ([np.nan, 1, 1, 1, 1, 1], "Input y contains NaN"),
        (np.array(["a", None, "b", "b", "b", "b"], dtype=object), "Input y contains NaN. The label in row 1 is None"),
        (np.array(["a", 1, "b", "b", "b", "b"], dtype=object), "mixes int and str"),
        (np.zeros(6) + 1j, "Complex data not supported"),
        (np.zeros((6, 2), dtype=int), "y should be a 1d array"),
        (pd.Series(["a", None, "b", "b", "b", "b"]), "Input y contains NaN. Row 1"),
    ],
    ids=str,
)
def test_labels_refused(y: Any, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        Labels().fit(X, y)


def test_two_classes_only() -> None:
    class Binary(Labels, multi_class=False):
        pass

    with pytest.raises(InvalidData, match="Only binary classification is supported"):
        Binary().fit(X, [1, 2, 3, 1, 2, 3])


@pytest.mark.parametrize(
    "weight",
    [
        [1, 2, 3, 4, 5, 6],
        np.arange(1, 7, dtype=np.float32),
        np.arange(1.0, 13.0)[::2] / 2 + 0.5,
        pd.Series(np.arange(1, 7)),
        pl.Series(np.arange(1, 7)),
    ],
    ids=lambda weight: type(weight).__name__,
)
def test_weights(weight: Any) -> None:
    read = Numbers().fit(X, np.zeros(6), weight).weight
    assert read.dtype == np.float64
    assert read.flags.c_contiguous
    np.testing.assert_allclose(read, np.arange(1, 7))


def test_a_number_weighs_every_row_and_none_weighs_nothing() -> None:
    assert Numbers().fit(X, np.zeros(6)).weight is None
    np.testing.assert_array_equal(Numbers().fit(X, np.zeros(6), 2).weight, np.full(6, 2.0))
    s = np.ones(6)
    assert np.shares_memory(Numbers().fit(X, np.zeros(6), s).weight, s)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 1, -2, 1, 1, 1], "Negative values in data passed to `sample_weight`: -2 in row 2"),
        ([1, 1, np.nan, 1, 1, 1], "Input sample_weight contains NaN. It stands in row 2"),
        ([1, 1, np.inf, 1, 1, 1], "Input sample_weight contains infinity"),
        ([0, 0, 0, 0, 0, 0], "Sample weights must contain at least one non-zero number"),
        ([1, 1], r"sample_weight.shape == \(2,\), expected \(6,\)!"),
        (np.ones((6, 1)), "Sample weights must be 1D array or scalar"),
        (list("abcdef"), "holds strings"),
        (0, "at least one non-zero"),
    ],
    ids=str,
)
def test_weights_refused(weight: Any, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        Numbers().fit(X, np.zeros(6), weight)


def test_models_that_do_not_look_at_y_take_anything() -> None:
    for y in (None, "nonsense", np.zeros(3)):
        toys.Centre().fit(X, y)


class ManyLabels(Labels, multi_label=True):
    pass


def test_several_labels_of_a_row() -> None:
    told = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]])
    for y in (told, told.astype(bool), told.astype(float), pd.DataFrame(told), told.tolist()):
        data = ManyLabels().fit(X, y)
        np.testing.assert_array_equal(data.y, told)
        assert data.classes.tolist() == [0, 1, 2]
    assert ManyLabels().fit(X, ["a", "b"] * 3).classes.tolist() == ["a", "b"]
    with pytest.warns(DataConversionWarning):
        assert ManyLabels().fit(X, told[:, :1]).y.ndim == 1
    for bad in (told + 1, np.where(told, "yes", "no"), told - 0.5):
        with pytest.raises(InvalidData, match="zeros and ones"):
            ManyLabels().fit(X, bad)
    with pytest.raises(InvalidData, match="1d array"):
        Labels().fit(X, told)
