"""A step along the gradient, then towards a penalty, or back into a set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import Certificate  # noqa: TC001  (names the type of an attribute)
from qed.core import InvalidParameter
from qed.optimize._certificates import GapCertificate, GradientCertificate
from qed.optimize._drive import Iterate, Stop, drive, length
from qed.optimize._evaluate import Evaluator
from qed.optimize._function import Function, Proximal, Split, Vector, as_function
from qed.optimize._gradient_descent import step_warning
from qed.optimize._steps import schedule_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.optimize._result import OptimizationResult
    from qed.optimize._schedules import Schedule


UNIT = 2.0**-53
NOISE = 1e-10  # steps that change values by less than this share are judged by slopes


def soft_threshold(v: Any, level: Any) -> Vector:
    """Return v moved towards zero by ``level``, and no further: the proximal step of ``level * |w|_1``.

    Parameters
    ----------
    v : array-like
        Numbers.
    level : float or array-like
        How far, >= 0.

    Examples
    --------
    >>> from qed.optimize import soft_threshold
    >>> soft_threshold([3.0, -0.5, -2.0], 1.0).tolist()
    [2.0, -0.0, -1.0]
    """
    v = np.asarray(v, dtype=np.float64)
    return np.asarray(np.sign(v) * np.maximum(np.abs(v) - level, 0.0))


def proximal_gradient(
    function: Any,
    start: Any,
    *,
    penalty: Proximal | None = None,
    step: Any = None,
    gradient_tol: float = 1e-8,
    change_tol: float = 0.0,
    gap_tol: float = 0.0,
    max_iter: int = 10_000,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise a smooth function plus a penalty that may have non-differentiable points.

    Objective
    ---------
    .. math:: \min_w f(w) + h(w), \qquad w_t = \operatorname{prox}_{\eta h}(w_{t-1} - \eta \nabla f(w_{t-1}))

    With :math:`h = \lambda \|w\|_1` the proximal step is the soft threshold at :math:`\eta\lambda`: iterative soft
    thresholding. It is not plain gradient descent, and it makes coordinates exactly zero.

    Certificate
    -----------
    The gap where the function knows one, as convex problems do; else the length of the proximal step over its size, which
    vanishes exactly where :math:`-\nabla f(w)` is a subgradient of h. For :math:`\eta \le 1/L` values never rise.

    Cost
    ----
    One gradient of f and one proximal step of h; without L a few values more.

    Parameters
    ----------
    function : Function or Problem
        The smooth part, or with ``penalty=None`` a function that knows its split, as a convex problem does.
    start : array-like of shape (p,)
        Where to begin.
    penalty : object with ``value`` and ``prox``, optional
        A penalty of `qed.convex`, or a set of this package.
    step : float or schedule, optional
        By default 1/L where the largest curvature L of the smooth part is known; else searched for.
    gradient_tol, change_tol, gap_tol : float
        Stopping rules as for `gradient_descent`, with the proximal step over its size for the gradient.
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
    """
    total = _total(function, penalty)
    evaluate = Evaluator(total, "proximal_gradient", ())
    w = evaluate.start(start)
    stop = Stop(max_iter, gradient_tol, change_tol, gap_tol).checked("proximal_gradient")
    steps = _Steps.of(total.split, step)
    return drive(
        "proximal gradient",
        _steps(evaluate, w, steps),
        evaluate,
        stop,
        keep_points=keep_points,
        verbose=verbose,
        advice=steps.advice,
    )


