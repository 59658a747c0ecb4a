"""Matrix completion: the optimum of the nuclear-norm problem, what is filled in, and tables that cannot be completed."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.decomposition import MatrixCompletion


def holes(n: int = 40, p: int = 12, rank: int = 2, share: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + rng.normal(size=p)
    return np.where(rng.random((n, p)) < share, np.nan, whole), whole


def test_a_table_of_low_rank_is_completed() -> None:
    """Entries that are missing come back, and those that are there stay."""
    X, whole = holes(80, 20)
    model = MatrixCompletion(alpha=0.05, tol=1e-9, max_iter=5000).fit(X)
    filled = model.transform(X)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    gone = np.isnan(X)
    assert np.sqrt(np.mean((filled - whole)[gone] ** 2)) < 0.1 * whole.std()
    assert qed.verify(model, X).holds


def test_without_gaps_singular_values_are_shrunk() -> None:
    """The optimum is then known: each singular value less alpha."""
    _, whole = holes(share=0.0)
    model = MatrixCompletion(alpha=2.0, center=False, tol=1e-12).fit(whole)
    U, values, Vt = np.linalg.svd(whole, full_matrices=False)
    expected = (U * np.maximum(values - 2.0, 0.0)) @ Vt
    np.testing.assert_allclose(model.reconstruct(whole), expected, atol=1e-6)
    np.testing.assert_allclose(model.singular_values_, (values - 2.0)[values > 2.0], rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.3, 3.0, 1e4])
@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_no_table_is_better_by_more_than_the_gap(alpha: float, shape: tuple[int, int]) -> None:
    """A long plain soft-impute ends within the gap below it."""
    X, _ = holes(*shape)
    model = MatrixCompletion(alpha=alpha, tol=1e-5).fit(X)
    there = ~np.isnan(X)
    x = np.where(there, X - model.mean_, 0.0)
    Z = np.zeros_like(x)
    for _ in range(3000):
        U, values, Vt = np.linalg.svd(np.where(there, x, Z), full_matrices=False)
        Z = (U * np.maximum(values - alpha, 0.0)) @ Vt
    best = np.sum((x - Z)[there] ** 2) / 2 + alpha * np.linalg.svd(Z, compute_uv=False).sum()
    claim = model.certificate_
    assert claim.reached
    assert best - 1e-9 * claim.null_objective <= claim.objective <= best + claim.gap
    assert qed.verify(model, X).holds


def test_a_strong_penalty_leaves_the_means() -> None:
    """Nothing but zero is left of the table, and missing entries are the means of what is there."""
    X, _ = holes()
    model = MatrixCompletion(alpha=1e6).fit(X)
    assert model.n_components_ == 0
    np.testing.assert_allclose(
        model.transform(X)[np.isnan(X)], np.broadcast_to(np.nanmean(X, axis=0), X.shape)[np.isnan(X)]
    )


def test_new_rows_are_completed() -> None:
    """From the components alone; a row without any entry is the mean."""
    X, whole = holes(120, 15)
    model = MatrixCompletion(alpha=0.05, tol=1e-8, max_iter=3000).fit(X[:100])
    new = model.transform(X[100:])
    assert np.sqrt(np.mean((new - whole[100:])[np.isnan(X[100:])] ** 2)) < 0.15 * whole.std()
    np.testing.assert_allclose(model.transform(np.full((1, 15), np.nan))[0], model.mean_)


def test_an_empty_column_is_refused() -> None:
    """Nothing can be said of it."""
    X, _ = holes()
    X[:, 3] = np.nan
    with pytest.raises(ValueError, match="Column 3 has no entry"):
        MatrixCompletion().fit(X)


def test_changed_components_are_refused() -> None:
    """Another factor is another table."""
    X, _ = holes()
    model = MatrixCompletion(alpha=0.5).fit(X)
    model.components_ = model.components_ * np.linspace(1, 1.01, 12)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X)
