"""What long runs of the fuzzers found, in its smallest form: honest models that were refused, changed ones that were accepted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.verify.found import refused

import qed
from qed import (
    cluster,
    compose,
    covariance,
    decomposition,
    discriminant_analysis,
    ensemble,
    linear_model,
    manifold,
    mixture,
    naive_bayes,
    neural_network,
    preprocessing,
    tree,
)
from qed.core import CertificateError
from qed.linear_model._kernels import residual_sums
from qed.verify._answers._found import drawn_map, factors

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


@pytest.mark.parametrize("seed", [96, 98, 170, 198, 199, 1068, 1352, 1896])
def test_true_claims_about_logistic_models_far_from_the_optimum_are_confirmed(seed):
    """Weights over 14 orders: whole Newton steps fell by next to nothing, signs went round in a circle, flat ways had no end."""
    rng = np.random.default_rng(seed)
    n, p, k = int(rng.integers(15, 90)), int(rng.integers(1, 12)), int(rng.choice([2, 3, 3, 4]))
    rows = rng.standard_t(2, size=(n, p))
    labels = ((rows / np.abs(rows).max(0)) @ rng.normal(size=(p, k)) * 4 + rng.gumbel(size=(n, k))).argmax(1)
    orders = rng.choice([0, 3, 7])
    weight = 10 ** rng.uniform(-orders, orders, size=n)
    options = {"C": 10 ** rng.uniform(-2, 3), "l1_ratio": float(rng.choice([0, 0, 0.5, 1]))}
    steps = int(rng.integers(1, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = linear_model.LogisticRegression(max_iter=steps, tol=1e-9, **options).fit(rows, labels, weight)
        best = linear_model.LogisticRegression(max_iter=100_000, tol=1e-13, **options).fit(rows, labels, weight)
    own, least = model.certificate_, best.certificate_
    gap = 1.001 * (own.objective - least.objective + least.gap) + least.rounding + 1e-11 * own.null_objective
    model.certificate_ = replace(own, gap=min(gap, own.gap), dual=None)
    assert qed.verify(model, rows, labels, weight).holds
    model.certificate_ = replace(own, gap=0.9 * (own.objective - least.objective), dual=None)
    assert refused(model, rows, labels, weight)


def test_the_null_model_of_a_class_that_is_almost_certain_keeps_its_digits():
    rng = np.random.default_rng(2)
    rows, labels = rng.normal(size=(12, 2)), np.arange(12) % 3
    weight = np.where(labels == 0, 1e7, 1e-6 * (1 + rng.random(12)))
    model = linear_model.LogisticRegression(C=0.01).fit(rows, labels, weight)
    assert qed.verify(model, rows, labels, weight).holds


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


# -- classes whose means are next to those of all rows -----------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_a_class_midway_between_two_others_is_accepted(offset):
    """The middle mean is that of all rows up to rounding, and so is its hyperplane: every such fit was refused."""
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(10, 2))
    X, y = np.vstack([spread + 0.1 * (label + 1) + offset for label in range(3)]), np.repeat([0, 1, 2], 10)
    model = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y)
    assert qed.verify(model, X, y).holds
    model.coef_[0] *= 1 + 1e-6
    assert refused(model, X, y)


def test_a_class_of_nearly_all_weight_is_accepted():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    weight = np.where(y == 1, 1e7, 1e-4)
    model = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y, weight)
    assert qed.verify(model, X, y, weight).holds
    model.explained_variance_ratio_ = model.explained_variance_ratio_[:-1]
    assert refused(model, X, y, weight)


# -- least squares and networks ----------------------------------------------------------------------------


def test_the_objective_of_sparse_rows_of_very_different_weight_is_told_to_nine_digits():
    rng = np.random.default_rng(7)
    X = sp.csr_matrix(rng.normal(size=(9, 4)))
    y, weight = rng.normal(size=9), 10.0 ** rng.uniform(-6, 0, 9)
    weight[2] = 8.6e6
    model = linear_model.Ridge().fit(X, y, weight)
    residual = y - X @ model.coef_ - model.intercept_
    true = float(weight @ residual**2 + model.coef_ @ model.coef_)
    assert abs(model.certificate_.objective - true) <= 2e-9 * true
    assert qed.verify(model, X, y, weight).holds


def test_squared_residuals_are_held_to_nine_digits(X, y):
    model = linear_model.LinearRegression().fit(1e3 * X, 1e4 * y)
    assert qed.verify(model, 1e3 * X, 1e4 * y).holds
    model.squared_residuals_ *= 1 + 1e-7
    assert refused(model, 1e3 * X, 1e4 * y)


def test_residuals_of_targets_far_from_zero_keep_their_digits():
    """Targets less their mean are exact; less what is fitted first, they lost the digits of the mean."""
    rng = np.random.default_rng(8)
    X, y, w = rng.normal(size=(50, 3)), -8.3e7 + rng.normal(size=50), rng.normal(size=3)
    mean, centre = float(np.mean(y)), X.mean(axis=0)
    squares = residual_sums(X, y[:, None], w[:, None], np.array([mean]), None, centre)[2][0]
    wide = (y.astype(np.longdouble) - mean) - (X - centre).astype(np.longdouble) @ w
    assert abs(squares - float(wide @ wide)) <= 1e-13 * squares


@pytest.mark.parametrize("place", ["coefs_", "intercepts_"])
def test_units_that_no_row_reaches_hold_no_weights(place, X, y):
    rows = X + 10
    model = neural_network.MLPRegressor(hidden_layer_sizes=(30,), max_iter=5, random_state=0).fit(rows, y)
    silent = (rows @ model.coefs_[0] + model.intercepts_[0]).max(axis=0) <= 0
    assert silent.any()
    assert not model.coefs_[0][:, silent].any()
    assert not model.coefs_[1][silent].any()
    assert qed.verify(model, rows, y).holds
    unit = int(np.argmax(silent))
    if place == "coefs_":
        model.coefs_[1][unit] = 0.7
    else:
        model.intercepts_[0][unit] = -0.1
    assert refused(model, rows, y)


# -- embeddings and codes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_axes_of_equal_eigenvalues_are_settled_by_the_columns(dtype):
    """Points on a circle: the two least eigenvalues tie, and any pair of axes of their space would do."""
    angle = np.arange(24) * 2 * np.pi / 24
    X = np.column_stack([np.cos(angle), np.sin(angle)]).astype(dtype)
    model = manifold.SpectralEmbedding(2, affinity="rbf", gamma=2.0).fit(X)
    assert qed.verify(model, X).holds
    order = np.random.default_rng(0).permutation(24)
    again = manifold.SpectralEmbedding(2, affinity="rbf", gamma=2.0).fit(X[order])
    assert np.allclose(np.abs(again.embedding_), np.abs(model.embedding_[order]), atol=1e-5)  # a circle has no sides
    model.embedding_ = model.embedding_[:, ::-1].copy()
    assert refused(model, X)


def test_dependent_atoms_of_unequal_length_have_the_best_codes():
    rng = np.random.default_rng(9)
    for _ in range(40):
        atoms = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4)) * 10.0 ** rng.uniform(-1, 1, (6, 1))
        rows = rng.normal(size=(20, 4)) * 10.0 ** rng.uniform(-1, 2, (20, 1))
        coder = decomposition.SparseCoder(atoms, transform_algorithm="lasso_cd", transform_alpha=0.05).fit(rows)
        assert coder.certificate_.gap <= 1e-7 * coder.certificate_.null_objective
        assert qed.verify(coder, rows).holds


@pytest.mark.parametrize("kind", ["DictionaryLearning", "MiniBatchDictionaryLearning"])
def test_atoms_that_no_row_uses_are_zero(kind, X):
    """No row is worth its penalty: any atoms would state the same, and code new rows otherwise."""
    model = getattr(decomposition, kind)(2, alpha=50.0, random_state=0).fit(X)
    assert not model.components_.any()
    assert qed.verify(model, X).holds
    model.components_ = np.eye(2, 4)
    assert refused(model, X)


def test_a_stream_keeps_atoms_that_its_last_batch_does_not_use(X):
    model = decomposition.MiniBatchDictionaryLearning(2, alpha=0.1, random_state=0)
    model.partial_fit(X).partial_fit(1e-3 * X)
    assert model.components_.any(axis=1).all()
    assert qed.verify(model, 1e-3 * X).holds


# -- words, seeds and types --------------------------------------------------------------------------------


def test_words_of_what_is_claimed_and_of_what_is_not(X, y):
    labels = (y > 0).astype(int)
    for model, rows in ((naive_bayes.MixedNB(), X), (naive_bayes.PoissonNB(), np.round(np.abs(X)))):
        model.fit(rows, labels)
        model.certificate_ = replace(model.certificate_, what="The truth")
        assert refused(model, rows, labels)
    pipeline = compose.Pipeline([("f", preprocessing.FunctionTransformer(np.tanh)), ("r", linear_model.Ridge())]).fit(
        X, y
    )
    assert qed.verify(pipeline, X, y).holds
    pipeline[0].certificate_ = replace(pipeline[0].certificate_, reason="")
    assert refused(pipeline, X, y)


def test_the_seed_of_an_imputer_is_that_of_its_parameter(X):
    rows = X.copy()
    rows[::7, 1] = np.nan
    model = preprocessing.IterativeImputer(random_state=0).fit(rows)
    assert qed.verify(model, rows).holds
    model.seed_ = 0
    assert refused(model, rows)


def test_numbers_are_not_stored_as_objects(X):
    rows = np.round(X)
    for kind in (preprocessing.OneHotEncoder, preprocessing.OrdinalEncoder):
        model = kind().fit(rows)
        model.categories_[1] = model.categories_[1].astype(object)
        assert refused(model, rows)


# -- numbers outside of the range in which a proof holds ---------------------------------------------------


def test_shares_of_shrinkage_do_not_depend_on_the_unit():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(12, 3)) * [1, 2, 3]
    for kind in (covariance.OAS, covariance.LedoitWolf):
        wanted = kind().fit(X).shrinkage_
        for size in (1e-100, 1e100):
            assert abs(kind().fit(size * X).shrinkage_ - wanted) <= 1e-9


def test_numbers_outside_the_range_of_a_proof_are_refused_in_words():
    X = np.random.default_rng(11).integers(-2, 3, (8, 2)) * 8e46
    weight = 10.0 ** np.arange(8)
    with pytest.raises(qed.InvalidData, match="reg_covar"):
        mixture.GaussianMixture(2, random_state=0).fit(X, sample_weight=weight)
    with pytest.raises(qed.InvalidData, match="fourth powers"):
        manifold.ClassicalMDS(1).fit(1e100 * X)
    with pytest.raises(qed.InvalidData):
        covariance.EmpiricalCovariance(assume_centered=True).fit(np.column_stack([np.full(8, 1e-200), X[:, 0] / 8e46]))


# -- weights, axes and null models -------------------------------------------------------------------------------------------


def test_one_row_that_outweighs_its_class_leaves_its_variance_its_digits():
    rows = np.array([[0.709], [0.058], [-1.157], [2.896], [16.708], [0.1], [0.7]])
    labels, weight = np.array([0, 0, 0, 0, 0, 1, 1]), np.array([2.9e-7, 1.3e-4, 1.5e6, 2.9e-6, 5.7e-7, 1.0, 1.0])
    model = naive_bayes.GaussianNB().fit(rows, labels, weight)
    assert qed.verify(model, rows, labels, weight).holds


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    "model", [manifold.LocallyLinearEmbedding(method="ltsa", n_neighbors=8), manifold.SpectralEmbedding()]
)
def test_axes_of_an_embedding_are_not_zero(model, kind):
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(20, 4)), rng.normal(size=(20, 4)) + 1000]).astype(
        kind
    )  # two groups: values of zero
    model = qed.clone(model).fit(rows)
    assert qed.verify(model, rows).holds
    for axes in (slice(None), slice(1, 2)):
        points = np.array(model.embedding_)
        model.embedding_ = points.copy()
        model.embedding_[:, axes] = 0
        assert refused(model, rows)
        model.embedding_ = points


def test_the_objective_of_the_null_model_is_compared_to_nine_digits(X, y):
    model = linear_model.LogisticRegression().fit(X, y > 0, np.full(40, 1e6))
    model.certificate_ = replace(model.certificate_, null_objective=model.certificate_.null_objective * (1 + 1e-7))
    assert refused(model, X, y > 0, np.full(40, 1e6))


def test_penalties_that_are_lost_beside_dependent_components(X):
    model = decomposition.SparsePCA(2, random_state=0).fit(X)
    model.components_, model.ridge_alpha = np.ones_like(model.components_) * 1e10, 1e-300
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("name", ["doc_topic_prior_", "topic_word_prior_"])
@pytest.mark.parametrize("prior", [10**400, 1e308, 2.0])
def test_priors_of_topics_are_at_most_one_in_a_file(name, prior, tmp_path):
    counts = np.random.default_rng(0).poisson(1.0, (12, 5))
    model = decomposition.LatentDirichletAllocation(2, random_state=0).fit(counts)
    setattr(model, name, prior)
    with pytest.raises(qed.core.ModelFileError, match=name):
        model.save(tmp_path / "topics.qed")
    assert refused(model, counts)
