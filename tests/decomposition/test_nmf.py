"""Nonnegative factors: steps that never raise the objective, agreement with scikit-learn, and the certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition as theirs
from sklearn.datasets import load_digits, load_iris, load_wine

import qed
from qed import _native
from qed.core import InvalidData, InvalidParameter
from qed.core._events import Progress
from qed.decomposition import NMF, MiniBatchNMF
from qed.decomposition import _nonnegative as steps

rng = np.random.default_rng(2)
X = np.abs(rng.standard_normal((50, 3))) @ np.abs(rng.standard_normal((3, 9))) + 0.2 * np.abs(
    rng.standard_normal((50, 9))
)
LOSSES = ["frobenius", "kullback-leibler", "itakura-saito", 1.5, 3.0]


@pytest.mark.covers("DIM-22")
@pytest.mark.parametrize("loss", LOSSES)
def test_steps_never_raise_the_divergence_and_factors_are_nonnegative(loss):
    beta, penalty = steps.beta_of(loss), steps.Penalty()
    W, Ht = steps.start(X, 3, "random", np.random.default_rng(0))
    values = [steps.divergence(X, W, Ht.T, beta)]
    for _ in range(15):
        with Progress("test") as progress:
            H = np.ascontiguousarray(Ht.T)
            found = (
                steps.descend(X, W, Ht, penalty, (1, 0.0), progress)
                if beta == 2
                else steps.multiply(X, W, H, beta, penalty, (1, 0.0), progress)
            )
        W, Ht = found.W, found.Ht
        values.append(steps.divergence(X, W, Ht.T, beta))
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    model = NMF(3, beta_loss=loss, solver="mu", random_state=0).fit(X)
    codes = model.transform(X)
    assert codes.min() >= 0
    assert model.components_.min() >= 0
    if loss == "frobenius":
        assert np.linalg.norm(X - model.inverse_transform(codes)) == pytest.approx(model.reconstruction_err_, rel=1e-6)


@pytest.mark.covers("DIM-22")
def test_a_table_of_rank_one_is_found_exactly():
    rank_one = np.outer(rng.random(20) + 0.1, rng.random(6))
    model = NMF(1, tol=1e-10).fit(rank_one)
    np.testing.assert_allclose(model.inverse_transform(model.transform(rank_one)), rank_one, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "options", [{}, {"alpha_W": 0.01, "l1_ratio": 0.5}, {"alpha_W": 0.01, "alpha_H": 0.02}, {"init": "nndsvd"}]
)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_no_worse_than_that_of_scikit_learn(options, loss):
    solver = "cd" if loss == "frobenius" else "mu"
    if solver == "mu" and options.get("init") == "nndsvd":
        options = {}  # zeros never leave zero by multiplicative steps
    given = {"beta_loss": loss, "solver": solver, "random_state": 0, "max_iter": 300, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says that 300 steps were too few
        other = theirs.NMF(3, **given)
        W = other.fit_transform(X)
    ours = NMF(3, **given).fit(X)
    penalty = steps.Penalty.of(ours, *X.shape)
    beta = steps.beta_of(loss)
    judged = [
        steps.divergence(X, codes, model.components_, beta)
        + penalty.on_codes(codes)
        + penalty.on_components(model.components_)
        for codes, model in ((ours.transform(X), ours), (W, other))
    ]
    assert judged[0] <= judged[1] * (1 + 2e-3)
    assert judged[0] == pytest.approx(ours.certificate_.objective, rel=1e-6)
    assert qed.verify(ours, X).holds


FIXED = {
    "iris": (load_iris().data, 2),
    "wine": (load_wine().data, 4),
    "digits": (load_digits().data[:500], 16),
    "noise": (np.random.default_rng(0).random((300, 60)), 8),
    "few rows": (np.abs(np.random.default_rng(1).standard_normal((30, 200))), 6),
    "nearly exact": (np.random.default_rng(3).random((300, 8)) @ np.random.default_rng(4).random((8, 60)), 8),
    "sparse": (sp.random(600, 300, 0.05, random_state=0, format="csr"), 10),
}


@pytest.mark.parametrize("name", FIXED)
def test_at_defaults_the_objective_is_no_worse_than_that_of_scikit_learn(name):
    table, k = FIXED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says that its steps were too few
        other = theirs.NMF(k, random_state=0).fit(table)
    ours = NMF(k, random_state=0).fit(table)
    # where both end at a minimum, chance says which of several; what differs by stopping early is a hundredth and more
    assert ours.reconstruction_err_**2 <= other.reconstruction_err_**2 * (1 + 1e-3)
    assert qed.verify(ours, table).holds
    certificate = ours.certificate_
    if certificate.outcome == "solved":
        assert certificate.gap - certificate.rounding <= 1e-4 * certificate.objective
    else:
        assert ours.n_iter_ == 200


def test_momentum_is_taken_back_where_the_objective_rose_and_keeps_entries_alive():
    momentum = steps.Momentum()
    before, after = np.array([1.0, 1.0, 0.0]), np.array([2.0, 1e-3, 0.0])
    np.testing.assert_array_equal(momentum.beyond(before, after), after)  # nothing is known yet
    assert not momentum.overshoots(5.0)
    further = momentum.beyond(before, after)
    assert further[0] > 2.0
    assert further[1] == 1e-3  # and not zero
    share = momentum.share
    assert momentum.overshoots(6.0)
    assert momentum.share < share
    np.testing.assert_array_equal(momentum.beyond(before, after), after)


def test_no_single_entry_gains_more_than_stated():
    model = NMF(3, max_iter=4).fit(X)
    W, H = model.transform(X), model.components_
    base = np.sum((X - W @ H) ** 2) / 2
    gains = []
    for j in range(3):
        for a in range(9):
            for step in (-0.1, 0.03, 0.1):
                other = H.copy()
                other[j, a] = max(other[j, a] + step, 0)
                gains.append(base - np.sum((X - W @ other) ** 2) / 2)
    assert 0 < max(gains) <= model.certificate_.gap


def test_sparse_rows_and_parts_of_rows_have_the_same_codes():
    table = X * (X > 1)
    dense, sparse = (NMF(3, random_state=0).fit(kind(table)) for kind in (np.asarray, sp.csr_array))
    np.testing.assert_allclose(dense.components_, sparse.components_, atol=1e-8)
    np.testing.assert_allclose(sparse.transform(sp.csr_array(table))[:7], dense.transform(table[:7]), atol=1e-6)
    np.testing.assert_allclose(NMF(3).fit_transform(table), NMF(3).fit(table).transform(table), atol=1e-5)


def test_factors_to_begin_with_are_taken():
    W, H = np.full((50, 2), 0.5), rng.random((2, 9))
    model = NMF(init="custom", max_iter=1)
    model.fit_transform(X, W=W, H=H)
    assert model.n_components_ == 2
    with pytest.raises(InvalidData, match="custom"):
        NMF(init="custom").fit(X)
    with pytest.raises(InvalidData, match="shapes"):
        NMF(3, init="custom").fit_transform(X, W=W, H=H)
    with pytest.raises(InvalidData, match="negative"):
        NMF(2, init="custom").fit_transform(X, W=-W, H=H)


def test_what_has_no_nonnegative_factors_is_refused():
    with pytest.raises(InvalidData, match=r"[Nn]egative"):
        NMF(2).fit(X - 5)
    with pytest.raises(InvalidData, match="zeros"):
        NMF(2, beta_loss="itakura-saito").fit(X * (X > 1))
    with pytest.raises(InvalidParameter, match="init"):
        NMF(20, init="nndsvd").fit(X)
    assert NMF(2).fit(np.zeros((4, 3))).reconstruction_err_ == 0


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_batches_come_near_the_factors_of_all_rows(loss):
    whole = NMF(3, beta_loss=loss, solver="mu", random_state=0).fit(X)
    given = {"beta_loss": loss, "batch_size": 17, "random_state": 0}
    parts = MiniBatchNMF(3, **given).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = theirs.MiniBatchNMF(3, **given).fit(X)
    assert parts.reconstruction_err_ <= 1.2 * whole.reconstruction_err_
    assert parts.reconstruction_err_ <= 1.02 * other.reconstruction_err_
    assert qed.verify(parts, X).holds
    anew = MiniBatchNMF(3, fresh_restarts=True, **given).fit(X)
    assert anew.reconstruction_err_ <= 1.02 * other.reconstruction_err_
    assert np.array_equal(anew.components_, parts.components_) == (loss != "frobenius")
    stream = MiniBatchNMF(3, beta_loss=loss, init="random", random_state=0)
    for first in range(0, 50, 10):
        stream.partial_fit(X[first : first + 10])
    assert stream.n_steps_ == 5
    assert qed.verify(stream, X[40:]).holds


def test_codes_are_the_same_on_any_number_of_threads():
    from qed.core import _threads  # noqa: PLC0415

    table, before = rng.random((700, 40)), _threads.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3, 8):
            _threads.set_num_threads(threads)
            D = table[:30] / np.linalg.norm(table[:30], axis=1)[:, None]
            G, P = D @ D.T, table @ D.T
            W = np.zeros((700, 30))
            _native.code_rows(G, P, W, np.full(700, 1e-9), 0.1, 0.01, False, 500)
            found.append((W, _native.pursue_rows(G, P, np.sum(table**2, axis=1), 5, 1e-3)))
    finally:
        _threads.set_num_threads(before)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("kind", [NMF, MiniBatchNMF])
def test_squares_that_overflow_are_refused_by_the_name_of_the_column(kind):
    table = rng.random((20, 4))
    table[3, 2] = 1e300
    with pytest.raises(InvalidData, match="column 2 of X is out of range"):
        kind(2).fit(table)
