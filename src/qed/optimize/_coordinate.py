"""One coordinate, or one block, at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, Progress
from qed.optimize._drive import Iterate, Stop, drive, length
from qed.optimize._evaluate import Evaluator, at_least
from qed.optimize._function import Split, Vector
from qed.optimize._line import bracket, line_minimum
from qed.optimize._result import Interrupted, OptimizationResult

INNER = 50  # Newton steps on a block, at most


def coordinate_descent(
    function: Any,
    start: Any,
    *,
    blocks: Sequence[Sequence[int]] | None = None,
    gradient_tol: float = 1e-8,
    change_tol: float = 0.0,
    gap_tol: float = 0.0,
    max_iter: int = 1000,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise along one coordinate after the other, or over one block after the other.

    Objective
    ---------
    .. math:: w_j \leftarrow \arg\min_{w_j} f(w_1, \dots, w_j, \dots, w_p) \quad \text{in turn}

    Values never rise. For a convex function that is smooth, up to a part that is a sum over coordinates, the limit is a
    minimiser; with other non-differentiable points it can rest at a point that is none.

    Certificate
    -----------
    As for `gradient_descent`.

    Cost
    ----
    O(p) a coordinate and no value at all for quadratics; elsewhere a search along the line, some twenty values.

    Parameters
    ----------
    function : Function, Problem or callable
        A quadratic is solved exactly along each coordinate, by its second derivatives, also beneath a penalty that is a sum
        over coordinates. Others need values alone, and for blocks of several coordinates ``gradient`` and ``curvature``.
    start : array-like of shape (p,)
        Where to begin.
    blocks : sequence of sequences of int, optional
        Coordinates that move together; by default each moves alone.
    gradient_tol, change_tol, gap_tol : float
        Stopping rules, checked after each sweep.
    max_iter : int
        Most sweeps over all coordinates.
    keep_points : bool
        Whether the trace keeps the point after every sweep.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        With one iteration for each sweep.
    """
    evaluate = Evaluator(function, "coordinate_descent", ())
    w = evaluate.start(start)
    groups = _groups(blocks, w.size)
    split = evaluate.function.split
    stop = Stop(max_iter, gradient_tol, change_tol, gap_tol).checked("coordinate_descent")
    if split is not None and split.is_separable and split.smooth.is_quadratic and blocks is None:
        method = _sweep_split(evaluate, w, split)
    elif evaluate.function.is_quadratic and evaluate.function.curvature is not None:
        method = _sweep(evaluate, w, groups, _exactly(evaluate, w))
    else:
        method = _sweep(evaluate, w, groups, _by_search(evaluate, groups))
    return drive("coordinate descent", method, evaluate, stop, keep_points=keep_points, verbose=verbose)


Update = Callable[[Vector, "np.ndarray[Any, np.dtype[np.int64]]"], None]


def _sweep(evaluate: Evaluator, w: Vector, groups: list[Any], update: Update) -> Iterator[Iterate]:
    """Yield the start and the point after each sweep; ``update`` changes w in place."""
    while True:
        norm = length(evaluate.gradient(w)) if evaluate.function.gradient is not None else None
        yield Iterate(w.copy(), evaluate.value(w), norm, 1.0)
        before = w.copy()
        for block in groups:
            update(w, block)
        if np.array_equal(before, w):
            return


def _exactly(evaluate: Evaluator, w: Vector) -> Update:
    """Return the exact update of a quadratic: a linear system of the size of the block."""
    H = evaluate.curvature(w)

    def update(w: Vector, block: Any) -> None:
        part = H[np.ix_(block, block)]
        g = evaluate.gradient(w)[block]
        if np.linalg.eigvalsh(part)[0] <= 0 and np.any(g != 0):
            if np.linalg.eigvalsh(part)[0] < 0 or length(part @ np.linalg.pinv(part) @ g - g) > 1e-12 * length(g):
                raise InvalidData(
                    f"coordinate_descent: the function falls without bound along coordinates {np.asarray(block).tolist()}."
                )
            w[block] -= np.linalg.pinv(part) @ g
            return
        if np.any(g != 0):
            w[block] -= np.linalg.solve(part, g)

    return update


def _by_search(evaluate: Evaluator, groups: list[Any]) -> Update:
    """Return an update by search along a coordinate, or by Newton steps over a block."""
    if any(len(block) > 1 for block in groups):
        for part in ("gradient", "curvature"):
            if getattr(evaluate.function, part) is None:
                raise InvalidParameter(
                    f"coordinate_descent needs {part}(w) to minimise over blocks of several coordinates, and "
                    f"{evaluate.function.name} has none. Leave out blocks, or pass Function(value, gradient, curvature)."
                )
    reach: dict[int, float] = {}

    def update(w: Vector, block: Any) -> None:
        if len(block) > 1:
            _newton_on(evaluate, w, block)
            return
        j, here = int(block[0]), float(w[block[0]])

        def along(x: float) -> float:
            w[j] = x
            value = evaluate.value(w)
            w[j] = here
            return value

        value = along(here)
        found = bracket(along, here, reach.get(j, 1.0))
        if not found.is_closed:
            raise InvalidData(f"coordinate_descent: the function falls without bound along coordinate {j}.")
        if found.high > found.low:
            best = line_minimum(along, found.low, found.high, tol=1e-9)
            if best.value < value:
                reach[j] = max(abs(best.x - here), 1e-12)
                w[j] = best.x

    return update


