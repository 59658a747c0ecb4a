"""Expectation and maximisation in turn, for any family of components.

A family knows its rows. Given parameters it *expects*: responsibilities, summed into statistics, and the objective. Given
statistics it *maximises*: it returns the parameters that are best for them. No step lowers the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from qed.core._events import STOP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core._events import Progress

    Array = NDArray[np.float64]

Parameters = TypeVar("Parameters")


class Expectation(Protocol):
    """Statistics of one pass over the rows."""

    @property
    def objective(self) -> float:
        """What is climbed, per unit of weight."""


Expected = TypeVar("Expected", bound=Expectation)


class Family(Protocol[Parameters, Expected]):
    """Rows, and components that share them."""

    def expect(self, parameters: Parameters) -> Expected:
        """Sum statistics over the rows."""

    def maximise(self, expected: Expected) -> Parameters:
        """Return the best parameters for given responsibilities."""

    def displacement(self, before: Parameters, after: Parameters) -> float:
        """Tell how far apart parameters are, in units of their own spread."""


@dataclass(frozen=True, eq=False)
class Ascent(Generic[Parameters, Expected]):
    """Where an ascent ended."""

    parameters: Parameters
    expected: Expected
    trace: Array
    gain: float
    displacement: float
    outcome: str

    @property
    def steps(self) -> int:
        """Steps of maximisation."""
        return len(self.trace) - 1


def climb(
    family: Family[Parameters, Expected], start: Parameters, *, tol: float, most: int, progress: Progress
) -> Ascent[Parameters, Expected]:
    """Take steps until one adds less than ``tol`` to the objective.

    Parameters
    ----------
    family : Family
        What is fitted, with its rows.
    start : object
        Parameters to begin with.
    tol : float
        Gain of a step that is small enough.
    most : int
        Most steps.
    progress : Progress
        Told of every step; it may ask to stop.
    """
    parameters, expected = start, family.expect(start)
    trace, outcome = [expected.objective], "max_iter"
    try:
        for _ in range(most):
            after = family.maximise(expected)
            parameters, expected = after, family.expect(after)
            trace.append(expected.objective)
            if trace[-1] - trace[-2] <= tol:
                outcome = "solved"
                break
            if progress.step(trace[-1]) is STOP:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    beyond = family.maximise(expected)
    gain = family.expect(beyond).objective - expected.objective
    return Ascent(parameters, expected, np.array(trace), gain, family.displacement(parameters, beyond), outcome)
