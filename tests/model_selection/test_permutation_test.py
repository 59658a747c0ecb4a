"""The permutation test: the scores and permutations of scikit-learn."""

import numpy as np
import pytest
import sklearn.model_selection as theirs
import sklearn.utils.class_weight as their_weights
from sklearn.datasets import load_iris

import qed.model_selection as ours
from qed.linear_model import Ridge
from qed.naive_bayes import GaussianNB
from qed.utils import Bunch
from qed.utils.class_weight import compute_class_weight, compute_sample_weight

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("groups", [None, np.arange(150) % 5])
def test_permutations_are_those_of_scikit_learn(groups):
    options = {
        "n_permutations": 7,
        "random_state": 3,
        "groups": groups,
        "cv": theirs.GroupKFold(3) if groups is not None else 3,
    }
    mine = ours.permutation_test_score(GaussianNB(), X, Y, **options)
    his = theirs.permutation_test_score(GaussianNB(), X, Y, **options)
    assert mine[0] == his[0]
    np.testing.assert_array_equal(mine[1], his[1])
    assert mine[2] == his[2]


def test_noise_is_not_significant_and_threads_change_nothing():
    rng = np.random.default_rng(0)
    rows, target = rng.normal(size=(60, 3)), rng.normal(size=60)
    one = ours.permutation_test_score(Ridge(), rows, target, n_permutations=30)
    two = ours.permutation_test_score(Ridge(), rows, target, n_permutations=30, n_jobs=2)
    assert one[2] > 0.05
    np.testing.assert_array_equal(one[1], two[1])
    with pytest.raises(ValueError, match="n_permutations must be"):
        ours.permutation_test_score(Ridge(), rows, target, n_permutations=0)


def test_weights_of_classes():
    y = np.array(["a", "b", "b", "b", "c"])
    for given in ("balanced", {"a": 2.0}, None):
        np.testing.assert_allclose(
            compute_class_weight(given, classes=np.unique(y), y=y),
            their_weights.compute_class_weight(given, classes=np.unique(y), y=y),
        )
        np.testing.assert_allclose(compute_sample_weight(given, y), their_weights.compute_sample_weight(given, y))
    with pytest.raises(ValueError, match="should include all valid labels"):
        compute_class_weight("balanced", classes=["a"], y=y)
    with pytest.raises(ValueError, match="without rows"):
        compute_class_weight("balanced", classes=["a", "b", "c", "d"], y=y)


def test_a_dictionary_with_attributes():
    both = Bunch(a=1)
    both.b = 2
    assert both == {"a": 1, "b": 2}
    assert dir(both) == ["a", "b"]
    with pytest.raises(AttributeError, match="it has a, b"):
        both.c  # noqa: B018
