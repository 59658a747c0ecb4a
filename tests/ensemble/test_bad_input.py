"""Tables that leave trees little to do, for every ensemble: defined answers that are verified, or messages that say what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qed
from qed import ensemble, tree
from qed.core import InvalidData

SMALL: dict[str, dict[str, Any]] = {
    "HistGradientBoosting": {"max_iter": 3, "min_samples_leaf": 1},
    "GradientBoosting": {"n_estimators": 3},
    "AdaBoost": {"n_estimators": 3},
    "Bagging": {"n_estimators": 3},
    "RandomForest": {"n_estimators": 3},
    "ExtraTrees": {"n_estimators": 3},
}
KINDS = [(ensemble, name, params) for name, params in SMALL.items()]
KINDS += [(tree, name, {}) for name in ("DecisionTree", "ExtraTree")]
BOTH = [(home, name + kind, params) for home, name, params in KINDS for kind in ("Classifier", "Regressor")]


def made(case: tuple[Any, str, dict[str, Any]]) -> Any:
    home, name, params = case
    return getattr(home, name)(random_state=0, **params)


def target(case: tuple[Any, str, dict[str, Any]], n: int) -> Any:
    return np.arange(n) % 2 if "Classifier" in case[1] else np.arange(n, dtype=float)


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case[1])
def test_constant_columns_leave_the_constant(case: Any) -> None:
    X, y = np.full((20, 3), 7.5), target(case, 20)
    model = made(case).fit(X, y)
    assert len(np.unique(model.predict(np.random.default_rng(0).normal(size=(9, 3))))) == 1
    assert qed.verify(model, X, y)


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case[1])
def test_columns_without_any_value_are_passed_over(case: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.full(40, np.nan)])
    y = (X[:, 0] > 0).astype(int) if "Classifier" in case[1] else X[:, 0]
    model = made(case).fit(X, y)
    assert model.score(X, y) > (0.8 if "Hist" not in case[1] and "Gradient" not in case[1] else 0.1)
    assert qed.verify(model, X, y)
    nowhere = np.full((2, 2), np.nan)
    assert np.isin(model.predict(nowhere), model.predict(np.vstack([X, nowhere]))).all()


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case[1])
def test_one_row_is_predicted_everywhere(case: Any) -> None:
    X, y = np.array([[1.0, 2.0]]), np.array([3])
    if case[1] == "GradientBoostingClassifier":  # as scikit-learn does
        with pytest.raises(InvalidData, match="class"):
            made(case).fit(X, y)
        return
    model = made(case).fit(X, y)
    np.testing.assert_allclose(np.asarray(model.predict([[0.0, 0.0], [9.0, 9.0]]), dtype=float), 3.0)
    assert qed.verify(model, X, y)


@pytest.mark.parametrize("case", [case for case in BOTH if "Classifier" in case[1]], ids=lambda case: case[1])
def test_every_row_of_its_own_class(case: Any) -> None:
    X, y = np.arange(6.0)[:, None], np.array(list("fabdce"))
    model = made(case).fit(X, y)
    assert model.classes_.tolist() == sorted(y)
    assert model.predict_proba(X).shape == (6, 6)
    assert qed.verify(model, X, y)


@pytest.mark.parametrize("name", ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"])
def test_categories_that_no_row_had_go_with_the_missing_ones(name: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 200), rng.normal(size=200)]).astype(float)
    X[::9, 0] = np.nan
    y = np.isin(X[:, 0], (1, 2)).astype(int)
    model = getattr(ensemble, name)(max_iter=5, categorical_features=[0]).fit(X, y)
    new = np.column_stack([[7.0, np.nan, 250.0], [0.1, 0.1, 0.1]])
    assert len(np.unique(model.predict(new))) == 1
    assert qed.verify(model, X, y)


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case[1])
@pytest.mark.parametrize("rows", [0, 3])
def test_tables_without_rows_and_wrong_widths_are_explained(case: Any, rows: int) -> None:
    X, y = np.arange(20.0).reshape(10, 2), target(case, 10)
    with pytest.raises(InvalidData):
        made(case).fit(X[:0], y[:0])
    model = made(case).fit(X, y)
    with pytest.raises(InvalidData, match="2"):
        model.predict(np.ones((rows, 3)))
