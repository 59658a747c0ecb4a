"""The law of certificates: the distance from the optimum, in rational arithmetic, never exceeds the gap; a fit verifies."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.exact_least_squares import objective, optimum
from tests.reference.problems import KINDS, problem

import qed
from qed.linear_model import Ridge

seeds = st.integers(0, 2**40)
kinds = st.sampled_from(KINDS)


def true_distance(q, model):
    value = objective(q.X, q.y, q.weights, model.coef_, model.intercept_, q.alpha, q.prior)
    return float(value - optimum(q.X, q.y, q.weights, q.alpha, q.prior, intercept=q.intercept))


@given(seeds, kinds)
def test_gap_bounds_the_distance(seed, kind):
    q = problem(seed, kind)
    model = Ridge(q.alpha, fit_intercept=q.intercept, prior=q.prior).fit(q.X, q.y, q.s)
    assert model.certificate_.reached
    assert qed.verify(model, q.X, q.y, q.s).holds
    if np.isinf(model.certificate_.radius):
        assert true_distance(q, model) <= model.certificate_.gap


@given(seeds, kinds, st.integers(1, 5))
def test_gap_bounds_the_distance_of_streams(seed, kind, parts):
    q = problem(seed, kind)
    model = Ridge(q.alpha, fit_intercept=q.intercept, prior=q.prior)
    for rows in np.array_split(np.arange(len(q.y)), parts):
        if len(rows) and q.weights[rows].any():
            model.partial_fit(q.X[rows], q.y[rows], None if q.s is None else q.s[rows])
    assert qed.verify(model, q.X, q.y, q.s).holds
    if np.isinf(model.certificate_.radius):
        assert true_distance(q, model) <= model.certificate_.gap
