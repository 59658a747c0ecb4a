"""Embeddings: what each method promises, agreement with scikit-learn, and faithful certificates."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import sklearn.manifold as rival
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, csr_array

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter, MemoryLimit
from qed.datasets import load_digits, load_iris
from qed.decomposition import PCA
from qed.manifold import (
    MDS,
    TSNE,
    UMAP,
    ClassicalMDS,
    Isomap,
    LocallyLinearEmbedding,
    SpectralEmbedding,
    continuity,
    joint_probabilities,
    locally_linear_embedding,
    smacof,
    spectral_embedding,
    trustworthiness,
    tsne_divergence,
)
from qed.manifold._fuzzy_graph import fuzzy_graph
from qed.manifold._kernels import Edges, membership_similarities, perplexity_similarities, tsne_gradient
from qed.manifold._neighborhoods import Space
from qed.metrics import euclidean_distances, rbf_kernel


def same_up_to_sign(ours, theirs, tolerance):
    """Compare column by column."""
    for a, b in zip(ours.T, theirs.T, strict=True):
        off = min(np.abs(a - b).max(), np.abs(a + b).max())
        assert off <= tolerance * np.abs(b).max()


def roll(n, seed=0):
    """Return rows on a rolled-up strip."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])


IRIS = load_iris().data


# -- scaling by distances --------------------------------------------------------------------------------------


@pytest.mark.covers("DIM-20")
@given(seed=st.integers(0, 10**6), n=st.integers(4, 30), p=st.integers(1, 4))
def test_classical_scaling_reproduces_distances_and_principal_components(seed, n, p):
    X = np.random.default_rng(seed).standard_normal((n, p))
    k = min(p, n - 1)
    model = ClassicalMDS(k).fit(X)
    assert np.allclose(euclidean_distances(model.embedding_), euclidean_distances(X), atol=1e-7)
    same_up_to_sign(model.embedding_, PCA(k).fit_transform(X), 1e-6)
    qed.verify(model, X)


def test_classical_scaling_is_that_of_scikit_learn():
    ours, theirs = ClassicalMDS(3).fit(IRIS), rival.ClassicalMDS(3).fit(IRIS)
    same_up_to_sign(ours.embedding_, theirs.embedding_, 1e-9)
    assert np.allclose(ours.eigenvalues_, theirs.eigenvalues_)


@pytest.mark.parametrize("is_metric", [True, False])
def test_stress_never_rises_and_is_that_of_scikit_learn(is_metric):
    values = []
    with qed.listen(lambda event: values.append(event.value) if event.kind == "step" else None):
        ours = MDS(metric_mds=is_metric).fit(IRIS)
    if is_metric:
        assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))
    theirs = rival.MDS(metric_mds=is_metric, n_init=1, init="classical_mds").fit(IRIS)
    assert ours.stress_ <= theirs.stress_ * 1.001


def test_smacof_is_the_function_behind_it():
    D = euclidean_distances(IRIS[::5])
    points, stress, steps = smacof(D, random_state=0, return_n_iter=True)
    away = euclidean_distances(points)
    assert stress == pytest.approx(np.sum(np.triu((away - D) ** 2)), rel=1e-9)
    assert steps >= 1


# -- graphs ----------------------------------------------------------------------------------------------------


@pytest.mark.covers("DIM-27")
def test_paths_on_a_line_are_distances():
    X = np.array([[0.0], [1.0], [3.0], [6.0], [6.5], [10.0]])
    model = Isomap(n_neighbors=2, n_components=1).fit(X)
    assert np.allclose(model.dist_matrix_, np.abs(X - X.T))
    assert np.allclose(euclidean_distances(model.embedding_), np.abs(X - X.T))


@pytest.mark.covers("DIM-27")
def test_isomap_of_a_complete_graph_is_classical_scaling():
    X = IRIS[::6]
    ours = Isomap(n_neighbors=len(X) - 1).fit(X).embedding_
    same_up_to_sign(ours, ClassicalMDS().fit(X).embedding_, 1e-8)


