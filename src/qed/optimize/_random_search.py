"""Search by chance: proposals around a point, with or without a temperature, and starts drawn again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, generator
from qed.core._events import STOP, Progress
from qed.optimize._drive import Iterate, Stop, drive
from qed.optimize._evaluate import Evaluator, at_least
from qed.optimize._result import Interrupted, OptimizationResult
from qed.optimize._schedules import PowerDecay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.optimize._function import Vector


def random_search(
    function: Any,
    start: Any,
    *,
    scale: float = 0.1,
    max_iter: int = 5000,
    random_state: Any = None,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    """Minimise by random perturbations, keeping those that lower the value.

    Objective
    ---------
    Any function that can be evaluated; no gradient is ever asked for.

    Certificate
    -----------
    None: values prove nothing about points that were not tried.

    Cost
    ----
    One value a proposal.

    Parameters
    ----------
    function : Function, Problem or callable
        What is minimised.
    start : array-like of shape (p,)
        Where to begin.
    scale : float
        Standard deviation of a proposal around the best point so far, in every coordinate.
    max_iter : int
        Proposals.
    random_state : None, int, Generator or RandomState
        Which proposals.
    keep_points : bool
        Whether the trace keeps the best point after every proposal.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        The best point; its trace never rises.
    """
    evaluate = Evaluator(function, "random_search", ())
    at_least("scale", scale, 0, strictly=True)
    w, stream = evaluate.start(start), generator(random_state)

    def propose() -> Iterator[Iterate]:
        here, value = w, evaluate.value(w)
        yield Iterate(here, value)
        for _ in count():
            trial = here + scale * stream.standard_normal(here.size)
            lower = evaluate.value(trial)
            if lower < value:
                here, value = trial, lower
            yield Iterate(here, value, step=scale)

    stop = Stop(max_iter).checked("random_search")
    return drive("random search", propose(), evaluate, stop, keep_points=keep_points, verbose=verbose)


def acceptance_probability(rise: float, temperature: float) -> float:
    """Return the probability of going up by ``rise`` at a temperature: ``exp(-rise / temperature)``, 1 for going down.

    At temperature 0 no rise is accepted.

    Parameters
    ----------
    rise : float
        New value minus old.
    temperature : float
        >= 0.

    Examples
    --------
    >>> from qed.optimize import acceptance_probability
    >>> acceptance_probability(-1.0, 0.5), acceptance_probability(1.0, 0.0)
    (1.0, 0.0)
    """
    temperature = at_least("temperature", temperature, 0)
    if rise <= 0:
        return 1.0
    return float(np.exp(-rise / temperature)) if temperature > 0 and np.isfinite(rise) else 0.0


def simulated_annealing(
    function: Any,
    start: Any,
    *,
    temperature: Any = None,
    scale: float = 0.5,
    max_iter: int = 5000,
    random_state: Any = None,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    """Minimise by random perturbations that may go up while it is hot.

    Objective
    ---------
    Any function that can be evaluated; no gradient is ever asked for.

    Certificate
    -----------
    None: values prove nothing about points that were not tried.

    Cost
    ----
    One value a proposal.

    Parameters
    ----------
    function : Function, Problem or callable
        What is minimised.
    start : array-like of shape (p,)
        Where to begin.
    temperature : float or callable, optional
        A number, or a function of the number t of the proposal, such as a schedule; by default ``PowerDecay(1.0)``, 1/t. At 0
        the search is greedy.
    scale : float
        Standard deviation of a proposal around the current point, in every coordinate.
    max_iter : int
        Proposals.
    random_state : None, int, Generator or RandomState
        Which proposals, and which rises are accepted.
    keep_points : bool
        Whether the trace keeps the current point after every proposal.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        The best point seen; its trace shows the current one, with the extra ``"temperature"``.
    """
    evaluate = Evaluator(function, "simulated_annealing", ())
    at_least("scale", scale, 0, strictly=True)
    cooling = _cooling(temperature)
    w, stream = evaluate.start(start), generator(random_state)

    def propose() -> Iterator[Iterate]:
        here, value = w, evaluate.value(w)
        yield Iterate(here, value)
        for t in count(1):
            hot = cooling(t)
            trial = here + scale * stream.standard_normal(here.size)
            after, chance = evaluate.value(trial), stream.random()
            if chance < acceptance_probability(after - value, hot):
                here, value = trial, after
            yield Iterate(here, value, step=scale, extras={"temperature": hot})

    stop = Stop(max_iter).checked("simulated_annealing")
    return drive(
        "simulated annealing", propose(), evaluate, stop, keep_points=keep_points, keep_best=True, verbose=verbose
    )


@dataclass(frozen=True, eq=False)
class RestartsResult:
    """The best of several runs.

    Attributes
    ----------
    best : OptimizationResult
        The run with the lowest value.
    values : ndarray of shape (r,)
        The value that each run reached.
    best_so_far : ndarray of shape (r,)
        The lowest value of the first runs: never rising.
    results : tuple of OptimizationResult
        All runs.
    """

    best: OptimizationResult
    values: Vector
    best_so_far: Vector
    results: tuple[OptimizationResult, ...] = field(repr=False)


def random_restarts(
    minimize: Callable[[Vector], OptimizationResult],
    draw: Callable[[np.random.Generator], Any],
    *,
    n_restarts: int = 10,
    random_state: Any = None,
    verbose: int = 0,
) -> RestartsResult:
    """Minimise from several random starts and keep the best: for functions whose answer depends on the start.

    Parameters
    ----------
    minimize : callable
        Takes a start and returns a result, such as ``lambda w: gradient_descent(function, w)``.
    draw : callable
        Takes a generator and returns a start. Start number i is the same however many follow it.
    n_restarts : int
        Runs, >= 1.
    random_state : None, int, Generator or RandomState
        Which starts.
    verbose : int
        Above zero, progress is shown.
    """
    for name, given in (("minimize", minimize), ("draw", draw)):
        if not callable(given):
            raise InvalidParameter(f"random_restarts: {name} must be a callable, got {given!r}.")
    n_restarts = int(at_least("n_restarts", n_restarts, 1))
    stream = generator(random_state)
    results: list[OptimizationResult] = []
    with Progress("random restarts", n_restarts, verbose=verbose) as progress:
        try:
            for _ in range(n_restarts):
                results.append(minimize(draw(stream)))
                if progress.step(min(result.value for result in results)) is STOP:
                    break
        except KeyboardInterrupt as interrupt:
            results += [interrupt.result] if isinstance(interrupt, Interrupted) else []
            if not results:
                raise
            raise Interrupted(_best_of(results)) from None
    return _best_of(results)


def _best_of(results: list[OptimizationResult]) -> RestartsResult:
    values = np.array([result.value for result in results])
    best = results[int(np.argmin(values))]
    words = f"the best of {len(results)} starts. {best.reason}"
    return RestartsResult(replace(best, reason=words), values, np.minimum.accumulate(values), tuple(results))


def _cooling(temperature: Any) -> Callable[[int], float]:
    if temperature is None:
        return PowerDecay(1.0)
    if callable(temperature):
        made: Callable[[int], float] = temperature
        return made
    number = at_least("temperature", temperature, 0)
    return lambda _: number
