"""Data on which rounding decides: offsets, heavy rows, constant columns, targets of very different size."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.exact_least_squares import objective, optimum

import qed
from qed.linear_model import LinearRegression, Ridge


def distance(model, X, Y, s=None, alpha=0.0, *, intercept=True):
    """Objective minus optimum, exact, summed over targets."""
    Y = np.asarray(Y).reshape(len(X), -1)
    m = Y.shape[1]
    s = np.ones(len(X)) if s is None else s
    w, b, alpha = np.atleast_2d(model.coef_), np.broadcast_to(model.intercept_, m), np.broadcast_to(alpha, m)
    return float(
        sum(
            objective(X, Y[:, t], s, w[t], b[t], alpha[t]) - optimum(X, Y[:, t], s, alpha[t], intercept=intercept)
            for t in range(m)
        )
    )


@pytest.fixture
def only_products(monkeypatch):
    """Solve small sparse designs by products alone."""
    monkeypatch.setattr("qed.linear_model._learn.LARGEST_SQUARE", 1)
    monkeypatch.setattr("qed.linear_model._learn.SMALL_SQUARE", 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [100, 1000])
def test_constant_columns_are_recognised_in_wide_tables(n, weighted):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n + 100))
    X[:, 3], X[:, 4] = 0.1, 1e5 / 3
    y, s = rng.normal(size=n) + 1e8, rng.random(n) if weighted else None
    assert qed.verify(Ridge().fit(X, y, s), X, y, s).holds


@pytest.mark.parametrize("n", [1000, 20000])
def test_constant_columns_are_recognised_in_sparse_tables(n, only_products):
    rng = np.random.default_rng(n)
    X = sp.random_array((n, 30), density=0.01, random_state=rng, format="csr")
    X = sp.hstack([X, sp.csr_array(np.full((n, 1), 0.1)), sp.csr_array(np.full((n, 1), 1e5 / 3))]).tocsr()
    y = rng.normal(size=n) + 1e8
    assert qed.verify(Ridge().fit(X, y), X, y).holds


@pytest.mark.parametrize("sparse", [False, True])
def test_one_row_may_outweigh_all_others(sparse, only_products):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 3, size=(8, 3)).astype(float)
        y = X @ rng.normal(size=3) + rng.choice([0, 1e8])
        s = np.ones(8)
        s[rng.integers(8)] = 1e12
        table = sp.csr_array(X) if sparse else X
        model = Ridge(1e-3).fit(table, y, s)
        assert qed.verify(model, table, y, s).holds
        assert distance(model, X, y, s, 1e-3) <= model.certificate_.gap


def test_gap_counts_what_sparse_centring_rounds(only_products):
    """Heavy rows that are equal hardly count once centred; products that centre last have added them up in full."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 3, size=(8, 2)).astype(float)
        X[3] = X[0]
        y, s = rng.normal(size=8), rng.choice([1e-3, 0.5, 1.0, 2.0], size=8)
        s[[0, 3]] = 1e12
        model = Ridge(1e4, tol=1e-8).fit(sp.csr_array(X), y, s)
        assert model.solver_used_ == "conjugate gradients"
        assert distance(model, X, y, s, 1e4) <= model.certificate_.gap


def test_gap_counts_what_sparse_centring_rounds_in_wide_tables(only_products):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=12)
        X = np.vstack([x, x * (1 + 1e-15 * rng.normal(size=12))])
        y = rng.normal(size=2)
        model = Ridge(1e-12).fit(sp.csr_array(X), y)
        assert model.solver_used_ == "dual conjugate gradients"
        assert distance(model, X, y, alpha=1e-12) <= model.certificate_.gap


