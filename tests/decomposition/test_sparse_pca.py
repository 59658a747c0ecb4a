"""Sparse components, dictionaries from batches, and codes for given atoms."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.decomposition import (
    DictionaryLearning,
    MiniBatchDictionaryLearning,
    MiniBatchSparsePCA,
    SparseCoder,
    SparsePCA,
    sparse_encode,
)


def blocks(n: int = 150, seed: int = 0) -> np.ndarray:
    """Two hidden causes, each of three columns of its own, and a little noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2)) * [2.0, 1.0]
    return hidden @ [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]] + 0.1 * rng.normal(size=(n, 6)) + 3


def objective(X: np.ndarray, model: SparsePCA) -> float:
    """The objective at the scores and components."""
    V = model.components_ * model.component_norms_[:, None]
    return float(np.sum((X - X.mean(axis=0) - model.scores_ @ V) ** 2) / 2 + model.alpha * np.abs(V).sum())


@pytest.mark.parametrize("kind", [SparsePCA, MiniBatchSparsePCA])
def test_columns_of_one_cause_share_a_component(kind: type) -> None:
    """Each component has the three columns of one cause, and no other."""
    X = blocks()
    model = kind(2, alpha=2.0, random_state=0).fit(X)
    used = model.components_ != 0
    assert sorted(map(tuple, used.tolist())) == [(False,) * 3 + (True,) * 3, (True,) * 3 + (False,) * 3]
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert qed.verify(model, X).holds
    assert model.certificate_.objective == pytest.approx(objective(X, model), rel=1e-6)


def test_the_objective_never_rises_and_is_no_worse_than_that_of_scikit_learn() -> None:
    """Steps lower it, and at defaults it ends as low as scikit-learn's."""
    theirs = pytest.importorskip("sklearn.decomposition")
    X = np.random.default_rng(1).normal(size=(60, 8)) @ np.random.default_rng(2).normal(size=(8, 8))
    model = SparsePCA(4, random_state=0).fit(X)
    assert np.all(np.diff(model.error_) <= 1e-9 * model.error_[0])
    other = theirs.SparsePCA(4, random_state=0, tol=1e-10).fit(X)
    assert model.certificate_.objective <= other.error_[-1] * (1 + 1e-3)


def test_scores_are_those_of_scikit_learn_for_the_same_components() -> None:
    """Scores of rows come from a ridge regression on the components."""
    theirs = pytest.importorskip("sklearn.decomposition")
    X = blocks()
    model = SparsePCA(3, alpha=1.0, ridge_alpha=0.3, random_state=0).fit(X)
    other = theirs.SparsePCA(3, ridge_alpha=0.3, max_iter=1).fit(X)
    other.components_, other.mean_ = model.components_, model.mean_
    np.testing.assert_allclose(model.transform(X), other.transform(X), atol=1e-10)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), other.inverse_transform(other.transform(X)), atol=1e-9
    )


def test_starts_are_taken() -> None:
    """Factors to begin with, in the shapes of scores and components."""
    X = blocks()
    first = SparsePCA(2, alpha=2.0, random_state=0).fit(X)
    V = first.components_ * first.component_norms_[:, None]
    U = np.linalg.lstsq(V.T, (X - X.mean(axis=0)).T, rcond=None)[0].T
    assert SparsePCA(2, alpha=2.0, U_init=U, V_init=V, random_state=0).fit(X).n_iter_ <= first.n_iter_
    with pytest.raises(ValueError, match="U_init and V_init"):
        SparsePCA(2, U_init=U[:5], V_init=V).fit(X)


def planted(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(6, 10))
    atoms /= np.linalg.norm(atoms, axis=1)[:, None]
    codes = 3 * rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.25)
    return codes @ atoms, atoms


def test_batches_end_as_low_as_those_of_scikit_learn() -> None:
    """At the same settings, over a few seeds; the certificate holds, and says how much all rows together could gain."""
    theirs = pytest.importorskip("sklearn.decomposition")
    X, _ = planted()
    ends, others = [], []
    for seed in range(4):
        given = {"alpha": 0.1, "batch_size": 50, "max_iter": 20, "random_state": seed}
        model = MiniBatchDictionaryLearning(6, **given).fit(X)
        assert qed.verify(model, X).holds
        ends.append(model.certificate_.objective)
        D = theirs.MiniBatchDictionaryLearning(6, **given).fit(X).components_
        U = sparse_encode(X, D, alpha=0.1)
        others.append(np.sum((X - U @ D) ** 2) / 2 + 0.1 * np.abs(U).sum())
    assert np.mean(ends) <= 1.05 * np.mean(others)


def test_partial_fit_goes_on() -> None:
    """Batch after batch lowers the cost of rows that were not seen, and the model speaks of the last batch."""
    X, _ = planted(600)
    model = MiniBatchDictionaryLearning(6, alpha=0.1, batch_size=100, transform_algorithm="lasso_cd", random_state=0)
    costs = []
    for first in range(0, 500, 100):
        model.partial_fit(X[first : first + 100])
        codes = model.transform(X[500:])
        costs.append(np.sum((X[500:] - codes @ model.components_) ** 2) / 2 + 0.1 * np.abs(codes).sum())
    assert costs[-1] < costs[0]
    assert model.n_steps_ == 5
    assert qed.verify(model, X[400:500]).holds
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X[:100])


@pytest.mark.parametrize("algorithm", ["omp", "lasso_cd", "lasso_lars", "threshold"])
def test_a_coder_gives_the_codes_of_sparse_encode(algorithm: str) -> None:
    """For atoms that are given, before any fit; a fit says how good they are."""
    X, atoms = planted(50)
    coder = SparseCoder(atoms, transform_algorithm=algorithm, transform_alpha=0.5)
    codes = coder.transform(X)
    np.testing.assert_array_equal(codes, sparse_encode(X, atoms, algorithm=algorithm, alpha=0.5, max_iter=1000))
    np.testing.assert_allclose(coder.inverse_transform(codes), codes @ atoms, atol=1e-12)
    assert qed.verify(coder.fit(X), X).holds
    if algorithm.startswith("lasso"):
        assert coder.certificate_.relative_gap < 1e-7
        short = SparseCoder(atoms, transform_algorithm=algorithm, transform_alpha=0.5, transform_max_iter=1).fit(X)
        best = coder.certificate_.objective
        assert short.certificate_.objective - best <= short.certificate_.gap


def test_a_coder_without_atoms_or_with_others() -> None:
    """Unit vectors are atoms where none are given; others must have as many columns as the rows."""
    assert SparseCoder(transform_algorithm="lasso_cd").transform([[3.0, -0.5]]).tolist() == [[2.0, 0.0]]
    with pytest.raises(ValueError, match="different numbers of features"):
        SparseCoder(np.eye(3)).transform([[1.0, 2.0]])
    with pytest.raises(ValueError, match="another number of atoms"):
        SparseCoder(np.eye(3)).inverse_transform([[1.0, 2.0]])


def test_gain_of_atoms_at_the_edge_of_the_ball_is_nothing() -> None:
    """An atom whose best place is beyond the ball is at its best on the sphere: the certificate must not count it as a gain."""
    X = np.outer(np.linspace(5, 9, 30), [3.0, 4.0])
    model = DictionaryLearning(1, alpha=0.1, random_state=0).fit(X)
    assert model.certificate_.gap - model.certificate_.rounding <= 1e-9 * model.certificate_.null_objective
