"""Frames in and frames out."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import toys

from qed.core import InvalidData, InvalidDataType

BASE = np.random.default_rng(1).normal(size=(5, 3))
NAMES = ["age", "height", "weight"]
FRAMES = {
    "pandas": pd.DataFrame(BASE, columns=NAMES),
    "polars": pl.DataFrame(BASE, schema=NAMES),
    "pyarrow": pa.table(dict(zip(NAMES, BASE.T, strict=True))),
    "record batch": pa.record_batch(dict(zip(NAMES, BASE.T, strict=True))),
    "pandas by columns": pd.DataFrame(dict(zip(NAMES, BASE.T, strict=True))),
    "pandas nullable": pd.DataFrame(BASE, columns=NAMES).astype("Float64"),
    "pandas Arrow-backed": pd.DataFrame(BASE, columns=NAMES).astype("float64[pyarrow]"),
}


def read(X: Any, *, finite: bool = True) -> np.ndarray:
    array: np.ndarray = toys.Centre()._fit_data(X, finite=finite).X
    return array


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_values_and_names(frame: Any) -> None:
    model = toys.Centre().fit(frame)
    np.testing.assert_array_equal(read(frame), BASE)
    assert model.feature_names_in_.dtype == object
    assert model.feature_names_in_.tolist() == NAMES
    assert model._fit_data(frame).names == NAMES


def test_one_block_is_not_copied() -> None:
    frame = pd.DataFrame(BASE, columns=NAMES)
    assert np.shares_memory(read(frame), frame.to_numpy())
    single = frame.astype(np.float32)
    assert read(single).dtype == np.float32
    assert np.shares_memory(read(single), single.to_numpy())
    block = pl.DataFrame(np.asfortranarray(BASE), schema=NAMES)
    assert not read(block).flags.owndata


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0.5, 1.5]}), [[1, 0.5], [np.nan, 1.5]]),
        (pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}), [[1], [np.nan]]),
        (pd.DataFrame({"a": pd.array([1, None], dtype="int64[pyarrow]")}), [[1], [np.nan]]),
        (pd.DataFrame({"a": np.array([1, 2.5], dtype=object)}), [[1], [2.5]]),
        (pl.DataFrame({"a": [1, None], "b": [0.5, 1.5]}), [[1, 0.5], [np.nan, 1.5]]),
        (pl.DataFrame({"a": [True, None]}), [[1], [np.nan]]),
        (pl.DataFrame({"a": [1, 2]}).cast(pl.Decimal(10, 2)), [[1], [2]]),
        (pl.DataFrame({"a": [1.5, None]}), [[1.5], [np.nan]]),
        (pa.table({"a": pa.array([1, None]), "b": [0.5, 1.5]}), [[1, 0.5], [np.nan, 1.5]]),
    ],
    ids=["Int64", "boolean", "int64[pyarrow]", "object", "pl mixed", "pl bool", "pl decimal", "pl float", "Arrow"],
)
def test_missing_becomes_nan(frame: Any, expected: Any) -> None:
    np.testing.assert_array_equal(read(frame, finite=False), np.array(expected, dtype=float))


def test_missing_is_named_by_column() -> None:
    frame = pd.DataFrame({"height": [1.0, 2.0, 3.0], "age": pd.array([30, 40, None], dtype="Int64")})
    with pytest.raises(InvalidData, match=r"Input X contains NaN. It stands in row 2, column 'age'\..*SimpleImputer"):
        toys.Centre().fit(frame)


WHEN = pd.to_datetime(["2020-01-01", "2020-01-02"])
REFUSED: dict[str, tuple[Any, str]] = {
    "pandas category": (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), "Column 'a' of X is Categorical.*Encode"),
    "polars category": (pl.DataFrame({"a": ["x", "y"]}).cast(pl.Categorical), "Column 'a' of X is Categorical"),
    "polars enum": (pl.DataFrame({"a": ["x"]}).cast(pl.Enum(["x"])), "Column 'a' of X is Enum"),
    "pandas datetime": (pd.DataFrame({"a": WHEN}), "Column 'a' of X is Datetime.*Turn the dates into numbers"),
    "pandas duration": (pd.DataFrame({"a": WHEN - WHEN[0]}), "Column 'a' of X is Duration.*seconds"),
    "polars date": (pl.DataFrame({"a": WHEN}).cast(pl.Date), "Column 'a' of X is Date"),
    "pandas text": (pd.DataFrame({"b": [1.0, 2.0], "a": ["x", "y"]}), "Column 'a' of X is String"),
    "arrow text": (pa.table({"a": ["x", "y"]}), "Column 'a' of X is String"),
    "polars list": (pl.DataFrame({"a": [[1], [2]]}), "Column 'a' of X is List"),
    "object text": (pd.DataFrame({"a": np.array([1, "old"], dtype=object)}), "column 'a' of X holds str 'old' at"),
    "same name twice": (pd.DataFrame(BASE, columns=["a", "a", "b"]), "Two columns have the same name.*Rename"),
    "a series": (pd.Series([1.0]), "Expected a 2-dimensional container but got .*Series"),
    "a query": (pl.DataFrame(BASE).lazy(), "a query that has not been run"),
}


@pytest.mark.parametrize(("frame", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_in_words(frame: Any, words: str) -> None:
    with pytest.raises(InvalidData, match=f"(?s){words}"):
        toys.Centre().fit(frame)


def test_names_that_are_no_strings_are_no_names() -> None:
    for columns in ([0, 1, 2], pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])):
        model = toys.Centre().fit(pd.DataFrame(BASE, columns=columns))
        assert "feature_names_in_" not in vars(model)
    with pytest.raises(InvalidDataType, match="Feature names are only supported if all input features have string"):
        toys.Centre().fit(pd.DataFrame(BASE, columns=["a", 1, 2]))


def test_names_are_compared() -> None:
    frame = FRAMES["pandas"]
    model = toys.Centre().fit(frame)
    model.transform(FRAMES["polars"])
    with pytest.raises(InvalidData, match="Feature names must be in the same order as they were in fit"):
        model.transform(frame[NAMES[::-1]])
    with pytest.raises(InvalidData, match=r"(?s)unseen at fit time:\n- size\n.*yet now missing:\n- age\n"):
        model.transform(frame.rename(columns={"age": "size"}))
    many = pd.DataFrame(np.ones((2, 8)), columns=[f"c{i}" for i in range(8)])
    with pytest.raises(InvalidData, match=r"- c4\n- \.\.\.\n"):
        model.transform(many)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Centre was fitted with"):
        model.transform(BASE)
    with pytest.warns(UserWarning, match="X has feature names, but Centre was fitted without feature names"):
        toys.Centre().fit(BASE).transform(frame)
    model.fit(BASE)
    assert "feature_names_in_" not in vars(model), "a fit without names forgets the old ones"


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_output(kind: str) -> None:
    frame = FRAMES["pandas"].set_index(pd.Index(list("vwxyz")))
    model = toys.Centre().set_output(transform=kind)
    for out in (model.fit_transform(frame), model.fit(frame).transform(frame)):
        assert type(out).__module__.split(".")[0] == kind
        assert list(out.columns) == NAMES
        np.testing.assert_allclose(np.asarray(out).mean(axis=0), 0, atol=1e-15)
        if kind == "pandas":
            assert out.index.tolist() == list("vwxyz")
    assert isinstance(model.set_output(transform="default").transform(frame), np.ndarray)
    assert model.set_output(transform=None) is model
    assert isinstance(model.transform(frame), np.ndarray)


def test_output_of_float32_and_new_columns() -> None:
    single = FRAMES["pandas"].astype(np.float32)
    out = toys.Centre().set_output(transform="pandas").fit_transform(single)
    assert set(out.dtypes) == {np.dtype(np.float32)}
    out = toys.RandomColumns(random_state=0).set_output(transform="polars").fit_transform(BASE)
    assert out.columns == ["randomcolumns0", "randomcolumns1"]


def test_output_refused() -> None:
    with pytest.raises(ValueError, match=r"output config must be in \['default', 'pandas', 'polars'\], got 'numpy'"):
        toys.Centre().set_output(transform="numpy")


def test_without_pandas_and_polars() -> None:
    code = """
import sys
for name in ("pandas", "polars", "pyarrow"):
    sys.modules[name] = None
import numpy as np, pytest, toys
model = toys.Centre().fit(np.eye(3))
assert model.transform(np.eye(3).tolist()).shape == (3, 3)
with pytest.raises(ImportError, match="needs pandas, which is not installed"):
    model.set_output(transform="pandas").transform(np.eye(3))
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=_environment())  # noqa: S603


def _environment() -> dict[str, str]:
    import os  # noqa: PLC0415

    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
