"""How far to go along minus the gradient: by the clock, by search along the line, or by what the last step brought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from qed.core import InvalidParameter
from qed.optimize._evaluate import Evaluator, at_least
from qed.optimize._function import Vector
from qed.optimize._line import bracket, line_minimum
from qed.optimize._schedules import Constant, Schedule


class Move(NamedTuple):
    """One step: where it led, the value there, its size, and whether it was kept; or why there is none."""

    w: Vector
    value: float
    step: float
    is_new: bool = True
    end: tuple[str, str] | None = None


Take = Callable[[int, Vector, float, Vector], Move | None]


class StepRule(Protocol):
    """A way to choose steps; it may remember the last one."""

    def begin(self, evaluate: Evaluator) -> Take:
        """Return a callable of (t, w, value, gradient) that takes the step; None means that no step lowers the value."""
        ...


@dataclass(frozen=True)
class ExactLineSearch:
    """The step that is best along the line: in closed form for quadratics, by golden sections and parabolas elsewhere.

    For a quadratic with second derivatives H the step is ``g'g / g'Hg``, and successive gradients are orthogonal.

    Parameters
    ----------
    tol : float
        Relative accuracy of the search where there is no closed form.
    """

    tol: float = 1e-8

    def begin(self, evaluate: Evaluator) -> Take:
        """Return the step."""
        function = evaluate.function
        if function.is_quadratic and function.curvature is not None:
            return _Quadratic(evaluate)
        return _Searched(evaluate, self.tol)


class _Quadratic:
    """Exact steps of a quadratic, whose second derivatives are taken once."""

    def __init__(self, evaluate: Evaluator) -> None:
        self.evaluate = evaluate
        self.H: Vector | None = None

    def __call__(self, t: int, w: Vector, value: float, g: Vector) -> Move | None:  # noqa: ARG002
        if self.H is None:
            self.H = self.evaluate.curvature(w)
        curvature, fall = float(g @ self.H @ g), float(g @ g)
        if fall == 0.0:
            return None
        if curvature <= 0.0:
            return Move(w, value, 0.0, end=("diverged", "the function falls without bound along its gradient"))
        step = fall / curvature
        new = w - step * g
        return Move(new, self.evaluate.value(new), step)


class _Searched:
    """Exact steps of any function, searched for around the last one."""

    def __init__(self, evaluate: Evaluator, tol: float) -> None:
        self.evaluate, self.tol, self.last = evaluate, tol, 1.0

    def __call__(self, t: int, w: Vector, value: float, g: Vector) -> Move | None:  # noqa: ARG002
        if not g.any():
            return None

        def along(step: float) -> float:
            return self.evaluate.value(w - step * g)

        found = bracket(along, 0.0, self.last)
        if not found.is_closed:
            return Move(w, value, 0.0, end=("diverged", "the function falls without bound along its gradient"))
        low, high = max(found.low, 0.0), found.high
        best = line_minimum(along, low, high, tol=self.tol) if high > low else None
        if best is None or not best.value < value:
            return None
        self.last = best.x
        return Move(w - best.x * g, best.value, best.x)


@dataclass(frozen=True)
class Backtracking:
    """Armijo's rule: shorten the step until the value falls by a fair share of what the slope promises.

    Parameters
    ----------
    first : float
        The step tried first; later ones begin a little longer than the last.
    shrink : float
        By what a step that fails is multiplied, in (0, 1).
    share : float
        Share of the promised descent that is enough, in (0, 1).
    grow : float
        By what the last step is multiplied for the next trial, >= 1.
    """

    first: float = 1.0
    shrink: float = 0.5
    share: float = 1e-4
    grow: float = 2.0

    def __post_init__(self) -> None:
        at_least("Backtracking.first", self.first, 0, strictly=True)
        at_least("Backtracking.grow", self.grow, 1)
        for name in ("shrink", "share"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidParameter(f"Backtracking.{name} must lie in (0, 1), got {getattr(self, name)!r}.")

    def begin(self, evaluate: Evaluator) -> Take:
        """Return the step."""
        last = self.first / self.grow

        def take(t: int, w: Vector, value: float, g: Vector) -> Move | None:  # noqa: ARG001
            nonlocal last
            step, fall = last * self.grow, float(g @ g)
            while step > 0 and fall > 0:
                new = w - step * g
                lower = evaluate.value(new)
                if lower <= value - self.share * step * fall and lower < value:
                    last = step
                    return Move(new, lower, step)
                if np.array_equal(new, w):
                    break
                step *= self.shrink
            return None

        return take


@dataclass(frozen=True)
class BoldDriver:
    """Longer after a success, much shorter after a failure.

    Parameters
    ----------
    eta : float
        The first step size.
    increase : float
        Factor after the value fell, > 1.
    decrease : float
        Factor after the value rose, in (0, 1). Where it stayed equal the step size stays too.
    undo : bool
        Whether a step that raised the value is taken back.
    """

    eta: float = 0.1
    increase: float = 1.05
    decrease: float = 0.5
    undo: bool = True

    def __post_init__(self) -> None:
        at_least("BoldDriver.eta", self.eta, 0, strictly=True)
        at_least("BoldDriver.increase", self.increase, 1, strictly=True)
        if not 0 < self.decrease < 1:
            raise InvalidParameter(f"BoldDriver.decrease must lie in (0, 1), got {self.decrease!r}.")

    def begin(self, evaluate: Evaluator) -> Take:
        """Return the step."""
        eta = self.eta

        def take(t: int, w: Vector, value: float, g: Vector) -> Move | None:  # noqa: ARG001
            nonlocal eta
            used, new = eta, w - eta * g
            after = evaluate.value(new)
            if used == 0.0 or np.array_equal(new, w):
                return None
            if after < value:
                eta *= self.increase
            elif after > value:
                eta *= self.decrease
                if self.undo or not np.isfinite(after):
                    return Move(w, value, used, is_new=False)
            return Move(new, after, used)

        return take


@dataclass(frozen=True)
class SwitchedMomentum:
    """A momentum that is small at first and larger after some updates.

    Parameters
    ----------
    first, later : float
        The two values, in [0, 1).
    after : int
        The last update with the first one.
    """

    first: float = 0.5
    later: float = 0.9
    after: int = 100

    def __call__(self, t: int) -> float:
        """Return the momentum of update t."""
        return self.first if t <= self.after else self.later


@dataclass(frozen=True)
class _Clocked:
    """Steps of a schedule, with momentum: ``a <- m a + eta g``, ``w <- w - a``."""

    schedule: Schedule
    momentum: Callable[[int], float]

    def begin(self, evaluate: Evaluator) -> Take:
        """Return the step."""
        a: Any = 0.0

        def take(t: int, w: Vector, value: float, g: Vector) -> Move | None:  # noqa: ARG001
            nonlocal a
            eta = self.schedule(t)
            a = self.momentum(t) * a + eta * g
            new = w - a
            return Move(new, evaluate.value(new), eta)

        return take


def momentum_of(given: Any) -> Callable[[int], float]:
    """Return a momentum as a function of the clock."""
    if callable(given):
        made: Callable[[int], float] = given
        return made
    number = at_least("momentum", given, 0)
    if number >= 1:
        raise InvalidParameter(f"momentum must lie in [0, 1), got {given!r}: from 1 on old steps never fade.")
    return lambda _: number


def schedule_of(given: Any) -> Schedule:
    """Return a step size given as a number, or a schedule, as a schedule."""
    if isinstance(given, int | float | np.number) and not isinstance(given, bool):
        at_least("step", given, 0, strictly=True)
        return Constant(float(given))
    if callable(given):
        made: Schedule = given
        return made
    raise InvalidParameter(f"A step size is a number > 0, a schedule or a rule, got {given!r}.")


def rule_of(step: Any, momentum: Any) -> StepRule:
    """Return the rule that a user asks for by a number, a schedule or a rule."""
    if callable(getattr(step, "begin", None)):
        if callable(momentum) or momentum:
            raise InvalidParameter(
                f"Momentum goes with a step size by the clock; {type(step).__name__} searches along the gradient alone."
            )
        made: StepRule = step
        return made
    return _Clocked(schedule_of(step), momentum_of(momentum))
