"""With a whole number as seed, generators draw the numbers that scikit-learn draws, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.datasets as theirs

import qed.datasets as ours

CALLS = [
    ("make_classification", (), {}),
    ("make_classification", (90, 12), {"n_informative": 5, "n_repeated": 2, "n_classes": 3, "weights": [0.6, 0.1]}),
    (
        "make_classification",
        (200, 40),
        {"n_informative": 35, "n_clusters_per_class": 3, "flip_y": 0.2, "hypercube": False},
    ),
    ("make_classification", (80, 10), {"n_informative": 7, "shift": None, "scale": None, "class_sep": 0.5}),
    ("make_classification", (50, 4), {"n_redundant": 0, "shuffle": False, "flip_y": 0}),
    ("make_classification", (1000, 20), {"n_informative": 20, "n_redundant": 0, "n_classes": 4}),
    ("make_regression", (), {}),
    ("make_regression", (70, 9), {"n_targets": 3, "noise": 2.0, "bias": 5.0, "coef": True}),
    ("make_regression", (70, 9), {"effective_rank": 4, "noise": 0.5, "coef": True, "tail_strength": 0.1}),
    ("make_regression", (30, 5), {"shuffle": False, "n_informative": 2}),
    ("make_blobs", (), {}),
    ("make_blobs", (101, 3), {"centers": 4, "cluster_std": [1.0, 2.0, 0.5, 3.0], "return_centers": True}),
    ("make_blobs", ([3, 9, 4],), {"centers": [[0.0, 1.0], [5.0, 5.0], [-3.0, 2.0]], "shuffle": False}),
    ("make_moons", (), {}),
    ("make_moons", (151,), {"noise": 0.2}),
    ("make_moons", ((30, 50),), {"shuffle": False, "noise": 0.1}),
    ("make_circles", (), {}),
    ("make_circles", ((40, 31),), {"noise": 0.05, "factor": 0.3}),
    ("make_friedman1", (60, 7), {"noise": 1.0}),
    ("make_friedman2", (60,), {"noise": 1.0}),
    ("make_friedman3", (60,), {"noise": 0.1}),
    ("make_swiss_roll", (60,), {}),
    ("make_swiss_roll", (60,), {"noise": 0.5, "hole": True}),
    ("make_s_curve", (60,), {"noise": 0.5}),
    ("make_multilabel_classification", (), {}),
    ("make_multilabel_classification", (60, 9), {"n_classes": 12, "n_labels": 4, "allow_unlabeled": False}),
    ("make_multilabel_classification", (30,), {"return_distributions": True, "n_labels": 1}),
    ("make_low_rank_matrix", (40, 15), {"effective_rank": 3}),
    ("make_sparse_coded_signal", (7,), {"n_components": 9, "n_features": 5, "n_nonzero_coefs": 3}),
    ("make_spd_matrix", (6,), {}),
    ("make_gaussian_quantiles", (), {"n_samples": 101, "n_features": 3, "mean": [1.0, 2.0, 3.0], "cov": 2.0}),
    ("make_gaussian_quantiles", (), {"shuffle": False, "n_classes": 4}),
    ("make_hastie_10_2", (500,), {}),
    ("make_biclusters", ((30, 20), 4), {"noise": 3.0}),
    ("make_biclusters", ((30, 20), 3), {"shuffle": False, "minval": 1, "maxval": 2}),
    ("make_checkerboard", ((30, 20), (4, 3)), {"noise": 3.0}),
    ("make_checkerboard", ((12, 9), 2), {"shuffle": False}),
    ("make_sparse_uncorrelated", (50, 6), {}),
    ("make_sparse_spd_matrix", (12,), {"alpha": 0.7}),
    ("make_sparse_spd_matrix", (9,), {"alpha": 0.5, "norm_diag": True}),
]


@pytest.mark.parametrize(("name", "args", "options"), CALLS, ids=[f"{name}-{k}" for k, (name, *_) in enumerate(CALLS)])
@pytest.mark.parametrize("seed", [0, 42])
def test_the_numbers_are_scikit_learns(name, args, options, seed):
    mine = getattr(ours, name)(*args, random_state=seed, **options)
    his = getattr(theirs, name)(*args, random_state=seed, **options)
    mine, his = ((one,) if isinstance(one, np.ndarray) else tuple(one) for one in (mine, his))
    assert len(mine) == len(his)
    for one, other in zip(mine, his, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_other_sources_of_numbers():
    his = theirs.make_blobs(20, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(ours.make_blobs(20, random_state=np.random.RandomState(3))[0], his[0])
    for name, args, options in CALLS:
        one, other = (getattr(ours, name)(*args, random_state=np.random.default_rng(1), **options) for _ in range(2))
        first, second = (made if isinstance(made, np.ndarray) else made[0] for made in (one, other))
        np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="random_state must be"):
        ours.make_blobs(random_state="a")
    with pytest.raises(ValueError, match=r"from 0 to 2\*\*32 - 1"):
        ours.make_moons(random_state=-1)


def test_topics_in_other_forms():
    dense, table = ours.make_multilabel_classification(20, random_state=0)
    sparse, topics = ours.make_multilabel_classification(20, random_state=0, sparse=True, return_indicator=False)
    np.testing.assert_array_equal(sparse.toarray(), dense)
    assert [sorted(one) for one in topics] == [np.flatnonzero(row).tolist() for row in table]
    with pytest.raises(ValueError, match="return_indicator must be"):
        ours.make_multilabel_classification(return_indicator="maybe")
