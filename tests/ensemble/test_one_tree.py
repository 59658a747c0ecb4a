"""Trees of ensembles one by one: what they predict, their arrays, and how they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.tree import DecisionTreeClassifier, export_graphviz, export_text, impurity, plot_tree


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = np.nan_to_num(X)
    return X, filled[:, 0] + filled[:, 1] ** 2, np.where(filled[:, 0] + filled[:, 1] ** 2 > 0.5, "high", "low")


def test_a_forest_is_the_mean_of_its_trees(table):
    X, y, labels = table
    for model in (RandomForestRegressor(5, random_state=0), ExtraTreesRegressor(5, random_state=0)):
        model.fit(X, y)
        alone = [one.predict(X) for one in model.estimators_]
        np.testing.assert_allclose(np.mean(alone, axis=0), model.predict(X), rtol=1e-12)
        leaves = np.column_stack([one.apply(X) for one in model.estimators_])
        assert np.array_equal(leaves, model.apply(X))
    forest = RandomForestClassifier(5, random_state=0).fit(X, labels)
    shares = [one.tree_.predict(X) for one in forest.estimators_]
    np.testing.assert_allclose(np.mean(shares, axis=0), forest.predict_proba(X), rtol=1e-12)
    one = forest.estimators_[3]
    assert set(one.predict(X)) <= {"high", "low"}
    assert one.get_depth() == one.tree_.max_depth
    assert one.get_n_leaves() == one.tree_.n_leaves
    paths, _ = forest.decision_path(X)
    first = int(forest.trees_.starts[3])
    own = paths[:, first : first + one.tree_.node_count].toarray()
    assert np.array_equal(own, one.decision_path(X).toarray())


def leaf_by_hand(one, row):
    """The node that a row reaches, one step at a time."""
    node = 0
    while one.children_left[node] >= 0:
        value = row[one.feature[node]]
        is_left = one.missing_go_to_left[node] if np.isnan(value) else value <= one.threshold[node]
        node = (one.children_left if is_left else one.children_right)[node]
    return node


@pytest.mark.parametrize("depth", [1, 2, 7, 8, 9, None])
def test_rows_end_where_single_steps_lead_at_any_depth(table, depth):
    X, y, _labels = table
    forest = RandomForestRegressor(6, max_depth=depth, random_state=0).fit(X, y)
    found = forest.apply(X)
    for number, one in enumerate(forest.estimators_):
        assert found[:, number].tolist() == [leaf_by_hand(one.tree_, row) for row in X]
    flat = RandomForestRegressor(3, max_depth=depth, random_state=0).fit(X, np.zeros(len(X)))
    assert not flat.apply(X).any()
    assert not flat.predict(X).any()


def test_a_boosted_sum_is_the_sum_of_its_trees(table):
    X, y, _labels = table
    model = HistGradientBoostingRegressor(max_iter=7, max_leaf_nodes=5).fit(X, y)
    assert model.estimators_.shape == (7, 1)
    total = model.baseline_[0] + sum(one.predict(X) for one in model.estimators_[:, 0])
    np.testing.assert_allclose(total, model.predict(X), rtol=1e-12)
    filled = np.nan_to_num(X)
    three = GradientBoostingClassifier(n_estimators=4).fit(filled, np.digitize(y, [0.0, 1.0]))
    assert three.estimators_.shape == (4, 3)
    scores = three.baseline_ + np.column_stack([sum(e.predict(filled) for e in own) for own in three.estimators_.T])
    np.testing.assert_allclose(scores, three.decision_function(filled), rtol=1e-10, atol=1e-12)


def test_a_whole_forest_of_one_tree_is_the_tree(table):
    # without drawing rows or columns, and with fewer rows than bins matter for, the tree is the greedy one
    X, _, labels = table
    X, labels = X[:60], labels[:60]
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None).fit(X, labels)
    own, tree = forest.estimators_[0].tree_, DecisionTreeClassifier().fit(X, labels).tree_
    for name in ("children_left", "children_right", "feature", "missing_go_to_left", "weighted_n_node_samples"):
        assert np.array_equal(getattr(own, name), getattr(tree, name)), name
    for name in ("threshold", "value", "impurity"):
        np.testing.assert_allclose(getattr(own, name), getattr(tree, name), atol=1e-12)


def test_what_is_not_known_is_left_out_of_figures(table):
    X, y, labels = table
    forest = RandomForestClassifier(2, max_depth=2, criterion="entropy", random_state=0).fit(X, labels)
    one = forest.estimators_[0]
    np.testing.assert_allclose(one.tree_.impurity, impurity(one.tree_.value[:, 0], "entropy"), atol=1e-12)
    assert len(plot_tree(one, filled=True, class_names=["high", "low"])) == one.tree_.node_count
    assert "weight = 300" in export_graphviz(one)
    assert "impurity" in export_graphviz(one)
    assert "class: high" in export_text(one)
    numbers = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, y).estimators_[0]
    text = export_graphviz(numbers)
    assert "weight" in text
    assert "impurity" not in text
    assert "samples" not in text
    isolated = IsolationForest(n_estimators=2, random_state=0).fit(X).estimators_[1]
    assert len(plot_tree(isolated, max_depth=1)) >= 3


def test_sets_of_categories(table):
    pd = pytest.importorskip("pandas")
    X, _, labels = table
    frame = pd.DataFrame({"kind": np.array(["x", "y", "z"])[np.arange(300) % 3], "size": X[:, 1]})
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(frame, labels)
    shares = [one.tree_.predict(one._ensemble._new_data(frame)) for one in forest.estimators_]
    np.testing.assert_allclose(np.mean(shares, axis=0), forest.predict_proba(frame), rtol=1e-12)
    assert any("kind in {" in export_text(one) for one in forest.estimators_)


def test_a_whole_ensemble_is_refused_in_words(table):
    X, _, labels = table
    forest = RandomForestClassifier(2, random_state=0).fit(X, labels)
    for show in (plot_tree, export_graphviz, export_text):
        with pytest.raises(qed.InvalidParameter, match=r"model\.estimators_\[0\]"):
            show(forest)
        with pytest.raises(qed.InvalidParameter, match="got int"):
            show(3)
    with pytest.raises(qed.NotFitted):
        _ = RandomForestClassifier().estimators_


@pytest.mark.parametrize("n_trees", [1, 3, 20])
def test_rows_alone_and_together_get_the_same_bits(table, n_trees):
    # few rows go down several trees at once, many one tree after the other; a sum by hand goes tree by tree
    X, _, labels = table
    forest = RandomForestClassifier(n_trees, random_state=0).fit(X, labels)
    together = forest.predict_proba(X)
    for step in (1, 7, 33):
        parts = [forest.predict_proba(X[i : i + step]) for i in range(0, 100, step)]
        assert np.array_equal(np.concatenate(parts)[:100], together[:100])
    assert np.array_equal(forest.predict_proba(np.asfortranarray(X)), together)
    trees, right = forest.trees_, forest.trees_.children_right
    sums = np.zeros_like(together)
    for first in trees.starts[:-1].tolist():
        for i, row in enumerate(X):
            node = first
            while trees.feature[node] >= 0:
                value, inner = row[trees.feature[node]], trees.inner_numbers[node]
                is_left = trees.goes_left[inner] if np.isnan(value) else value <= trees.threshold[inner]
                node = node + 1 if is_left else right[node]
            sums[i] += trees.shares[trees.leaf_numbers[node]]
    assert np.array_equal(sums * (1 / n_trees), together)
