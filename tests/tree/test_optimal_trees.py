"""Trees of small depth that leave least: against all trees, by definition; bounds when the search is cut short; changed claims."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np
import pytest

import qed
from qed.datasets import load_penguins
from qed.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    impurity,
)

rng = np.random.default_rng(5)


def least_of_all(X, target, s, criterion, depth):
    """The least mean impurity of trees of a depth, trying every cut at every node; missing values on either side."""

    def mass(rows):
        if criterion == "squared_error":
            mean = np.average(target[rows], axis=0, weights=s[rows])
            return (s[rows] @ (target[rows] - mean) ** 2).mean()
        counts = np.array([s[rows][target[rows] == k].sum() for k in range(3)])
        return counts.sum() * float(impurity(counts, criterion))

    @functools.cache
    def least(rows, depth):
        chosen = np.array(rows)
        best = mass(chosen)
        for j in range(X.shape[1] if depth else 0):
            column = X[chosen, j]
            for t, with_missing in itertools.product([-np.inf, *np.unique(column)], (False, True)):
                low = (column <= t) | (with_missing & np.isnan(column))
                if low.any() and not low.all():
                    best = min(best, least(tuple(chosen[low]), depth - 1) + least(tuple(chosen[~low]), depth - 1))
        return best

    return least(tuple(np.flatnonzero(s > 0)), depth) / s.sum()


@pytest.mark.covers("TRE-11")
@pytest.mark.parametrize("criterion", ["misclassification", "gini", "entropy", "squared_error"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_tree_leaves_less(criterion, depth):
    for trial in range(5):
        some = np.random.default_rng([depth, trial])
        n = 14 if depth < 4 else 10
        X, s = some.integers(0, 4, (n, 2)).astype(float), some.integers(0, 3, n).astype(float)
        s[0] = 1.0
        if trial > 2:
            X[some.random(X.shape) < 0.2] = np.nan
        if criterion == "squared_error":
            y, model = some.standard_normal((n, 2)), OptimalTreeRegressor(max_depth=depth)
        else:
            y, model = some.integers(0, 3, n), OptimalTreeClassifier(max_depth=depth, criterion=criterion)
        model.fit(X, y, s)
        best = least_of_all(X, y, s, criterion, depth)
        np.testing.assert_allclose([model.certificate_.objective, model.lower_bound_], best, atol=1e-11)
        np.testing.assert_allclose(model.certificate_.lower, best, atol=1e-11)
        assert model.certificate_.depth == depth
        assert qed.verify(model, X, y, s).holds


def test_a_search_that_is_cut_short_proves_what_it_can():
    X = rng.integers(0, 12, (60, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 11) ^ (X[:, 2] > 5) ^ (rng.random(60) < 0.1)
    whole = OptimalTreeClassifier(max_depth=3).fit(X, y)
    best, last = whole.certificate_.objective, -1.0
    assert whole.lower_bound_ == best
    gaps = []
    for budget in (1, 1000, 5000, 20_000, 60_000):
        model = OptimalTreeClassifier(max_depth=3, max_visits=budget).fit(X, y)
        assert model.lower_bound_ <= best <= model.certificate_.objective
        assert model.certificate_.lower <= model.lower_bound_ + 1e-12
        assert model.lower_bound_ >= last - 1e-12  # more work proves more
        last = model.lower_bound_
        gaps.append(model.certificate_.objective - last)
        assert qed.verify(model, X, y).holds
        again = OptimalTreeClassifier(max_depth=3, max_visits=budget).fit(X, y)
        np.testing.assert_array_equal(again.tree_.threshold, model.tree_.threshold)
        assert again.lower_bound_ == model.lower_bound_
    assert gaps[0] > gaps[-1]
    greedy = DecisionTreeClassifier(max_depth=3).fit(X, y)
    first = OptimalTreeClassifier(max_depth=3, max_visits=1).fit(X, y)  # begins where a greedy tree ends
    assert first.score(X, y) >= greedy.score(X, y)
    hurried = OptimalTreeClassifier(max_depth=4, max_seconds=1e-9).fit(X, y)
    assert hurried.lower_bound_ < hurried.certificate_.objective


def test_claims_that_cannot_be_compared_are_not_made_and_not_believed():
    X = rng.standard_normal((400, 3))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(400) < 0.2)
    model = OptimalTreeClassifier(max_depth=3, max_visits=10**6).fit(X, y)
    assert model.certificate_.depth == 0
    assert model.certificate_.lower == 0  # no two rows agree
    assert 0 < model.lower_bound_ <= model.certificate_.objective
    assert qed.verify(model, X, y).holds
    honest = model.certificate_
    model.certificate_ = dataclasses.replace(honest, depth=3, lower=model.lower_bound_)
    with pytest.raises(qed.CertificateError, match="too many to be compared"):
        qed.verify(model, X, y)
    model.certificate_ = dataclasses.replace(honest, is_greedy=True)
    with pytest.raises(qed.CertificateError, match="searched"):
        qed.verify(model, X, y)


def test_false_bounds_are_refused():
    X = rng.integers(0, 5, (60, 4)).astype(float)
    y = (X[:, 1] > 1) ^ (X[:, 2] > 2) ^ (rng.random(60) < 0.1)  # a first split gains next to nothing
    for depth in (2, 3):
        model = OptimalTreeClassifier(max_depth=depth).fit(X, y)
        worse = DecisionTreeClassifier(criterion="misclassification", max_depth=depth).fit(X, y)
        assert worse.certificate_.objective > model.certificate_.objective
        honest, tree = model.certificate_, model.tree_
        greedy = worse.certificate_
        model.tree_ = worse.tree_
        model.certificate_ = dataclasses.replace(greedy, lower=greedy.objective, depth=depth, is_greedy=False)
        model.lower_bound_ = greedy.objective
        with pytest.raises(qed.CertificateError, match="is claimed"):
            qed.verify(model, X, y)
        model.tree_, model.certificate_ = tree, honest
        for bound in (honest.objective + 0.01, honest.lower - 0.01, np.nan):
            model.lower_bound_ = bound
            with pytest.raises((qed.CertificateError, qed.ModelFileError)):
                qed.verify(model, X, y)


def test_searched_trees_beat_greedy_ones_on_real_rows():
    table = load_penguins()
    column = dict(zip(table.feature_names, table.data.T, strict=True))
    X = np.round(np.column_stack([column[name] for name in ("bill_length_mm", "flipper_length_mm")]))
    y = column["species_Chinstrap"]
    greedy, best = DecisionTreeClassifier(max_depth=2).fit(X, y), OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert best.score(X, y) > greedy.score(X, y)
    assert best.lower_bound_ == best.certificate_.objective
    numbers = OptimalTreeRegressor(max_depth=2).fit(X, table.target)
    plain = DecisionTreeRegressor(max_depth=2).fit(X, table.target)
    assert numbers.certificate_.objective <= plain.certificate_.objective
    assert qed.verify(numbers, X, table.target).holds


def test_edges():
    one = OptimalTreeClassifier().fit([[1.0, np.nan]], ["a"])
    assert one.predict([[2.0, 3.0]]).tolist() == ["a"]
    assert one.lower_bound_ == 0
    blank = OptimalTreeClassifier(max_depth=2).fit(np.full((4, 2), np.nan), [0, 1, 1, 1])
    assert blank.get_n_leaves() == 1
    assert blank.certificate_.objective == blank.lower_bound_ == 0.25
    constant = OptimalTreeRegressor().fit(np.ones((3, 1)), [1.0, 2.0, 3.0])
    assert constant.predict([[7.0]]).tolist() == [2.0]
    apart = OptimalTreeClassifier(max_depth=1).fit([[np.nan], [np.nan], [1.0], [2.0]], [0, 0, 1, 1])
    assert apart.predict([[np.nan], [9.0]]).tolist() == [0, 1]
    assert qed.verify(apart, [[np.nan], [np.nan], [1.0], [2.0]], [0, 0, 1, 1]).holds
    many = OptimalTreeClassifier(max_depth=2).fit(np.arange(6.0)[:, None], np.arange(6))  # a class for each row
    assert many.certificate_.objective == pytest.approx(2 / 6)
    huge = OptimalTreeRegressor(max_depth=1).fit([[1e300], [-1e300]], [1e40, -1e40])
    assert huge.predict([[1e300], [-1e300]]).tolist() == [1e40, -1e40]
    for given, words in ((5, "max_depth"), (0, "max_depth")):
        with pytest.raises(qed.InvalidParameter, match=words):
            OptimalTreeClassifier(max_depth=given).fit([[0.0], [1.0]], [0, 1])
