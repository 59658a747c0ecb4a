"""Locally linear embedding and its relatives."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    NonNegative,
    PositiveInt,
    Seed,
    fitted,
    param,
)
from qed.core._memory import require_memory
from qed.manifold._eigenvectors import MACHINE_EPSILON, trailing, with_settled_axes
from qed.manifold._embedding import Embedding, Ending, with_signs
from qed.manifold._local_weights import barycenter_weights, hessian, modified, standard, tangent_alignment
from qed.manifold._neighborhoods import Space, require_neighbors


class LocallyLinearEmbedding(Embedding):
    r"""Locally linear embedding (LLE): an embedding in which each sample is the same combination of its neighbours as in the data.

    Objective
    ---------
    .. math:: \min_{Y^\top Y = I,\; Y^\top 1 = 0} \sum_i \Big\| y_i - \sum_j w_{ij} y_j \Big\|^2

    with weights of sum one, nonzero for neighbours only, by which row i is nearest to the weighted mean of its neighbours. Other
    methods charge points in other ways for leaving the patches of their neighbourhoods: ``"modified"`` by several weight vectors,
    ``"hessian"`` by second derivatives along tangents, ``"ltsa"`` by what tangents do not explain.

    Certificate
    -----------
    EmbeddingCertificate: the objective, the residual of the eigenvectors, and how many neighbours are kept.

    Cost
    ----
    O(n^2 p) at most for neighbours, O(n k^3) for weights, and a sparse factorisation of a matrix with about k^2 entries a row.

    Notes
    -----
    New rows are placed at the weighted means of the points of their neighbours.

    Examples
    --------
    >>> from qed.manifold import LocallyLinearEmbedding
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]
    >>> Y = LocallyLinearEmbedding(n_neighbors=2, n_components=1).fit_transform(X)
    >>> bool((Y[1:, 0] < Y[:-1, 0]).all() or (Y[1:, 0] > Y[:-1, 0]).all())
    True
    """

    _: KW_ONLY
    n_neighbors: PositiveInt = param(5, "Neighbours of a row.")
    n_components: PositiveInt = param(2, "Dimensions of the embedding.")
    reg: NonNegative = param(1e-3, "How much the squares of weights count, relative to the local products.")
    eigen_solver: Literal["auto", "arpack", "dense"] = param(
        "auto", "Eigensolver of scikit-learn; answers are the same.", kind="hint"
    )
    tol: NonNegative = param(1e-6, "Tolerance of scikit-learn's solver; here residuals are near rounding.", kind="hint")
    max_iter: PositiveInt = param(100, "Steps of scikit-learn's solver.", kind="hint")
    method: Literal["standard", "hessian", "modified", "ltsa"] = param("standard", "What points are charged for.")
    hessian_tol: NonNegative = param(1e-4, "Sums of second derivatives below which they are not scaled, for 'hessian'.")
    modified_tol: NonNegative = param(1e-12, "Lengths below which a reflection is left out, for 'modified'.")
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = param(
        "auto", "How scikit-learn finds neighbours; they are the same.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of scikit-learn's solver.", kind="hint")
    n_jobs: int | None = param(
        None, "Number of threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )

    rows_: Array = fitted("The rows of the fit, (n, p).", shape="(n, p)")
    neighbors_: Array = fitted(
        "Numbers of the neighbours of each row, nearest first, (n, k).",
        dtype="int32",
        shape="(n, *)",
        low=0,
        answers=False,
    )
    reconstruction_error_: float = fitted("The objective: the sum of the eigenvalues of the components.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the rows."""
        data = self._fit_data(X)
        n, p = data.X.shape
        if self.n_components > p:
            raise InvalidParameter(
                f"output dimension must be less than or equal to input dimension: n_components = {self.n_components}, p = {p}."
            )
        k = require_neighbors(type(self).__name__, self.n_neighbors, n)
        require_memory(24 * n * k * k, f"the neighbourhoods of {n} rows, {k} each", "Take fewer neighbours.")
        space = Space.of(type(self).__name__, data.X, "euclidean")
        _, ids = space.nearest(k)
        M = self._charges(space.rows, ids)
        count = min(self.n_components, n - 1)
        size = max(float(abs(M).sum(axis=1).max()), MACHINE_EPSILON)
        pairs = with_settled_axes(trailing(M, count, np.full(n, n**-0.5)), size, space.rows)
        points = np.zeros((n, self.n_components))
        points[:, :count] = pairs.vectors
        self.rows_, self.neighbors_ = np.array(space.rows), ids.astype(np.int32)
        self.embedding_ = with_signs(points).astype(data.X.dtype)
        self.reconstruction_error_ = float(np.sum(pairs.values))
        ending = Ending("reconstruction error", self.reconstruction_error_, pairs.residual / size, "solved")
        self._certify(space, self._seen(data), ending)
        return self

    def _charges(self, rows: Array, ids: Array) -> Any:
        d = self.n_components
        if self.method == "hessian":
            return hessian(rows, ids, d, float(self.hessian_tol))
        if self.method == "modified":
            return modified(rows, ids, d, float(self.reg), float(self.modified_tol))
        if self.method == "ltsa":
            return tangent_alignment(rows, ids, d)
        return standard(rows, ids, float(self.reg))

    def transform(self, X: Any) -> Any:
        """Place new rows: at the weighted means of the points of their neighbours.

        Returns
        -------
        ndarray of shape (m, n_components)
            Points.
        """
        given = self._new_data(X)
        queries = np.ascontiguousarray(given, dtype=np.float64)
        space = Space.of(type(self).__name__, self.rows_, "euclidean")
        _, ids = space.nearest_of(queries, min(self.n_neighbors, len(self.rows_)))
        weights = barycenter_weights(queries, self.rows_, ids, float(self.reg))
        return np.einsum("ij,ijk->ik", weights, np.asarray(self.embedding_, np.float64)[ids]).astype(given.dtype)


def locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    eigen_solver: Literal["auto", "arpack", "dense"] = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    method: Literal["standard", "hessian", "modified", "ltsa"] = "standard",
    hessian_tol: float = 1e-4,
    modified_tol: float = 1e-12,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[Array, float]:
    """Place rows by their neighbourhoods: the function behind `LocallyLinearEmbedding`, whose parameters it takes.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    n_neighbors, n_components, reg, eigen_solver, tol, max_iter, method, hessian_tol, modified_tol, random_state, n_jobs : object
        As in `LocallyLinearEmbedding`.

    Returns
    -------
    Y : ndarray of shape (n, n_components)
        Points.
    squared_error : float
        The objective.
    """
    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors,
        n_components=n_components,
        reg=reg,
        eigen_solver=eigen_solver,
        tol=tol,
        max_iter=max_iter,
        method=method,
        hessian_tol=hessian_tol,
        modified_tol=modified_tol,
        random_state=random_state,
        n_jobs=n_jobs,
    ).fit(X)
    return model.embedding_, model.reconstruction_error_