def projected_gradient(
    function: Any,
    region: Any,
    start: Any,
    *,
    step: Any = None,
    gradient_tol: float = 1e-8,
    change_tol: float = 0.0,
    max_iter: int = 10_000,
    keep_points: bool = False,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Minimise over a set by gradient steps, each followed by the projection back into the set.

    Objective
    ---------
    .. math:: \min_{w \in C} f(w), \qquad w_t = \Pi_C(w_{t-1} - \eta \nabla f(w_{t-1})), \quad t = 1, 2, \dots

    Certificate
    -----------
    For a convex f over a convex set that knows its lowest point along a direction: the gap
    :math:`g^\top w - \min_{s \in C} g^\top s`, which bounds :math:`f(w) - \min_C f`. Else the length of the projected step
    over its size; on a set that is not convex such a point need not be a minimum.

    Cost
    ----
    One gradient and one projection a step.

    Parameters
    ----------
    function : Function or Problem
        With a gradient.
    region : ConvexSet, or object with ``project``
        Where w must lie.
    start : array-like of shape (p,)
        Where to begin; it is projected first, so that every iterate is feasible.
    step, gradient_tol, change_tol, max_iter, keep_points, verbose
        As for `proximal_gradient`.

    Returns
    -------
    OptimizationResult
        The last point.

    Examples
    --------
    >>> from qed.optimize import Simplex, projected_gradient, quadratic
    >>> result = projected_gradient(quadratic([[1.0, 0.0], [0.0, 3.0]]), Simplex(), [1.0, 0.0])
    >>> result.point.round(6).tolist()
    [0.75, 0.25]
    """
    if not callable(getattr(region, "project", None)):
        raise InvalidParameter(f"region must have project(v), as the sets of qed.optimize do; got {region!r}.")
    smooth = as_function(function)
    evaluate = Evaluator(smooth, "projected_gradient")
    w = np.asarray(region.project(evaluate.start(start)), dtype=np.float64)
    split = Split(smooth, _Indicator(region))
    stop = Stop(max_iter, gradient_tol, change_tol).checked("projected_gradient")

    def certify(w: Vector, value: float, norm: float | None) -> Certificate:
        least = getattr(region, "least_near", None)
        if smooth.is_convex and callable(least):
            g = evaluate.gradient(w)
            floor = float(least(g, w))
            rounding = (4 * w.size + 16) * UNIT * (float(np.abs(g) @ np.abs(w)) + abs(floor))
            gap = max(float(g @ w) - floor, 0.0) + rounding
            if np.isfinite(gap):
                reached = norm is not None and norm <= gradient_tol
                return GapCertificate(gap, value, np.inf, "the Frank-Wolfe lower bound", reached)
        return GradientCertificate(np.inf if norm is None else norm, smooth.is_convex, gradient_tol, is_gradient=False)

    steps = _Steps.of(split, step)
    return drive(
        "projected gradient",
        _steps(evaluate, w, steps),
        evaluate,
        stop,
        keep_points=keep_points,
        verbose=verbose,
        advice=steps.advice,
        certify=certify,
    )


@dataclass(frozen=True, eq=False)
class _Indicator:
    """A set as a function whose iterates are known to lie inside."""

    region: Any

    def value(self, w: Vector) -> float:  # noqa: ARG002  every iterate is a projection
        return 0.0

    def prox(self, v: Vector, step: float) -> Vector:  # noqa: ARG002
        return np.asarray(self.region.project(v), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Steps:
    """The two parts of a function, and how far to go: by the clock, or (None) by search."""

    smooth: Function
    rest: Proximal
    schedule: Schedule | None

    @property
    def advice(self) -> tuple[str, ...]:
        """What is known to be unwise before the first step."""
        return () if self.schedule is None else step_warning(self.smooth, self.schedule(1))

    @classmethod
    def of(cls, split: Split | None, step: Any) -> _Steps:
        assert split is not None  # noqa: S101  made by the callers
        bound = split.smooth.curvature_bound
        if step is None and 0 < bound < np.inf:
            step = 1.0 / bound
        return cls(split.smooth, split.rest, None if step is None else schedule_of(step))


def _total(function: Any, penalty: Proximal | None) -> Function:
    """Return the sum that is minimised, with its split."""
    given = as_function(function)
    if penalty is None:
        if given.split is None:
            raise InvalidParameter(
                f"proximal_gradient needs a smooth function and a penalty; {given.name} does not know its parts. "
                "Pass penalty=, such as qed.convex.L1(0.1) or a set of qed.optimize."
            )
        return given
    for part in ("value", "prox"):
        if not callable(getattr(penalty, part, None)):
            raise InvalidParameter(f"penalty must have value(w) and prox(v, step), and {penalty!r} has no {part}.")
    return Function(
        lambda w: given.value(w) + penalty.value(w),
        is_smooth=False,
        is_convex=given.is_convex,
        split=Split(given, penalty),
        size=given.size,
        name=f"{given.name} + {type(penalty).__name__}",
    )


def _steps(evaluate: Evaluator, w: Vector, steps: _Steps) -> Iterator[Iterate]:
    """Yield each point with the length of its own proximal step, which leads to the next."""
    smooth = Evaluator(steps.smooth, evaluate.who, ("gradient",), evaluate.counts)
    last, used, value = 1.0, 0.0, evaluate.value(w)
    for t in count(1):
        g = smooth.gradient(w) if np.isfinite(value) else np.full_like(w, np.nan)
        if not np.isfinite(g).all():
            yield Iterate(w, value, np.inf, used)
            return
        if steps.schedule is not None:
            eta = steps.schedule(t)
            with np.errstate(over="ignore", invalid="ignore"):
                ahead = w - eta * g
            if not np.isfinite(ahead).all():  # a step beyond all numbers, from which nothing comes back
                yield Iterate(w, value, length(g), used)
                yield Iterate(ahead, np.inf, np.inf, eta)
                return
            new = np.asarray(steps.rest.prox(ahead, eta))
        else:
            eta, new = _search(smooth, steps.rest, w, g, 2.0 * last)
            last = eta
        yield Iterate(w, value, length((w - new) / eta), used)
        if np.array_equal(w, new):
            return
        w, used = new, eta
        value = evaluate.value(w)


def _search(smooth: Evaluator, rest: Proximal, w: Vector, g: Vector, eta: float) -> tuple[float, Vector]:
    """Halve a step until the parabola of its curvature lies above the function at the new point."""
    here = smooth.value(w)
    for _ in range(200):
        new = np.asarray(rest.prox(w - eta * g, eta))
        d = new - w
        room = float(d @ d) / (2 * eta)
        if room > NOISE * abs(here):
            fits = smooth.value(new) <= here + float(g @ d) + room
        else:  # values cancel; the slope along the step says the same of its curvature
            fits = float((smooth.gradient(new) - g) @ d) <= 2 * room
        if fits:
            break
        eta *= 0.5
    return eta, new
