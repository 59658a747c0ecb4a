"""Groups of a graph of similarities, by its eigenvectors."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ClustersCertificate
from qed.cluster._graph_cuts import normalized_cut
from qed.cluster._kmeans import KMeans
from qed.cluster._space import Space, require_sizes
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    Traits,
    fitted,
    generator,
    param,
)
from qed.core._memory import require_memory
from qed.core._threads import one_blas_thread
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint
from qed.metrics import pairwise_kernels

if TYPE_CHECKING:
    from numpy.random import Generator

DENSE_ROWS = 1000  # rows of a graph whose eigenvalues are all found, which bounds the cut
KERNELS = ("rbf", "linear", "poly", "polynomial", "sigmoid", "cosine", "laplacian")


class SpectralClustering(Clusterer):
    r"""Spectral clustering: k-means on eigenvectors of the graph Laplacian of a similarity graph.

    Objective
    ---------
    .. math:: \min \sum_j \frac{\mathrm{cut}(A_j)}{\mathrm{vol}(A_j)}

    over partitions into k parts: the normalised cut, the weight of edges that leave a part over the sum of degrees in it. It is the
    k-means objective of eigenvectors of the normalised Laplacian, once labels are allowed to be any numbers; the k least
    eigenvalues are then what it costs. Rows of these eigenvectors are clustered.

    Certificate
    -----------
    ClustersCertificate: the normalised cut is at most so many times the least one, which is at least the sum of the k least
    eigenvalues. This bound is stated for up to 1000 rows.

    Cost
    ----
    A dense affinity needs 8 n^2 bytes, 'nearest_neighbors' O(n k); eigenvectors by Lanczos' method.

    Examples
    --------
    >>> from qed.cluster import SpectralClustering
    >>> from qed.datasets import make_circles
    >>> rings, truth = make_circles(60, factor=0.3, random_state=0)
    >>> model = SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=5, random_state=0).fit(rings)
    >>> len({(int(a), int(b)) for a, b in zip(model.labels_, truth, strict=True)})
    2
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = param(
        None, "Eigenvalue method of scikit-learn.", kind="hint"
    )
    n_components: PositiveInt | None = param(None, "Eigenvectors that are used; as many as clusters by default.")
    random_state: Seed = param(None, "Seed of the starts of k-means.")
    n_init: PositiveInt = param(10, "How many starts of k-means.")
    gamma: NonNegative = param(1.0, "Rate of 'rbf', 'poly', 'sigmoid' and 'laplacian'.")
    affinity: (
        Literal[
            "rbf", "nearest_neighbors", "precomputed", "precomputed_nearest_neighbors", "linear", "poly", "polynomial",
            "sigmoid", "cosine", "laplacian",
        ]
        | Callable[..., Any]
    ) = param("rbf", "Similarity of rows: a kernel, nearest neighbours, or 'precomputed' where X holds it.")  # fmt: skip
    n_neighbors: PositiveInt = param(10, "Neighbours in the graph, the row itself included.")
    eigen_tol: NonNegative | Literal["auto"] = param(
        "auto", "Tolerance of eigenvectors; machine precision by default.", kind="hint"
    )
    assign_labels: Literal["kmeans", "discretize", "cluster_qr"] = param(
        "kmeans",
        "How rows of eigenvectors become labels: k-means, or one column-pivoted QR factorisation ('cluster_qr').",
    )
    degree: NonNegative = param(3, "Degree of 'poly'.")
    coef0: float = param(1, "Constant of 'poly' and 'sigmoid'.")
    kernel_params: dict[str, Any] | None = param(None, "Options of a function.")
    n_jobs: int | None = param(None, "Threads that scikit-learn would use.", kind="hint")
    verbose: NonNegativeInt | bool = param(False, "Whether scikit-learn tells of its progress.", kind="hint")

    labels_: Array = fitted("The cluster of each row.", dtype="int32", shape="(n,)", low=0, below="n_clusters")
    affinity_matrix_: Any = fitted("The similarities, (n, n).", shape="(n, n)", check=lambda _, value: _is_graph(value))
    embedding_: Array = fitted(
        "Eigenvectors that rows were clustered by, divided by the roots of degrees.", shape="(n, c)", answers=False
    )
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return self._declared_traits._replace(pairwise=pairwise)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find parts.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or similarities of shape (n, n)
            Rows, at least as many as clusters.
        """
        data = self._fit_data(X)
        n, k = data.n_rows, self.n_clusters
        if n < max(k, 2):
            raise InvalidData(f"n_samples={n} should be >= n_clusters={k}, and at least 2. Ask for fewer clusters.")
        rows = np.asarray(data.X, dtype=np.float64)
        require_sizes(type(self).__name__, rows)
        graph = self._graph(data, rows)
        rng = generator(self.random_state)
        count = min(k if self.n_components is None else self.n_components, n)
        values, vectors = _lowest(graph, max(count, k), rng)
        places = vectors[:, :count]
        if self.assign_labels == "kmeans":
            self.labels_ = KMeans(k, n_init=self.n_init, tol=0.0, random_state=rng).fit(places).labels_
        else:
            self.labels_ = _by_pivots(places, k) if self.assign_labels == "cluster_qr" else _rotated(places, k, rng)
        self.affinity_matrix_, self.embedding_ = graph, places
        objective = normalized_cut(graph, self.labels_)
        rounding = 1e-12 * n**0.5 * k
        self.certificate_ = ClustersCertificate(
            objective=objective,
            bound=max(float(np.sum(values[:k])) - rounding, 0.0) if n <= DENSE_ROWS else 0.0,
            rounding=rounding,
            null_objective=float(k),
            drift=0.0,
            trace=np.zeros(0),
            evaluations=0,
            tol=1e-4,
            outcome="solved",
            fingerprint=fingerprint(rows, np.empty((n, 0)), None),
        )
        return self

    def _graph(self, data: Any, rows: Array) -> Any:
        """Return symmetric similarities."""
        n, name = len(rows), self.affinity
        if name == "nearest_neighbors":
            return _neighbour_graph(Space.of(type(self).__name__, data, "euclidean"), min(self.n_neighbors, n))
        require_memory(16 * n * n, f"similarities of all pairs of {n} rows", "Take affinity='nearest_neighbors'.")
        if name in ("precomputed", "precomputed_nearest_neighbors"):
            found = rows.copy()
        elif callable(name):
            found = pairwise_kernels(rows, metric=name, **(self.kernel_params or {}))
        else:
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            found = pairwise_kernels(rows, metric=name, filter_params=True, **options)
        found = 0.5 * (found + found.T)
        if not np.isfinite(found).all() or (found < 0).any():
            raise InvalidData(
                f"SpectralClustering needs similarities that are finite and not negative; affinity={name!r:.40} gives others."
            )
        return found


def _is_graph(value: Any) -> str:
    data = getattr(value, "data", value) if hasattr(value, "indptr") else value
    good = (
        isinstance(data, np.ndarray) and data.dtype == np.float64 and np.isfinite(data).all() and not (data < 0).any()
    )
    return "" if good and len(getattr(value, "shape", ())) == 2 else "should be similarities, finite and not negative"


def _neighbour_graph(space: Space, k: int) -> Any:
    """Return the graph of nearest neighbours: one half for each direction in which two rows are near."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    n = space.n
    ids = space.nearest_others(k - 1)[1] if k > 1 else np.empty((n, 0), np.int64)
    rows = np.repeat(np.arange(n), ids.shape[1])
    one = csr_matrix((np.ones(ids.size), (rows, ids.ravel())), shape=(n, n)) + csr_matrix(
        (np.ones(n), (np.arange(n), np.arange(n))), shape=(n, n)
    )
    graph = (0.5 * (one + one.T)).tocsr()
    graph.sort_indices()
    return graph


