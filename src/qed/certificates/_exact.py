"""The certificate of what is computed rather than approached."""

from __future__ import annotations

from qed.certificates._certificate import Certificate, require_nonnegative
from qed.core._records import record


@record("exact")
class ExactCertificate(Certificate):
    """What was computed is a function of the rows and nothing else, up to rounding.

    Attributes
    ----------
    what : str
        What was computed.
    rows : int
        From how many rows.
    rounding : float
        Bound on the rounding, relative to the size of what was summed; 0 where nothing is rounded.
    """

    what: str
    rows: int
    rounding: float

    @property
    def reached(self) -> bool:
        """Nothing is approximated, so the tolerance is always reached."""
        return True

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        how = "exactly" if self.rounding == 0 else f"up to a relative rounding of {self.rounding:.1e}"
        return f"{self.what} of {self.rows} rows, {how}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {"rows": str(self.rows), "rounding": f"{self.rounding:.1e}"}

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.rows)
        require_nonnegative(self.rounding, below=1)
