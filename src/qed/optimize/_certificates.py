"""What an optimiser can truthfully say of the point it returns.

===========================  =====================================================================================
record                       statement
===========================  =====================================================================================
``GapCertificate``           no point lowers the function by more than ``gap``
``GradientCertificate``      how steep the function is there; for a convex one, what that implies for points nearby
``KKTCertificate``           how well a point and its multipliers meet the optimality conditions of a programme
===========================  =====================================================================================

Where none of them can be had the certificate is `qed.core.Uncertified`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.certificates import Certificate, Uncertified

if TYPE_CHECKING:
    from qed.optimize._function import Function, Vector


@dataclass(frozen=True)
class GapCertificate(Certificate):
    """How much lower a convex function can be elsewhere.

    Attributes
    ----------
    gap : float
        Upper bound on the value at the point minus the infimum.
    value : float
        The value at the point.
    radius : float
        The bound speaks of points closer than this; ``inf`` means all.
    reason : str
        The theorem.
    is_reached : bool
        Whether the run got what it was asked for.
    is_unique : bool
        Whether there is one minimiser only.
    """

    gap: float
    value: float
    radius: float
    reason: str
    is_reached: bool = False
    is_unique: bool = False

    @property
    def reached(self) -> bool:
        """Whether the run got what it was asked for."""
        return self.is_reached

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        where = "No point" if np.isinf(self.radius) else f"No point within {self.radius:.3g}"
        only = ", and there is one minimiser only" if self.is_unique else ""
        return f"{where} lowers the value {self.value:.8g} by more than {self.gap:.2g}{only}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {"gap": f"{self.gap:.3e}", "value": f"{self.value:.8g}", "by": self.reason}


@dataclass(frozen=True)
class GradientCertificate(Certificate):
    """How steep a function is at a point: its only proof where nothing else is known.

    Attributes
    ----------
    norm : float
        Length of the gradient; of a proximal or projected step, the length of the step over its size.
    is_convex : bool
        Whether the function was said to be convex.
    tol : float
        Length that was asked for.
    is_gradient : bool
        Whether the length is that of the gradient itself.
    """

    norm: float
    is_convex: bool
    tol: float
    is_gradient: bool = True

    @property
    def reached(self) -> bool:
        """Whether the gradient is as short as was asked."""
        return self.norm <= self.tol

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        if not self.is_gradient:
            return (
                f"The proximal step over its size has length {self.norm:.2g}, zero at a minimiser; no more is claimed."
            )
        if self.is_convex:
            return (
                f"The gradient has length {self.norm:.2g}; the function is convex, so a point at distance r is lower by at "
                f"most {self.norm:.2g} r."
            )
        return f"The gradient has length {self.norm:.2g}; nothing is claimed about other points."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {"gradient": f"{self.norm:.3e} (tol {self.tol:.0e})", "convex": "yes" if self.is_convex else "not known"}


@dataclass(frozen=True)
class KKTCertificate(Certificate):
    """How well a point and its multipliers meet the conditions of Karush, Kuhn and Tucker.

    Attributes
    ----------
    infeasibility : float
        Largest violation of a constraint.
    stationarity : float
        Largest entry of the gradient of the Lagrangian.
    complementarity : float
        Largest product of a multiplier and the slack of its constraint.
    gap : float
        Value minus that of the dual point; with exact feasibility on both sides it bounds the distance from the optimum of a
        convex programme.
    tol : float
        What was asked for, relative to the numbers that were added up.
    scales : tuple of float
        Sizes of those numbers: of constraints, of slopes, of values.
    is_convex : bool
        Whether the programme is convex, so that the conditions suffice.
    """

    infeasibility: float
    stationarity: float
    complementarity: float
    gap: float
    tol: float
    scales: tuple[float, float, float] = (1.0, 1.0, 1.0)
    is_convex: bool = True

    @property
    def residual(self) -> float:
        """The largest of the three violations."""
        return max(self.infeasibility, self.stationarity, self.complementarity)

    @property
    def reached(self) -> bool:
        """Whether no condition is violated by more than was asked."""
        return self.relative <= self.tol

    @property
    def relative(self) -> float:
        """The largest of the three violations, each relative to the numbers that were added up."""
        violations = (self.infeasibility, self.stationarity, self.complementarity)
        return max(violation / size for violation, size in zip(violations, self.scales, strict=True))

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        so = "they suffice, because the programme is convex" if self.is_convex else "the point may be a local one"
        return f"The optimality conditions hold up to {self.relative:.2g}, relative to the numbers in them; {so}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "constraints violated by": f"{self.infeasibility:.3e}",
            "gradient of the Lagrangian": f"{self.stationarity:.3e}",
            "multiplier times slack": f"{self.complementarity:.3e}",
            "gap": f"{self.gap:.3e}",
        }


def certificate_of(
    function: Function, w: Vector, value: float, norm: float | None, *, tol: float, is_solved: bool
) -> Certificate:
    """Say the most that is true of a point of an unconstrained function, given the length of its gradient."""
    is_unique = function.is_convex and function.convexity > 0
    if function.bound is not None:
        with np.errstate(all="ignore"):
            gap, radius = function.bound(w)
        return GapCertificate(float(gap), value, float(radius), "the function's own bound", is_solved, is_unique)
    if norm is None or not np.isfinite(norm):
        return Uncertified("no gradient was taken, and values alone prove nothing about other points")
    if function.split is not None:
        return GradientCertificate(norm, function.is_convex, tol, is_gradient=False)
    if not function.is_smooth:
        return Uncertified(
            "the function is not differentiable everywhere, and a subgradient need not be small at a minimiser"
        )
    if is_unique:
        gap = norm**2 / (2 * function.convexity)
        return GapCertificate(gap, value, np.inf, "|gradient|^2 / (2 m) for strong convexity m", is_solved, is_unique)
    return GradientCertificate(norm, function.is_convex, tol)
