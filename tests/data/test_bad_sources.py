"""What is wrong with a source is told before work starts, with the name of the file, the column and the row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import qed
from qed.core._errors import InvalidData, InvalidDataType
from qed.ensemble import HistGradientBoostingRegressor
from qed.linear_model import Lasso, LogisticRegression, Ridge, RidgeCV
from qed.naive_bayes import GaussianNB
from qed.preprocessing import TargetEncoder
from qed.svm import LinearSVC

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("aby"))


def files(folder, second):
    for name, table in (("one", TABLE), ("two", second)):
        columns = {column: pa.array(table[column], from_pandas=False) for column in table}  # NaN stays a number
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    return str(folder / "*.parquet")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (TABLE.drop(columns="b"), r"Column 'b' is not in two.parquet; one.parquet has it"),
        (TABLE.assign(c=1.0), r"two.parquet has a column 'c' that one.parquet lacks"),
        (TABLE.assign(b="x"), r"Column 'b' is double in one.parquet and (large_)?string in two.parquet"),
        (
            TABLE.assign(b=pd.Categorical(["u"] * 50)),
            r"Column 'b' is double in one.parquet and dictionary<.* in two.parquet",
        ),
    ],
    ids=["missing", "extra", "type", "categories"],
)
def test_files_that_differ_are_told_by_scan(tmp_path, second, message):
    with pytest.raises((InvalidData, InvalidDataType), match=message):
        qed.scan(files(tmp_path, second), target="y")


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        RidgeCV(cv=3),
        Lasso(),
        LogisticRegression(),
        LinearSVC(),
        GaussianNB(),
        TargetEncoder(),
        HistGradientBoostingRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_nan_in_a_target_is_named(tmp_path, model):
    second = TABLE.copy()
    second.loc[7, "y"] = np.nan
    with pytest.raises(InvalidData, match=r"NaN: row 7 of two.parquet, column 'y'"):
        model.fit(qed.scan(files(tmp_path, second), target="y"))


def test_no_file_matches(tmp_path):
    for path in (tmp_path / "*.parquet", tmp_path, tmp_path / "sales-2024.parquet"):
        with pytest.raises((InvalidData, FileNotFoundError), match=r"No file matches|no file|does not exist"):
            qed.scan(str(path), target="y")
