"""Starts of k-means as functions of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cluster._kernels import Places
from qed.cluster._seeding import chances, draw_apart, draw_farthest, given
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
    power: float = 2.0,
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
    power : float
        Rows are drawn in proportion to this power of their distance from the nearest centre: 2 for k-means++, whose expected
        inertia is at most 8 (2 + log k) times the least, 1 for the distance itself.

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
    table, places = _read(X, n_clusters, sample_weight, "kmeans_plusplus")
    trials = 2 + int(math.log(n_clusters)) if n_local_trials is None else n_local_trials
    if not isinstance(trials, int | np.integer) or trials < 1:
        raise InvalidParameter(f"n_local_trials must be a whole number >= 1 or None, got {n_local_trials!r}.")
    _require_power(power)
    indices = draw_apart(places, int(n_clusters), generator(random_state), int(trials), float(power))
    return _rows(table, indices), indices


def farthest_first(
    X: Any, n_clusters: int, *, first: int | None = None, sample_weight: Any = None, random_state: SeedLike = None
) -> tuple[Array, Array]:
    """Choose initial centres by farthest-first traversal: each is the sample farthest from those before it.

    The largest distance of a row to its centre is at most twice the least that any centres reach (Gonzalez 1985). Outliers are
    chosen first.

    Parameters
    ----------
    X : array-like, frame or sparse container of shape (n, p)
        Rows.
    n_clusters : int
        How many rows to take.
    first : int, optional
        The row to begin with; drawn by default.
    sample_weight : array-like of shape (n,), optional
        Rows of weight zero are not taken.
    random_state : int, Generator or None
        Seed of the first row.

    Returns
    -------
    centers : ndarray of shape (k, p)
        The rows, in the type of X.
    indices : ndarray of int of shape (k,)
        Their numbers.

    Examples
    --------
    >>> from qed.cluster import farthest_first
    >>> farthest_first([[0.0], [1.0], [3.0]], 2, first=0)[1].tolist()
    [0, 2]
    """
    table, places = _read(X, n_clusters, sample_weight, "farthest_first")
    if first is not None and not 0 <= first < table.shape[0]:
        raise InvalidParameter(f"first must be the number of a row, from 0 to {table.shape[0] - 1}, got {first!r}.")
    indices = draw_farthest(places, int(n_clusters), generator(random_state), first)
    return _rows(table, indices), indices


def seeding_probabilities(X: Any, centers: Any, *, power: float = 2.0, sample_weight: Any = None) -> Array:
    """Return the probability of each row to be drawn as the next centre.

    Parameters
    ----------
    X : array-like, frame or sparse container of shape (n, p)
        Rows.
    centers : array-like of shape (k, p)
        The centres so far.
    power : float
        2 for k-means++, 1 for the distance-proportional variant.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities. Where all rows are centres already, they are those of the weights.

    Examples
    --------
    >>> from qed.cluster import seeding_probabilities
    >>> seeding_probabilities([[0.0], [1.0], [3.0]], [[0.0]]).round(3).tolist()
    [0.0, 0.1, 0.9]
    """
    table, places = _read(X, 1, sample_weight, "seeding_probabilities")
    _require_power(power)
    k = np.shape(centers)[0] if np.ndim(centers) == 2 else 0
    start = given(centers, places, k, "centers")
    closest: Array | None = None
    for centre in start:
        closest = places.approach(centre[None], closest)[0][0]
    weights = np.ones(table.shape[0]) if places.s is None else places.s
    chance = weights if closest is None else chances(closest, float(power)) * weights
    return np.asarray(chance / chance.sum() if chance.sum() > 0 else weights / weights.sum())


def _require_power(power: Any) -> None:
    if not isinstance(power, int | float | np.number) or not 0 < power < math.inf:
        raise InvalidParameter(f"power must be a real number > 0, got {power!r}. It is 2 for k-means++.")


def _read(X: Any, n_clusters: Any, sample_weight: Any, owner: str) -> tuple[Any, Places]:
    table, names = _tables.read(X, "X", Traits(sparse=True), owner)
    _finite.require(table, "X", None if names is None else list(names), owner)
    n = table.shape[0]
    if not isinstance(n_clusters, int | np.integer) or n_clusters < 1:
        raise InvalidParameter(f"n_clusters must be a whole number >= 1, got {n_clusters!r}.")
    if n < n_clusters:
        raise InvalidData(f"n_samples={n} should be >= n_clusters={n_clusters}. Ask for fewer clusters.")
    s = _targets.weights(sample_weight, n)
    mean = (
        np.zeros(table.shape[1])
        if _tables.is_sparse(table)
        else np.average(table.astype(np.float64), axis=0, weights=s)
    )
    return table, Places.of(table, mean, s)


def _rows(table: Any, indices: Array) -> Array:
    centres = table[indices]
    return centres.toarray() if _tables.is_sparse(centres) else np.array(centres)
