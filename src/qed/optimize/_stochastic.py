"""Gradients from a few examples at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, generator
from qed.optimize._drive import Iterate, Stop, drive, length
from qed.optimize._evaluate import Evaluator, at_least, point
from qed.optimize._monitor import BAND, judge, ratio_of
from qed.optimize._steps import momentum_of, schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.optimize._function import Vector
    from qed.optimize._result import OptimizationResult
    from qed.optimize._schedules import Schedule


DRAWN = 64  # batches drawn at a time


@dataclass(frozen=True)
class BatchSampler:
    """Draws the examples of each step.

    Parameters
    ----------
    n_examples : int
        Examples to draw from.
    batch_size : int
        Examples of a step.
    replacement : bool
        Whether every example of every step is drawn from all of them. Otherwise each pass goes through all examples once, in
        a random order; the last batch of a pass may be smaller.
    """

    n_examples: int
    batch_size: int = 1
    replacement: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= self.n_examples:
            raise InvalidParameter(
                f"batch_size must be between 1 and the number of examples {self.n_examples}, got {self.batch_size!r}."
            )

    def draw(self, random_state: Any = None) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
        """Yield the rows of one step after another, without end."""
        stream = generator(random_state)
        while True:
            if self.replacement:
                yield from stream.integers(self.n_examples, size=(DRAWN, self.batch_size))
                continue
            order = stream.permutation(self.n_examples)
            for begin in range(0, self.n_examples, self.batch_size):
                yield order[begin : begin + self.batch_size]


@dataclass(frozen=True)
class _Watch:
    """What is looked at every so many steps."""

    every: int
    validation: Callable[[Vector], float] | None
    patience: int
    gradient: bool


def stochastic_gradient_descent(
    function: Any,
    start: Any,
    *,
    step: Any,
    batch_size: int = 1,
    replacement: bool = True,
    momentum: Any = 0.0,
    average_from: int | None = None,
    max_iter: int = 10_000,
    evaluate_every: int | None = None,
    validation: Callable[[Vector], float] | None = None,
    patience: int = 5,
    gradient_tol: float = 0.0,
    change_tol: float = 0.0,
    random_state: Any = None,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise a mean of many functions by gradients of a few of them.

    Objective
    ---------
    .. math:: w_t = w_{t-1} - a_t, \quad a_t = m a_{t-1} + \frac{\eta_t}{|B_t|} \sum_{i \in B_t} \nabla f_i(w_{t-1})

    with batches B drawn at random. The gradient of a batch, a *mean* over its examples, has the full gradient of the mean as
    its expectation.

    Certificate
    -----------
    As for `gradient_descent`, made once at the answer: noise leaves the gradient long, and the certificate says how long.

    Cost
    ----
    ``batch_size`` gradients of single examples a step; the whole function only every ``evaluate_every`` steps and at the end.

    Parameters
    ----------
    function : Function or Problem
        With ``part_gradient`` and ``n_examples``.
    start : array-like of shape (p,)
        Where to begin.
    step : float or schedule
        Step sizes; see `robbins_monro`.
    batch_size : int
        Examples of a step: 1 is stochastic gradient descent, all of them without replacement is gradient descent.
    replacement : bool
        Whether examples are drawn with replacement; otherwise every pass takes each once, in random order.
    momentum : float or callable
        m above; a callable gets the number of the update.
    average_from : int, optional
        The answer is the mean of the iterates from this step on, after Polyak and Ruppert; by default the last one.
    max_iter : int
        The budget of steps.
    evaluate_every : int, optional
        Steps between looks at the whole function and at ``validation``; by default one pass over the examples.
    validation : callable, optional
        A score of w on rows that no step sees; the answer is the point where it was lowest.
    patience : int
        End after this many looks without a lower validation score.
    gradient_tol, change_tol : float
        Stopping rules as for `gradient_descent`, checked at looks; 0 never.
    random_state : None, int, Generator or RandomState
        Which examples.
    keep_points : bool
        Whether the trace keeps every iterate.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        Its trace has extras ``"update_ratio"``, and ``"validation"`` and ``"average"`` where they were asked for.
    """
    needs = ("part_gradient", "gradient") if gradient_tol > 0 else ("part_gradient",)
    evaluate = Evaluator(function, "stochastic_gradient_descent", needs)
    n = evaluate.function.n_examples
    sampler = BatchSampler(n, batch_size, replacement)
    w = evaluate.start(start)
    stop = Stop(max_iter, gradient_tol, change_tol).checked("stochastic_gradient_descent")
    every = -(-n // batch_size) if evaluate_every is None else int(at_least("evaluate_every", evaluate_every, 1))
    if validation is not None and not callable(validation):
        raise InvalidParameter(f"validation must be a callable of w that returns a number, got {validation!r}.")
    watch = _Watch(every, validation, int(at_least("patience", patience, 1)), gradient_tol > 0)
    method = _steps(evaluate, w, sampler.draw(random_state), schedule_of(step), momentum, average_from, watch)
    name = "stochastic gradient descent" if batch_size == 1 else "mini-batch gradient descent"
    result = drive(name, method, evaluate, stop, keep_points=keep_points, verbose=verbose)
    return replace(result, advice=_advice(result))


def batch_variance(function: Any, at: Any, batch_size: int, *, replacement: bool = True) -> Vector:
    """Return the variance of the gradient of a batch, coordinate by coordinate, over the draw of the batch.

    With replacement it is the variance of the gradient of one example over the size of the batch; without, it is smaller by
    ``(n - m) / (n - 1)``, and zero for the batch of all.

    Parameters
    ----------
    function : Function or Problem
        With ``part_gradient`` and ``n_examples``.
    at : array-like of shape (p,)
        The point.
    batch_size : int
        Examples of a batch.
    replacement : bool
        How they are drawn.
    """
    evaluate = Evaluator(function, "batch_variance", ("part_gradient",))
    n = evaluate.function.n_examples
    BatchSampler(n, batch_size)
    w = point(at, evaluate.function, "batch_variance")
    singles = np.array([evaluate.part_gradient(w, np.array([i])) for i in range(n)])
    variance = singles.var(axis=0) / batch_size
    if not replacement:
        variance = variance * (n - batch_size) / max(n - 1, 1)
    return np.asarray(variance)


def _steps(
    evaluate: Evaluator,
    w: Vector,
    batches: Iterator[Any],
    schedule: Schedule,
    momentum: Any,
    average_from: int | None,
    watch: _Watch,
) -> Iterator[Iterate]:
    """Yield the start, and the point after each step, looked at every so often."""
    m, a = momentum_of(momentum), np.zeros_like(w)
    mean, drawn, n = None, 0, evaluate.function.n_examples
    judge_best = _Best(watch)
    yield _look(evaluate, w, 0.0, None, mean, judge_best, watch)
    for t in count(1):
        rows = next(batches)
        eta = schedule(t if getattr(schedule, "unit", "step") == "step" else drawn // n + 1)
        drawn += len(rows)
        a = m(t) * a + eta * evaluate.part_gradient(w, rows)
        before, w = w, w - a
        if average_from is not None and t >= average_from:
            mean = w.copy() if mean is None else mean + (w - mean) / (t - average_from + 1)
        if t % watch.every == 0:
            yield _look(evaluate, w, eta, ratio_of(before, w), mean, judge_best, watch)
        else:
            yield Iterate(w, step=eta, answer=judge_best.answer(mean))


def _look(
    evaluate: Evaluator, w: Vector, eta: float, ratio: float | None, mean: Vector | None, best: _Best, watch: _Watch
) -> Iterate:
    """Evaluate the whole function and the validation score."""
    extras = {} if ratio is None else {"update_ratio": ratio}
    if mean is not None:
        extras["average"] = evaluate.value(mean)
    end = best.see(w if mean is None else mean, extras)
    norm = length(evaluate.gradient(w)) if watch.gradient else None
    return Iterate(w, evaluate.value(w), norm, eta, extras=extras, answer=best.answer(mean), end=end)


class _Best:
    """The point with the lowest validation score so far."""

    def __init__(self, watch: _Watch) -> None:
        self.watch, self.w, self.score, self.waited = watch, None, np.inf, 0

    def see(self, w: Vector, extras: dict[str, float]) -> tuple[str, str] | None:
        """Score a point; say when patience is at an end."""
        if self.watch.validation is None:
            return None
        score = float(self.watch.validation(w))
        if np.isnan(score) and np.isfinite(w).all():
            raise InvalidData(
                "stochastic_gradient_descent: validation returned nan, which is neither better nor worse."
            )
        extras["validation"] = score
        if score < self.score:
            self.w, self.score, self.waited = w.copy(), score, 0  # type: ignore[assignment]
            return None
        self.waited += 1
        if self.waited < self.watch.patience:
            return None
        return "patience", f"the validation score has not fallen below {self.score:.6g} for {self.waited} looks"

    def answer(self, mean: Vector | None) -> Vector | None:
        """Return what to answer instead of the last iterate."""
        return mean if self.w is None else self.w


def _advice(result: OptimizationResult) -> tuple[str, ...]:
    """Say what the sizes of updates suggest."""
    ratios = result.trace.extras.get("update_ratio")
    if result.outcome == "diverged":
        return ("The steps are too long for these gradients: lower them, or let them fall with time.",)
    if ratios is None or result.outcome == "solved":
        return ()
    middle = float(np.median(ratios[:, 1]))
    verdict = judge(middle, *BAND)
    if verdict == "keep":
        return ()
    return (f"Updates are {middle:.1g} of the weights (well between {BAND[0]:g} and {BAND[1]:g}): {verdict} the step.",)