def test_isomap_is_that_of_scikit_learn_and_places_new_rows():
    X = roll(300)
    ours, theirs = Isomap(n_neighbors=8).fit(X), rival.Isomap(n_neighbors=8).fit(X)
    same_up_to_sign(ours.embedding_, theirs.embedding_, 1e-8)
    signs = np.sign(np.sum(ours.embedding_ * theirs.embedding_, axis=0))
    assert np.allclose(ours.transform(X[:20] + 0.01), theirs.transform(X[:20] + 0.01) * signs, atol=1e-6)
    assert np.allclose(ours.transform(X[:20]), ours.embedding_[:20], atol=1e-8)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-6)


def test_a_graph_that_falls_apart_is_joined_with_a_warning():
    X = np.vstack([np.arange(6.0)[:, None], 100 + np.arange(6.0)[:, None]])
    with pytest.warns(UserWarning, match="connected components"):
        model = Isomap(n_neighbors=2, n_components=1).fit(X)
    assert np.isfinite(model.dist_matrix_).all()
    assert model.dist_matrix_[5, 6] == 95.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        qed.verify(model, X)


@pytest.mark.covers("DIM-26")
def test_weights_sum_to_one_and_an_affine_plane_is_recovered():
    rng = np.random.default_rng(0)
    flat = rng.random((120, 2))
    X = flat @ rng.standard_normal((2, 5)) + rng.standard_normal(5)
    model = LocallyLinearEmbedding(n_neighbors=8, reg=1e-9).fit(X)
    assert model.reconstruction_error_ < 1e-8  # the smallest eigenvalues are zero on a plane
    assert np.abs(model.embedding_.sum(axis=0)).max() < 1e-5  # and the constant vector is left out
    # points are an affine image of the plane
    design = np.column_stack([np.ones(120), flat])
    left = model.embedding_ - design @ np.linalg.lstsq(design, model.embedding_, rcond=None)[0]
    assert np.abs(left).max() < 1e-3
    # a point put together with weights of sum one moves with its rows
    assert np.allclose(model.transform(X[:9]), model.embedding_[:9], atol=1e-3)


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
def test_patches_are_those_of_scikit_learn(method):
    X = roll(500)
    ours, error = locally_linear_embedding(X, n_neighbors=12, n_components=2, method=method)
    theirs, other = rival.locally_linear_embedding(
        X, n_neighbors=12, n_components=2, method=method, eigen_solver="dense"
    )
    same_up_to_sign(ours, theirs, 1e-4)
    assert error == pytest.approx(other, rel=1e-4, abs=1e-12)


def test_hessian_eigenmaps_unroll_a_strip():
    X = roll(1000)
    model = LocallyLinearEmbedding(n_neighbors=12, method="hessian").fit(X)
    assert model.certificate_.trustworthiness > 0.99
    qed.verify(model, X)


@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
def test_laplacian_eigenmaps_are_those_of_scikit_learn(affinity):
    X = roll(300)
    options = {"affinity": affinity, "n_neighbors": 15, "gamma": 0.02}
    ours, theirs = SpectralEmbedding(**options).fit(X), rival.SpectralEmbedding(**options, random_state=0).fit(X)
    same_up_to_sign(ours.embedding_, theirs.embedding_, 1e-6)
    again = spectral_embedding(ours.affinity_matrix_, n_components=2)
    same_up_to_sign(again, ours.embedding_, 1e-8)


# -- neighbours as probabilities -------------------------------------------------------------------------------


@pytest.mark.covers("DIM-24")
def test_probabilities_have_the_perplexity_asked_for_and_sum_to_one():
    X = load_digits().data[:120]
    P = joint_probabilities(X, perplexity=12.0)
    assert P.sum() == pytest.approx(1.0)
    assert abs(P - P.T).max() < 1e-15
    distances, _ = Space.of("test", X, "euclidean").nearest(36)
    shares = perplexity_similarities(distances, 12.0)
    entropy = -np.sum(np.where(shares > 0, shares * np.log(np.maximum(shares, 1e-300)), 0.0), axis=1)
    assert np.allclose(np.exp(entropy), 12.0, rtol=1e-8)