def _newton_on(evaluate: Evaluator, w: Vector, block: Any) -> None:
    """Minimise over a block by damped Newton steps, in place."""
    value = evaluate.value(w)
    for _ in range(INNER):
        g = evaluate.gradient(w)[block]
        H = evaluate.curvature(w)[np.ix_(block, block)]
        shift = max(0.0, 1e-8 - float(np.linalg.eigvalsh(H)[0]))
        d, step = -np.linalg.solve(H + shift * np.eye(len(block)), g), 1.0
        while step > 1e-12:
            trial = w.copy()
            trial[block] += step * d
            lower = evaluate.value(trial)
            if lower < value:
                break
            step *= 0.5
        else:
            return
        w[:], value = trial, lower


def _sweep_split(evaluate: Evaluator, w: Vector, split: Split) -> Iterator[Iterate]:
    """Yield the point after each sweep of proximal steps, exact along a coordinate of a quadratic; the gradient is kept up."""
    smooth = Evaluator(split.smooth, "coordinate_descent", ("gradient", "curvature"), evaluate.counts)
    H = smooth.curvature(w)
    curvature = np.diag(H)
    while True:
        g = smooth.gradient(w)
        trial = split.rest.prox(w - g, 1.0)
        yield Iterate(w.copy(), evaluate.value(w), length(w - trial), 1.0)
        before = w.copy()
        for j in range(w.size):
            if curvature[j] <= 0:
                continue
            moved = w.copy()
            moved[j] -= g[j] / curvature[j]
            new = split.rest.prox(moved, 1.0 / float(curvature[j]))[j]
            if new != w[j]:
                g = g + H[:, j] * (new - w[j])
                w[j] = new
        if np.array_equal(before, w):
            return


def _groups(blocks: Sequence[Sequence[int]] | None, p: int) -> list[Any]:
    """Return the blocks as arrays of indices."""
    if blocks is None:
        return [np.array([j]) for j in range(p)]
    groups = [np.asarray(block, dtype=np.int64).ravel() for block in blocks]
    taken = np.sort(np.concatenate(groups)) if groups else np.array([])
    if not np.array_equal(taken, np.arange(p)):
        raise InvalidParameter(f"blocks must name each of the {p} coordinates once, got {blocks!r}.")
    return groups


@dataclass(frozen=True, eq=False)
class AlternatingResult:
    """Where alternating minimisation ended.

    Attributes
    ----------
    state : object
        The last state.
    values : ndarray
        The value at the start and after every update of a block.
    outcome : str
        ``"solved"``: a whole round changed the value by no more than ``tol``. ``"max_iter"`` or ``"stopped"`` otherwise.
    n_iter : int
        Rounds.
    """

    state: Any = field(repr=False)
    values: Vector = field(repr=False)
    outcome: str
    n_iter: int


def alternating_minimization(
    value: Callable[[Any], float],
    updates: Sequence[Callable[[Any], Any]],
    start: Any,
    *,
    tol: float = 0.0,
    max_iter: int = 300,
    verbose: int = 0,
) -> AlternatingResult:
    """Minimise over blocks of any kind, each by its own update: the scheme of k-means and of many others.

    Every update must not raise the value; one that does raises an error, because it does not minimise over its block.

    Parameters
    ----------
    value : callable
        A number for a state.
    updates : sequence of callables
        Each takes a state and returns the state with its own block minimised, others kept. A state may be anything.
    start : object
        The first state.
    tol : float
        A round that lowers the value by no more than this is the last.
    max_iter : int
        Most rounds.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    AlternatingResult
        The state, and the value after every update.
    """
    if not updates or not all(callable(update) for update in updates):
        raise InvalidParameter("alternating_minimization needs one callable for each block.")
    at_least("tol", tol, 0)
    state, values = start, [float(value(start))]
    if not np.isfinite(values[0]):
        raise InvalidData(f"alternating_minimization: the value is {values[0]} at the start. Begin where it is finite.")
    outcome, done = "max_iter", 0
    with Progress("alternating minimisation", max_iter, verbose=verbose) as progress:
        try:
            for done in count(1):
                first = values[-1]
                for number, update in enumerate(updates):
                    state = update(state)
                    values.append(float(value(state)))
                    rise = values[-1] - values[-2]
                    if not rise <= 1e-9 * (abs(values[-1]) + abs(values[0])):
                        raise InvalidData(
                            f"Update {number} raised the value by {rise:.3g}: it does not minimise its block."
                        )
                is_last = first - values[-1] <= tol
                outcome = "solved" if is_last else outcome
                if progress.step(values[-1]) is STOP:
                    outcome, is_last = "stopped", True
                if is_last or done >= max_iter:
                    break
        except KeyboardInterrupt:
            result = AlternatingResult(state, np.asarray(values), "interrupted", max(done - 1, 0))
            raise Interrupted(result) from None
    return AlternatingResult(state, np.asarray(values), outcome, done)
