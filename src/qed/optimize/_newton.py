"""Newton's method: the minimum of the parabola that touches the function here."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.optimize._drive import Iterate, Stop, drive, length
from qed.optimize._evaluate import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.optimize._function import Vector
    from qed.optimize._result import OptimizationResult


SUFFICIENT_DECREASE = 1e-4  # share of the promised descent that a damped step must keep
MIN_RELATIVE_EIGENVALUE = 1e-10  # eigenvalues below this share of the largest one are lifted to it


def newton(
    function: Any,
    start: Any,
    *,
    damped: bool = True,
    gradient_tol: float = 1e-8,
    change_tol: float = 0.0,
    gap_tol: float = 0.0,
    max_iter: int = 100,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise by Newton's method.

    Objective
    ---------
    .. math:: w_t = w_{t-1} - \eta\, \nabla^2 f(w_{t-1})^{-1} \nabla f(w_{t-1})

    Certificate
    -----------
    As for `gradient_descent`. Without damping the method finds any point where the gradient vanishes, which may be a saddle
    or a maximum; with damping values fall, and directions of negative curvature are turned downhill.

    Cost
    ----
    One p × p system a step, O(p^3). A quadratic takes one step.

    Parameters
    ----------
    function : Function or Problem
        With ``gradient`` and ``curvature``.
    start : array-like of shape (p,)
        Where to begin.
    damped : bool
        Whether steps are halved until the value falls enough; otherwise the method is that of Newton and Raphson.
    gradient_tol, change_tol, gap_tol : float
        Stopping rules as for `gradient_descent`.
    max_iter : int
        Most steps.
    keep_points : bool
        Whether the trace keeps every iterate.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        The last point.

    Examples
    --------
    >>> from qed.optimize import newton, quadratic
    >>> newton(quadratic([[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]), [10.0, -10.0]).n_iter
    1
    """
    evaluate = Evaluator(function, "newton", ("gradient", "curvature"))
    w = evaluate.start(start)
    stop = Stop(max_iter, gradient_tol, change_tol, gap_tol).checked("newton")
    method = _steps(evaluate, w, damped=damped)
    return drive("Newton's method", method, evaluate, stop, keep_points=keep_points, verbose=verbose)


def _steps(evaluate: Evaluator, w: Vector, *, damped: bool) -> Iterator[Iterate]:
    """Yield the start, and the point after each step."""
    value, g = evaluate.value(w), evaluate.gradient(w)
    yield Iterate(w, value, length(g))
    for _ in count():
        if not g.any():
            return
        d = _downhill(evaluate.curvature(w), g) if damped else _plain(evaluate.curvature(w), g)
        if d is None:
            words = "the second derivatives are singular, and Newton's step is not defined. Use damped=True"
            yield Iterate(w, value, length(g), is_new=False, end=("stalled", words))
            return
        step, promised = 1.0, float(g @ d)
        new = w + d
        lower = evaluate.value(new)
        noise = 1e-15 * abs(value)
        while damped and not lower <= value + SUFFICIENT_DECREASE * step * promised + noise:
            step *= 0.5
            new = w + step * d
            lower = evaluate.value(new)
            if np.array_equal(new, w) or step < 1e-18:
                return
        g_new = evaluate.gradient(new) if np.isfinite(lower) else g
        if damped and not lower < value and length(g_new) >= length(g):  # rounding hides any further progress
            return
        w, value, g = new, lower, g_new
        yield Iterate(w, value, length(g), step)


def _plain(H: Vector, g: Vector) -> Vector | None:
    """Return Newton's step, None where there is none."""
    try:
        d: Vector = np.asarray(-np.linalg.solve(H, g), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return d if np.isfinite(d).all() else None


def _downhill(H: Vector, g: Vector) -> Vector | None:
    """Return Newton's step with absolute curvatures, so that it always points down."""
    if not np.isfinite(H).all():
        return None
    try:
        pivots = np.diag(np.linalg.cholesky(H))
        if pivots.min() ** 2 > MIN_RELATIVE_EIGENVALUE * pivots.max() ** 2:
            return _plain(H, g)
    except np.linalg.LinAlgError:
        pass  # some curvature is negative
    eigenvalues, axes = np.linalg.eigh(H)
    size = np.abs(eigenvalues)
    largest = float(size.max())
    size = np.maximum(size, MIN_RELATIVE_EIGENVALUE * largest if largest > 0 else 1.0)
    return np.asarray(-(axes @ ((axes.T @ g) / size)))
