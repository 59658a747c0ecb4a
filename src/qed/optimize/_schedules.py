"""Step sizes that depend on the clock alone, and what Robbins and Monro ask of them.

A schedule is called with the number t of the update, from 1; those of unit ``"epoch"`` with the number of the pass over the
examples, from 1. Each knows how it ends: like ``t ** -tail``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qed.core import InvalidParameter
from qed.optimize._evaluate import at_least


class Schedule(Protocol):
    """A step size for every update."""

    @property
    def tail(self) -> float:
        """The p of ``t ** -p``, up to a factor, for late updates."""
        ...

    @property
    def unit(self) -> str:
        """What is counted: ``"step"`` or ``"epoch"``."""
        ...

    def __call__(self, t: int) -> float:
        """Return the step size of update t."""
        ...


@dataclass(frozen=True)
class Constant:
    """Always the same.

    Parameters
    ----------
    eta : float
        The step size, > 0.
    """

    eta: float
    unit: str = "step"

    def __post_init__(self) -> None:
        at_least("Constant.eta", self.eta, 0, strictly=True)

    @property
    def tail(self) -> float:
        """It never falls."""
        return 0.0

    def __call__(self, t: int) -> float:  # noqa: ARG002  the clock does not matter
        """Return the step size."""
        return self.eta


@dataclass(frozen=True)
class Capped:
    """``min(largest, scale / t)``: constant at first, then like 1/t.

    Parameters
    ----------
    largest : float
        The first step size.
    scale : float
        The schedule begins to fall at ``t = scale / largest``.

    Examples
    --------
    >>> from qed.optimize import Capped
    >>> [Capped()(t) for t in (1, 1000, 2000)]
    [0.1, 0.1, 0.05]
    """

    largest: float = 0.1
    scale: float = 100.0
    unit: str = "step"

    def __post_init__(self) -> None:
        at_least("Capped.largest", self.largest, 0, strictly=True)
        at_least("Capped.scale", self.scale, 0, strictly=True)

    @property
    def tail(self) -> float:
        """Like 1/t in the end."""
        return 1.0

    def __call__(self, t: int) -> float:
        """Return the step size of update t >= 1."""
        return min(self.largest, self.scale / _counted(t, 1, "Capped"))


@dataclass(frozen=True)
class PowerDecay:
    """``eta / t ** power``: 1/t, 1/sqrt(t) and all between.

    Parameters
    ----------
    eta : float
        The first step size.
    power : float
        How fast it falls, >= 0.
    """

    eta: float
    power: float = 1.0
    unit: str = "step"

    def __post_init__(self) -> None:
        at_least("PowerDecay.eta", self.eta, 0, strictly=True)
        at_least("PowerDecay.power", self.power, 0)

    @property
    def tail(self) -> float:
        """The power."""
        return self.power

    def __call__(self, t: int) -> float:
        """Return the step size of update t >= 1."""
        return float(self.eta / _counted(t, 1, "PowerDecay") ** self.power)


@dataclass(frozen=True)
class InverseTime:
    """``eta / (1 + c t)``.

    Parameters
    ----------
    eta : float
        The step size at t = 0.
    c : float
        How fast it falls, >= 0; 0 is constant.
    """

    eta: float
    c: float
    unit: str = "step"

    def __post_init__(self) -> None:
        at_least("InverseTime.eta", self.eta, 0, strictly=True)
        at_least("InverseTime.c", self.c, 0)

    @property
    def tail(self) -> float:
        """Like 1/t, unless c is zero."""
        return 1.0 if self.c > 0 else 0.0

    def __call__(self, t: int) -> float:
        """Return the step size of update t >= 0."""
        return self.eta / (1.0 + self.c * _counted(t, 0, "InverseTime"))


@dataclass(frozen=True)
class InverseRoot:
    """``eta / sqrt(1 + c t)``.

    Parameters
    ----------
    eta : float
        The step size at t = 0.
    c : float
        How fast it falls, >= 0; 0 is constant.
    """

    eta: float
    c: float
    unit: str = "step"

    def __post_init__(self) -> None:
        at_least("InverseRoot.eta", self.eta, 0, strictly=True)
        at_least("InverseRoot.c", self.c, 0)

    @property
    def tail(self) -> float:
        """Like 1/sqrt(t), unless c is zero."""
        return 0.5 if self.c > 0 else 0.0

    def __call__(self, t: int) -> float:
        """Return the step size of update t >= 0."""
        return self.eta / float(np.sqrt(1.0 + self.c * _counted(t, 0, "InverseRoot")))


@dataclass(frozen=True)
class StepDecay:
    """``eta`` up to and including the first boundary, a tenth of it up to the second, and so on.

    Parameters
    ----------
    eta : float
        The first step size.
    boundaries : tuple of int
        The last epoch of each piece, rising.
    factor : float
        By what the step is multiplied after each boundary.
    unit : {"epoch", "step"}
        What the boundaries count.

    Examples
    --------
    >>> from qed.optimize import StepDecay
    >>> schedule = StepDecay(1.0, (10, 20))
    >>> [round(schedule(t), 12) for t in (1, 10, 11, 20, 21)]
    [1.0, 1.0, 0.1, 0.1, 0.01]
    """

    eta: float
    boundaries: tuple[int, ...]
    factor: float = 0.1
    unit: str = "epoch"

    def __post_init__(self) -> None:
        at_least("StepDecay.eta", self.eta, 0, strictly=True)
        at_least("StepDecay.factor", self.factor, 0, strictly=True)
        if list(self.boundaries) != sorted(self.boundaries):
            raise InvalidParameter(f"StepDecay.boundaries must rise, got {self.boundaries!r}.")

    @property
    def tail(self) -> float:
        """The last piece never falls."""
        return 0.0

    def __call__(self, t: int) -> float:
        """Return the step size of epoch t."""
        return self.eta * self.factor ** sum(t > last for last in self.boundaries)


@dataclass(frozen=True)
class RobbinsMonro:
    """Whether a schedule satisfies the Robbins-Monro conditions: steps reach any distance, and their noise averages out.

    Attributes
    ----------
    sum_diverges : bool
        Whether the steps add up to infinity, so that any distance can be gone.
    squares_converge : bool
        Whether their squares have a finite sum, so that the noise dies out.
    words : str
        The verdict.
    """

    sum_diverges: bool
    squares_converge: bool
    words: str

    @property
    def holds(self) -> bool:
        """Whether both conditions are met."""
        return self.sum_diverges and self.squares_converge


def robbins_monro(schedule: Schedule) -> RobbinsMonro:
    """Say whether ``sum(eta) = inf`` and ``sum(eta ** 2) < inf``.

    The answer follows from how the schedule ends, ``t ** -p``: both hold if and only if 1/2 < p <= 1. No finite number of
    steps could tell, so a plain callable without ``tail`` raises an error.

    Parameters
    ----------
    schedule : Schedule
        One of this package, or anything callable with a number ``tail``.

    Examples
    --------
    >>> from qed.optimize import PowerDecay, robbins_monro
    >>> robbins_monro(PowerDecay(1.0, 1.0)).holds, robbins_monro(PowerDecay(1.0, 0.5)).holds
    (True, False)
    """
    tail: Any = getattr(schedule, "tail", None)
    if not isinstance(tail, int | float):
        raise InvalidParameter(
            f"robbins_monro needs a schedule that knows its tail; {schedule!r} has none, and no finite number of steps tells "
            "whether a sum is infinite. Give it an attribute tail = p for steps that fall like t ** -p."
        )
    endless, quiet = tail <= 1.0, tail > 0.5
    far = (
        "the steps add up to infinity" if endless else "the steps have a finite sum: a distant optimum is never reached"
    )
    rest = "their squares do not: the noise dies out" if quiet else "their squares do too: the noise never dies out"
    if not endless:
        rest = "the squares have a finite sum too"
    pace = f"steps fall like t^-{tail:g}" if tail > 0 else "steps do not fall in the end"
    return RobbinsMonro(endless, quiet, f"{far}; {rest} ({pace})")


def _counted(t: int, first: int, who: str) -> int:
    if t < first:
        raise InvalidParameter(f"{who} counts updates from {first}, got {t!r}.")
    return t
