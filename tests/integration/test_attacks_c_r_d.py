"""Findings of adversarial testing about use: commands and interrupts (C), memory (R), agreement with scikit-learn (D)."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.compose
import sklearn.feature_extraction.text
import sklearn.metrics
import sklearn.pipeline
import sklearn.preprocessing

import qed
from qed import metrics
from qed.compose import ColumnTransformer, FeatureUnion, make_pipeline
from qed.core import InvalidData, InvalidParameter
from qed.linear_model import LogisticRegression, VotedPerceptron
from qed.preprocessing import (
    CountVectorizer,
    FunctionTransformer,
    HashingVectorizer,
    KBinsDiscretizer,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
    TfidfTransformer,
    TfidfVectorizer,
)

TEXTS = ["the cat sat", "a dog ran off", "the dog sat", "cat and dog"]
FRAMES = (pd.DataFrame, pl.DataFrame, pa.table)


def _dense(table: Any) -> Any:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


# -- R1: the memory of a vote ------------------------------------------------------------------------------


def test_r1_a_vote_takes_blocks_of_rows() -> None:
    r = np.random.default_rng(0)
    X = r.normal(size=(1500, 3))
    model = VotedPerceptron(max_iter=20).fit(X, r.random(1500) < 0.5)
    mistakes, p = len(model.mistakes_), X.shape[1]
    assert mistakes > 5000
    tracemalloc.start()
    model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * mistakes * (p + 1) + 17 * max(mistakes, 262144) + 100_000 + 40 * len(X)
    assert peak < 8 * len(X) * mistakes / 4


def test_r1_votes_are_those_of_every_plane() -> None:
    r = np.random.default_rng(1)
    X = r.integers(-3, 4, size=(80, 2)).astype(float)
    model = VotedPerceptron(max_iter=5).fit(X, r.random(80) < 0.5, sample_weight=r.integers(1, 3, 80))
    planes = np.vstack([np.zeros(3), np.cumsum(model.mistakes_ * model.steps_[:, None], axis=0)])
    sides = np.where(X @ planes[:, :2].T + planes[:, 2] > 0, 1.0, -1.0)
    assert np.array_equal(model.decision_function(X), sides @ model.votes_ / model.votes_.sum())


# -- D: agreement with scikit-learn ------------------------------------------------------------------------


def test_d1_one_class_left_by_weights_is_the_worst_not_the_best() -> None:
    truth, proba, s = [0, 1, 1], [0.2, 0.7, 0.6], [0, 1, 1]
    assert metrics.d2_log_loss_score(truth, proba, sample_weight=s) == -np.inf
    assert sklearn.metrics.d2_log_loss_score(truth, proba, sample_weight=s) < -1e10
    assert metrics.d2_brier_score(truth, proba, sample_weight=s) == -np.inf


@pytest.mark.parametrize("kind", ["CountVectorizer", "TfidfVectorizer"])
def test_d2_binary_counts_choose_words_by_texts(kind: str) -> None:
    texts = ["aa aa aa aa bb", "cc bb", "cc dd", "cc dd dd"]
    own = getattr(qed.preprocessing, kind)(binary=True, max_features=2).fit(texts)
    other = getattr(sklearn.feature_extraction.text, kind)(binary=True, max_features=2).fit(texts)
    assert own.vocabulary_ == other.vocabulary_
    assert np.allclose(_dense(own.transform(texts)), _dense(other.transform(texts)))


@pytest.mark.parametrize("frame", FRAMES)
def test_d3_a_column_of_texts_reaches_a_vectorizer(frame: Any) -> None:
    data = {"u": TEXTS, "v": [1.0, 2.0, 3.0, 5.0]}
    expected = _dense(
        sklearn.compose.ColumnTransformer(
            [("c", sklearn.feature_extraction.text.CountVectorizer(), "u")], remainder="passthrough"
        ).fit_transform(pd.DataFrame(data))
    )
    for vectorizer in (CountVectorizer(), sklearn.feature_extraction.text.CountVectorizer()):
        model = ColumnTransformer([("c", vectorizer, "u")], remainder="passthrough")
        assert np.array_equal(_dense(model.fit_transform(frame(data))), expected)
        assert np.array_equal(_dense(model.transform(frame(data))), expected)


@pytest.mark.parametrize("frame", FRAMES)
def test_d3_other_readers_of_texts_and_files(frame: Any, tmp_path: Any) -> None:
    table = frame({"u": TEXTS, "v": [1.0, 2.0, 3.0, 5.0]})
    parts = [
        ("t", make_pipeline(CountVectorizer(), TfidfTransformer()), ["u"]),
        ("h", HashingVectorizer(n_features=8), "u"),
        ("s", StandardScaler(), ["v"]),
    ]
    model = ColumnTransformer(parts)
    made = _dense(model.fit_transform(table))
    model.save(tmp_path / "m.qed")
    assert np.allclose(_dense(qed.load(tmp_path / "m.qed").transform(table)), made)
    with pytest.raises(InvalidParameter, match="one column of texts"):
        ColumnTransformer([("c", CountVectorizer(), ["u", "v"])]).fit(table)
    with pytest.raises(InvalidData, match="one column of texts"):
        CountVectorizer().fit(table)


@pytest.mark.parametrize(
    "given", [list, tuple, np.array, pd.Series, pl.Series, lambda texts: pa.chunked_array([texts])]
)
def test_d3_a_union_of_vectorizers_reads_texts(given: Any, tmp_path: Any) -> None:
    text = sklearn.feature_extraction.text
    parts = [("w", text.CountVectorizer()), ("c", text.TfidfVectorizer(analyzer="char"))]
    expected = _dense(sklearn.pipeline.FeatureUnion(parts).fit_transform(TEXTS))
    union = FeatureUnion([("w", CountVectorizer()), ("c", TfidfVectorizer(analyzer="char"))])
    assert np.allclose(_dense(union.fit_transform(given(TEXTS))), expected)
    union.save(tmp_path / "u.qed")
    assert np.allclose(_dense(qed.load(tmp_path / "u.qed").transform(given(TEXTS))), expected)
    assert qed.verify(union, TEXTS).distance < 1e-12
    assert len(make_pipeline(union, LogisticRegression()).fit(given(TEXTS), [0, 1, 1, 0]).predict(given(TEXTS))) == 4


def test_d3_a_union_of_texts_and_a_table() -> None:
    lengths = FunctionTransformer(lambda texts: np.array([[len(one)] for one in texts]))
    made = FeatureUnion([("w", CountVectorizer()), ("n", lengths)]).fit_transform(TEXTS)
    assert _dense(made)[:, -1].tolist() == [11, 13, 11, 11]
    with pytest.raises(InvalidData, match="2D"):
        FeatureUnion([("w", CountVectorizer()), ("s", StandardScaler())]).fit(TEXTS)


@pytest.mark.parametrize("values", [["a", "a", "b", "c", "d", "d"], [1.0, 1.0, 2.0, 3.0, 4.0, 4.0]])
def test_d4_rare_categories_come_back_as_infrequent(values: list[Any]) -> None:
    column = np.array([[one] for one in values], dtype=object)
    own, other = OrdinalEncoder(min_frequency=2), sklearn.preprocessing.OrdinalEncoder(min_frequency=2)
    assert np.array_equal(
        own.inverse_transform(own.fit_transform(column)), other.inverse_transform(other.fit_transform(column))
    )


def test_d4_gaps_and_rare_categories_are_told_apart() -> None:
    column = np.array([[1.0], [1.0], [2.0], [np.nan], [3.0], [np.nan]])
    encoder = OrdinalEncoder(min_frequency=2)
    found = encoder.inverse_transform(encoder.fit_transform(column)).ravel().tolist()
    assert found[:3] == [1.0, 1.0, "infrequent_sklearn"]
    assert found[4] == "infrequent_sklearn"
    assert np.isnan(found[3])
    assert np.isnan(found[5])


def test_d5_a_bin_without_rows_moves_to_the_farthest_row() -> None:
    r = np.random.default_rng(0)
    for _ in range(100):
        x = r.normal(size=(int(r.integers(20, 100)), 1)) ** 3
        own = KBinsDiscretizer(3, strategy="kmeans", encode="ordinal").fit(x)
        other = sklearn.preprocessing.KBinsDiscretizer(3, strategy="kmeans", encode="ordinal").fit(x)
        assert np.allclose(own.bin_edges_[0], other.bin_edges_[0], rtol=1e-9)


def test_d5_weights_of_bins_are_repetitions() -> None:
    r = np.random.default_rng(1)
    for _ in range(30):
        x, times = r.normal(size=(40, 1)) ** 3, r.integers(0, 4, 40)
        weighted = KBinsDiscretizer(4, strategy="kmeans").fit(x, sample_weight=times)
        repeated = KBinsDiscretizer(4, strategy="kmeans").fit(np.repeat(x, times, axis=0))
        assert np.allclose(weighted.bin_edges_[0], repeated.bin_edges_[0], rtol=1e-12)
        qed.verify(weighted, x, sample_weight=times)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_d5_periodic_splines_of_a_constant_column_are_numbers(degree: int) -> None:
    options: dict[str, Any] = {"extrapolation": "periodic", "degree": degree}
    X, more = np.array([[2.0, 0.0], [2.0, 1.0]]), np.array([[2.0, 0.3], [5.0, 7.9]])
    own = SplineTransformer(**options).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn divides by the period of zero
        other = sklearn.preprocessing.SplineTransformer(**options).fit(X)
        for rows in (X, more):
            assert np.allclose(own.transform(rows), other.transform(rows))


@pytest.mark.parametrize(
    "curve", ["roc_curve", "precision_recall_curve", "det_curve", "confusion_matrix_at_thresholds"]
)
def test_d6_labels_one_and_two_need_a_positive_label(curve: str) -> None:
    own = getattr(metrics, curve)
    for labels in ([1, 2, 2, 1], [1.0, 2.0, 1.0, 2.0], [1, 3, 3, 1]):
        with pytest.raises(ValueError, match="pos_label is not specified"):
            own(labels, [0.1, 0.4, 0.35, 0.8])
    with pytest.raises(ValueError, match="multiclass"):
        own([1, 2, 3, 1], [0.1, 0.4, 0.35, 0.8])
    assert len(own([1, 2, 2, 1], [0.1, 0.4, 0.35, 0.8], pos_label=2)[0])
    assert len(own([-1, 1, 1, -1], [0.1, 0.4, 0.35, 0.8])[0])
