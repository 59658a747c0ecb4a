"""Groups of rows that lie close together."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.cluster import _kernels
from qed.cluster._space import AnyMetric, Space
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    Positive,
    PositiveInt,
    PositiveOrInfinite,
    Traits,
    fitted,
    param,
)
from qed.data._kernels import UNIT


class DBSCAN(Clusterer):
    r"""DBSCAN: density-based clusters of any shape, made of core samples that are near each other; the rest is noise.

    Objective
    ---------
    .. math:: \sum_{i' : d(x_i, x_{i'}) \le \varepsilon} s_{i'} \ge m

    defines core rows i, the row itself included; m is ``min_samples``. Core rows within eps of each other are in one group. Other
    rows within eps of a core row are on the border of the first group that has one; all others are noise, with the label -1.

    Certificate
    -----------
    ExactCertificate: core rows, groups and borders are those of the definition.

    Cost
    ----
    O(n log n) in few columns, by a tree of boxes, O(n^2 p) in many. Memory beyond X: O(np), whatever eps is.

    Examples
    --------
    >>> from qed.cluster import DBSCAN
    >>> DBSCAN(eps=1.5, min_samples=2).fit_predict([[0.0], [1.0], [2.0], [8.0], [9.0], [20.0]]).tolist()
    [0, 0, 0, 1, 1, -1]
    """

    eps: Positive = param(0.5, "Distance up to which rows are near.")
    _: KW_ONLY
    min_samples: PositiveInt = param(5, "Rows, or their weight, near a core row, itself included.")
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' where X holds distances."
    )
    metric_params: dict[str, Any] | None = param(None, "``p`` and ``w`` of 'minkowski'; options of a function.")
    algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = param("auto", "Search method.", kind="hint")
    leaf_size: PositiveInt = param(30, "Rows in a leaf of scikit-learn's trees; leaves here have eight.", kind="hint")
    p: PositiveOrInfinite | None = param(None, "Power of 'minkowski'; 2 by default.")
    n_jobs: int | None = param(None, "Threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint")

    labels_: Array = fitted("The group of each row, -1 for noise.", dtype="int64", shape="(n,)", low=-1)
    core_sample_indices_: Array = fitted(
        "Core rows.", dtype="int64", shape="(c,)", low=0, below="labels_", order="strictly rising"
    )
    components_: Array = fitted("The core rows themselves.", shape="(c, p)", dtype="float")
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find groups.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or distances of shape (n, n)
            Rows.
        """
        data = self._fit_data(X, None, sample_weight)
        space = Space.of(type(self).__name__, data, self.metric, self.metric_params, 2.0 if self.p is None else self.p)
        labels, core = dense_groups(space, self.eps, float(self.min_samples), data.weight)
        self.labels_, self.core_sample_indices_ = labels, np.flatnonzero(core)
        self.components_ = np.asarray(data.X)[core].copy()
        self.certificate_ = ExactCertificate(
            what=f"Groups of rows within {self.eps:g} of core rows", rows=data.n_rows,
            rounding=(space.rows.shape[1] + 8) * UNIT,
        )  # fmt: skip
        return self


def dense_groups(space: Space, eps: float, least: float, weight: Array | None) -> tuple[Array, Array]:
    """Return the group of each row, -1 for none, and whether it is a core row."""
    if space.given is None:
        return _kernels.dense_groups(
            space.index, space.rows, space.metric.sums, space.metric.length(eps), least, weight
        )
    near = space.given <= eps
    s = np.ones(space.n) if weight is None else weight
    core = near @ s >= least
    labels, count = np.full(space.n, -1, np.int64), 0
    for first in np.flatnonzero(core):
        if labels[first] >= 0:
            continue
        group = np.zeros(space.n, bool)
        group[first] = True
        front = group
        while front.any():
            front = near[front].any(axis=0) & core & ~group
            group |= front
        reached = group | (near[group].any(axis=0) & (labels < 0) & ~core)
        labels[reached] = count
        count += 1
    return labels, core


def dbscan(
    X: Any, eps: float = 0.5, *, min_samples: int = 5, metric: Any = "minkowski", metric_params: Any = None,
    algorithm: str = "auto", leaf_size: int = 30, p: float | None = 2, sample_weight: Any = None, n_jobs: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Find density-based clusters: the function behind `DBSCAN`.

    Parameters
    ----------
    X : array-like of shape (n, p), or distances of shape (n, n)
        Rows.
    eps : float
        Distance up to which rows are near.
    min_samples : int
        Rows near a core row, itself included.
    metric, metric_params, algorithm, leaf_size, p, n_jobs : object
        As in `DBSCAN`.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    core_samples : ndarray of int of shape (c,)
        Core rows.
    labels : ndarray of int of shape (n,)
        The group of each row, -1 for noise.

    Examples
    --------
    >>> from qed.cluster import dbscan
    >>> dbscan([[0.0], [1.0], [9.0]], eps=2, min_samples=2)[1].tolist()
    [0, 0, -1]
    """
    model = DBSCAN(
        eps, min_samples=min_samples, metric=metric, metric_params=metric_params, algorithm=algorithm,  # type: ignore[arg-type]
        leaf_size=leaf_size, p=p, n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)  # fmt: skip
    return model.core_sample_indices_, model.labels_
