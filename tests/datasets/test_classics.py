"""Geyser and house prices: documented columns, and a line fitted to them finds the law they were drawn from."""

import numpy as np
import pytest

from qed.datasets import make_geyser, make_house_prices
from qed.linear_model import LinearRegression

LAWS = {make_geyser: (33.5, [10.7]), make_house_prices: (60.0, [2.4, 6.0, -0.7, -4.5])}


@pytest.mark.covers("DAT-15")
@pytest.mark.parametrize("make", LAWS)
def test_a_line_fit_finds_the_law(make):
    dataset = make(400, noise=0.0, random_state=0)
    intercept, slopes = LAWS[make]
    model = LinearRegression().fit(dataset.data, dataset.target)
    np.testing.assert_allclose(model.coef_, slopes, rtol=1e-8)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-8)


@pytest.mark.covers("DAT-15")
@pytest.mark.parametrize("make", LAWS)
def test_columns_are_documented_and_seeded(make):
    dataset = make(random_state=1)
    for name in (*dataset.feature_names, dataset.target_name):
        assert name in dataset.DESCR
    assert dataset.data.shape == (len(dataset.target), len(dataset.feature_names))
    np.testing.assert_array_equal(dataset.data, make(random_state=1).data)


def test_the_geyser_has_two_habits():
    duration = make_geyser(2000, random_state=2).data[:, 0]
    middle = ((duration > 2.8) & (duration < 3.2)).mean()
    assert middle < 0.02
    assert 0.60 < (duration > 3).mean() < 0.73
