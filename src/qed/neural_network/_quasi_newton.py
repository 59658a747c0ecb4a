"""Quasi-Newton steps on one long vector: the last few changes of point and gradient stand for the curvature.

The inverse curvature is kept in the compact form ``γ I + B' M B``, B being the stack of both kinds of changes: a direction costs
two products with B and a solve of its few rows, however many of them there are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


KEPT = 10
DECREASE, CURVATURE = 1e-4, 0.9  # what Wolfe's two conditions ask of a step
FLAT = 0.22  # a decrease below this much of tol squared, which a slope of tol gives where the curvature is one, is the last
ROUNDING = 2.0**-50  # of values, relative: differences below it say nothing, and slopes decide
TRIALS = 25


class _Changes:
    """The last changes of point (upper half of the stack) and gradient (lower half), and their products.

    Rows of the stack are taken in turn; products stand in the order of time. Of those between points and gradients only the
    ones of a point with later gradients are needed: a triangle.
    """

    def __init__(self, torch: Any, like: Any) -> None:
        self.torch = torch
        self.stack = torch.zeros((2 * KEPT, len(like)), dtype=like.dtype)
        self.triangle, self.squares = np.zeros((KEPT, KEPT)), np.zeros((KEPT, KEPT))
        self.order: list[int] = []
        self.scale = 1.0

    def add(self, step: Any, change: Any) -> None:
        """Take in a step and what it did to the gradient, in place of the oldest."""
        product = float(self.torch.dot(step, change))
        square = float(self.torch.dot(change, change))
        if not product > 1e-12 * square or not math.isfinite(square):
            return  # no curvature to learn from
        at = len(self.order)
        if at == KEPT:
            at = self.order.pop(0)
            for products in (self.triangle, self.squares):
                products[:-1, :-1] = products[1:, 1:].copy()
        self.order.append(at)
        self.stack[at].copy_(step)
        self.stack[KEPT + at].copy_(change)
        beside, m = self.torch.mv(self.stack, change).numpy(), len(self.order)
        self.triangle[:m, m - 1] = beside[:KEPT][self.order]
        self.squares[:m, m - 1] = self.squares[m - 1, :m] = beside[KEPT:][self.order]
        self.scale = product / square

    def direction(self, gradient: Any) -> Any:
        """Return minus the inverse curvature times the gradient."""
        if not self.order:
            return gradient.neg()
        m, order = len(self.order), np.array(self.order)
        beside = self.torch.mv(self.stack, gradient).numpy().astype(np.float64)
        inverse = np.linalg.inv(self.triangle[:m, :m])
        solved = inverse @ beside[order]
        middle = self.triangle.diagonal()[:m] * solved + self.scale * (self.squares[:m, :m] @ solved)
        weights = np.zeros(2 * KEPT)
        weights[order] = (middle - self.scale * beside[KEPT + order]) @ inverse
        weights[KEPT + order] = -self.scale * solved
        found = self.torch.mv(self.stack.t(), self.torch.from_numpy(weights).to(self.stack.dtype))
        return found.add_(gradient, alpha=self.scale).neg_()

    def forget(self) -> None:
        """Begin anew."""
        self.order.clear()
        self.stack.zero_()
        self.triangle[...] = 0.0  # what is left below the diagonal must stay nothing


def minimise(
    torch: Any, point: Any, value: Callable[[Any], float], *, tol: float, most_steps: int, most_calls: int
) -> tuple[int, str]:
    """Walk down from a point, in place.

    Parameters
    ----------
    torch : module
        PyTorch.
    point : tensor
        Where to begin; it is moved.
    value : callable
        Returns the function at ``point`` as it stands, and writes the gradient into its argument.
    tol : float
        Slope along every coordinate at which to end.
    most_steps, most_calls : int
        When to end at the latest.

    Returns
    -------
    int, str
        Steps taken; ``"solved"``, ``"stalled"`` or ``"max_iter"``.
    """
    gradient, trial = torch.empty_like(point), torch.empty_like(point)
    changes = _Changes(torch, point)
    now, calls, steps = value(gradient), 1, 0
    while steps < most_steps and calls < most_calls:
        largest = float(gradient.abs().max())
        if largest <= tol:
            return steps, "solved"
        way = changes.direction(gradient)
        slope = float(torch.dot(way, gradient))
        if not slope < 0:
            changes.forget()
            way, slope = gradient.neg(), -float(torch.dot(gradient, gradient))
        first = 1.0 if changes.order else min(1.0, 1.0 / math.sqrt(-slope))
        start = point.clone()
        length, reached, used = _along(
            torch,
            point,
            start,
            way,
            value,
            trial,
            now=now,
            slope=slope,
            first=first,
            most=min(TRIALS, most_calls - calls),
        )
        calls += used
        if length == 0.0:
            point.copy_(start)
            if not changes.order:
                return steps, "stalled"
            changes.forget()  # and try the slope itself
            continue
        steps += 1
        changes.add(way.mul_(length), trial.sub(gradient))
        gradient, trial = trial, gradient
        now, before = reached, now
        if abs(before - now) <= FLAT * tol * tol * max(abs(before), abs(now), 1.0):
            return steps, "solved" if float(gradient.abs().max()) <= tol else "stalled"
    return steps, "max_iter"


def _along(
    torch: Any,
    point: Any,
    start: Any,
    way: Any,
    value: Callable[[Any], float],
    trial: Any,
    *,
    now: float,
    slope: float,
    first: float,
    most: int,
) -> tuple[float, float, int]:
    """Find a step that lowers the value enough and leaves the slope flatter, by bisection and interpolation.

    Returns its length, the value there and the evaluations made; ``trial`` holds the gradient there. Length 0: none was found.
    """
    low, high, length = 0.0, math.inf, first
    noise = ROUNDING * abs(now)
    for used in range(1, most + 1):
        torch.add(start, way, alpha=length, out=point)
        reached = value(trial)
        there = float(torch.dot(trial, way))
        is_level = abs(reached - now) <= noise and there <= -(1 - 2 * DECREASE) * slope
        if not (reached <= now + DECREASE * length * slope or is_level):
            high = length
            curvature = reached - now - slope * length  # of the parabola through both values
            wish = -0.5 * slope * length * length / curvature if math.isfinite(curvature) and curvature > 0 else 0.0
            inside = low + 0.1 * (high - low), low + 0.9 * (high - low)
            length = min(max(wish, inside[0]), inside[1])
        elif there < CURVATURE * slope:
            low = length
            length = 2.0 * length if math.isinf(high) else 0.5 * (low + high)
        else:
            return length, reached, used
    if low > 0.0:  # lower, if not as flat as asked for
        torch.add(start, way, alpha=low, out=point)
        return low, value(trial), most + 1
    return 0.0, now, most
