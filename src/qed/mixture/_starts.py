"""Where an ascent begins: rows dealt out to components, or rows taken as means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cluster import KMeans, kmeans_plusplus

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.mixture._gaussians import GaussianExpectation, GaussianFamily, Gaussians

    Array = NDArray[np.float64]


def begin(family: GaussianFamily, k: int, how: str, rng: Generator) -> Gaussians:
    """Return first parameters.

    Parameters
    ----------
    family : GaussianFamily
        The rows.
    k : int
        Number of components.
    how : {"kmeans", "k-means++", "random", "random_from_data"}
        Clusters of k-means; rows far from each other, or any rows, as means, with the covariance of all rows and equal weights; or
        responsibilities drawn at random.
    rng : Generator
        Draws.
    """
    if how in ("kmeans", "random"):
        return family.maximise(dealt_out(family, k, how, rng))
    return at_rows(family, _rows(family, k, how, rng))


def dealt_out(family: GaussianFamily, k: int, how: str, rng: Generator) -> GaussianExpectation:
    """Return moments of components that rows are dealt out to: those of clusters, or of random responsibilities."""
    n = family.X.shape[0]
    if how == "kmeans":
        found = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(family.X, sample_weight=family.s)
        shares = np.zeros((n, k))
        shares[np.arange(n), found.labels_] = 1.0
        return family.given(shares, found.cluster_centers_)
    shares = rng.random((n, k))
    shares /= shares.sum(axis=1, keepdims=True)
    return family.given(shares, np.broadcast_to(family.shift, (k, len(family.shift))))


def by_class(family: GaussianFamily, codes: Any, counts: Any, rng: Generator) -> Gaussians:
    """Return first parameters where classes are known: clusters of the rows of each class."""
    n, first = len(codes), 0
    shares, about = np.zeros((n, int(counts.sum()))), np.empty((int(counts.sum()), family.X.shape[1]))
    for number, k in enumerate(counts.tolist()):
        mine = np.flatnonzero(codes == number)
        seed, s = int(rng.integers(2**31)), None if family.s is None else family.s[mine]
        found = KMeans(k, n_init=1, random_state=seed).fit(family.X[mine], sample_weight=s)
        shares[mine, first + found.labels_] = 1.0
        about[first : first + k] = found.cluster_centers_
        first += k
    return family.maximise(family.given(shares, about))


def expected_at_start(family: GaussianFamily, k: int, how: str, rng: Generator) -> GaussianExpectation:
    """Return moments to begin with: of dealt out rows, or by the responsibilities of components at rows."""
    if how in ("kmeans", "random"):
        return dealt_out(family, k, how, rng)
    return family.expect(at_rows(family, _rows(family, k, how, rng)))


def _rows(family: GaussianFamily, k: int, how: str, rng: Generator) -> Array:
    if how == "k-means++":
        seed = int(rng.integers(2**31))
        return kmeans_plusplus(family.X, k, sample_weight=family.s, random_state=seed)[0].astype(np.float64)
    chance = None if family.s is None else family.s / family.weight
    used = family.X.shape[0] if family.s is None else int(np.count_nonzero(family.s))
    rows = np.resize(rng.choice(family.X.shape[0], min(k, used), replace=False, p=chance), k)
    return np.asarray(family.X[rows], dtype=np.float64)


def at_rows(family: GaussianFamily, means: Array) -> Gaussians:
    """Equal weights, given means, and the covariance of all rows."""
    k = len(means)
    all_rows = family.given(np.full((family.X.shape[0], 1), 1.0), family.shift[None])
    pooled = family.maximise(all_rows)
    covariances = pooled.covariances
    if family.structure != "tied":
        covariances = np.repeat(covariances, k, axis=0)
    return type(pooled)(np.full(k, 1 / k), means, covariances, family.structure)


def with_given(start: Gaussians, weights: Any, means: Any, covariances: Any) -> Gaussians:
    """Replace parts of a start by what the user gives."""
    return type(start)(
        start.weights if weights is None else weights,
        start.means if means is None else means,
        start.covariances if covariances is None else covariances,
        start.structure,
    )
