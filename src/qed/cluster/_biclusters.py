"""Groups of rows and of columns of one table, by its singular vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ClustersCertificate
from qed.cluster._kmeans import KMeans
from qed.cluster._mini_batch import MiniBatchKMeans
from qed.cluster._space import require_sizes
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    InvalidData,
    InvalidParameter,
    Matrix,
    NonNegativeInt,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._tables import is_sparse
from qed.core._threads import one_blas_thread
from qed.core._user_models import BiclusterMixin
from qed.designs._range import fingerprint

if TYPE_CHECKING:
    from numpy.random import Generator

DENSE_SIDE = 1000  # rows or columns of a table all of whose singular values are found
BALANCE = 1e-11  # change of a table at which it is balanced
MOST_BALANCING = 1000

_SVD = param("randomized", "Method of scikit-learn; singular vectors here are exact.", kind="hint")
_VECTORS = param(None, "Vectors of scikit-learn's methods.", kind="hint")
_BATCH = param(False, "Whether k-means learns in batches.")
_STARTS = param("k-means++", "Where k-means starts from, as in `KMeans`.")
_TIMES = param(10, "How many starts of k-means.")
_SEED = param(None, "Seed of the starts.")


class BiclusterModel(BiclusterMixin, Estimator, sparse=True):
    """What both models share: indicators of rows and columns, and k-means of singular vectors."""

    mini_batch: bool
    init: Any
    n_init: int
    random_state: Any
    rows_: Array
    columns_: Array

    def _grouped(self, points: Array, k: int, rng: Generator) -> Array:
        kind: Any = MiniBatchKMeans if self.mini_batch else KMeans
        model = kind(k, init=self.init, n_init=self.n_init, random_state=int(rng.integers(2**31)))
        return np.asarray(model.fit(np.ascontiguousarray(points)).labels_, dtype=np.int32)


class SpectralCoclustering(BiclusterModel):
    r"""Spectral co-clustering: blocks of rows and columns, by the normalised cut of the bipartite graph between them.

    Objective
    ---------
    .. math:: \min \sum_j \frac{\mathrm{cut}(A_j)}{\mathrm{vol}(A_j)}

    over partitions of rows and columns together, entry (i, j) being the weight of the edge between row i and column j. Once labels
    may be any numbers, singular vectors of :math:`R^{-1/2} X C^{-1/2}` are the solution, with R and C the sums of rows and columns.

    Certificate
    -----------
    ClustersCertificate: the normalised cut is at most so many times the least one, which is at least
    :math:`\sum_{i \le k} (1 - \sigma_i)`. The bound is stated where rows or columns are at most 1000.

    Cost
    ----
    Singular vectors of the table; O((n + p) k) a step of k-means. Sparse tables stay sparse.

    Examples
    --------
    >>> from qed.cluster import SpectralCoclustering
    >>> model = SpectralCoclustering(2, random_state=0).fit([[9, 9, 1], [8, 9, 1], [1, 1, 7]])
    >>> model.get_shape(model.row_labels_[0])
    (2, 2)
    """

    n_clusters: PositiveInt = param(3, "Number of biclusters.")
    _: KW_ONLY
    svd_method: Literal["randomized", "arpack"] = _SVD
    n_svd_vecs: NonNegativeInt | None = _VECTORS
    mini_batch: bool = _BATCH
    init: Literal["k-means++", "random"] | Matrix = _STARTS
    n_init: PositiveInt = _TIMES
    random_state: Seed = _SEED

    rows_: Array = fitted("Which rows each bicluster has.", dtype="bool", shape="(n_clusters, n)")
    columns_: Array = fitted("Which columns each bicluster has.", dtype="bool", shape="(n_clusters, p)")
    row_labels_: Array = fitted("The bicluster of each row.", dtype="int32", shape="(n,)", low=0, below="n_clusters")
    column_labels_: Array = fitted(
        "The bicluster of each column.", dtype="int32", shape="(p,)", low=0, below="n_clusters"
    )
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find biclusters.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            A table; negative entries of a dense one are lifted by its least.
        """
        data = self._fit_data(X)
        table, k = _lifted(type(self).__name__, data.X, 0.0), self.n_clusters
        n = table.shape[0]
        if k > n:
            raise InvalidData(f"n_clusters should be <= n_samples={n}. Got {k} instead.")
        scaled, row, column = _scaled(table)
        rng = generator(self.random_state)
        values, left, right = _singular(scaled, max(k, 1 + math.ceil(math.log2(k))), rng)
        used = slice(1, 1 + max(math.ceil(math.log2(k)), 0))
        points = np.vstack([row[:, None] * left[:, used], column[:, None] * right[:, used]])
        labels = self._grouped(points, k, rng) if k > 1 and points.shape[1] else np.zeros(sum(table.shape), np.int32)
        self.row_labels_, self.column_labels_ = labels[:n], labels[n:]
        self.rows_ = self.row_labels_ == np.arange(k)[:, None]
        self.columns_ = self.column_labels_ == np.arange(k)[:, None]
        rounding = 1e-12 * (n + table.shape[1]) ** 0.5 * k
        missing = np.concatenate([1 - values[:k], np.ones(max(k - len(values), 0))])
        bound = float(np.sum(np.maximum(missing, 0.0))) - rounding
        self.certificate_ = _certificate(
            data.X, _cut(table, self.row_labels_, self.column_labels_, k), bound, rounding, float(k)
        )
        return self