@pytest.mark.covers("DIM-24")
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_gradient_of_the_divergence_is_that_of_differences(d):
    rng = np.random.default_rng(d)
    P = joint_probabilities(rng.standard_normal((12, 4)), perplexity=4.0)
    Y = rng.standard_normal((12, d))
    _, gradient = tsne_divergence(P, Y)
    step = 1e-6
    for i, c in ((0, 0), (5, d - 1), (11, 0)):
        up, down = Y.copy(), Y.copy()
        up[i, c] += step
        down[i, c] -= step
        slope = (tsne_divergence(P, up)[0] - tsne_divergence(P, down)[0]) / (2 * step)
        assert gradient[i, c] == pytest.approx(slope, abs=1e-7)


@pytest.mark.covers("DIM-24")
def test_the_divergence_falls_and_is_no_worse_than_that_of_scikit_learn():
    X = load_digits().data[:500]
    P = joint_probabilities(X)
    ours, theirs = TSNE(random_state=0).fit(X), rival.TSNE(random_state=0).fit(X)
    start = PCA(2).fit_transform(X) * 1e-4
    value = tsne_divergence(P, ours.embedding_)[0]
    assert value < tsne_divergence(P, start)[0]
    assert ours.kl_divergence_ == pytest.approx(value, rel=1e-6)
    assert value <= tsne_divergence(P, theirs.embedding_.astype(float))[0] * 1.03


def test_boxes_push_nearly_like_single_points():
    X = load_digits().data[:400]
    exact = TSNE(random_state=0, method="exact", max_iter=250, perplexity=20).fit(X)
    for method in ("barnes_hut", "interpolation"):
        model = TSNE(random_state=0, method=method, max_iter=250, perplexity=20).fit(X)
        assert model.certificate_.trustworthiness > exact.certificate_.trustworthiness - 0.02


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("width", [1e-4, 1.0, 7.0, 60.0])
def test_a_grid_pushes_like_all_pairs(d, width):
    """Interpolated by cubic splines at most 0.4 apart; a far outlier leaves the points to boxes."""
    rng = np.random.default_rng(1)
    Y = width * rng.random((1500, d))
    none = Edges(np.zeros(1501, np.int64), np.zeros(0, np.int64), np.zeros(0))
    away = Y[:, None] - Y
    inverse = 1.0 / (1.0 + (away**2).sum(axis=2))
    total = inverse.sum() - len(Y)
    forces = -4.0 * np.einsum("ij,ijk->ik", inverse**2, away) / total
    value, gradient = tsne_gradient(none, Y, 0.5, by_grid=True)
    assert value == pytest.approx(np.log(total), abs=0.01)
    assert np.linalg.norm(gradient - forces) < 0.01 * np.linalg.norm(forces)
    Y[0] = 1e7
    far = tsne_gradient(none, Y, 0.5, by_grid=True)[1]
    assert np.array_equal(far, tsne_gradient(none, Y, 0.5)[1])


def test_points_of_one_place_do_not_push():
    none = Edges(np.zeros(9, np.int64), np.zeros(0, np.int64), np.zeros(0))
    gradient = tsne_gradient(none, np.ones((8, 2)), 0.5, by_grid=True)[1]
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.covers("DIM-25")
def test_memberships_sum_to_the_logarithm_and_are_joined_as_a_union():
    X = load_digits().data[:150]
    distances, ids = Space.of("test", X, "euclidean").nearest(9)
    values, _, _ = membership_similarities(distances, np.log2(10), 1.0)
    assert np.allclose(values.sum(axis=1), np.log2(10), atol=1e-6)
    directed = np.zeros((150, 150))
    np.put_along_axis(directed, ids, values, axis=1)
    union = directed + directed.T - directed * directed.T
    assert np.allclose(fuzzy_graph(distances, ids, connected=1.0, mix=1.0).toarray(), union)


@pytest.mark.covers("DIM-25")
def test_the_cross_entropy_falls():
    X = load_digits().data[:300]
    short = UMAP(random_state=0, n_epochs=2, init="random").fit(X).certificate_
    long = UMAP(random_state=0, n_epochs=200, init="random").fit(X).certificate_
    assert long.objective < 0.5 * short.objective
    assert long.trustworthiness > 0.95


