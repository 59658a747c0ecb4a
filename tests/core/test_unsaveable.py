"""What cannot be saved is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from model_files import Everything, Summary

from qed.core._codec import DEEPEST
from qed.core._errors import InvalidParameter, ModelFileError
from qed.core._persistence import dumps
from qed.core._records import register_estimator


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
        (1 << 5000, "integer of 5001 bits"),
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
