"""The interface between optimisers and functions: points are checked, answers are checked, calls are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.optimize._function import Function, Vector, as_function

NEEDS = {
    "gradient": "Function(value, gradient)",
    "curvature": "Function(value, gradient, curvature)",
    "part_gradient": "Function(value, part_gradient=..., n_examples=...), or a convex Problem",
}


@dataclass(frozen=True)
class Calls:
    """How often a function was asked.

    Attributes
    ----------
    value, gradient, curvature : int
        Whole evaluations.
    examples : int
        Gradients of single examples, as stochastic methods take them.
    """

    value: int = 0
    gradient: int = 0
    curvature: int = 0
    examples: int = 0


class Evaluator:
    """A function on behalf of one run of an optimiser.

    Parameters
    ----------
    given : Function, Problem or callable
        What is minimised.
    who : str
        The optimiser, for messages.
    needs : tuple of str
        Parts of the function without which it cannot begin.
    counts : dict of str to int, optional
        Where calls are counted, for runs that ask parts of one function.
    """

    def __init__(
        self, given: Any, who: str, needs: tuple[str, ...] = ("gradient",), counts: dict[str, int] | None = None
    ) -> None:
        self.function: Function = as_function(given)
        self.who = who
        self.counts = {"value": 0, "gradient": 0, "curvature": 0, "examples": 0} if counts is None else counts
        for part in needs:
            if getattr(self.function, part) is None:
                raise InvalidParameter(
                    f"{who} needs {part}(w) of the function, and {self.function.name} has none. Pass {NEEDS[part]}."
                )

    @property
    def calls(self) -> Calls:
        """The calls so far."""
        return Calls(**self.counts)

    def start(self, given: Any) -> Vector:
        """Return a start as a vector of its own, after looking at it."""
        return point(given, self.function, self.who)

    def value(self, w: Vector) -> float:
        """Return the value, ``inf`` where the function is not a number."""
        self.counts["value"] += 1
        with np.errstate(all="ignore"):
            value = np.asarray(self.function.value(w), dtype=np.float64)
        if value.size != 1:
            raise InvalidData(
                f"{self.function.name} returned an array of shape {value.shape}; a function to minimise returns a number."
            )
        number = float(value.reshape(()))
        return np.inf if np.isnan(number) else number

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient, of the shape of w."""
        self.counts["gradient"] += 1
        assert self.function.gradient is not None  # noqa: S101  looked at when the run began
        with np.errstate(all="ignore"):
            return self._shaped(self.function.gradient(w), w.shape, "gradient")

    def part_gradient(self, w: Vector, rows: Any) -> Vector:
        """Return the gradient from some examples."""
        self.counts["examples"] += len(rows)
        assert self.function.part_gradient is not None  # noqa: S101  looked at when the run began
        with np.errstate(all="ignore"):
            return self._shaped(self.function.part_gradient(w, rows), w.shape, "part_gradient")

    def curvature(self, w: Vector) -> Vector:
        """Return the second derivatives, (p, p)."""
        self.counts["curvature"] += 1
        assert self.function.curvature is not None  # noqa: S101  looked at when the run began
        with np.errstate(all="ignore"):
            return self._shaped(self.function.curvature(w), (w.size, w.size), "curvature")

    def _shaped(self, given: Any, shape: tuple[int, ...], what: str) -> Vector:
        array = np.asarray(given, dtype=np.float64)
        if array.size == 1 == int(np.prod(shape)):
            array = array.reshape(shape)
        if array.shape != shape:
            raise InvalidData(f"The {what} of {self.function.name} has shape {array.shape}, and w needs {shape}.")
        return array


def point(given: Any, function: Function | None, who: str) -> Vector:
    """Return a point as a fresh vector of float64; refuse what is no vector, not finite, or of the wrong length."""
    try:
        w = np.array(given, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        raise InvalidData(f"{who}: the start must be numbers, got {given!r}.") from None
    if w.ndim != 1:
        raise InvalidData(f"{who}: the start must be a vector, got an array of shape {w.shape}. Flatten it first.")
    if not np.isfinite(w).all():
        bad = int(np.flatnonzero(~np.isfinite(w))[0])
        raise InvalidData(f"{who}: the start is not finite: coordinate {bad} is {w[bad]:g}.")
    if function is not None and function.size is not None and w.size != function.size:
        raise InvalidData(f"{who}: {function.name} takes {function.size} numbers, and the start has {w.size}.")
    return w


def at_least(name: str, value: Any, low: float, *, strictly: bool = False) -> float:
    """Return a finite number after checking its range."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not (number > low or (number == low and not strictly)) or not np.isfinite(number):
        raise InvalidParameter(f"{name} must be a number {'>' if strictly else '>='} {low:g}, got {value!r}.")
    return number
