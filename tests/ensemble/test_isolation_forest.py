"""Random trees without targets: agreement with scikit-learn, laws, certificates, and changed models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from scipy.sparse import csr_matrix

import qed
from qed.core import CertificateError, InvalidParameter
from qed.ensemble import IsolationForest, RandomTreesEmbedding


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
