"""Lloyd's algorithm on rows that come in chunks: a pass over the source for each step.

A step is a fold of the sums, weights and inertia of the clusters, so that it runs wherever folds run. Centres begin at rows of a
sample: all rows where there are few, so that the start, and with it the answer, is that of the same rows in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.cluster._bound import MAX_EIGEN_SIDE, Scatter
from qed.cluster._kernels import Bounds, Places
from qed.cluster._lloyd import Run
from qed.core._events import STOP
from qed.core._memory import require_memory
from qed.data import Chunk, Moments, fold
from qed.data._selected import count_rows, gathered
from qed.designs._range import fingerprint_of, require_range

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.core._events import Progress
    from qed.data import Source

    Array = NDArray[np.float64]


SAMPLE = (
    1 << 16
)  # rows that a start is chosen from: for k centres, enough that each cluster of a share 1/k has many of them


class FoldedScatter(Scatter):
    """The spread of rows that come in chunks, from their moments."""

    def __init__(self, source: Source, name: str) -> None:
        p = source.schema.n_features
        require_memory(48 * p * p, f"The {p} x {p} matrix of products of columns", "Choose fewer columns.")
        moments = fold(source, _moments, name=name)
        self.rows, self.seen = moments.rows, fingerprint_of(moments)
        self.matrix = moments.XX if p <= MAX_EIGEN_SIDE else None
        self.rounding_error = moments.rounding * float(np.sum(moments.peak))
        require_range(source, self.seen)


def _moments(chunk: Chunk) -> Moments:
    return Moments.of(Chunk(chunk.X, None, chunk.s, chunk.origin))


class Coordinates(NamedTuple):
    """The coordinates of a run: where they begin, and how many rows and columns there are."""

    origin: Array
    shape: tuple[int, int]


def sampled(source: Source, mean: Array, rng: Generator) -> tuple[Any, Places]:
    """Return rows to choose starting centres from, as a table and about the mean."""
    n = count_rows(source)
    X, s = gathered(source, np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False)))
    return X, Places.of(X, mean, s)


@dataclass(frozen=True, eq=False)
class Assigned:
    """What a pass finds: for each cluster its weight and the sum of its rows; the inertia; and the rows farthest from theirs."""

    sums: Array
    weights: Array
    inertia: float
    evaluated: int
    far: Array  # distances, largest first
    far_rows: Array

    def merge(self, other: Self) -> Self:
        """Return what both parts found."""
        far = np.concatenate([self.far, other.far])
        order = np.argsort(-far, kind="stable")[: len(self.weights)]
        return type(self)(
            self.sums + other.sums,
            self.weights + other.weights,
            self.inertia + other.inertia,
            self.evaluated + other.evaluated,
            far[order],
            np.concatenate([self.far_rows, other.far_rows])[order],
        )


@dataclass(frozen=True, eq=False)
class Labelled:
    """What the last pass finds: the cluster of each row as well, in the order of the rows."""

    clusters: Assigned
    labels: tuple[Any, ...]

    def merge(self, other: Self) -> Self:
        """Return what both parts found."""
        return type(self)(self.clusters.merge(other.clusters), self.labels + other.labels)


def _assigned(chunk: Chunk, centres: Array, origin: Array) -> Assigned:
    return _assign(chunk, centres, origin)[0]


def _labelled(chunk: Chunk, centres: Array, origin: Array) -> Labelled:
    found, labels = _assign(chunk, centres, origin)
    return Labelled(found, (labels.astype(np.min_scalar_type(len(centres))),))  # few bytes to send


def _assign(chunk: Chunk, centres: Array, origin: Array) -> tuple[Assigned, NDArray[np.int32]]:
    places = Places.of(chunk.X, origin, chunk.s)
    bounds = Bounds.empty(chunk.n_rows, np.array([0, len(centres)], np.int64))
    step = places.step(centres, bounds)
    far = bounds.upper if chunk.s is None else np.where(chunk.s > 0, bounds.upper, -1.0)
    empty = int(np.count_nonzero(~(step.weights > 0)))  # as many rows as clusters that have none here
    order = np.argsort(-far, kind="stable")[:empty] if empty else np.zeros(0, np.intp)
    rows = np.array([places.row(int(i)) for i in order]).reshape(len(order), len(origin))
    return Assigned(step.sums, step.weights, step.inertia, step.evaluated, far[order], rows), bounds.labels


def lloyd_by_passes(source: Source, origin: Array, centres: Array, *, most: int, tol: float, progress: Progress) -> Run:
    """Run from given centres, as `qed.cluster._lloyd.lloyd` does on rows in memory.

    Parameters
    ----------
    source : Source
        The rows.
    origin : ndarray of shape (p,)
        Where coordinates begin.
    centres : ndarray of shape (k, p)
        Where to begin, in these coordinates.
    most : int
        Most steps.
    tol : float
        Sum of squared moves of centres at which to stop.
    progress : Progress
        Told of every step; it may ask to stop.
    """
    trace: list[float] = []
    evaluations, outcome = 0, "max_iter"
    try:
        while len(trace) < most:
            found = fold(source, partial(_assigned, centres=centres, origin=origin), name="KMeans")
            trace.append(found.inertia)
            evaluations += found.evaluated
            means = _means(found, centres)
            moved, centres = float(np.sum((means - centres) ** 2)), means
            if moved <= tol:
                outcome = "solved"
                break
            if progress.step(found.inertia) is STOP:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    return _finished(source, origin, centres, trace, evaluations, outcome)


def _means(found: Assigned, centres: Array) -> Array:
    """Return the means of the clusters; an empty one goes to a row that is far from its centre."""
    filled = found.weights > 0
    means = np.where(filled[:, None], found.sums / np.where(filled, found.weights, 1.0)[:, None], centres)
    spare = [row for far, row in zip(found.far, found.far_rows, strict=True) if far > 0]
    for cluster, row in zip(np.flatnonzero(~filled), spare, strict=False):
        means[cluster] = row
    return means


def _finished(source: Source, origin: Array, centres: Array, trace: list[float], evaluations: int, outcome: str) -> Run:
    """Look at every row once more: inertia, distance of centres from means, labels."""
    found = fold(source, partial(_labelled, centres=centres, origin=origin), name="KMeans")
    last, labels = found.clusters, np.concatenate(found.labels).astype(np.int32)
    filled = last.weights > 0
    means = np.where(filled[:, None], last.sums / np.where(filled, last.weights, 1.0)[:, None], centres)
    drift = float(np.sqrt(np.sum(last.weights * np.sum((means - centres) ** 2, axis=1))))
    steps = max(len(trace), 1)
    return Run(centres, labels, last.inertia, steps, drift, np.array(trace), evaluations + last.evaluated, outcome)