def _lowest(graph: Any, count: int, rng: Generator) -> tuple[Array, Array]:
    """Return the least eigenvalues of the normalised Laplacian, and eigenvectors divided by the roots of degrees."""
    W = graph.copy()
    W.setdiag(0.0) if hasattr(W, "setdiag") else np.fill_diagonal(W, 0.0)
    degree = np.asarray(W.sum(axis=1)).ravel()
    alone = degree <= 0
    scale = 1.0 / np.sqrt(np.where(alone, 1.0, degree))
    n = len(degree)
    if n <= DENSE_ROWS or count >= n - 1:
        from scipy.linalg import eigh  # noqa: PLC0415

        dense = W.toarray() if hasattr(W, "toarray") else W
        with one_blas_thread(n * n):  # by bisection, so that none of the largest is missed
            values, vectors = eigh(
                scale[:, None] * dense * scale, subset_by_index=[n - count, n - 1], check_finite=False
            )
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        values, vectors = _krylov(W, degree, scale, count, rng)
    vectors = vectors * scale[:, None]
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    # rows without edges have the Laplacian zero
    return np.maximum(1.0 - values, 0.0) * (1 - 4 * UNIT), vectors * np.where(signs == 0, 1.0, signs)


def _krylov(W: Any, degree: Array, scale: Array, count: int, rng: Generator) -> tuple[Array, Array]:
    """Return the largest eigenvalues by Lanczos' method, which finds one vector of each.

    One is an eigenvalue as often as there are components, and its vectors are known: roots of degrees on each of them.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh  # noqa: PLC0415

    n, label = len(degree), _components(W)
    known = np.zeros((n, int(label.max()) + 1))
    known[np.arange(n), label] = np.sqrt(degree)
    known = known[:, known.any(axis=0)]
    known = known / np.linalg.norm(known, axis=0)
    left = count - known.shape[1]
    if left <= 0:
        return np.ones(count), known[:, :count]

    def product(v: Array) -> Array:
        v = v.ravel()
        return np.asarray(scale * (W @ (scale * v)) - known @ (known.T @ v))

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    found, columns = eigsh(operator, k=left, which="LA", v0=rng.uniform(-1, 1, n), tol=1e-8)
    order = np.argsort(found)[::-1]
    return np.concatenate([np.ones(count - left), found[order]]), np.hstack([known, columns[:, order]])


def _components(W: Any) -> Array:
    if not hasattr(W, "tocsr") and np.all(np.count_nonzero(W, axis=1) == len(W) - 1):
        return np.zeros(len(W), np.intp)  # every two rows are connected
    from scipy.sparse import csgraph, csr_array  # noqa: PLC0415

    return np.asarray(csgraph.connected_components(csr_array(W), directed=False)[1])


def _by_pivots(vectors: Array, k: int) -> Array:
    """Assign labels by a column-pivoted QR factorisation and a polar rotation (Damle, Minden and Ying 2019)."""
    from scipy.linalg import qr, svd  # noqa: PLC0415

    pivots = qr(vectors.T, pivoting=True)[2][:k]
    left, _, right = svd(vectors[pivots].T, full_matrices=False)
    return np.asarray(np.argmax(np.abs(vectors @ (left @ right)), axis=1), dtype=np.int32)


def _rotated(vectors: Array, k: int, rng: Generator) -> Array:
    """Assign labels by the rotation that brings rows nearest to unit vectors (Yu and Shi 2003)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(length > 0, length, 1.0)
    rows = rows[:, :k]
    turn = np.zeros((rows.shape[1], k))
    first = int(rng.integers(len(rows)))
    turn[:, 0] = rows[first]
    close = np.zeros(len(rows))
    for j in range(1, k):
        close += np.abs(rows @ turn[:, j - 1])
        turn[:, j] = rows[int(np.argmin(close))]
    labels = np.zeros(len(rows), np.intp)
    before = -1.0
    for _ in range(50):
        labels = np.argmax(rows @ turn, axis=1)
        left, values, right = np.linalg.svd(np.eye(k)[labels].T @ rows)
        if abs(values.sum() - before) <= 1e-12 * len(rows):
            break
        before = float(values.sum())
        turn = right.T @ left.T
    return np.asarray(labels, dtype=np.int32)
