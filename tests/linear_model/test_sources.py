"""Sparse models from chunks: the same coefficients as from memory, the same proof; and refusals in words elsewhere."""

import numpy as np
import pandas as pd
import pytest

import qed
from qed.compose import ColumnTransformer, Pipeline, make_pipeline
from qed.core import InvalidData, InvalidParameter
from qed.data import ArraySource
from qed.linear_model import (
    BestSubsetRegressor,
    BoundedRegressor,
    ElasticNet,
    GroupLasso,
    Lasso,
    LassoCV,
    LogisticRegression,
    MultiTaskLasso,
    PowerRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifierCV,
)
from qed.model_selection import GridSearchCV
from qed.preprocessing import StandardScaler

rng = np.random.default_rng(4)
X = rng.normal(size=(300, 12)) * 3 + 1
Y = X[:, [1, 5]] @ [1.0, -2.0] + rng.normal(size=300)
S = rng.integers(0, 3, size=300).astype(float)


@pytest.fixture
def scanned(tmp_path):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)]).assign(y=Y, s=S)
    for part in range(3):
        frame.iloc[100 * part : 100 * (part + 1)].to_parquet(tmp_path / f"part{part}.parquet")
    return qed.scan(str(tmp_path / "*.parquet"), target="y", weight="s")


@pytest.mark.parametrize(
    "model",
    [Lasso(0.1, tol=1e-10), ElasticNet(0.1, tol=1e-10, positive=True), GroupLasso(0.1, groups=3, tol=1e-10)],
    ids=lambda model: type(model).__name__,
)
def test_chunks_give_what_memory_gives(model, scanned):
    inside = type(model)(**model.get_params()).fit(X, Y, S)
    model.fit(scanned)
    np.testing.assert_allclose(model.coef_, inside.coef_, atol=1e-8)
    assert model.intercept_ == pytest.approx(inside.intercept_, abs=1e-8)
    assert model.certificate_.reached
    assert model.feature_names_in_.tolist() == [f"c{j}" for j in range(12)]
    assert qed.verify(model, scanned).holds
    np.testing.assert_allclose(model.predict(scanned), inside.predict(X), atol=1e-6)


def test_many_columns_and_several_targets():
    wide = rng.normal(size=(60, 400))
    both = np.column_stack([wide[:, 3], wide[:, 3] - wide[:, 7]]) + 0.1 * rng.normal(size=(60, 2))
    source = ArraySource(wide, both, None)
    inside = MultiTaskLasso(0.1, tol=1e-9).fit(wide, both)
    np.testing.assert_allclose(MultiTaskLasso(0.1, tol=1e-9).fit(source).coef_, inside.coef_, atol=1e-6)
    one = ArraySource(wide, both[:, :1], None)
    np.testing.assert_allclose(
        Lasso(0.1, tol=1e-10).fit(one).coef_, Lasso(0.1, tol=1e-10).fit(wide, both[:, 0]).coef_, atol=1e-6
    )


def test_what_cannot_learn_from_chunks_says_so():
    source = ArraySource(X, Y[:, np.newaxis], None)
    for model in (LassoCV(), BestSubsetRegressor(), BoundedRegressor(), PowerRegressor(), RidgeClassifierCV()):
        with pytest.raises(InvalidData, match=rf"{type(model).__name__} needs all rows in memory, and got a source"):
            model.fit(source)
    with pytest.raises(InvalidData, match="together with y"):
        Lasso().fit(source, Y)


def test_standard_errors_are_refused_with_the_reason():
    for model in (Lasso(0.1).fit(X, Y), QuantileRegressor().fit(X, Y), LogisticRegression().fit(X, Y > 0)):
        with pytest.raises(InvalidData, match=r"No standard errors: .* Use LinearRegression\(\)"):
            model.coefficient_table()


def test_a_class_in_place_of_a_model_is_named():
    words = r"is the class StandardScaler, and a model is wanted. Write StandardScaler\(\)"
    with pytest.raises(InvalidParameter, match=words):
        make_pipeline(StandardScaler, Ridge()).fit(X, Y)
    with pytest.raises(InvalidParameter, match=r"'ridge' is the class Ridge"):
        Pipeline([("scale", StandardScaler()), ("ridge", Ridge)]).fit(X, Y)
    with pytest.raises(InvalidParameter, match=words):
        ColumnTransformer([("scale", StandardScaler, [0])]).fit(X)
    with pytest.raises(InvalidParameter, match="Pass an instance"):
        GridSearchCV(Ridge, {"alpha": [1.0]}).fit(X, Y)
