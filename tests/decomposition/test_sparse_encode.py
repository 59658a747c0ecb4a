"""Sparse codes: optimality of the lasso, greedy pursuit, agreement with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import sparse_encode as theirs

from qed.core import InvalidData, InvalidParameter
from qed.decomposition import SparseCoder, sparse_encode

rng = np.random.default_rng(8)
ATOMS = rng.standard_normal((15, 10))
ATOMS /= np.linalg.norm(ATOMS, axis=1)[:, None]
X = rng.standard_normal((40, 10))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd"])
def test_codes_satisfy_the_optimality_of_the_lasso(algorithm, positive):
    codes = sparse_encode(X, ATOMS, algorithm=algorithm, alpha=0.4, positive=positive)
    pull = (X - codes @ ATOMS) @ ATOMS.T
    used = codes != 0
    assert 0 < used.mean() < 0.6
    np.testing.assert_allclose(pull[used], 0.4 * np.sign(codes[used]), atol=1e-6)
    assert np.all((pull if positive else np.abs(pull))[~used] <= 0.4 + 1e-6)
    assert not positive or codes.min() >= 0
    other = theirs(X, ATOMS, algorithm="lasso_cd", alpha=0.4, positive=positive, max_iter=20_000)
    ours, best = (0.5 * np.sum((X - w @ ATOMS) ** 2) + 0.4 * np.abs(w).sum() for w in (codes, other))
    assert ours <= best + 1e-9


def test_pursuit_and_threshold_are_those_of_scikit_learn():
    for count in (1, 3, 10):
        ours = sparse_encode(X, ATOMS, algorithm="omp", n_nonzero_coefs=count)
        np.testing.assert_allclose(ours, theirs(X, ATOMS, algorithm="omp", n_nonzero_coefs=count), atol=1e-9)
        assert np.all(np.count_nonzero(ours, axis=1) <= count)
    near = sparse_encode(X, ATOMS, algorithm="omp", alpha=0.5)
    assert np.all(np.sum((X - near @ ATOMS) ** 2, axis=1) <= 0.5 + 1e-9)
    for positive in (False, True):
        ours = sparse_encode(X, ATOMS, algorithm="threshold", alpha=0.3, positive=positive)
        np.testing.assert_allclose(ours, theirs(X, ATOMS, algorithm="threshold", alpha=0.3, positive=positive))


def test_a_planted_code_is_recovered():
    code = np.zeros((1, 15))
    code[0, [2, 9]] = [3.0, -2.0]
    np.testing.assert_allclose(sparse_encode(code @ ATOMS, ATOMS, algorithm="omp", n_nonzero_coefs=2), code, atol=1e-10)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidData, match="features"):
        sparse_encode(X, ATOMS[:, :5])
    with pytest.raises(InvalidData, match="NaN"):
        sparse_encode([[np.nan] * 10], ATOMS)
    for wrong in ({"algorithm": "lars"}, {"alpha": -1.0}, {"max_iter": 0}, {"n_nonzero_coefs": 3}):
        with pytest.raises(InvalidParameter):
            sparse_encode(X, ATOMS, **wrong)
    for wrong in ({"positive": True}, {"n_nonzero_coefs": 0}):
        with pytest.raises(InvalidParameter):
            sparse_encode(X, ATOMS, algorithm="omp", **wrong)


def test_a_coder_tells_how_many_atoms_it_has():
    assert SparseCoder(ATOMS).fit(X).n_components_ == 15
    assert SparseCoder().fit(X).n_components_ == 10  # unit vectors