def test_umap_places_new_rows_and_separates_labels():
    digits = load_digits()
    X, y = digits.data[:400], digits.target[:400]
    model = UMAP(random_state=0).fit(X)
    assert np.array_equal(model.transform(X[:30]), model.embedding_[:30])
    new = digits.data[400:500]
    together, apart = model.transform(new), np.vstack([model.transform(one[None]) for one in new])
    assert np.array_equal(together, apart)
    away = ((together[:, None] - model.embedding_) ** 2).sum(axis=2)
    right = np.mean(y[away.argmin(axis=1)] == digits.target[400:500])
    assert right > 0.8
    by_label = UMAP(random_state=0).fit(X, y).embedding_
    centres = np.stack([by_label[y == one].mean(axis=0) for one in range(10)])
    spread = np.mean([by_label[y == one].std(axis=0).mean() for one in range(10)])
    assert np.median(euclidean_distances(centres)) > 4 * spread


@pytest.mark.parametrize(
    "model",
    [
        TSNE(max_iter=60, random_state=0, method="barnes_hut"),
        TSNE(max_iter=300, random_state=0, method="interpolation"),
        UMAP(n_epochs=30, random_state=0),
        MDS(max_iter=9),
        Isomap(n_neighbors=12),
    ],
)
def test_threads_change_no_bit(model):
    X = load_digits().data[:300]
    before = qed.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            qed.set_num_threads(threads)
            found.append(model.fit(X).embedding_.copy())
    finally:
        qed.set_num_threads(before)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


# -- certificates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        ClassicalMDS(metric="manhattan"),
        MDS(metric_mds=False, max_iter=15),
        Isomap(n_neighbors=6),
        LocallyLinearEmbedding(n_neighbors=8, method="modified"),
        SpectralEmbedding(n_neighbors=12),
        TSNE(max_iter=80, random_state=0, perplexity=10),
        UMAP(n_epochs=30, random_state=0, metric="cosine"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_certificates_are_verified_and_changed_points_refused(model, tmp_path):
    X = IRIS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
        model.save(tmp_path / "model.qed")
        loaded = qed.load(tmp_path / "model.qed")
        qed.verify(loaded, X)
        certificate = loaded.certificate_
        k, rows = certificate.n_neighbors, certificate.compared
        if rows == len(X):
            metric = getattr(model, "metric", "euclidean")
            metric = "euclidean" if metric == "minkowski" else metric
            points = loaded.embedding_
            assert certificate.trustworthiness == pytest.approx(
                trustworthiness(X, points, n_neighbors=k, metric=metric), abs=1e-12
            )
            assert certificate.continuity == pytest.approx(
                continuity(X, points, n_neighbors=k, metric=metric), abs=1e-12
            )
        honest = loaded.embedding_.copy()
        for changed in (1.01 * honest, -honest, honest[::-1], honest + 1.0, honest[:, ::-1]):
            loaded.embedding_ = np.ascontiguousarray(changed)
            with pytest.raises(CertificateError):
                qed.verify(loaded, X)
        loaded.embedding_ = honest
        for field in ("objective", "residual", "trustworthiness", "continuity"):
            loaded.certificate_ = replace(certificate, **{field: 0.5 * getattr(certificate, field) + 0.01})
            with pytest.raises(CertificateError):
                qed.verify(loaded, X)


def test_trustworthiness_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 2))
    assert trustworthiness(X, Y, n_neighbors=7) == pytest.approx(rival.trustworthiness(X, Y, n_neighbors=7))
    assert continuity(X, Y, n_neighbors=7) == pytest.approx(rival.trustworthiness(Y, X, n_neighbors=7))
    assert trustworthiness(X, X) == continuity(X, X) == 1.0


