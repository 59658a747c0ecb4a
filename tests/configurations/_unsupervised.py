"""Models without a target: factorisations, clusterings, mixtures and embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed import (
    cluster,
    covariance,
    decomposition,
    manifold,
    mixture,
    naive_bayes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NB = naive_bayes


def factors(add: Callable[..., None]) -> None:
    D = decomposition
    for loss in ("frobenius", "kullback-leibler", 1.5):
        for kind in (D.NMF, D.MiniBatchNMF):
            add(lambda kind=kind, loss=loss: kind(2, beta_loss=loss, max_iter=30, random_state=0))
            add(
                lambda kind=kind, loss=loss: kind(
                    3, beta_loss=loss, max_iter=9, alpha_W=0.02, l1_ratio=0.4, init="random", random_state=1
                )
            )
    for kernel in ("rbf", "poly", "cosine", "laplacian"):
        back = kernel != "poly"  # powers of scores make the regression that gives rows back ill-conditioned
        add(
            lambda kernel=kernel, back=back: D.KernelPCA(2, kernel=kernel, gamma=0.1, fit_inverse_transform=back),
            layout="float32",
        )
        add(lambda kernel=kernel: D.KernelPCA(kernel=kernel, gamma=0.05))
    add(lambda: D.NMF(2, init="nndsvdar", max_iter=30, random_state=0), layout="csr")
    for algorithm in ("lasso_cd", "omp", "threshold"):
        add(
            lambda algorithm=algorithm: D.DictionaryLearning(
                3, alpha=0.3, transform_algorithm=algorithm, random_state=0
            )
        )
    add(
        lambda: D.DictionaryLearning(2, positive_code=True, positive_dict=True, max_iter=5, random_state=0),
        layout="float32",
    )
    for rotation in (None, "varimax", "quartimax"):
        add(lambda rotation=rotation: D.FactorAnalysis(2, rotation=rotation))
    add(lambda: D.FactorAnalysis(1, tol=1e-9, noise_variance_init=[1, 2, 0.5, 1]), layout="float32")
    add(lambda: D.ProbabilisticPCA(2))
    add(lambda: D.ProbabilisticPCA(4), layout="pandas")
    for fun in ("logcosh", "exp", "cube"):
        for algorithm in ("parallel", "deflation"):
            add(lambda fun=fun, algorithm=algorithm: D.FastICA(3, fun=fun, algorithm=algorithm, random_state=0))
    add(lambda: D.FastICA(2, whiten="arbitrary-variance", fun_args={"alpha": 1.5}, random_state=0), layout="float32")
    add(lambda: D.FastICA(whiten=False, random_state=0))


def sparse_factors(add: Callable[..., None]) -> None:
    D = decomposition
    atoms = np.eye(5, 4) + np.eye(5, 4, 1) + 0.1
    for algorithm in ("lasso_cd", "omp", "threshold"):
        add(lambda algorithm=algorithm: D.SparseCoder(atoms, transform_algorithm=algorithm, transform_alpha=0.2))
        add(
            lambda algorithm=algorithm: D.MiniBatchDictionaryLearning(
                3, alpha=0.3, batch_size=10, max_iter=5, transform_algorithm=algorithm, random_state=0
            )
        )
    add(
        lambda: D.SparseCoder(atoms, transform_algorithm="lasso_lars", positive_code=True, split_sign=True),
        layout="float32",
    )
    add(
        lambda: D.MiniBatchDictionaryLearning(2, positive_code=True, positive_dict=True, max_iter=3, random_state=0),
        layout="float32",
    )
    for kind in (D.SparsePCA, D.MiniBatchSparsePCA):
        add(lambda kind=kind: kind(2, alpha=0.5, random_state=0))
        add(lambda kind=kind: kind(3, alpha=2.0, ridge_alpha=0.5, max_iter=20, random_state=0), layout="float32")
    add(lambda: D.MatrixCompletion(alpha=0.5), rows="gaps")
    add(lambda: D.MatrixCompletion(alpha=2.0, center=False), rows="gaps", layout="float32")
    add(lambda: D.MatrixCompletion(alpha=0.3), layout="pandas")
    for method in ("batch", "online"):
        add(lambda method=method: D.LatentDirichletAllocation(2, learning_method=method, random_state=0))
        add(
            lambda method=method: D.LatentDirichletAllocation(
                3, learning_method=method, batch_size=15, doc_topic_prior=0.5, max_iter=3, random_state=0
            ),
            layout="csr",
        )


def pairs(add: Callable[..., None]) -> None:
    D = decomposition
    for kind in (D.PLSRegression, D.PLSCanonical, D.CCA, D.PLSSVD):
        add(lambda kind=kind: kind(2), target="several")
        add(lambda kind=kind: kind(1, scale=False), layout="float32")
    add(lambda: D.PLSRegression(3), layout="pandas")


def clusters(add: Callable[..., None]) -> None:
    add(lambda: cluster.KMeans(3, n_init=1, random_state=0))
    add(lambda: cluster.KMeans(2, n_init=2, random_state=0), weight="counts", layout="float32")
    for init in ("distance", "farthest", "random"):
        add(lambda init=init: cluster.KMeans(3, init=init, n_init=1, random_state=0))
    add(lambda: cluster.BisectingKMeans(4, bisecting_strategy="largest_cluster", random_state=0), weight="counts")
    add(lambda: cluster.MiniBatchKMeans(3, batch_size=10, random_state=0), layout="csr")
    add(lambda: cluster.SoftKMeans(2, beta=0.1, random_state=0), weight="counts")
    for kernel in ("linear", "poly", "cosine"):
        add(lambda kernel=kernel: cluster.KernelKMeans(3, kernel=kernel, degree=2, random_state=0))
    for linkage in ("single", "complete", "average", "weighted", "ward", "centroid", "median"):
        add(lambda linkage=linkage: cluster.AgglomerativeClustering(3, linkage=linkage))
    add(lambda: cluster.AgglomerativeClustering(None, distance_threshold=1.5, linkage="average", metric="manhattan"))
    add(lambda: cluster.AgglomerativeClustering(3, linkage="complete", metric="cosine"), layout="float32")
    add(lambda: cluster.DivisiveClustering(3, metric="chebyshev"), layout="pandas")
    add(lambda: cluster.FeatureAgglomeration(2, linkage="average", metric="correlation"))
    add(lambda: cluster.DBSCAN(1.0, min_samples=3), weight="counts")
    add(lambda: cluster.DBSCAN(0.8, min_samples=2, metric="cosine"), layout="float32")
    for options in ({}, {"cluster_method": "dbscan", "eps": 1.5}, {"metric": "manhattan", "max_eps": 2.0}):
        add(lambda options=options: cluster.OPTICS(min_samples=3, **options))
    for options in (
        {},
        {"cluster_selection_method": "leaf"},
        {"store_centers": "both"},
        {"allow_single_cluster": True},
    ):
        add(lambda options=options: cluster.HDBSCAN(3, min_samples=2, **options))
    add(cluster.MeanShift)
    add(lambda: cluster.MeanShift(bandwidth=1.5, cluster_all=False, bin_seeding=True), layout="float32")
    add(lambda: cluster.AffinityPropagation(damping=0.7, random_state=0))
    add(lambda: cluster.Birch(threshold=0.8, branching_factor=3))
    add(lambda: cluster.Birch(threshold=0.3, n_clusters=None), layout="csr")
    add(lambda: cluster.SpectralCoclustering(2, random_state=0))
    for method in ("bistochastic", "scale", "log"):
        add(
            lambda method=method: cluster.SpectralBiclustering(
                2, method=method, n_components=2, n_best=1, random_state=0
            )
        )
    add(lambda: cluster.KMedoids(3, metric="manhattan", random_state=0), weight="counts")
    for affinity in ("nearest_neighbors", "laplacian"):
        add(lambda affinity=affinity: cluster.SpectralClustering(2, affinity=affinity, random_state=0))


def mixtures(add: Callable[..., None]) -> None:
    add(lambda: covariance.GraphicalLasso(0.1, assume_centered=True), weight="counts")
    add(lambda: covariance.LedoitWolf(store_precision=False, assume_centered=True))
    add(lambda: covariance.MinCovDet(support_fraction=0.8, random_state=0, store_precision=False))
    for kind in ("full", "tied", "diag", "spherical"):
        add(lambda kind=kind: mixture.GaussianMixture(2, covariance_type=kind, random_state=0))
    add(
        lambda: mixture.GaussianMixture(3, random_state=0, max_iter=3, init_params="k-means++"),
        weight="counts",
        layout="float32",
    )
    add(lambda: mixture.GaussianMixture(2, algorithm="hard", random_state=0, reg_covar=0.01))
    add(
        lambda: mixture.GaussianMixture(2, covariance_prior=0.5, degrees_of_freedom_prior=9, random_state=0),
        weight="wide",
    )
    for kind in (mixture.BernoulliMixture, mixture.CategoricalMixture, mixture.PoissonMixture):
        for start in ("kmeans", "random", "random_from_data"):
            add(
                lambda kind=kind, start=start: kind(2, init_params=start, random_state=0),
                rows="counts",
                weight="counts",
            )
        add(lambda kind=kind: kind(3, alpha=0.01, tol=1e-9, max_iter=500, random_state=0), rows="counts", weight="wide")
    for kind in ("full", "tied", "diag", "spherical"):
        add(lambda kind=kind: mixture.GaussianMixtureClassifier(2, covariance_type=kind, random_state=0), target="two")
    add(
        lambda: mixture.GaussianMixtureClassifier([1, 2], unlabeled="middle", random_state=0),
        target="three",
        weight="counts",
    )
    add(lambda: mixture.GaussianMixtureClassifier(unlabeled=4, reg_covar=0.1), target="integers", weight="wide")
    for kinds in ("gaussian", "poisson", ["gaussian", "bernoulli", "poisson", "categorical"]):
        add(lambda kinds=kinds: NB.MixedNB(kinds), rows="counts", target="three", weight="counts")
    add(NB.MixedNB, rows="gaps", target="two", layout="pandas")
    add(lambda: NB.MixedNB(priors=[0.3, 0.7], var_smoothing=0.1), rows="gaps", target="two", weight="wide")
    for layout in ("csr", "csc"):
        add(lambda: mixture.PoissonMixture(2, random_state=0), rows="counts", layout=layout)
        add(lambda: mixture.BernoulliMixture(2, binarize=1.0, random_state=0), rows="counts", layout=layout)
    add(lambda: mixture.CategoricalMixture(2, min_categories=9, random_state=0), rows="counts", layout="pandas")
    for kind in ("full", "tied", "diag", "spherical"):
        add(lambda kind=kind: mixture.BayesianGaussianMixture(3, covariance_type=kind, random_state=0))
    add(
        lambda: mixture.BayesianGaussianMixture(
            2, weight_concentration_prior_type="dirichlet_distribution", covariance_type="diag", random_state=0
        ),
        weight="counts",
        layout="float32",
    )


def embeddings(add: Callable[..., None]) -> None:
    add(lambda: manifold.ClassicalMDS(2))
    add(lambda: manifold.MDS(2, max_iter=20))
    add(lambda: manifold.MDS(2, metric_mds=False, max_iter=10), layout="float32")
    add(lambda: manifold.Isomap(n_neighbors=4))
    add(lambda: manifold.LocallyLinearEmbedding(n_neighbors=4))
    add(lambda: manifold.LocallyLinearEmbedding(n_neighbors=8, method="modified"))
    add(lambda: manifold.LocallyLinearEmbedding(n_neighbors=8, method="ltsa"), layout="float32")
    add(lambda: manifold.SpectralEmbedding(2, n_neighbors=5))
    add(lambda: manifold.SpectralEmbedding(2, affinity="rbf"))
    add(lambda: manifold.TSNE(2, perplexity=4, max_iter=60, random_state=0))
    add(lambda: manifold.UMAP(2, n_neighbors=5, n_epochs=20, random_state=0))
