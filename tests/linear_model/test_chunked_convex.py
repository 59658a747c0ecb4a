"""Convex models of rows that come in chunks: the answers of the whole table, whose columns are never held together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import qed
from qed.data import ArraySource
from qed.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LogisticRegression,
    MultiTaskLasso,
    PoissonRegressor,
    QuantileRegressor,
    SGDClassifier,
    SquareRootLasso,
)

rng = np.random.default_rng(3)
N, P = 400, 5
X = rng.normal(size=(N, P)) + np.array([0.0, 3.0, 0.0, -1.0, 0.0])
X[:, 4] = 0.1  # a constant, to be recognised as one though no chunk is the first
SIGNAL = X @ [1.0, -0.5, 0.25, 0.0, 2.0]
WEIGHT = rng.integers(0, 3, N).astype(float)
WEIGHT[:60] = 0.0  # a whole chunk without a row
MODELS = {
    "lasso": (Lasso(0.02, tol=1e-9), SIGNAL + rng.normal(size=N)),
    "elastic net": (ElasticNet(0.02, tol=1e-9), SIGNAL + rng.normal(size=N)),
    "several targets": (MultiTaskLasso(0.02, tol=1e-9), np.c_[SIGNAL, -SIGNAL] + rng.normal(size=(N, 2))),
    "two classes": (LogisticRegression(tol=1e-10), (SIGNAL + rng.logistic(size=N) > -1).astype(float)),
    "three classes": (LogisticRegression(tol=1e-10), np.digitize(SIGNAL + rng.logistic(size=N), [-2.0, 0.0]) * 1.0),
    "weights of classes": (
        LogisticRegression(class_weight="balanced", tol=1e-10),
        (SIGNAL + rng.logistic(size=N) > 0).astype(float),
    ),
    "few coefficients": (LogisticRegression(l1_ratio=1.0, C=0.3, tol=1e-9), (SIGNAL > -1).astype(float)),
    "counts": (PoissonRegressor(alpha=0.1, tol=1e-10), rng.poisson(np.exp(SIGNAL / 4)).astype(float)),
    "outliers": (HuberRegressor(tol=1e-10), SIGNAL + rng.standard_t(2, size=N)),
    "median": (QuantileRegressor(alpha=0.01, tol=1e-9), SIGNAL + rng.standard_t(2, size=N)),
    "root": (SquareRootLasso(alpha=0.05, tol=1e-9), SIGNAL + rng.normal(size=N)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_chunks_give_the_answer_of_the_table(kind):
    model, y = MODELS[kind]
    source = ArraySource(X, y, WEIGHT, chunk_rows=60)
    chunked = qed.clone(model).fit(source)
    whole = qed.clone(model).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(chunked.coef_, whole.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(chunked.predict(source), whole.predict(X), rtol=1e-3, atol=1e-4)
    assert chunked.certificate_.reached
    assert qed.verify(chunked, source).holds
    assert qed.verify(chunked, X, y, WEIGHT).holds
    chunked.coef_ = chunked.coef_ * 1.01
    with pytest.raises(qed.CertificateError):
        qed.verify(chunked, source)


def test_sparse_chunks_and_files_in_single_precision(tmp_path):
    y = (SIGNAL > -1).astype(float)
    few = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    chunked = LogisticRegression().fit(ArraySource(few, y, chunk_rows=90))
    np.testing.assert_allclose(chunked.coef_, LogisticRegression().fit(few, y).coef_, rtol=1e-3, atol=1e-4)
    path = tmp_path / "rows.parquet"
    pl.DataFrame(X[:, :4].astype(np.float32), schema=list("abcd")).with_columns(
        y=pl.Series(y.astype(int))
    ).write_parquet(path)
    source = qed.scan(path, target="y", batch_rows=100)
    model = LogisticRegression().fit(source)
    assert model.classes_.tolist() == [0, 1]
    assert model.classes_.dtype.kind == "i"
    assert model.feature_names_in_.tolist() == list("abcd")
    assert qed.verify(model, source).holds


def test_a_penalised_intercept_comes_in_chunks_too():
    y = (SIGNAL > -1).astype(float)
    whole = LogisticRegression(solver="liblinear").fit(X, y)
    parts = LogisticRegression(solver="liblinear").fit(ArraySource(X, y, chunk_rows=60))
    assert np.allclose(parts.coef_, whole.coef_, atol=1e-3)
    assert np.allclose(parts.intercept_, whole.intercept_, atol=1e-3)
    free = LogisticRegression().fit(X, y)
    assert abs(free.intercept_[0] - whole.intercept_[0]) > 2e-3  # which is another model


def test_what_cannot_be_done_with_chunks_is_said():
    y = (SIGNAL > -1).astype(float)
    source = ArraySource(X, y, chunk_rows=60)
    with pytest.raises(qed.InvalidData, match="scan"):
        Lasso().fit(source, y)
    with pytest.raises(qed.InvalidData, match="needs a target"):
        Lasso().fit(ArraySource(X, chunk_rows=60))
    with pytest.raises(qed.InvalidData, match="all rows in memory"):
        LassoCV().fit(source)
    with pytest.raises(qed.InvalidData, match="partial_fit"):
        SGDClassifier().fit(source)
    bad = X.copy()
    bad[130, 2] = np.nan
    with pytest.raises(qed.InvalidData, match="NaN: row 130, column 2"):
        Lasso().fit(ArraySource(bad, y, chunk_rows=60))
    with pytest.raises(qed.InvalidData, match="NaN"):
        Lasso().fit(ArraySource(X, np.where(np.arange(N) == 7, np.nan, y), chunk_rows=60))
