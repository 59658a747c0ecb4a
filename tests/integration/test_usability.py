"""Whatever is passed to a least-squares model either works, and its certificate holds, or is refused in useful words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import qed
from qed.linear_model import LinearRegression, Ridge, RidgeCV

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS: dict[str, Callable[..., Any]] = {
    "LinearRegression": LinearRegression,
    "Ridge": Ridge,
    "RidgeCV": RidgeCV,
    "RidgeCV by folds": lambda **params: RidgeCV(cv=3, **params),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
ROWS, COLUMNS = 30, 3
RNG = np.random.default_rng(41)
X = RNG.standard_normal((ROWS, COLUMNS))
Y = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.standard_normal(ROWS)
S = RNG.uniform(0.5, 2.0, ROWS)
WIDE = RNG.standard_normal((12, 90))
SPARSE = scipy.sparse.csr_array(X * (X > 0))
X.flags.writeable = Y.flags.writeable = S.flags.writeable = WIDE.flags.writeable = False


def spoiled(table: Any, value: Any, row: int = 4, column: int = 1) -> Any:
    copy = np.array(table)
    copy[row, column] = value
    return copy


def misaligned(array: Any) -> Any:
    shifted = np.frombuffer(bytearray(array.nbytes + 1), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    assert not shifted.flags.aligned
    return shifted


def frame(library: str) -> Any:
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    if library == "pandas":
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if library == "polars" else pa.table(columns)


def fits(model: Any, table: Any, y: Any, s: Any = None) -> Any:
    """Fit; then everything a user does next must work, and the certificate must be true."""
    model.fit(table, y, sample_weight=s)
    predicted = model.predict(table)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.certificate_.gap)
    assert model.certificate_.reached
    assert qed.verify(model, table, y, s).holds
    return predicted


def refused(model: Any, table: Any, y: Any, s: Any = None, *, words: tuple[str, ...]) -> str:
    """Refuse by an error of our own, in all of these words, and leave nothing behind that looks like a model."""
    with pytest.raises(qed.QedError) as caught:
        model.fit(table, y, sample_weight=s)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "coef_" not in model.__dict__
    return message


# ---------------------------------------------------------------- what works, and gives the answer of plain float64
SAME: dict[str, tuple[Any, Any]] = {
    "read-only": (X, Y),
    "strided": (np.repeat(X, 2, axis=0)[::2], np.repeat(Y, 2)[::2]),
    "backwards": (X[::-1][::-1], Y),
    "columns of a wider table": (np.hstack([X, X])[:, :COLUMNS], Y),
    "Fortran": (np.asfortranarray(X), Y),
    "big-endian": (X.astype(">f8"), Y.astype(">f8")),
    "misaligned": (misaligned(X), misaligned(Y)),
    "lists": (X.tolist(), Y.tolist()),
    "tuples": (tuple(map(tuple, X.tolist())), tuple(Y.tolist())),
    "objects": (X.astype(object), Y.astype(object)),
    "long doubles": (X.astype(np.longdouble), Y.astype(np.longdouble)),
    "pandas": (frame("pandas"), pd.Series(Y)),
    "pandas, nullable": (frame("pandas").astype("Float64"), pd.Series(Y).astype("Float64")),
    "pandas, Arrow": (frame("pandas").astype("double[pyarrow]"), pd.Series(Y).astype("double[pyarrow]")),
    "pandas, objects": (frame("pandas").astype(object), pd.Series(Y, dtype=object)),
    "pandas, other index": (frame("pandas").set_index(np.arange(50, 50 + ROWS)), pd.Series(Y, index=np.arange(ROWS))),
    "pandas, sparse columns": (frame("pandas").astype(pd.SparseDtype(float)), Y),
    "polars": (frame("polars"), pl.Series(Y)),
    "pyarrow": (frame("pyarrow"), pa.array(Y)),
    "pyarrow, chunks": (frame("pyarrow"), pa.chunked_array([Y[:10], Y[10:]])),
    "pyarrow, batch": (frame("pyarrow").to_batches()[0], Y),
    "a column of targets": (X, Y[:, None]),
    "a frame of targets": (X, pd.DataFrame({"y": Y})),
}


@each_model
@pytest.mark.parametrize("name", SAME)
def test_every_layout_and_container_gives_the_same_answer(make: Any, name: str) -> None:
    table, y = SAME[name]
    model = make()
    fits(model, table, y)
    np.testing.assert_allclose(np.ravel(model.coef_), make().fit(X, Y).coef_, rtol=1e-12)


WORKS: dict[str, tuple[Any, Any]] = {
    "two rows": (X[:2], Y[:2]),
    "as many rows as columns": (X[:3], Y[:3]),
    "one column": (X[:, :1], Y),
    "a constant column": (np.hstack([X, np.full((ROWS, 1), 0.1)]), Y),
    "constant columns": (np.full((ROWS, COLUMNS), 7.3), Y),
    "zeros": (np.zeros((ROWS, COLUMNS)), Y),
    "wide zeros": (np.zeros((8, 70)), Y[:8]),
    "constant target": (X, np.full(ROWS, 1 / 3)),
    "target of zeros": (X, np.zeros(ROWS)),
    "constant target, wide": (WIDE, np.full(12, 1 / 3)),
    "equal columns": (X[:, [0, 0, 1]], Y),
    "equal rows": (np.repeat(X[:5], 6, axis=0), Y),
    "float32": (X.astype(np.float32), Y.astype(np.float32)),
    "float16": (X.astype(np.float16), Y.astype(np.float16)),
    "integers": ((10 * X).astype(int), (10 * Y).astype(int)),
    "bytes of numbers": ((10 * X).astype(np.int8), Y),
    "unsigned": (np.abs(10 * X).astype(np.uint64), Y),
    "booleans": (X > 0, Y > 0),
    "fractions": ([[Fraction(i, 3), Decimal(i * i)] for i in range(9)], list(range(9))),
    "far from zero": (X + 1e8, Y),
    "very far from zero": (X + 1e15, Y + 1e15),
    "1e140": (1e140 * X, 1e140 * Y),
    "1e-140": (1e-140 * X, 1e-140 * Y),
    "units of all sizes": (X * [1e-100, 1.0, 1e100], Y),
    "large float32": ((1e37 * X).astype(np.float32), Y),
    "small float32": ((1e-40 * X).astype(np.float32), Y),
    "sparse columns": (SPARSE.tocsc(), Y),
    "sparse coordinates": (SPARSE.tocoo(), Y),
    "sparse integers": ((10 * SPARSE).astype(int), Y),
    "sparse booleans": (SPARSE.astype(bool), Y),
    "sparse zeros": (scipy.sparse.csr_array((ROWS, COLUMNS)), Y),
    "sparse zeros, many columns": (scipy.sparse.csr_array((ROWS, 300)), Y),
    "wide": (WIDE, Y[:12]),
    "wide and strided": (np.asfortranarray(WIDE)[::2], Y[:6]),
    "nullable booleans": (pd.DataFrame({"a": pd.array([True, False, True] * 10, "boolean")}), Y),
    "nullable integers": (pd.DataFrame({"a": pd.array([1, 2, 4] * 10, "Int64")}), Y),
    "columns of several types": (pd.DataFrame({"a": np.arange(ROWS), "b": X[:, 0].astype("f4"), "c": X[:, 1] > 0}), Y),
    "polars decimals": (pl.DataFrame({"a": pl.Series([1, 2, 4] * 10).cast(pl.Decimal(10, 2))}), Y),
    "numbers as names": (pd.DataFrame(X, columns=[10, 11, 12]), Y),
}


@each_model
@pytest.mark.parametrize("name", WORKS)
def test_unusual_numbers_work_and_their_certificate_holds(make: Any, name: str) -> None:
    table, y = WORKS[name]
    if name == "two rows" and make is MODELS["RidgeCV by folds"]:
        refused(make(), table, y, words=("cv must be between 2 and the number of rows", "got 3"))
    else:
        fits(make(), table, y)


def test_float32_in_float32_out() -> None:
    model = LinearRegression().fit(X.astype(np.float32), Y)
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    assert model.predict(X).dtype == np.float64


@pytest.mark.parametrize("make", [LinearRegression, Ridge])
def test_one_row_is_its_own_mean(make: Any) -> None:
    model = make()
    assert fits(model, X[:1], Y[:1]) == pytest.approx(Y[:1])
    assert not model.coef_.any()


@pytest.mark.parametrize("rows", [slice(0, 1), slice(0, ROWS)], ids=["one row", "one row of positive weight"])
def test_one_row_is_not_enough_to_leave_one_out(rows: slice) -> None:
    s = np.eye(ROWS)[0]
    refused(RidgeCV(), X[rows], Y[rows], s[rows], words=("n_samples=1", "at least two rows", "Ridge(alpha)"))
    fits(RidgeCV(fit_intercept=False), X[rows], Y[rows], s[rows])
    # a row that counts twice is left out whole
    refused(RidgeCV(), X[rows], Y[rows], 2 * s[rows], words=("n_samples=1", "at least two rows", "Ridge(alpha)"))


# ---------------------------------------------------------------- values that are refused
HERE = ("row 4", "column 1")
VALUES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "NaN": (spoiled(X, np.nan), Y, ("X contains NaN", *HERE, "drop these rows, or fill them in")),
    "infinity": (spoiled(X, -np.inf), Y, ("X contains infinity", *HERE, "Drop these rows, or repair")),
    "NaN, float32": (spoiled(X, np.nan).astype(np.float32), Y, ("X contains NaN", *HERE)),
    "NaN, Fortran": (np.asfortranarray(spoiled(X, np.nan)), Y, ("X contains NaN", *HERE)),
    "NaN, wide": (spoiled(WIDE, np.nan), Y[:12], ("X contains NaN", *HERE)),
    "NaN, sparse": (scipy.sparse.csr_array(spoiled(X, np.nan)), Y, ("X contains NaN", *HERE)),
    "NaN, sparse columns": (scipy.sparse.csc_array(spoiled(X, np.nan)), Y, ("X contains NaN", *HERE)),
    "None": (spoiled(X.astype(object), None), Y, ("X contains NaN", *HERE)),
    "NaN, pandas": (frame("pandas").mask(np.eye(ROWS, COLUMNS) > 0), Y, ("X contains NaN", "row 0", "column 'a'")),
    "NA, pandas": (pd.DataFrame({"b": pd.array([1, None, 3] * 10, "Int64")}), Y, ("contains NaN", "row 1", "'b'")),
    "null, polars": (pl.DataFrame({"b": [1, None, 3] * 10}), Y, ("X contains NaN", "row 1", "column 'b'")),
    "null, pyarrow": (pa.table({"b": [1, None, 3] * 10}), Y, ("X contains NaN", "row 1", "column 'b'")),
    "beyond float64": (spoiled(X.astype(np.longdouble), np.longdouble("1e400")), Y, ("infinity or a value too large",)),
    "NaN in y": (X, np.where(np.arange(ROWS) == 7, np.nan, Y), ("y contains NaN", "row 7", "Drop these rows")),
    "infinity in y": (
        X,
        np.where(np.arange(ROWS) == 7, np.inf, Y),
        ("y contains infinity", "row 7", "Drop these rows"),
    ),
    "NA in y": (X, pd.Series([1, None] * 15, dtype="Int64"), ("y contains NaN", "Row 1", "Drop these rows")),
    "null in y": (X, pl.Series([1.0, None] * 15), ("y contains NaN", "row 1", "Drop these rows")),
    "1e300": (1e300 * X, Y, ("overflow float64", "e+300", "Divide the columns")),
    "1e300 in one column": (X * [1, 1e300, 1], Y, ("overflow float64", "e+300", "Divide the columns")),
    "1e300, wide": (1e300 * WIDE, Y[:12], ("overflow float64", "column 0 of X", "Divide the columns")),
    "1e300, sparse": (1e300 * SPARSE, Y, ("overflow float64", "e+300", "Divide the columns")),
    "1e300, constant": (np.hstack([X, np.full((ROWS, 1), 1e300)]), Y, ("overflow float64", "column 3", "Divide")),
    "1e300 in y": (X, 1e300 * Y, ("overflow float64", "e+300", "Divide the columns")),
    "1e-300": (1e-300 * X, Y, ("underflow float64", "column 0 of X", "e-300", "Multiply it")),
    "1e-300 in one column": (X * [1, 1e-300, 1], Y, ("underflow float64", "column 1 of X", "Multiply it")),
    "1e-160": (1e-160 * X, Y, ("underflow float64", "column 0 of X", "Multiply it")),
    "1e-300, wide": (1e-300 * WIDE, Y[:12], ("underflow float64", "column 0 of X", "Multiply it")),
    "1e-300, sparse": (1e-300 * SPARSE, Y, ("underflow float64", "column 0 of X", "Multiply it")),
    "1e-300 in y": (X, 1e-300 * Y, ("underflow float64", "target 0", "Multiply it")),
}


@each_model
@pytest.mark.parametrize("name", VALUES)
def test_values_are_refused_with_their_place_and_a_way_out(make: Any, name: str) -> None:
    table, y, words = VALUES[name]
    refused(make(), table, y, words=words)


# ---------------------------------------------------------------- shapes and types that are refused
SHAPES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "no rows": (np.empty((0, 3)), np.empty(0), ("0 sample(s)", "(0, 3)", "minimum of 1", "Pass more rows")),
    "no columns": (np.empty((ROWS, 0)), Y, ("0 feature(s)", "minimum of 1", "Pass at least one column")),
    "nothing": ([], [], ("Expected 2D array", "Reshape your data")),
    "an empty frame": (pd.DataFrame(), Y, ("0 sample(s)", "Pass more rows")),
    "one dimension": (X[:, 0], Y, ("Expected 2D array, got 1D", "reshape(-1, 1)")),
    "a series": (pd.Series(Y), Y, ("Expected a 2-dimensional container", "Pass a DataFrame")),
    "three dimensions": (X[None], Y, ("dim 3", "(1, 30, 3)", "reshape")),
    "a number": (3.0, Y, ("Expected 2D array, got scalar", "Reshape your data")),
    "nothing at all": (None, Y, ("NoneType", "Pass an array")),
    "no target": (X, None, ("requires y", "Pass y after X")),
    "a target of three dimensions": (X, Y[:, None, None], ("(30, 1, 1)", "Pass one number for each row")),
    "a number as target": (X, 1.0, ("shape ()", "Pass one number for each row")),
    "no column in y": (X, np.empty((ROWS, 0)), ("(30, 0)", "Pass one number for each row")),
    "rows of several lengths": ([[1, 2], [3]], [1, 2], ("not a table of numbers", "Every row needs the same length")),
    "short y": (X, Y[:20], ("inconsistent numbers of samples", "30 rows", "y has 20")),
    "long y": (X, np.r_[Y, Y], ("inconsistent numbers of samples", "30 rows", "y has 60")),
    "strings": ([["a", "b"], ["c", "d"]], [1, 2], ("X holds strings", "astype(float)", "OneHotEncoder")),
    "numbers in strings": (X.astype(str), Y, ("X holds strings", "astype(float)")),
    "strings in y": (X, ["a"] * ROWS, ("y holds strings", "Convert y to numbers")),
    "bytes": (X.astype("S8"), Y, ("X holds strings", "astype(float)")),
    "a string among objects": (spoiled(X.astype(object), "high"), Y, ("str 'high'", *HERE, "numbers are needed")),
    "a dict among objects": (spoiled(X.astype(object), {}), Y, ("dict {}", *HERE, "numbers are needed")),
    "complex": (X + 1j, Y, ("Complex data not supported", "real and imaginary parts as columns")),
    "complex y": (X, Y + 1j, ("Complex data not supported", "Pass real numbers")),
    "complex, sparse": (SPARSE.astype(complex), Y, ("Complex data not supported",)),
    "dates": (X.astype("M8[s]"), Y, ("dates or durations", "Turn them into numbers")),
    "fields": (np.zeros((ROWS, 2), [("a", float)]), Y, ("not a number", "one column per field")),
    "masked": (np.ma.array(X, mask=X > 1), Y, ("masked", "X.filled(value)")),
    "a column of text": (pd.DataFrame({"a": ["x"] * ROWS}), Y, ("Column 'a'", "String", "encode its values")),
    "categories": (pd.DataFrame({"a": pd.Categorical(["x"] * ROWS)}), Y, ("Column 'a'", "Categorical", "Encode")),
    "a column of dates": (
        pd.DataFrame({"a": pd.date_range("2020", periods=ROWS)}),
        Y,
        ("Column 'a'", "Datetime", "days"),
    ),
    "one name twice": (pd.DataFrame(X, columns=list("aab")), Y, ("same name", "'a' 2 times", "Rename one")),
    "names of two kinds": (pd.DataFrame(X, columns=[0, "a", 1]), Y, ("['int', 'str']", "convert them all to strings")),
    "text in polars": (pl.DataFrame({"a": ["x"] * ROWS}), Y, ("Column 'a'", "String", "encode its values")),
    "text in pyarrow": (pa.table({"a": ["x"] * ROWS}), Y, ("Column 'a'", "String", "encode its values")),
    "a query": (pl.DataFrame({"a": Y}).lazy(), Y, ("has not been run", "X.collect()")),
    "sparse y": (X, scipy.sparse.csr_array(Y[:, None]), ("Sparse data was passed for y", ".toarray()")),
    "a dict": ({"a": [1, 2]}, Y, ("dict", "Pass an array")),
    "a path": ("rows.csv", Y, ("str, 'rows.csv'", "qed.scan")),
    "a generator": ((row for row in X), Y, ("generator", "Pass an array")),
}


@each_model
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_types_are_refused_with_a_way_out(make: Any, name: str) -> None:
    table, y, words = SHAPES[name]
    refused(make(), table, y, words=words)


# ---------------------------------------------------------------- weights
GOOD_WEIGHTS: dict[str, Any] = {
    "list": S.tolist(),
    "integers": np.arange(ROWS),
    "booleans": np.arange(ROWS) % 3 > 0,
    "float32": S.astype(np.float32),
    "strided": np.repeat(S, 2)[::2],
    "big-endian": S.astype(">f8"),
    "misaligned": misaligned(S),
    "series": pd.Series(S),
    "polars": pl.Series(S),
    "a number": 2.0,
    "very small": 1e-200 * S,
    "very large": 1e200 * S,
    "of all sizes": np.where(np.arange(ROWS) % 2, 1e-100, 1e100) * S,
    "three rows left": np.isin(np.arange(ROWS), [2, 13, 24]).astype(float),
}


@each_model
@pytest.mark.parametrize("name", GOOD_WEIGHTS)
def test_weights_of_every_kind_work(make: Any, name: str) -> None:
    fits(make(), X, Y, GOOD_WEIGHTS[name])


@each_model
@pytest.mark.parametrize("kind", ["tall", "wide", "sparse"])
def test_rows_of_weight_zero_are_not_there(make: Any, kind: str) -> None:
    table, y = {"tall": (X, Y), "wide": (WIDE, Y[:12]), "sparse": (SPARSE, Y)}[kind]
    s = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    with_them = make().fit(table, y, sample_weight=s)
    without = make().fit(table[s > 0], y[s > 0])
    if make is not MODELS["RidgeCV by folds"]:  # whose folds are other ones
        np.testing.assert_allclose(with_them.coef_, without.coef_, rtol=1e-9, atol=1e-12)
    assert qed.verify(with_them, table, y, s).holds


BAD_WEIGHTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "negative": (np.where(np.arange(ROWS) == 4, -1.0, S), ("Negative", "-1 in row 4", ">= 0")),
    "NaN": (np.where(np.arange(ROWS) == 4, np.nan, S), ("sample_weight contains NaN", "row 4", "repair")),
    "infinity": (np.where(np.arange(ROWS) == 4, np.inf, S), ("sample_weight contains infinity", "row 4", "repair")),
    "NA": (pd.Series([1, None] * 15, dtype="Int64"), ("sample_weight contains NaN", "Row 1", "fill the values in")),
    "None": ([None] * ROWS, ("sample_weight contains NaN", "row 0")),
    "all zero": (np.zeros(ROWS), ("at least one non-zero", "All of them are zero", "positive weight")),
    "zero": (0.0, ("at least one non-zero", "positive weight")),
    "too few": (S[:20], ("(20,)", "(30,)", "one weight for each row")),
    "none": ([], ("(0,)", "(30,)", "one weight for each row")),
    "two dimensions": (S[:, None], ("1D array or scalar", "(30, 1)", "one weight for each row")),
    "strings": (["a"] * ROWS, ("holds strings", "one number for each row")),
    "complex": (S + 1j, ("Complex data not supported", "real numbers")),
    "dates": (S.astype("M8[s]"), ("dates or durations", "numbers")),
    "too small": (np.full(ROWS, 5e-324), ("weights sum to", "e-322", "Multiply them")),
    "too large": (np.full(ROWS, 1e305), ("overflow float64", "Divide the columns (or the weights)")),
}


@each_model
@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_weights_are_refused_with_a_way_out(make: Any, name: str) -> None:
    s, words = BAD_WEIGHTS[name]
    refused(make(), X, Y, s, words=words)


@pytest.mark.parametrize(("kept", "what"), [([0, 5], "train on"), ([0, 1, 15], "judge by")])
def test_folds_without_a_row_that_counts_are_refused(kept: list[int], what: str) -> None:
    s = np.isin(np.arange(ROWS), kept).astype(float)
    refused(RidgeCV(cv=3), X, Y, s, words=("Fold", f"no row of positive weight to {what}", "Use fewer folds"))


# ---------------------------------------------------------------- what is asked of a fitted model
@each_model
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_predict_wants_the_columns_of_the_fit(make: Any, library: str) -> None:
    table = frame(library)
    model = make().fit(table, Y)
    order = ["c", "a", "b"]
    swapped = table.select(order) if library != "pandas" else table[order]
    with pytest.raises(qed.InvalidData, match="must be in the same order"):
        model.predict(swapped)
    fewer = table.select(["a", "b"]) if library != "pandas" else table[["a", "b"]]
    with pytest.raises(qed.InvalidData, match=r"yet now missing:\n- c"):
        model.predict(fewer)
    new = {"a": X[:, 0], "b": X[:, 1], "z": X[:, 2]}
    other = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](new)
    with pytest.raises(qed.InvalidData, match=r"unseen at fit time:\n- z\n.*\n- c"):
        model.predict(other)


@each_model
def test_predict_refuses_what_fit_refuses(make: Any) -> None:
    with pytest.raises(qed.NotFitted, match="Call 'fit'"):
        make().predict(X)
    model = make().fit(X, Y)
    for table, words in [
        (X[:, :2], "X has 2 features, but .* is expecting 3"),
        (X[0], "Expected 2D array"),
        (X[:0], "0 sample"),
        (spoiled(X, np.nan), "X contains NaN. It stands in row 4, column 1"),
        (X.astype(str), "X holds strings"),
        (X + 1j, "Complex data not supported"),
        (None, "NoneType"),
    ]:
        with pytest.raises(qed.InvalidData, match=words):
            model.predict(table)


@each_model
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_nothing_that_is_passed_is_written_to(make: Any, copy: bool, order: Any) -> None:
    for table, y in [(X, Y), (WIDE, Y[:12]), (X[:, [0, 0, 1]], Y)]:
        given = [np.array(table, order=order), np.array(y), np.array(S[: len(y)])]
        before = [array.copy() for array in given]
        model = make() if "copy_X" not in make().get_params() else make(copy_X=copy)
        model.fit(*given).predict(given[0])
        qed.verify(model, *given)
        assert all(np.array_equal(one, two) for one, two in zip(given, before, strict=True))
    held = SPARSE.copy()
    make().fit(held, Y).predict(held)
    assert (held.data == SPARSE.data).all()
    assert (held.indices == SPARSE.indices).all()


@each_model
def test_fitting_again_gives_the_same_bits_and_leaves_nothing_of_the_past(make: Any) -> None:
    model = make().fit(X, Y, S)
    first = model.coef_.tobytes()
    assert model.fit(X, Y, S).coef_.tobytes() == first
    model.fit(WIDE, Y[:12])
    model.fit(frame("pandas"), np.column_stack([Y, Y]))
    again = model.fit(X, Y, S)
    assert again.coef_.tobytes() == first
    assert set(vars(again)) == set(vars(make().fit(X, Y, S)))


@each_model
def test_a_fit_that_fails_leaves_no_model_of_other_columns(make: Any) -> None:
    model = make().fit(frame("pandas"), Y)
    renamed = frame("pandas").rename(columns={"a": "z"})
    renamed.loc[3, "z"] = np.nan
    with pytest.raises(qed.InvalidData, match="column 'z'"):
        model.fit(renamed, Y)
    with pytest.raises(qed.NotFitted):
        model.predict(renamed.fillna(0.0))


@each_model
def test_params_are_refused_before_the_data(make: Any) -> None:
    with pytest.raises(qed.InvalidParameter, match=r"fit_intercept must be .*got 'yes'"):
        make(fit_intercept="yes").fit(None, None)


BAD_FOLDS: dict[str, tuple[Any, str]] = {
    "outside": ([([0, 1, 99], [2])], "pairs of \\(train, test\\) indices"),
    "fractions": ([([0.5, 1.5], [2])], "pairs of \\(train, test\\) indices"),
    "two dimensions": ([([[0, 1]], [[2]])], "pairs of \\(train, test\\) indices"),
    "none": ([], "gave no fold"),
    "a word": ("five", "pairs of \\(train, test\\) indices"),
    "one": (1, "between 2 and the number of rows"),
    "too many": (ROWS + 1, "between 2 and the number of rows"),
    "nothing to train on": ([([], [0, 1])], "no row of positive weight to train on"),
}


@pytest.mark.parametrize("name", BAD_FOLDS)
def test_folds_are_refused_with_a_way_out(name: str) -> None:
    cv, words = BAD_FOLDS[name]
    with pytest.raises(qed.QedError, match=words):
        RidgeCV(cv=cv).fit(X, Y)


def test_folds_may_be_masks_and_count_from_the_end() -> None:
    first = np.arange(ROWS) < 20
    rows = np.arange(ROWS)
    want = RidgeCV(cv=[(rows[:20], rows[20:]), (rows[20:], rows[:20])]).fit(X, Y)
    masks = RidgeCV(cv=[(first, ~first), (~first, first)]).fit(X, Y)
    ends = RidgeCV(cv=[(rows[:20], rows[20:] - ROWS), (rows[20:] - ROWS, rows[:20])]).fit(X, Y)
    assert want.best_score_ == masks.best_score_ == ends.best_score_


@pytest.mark.parametrize("cv", [None, 3])
def test_scores_that_are_no_numbers_are_refused(cv: int | None) -> None:
    with pytest.raises(qed.InvalidParameter, match=r"scoring gave NaN for alpha=0\.1"):
        RidgeCV(scoring=lambda model, table, y: np.nan, cv=cv).fit(X, Y)


@pytest.mark.parametrize("alpha", [1e-13, 1e-30, 1e-300])
def test_wide_rows_are_left_out_exactly_however_weak_the_penalty(alpha: float) -> None:
    y = Y[:12]
    model = RidgeCV(alphas=[alpha], store_cv_results=True).fit(WIDE, y)
    others = [np.arange(12) != row for row in range(12)]
    left_out = [LinearRegression().fit(WIDE[rest], y[rest]).predict(WIDE[~rest])[0] for rest in others]
    np.testing.assert_allclose(model.cv_results_[:, 0], (y - left_out) ** 2, rtol=1e-9)


def test_verify_takes_models_alone() -> None:
    with pytest.raises(qed.InvalidParameter, match="takes a fitted model of qed, got int"):
        qed.verify(3, X, Y)


def test_numbers_of_threads_may_be_integers_of_numpy() -> None:
    fits(LinearRegression(n_jobs=np.int64(1)), X, Y)
