"""Truncated and randomised singular values, and principal components of batches."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition as theirs

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD, randomized_svd
from qed.decomposition._proof import ceiling_by_probes

rng = np.random.default_rng(11)
DENSE = rng.standard_normal((90, 12)) @ rng.standard_normal((12, 12)) + 2.0
SPARSE = sp.random_array((250, 520), density=0.05, format="csr", rng=np.random.default_rng(3))
SPARSE.data *= 1.0 + 3.0 * (SPARSE.indices < 40)


@pytest.mark.parametrize(
    "table",
    [DENSE, DENSE.T, sp.csr_array(DENSE), sp.csc_array(DENSE), SPARSE],
    ids=["tall", "wide", "csr", "csc", "large"],
)
def test_singular_values_are_the_largest_ones(table):
    model = TruncatedSVD(4, random_state=0).fit(table)
    every = table if isinstance(table, np.ndarray) else table.toarray()
    s = np.linalg.svd(every, compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, s[:4], rtol=1e-7)
    certificate = model.certificate_
    assert certificate.objective == pytest.approx(np.sum(s[4:] ** 2), rel=1e-7, abs=certificate.gap)
    left = np.sum((every - every @ model.components_.T @ model.components_) ** 2)
    assert left - np.sum(s[4:] ** 2) <= certificate.gap
    other = theirs.TruncatedSVD(4, algorithm="arpack", random_state=0).fit(table)
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(model.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(other.components_), atol=2e-3)
    assert qed.verify(model, table).holds


def test_coordinates_come_back_and_another_direction_is_refused():
    model = TruncatedSVD(12).fit(DENSE)
    np.testing.assert_allclose(model.inverse_transform(model.transform(DENSE)), DENSE, atol=1e-10)
    np.testing.assert_allclose(TruncatedSVD(3).fit_transform(DENSE), TruncatedSVD(3).fit(DENSE).transform(DENSE))
    few = TruncatedSVD(2).fit(DENSE)
    few.components_ = few.components_[::-1].copy()
    with pytest.raises(CertificateError):
        qed.verify(few, DENSE)
    with pytest.raises(InvalidParameter, match="n_features"):
        TruncatedSVD(13).fit(DENSE)
    with pytest.raises(InvalidData, match="shape"):
        model.inverse_transform(np.ones((2, 3)))


@pytest.mark.covers("DIM-29")
def test_random_projection_finds_a_table_of_low_rank_exactly_and_bounds_its_error():
    A = rng.standard_normal((200, 5)) @ rng.standard_normal((5, 80))
    U, s, Vt, error, _, confidence = randomized_svd(A, 5, random_state=0)
    np.testing.assert_allclose((U * s) @ Vt, A, atol=1e-10)
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-12)
    assert error < 1e-9 * s[0]
    assert confidence == 1 - 1e-6
    G = np.random.default_rng(0).standard_normal((4000, 30)) / np.sqrt(4000)  # its columns are nearly orthonormal
    assert np.mean(np.sum(G**2, axis=0)) == pytest.approx(1, abs=0.01)
    assert np.max(np.abs(G.T @ G - np.eye(30))) < 0.1
    for seed in range(10):
        B = np.random.default_rng(seed).standard_normal((60, 40)) * 0.7 ** np.arange(40)
        found = randomized_svd(B, 4, n_iter=seed % 3, random_state=seed)
        true = np.linalg.norm(B - (found.U * found.s) @ found.Vt, 2)
        assert true <= found.error
        assert found.missed <= found.error
        assert np.linalg.svd(B, compute_uv=False)[4] <= true * (1 + 1e-12)
    whole = randomized_svd(SPARSE, 3, random_state=0)
    best = np.linalg.svd(SPARSE.toarray(), compute_uv=False)[:3]
    assert np.all(best - whole.s <= whole.error)
    assert np.all(whole.s <= best * (1 + 1e-12))


def test_what_is_no_table_is_refused():
    for bad in (np.ones(3), np.empty((0, 3)), np.array([["a"]])):
        with pytest.raises(InvalidData):
            randomized_svd(bad, 1)
    with pytest.raises(InvalidData, match="NaN"):
        randomized_svd(np.array([[np.nan, 1.0]]), 1)
    with pytest.raises(InvalidParameter, match="n_components"):
        randomized_svd(np.ones((3, 2)), 3)


@pytest.mark.parametrize("batch", [7, None])
def test_batches_of_any_size_give_the_components_of_all_rows(batch):
    whole, model = PCA(3).fit(DENSE), IncrementalPCA(3, batch_size=batch).fit(DENSE)
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_)
    np.testing.assert_allclose(model.var_, DENSE.var(axis=0))
    assert model.noise_variance_ == pytest.approx(whole.noise_variance_)
    parts = IncrementalPCA(3, whiten=True)
    for first in range(0, 90, 30):
        parts.partial_fit(DENSE[first : first + 30])
    assert parts.n_samples_seen_ == 90
    assert model.batch_size_ == (batch or 60)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(parts.transform(DENSE).var(axis=0, ddof=1), 1)
    assert qed.verify(parts, DENSE).holds
    sparse = IncrementalPCA(3).fit(sp.csr_array(DENSE))
    np.testing.assert_allclose(sparse.components_, whole.components_, atol=1e-9)
    other = theirs.IncrementalPCA(3).fit(DENSE)
    assert model.explained_variance_.sum() >= other.explained_variance_.sum() - 1e-9


def on_threads(count, fit):
    """Return the components of a fit that uses so many threads."""
    from qed.core import _threads  # noqa: PLC0415

    before = _threads.get_num_threads()
    try:
        _threads.set_num_threads(count)
        model = fit()
        assert model.solver_used_ == "krylov"
        found = model.components_ if hasattr(model, "components_") else model.eigenvectors_
        return found.tobytes() + np.float64(model.certificate_.gap).tobytes()
    finally:
        _threads.set_num_threads(before)


LONG = sp.random_array((6000, 2100), density=0.01, format="csr", rng=np.random.default_rng(8))
STEEP = np.random.default_rng(9).standard_normal((900, 800)) * np.linspace(3, 1, 800) ** 2


@pytest.mark.parametrize(
    "fit",
    [
        lambda: TruncatedSVD(9, random_state=0).fit(LONG),
        lambda: TruncatedSVD(3, random_state=0).fit(LONG.tocsc()),
        lambda: TruncatedSVD(3, random_state=0).fit(LONG.T.tocsr()),
        lambda: PCA(3, random_state=0).fit(LONG),
        lambda: PCA(3, svd_solver="arpack", random_state=0).fit(STEEP),
        lambda: KernelPCA(3, kernel="rbf", gamma=1e-4, random_state=0).fit(STEEP),
    ],
    ids=["rows", "columns", "wide", "centred", "dense", "kernel"],
)
def test_products_alone_give_the_same_bits_on_any_number_of_threads(fit):
    alone = on_threads(1, fit)
    assert all(on_threads(threads, fit) == alone for threads in (2, 3, 8))


@pytest.mark.parametrize("rows", [30, 900])
def test_a_ceiling_from_probes_is_above_the_largest_eigenvalue_and_ends_where_it_is_low_enough(rows):
    values = np.linspace(0, 1, rows) ** 8
    for seed in range(60):
        taken = []

        def apply(block, taken=taken):
            taken.append(block.shape[1])
            return values[:, None] * block

        ceiling = ceiling_by_probes(apply, rows, np.random.default_rng(seed), enough=0.0)
        assert 1 <= ceiling <= 1.3
        steps = len(taken)
        early = ceiling_by_probes(apply, rows, np.random.default_rng(seed), enough=4.0)
        assert 1 <= early <= 4
        assert len(taken) - steps < steps


@pytest.mark.parametrize("number", [1.0, 0.1, 1e8 / 3, 0.0])
def test_a_table_of_equal_rows_has_no_shares_of_variance(number):
    table = np.full((60, 8), number) * np.linspace(0.1, 1, 8)
    model = TruncatedSVD(2).fit(table)
    assert not model.explained_variance_ratio_.any()
    assert qed.verify(model, table).holds
    model.explained_variance_ratio_ = np.array([0.5, 0.0])
    with pytest.raises(CertificateError, match="shares"):
        qed.verify(model, table)
