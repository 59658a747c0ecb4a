"""No honest model is refused: a few fits of every class. ``tools/fuzz_honest.py`` goes on for as long as it is told."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from tests.configurations import configurations
from tests.verify.honesty import NO_FIT, refusal

ALL = configurations()
KINDS = sorted({one.kind for one in ALL})
SLOW = ("DecisionTreeRegressor", "MLPClassifier", "MLPRegressor")  # whose fits or checks can take seconds: one each


@pytest.mark.parametrize("kind", KINDS)
def test_honest_models_are_accepted(kind):
    own = [one for one in ALL if one.kind == kind]
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    some = [own[int(k)] for k in rng.permutation(len(own))[: 1 if kind in SLOW else 4]]
    found = [refusal(one, int(rng.integers(1000)), as_given=kind in SLOW) for one in some]
    found.append(refusal(some[0], 3, as_given=True))
    assert [one for one in found if one not in (None, NO_FIT)] == []
    assert None in found  # at least one fit succeeded


def test_a_heavy_row_that_is_almost_certain_is_counted_to_its_last_digit():
    """Weights over 14 orders: the entropy of a chance of 5e-8 was rounded by 1e-20, times a weight of two millions."""
    own = next(
        one
        for one in ALL
        if one.kind == "StackingClassifier" and "final_estimator=LogisticRegression(), cv=2" in one.name
    )
    assert refusal(own, 71004) is None


def test_probabilities_of_several_classes_are_not_taken_from_one():
    """Weights over 14 orders: dual points of heavy rows, almost certain of their label, were balanced to 1e-19 of one."""
    own = [one for one in ALL if one.kind == "LogisticRegression" and "saga" in one.name]
    assert len(own) > 1
    assert [refusal(one, 91007) for one in own] == [None] * len(own)


@pytest.mark.parametrize(
    ("kind", "words", "seed"),
    [
        ("MDS", "metric_mds=False", 684794963323),  # stress of points before they were rounded
        ("LocallyLinearEmbedding", "modified", 684794963321),  # a median that is one of the shares, off by a rounding
        ("SpectralEmbedding", "rbf", 684794963319),  # affinities next to nothing, and rows without any
        ("SpectralEmbedding", "rbf", 684794963365),
        ("SpectralEmbedding", "rbf", 547023096243),  # sparse rows near zero, far from their mean
        ("SpectralEmbedding", "rbf", 547023096289),
        ("SpectralEmbedding", "rbf", 547023096316),
        ("LocallyLinearEmbedding", "ltsa", 547023096362),  # eigenvalues about as far apart as those that tie
        ("SpectralClustering", "n_clusters=3", 684794963370),  # a cut of minus 2e-16
        ("AdaBoostClassifier", "LogisticRegression()", 684794963374),  # a class whose rows have no weight
        ("SoftKMeans", "", 684794963601),  # far rows without weight
        ("KBinsDiscretizer", "n_bins=3", 821667390109),  # a quantile halfway between any two rows of next to no weight
        ("KBinsDiscretizer", "n_bins=[2, 3, 4, 3]", 715591765932),  # quantiles that tie
        ("OrdinalRegressor", "", 579860),  # slopes at the fitted point prove a little less than the fit states
        ("GraphicalLasso", "assume_centered", 684794963484),  # log-determinants of ill-conditioned matrices
    ],
)
def test_fits_that_were_once_refused(kind, words, seed):
    own = [one for one in ALL if one.kind == kind and words in one.name]
    assert own
    found = {refusal(one, seed) for one in own}
    assert None in found
    assert found <= {None, NO_FIT}
