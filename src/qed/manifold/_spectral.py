"""Laplacian eigenmaps."""

from __future__ import annotations

import warnings
from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import Any, Literal, Self

import numpy as np

from qed.core import KW_ONLY, Array, InvalidData, NonNegative, Positive, PositiveInt, Seed, Traits, fitted, param
from qed.core._memory import require_memory
from qed.core._tables import is_sparse
from qed.designs import design
from qed.manifold._eigenvectors import CROWDED, Pairs, leading, trailing, with_settled_axes
from qed.manifold._embedding import Embedding, Ending, with_signs
from qed.manifold._kernels import Edges
from qed.manifold._neighborhoods import AnyMetric, Space, components, neighbor_graph
from qed.manifold._spectral_start import normalised

FACTORED_ROWS = 1000  # of a crowded graph: beyond, a factor of the full matrix costs more than products with the graph


def _is_square(model: Any, value: Any) -> str:
    n = len(model.embedding_)
    fits = (is_sparse(value) or isinstance(value, np.ndarray)) and value.shape == (n, n) and value.dtype.kind == "f"
    return "" if fits else f"should be a matrix of numbers of shape ({n}, {n})"


class SpectralEmbedding(Embedding):
    r"""Spectral embedding (Laplacian eigenmaps): eigenvectors of the graph Laplacian of nearest neighbours.

    Objective
    ---------
    .. math:: \min_Y \tfrac12 \sum_{ij} a_{ij} \| y_i - y_j \|^2 \quad \text{with} \quad Y^\top D Y = I,\; Y^\top D 1 = 0

    with affinities a of rows and D the diagonal matrix of their sums: the eigenvectors of the normalised Laplacian
    :math:`I - D^{-1/2} A D^{-1/2}` for its smallest eigenvalues after zero, divided by the roots of D.

    Certificate
    -----------
    EmbeddingCertificate: the objective (the sum of the eigenvalues), the residual of the eigenvectors, and how many neighbours are
    kept.

    Cost
    ----
    O(n^2 p) at most for neighbours; a product with the graph for each step of the eigensolver. Affinities "rbf" take 24 n^2 bytes.

    Notes
    -----
    A graph that falls apart is embedded all the same, with a warning: its components are then points in one place each.

    Examples
    --------
    >>> from qed.manifold import SpectralEmbedding
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> Y = SpectralEmbedding(1, n_neighbors=3).fit_transform(X)
    >>> bool((Y[1:, 0] < Y[:-1, 0]).all() or (Y[1:, 0] > Y[:-1, 0]).all())
    True
    """

    n_components: PositiveInt = param(2, "Dimensions of the embedding.")
    _: KW_ONLY
    affinity: (
        Literal["nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"] | Callable[..., Any]
    ) = param(
        "nearest_neighbors",
        "Links: half for each direction in which a row is among the nearest of another, itself included; exp(-gamma d^2); X"
        " itself; neighbours by the distances in X; or a function that takes all rows and returns the affinities of all pairs.",
    )
    gamma: Positive | None = param(None, "Coefficient of 'rbf'; None is one over the number of columns.")
    random_state: Seed = param(None, "Seed of scikit-learn's solver.", kind="hint")
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = param(None, "Eigensolver of scikit-learn.", kind="hint")
    eigen_tol: NonNegative | Literal["auto"] = param("auto", "Tolerance of scikit-learn's solver.", kind="hint")
    n_neighbors: PositiveInt | None = param(None, "Neighbours, the row itself included; None is a tenth of the rows.")
    n_jobs: int | None = param(
        None, "Number of threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )

    neighbors_: Array = fitted(
        "Numbers of the other rows that are linked, nearest first, if the affinity is by neighbours.",
        dtype="int32",
        shape="(n, *)",
        low=0,
        optional=True,
        answers=False,
    )
    affinity_matrix_: Any = fitted("Affinities of the rows, sparse or dense, (n, n).", check=_is_square, answers=False)
    n_neighbors_: int | None = fitted("Neighbours that were linked.", answers=False)

    def _traits(self) -> Traits:
        is_pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return super()._traits()._replace(pairwise=is_pairwise, sparse=True)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the rows.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (n, p)
            Rows; affinities or distances of all pairs if the affinity is "precomputed…".
        """
        data = self._fit_data(X)
        metric: AnyMetric = "precomputed" if self.affinity == "precomputed_nearest_neighbors" else "euclidean"
        space = Space.of(type(self).__name__, data.X, metric)
        graph = self._links(space, data.X)
        self.affinity_matrix_ = graph
        points, pairs = eigenmaps(graph, self.n_components, "SpectralEmbedding", data.X)
        self.embedding_ = points.astype(data.X.dtype)
        objective = float(np.sum(np.maximum(1.0 - pairs.values, 0.0)))
        seen = self._seen(data)
        self._certify(space, seen, Ending("sum of eigenvalues", objective, pairs.residual, "solved"))
        return self

    def _links(self, space: Space, given: Any) -> Any:
        n = space.n_rows
        self.n_neighbors_ = None
        self.__dict__.pop("neighbors_", None)
        if self.affinity == "precomputed" or callable(self.affinity):
            graph = self.affinity(given) if callable(self.affinity) else given
            graph = graph.tocsr() if is_sparse(graph) else np.asarray(graph, np.float64)
            if graph.shape != (n, n):
                raise InvalidData(
                    f"Affinities must have shape ({n}, {n}), one for each pair of rows; got shape {graph.shape}."
                )
            off = abs(graph - graph.T).max()
            if not off <= 1e-10 * abs(graph).max():
                raise InvalidData(
                    "Array must be symmetric: affinities differ in the two directions. Average X and X.T first."
                )
            return graph
        if self.affinity == "rbf":
            require_memory(24 * n * n, f"the {n} x {n} matrix of affinities", "Take affinity='nearest_neighbors'.")
            gamma = 1.0 / space.rows.shape[1] if self.gamma is None else float(self.gamma)
            return np.exp(-gamma * space.square() ** 2)
        k = self.n_neighbors if self.n_neighbors is not None else max(n // 10, 1)
        self.n_neighbors_ = k = min(k, n)
        ids = np.arange(n)[:, None]
        if k > 1:
            near = space.nearest(k - 1)[1]
            self.neighbors_ = near.astype(np.int32)
            ids = np.column_stack([ids, near])
        links = neighbor_graph(np.ones(ids.shape), ids, n)
        made = (0.5 * (links + links.T)).tocsr()
        made.sort_indices()
        return made


def eigenmaps(graph: Any, k: int, owner: str, rows: Any = None) -> tuple[Array, Pairs]:
    """Return points from the eigenvectors of a graph's normalised Laplacian after the constant one; and the pairs of I less it.

    Where eigenvalues tie the axes are settled by `rows`, if they are given.

    Sparse and small graphs are inverted, since their eigenvalues lie close together; where many of many rows are linked they
    lie apart, and factors would be full: such graphs are multiplied.
    """
    n = graph.shape[0]
    is_dense = not is_sparse(graph)
    links: Any = np.array(graph, dtype=np.float64) if is_dense else graph.tocsr().astype(np.float64)
    if is_dense:
        np.fill_diagonal(links, 0.0)
    else:
        links.setdiag(0.0)
        links.eliminate_zeros()
    weights: Array = links if is_dense else links.data
    if weights.min(initial=0.0) < 0:
        raise InvalidData(f"{owner} was given negative affinities. Affinities are at least zero.")
    if not _is_connected(links):
        warnings.warn(
            "Graph is not fully connected, spectral embedding may not work as expected. Take more neighbours.",
            UserWarning,
            stacklevel=3,
        )
    matrix, roots = normalised(links)
    degrees = np.asarray(links.sum(axis=1), dtype=np.float64).reshape(-1)
    constant = np.sqrt(degrees / max(float(degrees.sum()), 1e-300))  # the first eigenvector, which is left out
    count = min(k, n - 1)
    if is_dense or (n > FACTORED_ROWS and links.nnz > CROWDED * n * n):
        pairs = leading(Without(matrix, constant), count)
    else:
        from scipy.sparse import identity  # noqa: PLC0415

        smallest = trailing((identity(n, format="csr") - matrix).tocsr(), count, constant)
        pairs = Pairs(1.0 - smallest.values, smallest.vectors, smallest.residual)
    if rows is not None:
        pairs = with_settled_axes(pairs, 1.0, rows)
    points = np.zeros((n, k))
    points[:, :count] = pairs.vectors / roots[:, None]
    return with_signs(points), pairs


class Without:
    """A symmetric matrix whose eigenvector of value one, the largest, is moved to the other end of the spectrum."""

    def __init__(self, matrix: Any, vector: Array) -> None:
        self._matrix, self._vector, self.shape = matrix, vector, matrix.shape
        self._product = design(matrix).product

    def __matmul__(self, v: Array) -> Array:
        return np.asarray(self._product(v) - 2.0 * self._vector[:, None] * (self._vector @ v))

    def toarray(self) -> Array:
        """Return the matrix."""
        dense = self._matrix if isinstance(self._matrix, np.ndarray) else self._matrix.toarray()
        return np.asarray(dense - 2.0 * np.outer(self._vector, self._vector))


def _is_connected(links: Any) -> bool:
    if not isinstance(links, np.ndarray):
        return int(components(Edges.of(links)).max(initial=0)) == 0
    reached = np.zeros(len(links), bool)
    reached[0] = True
    while True:
        further = reached | (links[reached] > 0).any(axis=0)
        if further.sum() == reached.sum():
            return bool(reached.all())
        reached = further


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = None,
    random_state: Any = None,
    eigen_tol: float | Literal["auto"] = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Array:
    """Place the nodes of a graph by the eigenvectors of its normalised Laplacian: the function behind `SpectralEmbedding`.

    Parameters
    ----------
    adjacency : array-like or sparse of shape (n, n)
        Affinities, symmetric and nonnegative.
    n_components : int
        Dimensions of the embedding.
    eigen_solver, random_state, eigen_tol : object
        Those of scikit-learn's solver; not needed here.
    norm_laplacian : bool
        Must be True: the Laplacian is normalised.
    drop_first : bool
        Whether to leave out the first eigenvector, which is constant in a connected graph.

    Returns
    -------
    ndarray of shape (n, n_components)
        Points.
    """
    del eigen_solver, random_state, eigen_tol
    if norm_laplacian is not True:
        raise InvalidData("spectral_embedding takes the normalised Laplacian: norm_laplacian must be True.")
    if drop_first:
        return SpectralEmbedding(n_components, affinity="precomputed").fit(adjacency).embedding_
    model = SpectralEmbedding(max(n_components - 1, 1), affinity="precomputed").fit(adjacency)
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    first = np.full((len(degrees), 1), 1.0 / np.sqrt(degrees.sum()))
    return np.hstack([first, model.embedding_])[:, :n_components]
