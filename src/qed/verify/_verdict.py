"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass


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
        The gap that the certificate states: ``distance <= claimed + rounding``, or the verification would have raised.
    measure : str
        What ``objective`` is, where it is no objective: mistakes, for example. Empty where there is none.
    claims_nothing : bool
        Whether the model, or every part of it, is of a class that claims nothing: then nothing was confirmed but that.
    """

    statement: str
    objective: float
    distance: float
    rounding: float
    claimed: float
    measure: str = "objective"
    claims_nothing: bool = False

    @property
    def holds(self) -> bool:
        """Always true: a certificate that does not hold raises instead."""
        return True

    def _repr_html_(self) -> str:
        from qed.core._escape import escaped  # noqa: PLC0415  (notebooks only)

        return f"<pre>{escaped(str(self))}</pre>"

    def __str__(self) -> str:
        if self.claims_nothing:
            return f"Nothing to verify: {self.statement}"
        head = f"Verified: {self.statement}\n  "
        if self.measure == "objective":
            return (
                f"{head}objective {self.objective:.10g}, at most {self.distance + self.rounding:.3g} above the optimum; claimed"
                f" {self.claimed:.3g}"
            )
        what = f"{self.measure} {self.objective:.10g}, " if self.measure else ""
        return f"{head}{what}recomputed, and off by at most {self.distance + self.rounding:.3g}; claimed {self.claimed:.3g}"
