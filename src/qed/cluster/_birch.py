"""Subclusters of a stream of rows, in a tree, and clusters of subclusters."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Self

import numpy as np

from qed.certificates import ExactCertificate, Uncertified
from qed.cluster import _kernels
from qed.cluster._agglomerative import AgglomerativeClustering
from qed.cluster._kernels import CfTree
from qed.cluster._space import require_sizes
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    ConvergenceWarning,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Number,
    Transformer,
    clone,
    fitted,
    param,
)
from qed.core._tables import is_sparse
from qed.data._kernels import UNIT
from qed.metrics import pairwise_distances

Branching = Annotated[int, Number(low=2, whole=True)]
ROWS_AT_ONCE = 1 << 14  # rows of a sparse table that are made dense together
WHAT = "Subclusters with the counts, means and radii"


class Birch(Clusterer, Transformer, sparse=True):
    r"""BIRCH: one pass summarises the rows by subclusters in a tree; the subclusters are then clustered.

    Objective
    ---------
    .. math:: R_j^2 = \frac{1}{n_j} \sum_{i \in j} \| x_i - \mu_j \|^2 \le \mathrm{threshold}^2

    for every subcluster j: rows join the nearest one while its radius stays within the threshold, and begin a new one otherwise.
    Count, mean and sum of squares of two subclusters add up, so that a tree of them is updated for each sample.
    Ward's linkage joins the means of subclusters to ``n_clusters`` clusters.

    Certificate
    -----------
    ExactCertificate: counts, means and radii of all subclusters are those of their rows, and no radius exceeds the threshold.

    Cost
    ----
    O(log m) distances a row to ``branching_factor`` means each, for m subclusters, and O(m^2) for Ward's linkage of them. Memory
    beyond X: O(mp), and 8n bytes if labels are computed.

    Notes
    -----
    Sums of squares are about the means, so that rows far from the origin lose no digits. Subclusters are numbered in the order
    in which they begin.

    Examples
    --------
    >>> from qed.cluster import Birch
    >>> model = Birch(threshold=1.0, n_clusters=2).fit([[0.0], [0.5], [9.0], [9.5], [12.0]])
    >>> model.subcluster_centers_.tolist(), model.labels_.tolist()
    ([[0.25], [9.25], [12.0]], [0, 0, 1, 1, 1])
    """

    _: KW_ONLY
    threshold: NonNegative = param(0.5, "Largest radius of a subcluster.")
    branching_factor: Branching = param(50, "Most entries of a node of the tree.")
    n_clusters: Any = param(
        3,
        "Clusters of subclusters, by Ward's linkage; None leaves subclusters as they are; or a model that clusters them.",
    )
    compute_labels: bool = param(
        True, "Whether to find labels of the rows, and to keep which subcluster each row joined."
    )

    subcluster_centers_: Array = fitted("Means of subclusters.", shape="(c, p)", length="at least 1")
    subcluster_labels_: Array = fitted("The cluster of each subcluster.", dtype="int", shape="(c,)", low=-1)
    subcluster_counts_: Array = fitted("Rows of each subcluster.", shape="(c,)", low=1, high=2**53, answers=False)
    subcluster_squares_: Array = fitted(
        "Sums of squared distances of rows to the means of their subclusters.", shape="(c,)", low=0, answers=False
    )
    tree_starts_: Array = fitted(
        "Where the entries of each node begin.", dtype="int64", shape="(t,)", low=0, order="rising", answers=False
    )
    tree_children_: Array = fitted(
        "Entries of nodes: numbers of nodes, or of subclusters as -1, -2, ...",
        dtype="int64",
        shape="(e,)",
        answers=False,
    )
    clusterer_: AgglomerativeClustering | None = fitted(
        "What joined subclusters; None where nothing did.", answers=False
    )
    labels_: Array = fitted(
        "The cluster of each row of the last call.", dtype="int", shape="(n,)", low=-1, optional=True
    )
    row_subclusters_: Array = fitted(
        "The subcluster that each row joined, of all calls.", dtype="int64", shape="(m,)", low=0,
        below="subcluster_centers_", optional=True, answers=False,
    )  # fmt: skip
    certificate_: ExactCertificate | Uncertified = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Summarise rows, and cluster what summarises them.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows, which count in their order.
        """
        data = self._fit_data(X)
        for name in type(self)._results:  # noqa: SLF001
            vars(self).pop(name, None)
        return self._learn(data.X)

    def partial_fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Add rows to the tree; without rows, cluster the subclusters again.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p), optional
            Rows.
        """
        if X is None:
            self._check_is_fitted()
            self._cluster_means()
            self._certify()
            return self
        is_new = "subcluster_centers_" not in vars(self)
        return self._learn(self._fit_data(X, reset=is_new).X)

    def _learn(self, X: Any) -> Self:
        tree = None
        if "subcluster_centers_" in vars(self):
            tree = CfTree(
                self.subcluster_centers_, self.subcluster_counts_, self.subcluster_squares_, self.tree_starts_,
                self.tree_children_,
            )  # fmt: skip
        places = []
        for rows in _dense_blocks(X):
            require_sizes(type(self).__name__, rows)
            try:
                # no node can have more entries than there are subclusters and rows: space is taken for no more
                most = max(2, len(rows) + (0 if tree is None else len(tree[0])))
                tree, place = _kernels.grow_cf_tree(rows, tree, float(self.threshold), min(self.branching_factor, most))
            except ValueError as error:
                raise InvalidParameter(
                    f"The tree of this Birch cannot go on: {error}. Was branching_factor changed? Fit again."
                ) from error
            places.append(place)
        assert tree is not None  # noqa: S101  (at least one row)
        before = vars(self).get("row_subclusters_")
        is_whole = "subcluster_centers_" not in vars(self) or before is not None
        self.subcluster_centers_, self.subcluster_counts_, self.subcluster_squares_ = tree[:3]
        self.tree_starts_, self.tree_children_ = tree.starts, tree.children
        for name in ("row_subclusters_", "labels_"):
            vars(self).pop(name, None)
        if self.compute_labels and is_whole:
            self.row_subclusters_ = np.concatenate([*([] if before is None else [before]), *places])
        self._cluster_means()
        if self.compute_labels:
            self.labels_ = self._predicted(X)
        self._certify()
        return self

    def _cluster_means(self) -> None:
        count, wanted = len(self.subcluster_centers_), self.n_clusters
        self.clusterer_ = None
        if wanted is None:
            self.subcluster_labels_ = np.arange(count)
        elif isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
            if wanted < 1:
                raise InvalidParameter(
                    f"Birch.n_clusters must be an integer >= 1, None or a clusterer, got {wanted!r}."
                )
            if count < wanted:
                warnings.warn(
                    ConvergenceWarning(
                        f"Number of subclusters found ({count}) by BIRCH is less than ({wanted}). Decrease the threshold."
                    ),
                    stacklevel=4,
                )
                self.subcluster_labels_ = np.arange(count)
            else:
                self.clusterer_ = (
                    AgglomerativeClustering(int(wanted)).fit(self.subcluster_centers_) if count > 1 else None
                )
                self.subcluster_labels_ = (
                    np.zeros(1, np.int64) if self.clusterer_ is None else self.clusterer_.labels_.copy()
                )
        elif hasattr(wanted, "fit_predict"):
            self.subcluster_labels_ = np.asarray(clone(wanted).fit_predict(self.subcluster_centers_), dtype=np.int64)
        else:
            raise InvalidParameter(
                f"Birch.n_clusters must be an integer >= 1, None or a clusterer, got {wanted!r:.60}."
            )

    def _certify(self) -> None:
        if hasattr(self.n_clusters, "fit_predict"):
            self.certificate_ = Uncertified("another model has clustered the subclusters; verify it by itself")
            return
        rows = int(self.subcluster_counts_.sum())
        self.certificate_ = ExactCertificate(
            what=WHAT, rows=rows, rounding=min(64 * float(self.subcluster_centers_.shape[1] + rows) * UNIT, 2.0**-35)
        )

    def _n_features_out(self) -> int:
        return len(self.subcluster_centers_)

    def _predicted(self, X: Any) -> Array:
        nearest = [np.argmin(self._distances(rows), axis=1) for rows in _dense_blocks(X, len(self.subcluster_centers_))]
        return np.asarray(self.subcluster_labels_[np.concatenate(nearest)])

    def _distances(self, rows: Array) -> Array:
        mean = self.subcluster_centers_.mean(axis=0)
        return pairwise_distances(rows - mean, self.subcluster_centers_ - mean)

    def predict(self, X: Any) -> Array:
        """Return the cluster of the nearest subcluster.

        Returns
        -------
        ndarray of int of shape (m,)
            Numbers of clusters.
        """
        return self._predicted(self._new_data(X))

    def transform(self, X: Any) -> Any:
        """Return the distances of rows to the means of all subclusters.

        Returns
        -------
        ndarray of shape (m, c)
            Distances, in the type of X.
        """
        X = self._new_data(X)
        found = np.concatenate([self._distances(rows) for rows in _dense_blocks(X)])
        return found.astype(X.dtype, copy=False)


def _dense_blocks(X: Any, width: int = 1) -> list[Array] | Any:
    """Yield rows as contiguous float64, some at a time; as many fewer as what is found of each is wide."""
    if X.shape[0] == 0:
        raise InvalidData("Birch needs at least one row.")
    if not is_sparse(X) and width == 1:
        yield np.ascontiguousarray(X, dtype=np.float64)
        return
    step = max(ROWS_AT_ONCE * 64 // max(width, 64), 64)
    X = X.tocsr() if is_sparse(X) else X
    for first in range(0, X.shape[0], step):
        some = X[first : first + step]
        yield np.ascontiguousarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)
