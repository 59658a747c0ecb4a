"""How well neighbourhoods survive an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._tables import read
from qed.core._traits import Traits
from qed.manifold._kernels import places_beyond
from qed.manifold._neighborhoods import AnyMetric, Space

if TYPE_CHECKING:
    from qed.core._params import Array

PAIRS = 5e7  # differences of numbers that a comparison may take; beyond, some rows are compared with all
MIN_COMPARED_ROWS, MAX_COMPARED_ROWS = 64, 1000  # rows that are compared
COMPARED = 5  # neighbours, as many as scikit-learn's function compares


def compared_rows(n: int, p: int) -> Array:
    """Return the rows whose neighbourhoods a certificate speaks of, spread evenly."""
    count = min(n, max(MIN_COMPARED_ROWS, min(MAX_COMPARED_ROWS, int(PAIRS / (n * p)))))
    return np.unique(np.linspace(0, n - 1, count).astype(np.int64))


def penalty(reference: Array, other: Array, own: Array, k: int) -> float:
    """Return the mean over rows of how far beyond k those rank in one space that are the k nearest in the other.

    Scaled such that 1 is the worst there can be. Both hold distances of some rows (`own`) to all.
    """
    n = reference.shape[1]
    most = k * (2 * n - 3 * k - 1) / 2
    return places_beyond(reference, other, own, k) / (len(own) * most) if most > 0 else 0.0


def faithfulness(space: Space, points: Array, rows: Array, k: int) -> tuple[float, float]:
    """Return trustworthiness and continuity of points over some rows."""
    high = space.between(rows)
    low = Space.of("points", points, "euclidean").between(rows)
    return 1.0 - penalty(high, low, rows, k), 1.0 - penalty(low, high, rows, k)


def _spaces(X: Any, X_embedded: Any, n_neighbors: int, metric: AnyMetric, owner: str) -> tuple[Space, Array]:
    rows, _ = read(X, "X", Traits(), owner)
    points, _ = read(X_embedded, "X_embedded", Traits(), owner)
    if len(rows) != len(points):
        raise InvalidData(f"X has {len(rows)} rows, and X_embedded {len(points)}: there must be a point for each row.")
    if not isinstance(n_neighbors, int | np.integer) or not 1 <= n_neighbors < len(rows) / 2:
        raise InvalidParameter(
            f"n_neighbors ({n_neighbors}) should be at least 1 and less than n_samples / 2 ({len(rows) / 2})."
        )
    return Space.of(owner, rows, metric), np.asarray(points, dtype=np.float64)


def trustworthiness(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: AnyMetric = "euclidean") -> float:
    r"""Return how far neighbours in an embedding are neighbours among the rows.

    .. math:: 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in U_k(i)} (r(i, j) - k)

    where :math:`U_k(i)` are those of the k nearest points of i that are not among its k nearest rows, and r(i, j) is the rank of
    row j by distance from row i.

    Parameters
    ----------
    X : array-like of shape (n, p), or (n, n) if the metric is "precomputed"
        Rows.
    X_embedded : array-like of shape (n, c)
        A point for each.
    n_neighbors : int
        k, below n / 2.
    metric : str
        Distance of the rows, as in `qed.neighbors`; "precomputed" for a table of distances.

    Returns
    -------
    float
        Between 0 and 1; 1 if no new neighbours appeared.

    Examples
    --------
    >>> from qed.manifold import trustworthiness
    >>> trustworthiness([[0.0], [1.0], [2.0], [4.0]], [[0.0], [1.0], [2.0], [4.0]], n_neighbors=1)
    1.0
    """
    space, points = _spaces(X, X_embedded, n_neighbors, metric, "trustworthiness")
    return faithfulness(space, points, np.arange(len(points)), n_neighbors)[0]


def continuity(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: AnyMetric = "euclidean") -> float:
    r"""Return how far neighbours among the rows stay neighbours in an embedding.

    The same as `trustworthiness` with the two spaces exchanged: it is low where an embedding tears neighbours apart.

    Parameters
    ----------
    X : array-like of shape (n, p), or (n, n) if the metric is "precomputed"
        Rows.
    X_embedded : array-like of shape (n, c)
        A point for each.
    n_neighbors : int
        Size of the neighbourhoods, below n / 2.
    metric : str
        Distance of the rows, as in `qed.neighbors`; "precomputed" for a table of distances.

    Returns
    -------
    float
        Between 0 and 1; 1 if no neighbours were lost.

    Examples
    --------
    >>> from qed.manifold import continuity
    >>> continuity([[0.0], [1.0], [2.0], [4.0]], [[0.0], [1.0], [2.0], [4.0]], n_neighbors=1)
    1.0
    """
    space, points = _spaces(X, X_embedded, n_neighbors, metric, "continuity")
    return faithfulness(space, points, np.arange(len(points)), n_neighbors)[1]
