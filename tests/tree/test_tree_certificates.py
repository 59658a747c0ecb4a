"""What is proved about trees: bounds against every tree there is, models that were changed, and files that were."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np
import pytest

import qed
from qed.core._persistence import dumps, loads
from qed.tree import DecisionTree, DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(1)


def least_of_all(X, y, s, depth):
    """The least impurity that a tree leaves, by trying every cut at every node."""

    def mass(rows):
        shares = np.array([s[rows][y[rows] == k].sum() for k in range(3)])
        return shares.sum() - (shares**2).sum() / shares.sum()

    @functools.cache
    def least(rows, depth):
        chosen = np.array(rows)
        best = mass(chosen)
        for j in range(X.shape[1] if depth else 0):
            for t in np.unique(X[chosen, j])[:-1]:
                low = X[chosen, j] <= t
                best = min(best, least(tuple(chosen[low]), depth - 1) + least(tuple(chosen[~low]), depth - 1))
        return best

    return least(tuple(np.flatnonzero(s > 0)), depth) / s.sum()


@pytest.mark.parametrize("depth", [1, 2, 3, None])
def test_no_tree_is_below_the_bound(depth):
    for _ in range(4):
        X, y = rng.integers(0, 3, (12, 2)).astype(float), rng.integers(0, 3, 12)
        s = rng.integers(0, 3, 12).astype(float)
        model = DecisionTreeClassifier(max_depth=depth).fit(X, y, s)
        best = least_of_all(X, y, s, depth or 8)
        certificate = model.certificate_
        assert certificate.lower <= best + 1e-12
        assert best >= certificate.objective - certificate.gap - 1e-12
        if depth in (1, 2, None):  # these bounds are attained
            np.testing.assert_allclose(certificate.lower, best, atol=1e-12)
        assert qed.verify(model, X, y, s).holds


def models():
    for criterion, splitter in itertools.product(("gini", "entropy"), ("best", "random")):
        for more in ({}, {"max_depth": 2}, {"ccp_alpha": 0.02, "class_weight": "balanced"}, {"max_features": 1}):
            yield DecisionTreeClassifier(criterion=criterion, splitter=splitter, random_state=0, **more)
    for criterion in ("squared_error", "absolute_error", "poisson", "friedman_mse"):
        for more in ({}, {"max_depth": 2}, {"max_leaf_nodes": 5}, {"min_samples_leaf": 3}):
            yield DecisionTreeRegressor(criterion=criterion, **more)


def test_certificates_are_confirmed_and_changed_models_are_not():
    for model in models():
        n = int(rng.integers(20, 50))
        X = rng.integers(0, 6, (n, 3)).astype(float)
        X[rng.random(X.shape) < 0.1] = np.nan
        y, s = rng.integers(0, 3, n), rng.integers(0, 3, n) + rng.integers(0, 2, n) / 2
        assert qed.verify(model.fit(X, y, s), X, y, s).holds
        tree = model.tree_
        if tree.node_count == 1:
            continue
        inner = np.flatnonzero(tree.children_left >= 0)
        step = 1e-6 if model.splitter == "best" else 10.0
        node = int(rng.choice(inner))
        for name, at, change in (
            ("threshold", node, step),
            ("value", (node, 0, 0), 1e-6),
            ("impurity", node, 1e-6),
            ("n_node_samples", node, 1),
            ("weighted_n_node_samples", node, 1e-6),
        ):
            array = getattr(tree, name).copy()
            if not np.isfinite(array[at]):
                continue
            array[at] += change
            model.tree_ = dataclasses.replace(tree, **{name: array})
            if model.criterion == "absolute_error" and name == "value":
                continue  # between two medians every value is one
            with pytest.raises(qed.CertificateError):
                qed.verify(model, X, y, s)
        model.tree_ = tree
        for claim in (
            {"objective": 0.9 * model.certificate_.objective - 1e-3},
            {"lower": model.certificate_.objective + 0.1},
        ):
            honest = model.certificate_
            model.certificate_ = dataclasses.replace(honest, **claim)
            with pytest.raises(qed.CertificateError):
                qed.verify(model, X, y, s)
            model.certificate_ = honest
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X, np.roll(y, 1), s)


def test_a_worse_split_is_refused():
    X = np.column_stack([np.arange(8.0), np.arange(8.0)[::-1] % 3])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    good = DecisionTreeClassifier(max_depth=1).fit(X, y)
    poor = DecisionTreeClassifier(max_depth=1).fit(X[:, [1, 1]], y)
    low = X[:, 1] <= poor.tree_.threshold[0]
    tree = dataclasses.replace(
        good.tree_,
        feature=np.array([1, -2, -2]),
        threshold=poor.tree_.threshold,
        missing_go_to_left=poor.tree_.missing_go_to_left,
        value=poor.tree_.value,
        impurity=poor.tree_.impurity,
        n_node_samples=np.array([8, low.sum(), (~low).sum()]),
        weighted_n_node_samples=np.array([8.0, low.sum(), (~low).sum()]),
    )
    good.tree_, good.certificate_ = tree, dataclasses.replace(poor.certificate_, lower=0.0, depth=0)
    with pytest.raises(qed.CertificateError, match="another split"):
        qed.verify(good, X, y)


@pytest.mark.covers("TRE-01")
def test_a_tree_made_by_hand_follows_its_table_of_truth():
    tree = DecisionTree(  # if the first is set, the second decides; else the third
        n_features=3,
        children_left=np.array([1, 2, -1, -1, 5, -1, -1]),
        children_right=np.array([4, 3, -1, -1, 6, -1, -1]),
        feature=np.array([0, 2, -2, -2, 1, -2, -2]),
        threshold=np.array([0.5, 0.5, -2.0, -2.0, 0.5, -2.0, -2.0]),
        missing_go_to_left=np.zeros(7, dtype=np.uint8),
        impurity=np.zeros(7),
        n_node_samples=np.array([8, 4, 2, 2, 4, 2, 2]),
        weighted_n_node_samples=np.array([8.0, 4.0, 2.0, 2.0, 4.0, 2.0, 2.0]),
        value=np.array([[[0.5]], [[0.5]], [[0.0]], [[1.0]], [[0.5]], [[0.0]], [[1.0]]]),
    )
    tree.check()
    for a, b, c in itertools.product([0.0, 1.0], repeat=3):
        row = np.array([[a, b, c]])
        assert tree.predict(row)[0, 0] == (b if a else c)
        path = tree.decision_path(row).toarray()[0]
        assert path[tree.children_left < 0].sum() == 1  # exactly one leaf
        assert path.sum() == 3


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("children_left", 0, 0),  # a circle
        ("children_left", 0, 10**6),
        ("children_right", 0, -1),
        ("children_right", 0, 1),  # both children the same
        ("feature", 0, 99),
        ("feature", 0, -3),
        ("threshold", 0, np.nan),
        ("weighted_n_node_samples", 1, 0.0),
        ("value", (1, 0, 0), np.inf),
        ("value", (1, 0, 0), -0.5),
        ("n_features", None, 5),
    ],
)
def test_files_with_nodes_that_are_no_tree_are_refused(name, at, value):
    model = DecisionTreeClassifier().fit(rng.standard_normal((30, 3)), rng.integers(0, 2, 30))
    assert loads(dumps(model)).predict(np.zeros((1, 3))).shape == (1,)
    if at is None:
        changed = value
    else:
        changed = getattr(model.tree_, name).copy()
        changed[at] = value
    model.tree_ = dataclasses.replace(model.tree_, **{name: changed})
    with pytest.raises(qed.ModelFileError):
        dumps(model)  # who writes a file looks at it as who reads it does
