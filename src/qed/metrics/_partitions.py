"""How good a partition is by itself: how close each row is to those of its own group, and how far from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import _finite, _tables
from qed.core._errors import InvalidData
from qed.core._traits import Traits
from qed.metrics._pairwise import cosine_similarity, pairwise_distances

if TYPE_CHECKING:
    from qed.core._params import Array

ROWS_AT_ONCE = 512  # rows whose distances to all others are held at once


class PartitionQuality(NamedTuple):
    """Sums over pairs of rows, and to the centres of groups.

    Attributes
    ----------
    within, between, total : float
        Sums over ordered pairs of rows of one group, of different groups, of all: the first two add up to the third.
    to_representative : float
        Sum over rows of the measure to the centre of their group.
    """

    within: float
    between: float
    total: float
    to_representative: float


def _read(X: Any, labels: Any, owner: str, *, single: bool = False) -> tuple[Array, Array, int]:
    rows, names = _tables.read(X, "X", Traits(sparse=True), owner)
    _finite.require(rows, "X", None if names is None else list(names), owner)
    rows = np.asarray(rows.toarray() if _tables.is_sparse(rows) else rows, dtype=np.float64)
    kinds, codes = np.unique(np.asarray(labels), return_inverse=True)
    if np.ndim(labels) != 1 or len(codes) != len(rows):
        raise InvalidData(
            f"Found input variables with inconsistent numbers of samples: [{len(rows)}, {np.size(labels)}]."
        )
    if not single and not 1 < len(kinds) < len(rows):
        raise InvalidData(f"Number of labels is {len(kinds)}. Valid values are 2 to n_samples - 1 (inclusive).")
    return rows, codes.ravel(), len(kinds)


def silhouette_samples(X: Any, labels: Any, *, metric: Any = "euclidean", **kwds: Any) -> Array:
    """Return for each row how much nearer it is to its own group than to the nearest other one.

    With a the mean distance to the other rows of its group and b the least mean distance to those of another group, the
    silhouette is (b - a) / max(a, b): between -1 and 1, and 0 for a group of one row.

    Parameters
    ----------
    X : array-like of shape (n, p), or distances of shape (n, n) if the metric is "precomputed"
        Rows.
    labels : array-like of shape (n,)
        Groups; at least two, and fewer than there are rows.
    metric : str or callable
        Distance, as in ``pairwise_distances``.
    **kwds : object
        Passed to the metric.

    Returns
    -------
    ndarray of shape (n,)
        Silhouettes.

    Examples
    --------
    >>> from qed.metrics import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(4).tolist()
    [0.9048, 0.8947, 0.8947, 0.9048]
    """
    rows, codes, k = _read(X, labels, "silhouette_samples")
    counts = np.bincount(codes, minlength=k).astype(np.float64)
    member = np.zeros((len(rows), k))
    member[np.arange(len(rows)), codes] = 1.0
    found = np.empty(len(rows))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        away = rows[some] if metric == "precomputed" else pairwise_distances(rows[some], rows, metric, **kwds)
        if metric == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise InvalidData(f"Distances must be square, got shape {rows.shape}.")
        own = codes[some]
        place = np.arange(len(own))
        sums = away @ member
        sums[place, own] -= away[place, first + place]  # of a row to itself
        inner = sums[place, own] / np.maximum(counts[own] - 1, 1)
        means = sums / counts
        means[place, own] = np.inf
        outer = means.min(axis=1)
        size = np.maximum(inner, outer)
        found[some] = np.where((counts[own] > 1) & (size > 0), (outer - inner) / np.where(size > 0, size, 1.0), 0.0)
    return found


def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_size: int | None = None,
    random_state: Any = None,
    **kwds: Any,
) -> float:
    """Return the mean silhouette, over all rows or over a sample of them.

    Parameters
    ----------
    X, labels, metric, **kwds : object
        As in `silhouette_samples`.
    sample_size : int, optional
        Rows to draw, of which alone the score is computed.
    random_state : int, Generator or None
        Seed of the draw.

    Returns
    -------
    float
        Between -1 and 1.

    Examples
    --------
    >>> from qed.metrics import silhouette_score
    >>> round(silhouette_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 5)
    0.89975
    """
    if sample_size is not None:
        from qed.core import generator  # noqa: PLC0415

        X, labels = np.asarray(X), np.asarray(labels)
        some = generator(random_state).permutation(len(X))[:sample_size]
        X, labels = (X[some][:, some] if metric == "precomputed" else X[some]), labels[some]
    return float(np.mean(silhouette_samples(X, labels, metric=metric, **kwds)))


def calinski_harabasz_score(X: Any, labels: Any) -> float:
    """Return the variance between groups over that within them, each per degree of freedom.

    Examples
    --------
    >>> from qed.metrics import calinski_harabasz_score
    >>> calinski_harabasz_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    200.0
    """
    rows, codes, k = _read(X, labels, "calinski_harabasz_score")
    means = _means(rows, codes, k)
    within = float(np.sum((rows - means[codes]) ** 2))
    between = float(np.bincount(codes) @ np.sum((means - rows.mean(axis=0)) ** 2, axis=1))
    return 1.0 if within == 0 else between * (len(rows) - k) / (within * (k - 1))


def davies_bouldin_score(X: Any, labels: Any) -> float:
    """Return the mean, over groups, of the worst ratio of their widths to the distance of another group; less is better.

    Examples
    --------
    >>> from qed.metrics import davies_bouldin_score
    >>> davies_bouldin_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    0.1
    """
    rows, codes, k = _read(X, labels, "davies_bouldin_score")
    means = _means(rows, codes, k)
    widths = np.bincount(codes, np.sqrt(np.sum((rows - means[codes]) ** 2, axis=1))) / np.bincount(codes)
    apart = pairwise_distances(means)
    if np.allclose(widths, 0) or np.allclose(apart, 0):
        return 0.0
    apart[apart == 0] = np.inf
    return float(np.mean(np.max((widths[:, None] + widths) / apart, axis=1)))


def _means(rows: Array, codes: Array, k: int) -> Array:
    sums = np.zeros((k, rows.shape[1]))
    np.add.at(sums, codes, rows)
    return np.asarray(sums / np.bincount(codes, minlength=k)[:, None])


def partition_quality(X: Any, labels: Any, *, measure: Any = "sqeuclidean") -> PartitionQuality:
    """Return sums of distances or similarities within groups, between them, and to their centres.

    For squared distances the pairs of a group of m rows sum up to 2 m times the squared distances of its rows to their mean; as
    all pairs sum up to a constant, least within is most between.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    labels : array-like of shape (n,)
        Groups.
    measure : str or callable
        A distance, as in ``pairwise_distances``, or "cosine_similarity". Centres are means.

    Returns
    -------
    PartitionQuality
        The sums.

    Examples
    --------
    >>> from qed.metrics import partition_quality
    >>> partition_quality([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).within
    4.0
    """
    rows, codes, k = _read(X, labels, "partition_quality", single=True)

    def table(a: Array, b: Array) -> Array:
        return cosine_similarity(a, b) if measure == "cosine_similarity" else pairwise_distances(a, b, measure)

    within = total = to_centre = 0.0
    means = _means(rows, codes, k)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        values = table(rows[some], rows)
        total += float(values.sum())
        within += float(values[codes[some][:, None] == codes].sum())
        to_centre += float(table(rows[some], means)[np.arange(len(values)), codes[some]].sum())
    return PartitionQuality(within, total - within, total, to_centre)
