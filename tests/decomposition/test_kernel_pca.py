"""Kernel principal components: the dual form, new points, pre-images, and agreement with PCA and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import decomposition as theirs

import qed
from qed.core import InvalidData
from qed.decomposition import PCA, KernelPCA
from qed.metrics import pairwise_kernels

rng = np.random.default_rng(4)
X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
ANGLE = rng.uniform(0, 2 * np.pi, 80)
RINGS = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) * np.where(np.arange(80) < 40, 1.0, 3.0)[:, None]


def centred(K):
    J = np.eye(len(K)) - 1 / len(K)
    return J @ K @ J


@pytest.mark.covers("DIM-15", "DIM-16", "DIM-17")
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_directions_have_unit_length_in_feature_space_and_scores_are_scaled_eigenvectors(kernel):
    model = KernelPCA(3, kernel=kernel, gamma=0.2, degree=2).fit(X)
    options = {"gamma": 0.2, "degree": 2, "coef0": 1}
    K = centred(pairwise_kernels(X, metric=kernel, filter_params=True, **options))
    values, V = model.eigenvalues_, model.eigenvectors_
    A = V / np.sqrt(values)
    np.testing.assert_allclose(A.T @ K @ A, np.eye(3), atol=1e-10)  # squared lengths of the directions are one
    np.testing.assert_allclose(np.diag(A.T @ K @ K @ A), values, rtol=1e-9)  # the objective is the eigenvalue
    np.testing.assert_allclose(model.transform(X), V * np.sqrt(values), atol=1e-8 * np.sqrt(values[0]))
    assert np.linalg.eigvalsh(K)[::-1][:3] == pytest.approx(values)
    assert abs(V[:, 0] @ V[:, 0] - 1) < 1e-12  # eigenvectors themselves are no scores
    assert qed.verify(model, X).holds


@pytest.mark.covers("DIM-18")
def test_the_linear_kernel_gives_the_scores_of_pca():
    ours, other = KernelPCA(4).fit(X), PCA(4).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(other.transform(X)), atol=1e-8)
    np.testing.assert_allclose(ours.eigenvalues_ / (len(X) - 1), other.explained_variance_)


@pytest.mark.covers("DIM-19")
def test_one_column_can_have_many_components():
    column = np.linspace(0, 3, 12)[:, None]
    model = KernelPCA(kernel="rbf", gamma=30.0).fit(column)
    assert len(model.eigenvalues_) == 11  # one less than rows: centring takes one away


@pytest.mark.covers("DIM-34")
def test_products_alone_find_the_components_of_many_rows():
    many = rng.standard_normal((620, 3))
    model = KernelPCA(4, kernel="rbf", random_state=0).fit(many)
    values = np.linalg.eigvalsh(centred(pairwise_kernels(many, metric="rbf")))[::-1]
    assert model.solver_used_ == "krylov"
    np.testing.assert_allclose(model.eigenvalues_, values[:4], rtol=1e-7)
    assert values[:4].sum() - model.eigenvalues_.sum() <= model.certificate_.gap
    assert qed.verify(model, many).holds


def test_rings_are_told_apart_and_rows_come_back():
    given = {"n_components": 2, "kernel": "rbf", "gamma": 0.7, "fit_inverse_transform": True, "alpha": 0.01}
    model, other = KernelPCA(**given).fit(RINGS), theirs.KernelPCA(**given).fit(RINGS)
    np.testing.assert_allclose(np.abs(model.transform(RINGS)), np.abs(other.transform(RINGS)), atol=1e-8)
    back = model.inverse_transform(model.transform(RINGS))
    np.testing.assert_allclose(back, other.inverse_transform(other.transform(RINGS)), atol=1e-6)
    full = KernelPCA(20, kernel="rbf", gamma=0.7, fit_inverse_transform=True, alpha=1e-6).fit(RINGS)
    assert np.abs(full.inverse_transform(full.transform(RINGS)) - RINGS).max() < 0.1


def test_a_given_kernel_a_function_and_what_is_no_kernel():
    K = pairwise_kernels(X, metric="rbf")
    given = KernelPCA(2, kernel="precomputed").fit(K)
    plain = KernelPCA(2, kernel="rbf").fit(X)
    function = KernelPCA(2, kernel=lambda a, b: np.exp(-np.sum((a - b) ** 2) / 4)).fit(X)
    for other in (given, function):
        np.testing.assert_allclose(other.eigenvalues_, plain.eigenvalues_)
    np.testing.assert_allclose(given.transform(K), plain.transform(X), atol=1e-9)
    with pytest.raises(InvalidData, match="negative eigenvalues"):
        KernelPCA(2, kernel="precomputed").fit(-K)
    with pytest.raises(InvalidData, match="fit_inverse_transform"):
        plain.inverse_transform(np.ones((1, 2)))


@pytest.mark.parametrize("n", [100, 700])
def test_a_kernel_that_is_no_inner_product_is_refused_however_many_rows(n, monkeypatch):
    rows = np.random.default_rng(3).standard_normal((n, 6))
    with pytest.raises(InvalidData, match="negative eigenvalues"):
        KernelPCA(3, kernel="sigmoid", gamma=0.1).fit(rows)
    monkeypatch.setattr("qed.decomposition._kernel_pca._negligible", lambda *_: 1e9)
    with pytest.raises(qed.CertificateError, match="no feature space"):
        qed.verify(KernelPCA(3, kernel="sigmoid", gamma=0.1, random_state=0).fit(rows), rows)


@pytest.mark.parametrize("n", [100, 700])
def test_what_the_fit_takes_for_an_inner_product_so_does_the_checker(n):
    draws = np.random.default_rng(5)
    axes = np.linalg.qr(np.column_stack([np.ones(n), draws.standard_normal((n, n - 1))]))[0][:, 1:]
    values = np.concatenate([[30.0, 20.0, 10.0], draws.uniform(0, 0.02, n - 5), [0.0]])
    for least, is_one in ((0.0, True), (-5e-8 * values.sum(), True), (-2e-4, False)):
        values[-1] = least  # far inside of what the leading pairs show
        K = (axes * values) @ axes.T
        model = KernelPCA(3, kernel="precomputed", random_state=0)
        if is_one:
            assert qed.verify(model.fit((K + K.T) / 2), (K + K.T) / 2).holds
            continue
        with pytest.raises(InvalidData, match=r"-0\.0002 of a total"):
            model.fit((K + K.T) / 2)


@pytest.mark.parametrize(
    ("options", "is_known"),
    [
        ({"kernel": "linear"}, True),
        ({"kernel": "rbf"}, True),
        ({"kernel": "laplacian"}, True),
        ({"kernel": "cosine"}, True),
        ({"kernel": "poly"}, True),
        ({"kernel": "poly", "coef0": -1.0}, False),
        ({"kernel": "poly", "degree": 1.5}, False),
        ({"kernel": "sigmoid"}, False),
        ({"kernel": np.dot}, False),
        ({"kernel": "precomputed"}, False),
    ],
)
def test_only_a_kernel_that_is_positive_for_any_rows_takes_no_factor(options, is_known, monkeypatch):
    asked = []
    monkeypatch.setattr("qed.decomposition._kernel_pca._require_positive", lambda *_: asked.append(1))
    monkeypatch.setattr("qed.decomposition._kernel_pca._negligible", lambda *_: 1e9)
    rows = np.random.default_rng(6).random((501, 3))
    KernelPCA(2, random_state=0, **options).fit(rows @ rows.T if options["kernel"] == "precomputed" else rows)
    assert bool(asked) != is_known


def test_a_kernel_that_gives_no_number_is_refused_in_words():
    for odd in (lambda a, b: "word", lambda a, b: None, lambda a: 1.0, np.add):
        with pytest.raises(qed.InvalidParameter, match="gives no number"):
            pairwise_kernels(np.ones((2, 3)), metric=odd)


@pytest.mark.parametrize(("kernel", "far"), [("cosine", 1e5), ("poly", 1e6)])
def test_rows_far_from_zero_are_no_indefinite_kernel(kernel, far):
    away = X * [1.0, 0.1, 0.01, 0.001] + far * np.array([1.0, 2.0, 3.0, 4.0])
    model = KernelPCA(2, kernel=kernel, degree=1).fit(away)  # centring cancels: what is left is rounding of the kernel
    assert qed.verify(model, away).holds
    with pytest.raises(InvalidData, match="negative eigenvalues"):
        KernelPCA(2, kernel="precomputed").fit(-pairwise_kernels(X))


def test_rows_of_large_columns_are_given_back_but_for_a_thousandth_of_what_is_left():
    large = (X - X.mean(axis=0)) * [3e4, 1e4, 1.0, 1e-3]
    model = KernelPCA(2, fit_inverse_transform=True).fit(large)
    scores = model.X_transformed_fit_
    exact = scores @ np.linalg.solve(scores.T @ scores + np.eye(2), scores.T @ large)
    left = np.linalg.norm(large - exact, axis=0)
    assert np.all(np.linalg.norm(model.inverse_transform(scores) - exact, axis=0) <= 1e-3 * left + 1e-9)
    assert qed.verify(model, large).holds


def test_rows_whose_squares_leave_float64_are_refused_at_the_fit():
    with pytest.raises(InvalidData, match="underflow"):
        KernelPCA(2, kernel="rbf").fit(1e-300 * np.random.default_rng(0).random((20, 3)))
