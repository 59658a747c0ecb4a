"""What is known of a point, and what is proved of it: the records that solvers hand to a problem, and get back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from qed.convex._loss import Vector


class Tried(NamedTuple):
    """A dual point in the domain, its signs balanced where an intercept asks for it, with all that a bound asks of it."""

    u: Vector
    z: Vector  # minus the adjoint product with c u
    sides: tuple[
        float, float
    ]  # sums of c times the positive entries, and the negative ones without sign, added in pairs
    length: float  # root mean square of u, or of all that z was made of if that is more
    excess: float  # weighted mean
    apart: float  # root mean square distance from the slope


class PointCache(NamedTuple):
    """Products that a solver has made at exactly the point in question, so that they need not be made again.

    They are made afresh, not updated from step to step (whose rounding nobody bounds), and summed over rows like the
    products of designs: in blocks, merged with compensation.
    """

    t: Vector | None = None  # scores
    rise: Vector | None = None  # the adjoint product with c times the positive slopes at those scores
    fall: Vector | None = None  # the same of the negative slopes; rise + fall is the gradient
    slope: Vector | None = None  # slopes of the loss at those scores
    loss: float | None = None  # weighted mean of the losses
    gradient: Vector | None = (
        None  # the adjoint product with c times the slopes, from solvers that do not know its sides
    )
    sides: tuple[float, float] | None = None  # sums of c times the positive slopes, and the negative ones without sign
    lengths: tuple[float, float] | None = None  # root mean squares of scores and slopes
    level: Vector | None = None  # sums of c times the slopes, one for each score
    tried: Tried | None = None  # a dual point other than the slope


@dataclass(frozen=True)
class Gap:
    """How far a point can be from the optimum.

    Attributes
    ----------
    value : float
        Upper bound on objective minus optimum, its own rounding included.
    rounding : float
        The part of ``value`` that bounds floating-point error.
    objective : float
        Objective at the point.
    radius : float
        The bound holds against coefficients closer than this, each times the (root mean square) length of its column;
        ``inf`` means all there are.
    u : ndarray
        The dual point that proves it, feasible; empty where curvature proves it.
    """

    value: float
    rounding: float
    objective: float
    radius: float
    u: Vector = field(repr=False)


class Sums(NamedTuple):
    """Sums over the rows of a dual point, where they were made on the way."""

    sides: tuple[float, float]  # of c times the positive entries, and the negative ones without sign
    rounding_error: float  # rounding of either, relative to both
    length: float  # root mean square
    excess: float = 0.0  # weighted mean
    apart: float = 0.0  # root mean square distance from the slope


class Point(NamedTuple):
    """What is the same for every dual point."""

    w: Vector
    b: Any
    t: Vector
    slope: Vector
    loss: float  # weighted mean
    objective: float
    length_t: float  # root mean squares over rows
    length_slope: float
    off: float  # bound on the error of the scores, root mean square over rows
    bend: float  # bound on the curvature near the scores; inf where slopes jump
    stored: float  # charged for the rounding of weights, strengths and the stored intercept
    target: float  # a gap that is small enough
    sums: Sums | None  # of the slope
