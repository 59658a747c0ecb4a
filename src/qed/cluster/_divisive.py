"""Clusters from the top down."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.cluster._agglomerative import _is_a_tree
from qed.cluster._dendrogram import Dendrogram
from qed.cluster._space import AnyMetric, Space
from qed.core import KW_ONLY, Array, Clusterer, InvalidData, PositiveInt, Traits, fitted, param
from qed.core._events import Progress
from qed.data._kernels import UNIT


class DivisiveClustering(Clusterer):
    r"""Divisive hierarchical clustering (DIANA): the cluster of largest diameter is split, until each row is a cluster.

    Objective
    ---------
    .. math:: \max_{i, i' \in C} d(x_i, x_{i'})

    is the diameter of a cluster C. The cluster of the largest diameter is split: the row with the largest mean distance to the
    others leaves, and takes along every row that is nearer to those who left than to those who stay, the most eager first.

    Certificate
    -----------
    ExactCertificate: the splits are those of the definition, up to rounding of distances.

    Cost
    ----
    O(n^2) for each level of the tree, and 8 n^2 bytes for distances.

    Examples
    --------
    >>> from qed.cluster import DivisiveClustering
    >>> model = DivisiveClustering(2).fit([[0.0], [1.0], [3.0], [17.0]])
    >>> model.labels_.tolist(), model.distances_.tolist()
    ([0, 0, 0, 1], [1.0, 3.0, 17.0])
    """

    n_clusters: PositiveInt = param(2, "Number of clusters.")
    _: KW_ONLY
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' where X holds distances."
    )

    labels_: Array = fitted("The cluster of each row.", dtype="int64", shape="(n_leaves_,)", low=0, below="n_clusters")
    n_leaves_: int = fitted("Number of rows.", low=1)
    children_: Array = fitted(
        "The splits from the last to the first: the two parts of each, rows below n, then splits in this order.",
        dtype="int64", shape="(n_leaves_ - 1, 2)", check=_is_a_tree,
    )  # fmt: skip
    distances_: Array = fitted("Diameters of the clusters that were split.", shape="(n_leaves_ - 1,)", low=0)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Split clusters.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or distances of shape (n, n)
            Rows, at least two.
        """
        data = self._fit_data(X)
        n = data.n_rows
        if n < 2 or n < self.n_clusters:
            raise InvalidData(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}, and a minimum of 2 is required."
            )
        space = Space.of(type(self).__name__, data, self.metric)
        self.children_, self.distances_ = _splits(space.matrix())
        self.n_leaves_ = n
        self.labels_ = self.dendrogram_.cut(self.n_clusters)
        columns = max(space.rows.shape[1], 1)
        self.certificate_ = ExactCertificate(
            what="Splits of the widest clusters", rows=n, rounding=16 * (columns + n) * UNIT
        )
        return self

    @property
    def dendrogram_(self) -> Dendrogram:
        """The tree of splits: to be cut elsewhere, measured and drawn."""
        self._check_is_fitted()
        return Dendrogram(self.children_, self.distances_)


def _splits(D: Array) -> tuple[Array, Array]:
    """Split until all rows are alone; return the splits as merges, from the smallest diameter on."""
    n = len(D)
    found: list[tuple[float, Array, Array]] = []
    waiting = [np.arange(n)]
    with Progress("DivisiveClustering", n - 1) as progress:
        while waiting:
            rows = waiting.pop()
            if len(rows) < 2:
                continue
            part = D[np.ix_(rows, rows)]
            leaves = _leavers(part)
            found.append((float(part.max()), rows[~leaves], rows[leaves]))
            waiting += [rows[~leaves], rows[leaves]]
            progress.step()
    # a cluster is never wider than one that holds it: from small diameters on, parts of a split come before it
    found.sort(key=lambda one: (one[0], len(one[1]) + len(one[2])))
    cluster = np.arange(n)
    children, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    for t, (height, stay, leave) in enumerate(found):
        pair = cluster[stay[0]], cluster[leave[0]]
        children[t], heights[t] = (min(pair), max(pair)), height
        cluster[stay] = cluster[leave] = n + t
    return children, heights


def _leavers(D: Array) -> Array:
    """Tell which rows of a cluster leave it."""
    n = len(D)
    leaves = np.zeros(n, bool)
    inside, outside = D.sum(axis=1), np.zeros(n)  # sums of distances to those who stay, and to those who left
    row = int(np.argmax(inside))
    for gone in range(1, n):
        leaves[row] = True
        inside -= D[row]
        outside += D[row]
        stay = n - gone
        if stay == 1:
            break
        eager = np.where(leaves, -np.inf, inside / (stay - 1) - outside / gone)
        row = int(np.argmax(eager))
        if not eager[row] > 1e-12 * float(D.max()):  # nobody is nearer to those who left
            break
    return leaves
