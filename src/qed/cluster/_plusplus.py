"""Starts of k-means as a function of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cluster._kernels import Places
from qed.cluster._seeding import draw_apart
from qed.core import Array, InvalidData, InvalidParameter, Traits, _finite, _tables, _targets, generator

if TYPE_CHECKING:
    from qed.core._params import SeedLike


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    random_state: SeedLike = None,
    n_local_trials: int | None = None,
) -> tuple[Array, Array]:
    """Draw rows as centres, far from each other: greedy k-means++.

    Parameters
    ----------
    X : array-like, frame or sparse container of shape (n, p)
        Rows.
    n_clusters : int
        How many rows to draw.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    random_state : int, Generator or None
        Seed.
    n_local_trials : int, optional
        Candidates for each centre, of which the best is taken; 2 + log(k) by default, 1 for plain k-means++.

    Returns
    -------
    centers : ndarray of shape (k, p)
        The rows, in the type of X.
    indices : ndarray of int of shape (k,)
        Their numbers.

    Examples
    --------
    >>> from qed.cluster import kmeans_plusplus
    >>> centers, indices = kmeans_plusplus([[0.0], [0.1], [10.0]], 2, random_state=0)
    >>> sorted(centers.round()[:, 0].tolist())
    [0.0, 10.0]
    """
    table, names = _tables.read(X, "X", Traits(sparse=True), "kmeans_plusplus")
    _finite.require(table, "X", None if names is None else list(names), "kmeans_plusplus")
    n = table.shape[0]
    if not isinstance(n_clusters, int | np.integer) or n_clusters < 1:
        raise InvalidParameter(f"n_clusters must be a whole number >= 1, got {n_clusters!r}.")
    if n < n_clusters:
        raise InvalidData(f"n_samples={n} should be >= n_clusters={n_clusters}. Ask for fewer clusters.")
    trials = 2 + int(math.log(n_clusters)) if n_local_trials is None else n_local_trials
    if not isinstance(trials, int | np.integer) or trials < 1:
        raise InvalidParameter(f"n_local_trials must be a whole number >= 1 or None, got {n_local_trials!r}.")
    s = _targets.weights(sample_weight, n)
    mean = (
        np.zeros(table.shape[1])
        if _tables.is_sparse(table)
        else np.average(table.astype(np.float64), axis=0, weights=s)
    )
    indices = draw_apart(Places.of(table, mean, s), int(n_clusters), generator(random_state), int(trials))
    centres = table[indices]
    return (centres.toarray() if _tables.is_sparse(centres) else np.array(centres)), indices
