"""How sure leaves are, what labels have to do with splits, and trees in the language of Graphviz."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import sklearn.tree as theirs

import qed
from qed.core._persistence import dumps
from qed.neighbors import NearestNeighbors
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, export_graphviz

rng = np.random.default_rng(3)
X = rng.standard_normal((200, 3)).astype(np.float32).astype(np.float64)
y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(200)


@pytest.mark.covers("TRE-18")
def test_leaves_say_how_many_rows_they_stand_on():
    labels = np.digitize(y, [-0.5, 0.5])
    model = DecisionTreeClassifier(max_depth=4).fit(X, labels)
    found = model.leaf_statistics()
    at = model.apply(X)
    for leaf, count, value, error in zip(*found, strict=True):
        own = labels[at == leaf]
        shares = np.array([(own == k).mean() for k in range(3)])
        assert count == len(own)
        np.testing.assert_allclose(value, shares)
        np.testing.assert_allclose(error, np.sqrt(shares * (1 - shares) / len(own)), atol=1e-15)
    assert found.n_samples.sum() == len(X)
    path, counts = model.decision_path(X).tocsr(), model.tree_.n_node_samples
    for row in range(0, 200, 20):  # nodes of a path are numbered from the root on
        assert np.all(np.diff(counts[np.sort(path[[row]].indices)]) <= 0)
    numbers = DecisionTreeRegressor(min_samples_leaf=20).fit(X, y)
    for leaf, count, value, error in zip(*numbers.leaf_statistics(), strict=True):
        own = y[numbers.apply(X) == leaf]
        np.testing.assert_allclose([count, value[0], error[0]], [len(own), own.mean(), own.std() / len(own) ** 0.5])
    with pytest.raises(qed.NotSupported, match="Standard errors"):
        DecisionTreeRegressor(criterion="poisson").fit(X, np.abs(y)).leaf_statistics()


@pytest.mark.covers("TRE-18")
def test_deep_trees_learn_noise_by_heart():
    some = np.random.default_rng(4)
    n, repeats = 400, 20
    gaps, errors = {None: [], 2: []}, []
    for _ in range(repeats):
        table, noise = some.standard_normal((n, 3)), some.integers(0, 2, n)
        new, truth = some.standard_normal((n, 3)), some.integers(0, 2, n)
        for depth, found in gaps.items():
            model = DecisionTreeClassifier(max_depth=depth).fit(table, noise)
            trained, held = 1 - model.score(table, noise), 1 - model.score(new, truth)
            found.append(held - trained)
            if depth is None:
                assert trained == 0
                errors.append(held)
    # labels are coins of their own: errors on 8000 new rows are a half, within eight standard errors
    assert abs(np.mean(errors) - 0.5) < 8 * 0.5 / np.sqrt(n * repeats)
    assert np.mean(gaps[2]) < 0.5 * np.mean(gaps[None])


@pytest.mark.covers("TRE-16")
def test_labels_move_the_splits_of_a_tree_and_not_those_of_a_k_d_tree():
    first, second = X[:, 0] > 0, X[:, 2] > 0.5
    trees = [DecisionTreeClassifier(max_depth=2).fit(X, labels) for labels in (first, second)]
    assert trees[0].tree_.feature[0] == 0
    assert trees[1].tree_.feature[0] == 2
    indexes = [NearestNeighbors(algorithm="kd_tree").fit(X, labels) for labels in (first, second)]
    assert dumps(indexes[0]) == dumps(indexes[1])
    np.testing.assert_array_equal(*(index.kneighbors(X, return_distance=False) for index in indexes))


def edges_of(text):
    return {(int(a), int(b)) for a, b in re.findall(r"^(\d+) -> (\d+)", text, flags=re.MULTILINE)}


@pytest.mark.covers("TRE-17")
def test_graphs_have_the_nodes_and_rules_of_the_tree():
    model = DecisionTreeClassifier(max_depth=4).fit(X, y > 0)
    text = export_graphviz(model, precision=17, node_ids=True, class_names=["low", "high"])
    nodes = dict(re.findall(r'^(\d+) \[label="(.*)"\] ;$', text, flags=re.MULTILINE))
    children = {}
    for above, below in sorted(edges_of(text)):
        children.setdefault(above, []).append(below)  # the left one has the smaller number
    told = []
    for row in X:
        node = 0
        while node in children:
            column, threshold = re.search(r"x\[(\d)\] <= ([^\\]+)", nodes[str(node)]).groups()
            node = children[node][0 if row[int(column)] <= float(threshold) else 1]
        told.append(re.search(r"class = (\w+)", nodes[str(node)])[1] == "high")
    assert told == model.predict(X).tolist()


def test_graphs_are_those_of_scikit_learn_with_other_colours():
    labels = np.digitize(y, [-1.0, 1.0])
    ours = DecisionTreeClassifier(min_samples_leaf=8).fit(X, labels)
    other = theirs.DecisionTreeClassifier(min_samples_leaf=8, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(ours.tree_.children_left, other.tree_.children_left)
    for params in (
        {},
        {"max_depth": 1},
        {"rotate": True, "rounded": True, "leaves_parallel": True, "filled": True},
        {"special_characters": True, "feature_names": list("abc"), "class_names": list("xyz"), "impurity": False},
    ):
        mine, reference = export_graphviz(ours, **params), theirs.export_graphviz(other, out_file=None, **params)
        assert edges_of(mine) == edges_of(reference)
        for word in ("rankdir", "rank=same", "style=", "headlabel", "&le;", "(...)", "fillcolor"):
            assert (word in mine) == (word in reference), word
    kept = io.StringIO()
    assert export_graphviz(ours, kept) == kept.getvalue()
    assert "(...)" in export_graphviz(ours, max_depth=0)
    nasty = export_graphviz(ours, feature_names=['a" ; b', "\\", "<c>"], special_characters=True)
    assert '"' not in re.sub(r'"[^"]*"', "", nasty)
    drawn = ExtraTreeClassifier(random_state=0).fit(X, labels)
    assert len(edges_of(export_graphviz(drawn))) == drawn.tree_.node_count - 1
    with pytest.raises(qed.InvalidParameter, match="label must be"):
        export_graphviz(ours, label="some")
    with pytest.raises(qed.InvalidParameter, match="precision"):
        export_graphviz(ours, precision=-1)


def test_graphs_are_written_to_files(tmp_path):
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    text = export_graphviz(model, tmp_path / "tree.dot", filled=True)
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8") == text
    assert text.count("fillcolor") == model.tree_.node_count
