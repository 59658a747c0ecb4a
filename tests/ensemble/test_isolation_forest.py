"""Random trees without targets: agreement with scikit-learn, laws, certificates, and changed models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from scipy.sparse import csr_matrix

import qed
from qed.core import CertificateError, InvalidParameter
from qed.ensemble import IsolationForest, RandomForestClassifier, RandomTreesEmbedding
from qed.verify._seeds import mixed, stream, uniform


def table(n: int = 400, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:8] = 5 + X[:8]
    return X


def test_scores_are_those_of_scikit_learn_on_average() -> None:
    X = table()
    ours = np.mean([IsolationForest(random_state=seed).fit(X).score_samples(X) for seed in range(5)], axis=0)
    theirs = [sklearn.ensemble.IsolationForest(random_state=seed).fit(X).score_samples(X) for seed in range(5)]
    assert np.corrcoef(ours, np.mean(theirs, axis=0))[0, 1] > 0.98
    assert np.abs(ours - np.mean(theirs, axis=0)).max() < 0.05
    assert set(np.argsort(ours)[:8]) == set(range(8))


def test_a_path_length_is_the_depth_and_the_mean_depth_below() -> None:
    X = table(50)
    model = IsolationForest(n_estimators=7, max_samples=20, random_state=0).fit(X)
    path, starts = model.trees_.decision_path(X)
    leaves = model.trees_.apply(X) + starts[:-1]
    total = np.asarray(path.sum(axis=1)).ravel() - 7.0
    for t in range(7):
        n = model.trees_.weight[model.trees_.leaf_numbers[leaves[:, t]]].astype(float)
        harmonic = np.log(np.maximum(n - 1, 1)) + np.euler_gamma
        total += np.where(n > 2, 2 * harmonic - 2 * (n - 1) / n, n == 2)
    usual = 2 * (np.log(19) + np.euler_gamma) - 2 * 19 / 20
    np.testing.assert_allclose(model.score_samples(X), -(2 ** -(total / 7 / usual)), rtol=1e-12)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"contamination": 0.1},
        {"max_features": 2, "bootstrap": True},
        {"max_samples": 0.9},
        {"max_samples": 30},
        {"max_samples": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", ["none", "counts", "real"])
def test_honest_models_are_accepted_and_changed_ones_refused(params: dict[str, Any], weights: str) -> None:
    X = table(120)
    rng = np.random.default_rng(1)
    s = {"none": None, "counts": rng.integers(0, 3, 120).astype(float), "real": rng.random(120)}[weights]

    def fitted() -> Any:
        return IsolationForest(n_estimators=5, random_state=0, **params).fit(X, sample_weight=s)

    assert qed.verify(fitted(), X, None, s)
    for change in ("value", "threshold", "offset", "seed", "rows"):
        model = fitted()
        if change == "value":
            model.trees_.value[1] += 0.01
        elif change == "threshold":
            if not len(model.trees_.threshold):
                continue
            model.trees_.threshold[0] += 1e-6
        elif change == "offset":
            model.offset_ += 1e-3
        elif change == "rows":
            model.max_samples_ += 1
        elif params.get("max_samples") == 1:
            continue
        else:
            model.seed_ += 1
        with pytest.raises(CertificateError):
            qed.verify(model, X, None, s)


def test_the_contamination_is_the_share_of_outliers() -> None:
    X = table(1000)
    for share in (0.01, 0.25):
        assert np.mean(IsolationForest(contamination=share, random_state=0).fit_predict(X) < 0) == pytest.approx(share)


def test_whole_weights_are_repetitions() -> None:
    X = table(60)
    s = np.random.default_rng(0).integers(0, 4, 60)
    weighted = IsolationForest(random_state=0).fit(X, sample_weight=s)
    repeated = IsolationForest(random_state=0).fit(np.repeat(X, s, axis=0))
    assert np.array_equal(weighted.score_samples(X), repeated.score_samples(X))


def test_trees_that_are_added_are_those_of_one_fit() -> None:
    X = table()
    for kind in (IsolationForest, RandomTreesEmbedding):
        whole = kind(n_estimators=6, random_state=1).fit(X)
        parts = kind(n_estimators=2, random_state=1, warm_start=True).fit(X)
        parts.set_params(n_estimators=6).fit(X)
        assert np.array_equal(whole.trees_.threshold, parts.trees_.threshold)
        assert np.array_equal(whole.trees_.value, parts.trees_.value)
        with pytest.raises(InvalidParameter, match="n_estimators=3 must be larger"):
            parts.set_params(n_estimators=3).fit(X)


def test_a_row_is_in_one_leaf_of_each_tree() -> None:
    X = table()
    model = RandomTreesEmbedding(n_estimators=9, max_depth=4, random_state=0).fit(X)
    coded = model.transform(X)
    assert coded.shape == (400, model.trees_.n_leaves)
    assert len(model.get_feature_names_out()) == model.trees_.n_leaves
    assert (coded.sum(axis=1) == 9).all()
    assert (np.asarray(coded.sum(axis=0)).ravel() == model.trees_.weight).all()
    dense = RandomTreesEmbedding(n_estimators=9, max_depth=4, random_state=0, sparse_output=False).fit_transform(X)
    assert np.array_equal(coded.toarray(), dense)
    sparse = RandomTreesEmbedding(n_estimators=9, max_depth=4, random_state=0).fit_transform(csr_matrix(X))
    assert np.array_equal(sparse.toarray(), dense)
    assert qed.verify(model, X)
    model.trees_.threshold[3] += 1e-6
    with pytest.raises(CertificateError):
        qed.verify(model, X)


def cut_at_the_roots(model: Any, value: float, weight: float) -> None:
    """Replace every tree by a leaf that holds all its rows."""
    many = len(model.trees_)
    model.trees_ = replace(
        model.trees_,
        sizes=np.ones(many, dtype=np.int64),
        feature=np.full(many, -1, dtype=model.trees_.feature.dtype),
        threshold=np.zeros(0),
        missing_left=np.zeros(0, dtype=np.uint8),
        value=np.full((many, 1), value),
        weight=np.full(many, weight),
    )


def test_trees_that_end_before_they_have_to_are_refused() -> None:
    X = table()
    forest = IsolationForest(n_estimators=20, random_state=0).fit(X)
    embedding = RandomTreesEmbedding(n_estimators=20, random_state=0).fit(X)
    assert qed.verify(forest, X)
    assert qed.verify(embedding, X)
    cut_at_the_roots(forest, 2 * np.log(255) + 2 * np.euler_gamma - 2 + 2 / 256, 256.0)
    cut_at_the_roots(embedding, 0.0, 400.0)
    for model in (forest, embedding):
        with pytest.raises(CertificateError, match="had to be split"):
            qed.verify(model, X)


def test_nodes_ask_about_the_columns_that_were_drawn_for_them() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(60, 1)), 2, axis=1)  # columns that tell the same
    model = RandomTreesEmbedding(1, max_depth=1, random_state=0).fit(X)
    assert qed.verify(model, X)
    other = 1 - int(model.trees_.feature[0])
    root = mixed(stream(np.uint64(model.seed_), np.int64(0)))
    share = float(uniform(stream(root, np.int64(other))))
    threshold = X.min() * (1 - share) + X.max() * share  # as if the other column had been drawn
    below = int((X[:, 0] <= threshold).sum())
    model.trees_ = replace(
        model.trees_,
        feature=np.array([other, -1, -1], dtype=model.trees_.feature.dtype),
        threshold=np.array([threshold]),
        missing_left=np.packbits([2 * below > 60]),
        weight=np.array([below, 60 - below], dtype=np.float64),
    )
    with pytest.raises(CertificateError, match="not drawn"):
        qed.verify(model, X)


@pytest.mark.parametrize(
    "params",
    [{"max_leaf_nodes": 5}, {"min_samples_leaf": 9}, {"min_weight_fraction_leaf": 0.1}, {"min_samples_split": 30}],
    ids=str,
)
def test_limits_and_missing_values_leave_honest_embeddings_accepted(params: dict[str, Any]) -> None:
    X = np.round(table(150), 1)
    X[::7, 0] = np.nan
    s = np.random.default_rng(2).random(150)
    assert qed.verify(RandomTreesEmbedding(10, max_depth=None, random_state=0, **params).fit(X, None, s), X, None, s)
    model = RandomTreesEmbedding(10, max_depth=None, random_state=0).fit(X, None, s)
    assert qed.verify(model, X, None, s)
    model.set_params(**params)
    with pytest.raises(CertificateError):
        qed.verify(model, X, None, s)


def test_a_forest_whose_bags_are_smaller_than_its_leaves_may_be_is_accepted() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    model = RandomForestClassifier(n_estimators=9, min_samples_leaf=2, random_state=0).fit(X, y)
    assert qed.verify(model, X, y)
