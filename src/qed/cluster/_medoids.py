"""Rows that stand for groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.certificates import ClustersCertificate
from qed.cluster import _kernels
from qed.cluster._space import AnyMetric, Space
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    PositiveInt,
    Seed,
    Traits,
    fitted,
    generator,
    param,
)
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint
from qed.metrics import pairwise_distances

if TYPE_CHECKING:
    from numpy.random import Generator


class KMedoids(Clusterer):
    r"""k-medoids clustering (FasterPAM): each cluster is represented by one of its samples, for any metric.

    Objective
    ---------
    .. math:: \min_{m_1, \dots, m_k} \sum_i s_i \min_j d(x_i, x_{m_j})

    over rows m. Medoids are exchanged for other rows as long as that lowers the sum (FasterPAM).

    Certificate
    -----------
    ClustersCertificate: the sum is at most so many times the least one. Every row but the medoids is at least as far from its
    medoid as from its nearest other row, so no medoids reach less than the n - k least of these distances. ``solved`` says besides
    that no exchange of one medoid lowers the sum.

    Cost
    ----
    O(n^2) a pass over all candidates, usually a few passes; 8 n^2 bytes for distances.

    Examples
    --------
    >>> from qed.cluster import KMedoids
    >>> model = KMedoids(2, random_state=0).fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> sorted(model.cluster_centers_[:, 0].tolist()), model.inertia_
    ([1.0, 11.0], 4.0)
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' where X holds distances."
    )
    n_init: PositiveInt = param(1, "How many starts, of which the best is kept.")
    max_iter: PositiveInt = param(1000, "Most exchanges of one start.")
    random_state: Seed = param(None, "Seed of the starts.")

    medoid_indices_: Array = fitted(
        "The rows that are medoids.", dtype="int64", shape="(n_clusters,)", low=0, below="labels_"
    )
    cluster_centers_: Array = fitted("The medoids themselves.", shape="(n_clusters, p)", optional=True)
    labels_: Array = fitted("The cluster of each row.", dtype="int64", shape="(n,)", low=0, below="n_clusters")
    inertia_: float = fitted("Weighted sum of distances of rows to their medoids.", low=0)
    n_iter_: int = fitted("Exchanges of the best start.", low=0, answers=False)
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find medoids.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or distances of shape (n, n)
            Rows, at least as many as clusters.
        """
        data = self._fit_data(X, None, sample_weight)
        n, k = data.n_rows, self.n_clusters
        if n < k:
            raise InvalidData(f"n_samples={n} should be >= n_clusters={k}. Ask for fewer clusters.")
        rows = np.asarray(data.X, dtype=np.float64)
        space = Space.of(type(self).__name__, data, self.metric)
        D, rng = space.matrix(), generator(self.random_state)
        best: tuple[Array, Array, Array, bool] | None = None
        for _ in range(self.n_init):
            run = _kernels.swap_medoids(D, data.weight, _drawn(D, data.weight, k, rng), self.max_iter)
            best = run if best is None or run[2][-1] < best[2][-1] else best
        assert best is not None  # noqa: S101  (at least one start)
        medoids, labels, trace, done = best
        self.medoid_indices_, self.labels_, self.inertia_, self.n_iter_ = (
            medoids,
            labels,
            float(trace[-1]),
            len(trace) - 1,
        )
        vars(self).pop("cluster_centers_", None)
        if self.metric != "precomputed":
            self.cluster_centers_ = rows[medoids].copy()
        s = np.ones(n) if data.weight is None else data.weight
        np.fill_diagonal(D, np.inf)
        near = np.sort(s * D.min(axis=1)) if n > 1 else np.zeros(1)
        np.fill_diagonal(D, 0.0)
        rounding = 64 * (n + rows.shape[1]) * UNIT * float(trace[0])
        self.certificate_ = ClustersCertificate(
            objective=self.inertia_,
            bound=max(float(np.sum(near[: n - k])) - rounding, 0.0),
            rounding=rounding,
            null_objective=float(np.min(D @ s)),
            drift=0.0,
            trace=trace,
            evaluations=n * n,
            tol=1e-4,
            outcome="solved" if done else "max_iter",
            fingerprint=fingerprint(rows, np.empty((n, 0)), data.weight),
        )
        return self

    def predict(self, X: Any) -> Array:
        """Return the nearest medoid of rows.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), or distances from the rows of the fit, (m, n)
            Rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Numbers of clusters.
        """
        X = np.asarray(self._new_data(X), dtype=np.float64)
        if self.metric == "precomputed":
            away = X[:, self.medoid_indices_]
        else:
            away = pairwise_distances(X, self.cluster_centers_, metric=self.metric)
        return np.asarray(np.argmin(away, axis=1))


def _drawn(D: Array, weight: Array | None, k: int, rng: Generator) -> Array:
    """Draw rows as medoids, in proportion to their distance from those before; no row twice."""
    s = np.ones(len(D)) if weight is None else weight
    found: list[int] = []
    closest = np.ones(len(D))
    for _ in range(k):
        chance = closest * s
        chance[found] = 0.0
        if not chance.sum() > 0:
            chance = np.ones(len(D))
            chance[found] = 0.0
        row = int(rng.choice(len(D), p=chance / chance.sum()))
        closest = D[row].copy() if not found else np.minimum(closest, D[row])
        found.append(row)
    return np.array(found, np.int64)
