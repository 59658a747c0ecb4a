"""Groups of every density."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.cluster import _kernels
from qed.cluster._dendrogram import Dendrogram, why_no_merges
from qed.cluster._link import from_spanning_tree
from qed.cluster._space import AnyMetric, Space
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Number,
    Positive,
    PositiveInt,
    Traits,
    fitted,
    param,
)
from qed.data._kernels import UNIT

AtLeastTwo = Annotated[int, Number(low=2, whole=True)]
CUT_DISTANCE, CLUSTER_ROWS = Number(low=0, infinite=True), Number(low=1, whole=True)


def _joins_all_rows(model: Any, children: Array) -> str:
    return why_no_merges(children, len(model.__dict__.get("labels_", ())))


class HDBSCAN(Clusterer):
    r"""HDBSCAN: hierarchical density-based clustering, which runs DBSCAN at all distances and keeps the most persistent clusters.

    Objective
    ---------
    .. math:: \max_S \sum_{C \in S} \sum_{i \in C} \big( \lambda_C(i) - \lambda_C \big)

    over sets S of groups of which none holds another. Groups come from single linkage of the mutual reachability
    :math:`\max \{ c(i), c(i'), d(x_i, x_{i'}) / \alpha \}`, where the core distance c(i) is the distance of row i to its m-th
    nearest row, itself included; one over the height is the density λ. Group C begins at :math:`\lambda_C`, and row i leaves it at
    :math:`\lambda_C(i)`. A split into parts smaller than ``min_cluster_size`` is no split: rows leave.

    Certificate
    -----------
    ExactCertificate: core distances, a minimum spanning tree of the mutual reachability, groups and the choice among them are those
    of the definition, up to rounding of distances.

    Cost
    ----
    Core distances and spanning tree by a tree of boxes in few columns, where a row asks a few times for its nearest rows;
    O(n^2 p) in many. O(np) memory.

    Examples
    --------
    >>> from qed.cluster import HDBSCAN
    >>> X = [[0.0], [1.0], [2.0], [3.0], [100.0], [101.0], [102.0], [103.0], [500.0]]
    >>> HDBSCAN(min_cluster_size=3, min_samples=2).fit_predict(X).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, -1]
    """

    min_cluster_size: AtLeastTwo = param(5, "Rows of a group, at least.")
    _: KW_ONLY
    min_samples: PositiveInt | None = param(
        None, "Rows near a row, itself included, that its core distance reaches; min_cluster_size by default."
    )
    cluster_selection_epsilon: NonNegative = param(0.0, "Distance below which groups are not split.")
    max_cluster_size: PositiveInt | None = param(None, "Rows of a group, at most, with 'eom'; None for any number.")
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' where X holds distances."
    )
    metric_params: dict[str, Any] | None = param(None, "``p`` and ``w`` of 'minkowski'; options of a function.")
    alpha: Positive = param(1.0, "What distances are divided by.")
    algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = param("auto", "Search method.", kind="hint")
    leaf_size: PositiveInt = param(40, "Rows in a leaf of scikit-learn's trees.", kind="hint")
    n_jobs: int | None = param(None, "Threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint")
    cluster_selection_method: Literal["eom", "leaf"] = param(
        "eom", "Which groups are kept: those that last longest, or the smallest."
    )
    allow_single_cluster: bool = param(False, "Whether all rows may be one group.")
    store_centers: Literal["centroid", "medoid", "both"] | None = param(None, "Which centres of groups to store.")
    copy: bool = param(False, "Whether X may not be written over; it never is.", kind="hint")

    labels_: Array = fitted("The group of each row, -1 for noise.", dtype="int64", shape="(n,)", low=-1)
    probabilities_: Array = fitted(
        "How firmly each row belongs to its group; 0 for noise.", shape="(n,)", low=0, high=1
    )
    core_distances_: Array = fitted("Core distance of each row.", shape="(n,)", low=0)
    tree_children_: Array = fitted(
        "Merges of single linkage of the mutual reachability.",
        dtype="int64",
        shape="(m, 2)",
        low=0,
        check=_joins_all_rows,
    )
    tree_distances_: Array = fitted("Their heights.", shape="(m,)", low=0)
    centroids_: Array = fitted("Means of groups, by probabilities.", shape="(c, p)", optional=True)
    medoids_: Array = fitted("Rows of groups nearest to the others.", shape="(c, p)", optional=True)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find groups.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or distances of shape (n, n)
            Rows, at least as many as ``min_samples``.
        """
        data = self._fit_data(X)
        n = data.n_rows
        near = self.min_cluster_size if self.min_samples is None else self.min_samples
        if n < 2 or near > n:
            raise InvalidData(
                f"min_samples={near} must be at most the number of rows, n_samples={n}, and there must be at least 2 of them."
            )
        space = Space.of(type(self).__name__, data, self.metric, self.metric_params)
        core = space.nearest_others(near - 1)[0][:, -1].copy() if near > 1 else np.zeros(n)
        tree = from_spanning_tree(space, self.alpha * core)
        tree = Dendrogram(tree.children, tree.heights / self.alpha)
        self.core_distances_, self.tree_children_, self.tree_distances_ = core, tree.children, tree.heights
        condensed = _condensed(tree, self.min_cluster_size)
        chosen = self._chosen(condensed, n)
        self.labels_, self.probabilities_ = _labelled(
            condensed, chosen, n, self.cluster_selection_epsilon, allow_single=self.allow_single_cluster
        )
        self._store_centres(data.X, space)
        self.certificate_ = ExactCertificate(
            what="Groups that last longest among all densities", rows=n, rounding=(space.rows.shape[1] + 8) * UNIT
        )
        return self

    def dbscan_clustering(self, cut_distance: float, min_cluster_size: int = 5) -> Array:
        """Return the clusters of DBSCAN at one distance, from the tree of the fit; border rows are noise.

        Parameters
        ----------
        cut_distance : float
            Mutual reachability at and beyond which rows are not linked, at least 0.
        min_cluster_size : int
            Rows of a cluster, at least; those of smaller ones are noise.

        Returns
        -------
        ndarray of int of shape (n,)
            Clusters, -1 for noise.
        """
        self._check_is_fitted()
        for name, value, rule in (
            ("cut_distance", cut_distance, CUT_DISTANCE),
            ("min_cluster_size", min_cluster_size, CLUSTER_ROWS),
        ):
            if not rule.accepts(value):
                raise InvalidParameter(
                    f"{name} must be {rule.words}, got {value!r:.80}. Give dbscan_clustering a distance to cut the tree at, and"
                    " optionally how many rows a cluster has at least."
                )
        groups = Dendrogram(self.tree_children_, self.tree_distances_).cut(height=float(cut_distance))
        is_large = np.bincount(groups) >= min_cluster_size
        return np.where(is_large, np.cumsum(is_large) - 1, -1)[groups]

    def _chosen(self, tree: _Condensed, n: int) -> list[int]:
        """Choose groups of which none holds another."""
        clusters = tree.births.keys()
        below: dict[int, list[int]] = {one: [] for one in clusters}
        for parent, child in zip(tree.parent.tolist(), tree.child.tolist(), strict=True):
            if child >= n:
                below[parent].append(child)
        if self.cluster_selection_method == "leaf":
            chosen = [
                one
                for one in clusters
                if not below[one] and (one != n or self.allow_single_cluster or len(clusters) > 1)
            ]
            chosen = [one for one in chosen if one != n or self.allow_single_cluster]
        else:
            chosen = _lasting(tree, below, n, self.max_cluster_size, allow_single=self.allow_single_cluster)
        if self.cluster_selection_epsilon > 0:
            chosen = _above_epsilon(
                tree, chosen, n, self.cluster_selection_epsilon, allow_single=self.allow_single_cluster
            )
        return sorted(chosen)

    def _store_centres(self, X: Any, space: Space) -> None:
        for name in ("centroids_", "medoids_"):
            vars(self).pop(name, None)
        if self.store_centers is None or self.metric == "precomputed":
            return
        rows, count = np.asarray(X, dtype=np.float64), int(self.labels_.max()) + 1
        groups = [np.flatnonzero(self.labels_ == k) for k in range(count)]
        if self.store_centers in ("centroid", "both"):
            self.centroids_ = np.array(
                [np.average(rows[own], axis=0, weights=self.probabilities_[own]) for own in groups]
            ).reshape(count, rows.shape[1])
        if self.store_centers in ("medoid", "both"):
            inner = [space.distances_of(own)[:, own] @ self.probabilities_[own] for own in groups]
            self.medoids_ = np.array(
                [rows[own[int(np.argmin(sums))]] for own, sums in zip(groups, inner, strict=True)]
            ).reshape(count, rows.shape[1])


