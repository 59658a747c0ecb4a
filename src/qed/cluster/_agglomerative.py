"""Clusters from the bottom up, of rows and of columns."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.cluster._dendrogram import Dendrogram, why_no_merges
from qed.cluster._link import CENTROIDS, Linkage, link, link_graph
from qed.cluster._space import AnyMetric, Space
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    InvalidParameter,
    NonNegative,
    PositiveInt,
    Traits,
    Transformer,
    fitted,
    param,
)
from qed.data._kernels import UNIT

if TYPE_CHECKING:
    from qed.core import FitData


class MergeModel(Clusterer):
    """What models of merges share: parameters of scikit-learn, a tree, and a cut through it."""

    n_clusters: int | None
    metric: Any
    memory: Any
    connectivity: Any
    compute_full_tree: Any
    linkage: str
    distance_threshold: float | None
    compute_distances: bool
    labels_: Array
    children_: Array
    distances_: Array
    n_clusters_: int
    n_leaves_: int
    n_connected_components_: int
    certificate_: ExactCertificate

    def _merge(self, data: FitData, connectivity: Any) -> None:
        """Merge rows, cut the tree, and store both."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise InvalidParameter(
                "Exactly one of n_clusters and distance_threshold has to be set, and the other needs to be None."
            )
        if self.linkage in CENTROIDS and self.metric != "euclidean":
            raise InvalidParameter(
                f"{self.metric!r} was provided as metric. Linkage {self.linkage!r} only works with euclidean distances:"
                " it measures from centroids."
            )
        n = data.n_rows
        if self.n_clusters is not None and n < self.n_clusters:
            raise InvalidData(
                f"Cannot extract more clusters than samples: {self.n_clusters} clusters were given for a tree with {n} leaves."
            )
        space = Space.of(type(self).__name__, data, self.metric)
        if connectivity is None:
            tree, components = link(space, self.linkage), 1
        else:
            graph = connectivity(data.X) if callable(connectivity) else connectivity
            tree, components = link_graph(space, space.rows, graph, self.linkage)
        self.children_, self.distances_ = tree.children, tree.heights
        self.labels_ = tree.cut(self.n_clusters, height=self.distance_threshold)
        self.n_clusters_, self.n_leaves_ = int(self.labels_.max()) + 1, n
        self.n_connected_components_ = components
        columns = max(space.rows.shape[1], 1)
        self.certificate_ = ExactCertificate(
            what=f"Merges of the nearest clusters by {self.linkage} linkage", rows=n, rounding=16 * (columns + n) * UNIT
        )

    @property
    def dendrogram_(self) -> Dendrogram:
        """The tree of merges: to be cut elsewhere, measured and drawn."""
        self._check_is_fitted()
        return Dendrogram(self.children_, self.distances_)


def _is_a_tree(model: Any, children: Array) -> str:
    return why_no_merges(children, model.n_leaves_)


