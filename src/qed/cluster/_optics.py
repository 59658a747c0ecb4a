"""Rows in an order in which groups of every density are valleys."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.cluster._space import AnyMetric, Space
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    NonNegative,
    Number,
    Positive,
    PositiveInt,
    PositiveOrInfinite,
    Probability,
    Traits,
    fitted,
    param,
)
from qed.data._kernels import UNIT

AtLeastTwo = Annotated[int, Number(low=2, whole=True)]
Share = Annotated[float, Number(low=0, high=1, open_low=True)]


class OPTICS(Clusterer):
    r"""OPTICS: orders the samples by reachability; valleys of the reachability plot are clusters of any density.

    Objective
    ---------
    .. math:: r(i') = \min_i \max \{ c(i), d(x_i, x_{i'}) \}

    over the rows i before i' in the order: the reachability of a row. The core distance c(i) is the distance of row i to its m-th
    nearest row, itself included, m being ``min_samples``. The next row is always the one of the least reachability.

    Certificate
    -----------
    ExactCertificate: order, reachability and core distances are those of the definition, up to rounding of distances.

    Cost
    ----
    O(n^2 p), O(np) memory beyond X.

    Examples
    --------
    >>> from qed.cluster import OPTICS
    >>> X = [[0.0], [1.0], [1.5], [20.0], [21.0], [21.5]]
    >>> OPTICS(min_samples=2, cluster_method="dbscan", eps=2.0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _: KW_ONLY
    min_samples: AtLeastTwo | Share = param(5, "Rows, or the share of all, near a core row, itself included.")
    max_eps: PositiveOrInfinite = param(np.inf, "Distance beyond which rows are not near.")
    metric: AnyMetric = param(
        "minkowski", "Distance of rows: a name, a function of two rows, or 'precomputed' where X holds distances."
    )
    p: Positive = param(2, "Power of 'minkowski'.")
    metric_params: dict[str, Any] | None = param(None, "``p`` and ``w`` of 'minkowski'; options of a function.")
    cluster_method: Literal["xi", "dbscan"] = param("xi", "How groups are read off: steep slopes, or a cut at ``eps``.")
    eps: NonNegative | None = param(None, "Reachability to cut at with 'dbscan'; max_eps by default.")
    xi: Probability = param(0.05, "Relative step of the reachability that is steep, with 'xi'.")
    predecessor_correction: bool = param(True, "Whether groups end where rows are reached from outside them.")
    min_cluster_size: AtLeastTwo | Share | None = param(
        None, "Rows, or their share, of a group; min_samples by default."
    )
    algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = param("auto", "Search method.", kind="hint")
    leaf_size: PositiveInt = param(30, "Rows in a leaf of scikit-learn's trees.", kind="hint")
    memory: Any = param(None, "Where scikit-learn caches; nothing is cached.", kind="hint")
    n_jobs: int | None = param(None, "Threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint")

    labels_: Array = fitted("The group of each row, -1 for noise.", dtype="int64", shape="(n,)", low=-1)
    ordering_: Array = fitted("The order of the rows.", dtype="int64", shape="(n,)", permutation=True)
    reachability_: Array = fitted(
        "Reachability of each row, infinite where none reaches it.", shape="(n,)", low=0, finite=False
    )
    core_distances_: Array = fitted(
        "Core distance of each row, infinite beyond max_eps.", shape="(n,)", low=0, finite=False
    )
    predecessor_: Array = fitted(
        "The row from which each was reached, -1 for none.", dtype="int64", shape="(n,)", low=-1
    )
    cluster_hierarchy_: Array = fitted(
        "First and last place of each group in the order, smaller ones first; with 'xi' alone.",
        dtype="int64", shape="(h, 2)", low=0, optional=True,
    )  # fmt: skip
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Order the rows, and find groups.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or distances of shape (n, n)
            Rows, at least as many as ``min_samples``.
        """
        data = self._fit_data(X)
        n = data.n_rows
        near = self._count(self.min_samples, n, "min_samples")
        size = near if self.min_cluster_size is None else self._count(self.min_cluster_size, n, "min_cluster_size")
        space = Space.of(type(self).__name__, data, self.metric, self.metric_params, self.p)
        core = space.nearest_others(near - 1)[0][:, -1].copy() if near > 1 else np.zeros(n)
        core[core > self.max_eps] = np.inf
        order, parent, reach = space.span(source=core, limit=self.max_eps)
        self.ordering_, self.predecessor_, self.reachability_, self.core_distances_ = order, parent, reach, core
        vars(self).pop("cluster_hierarchy_", None)
        if self.cluster_method == "xi":
            self.labels_, self.cluster_hierarchy_ = _by_slopes(
                reach[order], parent, order, self.xi, (near, size), correct=self.predecessor_correction
            )
        else:
            eps = self.max_eps if self.eps is None else self.eps
            self.labels_ = cluster_optics_dbscan(reachability=reach, core_distances=core, ordering=order, eps=eps)
        self.certificate_ = ExactCertificate(
            what="Order and reachability", rows=n, rounding=(space.rows.shape[1] + 8) * UNIT
        )
        return self

    def _count(self, given: float, n: int, name: str) -> int:
        found = int(given) if given > 1 else max(2, int(given * n))
        if found > n:
            raise InvalidData(f"{name} must be no greater than the number of rows, n_samples={n}. Got {given}.")
        return found


def cluster_optics_dbscan(*, reachability: Any, core_distances: Any, ordering: Any, eps: float) -> Array:
    """Extract the clusters of DBSCAN at a distance from an OPTICS ordering; border samples may differ.

    Parameters
    ----------
    reachability, core_distances : ndarray of shape (n,)
        Of each row.
    ordering : ndarray of int of shape (n,)
        The order.
    eps : float
        The distance.

    Returns
    -------
    ndarray of int of shape (n,)
        The group of each row, -1 for noise.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.cluster import cluster_optics_dbscan
    >>> cluster_optics_dbscan(
    ...     reachability=np.array([np.inf, 1.0, 9.0]), core_distances=np.array([1.0, 1.0, 9.0]), ordering=np.arange(3), eps=2
    ... ).tolist()
    [0, 0, -1]
    """
    reach, core = np.asarray(reachability), np.asarray(core_distances)
    far, near = reach > eps, core <= eps
    labels = np.empty(len(core), np.int64)
    labels[ordering] = np.cumsum(far[ordering] & near[ordering]) - 1
    labels[far & ~near] = -1
    return labels


def cluster_optics_xi(
    *, reachability: Any, predecessor: Any, ordering: Any, min_samples: int, min_cluster_size: int | None = None,
    xi: float = 0.05, predecessor_correction: bool = True,
) -> tuple[Array, Array]:  # fmt: skip
    """Extract clusters from an OPTICS ordering by steep slopes of the reachability (Xi).

    Parameters
    ----------
    reachability, predecessor : ndarray of shape (n,)
        Of each row.
    ordering : ndarray of int of shape (n,)
        The order.
    min_samples : int
        Steps in a row, at most, that are not steep, in a steep area.
    min_cluster_size : int, optional
        Rows of a group; min_samples by default.
    xi : float
        Relative step that is steep.
    predecessor_correction : bool
        Whether groups end where rows are reached from outside them.

    Returns
    -------
    labels : ndarray of int of shape (n,)
        The group of each row, -1 for noise.
    clusters : ndarray of int of shape (h, 2)
        First and last place of all groups in the order.
    """
    order = np.asarray(ordering)
    sizes = (int(min_samples), int(min_samples if min_cluster_size is None else min_cluster_size))
    return _by_slopes(
        np.asarray(reachability)[order], np.asarray(predecessor), order, xi, sizes, correct=predecessor_correction
    )


def _by_slopes(
    reach: Array, parent: Array, order: Array, xi: float, sizes: tuple[int, int], *, correct: bool
) -> tuple[Array, Array]:
    """Read groups off steep slopes of the reachability (Ankerst and others 1999; corrected as by Schubert and Gertz 2018)."""
    near, size = sizes
    plot = np.append(_without_noise(reach), np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = plot[:-1] / plot[1:]
    ratio = np.where(np.isnan(ratio), 1.0, ratio)  # of two that are zero, or infinite
    slopes = _Slopes(ratio >= 1 / (1 - xi) if xi < 1 else ratio == np.inf, ratio <= 1 - xi, ratio > 1, ratio < 1)
    hierarchy = _intervals(plot, slopes, xi, (near, size), parent if correct else None, order)
    labels = np.full(len(order), -1, np.int64)
    count = 0
    for first, last in hierarchy:  # smaller groups first: a larger one that holds a group is none itself
        if not np.any(labels[first : last + 1] != -1):
            labels[first : last + 1] = count
            count += 1
    found = np.empty_like(labels)
    found[order] = labels
    return found, np.array(hierarchy, np.int64).reshape(-1, 2)


def _without_noise(reach: Array) -> Array:
    """Round to 13 digits: rows that are reached alike are so, whatever the last bits of their distances."""
    known = np.isfinite(reach) & (reach > 0)
    unit = 10.0 ** (np.floor(np.log10(np.where(known, reach, 1.0))) - 12)
    return np.where(known, np.round(reach / unit) * unit, reach)


class _Slopes:
    """Where the reachability falls or rises steeply, or at all."""

    def __init__(self, down: Array, up: Array, falls: Array, rises: Array) -> None:
        self.down, self.up, self.falls, self.rises = down, up, falls, rises

    def end(self, steep: Array, against: Array, first: int, near: int) -> int:
        """Return where a steep area ends: at most ``near`` steps in a row that are not steep, and none against it."""
        waiting, end = 0, first
        for at in range(first, len(steep)):
            if steep[at]:
                waiting, end = 0, at
            elif not against[at]:
                waiting += 1
                if waiting > near:
                    break
            else:
                break
        return end


def _intervals(
    plot: Array, slopes: _Slopes, xi: float, sizes: tuple[int, int], parent: Array | None, order: Array
) -> list[tuple[int, int]]:
    near, _size = sizes
    down_areas: list[dict[str, Any]] = []
    found: list[tuple[int, int]] = []
    at, highest = 0, 0.0
    for first in np.flatnonzero(slopes.down | slopes.up).tolist():
        if first < at:
            continue
        highest = max(highest, float(np.max(plot[at : first + 1])))
        down_areas = _kept(down_areas, highest, xi, plot)
        if slopes.down[first]:
            last = slopes.end(slopes.down, slopes.rises, first, near)
            down_areas.append({"first": first, "last": last, "between": 0.0})
        else:
            last = slopes.end(slopes.up, slopes.falls, first, near)
            own = []
            for area in down_areas:
                pair = _interval(plot, area, (first, last), xi, sizes, parent, order)
                if pair is not None:
                    own.append(pair)
            found += own[::-1]
        at = last + 1
        highest = float(plot[at])
    return found


def _kept(areas: list[dict[str, Any]], highest: float, xi: float, plot: Array) -> list[dict[str, Any]]:
    """Drop areas whose start is below what came since; remember the highest since for the others."""
    if np.isinf(highest):
        return []
    kept = [one for one in areas if highest <= plot[one["first"]] * (1 - xi)]
    for one in kept:
        one["between"] = max(one["between"], highest)
    return kept


def _interval(
    plot: Array,
    area: dict[str, Any],
    up: tuple[int, int],
    xi: float,
    sizes: tuple[int, int],
    parent: Array | None,
    order: Array,
) -> tuple[int, int] | None:
    """Return the group between a steep fall and a steep rise, or None."""
    _near, size = sizes
    first, last = area["first"], up[1]
    if plot[last + 1] * (1 - xi) < area["between"]:
        return None
    top = plot[area["first"]]
    if top * (1 - xi) >= plot[last + 1]:  # the fall begins higher: it begins the group where it is as low as its end
        while plot[first + 1] > plot[last + 1] and first < area["last"]:
            first += 1
    elif plot[last + 1] * (1 - xi) >= top:  # the rise ends higher
        while plot[last - 1] > top and last > up[0]:
            last -= 1
    if parent is not None:
        trimmed = _trimmed(plot, parent, order, first, last)
        if trimmed is None:
            return None
        first, last = trimmed
    if last - first + 1 < size or first > area["last"] or last < up[0]:
        return None
    return first, last


def _trimmed(plot: Array, parent: Array, order: Array, first: int, last: int) -> tuple[int, int] | None:
    """Leave out last rows that were reached from outside."""
    while first < last:
        if plot[first] > plot[last] or parent[order[last]] in order[first:last]:
            return first, last
        last -= 1
    return None
