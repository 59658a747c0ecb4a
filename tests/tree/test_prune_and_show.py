"""Pruning keeps the best subtree for its price; text and figures say what the tree says."""

from __future__ import annotations

import itertools
import re

import matplotlib as mpl
import numpy as np
import pytest
import sklearn.tree as theirs

import qed
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

mpl.use("agg")
rng = np.random.default_rng(2)
X = rng.standard_normal((60, 3)).astype(np.float32).astype(np.float64)
y = X[:, 0] + np.sign(X[:, 1]) + rng.standard_normal(60)


def subtrees(tree, node=0):
    """All ways to prune below a node: (impurity left, leaves)."""
    own = tree.weighted_n_node_samples[node] * tree.impurity[node] / tree.weighted_n_node_samples[0]
    yield own, 1
    if tree.children_left[node] >= 0:
        for a, b in itertools.product(
            subtrees(tree, tree.children_left[node]), subtrees(tree, tree.children_right[node])
        ):
            yield a[0] + b[0], a[1] + b[1]


def test_no_subtree_is_cheaper_than_the_pruned_one():
    whole = DecisionTreeRegressor(max_leaf_nodes=10).fit(X, y)
    everything = list(subtrees(whole.tree_))
    for alpha in (0.0, 0.01, 0.05, 0.1, 0.3, 1.0, 5.0):
        model = DecisionTreeRegressor(max_leaf_nodes=10, ccp_alpha=alpha).fit(X, y)
        cost = model.certificate_.objective + alpha * model.get_n_leaves()
        costs = np.array([left + alpha * leaves for left, leaves in everything])
        np.testing.assert_allclose(cost, costs.min(), rtol=1e-12)
        fewest = min(leaves for (_, leaves), one in zip(everything, costs, strict=True) if one <= costs.min() + 1e-12)
        assert model.get_n_leaves() == fewest
        assert qed.verify(model, X, y).holds


def test_the_path_is_that_of_scikit_learn():
    for ours, other in (
        (DecisionTreeRegressor(min_samples_leaf=3), theirs.DecisionTreeRegressor(min_samples_leaf=3, random_state=0)),
        (DecisionTreeRegressor(max_leaf_nodes=8), theirs.DecisionTreeRegressor(max_leaf_nodes=8, random_state=0)),
    ):
        path, reference = ours.cost_complexity_pruning_path(X, y), other.cost_complexity_pruning_path(X, y)
        np.testing.assert_allclose(path.ccp_alphas, reference.ccp_alphas, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(path.impurities, reference.impurities, rtol=1e-9)
        assert not hasattr(ours, "tree_")


@pytest.mark.covers("TRE-17")
def test_rules_as_written_predict_as_the_tree_does():
    labels = np.where(y > 0, "high", "low")
    model = DecisionTreeClassifier(max_depth=4).fit(X, labels)
    told = []
    for row in X:
        open_depth = 0  # lines up to this depth have answered yes
        for line in export_text(model, decimals=17).splitlines():
            depth = line.count("|") - 1
            if depth != open_depth:
                continue
            words = line.split("--- ")[1]
            if words.startswith("class: "):
                told.append(words.removeprefix("class: "))
                break
            column, sign, threshold = re.fullmatch(r"feature_(\d) (<=|> ) (.*)", words).groups()
            value = row[int(column)]
            open_depth += value <= float(threshold) if sign == "<=" else value > float(threshold)
    assert told == model.predict(X).tolist()


def test_text_reads_as_that_of_scikit_learn():
    labels = np.digitize(y, [-1.0, 1.0])
    ours = DecisionTreeClassifier(min_samples_leaf=8).fit(X, labels)
    other = theirs.DecisionTreeClassifier(min_samples_leaf=8, random_state=0).fit(X, labels)
    np.testing.assert_allclose(ours.tree_.threshold, other.tree_.threshold)
    for params in (
        {},
        {"max_depth": 1, "spacing": 2},
        {"show_weights": True, "class_names": ["a", "b", "c"], "decimals": 4},
    ):
        assert export_text(ours, **params) == theirs.export_text(other, **params)
    numbers = DecisionTreeRegressor(max_depth=2).fit(X, y)
    reference = theirs.DecisionTreeRegressor(max_depth=2).fit(X, y)
    assert export_text(numbers, feature_names=list("abc")) == theirs.export_text(reference, feature_names=list("abc"))
    with pytest.raises(qed.InvalidParameter, match="feature_names must contain 3"):
        export_text(numbers, feature_names=["a"])
    with pytest.raises(qed.NotFitted):
        export_text(DecisionTreeRegressor())


def test_figures_show_each_node_once():
    import matplotlib.pyplot as plt  # noqa: PLC0415

    model = DecisionTreeClassifier(max_depth=3).fit(X, y > 0)
    notes = plot_tree(
        model, filled=True, rounded=True, node_ids=True, class_names=["low", "high"], feature_names=list("abc")
    )
    assert len(notes) == model.tree_.node_count
    for node, note in zip(range(len(notes)), notes, strict=True):  # drawn in the order of their numbers
        assert f"node #{node}" in note.get_text()
        assert f"samples = {model.tree_.n_node_samples[node]}" in note.get_text()
    assert notes[0].get_text().split("\n")[1].startswith("abc"[model.tree_.feature[0]] + " <= ")
    few = plot_tree(
        DecisionTreeRegressor().fit(X, y), max_depth=1, proportion=True, filled=True, impurity=False, label="none"
    )
    assert len(few) == 7
    assert sum(note.get_text() == "(...)" for note in few) == 4
    assert "100.0%" in few[0].get_text()
    plt.close("all")
