"""Bounds from rows that the fit has not seen: exact binomial statements."""

import numpy as np
import pytest
from scipy import stats

import qed
from qed.certificates import error_quantile, error_rate
from qed.linear_model import LinearRegression

rng = np.random.default_rng(41)


def test_error_rate_is_the_exact_binomial_limit():
    for n, k in [(50, 0), (50, 3), (200, 40), (10, 10)]:
        bound = error_rate(np.arange(n) < k, 0.05).bound
        assert bound == pytest.approx(1.0 if k == n else stats.beta.ppf(0.95, k + 1, n - k))
        if k < n:  # at the bound, seeing so few mistakes has probability delta
            assert stats.binom.cdf(k, n, bound) == pytest.approx(0.05)


def test_error_quantile_is_an_order_statistic():
    errors = rng.exponential(size=100)
    bound = error_quantile(errors, 0.05, 0.9).bound
    above = int(np.sum(errors > bound))
    assert bound in errors
    assert stats.binom.cdf(above, 100, 0.1) <= 0.05 < stats.binom.cdf(above + 1, 100, 0.1)


def test_the_quantile_bound_is_wrong_as_rarely_as_it_says():
    draws = rng.exponential(size=(4000, 60))
    truth = -np.log(0.2)  # below this lie 0.8 of all errors
    wrong = np.mean([error_quantile(row, 0.1, 0.8).bound < truth for row in draws])
    assert wrong < 0.1 + 6.2 * np.sqrt(0.09 / 4000)
    assert wrong > 0.03  # and the bound is no larger than it must be


def test_too_few_rows_are_said_to_be_too_few():
    certificate = error_quantile(np.ones(5), 0.05, 0.9)
    assert not certificate.reached
    assert "too few" in certificate.statement


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, 2.0])
def test_impossible_confidence_is_refused(delta):
    with pytest.raises(qed.InvalidParameter, match="delta"):
        error_rate([True], delta)
    with pytest.raises(qed.InvalidData, match="held-out rows"):
        error_rate([], 0.05)


def test_certify_attaches_the_bound_and_leaves_the_fit_alone(tmp_path):
    X = rng.normal(size=(400, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=400)
    model = LinearRegression().fit(X[:200], y[:200])
    before = model.certificate_
    certificate = model.certify(X[200:], y[200:], delta=0.01, coverage=0.8)
    assert certificate.kind == "error quantile"
    assert model.certificate_ is before
    assert model.held_out_ is certificate
    assert np.mean(np.abs(y[200:] - model.predict(X[200:])) <= certificate.bound) >= 0.8
    assert "confidence 0.99" in certificate.statement
    model.save(tmp_path / "model.qed")
    assert qed.load(tmp_path / "model.qed").held_out_.bound == certificate.bound
