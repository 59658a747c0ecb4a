"""Standard errors and intervals: right where theory gives them, refused in words where it does not."""

import sys
import xml.etree.ElementTree as ET

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import qed
from qed.linear_model import LinearRegression, Ridge, RidgeCV

rng = np.random.default_rng(31)
X = rng.normal(size=(40, 3)) * [1.0, 1e4, 1e-4] + [0.0, 1e6, 0.0]
y = X @ [1.0, 1e-4, 1e4] + 2 + 0.5 * rng.normal(size=40)


def classical(X, y, *, intercept):
    A = np.column_stack([X, np.ones(len(X))]) if intercept else X
    scale = np.linalg.norm(A, axis=0)
    Q, R = np.linalg.qr(A / scale)
    w = np.linalg.solve(R, Q.T @ y) / scale
    free = len(y) - A.shape[1]
    variance = np.sum((y - A @ w) ** 2) / free
    error = np.sqrt(variance * np.sum(np.linalg.inv(R) ** 2, axis=1)) / scale
    return w, error, stats.t.ppf(0.975, free) * error


@pytest.mark.parametrize("intercept", [True, False])
def test_the_table_is_the_classical_one(intercept):
    table = LinearRegression(fit_intercept=intercept).fit(X, y).coefficient_table()
    w, error, reach = classical(X, y, intercept=intercept)
    np.testing.assert_allclose(table.estimate, w, rtol=1e-7)
    np.testing.assert_allclose(table.standard_error, error, rtol=1e-7)
    np.testing.assert_allclose(table.upper - table.lower, 2 * reach, rtol=1e-7)
    assert table.degrees_of_freedom == 40 - 3 - intercept
    assert table.names == (("x0", "x1", "x2", "intercept") if intercept else ("x0", "x1", "x2"))
    assert "std. error" in str(table)


def test_several_targets_have_one_row_each():
    Y = np.column_stack([y, -2 * y])
    both = LinearRegression().fit(X, Y).coefficient_table()
    alone = LinearRegression().fit(X, y).coefficient_table()
    np.testing.assert_allclose(both.standard_error[0], alone.standard_error, rtol=1e-10)
    np.testing.assert_allclose(both.standard_error[1], 2 * alone.standard_error, rtol=1e-10)


def test_names_come_from_the_frame():
    frame = pd.DataFrame(X, columns=["age", "income", "rate"])
    assert LinearRegression().fit(frame, y).coefficient_table().names == ("age", "income", "rate", "intercept")


def test_intervals_cover_as_often_as_they_say():
    noise = np.random.default_rng(32)
    design = noise.normal(size=(30, 2))
    truth = np.array([1.0, -1.0])
    draws = design @ truth[:, None] + 3 + noise.normal(size=(30, 4000))
    table = LinearRegression().fit(design, draws).coefficient_table(level=0.9)
    covered = (table.lower[:, :2] <= truth) & (truth <= table.upper[:, :2])
    # a binomial share of 4000 draws: 6.1 standard deviations leave a chance of about 1e-9 on both sides
    assert np.all(np.abs(covered.mean(axis=0) - 0.9) < 6.2 * np.sqrt(0.09 / 4000))


def test_a_streamed_model_has_the_same_table():
    model = LinearRegression()
    for rows in np.array_split(np.arange(40), 4):
        model.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(
        model.coefficient_table().standard_error,
        LinearRegression().fit(X, y).coefficient_table().standard_error,
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LinearRegression().fit(np.column_stack([X, X[:, 0]]), y), "rank 3"),
        (lambda: LinearRegression().fit(np.column_stack([X, np.ones(40)]), y), "constant columns"),
        (lambda: LinearRegression().fit(X[:4], y[:4]), "no degree of freedom"),
        (lambda: LinearRegression().fit(rng.normal(size=(20, 100)), y[:20]), "fewer rows than columns"),
    ],
)
def test_where_there_is_none_the_reason_is_said(make, words):
    model = make()
    with pytest.raises(qed.InvalidData, match=f"No standard errors.*{words}"):
        model.coefficient_table()


def test_an_impossible_level_is_refused():
    with pytest.raises(qed.InvalidParameter, match="between 0 and 1"):
        LinearRegression().fit(X, y).coefficient_table(level=95)
    with pytest.raises(qed.NotFitted):
        LinearRegression().coefficient_table()
    with pytest.raises(qed.NotFitted):
        Ridge().coefficient_table()
    with pytest.raises(qed.InvalidData, match="a penalty shrinks"):
        RidgeCV().fit(X, y).coefficient_table()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", None])
@pytest.mark.parametrize("targets", [1, 2])
def test_the_table_as_a_frame(library, targets):
    names = ["a", "b & c", "d"]
    target = np.column_stack([y, -y])[:, 0 if targets == 1 else slice(None)]
    table = LinearRegression().fit(pd.DataFrame(X[:, :3], columns=names), target).coefficient_table()
    frame = nw.from_native(table.to_frame(library))
    assert frame.implementation.value == (library or "pandas")  # loaded by this file
    columns = ["name", "estimate", "standard_error", "lower", "upper"]
    assert frame.columns == (columns if targets == 1 else ["target", *columns])
    assert frame["name"].to_list() == [*names, "intercept"] * targets
    for column in columns[1:]:
        np.testing.assert_array_equal(frame[column].to_numpy(), getattr(table, column).ravel())
    if targets == 2:
        assert frame["target"].to_list() == [0] * 4 + [1] * 4


def test_a_frame_of_a_library_that_is_not_there(monkeypatch):
    table = LinearRegression().fit(X, y).coefficient_table()
    with pytest.raises(qed.InvalidParameter, match="'duckdb'"):
        table.to_frame("duckdb")
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs polars, which is not installed"):
        table.to_frame("polars")


def test_the_table_in_a_notebook():
    table = LinearRegression().fit(pd.DataFrame(X[:, :2], columns=["a", "<b>"]), y).coefficient_table(0.9)
    html = table._repr_html_()
    rows = ET.fromstring(html).findall(".//tbody/tr")  # noqa: S314  (our own words)
    assert [row[0].text for row in rows] == ["a", "<b>", "intercept"]
    for k, row in enumerate(rows):
        assert float(row[1].text) == pytest.approx(table.estimate[k], rel=1e-5)
        assert float(row[2].text) == pytest.approx(table.standard_error[k], rel=1e-3)
        assert row[3].text == f"[{table.lower[k]:.6g}, {table.upper[k]:.6g}]"
    assert "90 % interval" in html
    both = LinearRegression().fit(X, np.column_stack([y, y])).coefficient_table()._repr_html_()
    assert both.count("<table>") == 2
    assert "target 1" in both
