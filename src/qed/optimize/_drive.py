"""One loop for every optimiser: a method is a generator of iterates, and this asks for the next one.

It records, tells listeners, and stops: on the length of the gradient, on the change of the value, on divergence, on a callback,
on Ctrl-C, or when the budget is spent. The counter advances before the update, so the first iterate after the start is number 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from qed.certificates import Certificate
from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, Progress
from qed.optimize._certificates import certificate_of
from qed.optimize._evaluate import Evaluator, at_least
from qed.optimize._function import Vector
from qed.optimize._result import Interrupted, OptimizationResult
from qed.optimize._trace import Trace

EVERY = 10  # iterations between proofs
GROWN = 1e6  # a value this many times its first scale above the start has diverged


class Iterate(NamedTuple):
    """Where a method stands.

    Attributes
    ----------
    w : ndarray
        The point.
    value : float, optional
        The function there, if it was taken.
    norm : float, optional
        Length of the gradient there, or of what takes its place.
    step : float
        Step size that led here.
    is_new : bool
        False where the last step was taken back, so that no change means nothing.
    extras : dict of str to float
        Anything else worth recording.
    answer : ndarray, optional
        What the method would answer if it ended here; the point itself by default.
    end : tuple of str, optional
        Outcome and reason, from a method that ends here of its own accord.
    """

    w: Vector
    value: float | None = None
    norm: float | None = None
    step: float = 0.0
    is_new: bool = True
    extras: dict[str, float] | None = None
    answer: Vector | None = None
    end: tuple[str, str] | None = None


class Stop(NamedTuple):
    """When a run ends.

    Attributes
    ----------
    max_iter : int
        Iterations at most.
    gradient_tol : float
        The gradient is short enough at this length; 0 never.
    change_tol : float
        Values that differ by less have settled; 0 never.
    gap_tol : float
        The gap that the function's own bound proves is small enough; 0 never. It is looked at every tenth iteration.
    may_rise : bool
        Whether values far above the first are no divergence: those of a start that breaks constraints, or of another problem.
    """

    max_iter: int
    gradient_tol: float = 0.0
    change_tol: float = 0.0
    gap_tol: float = 0.0
    may_rise: bool = False

    def checked(self, who: str) -> Stop:
        """Return itself, unless it asks for what makes no sense."""
        at_least(f"{who}: max_iter", self.max_iter, 0)
        at_least(f"{who}: gradient_tol", self.gradient_tol, 0)
        at_least(f"{who}: change_tol", self.change_tol, 0)
        at_least(f"{who}: gap_tol", self.gap_tol, 0)
        return self


Certify = Callable[[Vector, float, float | None], Certificate]


class _Record:
    """Lists that become a trace."""

    def __init__(self, *, keep_points: bool) -> None:
        self.iterations: list[int] = []
        self.values: list[float] = []
        self.norms: list[float] = []
        self.steps: list[float] = []
        self.points: list[Vector] | None = [] if keep_points else None
        self.extras: dict[str, list[tuple[float, float]]] = {}
        self.best: tuple[float, Vector, float | None] | None = None

    def add(self, t: int, at: Iterate) -> None:
        if t > 0:
            self.steps.append(at.step)
        if self.points is not None:
            self.points.append(at.w.copy())
        for name, number in (at.extras or {}).items():
            self.extras.setdefault(name, []).append((float(t), number))
        if at.value is None:
            return
        self.iterations.append(t)
        self.values.append(at.value)
        if at.norm is not None:
            self.norms.append(at.norm)
        if self.best is None or at.value < self.best[0]:
            self.best = (at.value, at.w.copy(), at.norm)

    def trace(self, name: str) -> Trace:
        norms = self.norms if len(self.norms) == len(self.values) else []
        return Trace(
            name,
            np.asarray(self.iterations, dtype=np.int64),
            np.asarray(self.values, dtype=np.float64),
            np.asarray(norms, dtype=np.float64),
            np.asarray(self.steps, dtype=np.float64),
            None if self.points is None else np.asarray(self.points),
            {key: np.asarray(pairs, dtype=np.float64) for key, pairs in self.extras.items()},
        )


def drive(
    name: str,
    iterates: Iterator[Iterate],
    evaluate: Evaluator,
    stop: Stop,
    *,
    keep_points: bool = False,
    keep_best: bool = False,
    verbose: int = 0,
    advice: tuple[str, ...] = (),
    certify: Certify | None = None,
) -> OptimizationResult:
    """Follow a method to its end.

    Parameters
    ----------
    name : str
        The method, as it is announced.
    iterates : iterator of Iterate
        The method; its first iterate is the start.
    evaluate : Evaluator
        The function.
    stop : Stop
        When to end.
    keep_points : bool
        Whether the trace keeps every iterate.
    keep_best : bool
        Whether the answer is the lowest point seen, for methods that may go up.
    verbose : int
        Above zero, progress is shown.
    advice : tuple of str
        What is known to be unwise before the first step.
    certify : callable, optional
        What is proved of (w, value, norm), for methods that know more than the function does.
    """
    if stop.gap_tol > 0 and evaluate.function.bound is None:
        raise InvalidParameter(f"{name}: gap_tol needs a function with a bound, and {evaluate.function.name} has none.")
    record = _Record(keep_points=keep_points)
    at, ended, taken = None, None, -1
    interrupted = False
    with Progress(name, stop.max_iter, verbose=verbose) as progress, np.errstate(over="ignore", invalid="ignore"):
        try:
            for found in iterates:
                ended = _diverged(found, record, taken + 1, may_rise=stop.may_rise)
                if ended is not None:
                    break
                taken, before = taken + 1, record.values[-1] if record.values else None
                at = found
                record.add(taken, at)
                ended = at.end or _ending(at, before, taken, stop) or _proved(at, taken, stop, evaluate)
                if ended is None and taken and progress.step(at.value) is STOP:
                    ended = ("stopped", f"a callback asked to stop at iteration {taken}")
                if ended is not None:
                    break
        except KeyboardInterrupt:
            interrupted, ended = True, ("interrupted", f"interrupted after iteration {max(taken, 0)}")
    if at is None:
        if interrupted:
            raise KeyboardInterrupt
        raise InvalidData(
            f"{name}: {evaluate.function.name} is not finite at the start. Begin where the function and its gradient are."
        )
    smooth = evaluate.function.is_smooth or evaluate.function.split is not None
    why = "rounding hides the rest" if smooth else "rounding or a non-differentiable point hides the rest"
    outcome, reason = ended or ("stalled", f"no step from iteration {taken} lowers the value: {why}")
    result = _answer(name, at, record, evaluate, stop, (outcome, reason), taken, advice, certify, keep_best=keep_best)
    if interrupted:
        raise Interrupted(result)
    return result


def _ending(at: Iterate, before: float | None, t: int, stop: Stop) -> tuple[str, str] | None:
    """Say whether a rule is met, and which; ``before`` is the value before this one."""
    if at.norm is not None and at.norm <= stop.gradient_tol:
        words = f"the gradient has length {at.norm:.2g} <= gradient_tol {stop.gradient_tol:g} at iteration {t}"
        return "solved", words
    if before is not None and at.is_new and at.value is not None:
        change = abs(at.value - before)
        if change < stop.change_tol:
            return "settled", f"the value changed by {change:.2g} < change_tol {stop.change_tol:g} at iteration {t}"
    if t >= stop.max_iter:
        return "max_iter", f"the budget of {stop.max_iter} iterations is spent"
    return None


def _proved(at: Iterate, t: int, stop: Stop, evaluate: Evaluator) -> tuple[str, str] | None:
    """Say whether the gap is small enough, where it was asked for."""
    bound = evaluate.function.bound
    if stop.gap_tol == 0 or bound is None or t % EVERY:
        return None
    gap = bound(at.w).gap
    return (
        ("solved", f"the gap {gap:.2g} is within gap_tol {stop.gap_tol:g} at iteration {t}")
        if gap <= stop.gap_tol
        else None
    )


def _diverged(at: Iterate, record: _Record, t: int, *, may_rise: bool) -> tuple[str, str] | None:
    """Say whether an iterate has left the range of numbers, or gone far above the start."""
    if at.value == -np.inf:
        return "diverged", f"the function falls without bound: minus infinity at iteration {t}"
    numbers = [number for number in (at.value, at.norm) if number is not None]
    if not (np.isfinite(at.w).all() and np.isfinite(numbers).all()):
        return "diverged", f"the iterates left the range of numbers at iteration {t}"
    if at.value is None or not record.values or may_rise:
        return None
    first, rise = record.values[0], at.value - record.values[0]
    scale = abs(first) + (record.steps[0] * record.norms[0] ** 2 if record.norms and record.steps else 0.0)
    if rise > GROWN * scale > 0:
        return "diverged", f"the value grew from {first:.3g} to {at.value:.3g} by iteration {t}"
    return None


def _answer(
    name: str,
    at: Iterate,
    record: _Record,
    evaluate: Evaluator,
    stop: Stop,
    ended: tuple[str, str],
    taken: int,
    advice: tuple[str, ...],
    certify: Certify | None,
    *,
    keep_best: bool,
) -> OptimizationResult:
    """Choose the point, prove what can be proved of it, and put everything together."""
    w, value, norm = at.w, at.value, at.norm
    if at.answer is not None:
        w, value, norm = at.answer, None, None
    elif (keep_best or ended[0] == "diverged") and record.best is not None:
        value, w, norm = record.best
    if value is None:
        value = evaluate.value(w)
        norm = float(np.linalg.norm(evaluate.gradient(w))) if evaluate.function.gradient is not None else None
    if certify is not None:
        certificate = certify(w, value, norm)
    else:
        solved = ended[0] == "solved"
        certificate = certificate_of(evaluate.function, w, value, norm, tol=stop.gradient_tol, is_solved=solved)
    return OptimizationResult(
        w.copy(), value, *ended, taken, certificate, record.trace(name), evaluate.calls, tuple(advice)
    )


def length(g: Any) -> float:
    """Return the Euclidean length of a vector."""
    return float(np.linalg.norm(g))
