"""Standard errors of logistic regression: cases by hand, derivatives by differences, coverage, and refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import qed
from qed.linear_model import LogisticRegression, LogisticRegressionCV

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
SCORE = 0.8 * X[:, 0] - 0.1 * (X[:, 1] - 5) + rng.logistic(size=400)
TWO, THREE = SCORE > 0, np.digitize(SCORE, [-1, 1])


def plain(**options):
    return LogisticRegression(C=np.inf, tol=1e-12, **options)


def test_two_by_two_tables_have_the_textbook_error():
    counts = np.array([[12, 5], [7, 21]])  # rows: exposed or not, columns: ill or not
    exposed, ill = np.array([[0], [0], [1], [1]]), np.array([0, 1, 0, 1])
    model = plain().fit(exposed, ill, counts.ravel())
    table = model.coefficient_table(X=exposed, sample_weight=counts.ravel())
    np.testing.assert_allclose(table.estimate[0], np.log(12 * 21 / (5 * 7)), rtol=1e-6)
    np.testing.assert_allclose(table.standard_error[0], np.sqrt((1 / counts).sum()), rtol=1e-6)
    np.testing.assert_allclose(table.upper[0] - table.estimate[0], 1.959964 * table.standard_error[0], rtol=1e-6)
    assert table.names == ("x0", "intercept")


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_the_curvature_of_the_likelihood(y, intercept):
    model = plain(fit_intercept=intercept).fit(X, y)
    codes, k = np.searchsorted(model.classes_, y), len(model.classes_) - 1
    A = np.column_stack([X, np.ones(len(X))]) if intercept else X
    table = model.coefficient_table(X=X)
    best = np.atleast_2d(table.estimate)

    def gradient(w):  # of minus the log-likelihood, the first class as reference
        scores = np.column_stack([np.zeros(len(A)), A @ w.reshape(k, -1).T])
        chance = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        return ((chance - np.eye(k + 1)[codes])[:, 1:].T @ A).ravel()

    step = 1e-5
    units = np.tile(A.std(axis=0) + 1, k)
    H = np.array(
        [
            (gradient(best.ravel() + d) - gradient(best.ravel() - d)) * u / (2 * step)
            for u, d in zip(units, np.diag(step / units), strict=True)
        ]
    )
    expected = np.sqrt(np.diag(np.linalg.inv(H))).reshape(best.shape)
    np.testing.assert_allclose(np.atleast_2d(table.standard_error), expected, rtol=1e-4)
    for other in (sparse.csr_array(X), X.astype(np.float64, order="F")):
        np.testing.assert_allclose(model.coefficient_table(X=other).standard_error, table.standard_error, rtol=1e-9)


def test_intervals_cover_as_often_as_they_say():
    draw = np.random.default_rng(5)
    truth, covered = np.array([0.5, -1.0]), []
    for _ in range(300):
        rows = draw.normal(size=(200, 2))
        y = rows @ truth + draw.logistic(size=200) > 0
        table = plain().fit(rows, y).coefficient_table(0.9, X=rows)
        covered.append((table.lower[:2] <= truth) & (truth <= table.upper[:2]))
    # 600 coin tosses, dependent in pairs: an exact two-sided chance of about 1e-6 as if there were 300
    low, high = stats.binom.ppf([5e-7, 1 - 5e-7], 300, 0.9) / 300
    assert low <= np.mean(covered) <= high


def test_names_and_weights():
    frame = pd.DataFrame(X, columns=["age", "size", "rate"])
    weight = rng.integers(1, 4, 400)
    model = plain().fit(frame, TWO, weight)
    table = model.coefficient_table(X=frame, sample_weight=weight)
    assert table.names == ("age", "size", "rate", "intercept")
    rows = np.repeat(np.arange(400), weight)
    again = plain().fit(X[rows], TWO[rows]).coefficient_table(X=X[rows])
    np.testing.assert_allclose(table.standard_error, again.standard_error, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "rows", "y", "words"),
    [
        (LogisticRegression(), X, TWO, "shrinks its coefficients"),
        (LogisticRegressionCV(cv=2), X, TWO, "shrinks its coefficients"),
        (plain(), X, X[:, 0] > 0, "separable"),
        (plain(), np.abs(X), np.where(X[:, 0] > 1, True, TWO), None),
        (plain(), np.column_stack([X, X[:, 0]]), TWO, "dependent"),
        (plain(), np.column_stack([X, np.ones(400)]), TWO, "constant"),
        (plain(class_weight="balanced"), X, TWO, "class_weight"),
        (plain(max_iter=1), X, TWO, "stopped before its tolerance"),
    ],
)
def test_where_there_is_none_the_reason_is_said(model, rows, y, words):
    model.fit(rows, y)
    options = {"X": rows} if isinstance(model, LogisticRegression) else {}
    if words is None:
        assert np.isfinite(model.coefficient_table(**options).standard_error).all()
        return
    with pytest.raises(qed.InvalidData, match=f"No standard errors.*{words}"):
        model.coefficient_table(**options)


def test_rows_and_level_are_asked_for():
    model = plain().fit(X, TWO)
    with pytest.raises(qed.InvalidParameter, match=r"coefficient_table\(X=X\)"):
        model.coefficient_table()
    with pytest.raises(qed.InvalidParameter, match="between 0 and 1"):
        model.coefficient_table(95, X=X)
    with pytest.raises(qed.InvalidParameter, match="between 0 and 1"):
        model.coefficient_table(X)  # rows in the place of the level
    with pytest.raises(qed.NotFitted):
        plain().coefficient_table(X=X)
    with pytest.raises(qed.InvalidData, match="2 features"):
        model.coefficient_table(X=X[:, :2])
