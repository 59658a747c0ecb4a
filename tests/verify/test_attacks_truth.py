"""Certificates that were false, and honest models that were refused: one test for each, under the letter of the finding."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(13)


def test_f1_poisson_trees_may_leave_a_side_without_events():
    X, y = [[0], [1], [2], [3]], [0, 0, 3, 3]
    model = DecisionTreeRegressor(max_depth=1, criterion="poisson").fit(X, y)
    assert model.tree_.threshold[0] == 1.5
    assert model.certificate_.objective == 0
    assert model.predict(X).tolist() == [0, 0, 3, 3]
    assert qed.verify(model, X, y).holds


def test_f5_trees_refuse_targets_and_weights_whose_powers_leave_float64():
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    for size in (1e100, 1e-100):
        with pytest.raises(qed.InvalidData, match="multiply y by a constant"):
            DecisionTreeRegressor(max_depth=1).fit(X, size * y)
    for size in (1e200, 1e-300):
        for model in (DecisionTreeClassifier(max_depth=1), DecisionTreeRegressor(max_depth=1)):
            with pytest.raises(qed.InvalidData, match="multiply them by a constant"):
                model.fit(X, y > 0, np.full(8, size))
    for size, weight in ((1e45, 1e45), (1e-45, 1e-45), (1e45, 1e-45), (1e-45, 1e45)):
        model = DecisionTreeRegressor(max_depth=2).fit(X, size * y, np.full(8, weight))
        same = DecisionTreeRegressor(max_depth=2).fit(X, y)
        np.testing.assert_array_equal(model.tree_.threshold, same.tree_.threshold)
        np.testing.assert_allclose(model.certificate_.lower, size**2 * same.certificate_.lower)
        assert qed.verify(model, X, size * y, np.full(8, weight)).holds


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
def test_a8_trees_of_weights_over_fourteen_orders_of_magnitude_are_accepted(criterion):
    make = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    for depth in (None, 1, 2, 4, None, None, None, None):
        n, s = 40, 10 ** rng.uniform(-7, 7, 40)
        X, y = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
        model = make(criterion=criterion, max_depth=depth).fit(X, y, s)
        assert qed.verify(model, X, y, s).holds
