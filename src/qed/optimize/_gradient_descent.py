"""Gradient descent: against the gradient, step after step."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import generator
from qed.optimize._drive import Iterate, Stop, drive, length
from qed.optimize._evaluate import Evaluator, at_least, point
from qed.optimize._function import Function, Vector, as_function
from qed.optimize._steps import Backtracking, Take, rule_of, schedule_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.optimize._result import OptimizationResult


def gradient_descent(
    function: Any,
    start: Any,
    *,
    step: Any = None,
    momentum: Any = 0.0,
    gradient_tol: float = 1e-6,
    change_tol: float = 0.0,
    gap_tol: float = 0.0,
    max_iter: int = 10_000,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise by steps against the gradient.

    Objective
    ---------
    .. math:: w_t = w_{t-1} - \eta_t \nabla f(w_{t-1}), \qquad t = 1, 2, \dots

    Certificate
    -----------
    A gap where the function knows one (convex problems) or is strongly convex; else the length of the gradient. For a convex
    f with curvature at most L, a minimiser w* and a constant step :math:`\eta \le 1/L`, values obey
    :math:`f(w_t) - \min f \le \|w_0 - w^*\|^2 / (2 \eta t)`; nothing of the kind holds for the points.

    Cost
    ----
    One gradient and one value a step; line searches take several values.

    Parameters
    ----------
    function : Function, Problem or object with ``value`` and ``gradient``
        What is minimised.
    start : array-like of shape (p,)
        Where to begin.
    step : float, schedule, ExactLineSearch, Backtracking or BoldDriver, optional
        The step size. By default 1/L where the largest curvature L is known, else `Backtracking`.
    momentum : float or callable
        m in ``a <- m a + eta g``, ``w <- w - a``; a callable gets the number of the update. For steps by the clock only.
    gradient_tol : float
        End where the gradient is no longer than this.
    change_tol : float
        End where two successive values differ by less; 0 never.
    gap_tol : float
        End where the function's own bound proves a gap as small; 0 never. It is looked at every tenth step.
    max_iter : int
        Most steps.
    keep_points : bool
        Whether the trace keeps every iterate.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        The last point; the best one after a divergence, and for functions with non-differentiable points, where steps may lead up.

    Examples
    --------
    >>> from qed.optimize import gradient_descent, quadratic
    >>> result = gradient_descent(quadratic([[1.0, 0.0], [0.0, 4.0]]), [2.0, 1.0], step=0.2)
    >>> result.outcome, result.certificate.gap < 1e-12
    ('solved', True)
    """
    evaluate = Evaluator(function, "gradient_descent")
    if step is None:
        step = (
            1.0 / evaluate.function.curvature_bound
            if 0 < evaluate.function.curvature_bound < np.inf
            else Backtracking()
        )
    w, take = evaluate.start(start), rule_of(step, momentum).begin(evaluate)
    stop = Stop(max_iter, gradient_tol, change_tol, gap_tol).checked("gradient_descent")
    is_clocked = not callable(getattr(step, "begin", None))
    has_momentum = callable(momentum) or momentum != 0
    advice = step_warning(evaluate.function, schedule_of(step)(1)) if is_clocked and not has_momentum else ()
    result = drive(
        "gradient descent",
        _descend(evaluate, w, take),
        evaluate,
        stop,
        keep_points=keep_points,
        keep_best=not evaluate.function.is_smooth,  # subgradients may lead up
        verbose=verbose,
        advice=advice,
    )
    if result.outcome == "diverged" and not advice and is_clocked:
        result = replace(result, advice=(_after(evaluate, result.point, schedule_of(step)(1)),))
    return result


def gradient_ascent(function: Any, start: Any, **settings: Any) -> OptimizationResult:
    """Maximise by steps along the gradient: descent on minus the function, step for step.

    Parameters
    ----------
    function : Function, Problem or object with ``value`` and ``gradient``
        What is maximised, such as a log-likelihood.
    start : array-like of shape (p,)
        Where to begin.
    **settings
        As for `gradient_descent`.

    Returns
    -------
    OptimizationResult
        With values of the function itself, so that they rise; the certificate speaks of minus the function.
    """
    result = gradient_descent(-as_function(function), start, **settings)
    trace = replace(result.trace, name="gradient ascent", values=-result.trace.values)
    return replace(result, value=-result.value, trace=trace)


