"""The bootstrap of estimates: against formulas, and against fits of the repeated rows."""

from __future__ import annotations

import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter
from qed.distributions import Gaussian
from qed.linear_model import BayesianLinearRegression, LinearRegression, Ridge
from qed.model_selection import bootstrap_estimate
from qed.naive_bayes import GaussianNB

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = X @ [1.0, -2.0, 0.5] + 1.0 + 0.7 * RNG.normal(size=400)
SEVEN = 7  # standard deviations: a false alarm once in 4e11


def test_every_resample_is_a_fit_of_drawn_rows():
    """The draws of the seed, fitted by hand."""
    found = bootstrap_estimate(Ridge(0.3), X[:20], Y[:20], n_resamples=5, random_state=3)
    stream = np.random.RandomState(3)
    for one in found.resamples:
        drawn = stream.choice(20, size=20, replace=True)
        model = Ridge(0.3).fit(X[drawn], Y[drawn])
        np.testing.assert_allclose(one, np.append(model.coef_, model.intercept_), rtol=1e-12)
    whole = Ridge(0.3).fit(X[:20], Y[:20])
    np.testing.assert_array_equal(found.value, np.append(whole.coef_, whole.intercept_))
    np.testing.assert_allclose(found.standard_error, found.resamples.std(axis=0, ddof=1))
    np.testing.assert_allclose(found.bias, found.resamples.mean(axis=0) - found.value)
    np.testing.assert_allclose(found.covariance, np.cov(found.resamples.T))
    lower, upper = found.interval(0.5)
    np.testing.assert_allclose([lower, upper], np.quantile(found.resamples, [0.25, 0.75], axis=0))
    again = bootstrap_estimate(Ridge(0.3), X[:20], Y[:20], n_resamples=5, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(again.resamples, found.resamples)


def test_standard_error_of_a_mean():
    """For a mean the bootstrap has a formula: the deviation of the values over the root of their number."""
    x = RNG.normal(size=(50, 1))
    labels = np.zeros(50, dtype=int)
    found = bootstrap_estimate(
        GaussianNB(), x, labels, statistic=lambda model: model.theta_[0], n_resamples=4000, random_state=0
    )
    exact = x.std() / np.sqrt(50)
    # a standard deviation from B resamples is off by 1 / sqrt(2 B) of itself; tails of a mean of 50 are close to normal
    assert abs(found.standard_error[0] / exact - 1) <= SEVEN / np.sqrt(2 * 4000)
    assert abs(found.bias[0]) <= SEVEN * exact / np.sqrt(4000)


def test_regression_agrees_with_the_posterior():
    """With much data and a flat prior, posterior deviations, standard errors and the bootstrap tell the same."""
    found = bootstrap_estimate(LinearRegression(), X, Y, n_resamples=600, random_state=1)
    residual = Y - LinearRegression().fit(X, Y).predict(X)
    noise = Gaussian.fit(residual).variance
    posterior = BayesianLinearRegression(1e8, noise_variance=noise).fit(X, Y).posterior()
    deviation = np.sqrt(np.diag(posterior.covariance))
    # resamples of residuals and rows: errors of both, each of order 1 / sqrt(2 * 400) and 1 / sqrt(2 * 600)
    assert np.all(np.abs(found.standard_error / deviation - 1) <= SEVEN * np.hypot(np.sqrt(1 / 400), np.sqrt(1 / 1200)))
    new = np.array([[0.1, 0.2, 0.3], [3.0, -3.0, 3.0]])
    of_line = bootstrap_estimate(
        LinearRegression(), X, Y, statistic=lambda model: model.predict(new), n_resamples=200, random_state=1
    )
    assert of_line.standard_error[1] > of_line.standard_error[0]  # far from the rows less is known


def test_bad_input():
    for wrong in (1, 0, -3, 2.5, True):
        with pytest.raises(InvalidParameter, match="n_resamples"):
            bootstrap_estimate(Ridge(), X, Y, n_resamples=wrong)
    with pytest.raises(InvalidParameter, match="no coefficients"):
        bootstrap_estimate(GaussianNB(), X, (Y > 0).astype(int), n_resamples=2)
    with pytest.raises(InvalidData, match="another shape"):
        bootstrap_estimate(
            GaussianNB(),
            X[:6],
            list("abcdef"),
            statistic=lambda model: model.class_prior_,
            n_resamples=5,
            random_state=0,
        )
    with pytest.raises(InvalidParameter, match="level"):
        bootstrap_estimate(Ridge(), X, Y, n_resamples=2).interval(1.5)
