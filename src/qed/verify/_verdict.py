"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Verdict"]


@dataclass(frozen=True)
class Verdict:
    """A certificate that was recomputed and found true.

    Attributes
    ----------
    statement : str
        What was confirmed, in words.
    objective : float
        The objective, recomputed.
    distance : float
        Objective minus optimum, recomputed.
    rounding : float
        How far off ``distance`` can be.
    claimed : float
        The gap that the certificate states.
    """

    statement: str
    objective: float
    distance: float
    rounding: float
    claimed: float

    @property
    def holds(self) -> bool:
        """Always true: a certificate that does not hold raises instead."""
        return True

    def __str__(self) -> str:
        return (
            f"Verified: {self.statement}\n  objective {self.objective:.10g}, at most {self.distance + self.rounding:.3g} above "
            f"the optimum; claimed {self.claimed:.3g}"
        )