class _Condensed(NamedTuple):
    """Rows and groups that leave groups: from which one, at which density, and how many rows they are; births of groups."""

    parent: Array
    child: Array
    density: Array
    size: Array
    births: dict[int, float]


def _condensed(tree: Dendrogram, least: int) -> _Condensed:
    """Go down the tree; a split into parts of which one is small lets its rows leave, and is no split."""
    n = tree.n_rows
    with np.errstate(divide="ignore"):
        density = 1.0 / tree.heights
    parent, child, left, size = _kernels.condense(tree.children, density, least)
    is_cluster = child >= n
    births = {n: 0.0, **dict(zip(child[is_cluster].tolist(), left[is_cluster].tolist(), strict=True))}
    return _Condensed(parent, child, left, size, births)


def _stability(tree: _Condensed) -> dict[int, float]:
    """Return for each group how long its rows last in it, together."""
    found = dict.fromkeys(tree.births, 0.0)
    for parent, density, size in zip(tree.parent.tolist(), tree.density.tolist(), tree.size.tolist(), strict=True):
        birth = tree.births[parent]
        found[parent] += 0.0 if density == birth else (density - birth) * size
    return found


def _lasting(
    tree: _Condensed, below: dict[int, list[int]], n: int, most: int | None, *, allow_single: bool
) -> list[int]:
    """Choose from small groups up: a group is kept where it lasts longer than all that is chosen below it."""
    stability, sizes = _stability(tree), dict(zip(tree.child.tolist(), tree.size.tolist(), strict=True))
    sizes[n] = n
    best: dict[int, tuple[float, list[int]]] = {}
    for one in sorted(tree.births, reverse=True):  # groups below have larger numbers
        if one == n and not allow_single:
            continue
        inner = sum(best[part][0] for part in below[one])
        chosen = [part for inside in below[one] for part in best[inside][1]]
        too_large = most is not None and sizes[one] > most
        if (inner > stability[one] or too_large) and below[one]:
            best[one] = inner, chosen
        else:
            best[one] = (0.0, []) if too_large else (stability[one], [one])
    if allow_single:
        return best[n][1]
    return [part for one in below[n] for part in best[one][1]]


