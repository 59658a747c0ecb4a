"""Impurities and split scores: their values, their laws, and trees that are grown by each."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.core import InvalidData, InvalidParameter
from qed.tree import DecisionTreeClassifier, ExtraTreeClassifier, ExtraTreeRegressor, impurity, split_score

CRITERIA = ("gini", "entropy", "misclassification")


@pytest.mark.covers("TRE-02")
def test_misclassification() -> None:
    assert impurity([0.25, 0.75], "misclassification") == 0.25
    model = DecisionTreeClassifier(criterion="misclassification").fit([[0.0]] * 4, [0, 1, 1, 1])
    assert model.tree_.impurity.tolist() == [0.25]


@pytest.mark.covers("TRE-03")
def test_gini_is_the_chance_that_two_draws_differ() -> None:
    assert impurity([1, 3]) == 0.375
    p = np.array([0.2, 0.3, 0.5])
    assert impurity(p) == pytest.approx(sum(p[a] * p[b] for a in range(3) for b in range(3) if a != b))


@pytest.mark.covers("TRE-04")
def test_entropy_is_in_bits() -> None:
    assert impurity([1, 3], "entropy") == pytest.approx(0.8112781244591328)
    assert impurity([1, 1], "entropy") == 1
    assert impurity([4, 0], "entropy") == 0


@pytest.mark.covers("TRE-05")
@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_split_makes_things_worse(criterion: str) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 20, (2, 500, 4)) + np.eye(4, dtype=int)[rng.integers(0, 4, (2, 500))]
    assert (split_score(left, right, criterion) >= -1e-12).all()


@pytest.mark.covers("TRE-05")
def test_the_score_of_the_entropy_is_mutual_information() -> None:
    left, right = np.array([3.0, 1.0, 2.0]), np.array([0.0, 5.0, 1.0])
    joint = np.stack([left, right]) / 12
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    information = (joint * np.log2(np.where(joint > 0, joint, 1) / apart)).sum()
    assert split_score(left, right, "entropy") == pytest.approx(information)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_first_split_of_a_tree_has_the_best_score(criterion: str) -> None:
    rng = np.random.default_rng(3)
    X, y = np.round(rng.normal(size=(60, 3)), 1), rng.integers(0, 3, 60)
    tree = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y)
    scores = []
    for column in X.T:
        for value in np.unique(column)[:-1]:
            sides = [np.bincount(y[mask], minlength=3) for mask in (column <= value, column > value)]
            scores.append(float(split_score(*sides, criterion)))
    left = tree.tree_.weighted_n_node_samples[1:] @ tree.tree_.impurity[1:] / 60
    assert tree.tree_.impurity[0] - left == pytest.approx(max(scores), abs=1e-12)
    assert qed.verify(tree, X, y).holds


def test_trees_of_drawn_thresholds_are_verified() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    for model, y in ((ExtraTreeClassifier(random_state=0), X[:, 0] > 0), (ExtraTreeRegressor(random_state=0), X[:, 0])):
        model.fit(X, y)
        assert model.splitter == "random"
        assert model.score(X, y) == 1
        assert qed.verify(model, X, y).holds


def test_bad_input_is_explained() -> None:
    with pytest.raises(InvalidData, match="not all zero"):
        impurity([0, 0])
    with pytest.raises(InvalidParameter, match="criterion"):
        impurity([1, 2], "variance")
