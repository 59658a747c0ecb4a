"""One run of Lloyd's algorithm: rows to their nearest centres, centres to the means of their rows, until nothing moves.

Centres move less and less, and most rows stay where they are. Each row keeps bounds on its distances (Hamerly; by groups of
centres where there are many, as in Yinyang k-means), so that a pass looks only at rows whose centre may have changed, and
sums change by those rows alone. The last pass looks at every row and sums again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.cluster._kernels import Bounds, Places, State, Step
from qed.core._events import STOP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core._events import Progress

    Array = NDArray[np.float64]


MIN_CENTRES_FOR_GROUPS = 16  # centres from which their distances are bounded by groups
GROUP, MOST_GROUPS = 8, 16
AT_REST, EMPTY = 1, 2  # how a run ends


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


def lloyd(places: Places, centres: Array, *, most: int, tol: float, progress: Progress) -> Run:
    """Run from given centres.

    Parameters
    ----------
    places : Places
        The rows.
    centres : ndarray of shape (k, p)
        Where to begin.
    most : int
        Most steps.
    tol : float
        Sum of squared moves of centres at which to stop.
    progress : Progress
        Told of every step; it may ask to stop.
    """
    order, starts = _grouped(centres)
    bounds, state = Bounds.empty(places.shape[0], starts), State.begin(centres[order], len(starts) - 1)
    trace: list[float] = []
    evaluations, taken, outcome = 0, 0, "max_iter"
    weight = float(places.shape[0]) if places.s is None else float(places.s.sum())
    total = float(np.sum(places.squares if places.s is None else places.s * places.squares))
    longest = float(np.sqrt(places.squares.max(initial=0.0)))
    end = 0
    try:
        while taken < most or end == EMPTY:
            passes = 1 if progress.has_listeners else most - taken
            goal = (total, weight, longest, tol, passes if end != EMPTY else passes * (taken < most))
            end, moved, done, looked = places.run(bounds, state, goal, is_first=taken == 0, is_pending=end == EMPTY)
            trace, taken, evaluations = trace + moved.tolist(), taken + done, evaluations + looked
            if end == AT_REST:
                outcome = "solved"
                break
            if end == EMPTY:
                _fill_empty(places, bounds, state)
            elif progress.step(trace[-1] if trace else None) is STOP:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    run = Run(state.centres, bounds.labels, 0.0, max(taken, 1), 0.0, np.array(trace), evaluations, outcome)
    return finished(places, state.centres, bounds, run, order)


def finished(places: Places, centres: Array, bounds: Bounds, run: Run, order: NDArray[np.intp]) -> Run:
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
    if k < MIN_CENTRES_FOR_GROUPS:
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


def _fill_empty(places: Places, bounds: Bounds, state: State) -> None:
    """Give each empty cluster the row that is farthest from its centre; the inertia falls by its squared distance."""
    empty = np.flatnonzero(~(state.weights > 0))
    known = Bounds.empty(places.shape[0], bounds.starts)
    places.step(state.centres, known, sums=False)
    far = known.upper if places.s is None else np.where(places.s > 0, known.upper, -1.0)
    sums, weights, least = state.sums, state.weights, np.sqrt(2 * places.slack(state.centres))
    for cluster, row in zip(empty, np.argsort(-far, kind="stable")[: len(empty)], strict=False):
        old, s = int(bounds.labels[row]), 1.0 if places.s is None else float(places.s[row])
        if not far[row] > least or not weights[old] > s:
            continue  # rows coincide with their centres, or would leave another cluster empty
        x = places.row(int(row))
        sums[old] -= s * x
        weights[old] -= s
        sums[cluster], weights[cluster] = s * x, s
        bounds.labels[row], bounds.upper[row] = cluster, np.inf
