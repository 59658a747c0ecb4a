"""What long runs of the fuzzers found, in its smallest form: honest models that were refused, changed ones that were accepted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import qed
from qed import cluster, covariance, decomposition, ensemble, linear_model, manifold, naive_bayes, preprocessing, tree
from qed.core import CertificateError
from qed.verify._answers._found import drawn_map, factors


@pytest.fixture(name="X")
def _rows():
    return np.random.default_rng(5).normal(size=(40, 4))


@pytest.fixture(name="y")
def _target(X):
    return X[:, 0] + 0.5 * X[:, 1] + np.random.default_rng(6).normal(size=40)


def refused(model, *data):
    """Tell whether the checker refuses a model."""
    with pytest.raises(CertificateError):
        qed.verify(model, *data)
    return True


# -- honest models -----------------------------------------------------------------------------------------


def test_codes_of_nearly_dependent_atoms_are_the_best_ones():
    """Three atoms in a plane, up to a millionth: sweeps over single codes stopped two per cent above the optimum."""
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(3, 2)) @ rng.normal(size=(2, 5)) + 1e-6 * rng.normal(size=(3, 5))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    rows = 50 * rng.normal(size=(30, 5))
    for positive in (False, True):
        U = decomposition.sparse_encode(
            rows, atoms, algorithm="lasso_cd", alpha=0.3, max_iter=20_000, positive=positive
        )
        rest = rows - U @ atoms
        slopes = rest @ atoms.T
        dual = rest * np.minimum(1, 0.3 / (slopes if positive else np.abs(slopes)).max(axis=1).clip(1e-300))[:, None]
        primal = (rest**2).sum() / 2 + 0.3 * np.abs(U).sum()
        bound = ((rows**2).sum() - ((rows - dual) ** 2).sum()) / 2
        assert primal - bound <= 1e-7 * primal


def test_dictionaries_of_nearly_dependent_atoms_are_accepted():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 4)) * 100 + 1e-4 * rng.normal(size=(40, 4))
    model = decomposition.DictionaryLearning(3, alpha=0.3, random_state=0, max_iter=50).fit(rows)
    assert qed.verify(model, rows).holds


def test_a_class_without_weight_keeps_nothing_of_its_rows():
    rows, labels = np.array([[1.0, 2], [3, 4], [5, 6], [7, 1], [2, 2]]), np.array([0, 0, 1, 1, 2])
    weight = np.array([1.0, 1, 2, 1, 0])
    model = naive_bayes.GaussianNB().fit(rows, labels, weight)
    assert model.theta_[2].tolist() == [0, 0]
    assert qed.verify(model, rows, labels, weight).holds


def test_categories_of_rows_without_weight_are_not_known():
    rows, labels = np.array([[0.0], [1], [2], [5]]), np.array([0, 1, 1, 0])
    weight = np.array([1.0, 1, 2, 0])
    model = naive_bayes.MixedNB(["categorical"]).fit(rows, labels, weight)
    assert model.parameters_[0].shape == (2, 3)
    assert qed.verify(model, rows, labels, weight).holds


def test_variances_of_sparse_columns_whose_zeros_have_little_weight():
    column = np.array([0.0, -3.8, -3.9, 0.0, -3.7])
    weight = np.array([1e-7, 2e6, 1e6, 3e-7, 5e5])
    rows = sp.csc_matrix(np.column_stack([column, column[::-1]]))
    model = preprocessing.StandardScaler(with_mean=False).fit(rows, sample_weight=weight)
    assert qed.verify(model, rows, sample_weight=weight).holds


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_rotated_loadings_of_columns_of_very_different_size(rotation, X):
    rows = X * np.array([1e4, 1e-3, 1e-2, 1e-3])
    model = decomposition.FactorAnalysis(2, rotation=rotation).fit(rows)
    assert qed.verify(model, rows).holds
    model.components_ = -model.components_
    assert refused(model, rows)


# -- changed models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [tree.ExtraTreeClassifier, tree.ExtraTreeRegressor, tree.DecisionTreeClassifier])
def test_single_trees_are_those_of_their_seed(kind, X, y):
    target = y if kind is tree.ExtraTreeRegressor else y > 0
    model = kind(max_features=2, random_state=0).fit(X, target)
    assert qed.verify(model, X, target).holds
    node, drawn = model.tree_, model.splitter == "random"
    values = np.sort(X[:, node.feature[0]])
    low = values[values <= node.threshold[0]].max()
    moved = node.threshold.copy()
    moved[0] = low + (values[values > node.threshold[0]].min() - low) * (0.3 if node.threshold[0] > low else 0.6)
    model.tree_ = replace(node, threshold=moved)
    assert refused(model, X, target)
    model.tree_ = node
    seed = model.seed_
    for other in (0, seed + 1):
        model.seed_ = other
        assert refused(model, X, target)
    del model.seed_
    assert refused(model, X, target)
    assert drawn or kind is tree.DecisionTreeClassifier


def test_a_seed_is_not_stated_where_nothing_is_drawn(X, y):
    model = tree.DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert model.seed_ == 0
    model.seed_ = 7
    assert refused(model, X, y)


def test_the_least_eigenvalue_of_a_kernel(X):
    model = decomposition.KernelPCA(kernel="poly", gamma=0.05).fit(X)
    assert qed.verify(model, X).holds
    model.eigenvalues_ = np.append(model.eigenvalues_[:-1], 0.0)
    assert refused(model, X)


def test_the_order_of_atoms(X):
    model = decomposition.DictionaryLearning(3, alpha=0.3, random_state=0, max_iter=50).fit(X)
    model.components_ = model.components_[::-1].copy()
    assert refused(model, X)


def test_moments_of_independent_components(X):
    model = decomposition.FastICA(n_components=3, random_state=0).fit(X)
    model.certificate_ = replace(model.certificate_, objective=1.5 * model.certificate_.objective + 1e-9)
    assert refused(model, X)


def test_trustworthiness_is_compared_to_the_last_place(X):
    model = manifold.TSNE(perplexity=2, max_iter=60, random_state=0).fit(X)
    model.certificate_ = replace(model.certificate_, trustworthiness=model.certificate_.trustworthiness - 0.003)
    assert refused(model, X)


def test_infinite_core_distances(X):
    model = cluster.OPTICS().fit(X)
    model.core_distances_[model.ordering_[-1]] = np.inf
    assert refused(model, X)


def test_the_strength_of_a_graphical_lasso_is_the_best_of_its_scores(X):
    model = covariance.GraphicalLassoCV(alphas=2, n_refinements=1, cv=2).fit(X)
    model.alpha_ += 1.0
    assert refused(model, X)


def test_one_strength_for_all_targets(X, y):
    targets = np.column_stack([y, -y])
    model = linear_model.RidgeCV(alphas=(0.1, 1.0)).fit(X, targets)
    model.alpha_ = np.array([model.alpha_, model.alpha_])
    assert refused(model, X, targets)


def test_curvature_of_a_bounded_loss_is_not_overstated(X, y):
    model = linear_model.BoundedRegressor().fit(X, y)
    model.certificate_ = replace(model.certificate_, curvature=model.certificate_.curvature + 0.01)
    assert refused(model, X, y)


def test_leaves_of_forests_ask_nothing(X, y):
    model = ensemble.RandomForestRegressor(n_estimators=2, max_depth=1, max_features=None, random_state=0).fit(X, y)
    ends = model.trees_.feature < 0
    model.trees_ = replace(
        model.trees_, feature=np.where(ends, -4, model.trees_.feature).astype(model.trees_.feature.dtype)
    )
    assert refused(model, X, y)


def test_one_number_of_rows(X):
    model = preprocessing.StandardScaler().fit(X)
    model.n_samples_seen_ = np.full(4, 40)
    assert refused(model, X)


@pytest.mark.parametrize("beta", [2.0, 1.0])
def test_codes_of_nonnegative_factors_are_those_of_the_components(beta, X):
    rows = np.abs(X)
    solver = "cd" if beta == 2 else "mu"
    model = decomposition.NMF(2, beta_loss=beta, solver=solver, init="nndsvda", random_state=0).fit(rows)
    told = model.transform(rows)
    factors(model, rows, told)
    told[3, 1] += 1e-3
    with pytest.raises(CertificateError):
        factors(model, rows, told)


@pytest.mark.parametrize("name", ["GaussianRandomProjection", "SparseRandomProjection", "HadamardProjection"])
def test_projections_are_drawn_again(name, X):
    model = getattr(decomposition, name)(3, random_state=0).fit(X)
    told = model.transform(X)
    drawn_map(model, X, told)
    model.seed_ += 1
    with pytest.raises(CertificateError):
        drawn_map(model, X, told)
