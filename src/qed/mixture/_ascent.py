"""Expectation and maximisation in turn, for any family of components.

A family knows its rows. Given parameters it *expects*: responsibilities, summed into statistics, and the objective. Given
statistics it *maximises*: it returns the parameters that are best for them. No step lowers the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from qed.certificates import BoundDecomposition
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
    beyond: Parameters  # one more step from there
    expected_beyond: Expected
    displacement: float
    outcome: str

    @property
    def gain(self) -> float:
        """What one more step adds to the objective."""
        return self.expected_beyond.objective - self.expected.objective

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
    moved = family.displacement(parameters, beyond)
    return Ascent(parameters, expected, np.array(trace), beyond, family.expect(beyond), moved, outcome)


class LikelihoodFamily(Family[Parameters, Expected], Protocol):
    """Components whose parameters are numbers, so that their likelihood can be decomposed."""

    def expected_joint(self, expected: Expected, parameters: Parameters) -> float:
        """Return Q: the expected log-likelihood of rows and components together, by the responsibilities of an expectation."""

    def log_likelihood(self, expected: Expected, parameters: Parameters) -> float:
        """Return that of the rows alone, components summed over; the expectation is that at the parameters."""


def beyond_rounding(difference: float, rounding: float) -> float:
    """Return the difference of two objectives; zero where rounding alone can explain it."""
    return difference if abs(difference) > 2 * rounding else 0.0


def decompose(
    family: LikelihoodFamily[Parameters, Expected], run: Ascent[Parameters, Expected], rounding: float
) -> BoundDecomposition:
    """Take the likelihood at the end of an ascent apart by the responsibilities there.

    Parameters
    ----------
    family : LikelihoodFamily
        What was fitted, with its rows.
    run : Ascent
        Where it ended. Its objective is the lower bound: expected log-likelihood plus entropy of the responsibilities.
    rounding : float
        Bound on the rounding of objectives.
    """

    def shown(size: float) -> float:
        return beyond_rounding(max(size, 0.0), rounding)  # none is negative but by rounding

    bound = run.expected.objective
    expected = family.expected_joint(run.expected, run.parameters)
    gained = family.expected_joint(run.expected, run.beyond) - expected
    here = family.log_likelihood(run.expected, run.parameters)
    beyond = family.log_likelihood(run.expected_beyond, run.beyond)
    return BoundDecomposition(
        expected=expected,
        entropy=shown(bound - expected),
        divergence=shown(here - bound),
        maximisation_gain=shown(gained),
        next_divergence=shown(beyond - (bound + gained)),
    )
