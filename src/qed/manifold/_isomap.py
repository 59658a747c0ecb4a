"""Isomap."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Positive,
    PositiveInt,
    PositiveOrInfinite,
    Traits,
    fitted,
    param,
)
from qed.core._memory import require_memory
from qed.manifold._embedding import Embedding, Ending, with_signs
from qed.manifold._kernels import Edges, shortest_paths
from qed.manifold._neighborhoods import (
    AnyMetric,
    Space,
    dense_rows,
    joined,
    require_neighbors,
    symmetric_edges,
    undirected,
)
from qed.manifold._scaling import InnerProducts, scaled


class Isomap(Embedding):
    r"""Isomap: an embedding that preserves geodesic distances, measured along a graph of nearest neighbours.

    Objective
    ---------
    .. math:: \min_Y \left\| -\tfrac12 J G^{2} J - Y Y^\top \right\|_F^2

    classical scaling of the geodesic distances G: lengths of shortest paths from neighbour to neighbour.

    Certificate
    -----------
    EmbeddingCertificate: the strain, the residual of the eigenvectors, and how many neighbours are kept.

    Cost
    ----
    O(n^2 p) at most for neighbours, O(n (n log n + nk)) for paths, O(n^2 k) a product of the eigensolver. Memory: 8 n^2 bytes,
    which the model keeps.

    Notes
    -----
    Two rows are linked if either is a neighbour of the other. Where the graph falls apart, each two of its components are linked by
    their nearest rows, with a warning. New rows are placed by their paths through the rows of the fit.

    Examples
    --------
    >>> from qed.manifold import Isomap
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> Isomap(n_neighbors=2, n_components=1).fit(X).dist_matrix_[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """

    _: KW_ONLY
    n_neighbors: PositiveInt | None = param(5, "Neighbours of a row; None with ``radius``.")
    radius: Positive | None = param(None, "Distance up to which rows are neighbours, instead of ``n_neighbors``.")
    n_components: PositiveInt = param(2, "Dimensions of the embedding.")
    eigen_solver: Literal["auto", "arpack", "dense"] = param(
        "auto", "Eigensolver of scikit-learn; answers are the same.", kind="hint"
    )
    tol: NonNegative = param(0, "Tolerance of scikit-learn's solver; here residuals are at rounding.", kind="hint")
    max_iter: PositiveInt | None = param(None, "Steps of scikit-learn's solver.", kind="hint")
    path_method: Literal["auto", "FW", "D"] = param(
        "auto", "How scikit-learn finds paths; lengths are the same.", kind="hint"
    )
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = param(
        "auto", "How scikit-learn finds neighbours; they are the same.", kind="hint"
    )
    n_jobs: int | None = param(
        None, "Number of threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )
    metric: AnyMetric = param(
        "minkowski", "Distance of rows: a name, a function of two rows, or 'precomputed' if X holds distances."
    )
    p: PositiveOrInfinite = param(2, "Power of the metric 'minkowski'.")
    metric_params: dict[str, Any] | None = param(
        None, "``p`` and ``w`` of the metric 'minkowski', or what a function takes."
    )

    rows_: Array = fitted("The rows of the fit, (n, p).", shape="(n, p)")
    neighbors_: Array = fitted(
        "Numbers of the neighbours of each row, nearest first, (n, k); -1 beyond the last with ``radius``.",
        dtype="int32",
        shape="(n, *)",
        low=-1,
        answers=False,
    )
    dist_matrix_: Array = fitted("Lengths of shortest paths between rows, (n, n).", shape="(n, n)", low=0)
    eigenvalues_: Array = fitted("Eigenvalues of the components, (n_components,).", shape="(n_components,)")

    def _traits(self) -> Traits:
        return super()._traits()._replace(pairwise=self.metric == "precomputed", sparse=self.metric != "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the rows.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (n, p)
            Rows; distances of all pairs if the metric is "precomputed".
        """
        data = self._fit_data(X)
        n = data.n_rows
        if (self.n_neighbors is None) == (self.radius is None):
            raise InvalidParameter(
                f"Both n_neighbors and radius are provided or none is: n_neighbors={self.n_neighbors}, radius={self.radius}."
                " Set one, and the other to None."
            )
        space = Space.of(type(self).__name__, data.X, self.metric, self.metric_params, float(self.p))
        require_memory(
            8 * n * n, f"the {n} x {n} matrix of distances along the graph", "Fit a sample, and transform the rest."
        )
        edges = joined(type(self).__name__, space, self._neighborhoods(space))
        G = shortest_paths(edges, np.arange(n))
        _make_symmetric(G)
        found = scaled(G, self.n_components)
        self.rows_, self.dist_matrix_ = np.array(space.rows), G
        self.eigenvalues_ = found.values
        self.embedding_ = with_signs(found.points).astype(data.X.dtype)
        self._certify(space, self._seen(data), Ending("strain", found.strain, found.residual, "solved"))
        return self

    def _neighborhoods(self, space: Space) -> Edges:
        """Find neighbours, keep their numbers, and link them."""
        n = space.n_rows
        if self.n_neighbors is not None:
            distances, ids = space.nearest(require_neighbors(type(self).__name__, self.n_neighbors, n))
            self.neighbors_ = ids.astype(np.int32)
            return undirected(distances, ids)
        near = space.within(float(self.radius or 0.0))
        counts = np.diff(near.starts)
        listed = np.full((n, max(int(counts.max(initial=0)), 1)), -1, dtype=np.int32)
        tails = np.repeat(np.arange(n), counts)
        listed[tails, np.arange(len(near.ends)) - near.starts[tails]] = near.ends
        self.neighbors_ = listed
        return symmetric_edges(n, tails, near.ends, near.values)

    def reconstruction_error(self) -> float:
        """Return the root of the strain, over n.

        Returns
        -------
        float
            How much of the geodesic distances the points do not show.
        """
        self._check_is_fitted()
        left = InnerProducts(self.dist_matrix_).squares - float(np.sum(np.maximum(self.eigenvalues_, 0.0) ** 2))
        return float(np.sqrt(max(left, 0.0)) / len(self.dist_matrix_))

    def transform(self, X: Any) -> Any:
        """Place new rows: by the shortest paths that lead from them over their neighbours to the rows of the fit.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (m, p)
            Rows; distances to the rows of the fit if the metric is "precomputed".

        Returns
        -------
        ndarray of shape (m, n_components)
            Points.
        """
        given = self._new_data(X)
        queries = dense_rows(type(self).__name__, given)
        space = Space.of(type(self).__name__, self.rows_, self.metric, self.metric_params, float(self.p))
        G, n = self.dist_matrix_, len(self.dist_matrix_)
        k = n if self.n_neighbors is None else min(self.n_neighbors, n)
        distances, ids = space.nearest_of(queries, k)
        values = np.maximum(self.eigenvalues_, 0.0)
        axes = np.divide(
            np.asarray(self.embedding_, np.float64), values, out=np.zeros(self.embedding_.shape), where=values > 0
        )
        squares = -0.5 * G * G
        mean = squares.mean(axis=0)
        points = np.empty((len(queries), self.embedding_.shape[1]))
        for row in range(len(queries)):
            near = distances[row] <= (np.inf if self.radius is None else self.radius)
            if not near.any():
                raise InvalidData(f"Row {row} has no row of the fit within radius={self.radius}. Take a larger radius.")
            paths = np.min(distances[row][near][:, None] + G[ids[row][near]], axis=0)
            product = -0.5 * paths * paths
            points[row] = (product - product.mean() - mean + mean.mean()) @ axes
        return points.astype(given.dtype)


def _make_symmetric(G: Array) -> None:
    """Keep the shorter of the two lengths of each path, which rounds differently from its two ends; in place, tile by tile."""
    tile = 256
    for i in range(0, len(G), tile):
        for j in range(i, len(G), tile):
            upper, lower = G[i : i + tile, j : j + tile], G[j : j + tile, i : i + tile]
            np.minimum(upper, lower.T, out=upper)
            lower[:] = upper.T
