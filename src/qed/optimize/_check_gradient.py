"""Gradients against differences of values, and fast code against slow code."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.optimize._evaluate import Evaluator, at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from qed.optimize._function import Vector


MIN_RELATIVE_STEP = 1e-8  # of a coordinate: half the digits of what is left of a difference are then its own


def numerical_gradient(function: Any, at: Any, *, eps: float = 1e-4) -> Vector:
    """Return the gradient by central differences, ``(f(w + eps/2) - f(w - eps/2)) / eps`` along each coordinate.

    Exact for quadratics, up to rounding; off by ``eps**2 f''' / 24`` for cubics.

    Parameters
    ----------
    function : Function, Problem or callable
        Its values are all that is used.
    at : array-like of shape (p,)
        The point.
    eps : float
        Distance between the two values; more where rounding of a huge coordinate would hide it.
    """
    evaluate = Evaluator(function, "numerical_gradient", ())
    w = evaluate.start(at)
    eps = at_least("eps", eps, 0, strictly=True)
    out = np.empty_like(w)
    for j in range(w.size):
        up, down = w.copy(), w.copy()
        half = 0.5 * max(eps, MIN_RELATIVE_STEP * abs(float(w[j])))
        up[j] += half
        down[j] -= half
        width = float(up[j] - down[j])  # as it was rounded
        out[j] = (evaluate.value(up) - evaluate.value(down)) / width
    return out


@dataclass(frozen=True, eq=False)
class GradientCheck:
    """A gradient beside differences of values.

    Attributes
    ----------
    gradient, differences : ndarray of shape (p,)
        The two sides.
    errors : ndarray of shape (p,)
        Their distance, coordinate by coordinate, relative to the larger of the two sides; where both are small, to 1 or to what
        the values of the function can tell apart, whichever is less.
    worst : int
        The coordinate that is worst.
    tol : float
        Errors below this pass.
    """

    gradient: Vector = field(repr=False)
    differences: Vector = field(repr=False)
    errors: Vector = field(repr=False)
    worst: int
    tol: float

    @property
    def passed(self) -> bool:
        """Whether all coordinates agree."""
        return bool(np.all(self.errors <= self.tol))

    def __bool__(self) -> bool:
        """Whether all coordinates agree."""
        return self.passed

    def __str__(self) -> str:
        j = self.worst
        verdict = "agrees with" if self.passed else "differs from"
        wrong = int(np.count_nonzero(self.errors > self.tol))
        return (
            f"The gradient {verdict} central differences: the worst of {self.errors.size} coordinates is {j}, "
            f"{self.gradient[j]:.8g} against {self.differences[j]:.8g}, error {self.errors[j]:.1e} (tol {self.tol:.0e}; "
            f"{wrong} above it)."
        )


def check_gradient(function: Any, at: Any, *, eps: float = 1e-4, tol: float = 1e-5) -> GradientCheck:
    """Compare a gradient with central differences, coordinate by coordinate.

    Agreement at one point refutes nothing elsewhere; a difference names the coordinate to look at.

    Parameters
    ----------
    function : Function or Problem
        With a gradient.
    at : array-like of shape (p,)
        The point; a random one finds more mistakes than zero does.
    eps : float
        Distance between the two values of a difference; more where rounding of a huge coordinate would hide it.
    tol : float
        Relative error that passes.

    Examples
    --------
    >>> from qed.optimize import Function, check_gradient
    >>> wrong = Function(lambda w: w[0] ** 2 + w[1] ** 3, lambda w: [2 * w[0], 2 * w[1] ** 2])
    >>> check = check_gradient(wrong, [1.0, 2.0])
    >>> check.passed, check.worst
    (False, 1)
    """
    evaluate = Evaluator(function, "check_gradient")
    w = evaluate.start(at)
    g, d = evaluate.gradient(w), numerical_gradient(evaluate.function, w, eps=eps)
    if not np.isfinite(d).all():
        raise InvalidData("check_gradient: the function is not finite around the point. Choose another point.")
    # of a function of small values a slope below one means something; below what rounding leaves of differences it does not
    least = min(1.0, float(np.max(np.abs([*g, *d]), initial=0.0)) + 1e-10 * abs(evaluate.value(w)) / eps)
    errors = np.abs(g - d) / np.maximum(max(least, np.finfo(np.float64).tiny), np.maximum(np.abs(g), np.abs(d)))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    return GradientCheck(g, d, errors, int(np.argmax(errors)), tol)


@dataclass(frozen=True)
class Comparison:
    """Two implementations of one function.

    Attributes
    ----------
    difference : float
        The largest difference of their answers, relative to the larger of the slow one's answer and 1.
    worst : int
        The input where it is.
    seconds_fast, seconds_slow : float
        Time that each took over all inputs.
    tol : float
        Differences below this agree.
    """

    difference: float
    worst: int
    seconds_fast: float
    seconds_slow: float
    tol: float

    @property
    def agrees(self) -> bool:
        """Whether all answers agree."""
        return self.difference <= self.tol

    @property
    def speedup(self) -> float:
        """How many times faster the fast one was."""
        return self.seconds_slow / max(self.seconds_fast, 1e-12)


def compare_implementations(
    fast: Callable[..., Any], slow: Callable[..., Any], inputs: Iterable[Any], *, tol: float = 1e-10
) -> Comparison:
    """Run vectorised code beside the plain loop that it replaces, and time both.

    Parameters
    ----------
    fast, slow : callable
        Two ways to the same numbers.
    inputs : iterable
        What to try them on; a tuple is unpacked into arguments.
    tol : float
        Relative difference that agrees.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.optimize import compare_implementations
    >>> compare_implementations(np.sum, lambda a: sum(a.tolist()), [np.arange(5.0)]).agrees
    True
    """
    cases = [case if isinstance(case, tuple) else (case,) for case in inputs]
    if not cases:
        raise InvalidParameter("compare_implementations needs at least one input.")
    answers, seconds = [], []
    for implementation in (fast, slow):
        begin = time.perf_counter()
        answers.append([np.asarray(implementation(*case), dtype=np.float64) for case in cases])
        seconds.append(time.perf_counter() - begin)
    differences = []
    for a, b in zip(*answers, strict=True):
        if a.shape != b.shape:
            raise InvalidData(f"The two implementations return shapes {a.shape} and {b.shape}.")
        apart = np.abs(a - b) / np.maximum(1.0, np.abs(b))
        differences.append(float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0)))
    worst = int(np.argmax(differences))
    return Comparison(differences[worst], worst, seconds[0], seconds[1], tol)