def _above_epsilon(tree: _Condensed, chosen: list[int], n: int, epsilon: float, *, allow_single: bool) -> list[int]:
    """Replace groups that begin below a distance by the first above them that does not."""
    up = {child: parent for parent, child in zip(tree.parent.tolist(), tree.child.tolist(), strict=True) if child >= n}
    found: set[int] = set()
    for start in chosen:
        one = start
        while one != n and tree.births[one] > 1.0 / epsilon:
            parent = up[one]
            if parent == n:
                one = n if allow_single else one
                break
            one = parent
        found.add(one)

    def is_inside(one: int) -> bool:
        while one != n:
            one = up[one]
            if one in found:
                return True
        return False

    return [one for one in found if not is_inside(one)]


def _labelled(
    tree: _Condensed, chosen: list[int], n: int, epsilon: float, *, allow_single: bool
) -> tuple[Array, Array]:
    """Return the group of each row, and how firmly it belongs there."""
    number = {one: k for k, one in enumerate(chosen)}
    home: dict[int, int] = {}
    for one in sorted(tree.births):  # parents first
        home[one] = number.get(one, home.get(one, -1))
        for child in tree.child[(tree.parent == one) & (tree.child >= n)].tolist():
            home[child] = home[one]
    labels, left = np.full(n, -1, np.int64), np.zeros(n)
    is_row = tree.child < n
    for parent, row, density in zip(
        tree.parent[is_row].tolist(), tree.child[is_row].tolist(), tree.density[is_row].tolist(), strict=True
    ):
        labels[row], left[row] = home[parent], density
    deaths = {one: float(np.max(tree.density[tree.parent == one])) for one in tree.births}
    if allow_single and chosen == [n]:  # rows that leave early are noise
        enough = 1.0 / epsilon if epsilon > 0 else float(np.max(tree.density[(tree.parent == n)], initial=0.0))
        labels[left < enough] = -1
    longest = np.array([deaths[one] for one in chosen] + [1.0])
    top = longest[labels]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where((top > 0) & np.isfinite(top), np.minimum(left, top) / top, 1.0)
    return labels, np.where(labels >= 0, shares, 0.0)
