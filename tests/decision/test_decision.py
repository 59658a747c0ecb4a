"""Costs, thresholds, reject, and the best classifier there can be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import qed
from qed.decision import BayesRule, CostTable
from qed.linear_model import LogisticRegression

COST = st.floats(0.125, 16, width=16)


@pytest.mark.covers("FND-10", "DEC-03")
@given(false_positive=COST, false_negative=COST)
def test_the_threshold_of_two_costs(false_positive, false_negative):
    table = CostTable.asymmetric(false_positive, false_negative)
    assert_array_equal(table.costs, [[0, false_positive], [false_negative, 0]])
    t = table.threshold
    assert t == pytest.approx(false_positive / (false_positive + false_negative))
    assert CostTable.asymmetric(false_negative, false_positive).threshold == pytest.approx(1 - t)
    for p in (t - 1e-6, t + 1e-6):
        assert table.decide([[1 - p, p]])[0] == (p > t)
    at = table.expected([[1 - t, t]])[0]
    assert at[0] == pytest.approx(at[1])
    assert CostTable.asymmetric(1, 9).threshold == pytest.approx(0.1)


@pytest.mark.covers("DEC-01", "DEC-08")
@given(seed=st.integers(0, 99))
def test_the_action_of_least_expected_cost(seed):
    rng = np.random.default_rng(seed)
    P, C = rng.dirichlet(np.ones(3), 5), rng.uniform(-1, 5, (3, 4))
    told = CostTable(C, actions=list("wxyz")).decide(P)
    for p, action in zip(P, told, strict=True):
        costs = {name: sum(p[k] * C[k, a] for k in range(3)) for a, name in enumerate("wxyz")}
        assert costs[str(action)] == pytest.approx(min(costs.values()))
    reject = CostTable([[0, 2, 5, 1], [1, 0, 5, 1], [1, 1, 0, 1]])
    assert reject.decide([[0.9, 0.05, 0.05], [0.4, 0.3, 0.3], [0.05, 0.05, 0.9]]).tolist() == [0, 0, 2]
    assert_allclose(reject.expected([[0.4, 0.3, 0.3]]), [[0.6, 1.1, 3.5, 1.0]])


@pytest.mark.covers("DEC-02")
def test_equal_costs_choose_the_most_probable_label():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    model = LogisticRegression().fit(X, (X[:, 0] + rng.normal(size=100) > 0).astype(int))
    P = model.predict_proba(X)
    table = CostTable.zero_one(2)
    score = X @ model.coef_[0] + model.intercept_[0]
    assert_array_equal(table.decide(P), score > 0)
    assert_allclose(table.expected(P)[:, 1], 1 / (1 + np.exp(score)))


@pytest.mark.covers("DEC-04")
def test_reject_option_where_no_label_is_probable_enough():
    table = CostTable.zero_one(2, reject=0.2)
    assert table.decide([[0.25, 0.75], [0.15, 0.85]]).tolist() == [2, 1]
    never = CostTable.zero_one(2, reject=0.5)
    assert 2 not in never.decide([[1 - p, p] for p in np.linspace(0, 1, 101)])


@pytest.mark.covers("FND-31")
@given(seed=st.integers(0, 99), m=st.integers(1, 5))
def test_no_classifier_beats_the_bayes_rule(seed, m):
    joint = np.random.default_rng(seed).dirichlet(np.ones(2 * m)).reshape(m, 2)
    rule = BayesRule(joint)
    risks = [rule.risk_of(actions) for actions in itertools.product((0, 1), repeat=m)]
    assert rule.risk == pytest.approx(min(risks))
    eta, at = joint[:, 1] / joint.sum(axis=1), joint.sum(axis=1)
    assert rule.risk == pytest.approx(at @ np.minimum(eta, 1 - eta))
    other = 1 - rule.actions
    gaps = (2 * eta - 1) * (rule.actions.astype(float) - other)
    assert (gaps >= 0).all()
    assert rule.risk_of(other) - rule.risk == pytest.approx(at @ gaps)


def test_an_input_that_never_occurs():
    rule = BayesRule([[0.5, 0.5], [0.0, 0.0]])
    assert_array_equal(rule.posterior, [[0.5, 0.5], [0.5, 0.5]])
    assert rule.risk == 0.5


def test_what_is_refused():
    with pytest.raises(qed.InvalidData, match="sum to one"):
        BayesRule([[0.5, 0.6]])
    with pytest.raises(qed.InvalidParameter, match="finite numbers"):
        CostTable([[np.nan]])
    with pytest.raises(qed.InvalidParameter, match="actions must name"):
        CostTable([[0, 1], [1, 0]], actions=["a"])
    with pytest.raises(qed.InvalidData, match="one column for each"):
        CostTable.zero_one(3).decide([[0.5, 0.5]])
    with pytest.raises(qed.InvalidData, match="sum to one"):
        CostTable.zero_one(2).decide([[0.5, 0.6]])
    with pytest.raises(qed.InvalidParameter, match="two labels and two actions"):
        _ = CostTable.zero_one(3).threshold
    with pytest.raises(qed.InvalidParameter, match="No threshold"):
        _ = CostTable([[1, 0], [0, 1]]).threshold