# -- inputs that cannot be embedded ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (TSNE(perplexity=30), IRIS[:20], "perplexity must be less than n_samples"),
        (TSNE(4), IRIS, "barnes_hut"),
        (TSNE(3, method="interpolation"), IRIS, "n_components of at most 2"),
        (TSNE(metric="precomputed"), np.ones((40, 40)), 'init="random"'),
        (Isomap(n_neighbors=200), IRIS, "n_neighbors"),
        (Isomap(n_neighbors=None), IRIS, "radius"),
        (LocallyLinearEmbedding(n_components=9), IRIS, "output dimension"),
        (LocallyLinearEmbedding(method="hessian"), IRIS, "hessian"),
        (MDS(metric="precomputed"), np.triu(np.ones((5, 5))), "symmetric"),
        (MDS(metric="precomputed"), -np.ones((5, 5)), "negative"),
        (MDS(metric="precomputed"), IRIS, "square"),
        (SpectralEmbedding(affinity="precomputed"), -np.ones((5, 5)), "negative"),
        (UMAP(min_dist=2.0), IRIS, "min_dist"),
        (UMAP(a=1.0), IRIS, "belong together"),
        (ClassicalMDS(), np.full((4, 2), 1e300), "float64"),
    ],
)
def test_what_cannot_be_embedded_is_said(model, X, words):
    with pytest.raises((InvalidData, InvalidParameter), match=words):
        model.fit(X)


