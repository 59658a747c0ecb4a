"""Trees with a branch for each value of an attribute: textbook numbers, paths, unseen values, and changed models."""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np
import pytest

import qed
from qed.tree import MultiwayTreeClassifier, export_graphviz, export_text, impurity, plot_tree

# days on which tennis is played: outlook, temperature, humidity, wind
DAYS = """sunny hot high weak no|sunny hot high strong no|overcast hot high weak yes|rain mild high weak yes
rain cool normal weak yes|rain cool normal strong no|overcast cool normal strong yes|sunny mild high weak no
sunny cool normal weak yes|rain mild normal weak yes|sunny mild normal strong yes|overcast mild high strong yes
overcast hot normal weak yes|rain mild high strong no"""
TABLE = np.array([day.split() for day in DAYS.replace("\n", "|").split("|")])
X, y = TABLE[:, :4], TABLE[:, 4]
rng = np.random.default_rng(6)


def gain_of(column, labels, s, criterion):
    """The gain of a split and the entropy of the column, by definition."""

    def weights(rows):
        return [s[rows & (labels == k)].sum() for k in np.unique(labels)]

    share = {v: s[column == v].sum() / s.sum() for v in np.unique(column)}
    left = sum(part * float(impurity(weights(column == v), criterion)) for v, part in share.items())
    whole = float(impurity(weights(np.ones(len(column), dtype=bool)), criterion))
    return whole - left, -sum(part * np.log2(part) for part in share.values())


@pytest.mark.covers("TRE-08")
def test_the_days_of_the_textbook():
    model = MultiwayTreeClassifier().fit(X, y)
    assert model.tree_.feature[0] == 0  # gains 0.247, 0.029, 0.152 and 0.048 bits
    np.testing.assert_allclose(gain_of(X[:, 0], y, np.ones(14), "entropy")[0], 0.2467, atol=1e-4)
    assert model.predict(X).tolist() == y.tolist()
    assert model.get_n_leaves() == 5
    text = export_text(model, feature_names=["outlook", "temperature", "humidity", "wind"])
    assert text.splitlines()[:3] == ["|--- outlook = overcast", "|   |--- class: yes", "|--- outlook = rain"]
    assert "|   |--- wind = strong" in text
    assert qed.verify(model, X, y).holds
    assert model.certificate_.gap < 1e-9


@pytest.mark.covers("TRE-08")
@pytest.mark.parametrize("criterion", ["entropy", "gain_ratio", "gini"])
def test_children_part_the_values_and_no_column_is_asked_twice(criterion):
    for trial in range(8):
        some = np.random.default_rng(trial)
        codes, labels = some.integers(0, 4, (60, 4)), some.integers(0, 3, 60)
        table = np.array(list("abcd"))[codes]
        s = some.integers(0, 3, 60).astype(float)
        model = MultiwayTreeClassifier(criterion=criterion).fit(table, labels, s)
        tree, used = model.tree_, s > 0
        at, kept = model.apply(table), np.flatnonzero(used)
        rows_of = {node: kept[[_passes(tree, leaf, node) for leaf in at[kept]]] for node in range(tree.node_count)}
        for node in range(tree.node_count):
            path, above = [], node
            while tree.parents[above] >= 0:
                above = int(tree.parents[above])
                path.append(int(tree.feature[above]))
            assert len(set(path)) == len(path)  # each column at most once
            rows = rows_of[node]
            assert len(rows) == tree.n_node_samples[node]
            if tree.feature[node] < 0:
                free = [j for j in range(4) if j not in path]
                assert len(np.unique(labels[rows])) == 1 or all(len(np.unique(codes[rows, j])) == 1 for j in free)
                continue
            values = codes[rows, tree.feature[node]]
            branches = tree.branches(node)
            assert [value for value, _ in branches] == np.unique(values).tolist()
            for value, child in branches:
                np.testing.assert_array_equal(rows_of[child], rows[values == value])
            kind = "gini" if criterion == "gini" else "entropy"
            found = {j: gain_of(codes[rows, j], labels[rows], s[rows], kind) for j in range(4) if j not in path}
            found = {j: pair for j, pair in found.items() if pair[1] > 0}
            if criterion == "gain_ratio":
                mean = np.mean([gain for gain, _ in found.values()])
                score = {j: gain / spread for j, (gain, spread) in found.items() if gain >= mean - 1e-9}
            else:
                score = {j: gain for j, (gain, _) in found.items()}
            assert score[int(tree.feature[node])] >= max(score.values()) - 1e-9
        assert qed.verify(model, table, labels, s).holds


def _passes(tree, leaf, node):
    while leaf > node:
        leaf = int(tree.parents[leaf])
    return leaf == node


@pytest.mark.covers("TRE-10")
def test_every_labeling_of_two_attributes_is_a_tree():
    inputs = list(itertools.product("ab", repeat=2))
    for labeling in itertools.product([0, 1], repeat=4):
        assert MultiwayTreeClassifier().fit(inputs, labeling).predict(inputs).tolist() == list(labeling)


