"""Modes of the density of rows, found by moving points to the means of what is near."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from qed.certificates import StationaryCertificate
from qed.cluster import _kernels
from qed.cluster._space import Space, require_sizes
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    InvalidParameter,
    Matrix,
    Positive,
    PositiveInt,
    Probability,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint
from qed.neighbors._metric import Metric

STEP = "step to the mean of the rows within the bandwidth"
TOLERANCE = 1e-4  # of the objective far from all rows
GRID = (
    2.0**-36
)  # of a bandwidth: points that see the same rows are then the same numbers, however their sums were rounded
ROWS_AT_ONCE = 4096


class MeanShift(Clusterer):
    r"""Mean shift: clusters around the modes of a kernel density estimate.

    Objective
    ---------
    .. math:: \min_c \frac{1}{n} \sum_i \min\Big( \frac{\| x_i - c \|^2}{h^2}, 1 \Big)

    for each centre c by itself, h being the bandwidth: minus the density by Epanechnikov's kernel, up to constants. The step to the
    mean of the rows within the bandwidth never raises it. Points start from ``seeds`` and move until they rest; of points that rest
    within a bandwidth of each other the one with the most rows around it is a centre. Rows belong to the nearest centre.

    Certificate
    -----------
    StationaryCertificate: the objective, summed over the centres, and how much another step could lower it.

    Cost
    ----
    O(log n) to O(n) a point and step, by sums of boxes of rows that lie within the bandwidth. Memory beyond X: O(np).

    Notes
    -----
    Steps end where a point rests exactly; scikit-learn ends at steps of a thousandth of the bandwidth.

    Examples
    --------
    >>> from qed.cluster import MeanShift
    >>> model = MeanShift(bandwidth=2.0).fit([[0.0], [1.0], [10.0], [11.0], [12.0]])
    >>> model.cluster_centers_.round(6).tolist(), model.labels_.tolist()
    ([[11.0], [0.5]], [1, 1, 0, 0, 0])
    """

    _: KW_ONLY
    bandwidth: Positive | None = param(None, "Radius of the window; `estimate_bandwidth` of X by default.")
    seeds: Matrix | None = param(None, "Points to start from; all rows by default.")
    bin_seeding: bool = param(
        False, "Whether to start from the corners of a grid of bandwidths that have rows, not from all rows."
    )
    min_bin_freq: PositiveInt = param(1, "Rows that a corner of the grid needs to be a start.")
    cluster_all: bool = param(
        True, "Whether rows beyond the bandwidth of every centre belong to the nearest, or are noise (-1)."
    )
    n_jobs: int | None = param(None, "Threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint")
    max_iter: PositiveInt = param(300, "Most steps of a point.")

    cluster_centers_: Array = fitted(
        "Centres, those with the most rows around them first.", shape="(c, p)", length="at least 1"
    )
    labels_: Array = fitted(
        "The centre of each row, -1 for noise.", dtype="int64", shape="(n,)", low=-1, below="cluster_centers_"
    )
    bandwidth_: float = fitted("The radius that was used.", low=0)
    n_iter_: int = fitted("Most steps that a point took.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find modes."""
        data = self._fit_data(X)
        rows = np.ascontiguousarray(data.X, dtype=np.float64)
        require_sizes(type(self).__name__, rows)
        radius = _bandwidth(rows, 0.3) if self.bandwidth is None else float(self.bandwidth)
        # without a radius rows are equal or not, which a shift would blur
        mean = rows.mean(axis=0) if radius > 0 else np.zeros(rows.shape[1])
        space = Space(rows - mean, Metric("euclidean"))
        points, counts, steps, outcome = self._move(space, self._starts(rows, radius) - mean, radius)
        centres = _apart(points, counts, radius)
        self.cluster_centers_ = _kernels.shift_means(space.index, centres, radius)[0] + mean  # off the grid again
        self.bandwidth_, self.n_iter_ = radius, steps
        self.labels_ = self._nearest(rows, is_all=self.cluster_all)
        self._certify(rows, space, mean, outcome)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _starts(self, rows: Array, radius: float) -> Array:
        if self.seeds is not None:
            seeds = np.array(self.seeds, dtype=np.float64)
            if seeds.shape[1] != rows.shape[1] or not np.isfinite(seeds).all():
                raise InvalidParameter(
                    f"seeds must be finite points with the {rows.shape[1]} columns of X, got shape {seeds.shape}."
                )
            return seeds
        return get_bin_seeds(rows, radius, self.min_bin_freq) if self.bin_seeding and radius > 0 else rows

    def _move(self, space: Space, points: Array, radius: float) -> tuple[Array, Array, int, str]:
        """Move points until they rest; return where, the rows around each, the steps, and how it ended."""
        grid = 2.0 ** math.floor(math.log2(radius * GRID)) if radius > 0 else 0.0
        points, outcome, steps = _distinct(points), "max_iter", 0
        resting, held = [], []
        with Progress(type(self).__name__, verbose=0) as progress:
            try:
                while len(points) and steps < self.max_iter:
                    means, counts = _kernels.shift_means(space.index, points, radius)
                    means = np.round(means / grid) * grid + 0.0 if grid > 0 else means
                    seen = counts > 0
                    rest = np.all(means == points, axis=1)
                    resting.append(points[rest & seen])
                    held.append(counts[rest & seen])
                    points = _distinct(means[~rest & seen])
                    steps += 1
                    if progress.step(float(len(points))) is STOP:
                        outcome = "stopped"
                        break
            except KeyboardInterrupt:
                outcome = "interrupted"
        if len(points):
            resting.append(points)
            held.append(_kernels.shift_means(space.index, points, radius)[1])
        else:
            outcome = "solved"
        found, counts = np.concatenate(resting), np.concatenate(held)
        if not (counts > 0).any():
            raise InvalidData(
                f"No point was within bandwidth={radius:g} of any seed. Try a different seeding strategy or increase the bandwidth."
            )
        return found[counts > 0], counts[counts > 0], steps, outcome

    def _certify(self, rows: Array, space: Space, mean: Array, outcome: str) -> None:
        centres, radius = self.cluster_centers_ - mean, self.bandwidth_
        here = _uncovered(space.rows, centres, radius)
        there = _uncovered(space.rows, _kernels.shift_means(space.index, centres, radius)[0], radius)
        largest = float(np.max(np.abs(rows), initial=0.0))
        size = largest / radius if radius > 0 else 0.0
        rounding = 64 * (rows.shape[1] + 8) * (UNIT * (1 + size) + GRID) * len(centres)
        self.certificate_ = StationaryCertificate(
            gap=max(here - there, 0.0) + rounding,
            rounding=rounding,
            radius=0.0,
            objective=here,
            null_objective=float(len(centres)),
            curvature=0.0,
            tol=TOLERANCE,
            outcome=outcome,
            fingerprint=fingerprint(rows, np.empty((len(rows), 0)), None),
            step=STEP,
        )

    def _nearest(self, rows: Array, *, is_all: bool) -> Array:
        mean = self.cluster_centers_.mean(axis=0)
        index = _kernels.arrange(np.ascontiguousarray(self.cluster_centers_ - mean), tree=False)
        labels = np.empty(len(rows), np.int64)
        step = max(ROWS_AT_ONCE * 16 // max(len(self.cluster_centers_), 16), 1)
        for first in range(0, len(rows), step):
            some = slice(first, first + step)
            away = _kernels.measure(index, np.ascontiguousarray(rows[some] - mean), Metric("euclidean").sums)
            labels[some] = np.argmin(away, axis=1)
            if not is_all:
                labels[some][np.min(away, axis=1) > self.bandwidth_] = -1
        return labels

    def predict(self, X: Any) -> Array:
        """Return the nearest centre of rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Numbers of centres.
        """
        return self._nearest(np.asarray(self._new_data(X), dtype=np.float64), is_all=True)


def _distinct(points: Array) -> Array:
    """Return each point once, in an order of their own."""
    if len(points) < 2:
        return points
    points = points + 0.0  # one zero
    factors = np.random.default_rng(0).integers(1, 2**63, points.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = (points.view(np.uint64).reshape(points.shape) * factors).sum(axis=1, dtype=np.uint64)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(points[first][inverse.ravel()], points):  # different points with one key
        return np.unique(points, axis=0)
    return points[first]


def _apart(points: Array, counts: Array, radius: float) -> Array:
    """Return points that are not within a radius of one with more rows around it, the fullest first."""
    points, first = np.unique(points, axis=0, return_index=True)
    order = np.lexsort((*points.T[::-1], counts[first]))[::-1]
    points = points[order]
    kept: list[int] = []
    free = np.ones(len(points), bool)
    for i in range(len(points)):
        if free[i]:
            kept.append(i)
            free[i + 1 :] &= np.sqrt(np.sum((points[i + 1 :] - points[i]) ** 2, axis=1)) > radius
    return points[kept]


def _uncovered(rows: Array, centres: Array, radius: float) -> float:
    """Return the objective: shares of rows that centres do not cover, each row by its squared distance."""
    if radius == 0:
        return float(sum(np.mean(np.any(rows != centre, axis=1)) for centre in centres))
    total = 0.0
    for centre in centres:
        total += float(np.mean(np.minimum(np.sum(((rows - centre) / radius) ** 2, axis=1), 1.0)))
    return total


def get_bin_seeds(X: Any, bin_size: float, min_bin_freq: int = 1) -> Array:
    """Return the grid points that have samples near them, as seeds of mean shift.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    bin_size : float
        Width of the grid.
    min_bin_freq : int
        Rows that a corner needs.

    Returns
    -------
    ndarray of shape (m, p)
        Corners; all rows where each has a corner of its own.

    Examples
    --------
    >>> from qed.cluster import get_bin_seeds
    >>> get_bin_seeds([[0.1], [0.2], [2.9]], 1.0).tolist()
    [[0.0], [3.0]]
    """
    rows = np.asarray(X, dtype=np.float64)
    if bin_size <= 0:
        return rows
    corners, counts = np.unique(np.round(rows / bin_size) + 0.0, axis=0, return_counts=True)
    return rows if len(corners) == len(rows) else corners[counts >= min_bin_freq] * bin_size


def _bandwidth(rows: Array, quantile: float) -> float:
    k = max(int(len(rows) * quantile), 1)
    rows = np.ascontiguousarray(rows - rows.mean(axis=0))
    return float(np.mean(_kernels.kth_distances(_kernels.arrange(rows, tree=False), rows, k)))


def estimate_bandwidth(
    X: Any, *, quantile: Probability = 0.3, n_samples: int | None = None, random_state: Seed = 0, n_jobs: int | None = None  # noqa: ARG001
) -> float:  # fmt: skip
    """Return the mean distance of rows to a near one: a radius for `MeanShift`.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    quantile : float
        Which neighbour is near: this share of all rows is nearer; between 0 and 1.
    n_samples : int, optional
        Rows that are drawn and looked at; all by default.
    random_state : int, generator or None
        Seed of the draw.
    n_jobs : int, optional
        Threads that scikit-learn would use.

    Returns
    -------
    float
        The radius. O(n^2 p) operations.

    Examples
    --------
    >>> from qed.cluster import estimate_bandwidth
    >>> estimate_bandwidth([[0.0], [1.0], [2.0]], quantile=0.7)
    1.0
    """
    if not 0 <= quantile <= 1:
        raise InvalidParameter(f"quantile must be between 0 and 1, got {quantile!r}.")
    rows = np.asarray(MeanShift()._fit_data(X).X, dtype=np.float64)  # noqa: SLF001
    require_sizes("estimate_bandwidth", rows)
    if n_samples is not None:
        if not n_samples >= 1:
            raise InvalidParameter(f"n_samples must be at least 1, got {n_samples!r}.")
        rows = rows[generator(random_state).permutation(len(rows))[:n_samples]]
    return _bandwidth(rows, quantile)


def mean_shift(
    X: Any, *, bandwidth: float | None = None, seeds: Any = None, bin_seeding: bool = False, min_bin_freq: int = 1,
    cluster_all: bool = True, max_iter: int = 300, n_jobs: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Find the modes of a kernel density estimate: the function behind `MeanShift`.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    bandwidth, seeds, bin_seeding, min_bin_freq, cluster_all, max_iter, n_jobs : object
        As in `MeanShift`.

    Returns
    -------
    cluster_centers : ndarray of shape (c, p)
        Centres.
    labels : ndarray of int of shape (n,)
        The centre of each row.

    Examples
    --------
    >>> from qed.cluster import mean_shift
    >>> mean_shift([[0.0], [1.0], [10.0]], bandwidth=2.0)[1].tolist()
    [0, 0, 1]
    """
    model = MeanShift(
        bandwidth=bandwidth, seeds=seeds, bin_seeding=bin_seeding, min_bin_freq=min_bin_freq, cluster_all=cluster_all,
        max_iter=max_iter, n_jobs=n_jobs,
    ).fit(X)  # fmt: skip
    return model.cluster_centers_, model.labels_
