"""Files that ended in an error which is not qed's, or took too long: refused where they are read, or by the method in words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qed import cluster, decomposition, ensemble, feature_selection, linear_model, manifold, mixture, preprocessing
from qed.core import InvalidData, InvalidDataType, InvalidParameter, MemoryLimit, ModelFileError, NotFitted, QedError
from qed.core._persistence import dumps, loads
from qed.core._state import check_state
from qed.metrics import pairwise_distances
from qed.model_selection import FixedThresholdClassifier, GridSearchCV
from qed.naive_bayes import GaussianNB
from qed.tree import DecisionTreeClassifier

X = np.random.default_rng(1).normal(size=(30, 4))
y = (X[:, 0] > 0).astype(int)


def test_an_attribute_that_a_fit_left_out():
    model = cluster.KMedoids(2, random_state=0).fit(X)
    del model.cluster_centers_
    with pytest.raises(NotFitted, match="KMedoids has no cluster_centers_"):
        model.predict(X)
    with pytest.raises(AttributeError):
        _ = model.cluster_centers_
    assert not hasattr(model, "cluster_centers_")
    kernel = loads(dumps(decomposition.KernelPCA(2).fit(X)))
    kernel.fit_inverse_transform = True
    with pytest.raises(QedError):
        kernel.inverse_transform(X[:, :2])


def test_errors_of_properties_keep_their_words():
    with pytest.raises(AttributeError, match="nothing_of_this_kind"):
        _ = cluster.KMeans().nothing_of_this_kind
    with pytest.raises(AttributeError, match="refit=False"):
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, refit=False, cv=2).fit(X, y).score(X, y)


@pytest.mark.parametrize("inner", [mixture.GaussianMixture(), ensemble.IsolationForest(n_estimators=2)])
def test_thresholds_are_those_of_classifiers(inner):
    model = FixedThresholdClassifier(GaussianNB(), threshold=0.5).fit(X, y)
    model.estimator_ = inner.fit(X)
    with pytest.raises(ModelFileError, match="should have classes_"):
        check_state(model)


def test_a_positive_label_is_one_label():
    model = FixedThresholdClassifier(GaussianNB(), threshold=0.5).fit(X, y)
    model.pos_label = np.array([0, 1])
    with pytest.raises(InvalidParameter, match="pos_label"):
        model.predict(X)


def test_copies_of_bagging_know_labels():
    model = ensemble.BaggingClassifier(GaussianNB(), n_estimators=2, random_state=0).fit(X, y)
    model.estimator = mixture.GaussianMixture()
    model.estimators_ = [mixture.GaussianMixture(random_state=0).fit(X) for _ in range(2)]
    with pytest.raises(ModelFileError, match="knows no labels"):
        check_state(model)


def test_statistics_are_no_scorers():
    model = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-8]}, cv=2).fit(X, y)
    other = loads(dumps(model)).set_params(scoring=feature_selection.f_classif)
    with pytest.raises(InvalidParameter, match="scorer"):
        other.score(X, y)


@pytest.mark.parametrize("metric", [np.log, np.maximum, np.object_])
def test_functions_that_are_no_metric(metric):
    before = X.copy()
    with pytest.raises(InvalidParameter, match="gives no number of two rows"):
        pairwise_distances(X, metric=metric)
    assert np.array_equal(X, before)  # np.log(a, b) would write into b


def test_numbers_of_clusters_are_no_more_than_columns():
    model = cluster.FeatureAgglomeration(2).fit(X)
    model.n_clusters_ = 2**31
    with pytest.raises(ModelFileError, match="n_clusters_"):
        check_state(model)
    model.n_clusters_ = 2
    with pytest.raises(InvalidData, match="2 clusters"):
        model.inverse_transform(X[:, :1])
    model.pooling_func = np.log
    with pytest.raises(InvalidParameter, match="pooling_func"):
        model.transform(X)


def test_nodes_of_birch_take_space_for_rows_that_there_are():
    plain = cluster.Birch(threshold=0.5, branching_factor=1000).fit(X)
    model = cluster.Birch(threshold=0.5, branching_factor=2**40).fit(X)
    assert np.array_equal(model.subcluster_centers_, plain.subcluster_centers_)


def test_moves_of_new_points_are_bounded():
    model = manifold.UMAP(n_neighbors=5, n_epochs=10, random_state=0).fit(X)
    for name in ("n_epochs", "negative_sample_rate"):
        other = loads(dumps(model)).set_params(**{name: 2**31})
        with pytest.raises(InvalidParameter, match="Lower one of them"):
            other.transform(X[:2] + 0.01)


def test_neighbours_whose_weights_are_not_determined():
    model = manifold.LocallyLinearEmbedding(n_neighbors=6, random_state=0).fit(X)
    model.reg, model.rows_ = 0.0, np.zeros_like(model.rows_)
    with pytest.raises(QedError):
        model.transform(X[:2])


def test_projections_of_impossible_sizes():
    model = decomposition.HadamardProjection(2, random_state=0).fit(X)
    model.n_features_in_ = 2**40
    with pytest.raises(MemoryLimit):
        _ = model.components_
    few = decomposition.SparseRandomProjection(2, random_state=0).fit(X)
    few.n_features_in_ = 2**45
    with pytest.raises(MemoryLimit):
        _ = few.components_


@pytest.mark.parametrize("prior", ["", "a", slice(None), [[1.0, 2.0]]])
def test_priors_that_are_none(prior):
    with pytest.raises(QedError):
        linear_model.BayesianLinearRegression(prior_covariance=prior).fit(X, y)


def test_functions_of_numbers_on_sparse_tables():
    model = preprocessing.FunctionTransformer(np.log).fit(np.abs(X))
    with pytest.raises(InvalidDataType, match="csr_matrix"):
        model.transform(sp.csr_matrix(np.abs(X)))


def test_directions_of_unequal_lengths():
    with pytest.raises(InvalidParameter, match="monotonic_cst"):
        DecisionTreeClassifier(monotonic_cst=[[1, 0], 1, [0], 1]).fit(X, y)


def test_neighbours_of_no_rows():
    gaps = X.copy()
    gaps[0, 0] = np.nan
    model = preprocessing.KNNImputer(n_neighbors=2).fit(gaps)
    model.rows_ = model.rows_[:0]
    with pytest.raises(ModelFileError, match="rows_"):
        check_state(model)


def test_a_first_filling_of_fewer_columns_than_come_out():
    gaps = X.copy()
    gaps[0, 0] = np.nan
    model = preprocessing.IterativeImputer(max_iter=1, tol=1e9).fit(gaps)
    check_state(model)
    model.initial_imputer_.statistics_[1:] = np.nan
    with pytest.raises(ModelFileError, match="initial_imputer_ should fill the columns"):
        check_state(model)


@pytest.mark.parametrize("wrong", [5000, 2**63 - 2, 0])
def test_merges_that_join_what_is_not_there(wrong):
    model = cluster.HDBSCAN(min_cluster_size=3).fit(X)
    check_state(model)
    model.tree_children_[-1, 1] = wrong
    with pytest.raises(ModelFileError, match="tree_children_ should join each cluster once"):
        check_state(model)