@pytest.mark.parametrize("noise", [1e-9, 1e-10, 1e-11])
@pytest.mark.parametrize("alpha", [0.0, 1e-20])
def test_a_mean_that_is_rounded_is_not_taken_for_spread(noise, alpha):
    """Twins up to ``noise``, one of them with an offset whose last bit is far larger than that."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = 1e8 + rng.normal(size=50)
        X = np.column_stack([x, x - 1e8 + noise * rng.normal(size=50)])
        for y in (rng.normal(size=50), (X[:, 1] - X[:, 0] + 1e8) / noise):
            model = Ridge(alpha).fit(X, y)
            assert qed.verify(model, X, y).holds
            assert model.certificate_.objective <= model.certificate_.null_objective
            assert (
                np.isfinite(model.certificate_.radius) or distance(model, X, y, alpha=alpha) <= model.certificate_.gap
            )


def test_interpolation_counts_the_rounding_of_its_residuals(monkeypatch):
    monkeypatch.setattr("qed.linear_model._learn.is_square_affordable", lambda _X, _n: False)
    solvers = set()
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4, 9)) + 10.0 ** rng.integers(0, 9, size=9)
        y = X @ rng.normal(size=9)
        model = LinearRegression(fit_intercept=False).fit(X, y)
        solvers.add(model.solver_used_)
        assert distance(model, X, y, intercept=False) <= model.certificate_.gap
    assert "dual svd" in solvers


def test_a_target_that_met_its_rounding_does_not_diverge_while_others_go_on(only_products):
    rng = np.random.default_rng(0)
    X = 1e8 + 1e-7 * rng.integers(0, 4, size=(3, 2))
    Y = X @ rng.normal(size=(2, 3)) + 1e-6 * rng.normal(size=(3, 3))
    alpha = np.array([1e4, 1e-8, 1e4])
    model = Ridge(alpha, tol=1e-8).fit(sp.csr_array(X), Y)
    assert np.isfinite(model.coef_).all()
    assert qed.verify(model, sp.csr_array(X), Y).holds
    assert distance(model, X, Y, alpha=alpha) <= model.certificate_.gap


@pytest.mark.filterwarnings("ignore::qed.core.ConvergenceWarning")  # it stops early on purpose
def test_the_radius_of_a_large_target_is_not_lent_to_a_small_one(only_products):
    x = np.array([1.0, 1.0, 1.0, 1.0])
    weak = np.array([1.0, -1.0, 1.0, -1.0])
    X = np.column_stack([x + 1e-3 * weak, x - 1e-3 * weak])
    Y = np.column_stack([1e4 * x, weak + 1e-3 * x])
    model = LinearRegression(fit_intercept=False, max_iter=1).fit(sp.csr_array(X), Y)
    assert model.certificate_.radius > 1e4  # the best coefficients, about a thousand, are within it
    assert distance(model, X, Y, intercept=False) <= model.certificate_.gap


def test_an_offset_alone_does_not_limit_the_radius():
    rng = np.random.default_rng(0)
    x = 1e8 + rng.normal(size=50)
    X = np.column_stack([x, x + 1e-6 * rng.normal(size=50)])
    certificate = LinearRegression().fit(X, rng.normal(size=50)).certificate_
    assert certificate.rank == 2
    assert np.isinf(certificate.radius)


def test_rows_of_weight_zero_do_not_move_a_constant_column():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = np.column_stack([[1.0, *np.zeros(7)], rng.normal(size=8)])
        y, s = rng.normal(size=8), np.array([0.0, *rng.choice([0.5, 1e-3, 2.0, 1.0], size=7)])
        model = Ridge().fit(X, y, s)
        assert model.certificate_.fingerprint.mean[0] == 0
        assert qed.verify(model, X, y, s).holds


def test_sparse_columns_whose_spread_is_lost_in_their_offset_still_verify():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = sp.csr_array(np.column_stack([1e8 + 1e-3 * rng.normal(size=12), rng.normal(size=12)]))
        y = rng.normal(size=12)
        model = LinearRegression().fit(X, y)
        assert np.isfinite(model.certificate_.radius)
        assert qed.verify(model, X, y).holds


@pytest.mark.parametrize("seed", range(30))
def test_the_fingerprint_is_as_far_off_as_it_says_at_most(seed):
    noise = np.random.default_rng(seed)
    n, p = [(40, 3), (12, 90), (60, 200)][seed % 3]
    offsets = [0.0, 10.0] if seed % 3 == 0 else [0.0, 1e3, 1e7]  # forgetting sparse columns far from zero is refused
    X = noise.normal(size=(n, p)) * 10.0 ** noise.integers(0, 4, p) + noise.choice(offsets, p)
    y = noise.normal(size=n) + (1e4 if seed % 3 else 1e2)
    s = noise.random(n) + 0.01
    table = sp.csr_array(X) if seed % 2 else X
    model = Ridge(fit_intercept=bool(seed % 4)).fit(table, y, s)
    if seed % 3 == 0:
        model.partial_fit(table[:20], y[:20], s[:20]).forget(table[20:], y[20:], s[20:])
        X, y, s = np.vstack([X[:20], X[:20]]), np.append(y[:20], y[:20]), np.append(s[:20], s[:20])
    stated = model.certificate_.fingerprint
    weights = [Fraction(value) for value in s]
    total = sum(weights)
    assert abs(Fraction(stated.weight) - total) <= stated.weight_rounding
    for j, column in enumerate([*X.T, y]):
        values = [Fraction(value) for value in column]
        mean = sum(a * b for a, b in zip(weights, values, strict=True)) / total
        spread = sum(a * (b - mean) ** 2 for a, b in zip(weights, values, strict=True))
        assert abs(Fraction(stated.mean[j]) - mean) <= stated.mean_rounding[j]
        assert abs(Fraction(stated.spread[j]) - spread) <= stated.spread_rounding[j]
