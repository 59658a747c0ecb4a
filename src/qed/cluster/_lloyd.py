"""One run of Lloyd's algorithm: rows to their nearest centres, centres to the means of their rows, until nothing moves.

Centres move less and less, and most rows stay where they are. Each row keeps bounds on its distances (Hamerly; by groups of centres
where there are many, as in Yinyang k-means), so that a pass looks only at rows whose centre may have changed, and sums change by those
rows alone. The last pass looks at every row and sums anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.cluster._kernels import Bounds, Places, Step
from qed.core._events import STOP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core._events import Progress

    Array = NDArray[np.float64]

__all__ = ["Run", "lloyd"]

MANY = 16  # centres from which their distances are bounded by groups
GROUP, MOST_GROUPS = 8, 16


@dataclass(frozen=True, eq=False)
class Run:
    """Where a run ended; centres in the coordinates of the places."""

    centres: Array
    labels: NDArray[np.int32]
    inertia: float
    steps: int
    drift: float
    trace: Array
    evaluations: int
    outcome: str


def lloyd(places: Places, centres: Array, total: float, *, most: int, tol: float, progress: Progress) -> Run:
    """Run from given centres.

    Parameters
    ----------
    places : Places
        The rows.
    centres : ndarray of shape (k, p)
        Where to begin.
    total : float
        Weighted sum of squares of the rows about the origin of their coordinates.
    most : int
        Most steps.
    tol : float
        Sum of squared moves of centres at which to stop.
    progress : Progress
        Told of every step; it may ask to stop.
    """
    order, starts = _grouped(centres)
    centres = centres[order]
    bounds = Bounds.empty(places.shape[0], starts)
    trace: list[float] = []
    evaluations, outcome, taken = 0, "max_iter", 0
    sums, weights = np.zeros_like(centres), np.zeros(len(centres))
    motion = None
    try:
        for taken in range(1, most + 1):
            step = places.step(centres, bounds, motion)
            sums, weights = sums + step.sums, np.maximum(weights + step.weights, 0.0)
            evaluations += step.evaluated
            if not step.changed and taken > 1:
                outcome = "solved"
                break
            sums, weights = _with_no_cluster_empty(places, centres, bounds, sums, weights)
            filled = weights > 0
            moved = np.where(filled[:, None], sums / np.where(filled, weights, 1.0)[:, None], centres)
            trace.append(max(total - float(np.sum(sums[filled] ** 2 / weights[filled, None])), 0.0))
            shift = np.sqrt(np.sum((moved - centres) ** 2, axis=1))
            centres = moved
            if progress.step(trace[-1]) is STOP:
                outcome = "stopped"
                break
            if float(np.sum(shift**2)) <= tol:
                outcome = "solved"
                break
            motion = (shift * (1 + 1e-15), np.maximum.reduceat(shift, starts[:-1]) * (1 + 1e-15), _reach(centres))
    except KeyboardInterrupt:
        outcome = "interrupted"
    return _finished(places, centres, bounds, Run(centres, bounds.labels, 0.0, taken, 0.0, np.array(trace), evaluations, outcome), order)


def _finished(places: Places, centres: Array, bounds: Bounds, run: Run, order: NDArray[np.intp]) -> Run:
    """Look at every row once more, and put centres back into the order they came in."""
    last: Step = places.step(centres, bounds)
    filled = last.weights > 0
    means = np.where(filled[:, None], last.sums / np.where(filled, last.weights, 1.0)[:, None], centres)
    drift = float(np.sqrt(np.sum(last.weights * np.sum((means - centres) ** 2, axis=1))))
    inertia = last.inertia
    far = np.abs(means - centres).max(initial=0.0)
    if far <= 1e-12 * np.abs(centres).max(initial=0.0):  # a fixed point: what is left is the rounding of changing sums
        centres, drift = means, 0.0
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Run(
        centres[back],
        order.astype(np.int32)[bounds.labels],
        inertia,
        run.steps,
        drift,
        run.trace,
        run.evaluations + last.evaluated,
        run.outcome,
    )


def _grouped(centres: Array) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Order centres so that near ones stand side by side, and say where each group begins."""
    k = len(centres)
    if k < MANY:
        return np.arange(k), np.array([0, k], np.int64)
    groups = min(MOST_GROUPS, k // GROUP)
    heads = centres[np.linspace(0, k - 1, groups).astype(np.intp)]
    for _ in range(4):
        away = np.sum(heads**2, axis=1) - 2 * centres @ heads.T
        label = np.argmin(away, axis=1)
        heads = np.stack([centres[label == g].mean(axis=0) if (label == g).any() else heads[g] for g in range(groups)])
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=groups)
    return order, np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)


def _reach(centres: Array) -> Array:
    """Return half the distance of each centre to the nearest other one, rounded down."""
    if len(centres) == 1:
        return np.full(1, np.inf)
    squares = np.sum(centres**2, axis=1)
    away = squares[:, None] + squares - 2 * centres @ centres.T
    away -= 4 * (centres.shape[1] + 8) * 2.0**-52 * (squares[:, None] + squares)
    np.fill_diagonal(away, np.inf)
    return 0.5 * np.sqrt(np.maximum(away.min(axis=1), 0.0))


def _with_no_cluster_empty(
    places: Places, centres: Array, bounds: Bounds, sums: Array, weights: Array
) -> tuple[Array, Array]:
    """Give each empty cluster the row that is farthest from its centre; the inertia falls by its squared distance."""
    empty = np.flatnonzero(~(weights > 0))
    if not len(empty):
        return sums, weights
    known = Bounds.empty(places.shape[0], bounds.starts)
    places.step(centres, known, sums=False)
    far = known.upper if places.s is None else np.where(places.s > 0, known.upper, -1.0)
    sums, weights = sums.copy(), weights.copy()
    for cluster, row in zip(empty, np.argsort(-far, kind="stable")[: len(empty)], strict=False):
        old, s = int(bounds.labels[row]), 1.0 if places.s is None else float(places.s[row])
        if not far[row] > np.sqrt(places.slack(centres)) or not weights[old] > s:
            continue  # rows coincide with their centres, or would leave another cluster empty
        x = places.row(int(row))
        sums[old], weights[old] = sums[old] - s * x, weights[old] - s
        sums[cluster], weights[cluster] = s * x, s
        bounds.labels[row], bounds.upper[row] = cluster, np.inf
    return sums, weights
