"""Discounted gains of rankings and distances between pairs of rows, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as theirs
import sklearn.metrics.pairwise as their_pairs

from qed import metrics as ours
from qed.core import InvalidData, InvalidParameter
from qed.metrics import pairwise


@pytest.mark.parametrize("options", [{}, {"k": 3}, {"ignore_ties": True}, {"sample_weight": [1.0, 2.0, 0.5, 3.0]}])
@pytest.mark.parametrize("ties", [False, True])
def test_gains_agree_with_scikit_learn(options, ties):
    rng = np.random.default_rng(0)
    gains, scores = rng.integers(0, 4, (4, 7)), rng.normal(size=(4, 7))
    if ties and "ignore_ties" not in options:
        scores = np.round(scores)
    for name in ("dcg_score", "ndcg_score"):
        found, known = (getattr(kind, name)(gains, scores, **options) for kind in (ours, theirs))
        assert found == pytest.approx(known, rel=1e-12)
    assert ours.dcg_score(gains, scores, log_base=3, k=2) == pytest.approx(
        theirs.dcg_score(gains, scores, log_base=3, k=2), rel=1e-12
    )


def test_the_best_ranking_scores_one_and_equal_scores_do_not_depend_on_the_order():
    rng = np.random.default_rng(1)
    gains = rng.integers(0, 5, (6, 8)) + 1
    assert ours.ndcg_score(gains, gains + 0.01 * rng.random(gains.shape)) == pytest.approx(1.0)
    place = rng.permutation(8)
    assert ours.ndcg_score(gains, np.ones((6, 8))) == pytest.approx(ours.ndcg_score(gains[:, place], np.ones((6, 8))))


def test_what_is_no_ranking_is_refused():
    with pytest.raises(InvalidData, match="one shape"):
        ours.ndcg_score([1, 2], [1, 2])
    with pytest.raises(InvalidData, match="negative"):
        ours.ndcg_score([[-1, 2]], [[1, 2]])
    with pytest.raises(InvalidParameter, match="k must be"):
        ours.dcg_score([[1, 2]], [[1, 2]], k=0)


@pytest.mark.parametrize(
    "metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "cityblock", "l1", "l2"]
)
def test_distances_agree_with_scikit_learn(metric):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(20, 5))
    for pair in ((X, Y), (X, None)):
        found, known = ours.pairwise_distances(*pair, metric=metric), theirs.pairwise_distances(*pair, metric=metric)
        np.testing.assert_allclose(found, known, atol=1e-7 if pair[1] is None else 1e-12)
    if metric not in ("chebyshev",):
        np.testing.assert_allclose(
            ours.pairwise_distances(sp.csr_array(X), metric=metric),
            ours.pairwise_distances(X, metric=metric),
            atol=1e-12,
        )


def test_near_rows_far_from_zero_keep_their_digits():
    X = 1e8 + np.array([[0.0], [1e-3], [1.0]])
    exact = np.abs(X - X.T)
    np.testing.assert_allclose(ours.pairwise_distances(X), exact, rtol=1e-9)


def test_other_metrics():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))
    np.testing.assert_allclose(
        ours.pairwise_distances(X, metric="minkowski", p=3),
        theirs.pairwise_distances(X, metric="minkowski", p=3),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        ours.pairwise_distances(X, metric=lambda a, b: abs(a - b).sum()), ours.pairwise_distances(X, metric="l1")
    )
    np.testing.assert_allclose(pairwise.cosine_similarity(X), their_pairs.cosine_similarity(X), atol=1e-12)
    with pytest.raises(InvalidParameter, match="Valid metrics"):
        ours.pairwise_distances(X, metric="taxi")
    with pytest.raises(InvalidData, match="Incompatible dimension"):
        ours.pairwise_distances(X, X[:, :2])
