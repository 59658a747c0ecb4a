"""Dictionary learning: codes of the lasso, an objective that never rises, planted atoms, agreement with scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import decomposition as theirs

import qed
from qed.core import InvalidData, InvalidParameter
from qed.decomposition import DictionaryLearning

rng = np.random.default_rng(4)
ATOMS = rng.standard_normal((6, 12))
ATOMS /= np.linalg.norm(ATOMS, axis=1)[:, None]
CODES = 3 * rng.standard_normal((400, 6)) * (rng.random((400, 6)) < 0.25)
X = CODES @ ATOMS + 0.01 * rng.standard_normal((400, 12))


def objective(model, codes, alpha):
    return 0.5 * np.sum((X - codes @ model.components_) ** 2) + alpha * np.abs(codes).sum()


@pytest.mark.covers("DIM-23")
def test_planted_atoms_are_found_and_the_objective_never_rises():
    model = DictionaryLearning(6, alpha=0.05, random_state=0, transform_algorithm="lasso_cd").fit(X)
    assert np.abs(model.components_ @ ATOMS.T).max(axis=0).min() > 0.99
    assert np.all(np.diff(model.error_) <= 1e-10 * model.error_[0])
    codes = model.transform(X)
    slope = (X - codes @ model.components_) @ model.components_.T
    used = codes != 0
    np.testing.assert_allclose(slope[used], 0.05 * np.sign(codes[used]), atol=1e-5)
    assert np.all(np.abs(slope[~used]) <= 0.05 + 1e-5)
    assert objective(model, codes, 0.05) == pytest.approx(model.certificate_.objective, rel=1e-7)
    assert qed.verify(model, X).holds


@pytest.mark.parametrize("options", [{}, {"positive_code": True}, {"positive_dict": True}])
@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_the_objective_is_no_worse_than_that_of_scikit_learn(alpha, options):
    given = {"alpha": alpha, "random_state": 0, "max_iter": 200, "fit_algorithm": "cd", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = theirs.DictionaryLearning(5, transform_algorithm="lasso_cd", **given).fit(X)
        codes = other.transform(X)
    ours = DictionaryLearning(5, **given).fit(X)
    assert ours.certificate_.objective <= 1.02 * objective(other, codes, alpha)
    assert not options.get("positive_dict") or ours.components_.min() >= 0
    assert np.all(np.linalg.norm(ours.components_, axis=1) <= 1 + 1e-12)
    assert qed.verify(ours, X).holds


def test_no_single_part_gains_more_than_stated():
    model = DictionaryLearning(6, alpha=0.3, max_iter=3, random_state=0, transform_algorithm="lasso_cd").fit(X)
    codes, base = model.transform(X), model.certificate_.objective
    gains = []
    for j in range(6):
        for _ in range(30):
            atoms = model.components_.copy()
            atoms[j] += 0.05 * rng.standard_normal(12)
            atoms[j] /= max(np.linalg.norm(atoms[j]), 1)
            gains.append(base - 0.5 * np.sum((X - codes @ atoms) ** 2) - 0.3 * np.abs(codes).sum())
    assert max(gains) <= model.certificate_.gap


def test_signs_may_be_split_and_rows_come_back():
    model = DictionaryLearning(6, alpha=0.05, random_state=0, split_sign=True, transform_n_nonzero_coefs=6).fit(X)
    codes = model.transform(X)
    assert codes.shape == (400, 12)
    assert codes.min() >= 0
    np.testing.assert_allclose(model.inverse_transform(codes), X, atol=0.2)
    assert len(model.get_feature_names_out()) == 12


def test_what_makes_no_sense_is_refused():
    for wrong in ({"dict_init": np.eye(3)}, {"code_init": np.ones((3, 6))}, {"callback": print}):
        with pytest.raises(InvalidParameter):
            DictionaryLearning(6, **wrong).fit(X)
    model = DictionaryLearning(3, max_iter=2, random_state=0, transform_algorithm="lars").fit(X)
    with pytest.raises(InvalidParameter, match="lars"):
        model.transform(X)
    with pytest.raises(InvalidData, match="codes"):
        model.inverse_transform(np.ones((2, 7)))
    zero = DictionaryLearning(2, random_state=0).fit(np.zeros((4, 3)))
    assert zero.certificate_.objective == 0