class SpectralBiclustering(BiclusterModel):
    r"""Spectral biclustering: groups of rows and groups of columns that form a checkerboard.

    Objective
    ---------
    .. math:: \min \sum_{ij} (a_{ij} - m_{\rho(i) \gamma(j)})^2

    over groups :math:`\rho` of rows and :math:`\gamma` of columns, m being the means of blocks and a the table as ``method``
    normalises it. Groups are those of rows and columns, projected on the singular vectors of a that are nearest to steps.

    Certificate
    -----------
    ClustersCertificate: the squares that the checkerboard leaves, and what every checkerboard of this size leaves at least: it has
    no more rank than groups, and no table of that rank leaves less than the squares of the other singular values. The bound is
    stated where rows or columns are at most 1000.

    Cost
    ----
    Singular vectors of the table, and k-means of each.

    Examples
    --------
    >>> from qed.cluster import SpectralBiclustering
    >>> model = SpectralBiclustering(2, n_components=1, n_best=1, random_state=0).fit([[9, 9, 1], [8, 9, 1], [1, 1, 7]])
    >>> (model.row_labels_[0] == model.row_labels_[1]).item(), (model.row_labels_[0] == model.row_labels_[2]).item()
    (True, False)
    """

    n_clusters: PositiveInt | tuple[PositiveInt, PositiveInt] = param(
        3, "Groups of rows and of columns: one number, or two."
    )
    _: KW_ONLY
    method: Literal["bistochastic", "scale", "log"] = param(
        "bistochastic",
        "Sums of rows and columns made equal by repeated scaling, by one, or interactions of logarithms.",
    )
    n_components: PositiveInt = param(6, "Singular vectors that are looked at.")
    n_best: PositiveInt = param(3, "Those nearest to steps, which are used.")
    svd_method: Literal["randomized", "arpack"] = _SVD
    n_svd_vecs: NonNegativeInt | None = _VECTORS
    mini_batch: bool = _BATCH
    init: Literal["k-means++", "random"] | Matrix = _STARTS
    n_init: PositiveInt = _TIMES
    random_state: Seed = _SEED

    rows_: Array = fitted("Which rows each bicluster has.", dtype="bool", shape="(b, n)")
    columns_: Array = fitted("Which columns each bicluster has.", dtype="bool", shape="(b, p)")
    row_labels_: Array = fitted("The group of each row.", dtype="int32", shape="(n,)", low=0)
    column_labels_: Array = fitted("The group of each column.", dtype="int32", shape="(p,)", low=0)
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find groups.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            A table; negative entries of a dense one are lifted by its least.
        """
        data = self._fit_data(X)
        n, p = data.X.shape
        if min(n, p) < 2:
            raise InvalidData(
                f"A checkerboard needs 2 rows and 2 columns at least, got n_samples={n} and n_features={p}."
            )
        k, m = self._groups(n, p)
        if self.n_best > self.n_components:
            raise InvalidParameter(f"n_best={self.n_best} must be <= n_components={self.n_components}.")
        table = _normalised(type(self).__name__, data.X, self.method)
        rng = generator(self.random_state)
        first = 0 if self.method == "log" else 1
        values, left, right = _singular(table, max(self.n_components + first, min(k, m)), rng)
        used = slice(first, self.n_components + first)
        right_best = self._steps(right[:, used], m, rng)
        left_best = self._steps(left[:, used], k, rng)
        self.row_labels_ = self._grouped(np.asarray(data.X @ right_best), k, rng)
        self.column_labels_ = self._grouped(np.asarray(data.X.T @ left_best), m, rng)
        self.rows_ = np.repeat(self.row_labels_ == np.arange(k)[:, None], m, axis=0)
        self.columns_ = np.tile(self.column_labels_ == np.arange(m)[:, None], (k, 1))
        total = float(table.multiply(table).sum()) if is_sparse(table) else float(np.sum(table * table))
        rounding = 1e-12 * (n + p) * total
        bound = total - float(np.sum(values[: min(k, m)] ** 2)) - rounding
        rest = _checkerboard(table, self.row_labels_, self.column_labels_, k, m, total)
        self.certificate_ = _certificate(data.X, rest, bound, rounding, total)
        return self

    def _groups(self, n: int, p: int) -> tuple[int, int]:
        k, m = self.n_clusters if isinstance(self.n_clusters, tuple) else (self.n_clusters, self.n_clusters)
        if k > n or m > p:
            raise InvalidData(
                f"Incorrect parameter n_clusters has value: {self.n_clusters}. At most the rows and columns of X, ({n}, {p})."
                f" n_clusters should be <= n_samples={n}."
            )
        return k, m

    def _steps(self, vectors: Array, k: int, rng: Generator) -> Array:
        """Return the vectors that are nearest to k steps."""
        away = []
        for vector in vectors.T:
            labels = self._grouped(vector[:, None], k, rng)
            away.append(
                sum(float(np.sum((vector[labels == j] - vector[labels == j].mean()) ** 2)) for j in np.unique(labels))
            )
        return vectors[:, np.argsort(away, kind="stable")[: self.n_best]]


def _lifted(owner: str, X: Any, least: float) -> Any:
    """Return a table without entries below a number: what is missing is added to all."""
    if is_sparse(X):
        table = X.tocsr().astype(np.float64)
        require_sizes(owner, table.data)
        if table.nnz and table.data.min() < 0:
            raise InvalidData(
                f"{owner}: a sparse table must not have negative entries: lifting them would fill it. Make it dense."
            )
        return table
    table = np.ascontiguousarray(X, dtype=np.float64)
    require_sizes(owner, table)
    low = float(table.min())
    return table + (least - low) if low < least else table.copy()


def _scaled(table: Any) -> tuple[Any, Array, Array]:
    """Divide by the roots of the sums of rows and columns; return these factors too, zero where a sum is."""
    row, column = (np.asarray(table.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    row, column = (np.where(one > 0, 1 / np.sqrt(np.where(one > 0, one, 1.0)), 0.0) for one in (row, column))
    if is_sparse(table):
        from scipy.sparse import diags  # noqa: PLC0415

        return (diags(row) @ table @ diags(column)).tocsr(), row, column
    return row[:, None] * table * column, row, column


def _normalised(owner: str, X: Any, method: str) -> Any:
    if method == "log":
        if is_sparse(X):
            raise InvalidData(
                "Cannot compute log of a sparse matrix, because log(x) diverges to -infinity as x goes to 0."
            )
        logs = np.log(_lifted(owner, X, 1.0))
        return logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean()
    table, row, column = _scaled(_lifted(owner, X, 0.0))
    if method == "scale":
        return table
    size = float(np.sqrt(table.multiply(table).sum() if is_sparse(table) else np.vdot(table, table)))
    row, column = (row > 0).astype(np.float64), (column > 0).astype(np.float64)
    turned = table.T.tocsr() if is_sparse(table) else table.T
    for _ in range(MOST_BALANCING):
        # only the factors of rows and columns move: one of a row without entries stays zero
        by_row, by_column = (
            1 / np.sqrt(np.where(sums > 0, sums, 1.0)) for sums in (row * (table @ column), column * (turned @ row))
        )
        row, column = row * by_row, column * by_column
        ends = float(by_row.max() * by_column.max()) - 1, 1 - float(by_row.min() * by_column.min())
        if size * max(ends) < BALANCE:  # no entry moves by a larger share
            break
    if is_sparse(table):
        from scipy.sparse import diags  # noqa: PLC0415

        return (diags(row) @ table @ diags(column)).tocsr()
    table *= row[:, None]
    table *= column
    return table


def _singular(table: Any, count: int, rng: Generator) -> tuple[Array, Array, Array]:
    """Return the largest singular values, at most as many as there are, and their vectors."""
    n, p = table.shape
    count = min(count, n, p)
    if min(n, p) <= DENSE_SIDE or count >= min(n, p) - 1:
        product = (table @ table.T) if n <= p else (table.T @ table)
        product = product.toarray() if is_sparse(product) else product
        with one_blas_thread(len(product) ** 2):
            squares, vectors = np.linalg.eigh(product)
        squares, vectors = squares[::-1][:count], vectors[:, ::-1][:, :count]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh  # noqa: PLC0415

        one, two = (table, table.T) if n <= p else (table.T, table)
        side = min(n, p)
        operator = LinearOperator((side, side), matvec=lambda v: one @ (two @ v.ravel()), dtype=np.float64)
        squares, vectors = eigsh(operator, k=count, which="LA", v0=rng.uniform(-1, 1, side), tol=1e-10)
        squares, vectors = squares[::-1], vectors[:, ::-1]
    values = np.sqrt(np.maximum(squares, 0.0))
    other = np.asarray((table.T if n <= p else table) @ vectors) / np.where(values > 0, values, 1.0)
    left, right = (vectors, other) if n <= p else (other, vectors)
    signs = np.sign(left[np.argmax(np.abs(left), axis=0), np.arange(left.shape[1])])
    signs = np.where(signs == 0, 1.0, signs)
    return values, left * signs, right * signs


def _cut(table: Any, row_labels: Array, column_labels: Array, k: int) -> float:
    """Return the normalised cut of the graph between rows and columns."""
    rows, columns = (np.asarray(table.sum(axis=axis)).ravel() for axis in (1, 0))
    total = 0.0
    for j in range(k):
        own, other = row_labels == j, column_labels == j
        volume = float(rows[own].sum() + columns[other].sum())
        inside = float((table @ other.astype(np.float64))[own].sum())
        total += (volume - 2 * inside) / volume if volume > 0 else 0.0
    return max(total, 0.0)


def _checkerboard(table: Any, row_labels: Array, column_labels: Array, k: int, m: int, total: float) -> float:
    """Return the squares that the means of blocks leave."""
    sums = np.eye(k)[row_labels].T @ np.asarray(table @ np.eye(m)[column_labels])
    sizes = np.outer(np.bincount(row_labels, minlength=k), np.bincount(column_labels, minlength=m))
    return max(total - float(np.sum(sums**2 / np.maximum(sizes, 1))), 0.0)


def _certificate(X: Any, objective: float, bound: float, rounding: float, null: float) -> ClustersCertificate:
    return ClustersCertificate(
        objective=objective,
        bound=max(bound, 0.0) if min(X.shape) <= DENSE_SIDE else 0.0,
        rounding=rounding,
        null_objective=null,
        drift=0.0,
        trace=np.zeros(0),
        evaluations=0,
        tol=1e-4,
        outcome="solved",
        fingerprint=fingerprint(X, np.empty((X.shape[0], 0)), None),
    )