class AgglomerativeClustering(MergeModel):
    r"""Agglomerative hierarchical clustering: the two nearest clusters are merged until k are left.

    Objective
    ---------
    .. math:: \min_{A \ne B} d(A, B)

    in each step, over the clusters there are. With the distance of rows written d, the distance of clusters is

    ========  ===============================================================================
    single    the least d of a row of A and one of B
    complete  the largest
    average   the mean over all pairs
    weighted  the mean of the distances of B to the two clusters that A was made of
    ward      :math:`\sqrt{2 |A| |B| / (|A| + |B|)} \, \| \bar x_A - \bar x_B \|`, which raises the inertia least
    centroid  :math:`\| \bar x_A - \bar x_B \|`
    median    the same of points, each the midpoint of the two that it replaces
    ========  ===============================================================================

    Certificate
    -----------
    ExactCertificate: the merges are those of the definition, up to rounding of distances. Heights of centroid and median linkage
    may fall (`dendrogram_.inversions`); those of all others rise.

    Cost
    ----
    O(n^2 p), typically. Memory beyond X: O(np) for single, ward, centroid and median; 4 n^2 bytes for complete, average and
    weighted; 8 n^2 for distances that are given.

    Notes
    -----
    With ``connectivity`` clusters merge along the edges of a graph. A graph that falls into parts is completed by the nearest rows
    of any two of them, with a warning.

    Examples
    --------
    >>> from qed.cluster import AgglomerativeClustering
    >>> model = AgglomerativeClustering(2, linkage="average").fit([[0.0], [1.0], [3.0], [7.0]])
    >>> model.labels_.tolist(), model.distances_.round(3).tolist()
    ([0, 0, 0, 1], [1.0, 2.5, 5.667])
    """

    n_clusters: PositiveInt | None = param(2, "Number of clusters; None with distance_threshold.")
    _: KW_ONLY
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' where X holds distances."
    )
    memory: Any = param(None, "Where scikit-learn caches trees; trees are not cached.", kind="hint")
    connectivity: Any = param(
        None, "Graph of the rows, (n, n), that merges follow; or a function of X that returns one."
    )
    compute_full_tree: bool | str = param("auto", "Whether to build the tree above the cut; it always is.", kind="hint")
    linkage: Linkage = param("ward", "How clusters are measured.")
    distance_threshold: NonNegative | None = param(None, "Height from which on clusters are not merged.")
    compute_distances: bool = param(False, "Whether heights are wanted; they always are computed.", kind="hint")

    labels_: Array = fitted("The cluster of each row.", dtype="int64", shape="(n_leaves_,)", low=0, below="n_clusters_")
    n_clusters_: int = fitted("Number of clusters.", low=1, high="labels_")
    n_leaves_: int = fitted("Number of rows.", low=1)
    n_connected_components_: int = fitted("Parts of the graph.", low=1, answers=False)
    children_: Array = fitted(
        "Clusters that each merge joins: rows below n, then merges in their order.",
        dtype="int64", shape="(n_leaves_ - 1, 2)", check=_is_a_tree,
    )  # fmt: skip
    distances_: Array = fitted("Heights of the merges.", shape="(n_leaves_ - 1,)", low=0)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Merge rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or distances of shape (n, n)
            Rows, at least two.
        """
        data = self._fit_data(X)
        if data.n_rows < 2:
            raise InvalidData(f"Found array with {data.n_rows} sample(s) while a minimum of 2 is required.")
        self._merge(data, self.connectivity)
        return self


class FeatureAgglomeration(MergeModel, Transformer):
    r"""Agglomerative clustering of the features (columns): similar columns are merged into one.

    Objective
    ---------
    .. math:: \min_{A \ne B} d(A, B)

    in each step, over clusters of columns, as `AgglomerativeClustering` does for rows.

    Certificate
    -----------
    ExactCertificate: the merges are those of the definition, up to rounding of distances.

    Cost
    ----
    O(p^2 n) for p columns: where rows are more, all columns are measured once, and the 8 p^2 bytes of their distances updated.

    Examples
    --------
    >>> from qed.cluster import FeatureAgglomeration
    >>> X = [[0.0, 0.1, 9.0], [1.0, 1.1, 3.0], [2.0, 2.1, 5.0]]
    >>> FeatureAgglomeration(2).fit_transform(X).round(2).tolist()
    [[0.05, 9.0], [1.05, 3.0], [2.05, 5.0]]
    """

    n_clusters: PositiveInt | None = param(2, "Number of clusters of columns; None with distance_threshold.")
    _: KW_ONLY
    metric: AnyMetric = param("euclidean", "Distance of columns, as in `AgglomerativeClustering`.")
    memory: Any = param(None, "Where scikit-learn caches trees; trees are not cached.", kind="hint")
    connectivity: Any = param(None, "Graph of the columns, (p, p), that merges follow; or a function of X.T.")
    compute_full_tree: bool | str = param("auto", "Whether to build the tree above the cut; it always is.", kind="hint")
    linkage: Linkage = param("ward", "How clusters are measured.")
    pooling_func: Literal["mean", "median", "max", "min"] | Callable[..., Any] = param(
        "mean", "What joins the columns of a cluster: a name, or a function with an ``axis``, such as numpy.mean."
    )
    distance_threshold: NonNegative | None = param(None, "Height from which on clusters are not merged.")
    compute_distances: bool = param(False, "Whether heights are wanted; they always are computed.", kind="hint")

    labels_: Array = fitted("The cluster of each column.", dtype="int64", shape="(p,)", low=0, below="n_clusters_")
    n_clusters_: int = fitted("Number of clusters.", low=1, high="labels_")
    n_leaves_: int = fitted("Number of columns.", low=1)
    n_connected_components_: int = fitted("Parts of the graph.", low=1, answers=False)
    children_: Array = fitted(
        "Clusters that each merge joins: columns first, then merges in their order.",
        dtype="int64", shape="(n_leaves_ - 1, 2)", check=_is_a_tree,
    )  # fmt: skip
    distances_: Array = fitted("Heights of the merges.", shape="(n_leaves_ - 1,)", low=0)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Merge columns.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            A table of at least two columns.
        """
        data = self._fit_data(X)
        columns = data.X.shape[1]
        if columns < 2:
            raise InvalidData(
                f"Found array with {columns} feature(s) (shape={data.X.shape}) while a minimum of 2 is required."
            )
        turned = type(data)(
            np.ascontiguousarray(np.asarray(data.X, dtype=np.float64).T),
            None,
            None,
            None,
            columns,
            None,
            owner=data.owner,
        )
        self._merge(turned, self.connectivity)
        return self

    def _n_features_out(self) -> int:
        return self.n_clusters_

    def transform(self, X: Any) -> Any:
        """Join the columns of each cluster.

        Returns
        -------
        ndarray of shape (n, k)
            One column for each cluster.
        """
        X = np.asarray(self._new_data(X))
        pool = getattr(np, self.pooling_func) if isinstance(self.pooling_func, str) else self.pooling_func
        if isinstance(pool, np.ufunc | type):
            raise InvalidParameter(f"pooling_func must be a function of a table and axis=1, got {pool!r}.")
        pooled = [np.asarray(pool(X[:, self.labels_ == k], axis=1)) for k in range(self.n_clusters_)]
        return np.stack(pooled, axis=1).astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Give each column the value of its cluster.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Values of the clusters.

        Returns
        -------
        ndarray of shape (n, p)
            Values of the columns.
        """
        self._check_is_fitted()
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != self.n_clusters_:
            raise InvalidData(
                f"X must have a column for each of the {self.n_clusters_} clusters, got shape {values.shape}."
            )
        return np.asarray(values[:, self.labels_])