def largest_curvature(function: Any, at: Any, *, n_steps: int = 50, random_state: Any = 0) -> float:
    """Estimate the largest absolute curvature at a point, from below.

    Eigenvalues where the function knows its second derivatives; else power steps with differences of gradients.

    Parameters
    ----------
    function : Function or Problem
        With a gradient.
    at : array-like of shape (p,)
        The point.
    n_steps : int
        Power steps.
    random_state : None, int or Generator
        The first direction.
    """
    evaluate = Evaluator(function, "largest_curvature")
    w = point(at, evaluate.function, "largest_curvature")
    if evaluate.function.curvature is not None:
        return float(np.max(np.abs(np.linalg.eigvalsh(evaluate.curvature(w)))))
    direction = generator(random_state).standard_normal(w.size)
    size, g = 0.0, evaluate.gradient(w)
    reach = 1e-6 * max(1.0, length(w))
    for _ in range(n_steps):
        direction /= max(length(direction), np.finfo(np.float64).tiny)
        direction = (evaluate.gradient(w + reach * direction) - g) / reach
        size = length(direction)
        if size == 0.0:
            break
    return size


def step_advice(function: Any, step: float, at: Any) -> str:
    """Say in words whether a constant step is stable at a point.

    On a quadratic with largest curvature L values fall for steps below 2/L, keep their amplitude at 2/L, and grow above.

    Parameters
    ----------
    function : Function or Problem
        With a gradient.
    step : float
        The step size.
    at : array-like of shape (p,)
        Where; for a quadratic it does not matter.

    Examples
    --------
    >>> from qed.optimize import quadratic, step_advice
    >>> step_advice(quadratic([[4.0]]), 0.1, [1.0])
    'step 0.1 is stable: the largest curvature 4 allows less than 0.5, and 0.25 always lowers the value'
    """
    step = at_least("step", step, 0, strictly=True)
    return _words(step, largest_curvature(function, at))


def _words(step: float, curvature: float) -> str:
    """Compare a step with 2/L."""
    if curvature == 0.0:
        return f"step {step:g} is stable: there is no curvature here"
    most = 2.0 / curvature
    if np.isclose(step, most, rtol=1e-9):
        return f"step {step:g} equals 2/L for the largest curvature L = {curvature:g}: the iterates oscillate without converging"
    if step > most:
        return (
            f"step {step:g} exceeds 2/L = {most:g} for the largest curvature L = {curvature:g}: along that direction every step "
            f"overshoots by more than the last. Take a step below {most:g}, such as {0.5 * most:g}"
        )
    return (
        f"step {step:g} is stable: the largest curvature {curvature:g} allows less than {most:g}, and {0.5 * most:g} always "
        "lowers the value"
    )


def step_warning(function: Function, step: float) -> tuple[str, ...]:
    """Return advice that needs no step to be taken: nothing, or why this one is too long."""
    if not 0 < function.curvature_bound < np.inf or step < 2.0 / function.curvature_bound * (1 - 1e-9):
        return ()
    return (_words(step, function.curvature_bound),)


def _after(evaluate: Evaluator, w: Vector, step: float) -> str:
    """Return advice on a constant step that diverged from around w."""
    curvature = largest_curvature(evaluate.function, w)
    if np.isfinite(curvature) and step * curvature >= 2.0:
        return _words(step, curvature)
    return f"step {step:g} is too long for this function. Take a shorter one, or step=Backtracking()"


def _descend(evaluate: Evaluator, w: Vector, take: Take) -> Iterator[Iterate]:
    """Yield the start, and the point after each step."""
    value, g = evaluate.value(w), evaluate.gradient(w)
    yield Iterate(w, value, length(g))
    for t in count(1):
        move = take(t, w, value, g)
        if move is None:
            return
        w, value = move.w, move.value
        if move.is_new and move.end is None:
            g = evaluate.gradient(w) if np.isfinite(value) else g
        yield Iterate(w, value, length(g), move.step, move.is_new, end=move.end)
