"""Families share their interfaces: what is fitted without a target, and what tells classes apart without help."""

from importlib.util import find_spec

import numpy as np
import pytest

import qed
from qed.cluster import KMeans
from qed.datasets import load_iris
from qed.decomposition import PCA
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.linear_model import LogisticRegression
from qed.naive_bayes import GaussianNB
from qed.neighbors import KernelDensity, KNeighborsClassifier
from qed.neural_network import MLPClassifier
from qed.tree import DecisionTreeClassifier

X = load_iris().data.astype(float)
LABELS = np.array(["setosa", "versicolor", "virginica"])[load_iris().target.astype(int)]


@pytest.mark.covers("FND-02")
def test_families_without_a_target_share_one_interface():
    density, groups, directions = KernelDensity(bandwidth=0.5), KMeans(3, random_state=0), PCA(2)
    for model in (density, groups, directions):
        assert model.fit(X) is model
        whole = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}
        again = vars(qed.clone(model).fit(X, LABELS))  # a target is not looked at
        for name, value in whole.items():
            np.testing.assert_array_equal(value, again[name], err_msg=name)
        assert model.n_features_in_ == 4
        assert qed.verify(model, X).holds
    # densities: the logarithm of a mean of Gaussians about the rows, which integrates to one
    away = np.sum((X[:5, np.newaxis] - X[np.newaxis]) ** 2, axis=2) / (2 * 0.5**2)
    heights = np.exp(-away).mean(axis=1) / (2 * np.pi * 0.5**2) ** 2
    np.testing.assert_allclose(density.score_samples(X[:5]), np.log(heights))
    assert density.score(X) == pytest.approx(density.score_samples(X).sum())
    # groups: every row belongs to the nearest centre, and every centre is the mean of its rows
    nearest = np.argmin(np.sum((X[:, np.newaxis] - groups.cluster_centers_) ** 2, axis=2), axis=1)
    np.testing.assert_array_equal(groups.labels_, nearest)
    np.testing.assert_array_equal(groups.predict(X), groups.labels_)
    np.testing.assert_array_equal(qed.clone(groups).fit_predict(X), groups.labels_)
    means = np.array([X[groups.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(groups.cluster_centers_, means, atol=0.02)
    # directions: those of the largest variance, and rows seen along them
    centred = X - X.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / (len(X) - 1))
    np.testing.assert_allclose(directions.explained_variance_, variances[:-3:-1])
    np.testing.assert_allclose(np.abs(np.sum(directions.components_ * axes[:, :-3:-1].T, axis=1)), 1.0)
    np.testing.assert_allclose(directions.transform(X), centred @ directions.components_.T, atol=1e-12)
    assert directions.score(X) == pytest.approx(directions.score_samples(X).mean())


NATURALLY_MANY = [
    KNeighborsClassifier(),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    DecisionTreeClassifier(max_depth=3),
    LogisticRegression(),
    pytest.param(
        MLPClassifier((10,), solver="lbfgs", random_state=0),
        marks=pytest.mark.skipif(
            find_spec("torch") is None, reason="networks learn with PyTorch, which is not installed"
        ),
    ),
]


@pytest.mark.covers("MUL-17")
@pytest.mark.parametrize("model", NATURALLY_MANY, ids=lambda model: type(model).__name__)
def test_models_of_many_classes_share_one_interface(model):
    model.fit(X, LABELS)
    assert model.classes_.tolist() == sorted(set(LABELS))
    shares = model.predict_proba(X)
    assert shares.shape == (150, 3)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    assert model.score(X, LABELS) == np.mean(model.predict(X) == LABELS)
    assert model.score(X, LABELS) > 0.94
    other = {"setosa": "z", "versicolor": "y", "virginica": "x"}  # columns follow the names
    renamed = qed.clone(model).fit(X, [other[label] for label in LABELS])
    if type(model).__name__ != "MLPClassifier":  # whose first weights belong to columns, not to labels
        np.testing.assert_allclose(renamed.predict_proba(X), shares[:, ::-1], atol=1e-6)
    assert renamed.classes_.tolist() == ["x", "y", "z"]
