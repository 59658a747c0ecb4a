"""What long runs of the fuzzers found about boosting and about medians in leaves, in its smallest form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.verify.found import refused

import qed
from qed import (
    ensemble,
    model_selection,
    tree,
)

# -- boosting ----------------------------------------------------------------------------------------------


def test_steps_of_leaves_that_are_nearly_certain_are_accepted():
    """One minus a probability near one is rounding: curvatures are products of both probabilities."""
    X = np.arange(12.0).reshape(-1, 1)
    y = np.array([0] * 5 + [1] + [0] * 5 + [1])
    weight = np.where(np.arange(12) == 5, 60.0, 1e-7)
    model = ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0, max_depth=1).fit(X, y, weight)
    assert qed.verify(model, X, y, weight).holds


def boosted(**given):
    """Return a histogram boosting of a few hundred rows, with its data."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(300, 4)), 1)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=300)
    options = {"max_iter": 3, "min_samples_leaf": 5, "random_state": 0, **given}
    return ensemble.HistGradientBoostingRegressor(**options).fit(X, y), X, y


@pytest.mark.parametrize(
    ("given", "raised"),
    [
        ({"max_depth": 2}, {"max_depth": 3}),
        ({"max_depth": 2}, {"max_depth": None}),
        ({"max_leaf_nodes": 5}, {"max_leaf_nodes": 6}),
        ({"min_samples_leaf": 20}, {"min_samples_leaf": 15}),
        ({"max_bins": 10}, {"max_bins": 20}),
        ({"max_features": 0.5}, {"max_features": 1.0}),
        ({"l2_regularization": 0.0}, {"l2_regularization": 1.0}),
        ({"interaction_cst": "no_interactions"}, {"interaction_cst": None}),
    ],
)
def test_limits_of_histogram_boosting_that_were_raised(given, raised):
    model, X, y = boosted(**given)
    assert "were compared with every other cut" in qed.verify(model, X, y).statement
    model.set_params(**raised)
    assert refused(model, X, y)


def test_a_worse_split_with_leaves_of_its_own_is_refused():
    """Values, weights and losses are those of the split; only the comparison with other cuts tells."""
    model, X, y = boosted(max_iter=1, max_leaf_nodes=2)
    worse = ensemble.HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=5, random_state=0)
    worse.fit(X[:, [3]], y)
    trees = worse.trees_
    model.trees_ = replace(
        trees, n_features=4, feature=np.where(trees.feature >= 0, 3, trees.feature).astype(trees.feature.dtype)
    )
    model.certificate_, model.train_score_ = worse.certificate_, worse.train_score_
    assert refused(model, X, y)


def test_a_threshold_moved_over_a_gap_of_its_node_is_refused():
    rng = np.random.default_rng(4)
    X = rng.permutation(np.arange(200.0)).reshape(-1, 1)
    y = (X[:, 0] > 100) + (X[:, 0] > 180) + 0.0
    model = ensemble.HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=5, max_leaf_nodes=3).fit(X, y)
    assert qed.verify(model, X, y).holds
    root = int(np.argmax(model.trees_.threshold == 100.5))
    threshold = model.trees_.threshold.copy()
    threshold[root] = 101.5
    model.trees_ = replace(model.trees_, threshold=threshold)
    assert refused(model, X, y)


# -- medians and quantiles: the number of the fit, and no other with the same loss ------------------------------------------


MEDIANS = [
    tree.DecisionTreeRegressor(criterion="absolute_error", max_depth=2),
    tree.ExtraTreeRegressor(criterion="absolute_error", max_depth=2, random_state=0),
    ensemble.RandomForestRegressor(3, criterion="absolute_error", max_depth=2, random_state=0),
    ensemble.ExtraTreesRegressor(3, criterion="absolute_error", max_depth=2, random_state=0),
    ensemble.HistGradientBoostingRegressor(loss="absolute_error", max_iter=3, min_samples_leaf=2),
    ensemble.HistGradientBoostingRegressor(loss="quantile", quantile=0.25, max_iter=3, min_samples_leaf=2),
    ensemble.HistGradientBoostingRegressor(loss="absolute_error", max_iter=2, monotonic_cst=[1, 0, 0, -1]),
    ensemble.GradientBoostingRegressor(loss="absolute_error", n_estimators=3),
    ensemble.GradientBoostingRegressor(loss="quantile", alpha=0.25, n_estimators=3),
    ensemble.GradientBoostingRegressor(loss="huber", n_estimators=3),
]


@pytest.mark.parametrize("unit", [None, 1.0, 0.1, "wide"])
@pytest.mark.parametrize("model", MEDIANS, ids=lambda one: f"{type(one).__name__}-{vars(one).get('loss', 'tree')}")
def test_leaves_state_the_median_that_the_fit_takes(model, unit, X, y):
    weight = None if unit is None else np.full(len(X), unit) if unit != "wide" else 10 ** np.linspace(-7, 7, len(X))
    target = y.round(1)
    model = qed.clone(model).fit(X, target, weight)
    assert qed.verify(model, X, target, weight).holds
    if "baseline_" in vars(model):
        model.baseline_ = model.baseline_ + 1e-6
        assert refused(model, X, target, weight)
        model.baseline_ = model.baseline_ - 1e-6
    held = model.tree_ if "tree_" in vars(model) else model.trees_
    for place in np.flatnonzero(held.children_left < 0) if "tree_" in vars(model) else range(len(held.value)):
        before = np.array(held.value)
        moved = before.copy()
        moved.reshape(len(before), -1)[place] += 1e-6
        object.__setattr__(held, "value", moved)
        assert refused(model, X, target, weight), place
        object.__setattr__(held, "value", before)


@pytest.mark.parametrize("options", [{"strategy": "median"}, {"strategy": "quantile", "quantile": 0.25}])
def test_a_constant_is_the_middle_of_the_best_ones(options):
    target = np.array([1.0, 2.0, 4.0, 8.0])
    for unit in (1.0, 0.1):
        model = model_selection.DummyRegressor(**options).fit(np.zeros((4, 1)), target, np.full(4, unit))
        assert qed.verify(model, np.zeros((4, 1)), target, np.full(4, unit)).holds
        for other in target:
            model.constant_ = np.array([[other]])
            assert refused(model, np.zeros((4, 1)), target, np.full(4, unit))