def test_values_that_were_not_met_get_the_majority_of_their_node():
    model = MultiwayTreeClassifier().fit(X, y)
    assert model.predict([["snow", "hot", "high", "weak"]]).tolist() == ["yes"]  # nine of fourteen days
    np.testing.assert_allclose(model.predict_proba([["snow", "hot", "high", "weak"]]), [[5 / 14, 9 / 14]])
    assert model.apply([["snow", "hot", "high", "weak"]]).tolist() == [0]
    rainy = model.predict_proba([["rain", "hot", "high", "gale"]])
    np.testing.assert_allclose(rainy, [[2 / 5, 3 / 5]])


def test_weights_are_repetitions_and_gaps_are_values():
    s = rng.integers(0, 3, 14)
    weighted = MultiwayTreeClassifier(criterion="gain_ratio").fit(X, y, s)
    repeated = MultiwayTreeClassifier(criterion="gain_ratio").fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    gaps = np.array([["a"], [None], ["a"], [None]], dtype=object)
    model = MultiwayTreeClassifier().fit(gaps, [0, 1, 0, 1])
    assert model.predict(gaps).tolist() == [0, 1, 0, 1]
    assert qed.verify(model, gaps, [0, 1, 0, 1]).holds
    numbers = np.array([[1.0], [np.nan], [1.0], [np.nan]])
    assert MultiwayTreeClassifier().fit(numbers, [0, 1, 0, 1]).predict([[np.nan], [1.0]]).tolist() == [1, 0]


def test_frames_of_words_and_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"colour": pandas.Categorical(["red", "blue", "red", "blue"]), "size": [1, 1, 2, 2]})
    labels = ["a", "b", "c", "d"]  # as many classes as rows
    model = MultiwayTreeClassifier().fit(frame, labels)
    assert model.predict(frame).tolist() == labels
    assert "|--- colour = blue" in export_text(model)
    assert qed.verify(model, frame, labels).holds


def test_limits_and_edges():
    assert MultiwayTreeClassifier(max_depth=1).fit(X, y).get_depth() == 1
    small = MultiwayTreeClassifier(min_samples_split=6).fit(X, y)
    assert small.tree_.n_node_samples[small.tree_.feature >= 0].min() >= 6
    assert qed.verify(small, X, y).holds
    one = MultiwayTreeClassifier().fit([["a"]], ["yes"])
    assert one.predict([["b"]]).tolist() == ["yes"]
    constant = MultiwayTreeClassifier().fit([["a"], ["a"], ["a"]], [0, 1, 1])
    assert constant.predict([["a"]]).tolist() == [1]
    assert qed.verify(constant, [["a"], ["a"], ["a"]], [0, 1, 1]).holds
    assert len(plot_tree(one)) == 1
    with pytest.raises(ValueError, match="infinity"):
        MultiwayTreeClassifier().fit([[np.inf], [1.0]], [0, 1])


def test_figures_have_a_line_for_each_value():
    model = MultiwayTreeClassifier().fit(X, y)
    names = ["outlook", "temperature", "humidity", "wind"]
    tree = model.tree_
    notes = plot_tree(model, feature_names=names, class_names=["no", "yes"], filled=True)
    assert len(notes) == tree.node_count
    assert notes[0].get_text().startswith("outlook\n")
    heights = [note.xy[1] for note in notes]
    assert max(heights) == heights[0]
    assert len(set(heights)) == model.get_depth() + 1
    text = export_graphviz(model, feature_names=names)
    edges = re.findall(r'(\d+) -> (\d+) \[label="(\w+)"\]', text)
    told = {(int(above), int(child)): value for above, child, value in edges}
    for node in range(tree.node_count):
        column = int(tree.feature[node])
        for value, child in tree.branches(node):
            assert told.pop((node, child)) == str(model.categories_[column][value])
    assert not told
    assert "(...)" in export_graphviz(model, max_depth=0)


def test_changed_models_are_refused():
    model = MultiwayTreeClassifier().fit(X, y)
    tree, honest = model.tree_, model.certificate_
    inner = int(np.flatnonzero(tree.feature >= 0)[1])
    swapped = tree.children.copy()
    swapped[[1, 2]] = swapped[[2, 1]]
    worse = MultiwayTreeClassifier().fit(X[:, [1, 1, 1, 1]], y)
    for name, at, value in (
        ("feature", inner, 1),
        ("value", (0, 0), 0.4),
        ("impurity", 1, 0.5),
        ("n_node_samples", 0, 13),
    ):
        array = getattr(tree, name).copy()
        array[at] = value
        model.tree_ = dataclasses.replace(tree, **{name: array})
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X, y)
    for changed in (dataclasses.replace(tree, children=swapped), worse.tree_):
        model.tree_ = changed
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X, y)
    model.tree_ = tree
    for claim in ({"objective": 0.1}, {"lower": 0.1}, {"rounding": 0.5}, {"depth": 2}):
        model.certificate_ = dataclasses.replace(honest, **claim)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X, y)
    model.certificate_ = honest
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, np.roll(y, 1))