def test_equal_rows_are_one_place():
    X = np.ones((12, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (ClassicalMDS(), MDS(), Isomap(n_neighbors=4)):
            assert np.allclose(model.fit(X).embedding_, 0.0)
        for model in (
            TSNE(perplexity=3, max_iter=50, random_state=0),
            UMAP(n_neighbors=4, n_epochs=10, random_state=0),
        ):
            assert np.isfinite(model.fit(X).embedding_).all()


def test_places_beyond_by_counting() -> None:
    """Trustworthiness and continuity by their definition, row by row, with ties and a wide table."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, size=(70, 3)).astype(float) + 1e-6 * rng.standard_normal((70, 3))
    Y = X[:, :2] + 0.7 * rng.standard_normal((70, 2))
    k = 6
    for high, low, found in ((X, Y, trustworthiness(X, Y, n_neighbors=k)), (Y, X, continuity(X, Y, n_neighbors=k))):
        total = 0
        for i in range(70):
            away = np.linalg.norm(high - high[i], axis=1)
            near = np.linalg.norm(low - low[i], axis=1)
            away[i] = near[i] = np.inf
            for j in np.argsort(near)[:k]:
                total += max(1 + int(np.sum(away < away[j])) - k, 0)
        assert found == pytest.approx(1 - 2 * total / (70 * k * (2 * 70 - 3 * k - 1)), abs=1e-12)


@pytest.mark.parametrize("n", [60, 700])
def test_scaling_without_the_matrix(n: int) -> None:
    """Products of the matrix that is not formed, its squares, and the strain, against the matrix."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4)) + 50.0
    model = ClassicalMDS(n_components=2).fit(X)
    J = np.eye(n) - 1 / n
    D = np.linalg.norm(X[:, None] - X, axis=2)
    B = -0.5 * J @ D**2 @ J
    values = np.linalg.eigvalsh(B)[::-1][:2]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    strain = np.sum((B - model.embedding_ @ model.embedding_.T) ** 2)
    assert model.certificate_.objective == pytest.approx(strain, rel=1e-9)


# -- functions as metrics, and sparse rows ---------------------------------------------------------------------


def _city(a, b):
    return float(np.abs(a - b).sum())


def _kernel(X):
    return rbf_kernel(X, gamma=0.3)


@pytest.mark.parametrize(
    "model",
    [
        ClassicalMDS(),
        MDS(max_iter=8),
        Isomap(n_neighbors=20),
        TSNE(max_iter=60, random_state=0, perplexity=5),
        UMAP(n_epochs=20, random_state=0, n_neighbors=6),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_function_measures_like_the_metric_it_computes(model):
    X = IRIS[::4, :]
    by_name = model.__class__(**{**model.get_params(), "metric": "manhattan"}).fit(X)
    by_function = model.__class__(**{**model.get_params(), "metric": _city}).fit(X)
    np.testing.assert_allclose(by_function.embedding_, by_name.embedding_, atol=1e-6)
    qed.verify(by_function, X)
    assert by_function.certificate_.trustworthiness == pytest.approx(by_name.certificate_.trustworthiness, abs=1e-12)
    if hasattr(model, "transform"):
        new = IRIS[1:20:3]
        np.testing.assert_allclose(by_function.transform(new), by_name.transform(new), atol=1e-6)


@pytest.mark.parametrize("model", [MDS(), Isomap(n_neighbors=4), TSNE(perplexity=3), UMAP(n_neighbors=4)])
def test_a_function_below_zero_is_said(model):
    with pytest.raises(InvalidData, match="negative distances"):
        model.__class__(**{**model.get_params(), "metric": lambda a, b: -1.0}).fit(IRIS[::6])


def test_affinities_by_a_function():
    X = IRIS[::3]
    ours = SpectralEmbedding(affinity=_kernel).fit(X)
    np.testing.assert_allclose(
        ours.embedding_, SpectralEmbedding(affinity="precomputed").fit(_kernel(X)).embedding_, atol=1e-10
    )
    qed.verify(ours, X)
    with pytest.raises(InvalidData, match="one for each pair"):
        SpectralEmbedding(affinity=lambda rows: rows).fit(X)


@pytest.mark.parametrize(
    "model",
    [
        TSNE(max_iter=60, random_state=0, perplexity=5),
        UMAP(n_epochs=20, random_state=0, n_neighbors=6),
        Isomap(n_neighbors=6),
        SpectralEmbedding(n_neighbors=6),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("container", [csr_array, csc_matrix])
def test_sparse_rows_are_the_same_rows(model, container):
    X = load_digits().data[:60]
    dense = model.fit(X).embedding_.copy()
    sparse = model.fit(container(X))
    assert np.array_equal(sparse.embedding_, dense)
    qed.verify(sparse, container(X))
    if hasattr(model, "transform"):
        new = load_digits().data[60:70]
        assert np.array_equal(sparse.transform(container(new)), sparse.transform(new))


def test_sparse_rows_that_do_not_fit_are_refused_before_they_are_made_dense():
    wide = csr_array((np.ones(3000), (np.arange(3000), np.arange(3000))), shape=(3000, 2**31 - 1))
    with pytest.raises(MemoryLimit, match="TruncatedSVD"):
        TSNE().fit(wide)


@pytest.mark.parametrize(
    "model",
    [
        LocallyLinearEmbedding(n_neighbors=5, method="ltsa"),
        TSNE(perplexity=3, max_iter=260),
        Isomap(n_neighbors=3),
        SpectralEmbedding(),
        UMAP(n_neighbors=3),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("value", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore:Graph is not fully connected", "ignore:The number of connected components")
def test_rows_that_are_given_several_times_and_rows_that_are_all_equal(model, value):
    for rows in (np.repeat(np.random.default_rng(0).standard_normal((3, 3)), 4, axis=0), np.full((12, 3), value)):
        found = qed.clone(model).fit(rows)
        assert np.isfinite(found.embedding_).all()
        assert qed.verify(found, rows).holds


@pytest.mark.parametrize(
    "model",
    [Isomap(n_neighbors=3, metric="precomputed"), ClassicalMDS(metric="precomputed"), MDS(metric="precomputed", random_state=0),
     TSNE(perplexity=3, metric="precomputed", init="random", max_iter=260)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_distances_that_are_no_metric_are_embedded_and_left_as_they_are(model):
    D = np.abs(np.random.default_rng(0).standard_normal((8, 8)))
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    D[0, 1] = D[1, 0] = 50.0  # farther than by way of a third row
    kept = D.copy()
    assert qed.verify(qed.clone(model).fit(D), D).holds
    np.testing.assert_array_equal(D, kept)


def test_all_pairs_of_many_rows_are_refused_with_another_method():
    with pytest.raises(MemoryLimit, match="interpolation"):
        TSNE(method="exact").fit(np.arange(400_000.0)[:, None])


@pytest.mark.parametrize("size", [1e-300, 1e200])
@pytest.mark.parametrize(
    "model",
    [
        ClassicalMDS(),
        Isomap(),
        LocallyLinearEmbedding(),
        MDS(),
        SpectralEmbedding(),
        UMAP(n_neighbors=5),
        TSNE(perplexity=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_values_whose_squares_leave_float64_are_refused(model, size):
    rows = size * np.random.default_rng(0).standard_normal((30, 3))
    with np.errstate(all="ignore"), pytest.raises(InvalidData, match="float64"):
        qed.clone(model).fit(rows)
